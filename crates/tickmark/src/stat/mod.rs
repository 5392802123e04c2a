//! Columns of numbers: read, described, compared and drawn; ministat made right, and ministat as it is.

mod c_format;
pub(crate) mod column;
pub(crate) mod compat;
pub(crate) mod distances;
mod figures;
pub(crate) mod forms;
mod frame;
pub(crate) mod json;
mod model;
mod plot;
pub(crate) mod text;

pub(crate) use model::{Manner, Model, build};

use distances::Distances;
use tickmark_stats::summary::Summary;

/// Draws sets of values; one of large integers by its `exact` distances from one of them.
pub(crate) fn plot(
    sets: &[(String, Vec<f64>)],
    exact: &[Option<Distances>],
    model: &Model,
    width: usize,
) -> String {
    let drawn = |number: usize| {
        let (values, set) = (&sets[number].1, &model.sets[number]);
        match (&exact[number], set.origin) {
            (_, 0) => (values.as_slice(), set.summary),
            (Some(exact), _) if sets.len() == 1 => (exact.all.as_slice(), set.summary),
            _ => (values.as_slice(), Summary::summarize(values).unwrap_or(set.summary)),
        }
    };
    let drawn: Vec<(&[f64], Summary)> = (0..model.sets.len()).map(drawn).collect();
    plot::draw(&drawn, width)
}
