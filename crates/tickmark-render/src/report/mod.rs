//! One recording.

pub(crate) mod answer;
pub(crate) mod text;

pub use text::{Shown, changed, header, instrument, machine, render as text};

#[cfg(test)]
mod tests;
