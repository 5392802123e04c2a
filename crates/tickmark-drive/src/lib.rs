//! Carries plans out: targets (this machine, one over ssh, a guest), knobs that are turned in interleaved blocks, the journal by
//! which everything is put back, matrices of boots.
//!
//! It makes no figure, prints nothing and knows no command line: what there is to say on the way goes to the [`Control`] of the
//! work, and what goes wrong is an [`Error`].
//!
//! # Where things are
//!
//! - **A new knob**: a file in `tickmark-drive/src/knob/` that says how it is set, read back and undone, and a line in `parse` there.
//! - **What an experiment changes and puts back**: `tickmark-drive/src/journal/` keeps it, `restore.rs` there puts back what killed ones left,
//!   `lock.rs` locks what is changed; `setting_file.rs` reads and writes the kernel's files; the order of things in `experiment/run.rs`.
//! - **A new target**: a file in `tickmark-drive/src/target/`. Its lines are kept as they came; one with what it says is an `AgentLine`.
//! - **Where a setting is booted**: `tickmark-drive/src/lab/` and `target/`, a `Target` each for guests and for machines over ssh; a matrix is
//!   an experiment whose knob is `Boot`. What is exact: `tickmark-analysis/src/comparison/line.rs`.
//! - **Many machines**: `wire/src/pieces.rs` is how many agents speak over one output, `agent/src/survey.rs` writes it, `drive/src/fleet/`
//!   launches and gathers (a new launcher is a variant of `LaunchMethod`), `drive/src/fleet/links.rs` has agents (`agent/src/links.rs`,
//!   `probe/src/links.rs`) measure each other in pairs by the lines of `wire/src/links.rs`, `tickmark/src/command/exchange/fleet/tables.rs` makes the
//!   tables and reads them, `analysis/src/fleet.rs` says who differs and `analysis/src/fleet/links.rs` which links are slow,
//!   `stats/src/outlying.rs` how far is too far.
#![forbid(unsafe_code)]

pub mod bisect;
mod control;
mod error;
pub mod experiment;
pub mod file;
pub mod fleet;
mod journal;
pub mod knob;
pub mod lab;
pub mod plan;
pub mod runner;
mod setting_file;
mod shell;
pub mod target;

pub use control::{Control, ProgressEvent};
pub use error::Error;
pub use experiment::Experiment;
pub use journal::restore::{Restored, restore};
pub use journal::restore_after_panic;
pub use target::{AgentLine, Target, ThisMachine};
