//! The comparison alone, as a page.

use super::words;
use crate::page::{compared, frame};
use tickmark_analysis::comparison::Model;

/// The whole comparison.
#[must_use]
pub fn render(model: &Model) -> String {
    let title = format!("tickmark: {}", words::label(&model.base));
    frame::page(&title, &compared::summary(model), &compared::sections(model), false)
}
