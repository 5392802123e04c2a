//! The probes of one operation: a new one is one file and one line here.

use crate::Probe;

mod bandwidth;
mod between_cpus;
mod calendar;
mod clock_read;
mod clock_step;
mod command;
mod fault;
mod files;
mod float;
mod fork;
mod gettimeofday;
mod integer;
mod machine;
mod mapping;
mod memory;
mod nanoseconds;
mod null;
mod open_close;
mod osnoise;
mod read_write;
mod ready;
mod round_trip;
mod rpc_call;
mod scenario;
mod seconds_and_fraction;
mod select;
mod selftest;
mod signal;
mod spawn;
mod spin;
mod stat;
mod switch;
mod tcp_connect;
mod tcp_timer;
mod thread;
mod tick;
mod tsc;
mod wake;
mod wake_by;
mod wake_up;

#[cfg(test)]
pub(crate) use wake_by::WAYS;

/// The probes of each file, in the order of the summary.
pub const FILES: &[&[Probe]] = &[
    clock_read::PROBES,
    gettimeofday::PROBES,
    tsc::PROBES,
    clock_step::PROBES,
    between_cpus::PROBES,
    tick::PROBES,
    spin::PROBES,
    wake_up::PROBES,
    wake_by::PROBES,
    scenario::PROBES,
    null::PROBES,
    read_write::PROBES,
    stat::PROBES,
    open_close::PROBES,
    select::PROBES,
    ready::PROBES,
    signal::PROBES,
    fault::PROBES,
    fork::PROBES,
    spawn::PROBES,
    thread::PROBES,
    files::PROBES,
    mapping::PROBES,
    switch::PROBES,
    round_trip::PROBES,
    rpc_call::PROBES,
    tcp_connect::PROBES,
    tcp_timer::PROBES,
    wake::PROBES,
    bandwidth::PROBES,
    memory::PROBES,
    seconds_and_fraction::PROBES,
    nanoseconds::PROBES,
    calendar::PROBES,
    integer::PROBES,
    float::PROBES,
    machine::PROBES,
    command::PROBES,
    osnoise::PROBES,
    selftest::PROBES,
];

pub use mapping::folios;
