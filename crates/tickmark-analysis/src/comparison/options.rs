//! Options of a comparison.

use super::basis::Unit;
use crate::report::Row;
use tickmark_stats::verdict::Correction;
use tickmark_wire::Group;

/// Options of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct CompareOptions {
    /// Share below which a change does not matter.
    pub margin: f64,
    /// Unit that may count as a replicate.
    pub unit: Unit,
    /// Scope of the error rate: the page or the share of false claims.
    pub correction: Correction,
    /// True if runs without a figure are taken for missing at random.
    pub accepts_missing: bool,
}

impl CompareOptions {
    /// Recordings are replicates, and 5 % is the chance of any wrong claim.
    #[must_use]
    pub const fn with_margin(margin: f64) -> Self {
        Self { margin, unit: Unit::Recording, correction: Correction::FamilyWise, accepts_missing: false }
    }
}

/// True if a row is picked.
pub type RowFilter<'a> = &'a dyn Fn(Group, &Row) -> bool;

/// Which rows are compared.
#[derive(Clone, Copy)]
pub struct RowSelection<'a> {
    /// Those that are shown.
    pub only: RowFilter<'a>,
    /// Those of them that carry the page's claims.
    pub primary: RowFilter<'a>,
    /// And of these their figures that do: `floor`, `mean`, `value`, `p99`; empty: all.
    pub figures: &'a [&'static str],
}

impl RowSelection<'_> {
    /// All of them.
    pub const ALL: RowSelection<'static> =
        RowSelection { only: &|_, _| true, primary: &|_, _| true, figures: &[] };
}
