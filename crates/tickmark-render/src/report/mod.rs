//! One recording.

mod answer;
mod json;
pub(crate) mod text;

pub(crate) use json::mark;
pub use json::render as json;
pub use text::{Shown, changed, header, render as text};

#[cfg(test)]
mod tests;
