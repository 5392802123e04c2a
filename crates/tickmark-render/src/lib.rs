//! Renders reports, comparisons and lmbench's tables as text, JSON, markdown and HTML.
//!
//! Every sentence about a figure stands here once, whatever the format. This crate computes nothing and writes to no file: it gives
//! back text, with colours that the caller's stream strips where they are not wanted.
//!
//! # Where things are
//!
//! - **Plots**: `render/src/plot/` (axes, points over two axes, dots, intervals, maps; each as SVG and in characters); whoever shows something
//!   says what is drawn.
//! - **The page**: `analysis/src/page.rs` has everything of a recording, `render/src/page/` the page (`frame.rs` what may run in it, `kinds.rs`
//!   a part for each command, `dense.rs` and `dense.js` series of many points by uPlot, which `vendor/` holds). What a matrix answers:
//!   `tickmark/src/command/setting/answers.rs`.
//! - **JSON**: `render/src/json/`, a file a page: a type of which the schema is made, with what each field is taken from (`json_object!`); those of
//!   commands without a recording, and the list of all: `tickmark/src/command/pages.rs`.
//! - **A sentence about a figure**: `tickmark-render/src/reason.rs` (marks, notes, missing figures), `comparison/words.rs` (verdicts).
#![forbid(unsafe_code)]

// The types of `json_object!` name this crate, here as in others.
#[cfg(feature = "schema")]
extern crate self as tickmark_render;

pub mod balance;
pub mod bill;
pub mod bisect;
pub mod capacity;
pub mod clock_reads;
pub mod comms;
pub mod comparison;
pub mod cyclictest;
pub mod doctor;
pub mod dose;
pub mod explain;
mod finding;
pub mod fleet;
mod fold;
pub mod gate;
mod grid;
pub mod history;
pub mod http;
pub mod hz;
pub mod json;
pub mod kernel_reads;
mod late;
pub mod live;
pub mod lmbench;
pub mod noise;
mod number;
pub mod page;
pub mod paper;
pub mod plot;
mod reason;
pub mod recordings;
pub mod report;
pub mod running_wakes;
pub mod scenario;
mod slowest;
mod suggest;
pub mod versus;
pub mod wakes;
pub mod what_if;
pub mod witness;

pub use fold::{copyable, folded, folded_to, folding, paragraph};
pub use grid::{in_ascii, is_ascii_locale, reader_width, width, width_of};
pub use number::{count, figure, rough_time, time};
pub use reason::{elsewhere, incomparable, no_figure};
pub use suggest::{command, named_store};
