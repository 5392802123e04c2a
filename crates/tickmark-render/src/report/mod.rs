//! One recording.

pub(crate) mod answer;
pub(crate) mod text;

pub use text::{ShownRows, changed, header, instrument, machine, render as text};

#[cfg(test)]
mod tests;
