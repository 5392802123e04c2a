//! The real program, as a user runs it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod bad_input;
mod bench;
mod bill;
mod browser;
mod changed;
mod check;
mod clock_reads;
mod commands;
mod comms;
mod comms_hosts;
mod comparing;
mod doctor;
mod doors;
mod dose;
mod experiment;
mod faults;
mod fleet;
mod http;
mod importing;
mod judging;
mod killed;
mod lab;
mod limits;
mod links;
mod live;
mod lmbench;
mod machine;
mod round_trips;
mod shared;
mod small_agent;
mod sql;
mod stat;
mod tick;
mod timers;
mod traffic;
