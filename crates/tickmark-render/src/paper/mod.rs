//! A document and what was measured for it: the answer, its claims beside our figures, its tables and figures in its own form.

mod figures;
mod html;
mod text;

use crate::plot::Drawing;
pub use figures::{claim_figure, verdict};
pub use html::html;
pub use text::{answer_lines, list, text};
use tickmark_analysis::paper::{Agreement, AnsweredClaim, Paper};

/// A document with everything that is shown for it.
pub struct PaperReport<'a> {
    /// The name of its main experiment.
    pub name: &'a str,
    /// The document.
    pub paper: &'a Paper,
    /// Its claims, with what was found here.
    pub claims: &'a [AnsweredClaim],
    /// Its tables and figures of ours, in its form.
    pub forms: &'a [Form],
    /// The recordings behind them.
    pub recordings: &'a [String],
    /// True if it was measured now, in its short form.
    pub is_quick: bool,
}

/// A table or figure of ours in the document's form.
pub struct Form {
    /// Heading: the experiment, and the machine where there are several.
    pub title: String,
    /// Text in columns.
    pub text: String,
    /// Drawings below it.
    pub drawings: Vec<Drawing>,
    /// Where it stands.
    pub place: FormPlace,
}

/// Where a form stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormPlace {
    /// In the text and on the page.
    Shown,
    /// On the page only.
    Page,
    /// On the page behind everything, in a fold: comparisons of all figures.
    Details,
}

impl PaperReport<'_> {
    /// How many claims came out so.
    #[must_use]
    pub fn count(&self, agreement: Agreement) -> usize {
        self.claims.iter().filter(|one| one.agreement == agreement).count()
    }
}
