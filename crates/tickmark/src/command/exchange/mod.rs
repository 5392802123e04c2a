//! Files of other programs, other machines, a team.

pub(in crate::command) mod export;
pub(in crate::command) mod export_benchmarks;
pub(in crate::command) mod export_gaps;
pub(in crate::command) mod export_metrics;
pub(in crate::command) mod fleet;
pub(in crate::command) mod import;
pub(in crate::command) mod import_events;
pub(in crate::command) mod shared;
