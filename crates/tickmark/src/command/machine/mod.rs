//! Costs and losses of this machine.

pub(in crate::command) mod cpus;
pub(in crate::command) mod doctor;
pub(in crate::command) mod list;
pub(in crate::command) mod live;
pub(in crate::command) mod looks;
pub(in crate::command) mod run;
pub(in crate::command) mod scenarios;
pub(in crate::command) mod threshold;
pub(in crate::command) mod tick;
pub(in crate::command) mod timers;
pub(in crate::command) mod verify;
