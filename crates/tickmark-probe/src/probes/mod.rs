//! The registry: a new probe is one file and one line here.

use crate::{Case, Probe};
use tickmark_wire::Arguments;

mod bandwidth;
mod between_cpus;
#[cfg(feature = "whole")]
mod bill;
mod calendar;
mod clock_read;
#[cfg(feature = "whole")]
mod clock_reads;
mod clock_step;
mod command;
mod comms;
mod costs;
#[cfg(feature = "whole")]
mod counting;
#[cfg(feature = "whole")]
mod dose;
mod fault;
mod files;
mod float;
mod fork;
mod gettimeofday;
mod http;
mod integer;
#[cfg(feature = "whole")]
mod juggle;
mod machine;
mod mapping;
mod memory;
mod nanoseconds;
mod null;
mod open_close;
mod osnoise;
mod packets;
#[cfg(feature = "whole")]
mod preloaded;
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
#[cfg(feature = "whole")]
mod sql;
#[cfg(feature = "whole")]
mod stages;
#[cfg(feature = "whole")]
mod started;
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
pub static FILES: &[&[Probe]] = &[
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
    #[cfg(feature = "whole")]
    juggle::PROBES,
    #[cfg(feature = "whole")]
    stages::PROBES,
    packets::PROBES,
    http::PROBES,
    #[cfg(feature = "whole")]
    http::capacity::PROBES,
    #[cfg(feature = "whole")]
    sql::PROBES,
    wake::PROBES,
    comms::PROBES,
    bandwidth::PROBES,
    memory::PROBES,
    seconds_and_fraction::PROBES,
    nanoseconds::PROBES,
    calendar::PROBES,
    integer::PROBES,
    float::PROBES,
    machine::PROBES,
    command::PROBES,
    #[cfg(feature = "whole")]
    bill::PROBES,
    #[cfg(feature = "whole")]
    clock_reads::PROBES,
    #[cfg(feature = "whole")]
    dose::PROBES,
    osnoise::PROBES,
    selftest::PROBES,
];

pub use comms::serve;
#[cfg(feature = "whole")]
pub use dose::slices::{cost_of_a_read, cost_of_an_operation};
#[cfg(feature = "whole")]
pub use http::clients::serve_http;
pub use mapping::folios;

/// Every probe.
pub fn all() -> impl Iterator<Item = &'static Probe> {
    FILES.iter().flat_map(|probes| probes.iter())
}

/// Everything that suites run.
pub fn cases() -> impl Iterator<Item = Case> {
    all().flat_map(Probe::cases)
}

/// What a run is to measure. Plans of formats before 1.5 have the metric's name in place of a probe that is told something.
///
/// # Errors
/// There is no such probe, or it cannot be told so.
pub fn case(probe: &str, arguments: &Arguments) -> Result<Case, String> {
    let none = || format!("this agent has no probe {probe}");
    match find(probe) {
        Some(probe) => probe.case(arguments),
        None if arguments.is_empty() => cases().find(|case| case.name() == probe).ok_or_else(none),
        None => Err(none()),
    }
}

/// The probe of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Probe> {
    all().find(|probe| probe.spec.name == name)
}

/// Removes the shared memory of databases whose folders are below this one, before it goes.
pub fn put_away_databases(folder: &std::path::Path) {
    #[cfg(feature = "whole")]
    crate::sys::segment::remove_below(folder);
    #[cfg(not(feature = "whole"))]
    let _ = folder;
}

/// Takes away what a run of this probe would have, had it not been ended: definitions in the kernel that nobody else takes away.
pub fn put_away(probe: &str) {
    #[cfg(feature = "whole")]
    if probe == tickmark_wire::names::CLOCK_READS {
        crate::sys::uprobe::put_away();
    }
    let _ = probe;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_spec_is_complete_and_its_name_is_its_own() {
        let mut names = BTreeSet::new();
        for offer in cases().map(|case| case.offer()) {
            for metric in &offer.metrics {
                let name = metric.name.as_str();
                assert!(names.insert(name.to_owned()), "{name} stands twice");
                let lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' || c == '_';
                assert!(name.chars().all(lower), "{name}");
                let texts = [("title", &metric.title), ("timed", &offer.timed), ("source", &offer.source)];
                for (what, text) in texts {
                    assert!(!text.is_empty() && !text.contains(['{', '}']), "{what} of {name}: {text}");
                }
            }
        }
        assert!(names.len() > 90, "{}", names.len());
    }
}
