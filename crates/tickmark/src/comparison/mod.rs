//! Recordings side by side: one model, several renderers. What is compared are occasions, never the runs or samples inside
//! one, unless that is asked for.

mod basis;
mod build;
mod environment;
mod history;
mod html;
mod json;
mod line;
mod markdown;
mod model;
mod side;
mod strip;
mod text;

#[cfg(test)]
mod tests;

pub(crate) use basis::Unit;
pub(crate) use build::{Asked, build};
pub(crate) use html::render as html;
pub(crate) use json::render as json;
pub(crate) use line::Line;
pub(crate) use markdown::render as markdown;
pub(crate) use model::Model;
pub(crate) use side::Side;
pub(crate) use text::render as text;
