//! Columns of numbers: read, described, compared and drawn; ministat made right, and ministat as it is.

mod c_format;
pub(crate) mod column;
pub(crate) mod compat;
mod figures;
pub(crate) mod forms;
mod frame;
pub(crate) mod json;
mod model;
mod plot;
pub(crate) mod text;

pub(crate) use model::{Manner, Model, build};

use tickmark_stats::summary::Summary;

/// Draws sets of values.
pub(crate) fn plot(sets: &[(String, Vec<f64>)], model: &Model, width: usize) -> String {
    let drawn: Vec<(&[f64], Summary)> =
        sets.iter().zip(&model.sets).map(|((_, values), set)| (values.as_slice(), set.summary)).collect();
    plot::draw(&drawn, width)
}
