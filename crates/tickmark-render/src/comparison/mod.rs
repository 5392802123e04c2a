//! Recordings side by side.

mod html;
pub(crate) mod kinds;
mod markdown;
mod states;
pub(crate) mod strip;
mod text;
pub(crate) mod words;

pub use html::render as html;
pub use markdown::render as markdown;
pub use states::states;
pub use text::render as text;
pub(crate) use words::{chance, difference};
pub use words::{command, open as why_open, order, withheld};

#[cfg(test)]
mod tests;
