//! Bisections.

use super::{Page, finite};
use crate::bisect::{Bisected, Outcome};
use crate::json_object;

json_object! {
    /// With which commit a figure changed.
    pub struct BisectionPage(page: &Bisected<'_>) {
        /// The commits with one of which it changed, of which the last alone can be measured; none where the ends do not differ.
        found: Option<Vec<String>> = match &page.outcome {
            Outcome::Found { found, .. } => Some(named(page, found)),
            _ => None,
        },
        /// Where so many measurements tell no more: commits of which one changed it.
        within: Option<Vec<String>> = match &page.outcome {
            Outcome::Within(range) => Some(named(page, range)),
            _ => None,
        },
        /// True if other commits changed it as well.
        more: bool = matches!(page.outcome, Outcome::Found { more: true, .. }),
        /// The means of all values before and after the change.
        levels: Option<[Option<f64>; 2]> = match &page.outcome {
            Outcome::Found { found, .. } => Some(page.levels(*found.end()).map(finite)),
            _ => None,
        },
        /// The chance of a wrong answer that was accepted.
        error: f64 = page.error,
        /// `ns`, or `printed`: numbers that the command printed.
        unit: &'static str = if page.printed { "printed" } else { "ns" },
        /// The good end first.
        commits: Vec<CommitPage> = (0..page.commits.len()).map(|at| CommitPage::new(page, at)).collect(),
    }

    struct CommitPage(page: &Bisected<'_>, at: usize) {
        id: String = page.commits[at].0.clone(),
        subject: String = page.commits[at].1.clone(),
        values: Vec<f64> = page.values[at].clone(),
        /// Why it cannot be measured.
        failed: Option<String> = page.failed[at].clone(),
        /// That the change came with it.
        chance: Option<f64> = finite(page.chances[at]).filter(|_| page.outcome != Outcome::NoChange),
    }
}

fn named(page: &Bisected<'_>, range: &std::ops::RangeInclusive<usize>) -> Vec<String> {
    page.commits[range.clone()].iter().map(|commit| commit.0.clone()).collect()
}

impl Page for BisectionPage {
    const NAME: &'static str = "bisection";
}
