//! From a recording to what a person or a program reads: one model, several renderers. The model
//! computes; a renderer never does.

mod detail;
mod header;
pub(crate) mod json;
mod levels;
mod model;
mod number;
mod remarks;
mod row;
mod rows;
pub(crate) mod text;

pub(crate) use model::{Model, build};
pub(crate) use number::{bytes, count, value};
pub(crate) use row::{Each, Row, RowStatus, Unit as RowUnit};

#[cfg(test)]
mod tests;
