//! What a comparison is asked.

use super::complete::{probes, recordings};
use super::values::share;
use clap::{Args, ValueEnum};
use tickmark_analysis::comparison::Unit;
use tickmark_stats::verdict::Correction;

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The baseline
    #[arg(value_name = "BASELINE", add = recordings())]
    pub(crate) base: String,
    /// The candidates: one or more, each REC or several replicates as REC,REC
    #[arg(value_name = "CANDIDATE", required = true, add = recordings())]
    pub(crate) candidates: Vec<String>,
    /// Compare only these metrics, by name, title or pattern; claims are corrected for these alone
    #[arg(long, value_name = "METRIC", conflicts_with = "lmbench", add = probes())]
    pub(crate) only: Vec<String>,
    /// Let only these carry the claims of the page, by name, title or pattern; the others are shown without a verdict
    #[arg(long, value_name = "METRIC", conflicts_with = "lmbench", add = probes())]
    pub(crate) primary: Vec<String>,
    /// Let only these figures of them carry the claims: a floor, a mean, the value of what has neither, a 99th percentile
    #[arg(long, value_name = "FIGURE", value_enum, num_args = 1.., conflicts_with = "lmbench")]
    pub(crate) figure: Vec<CompareFigure>,
    /// What 5 % is the limit of: the chance of any wrong change, or the share of wrong ones among the changes
    #[arg(long, value_enum, default_value_t = CompareCorrection::Family)]
    pub(crate) correct: CompareCorrection,
    /// Judge metrics of which one side lost more runs than the other, as if they were missing by chance
    #[arg(long)]
    pub(crate) accept_missing: bool,
    /// Print lmbench's tables, with averages and percentages
    #[arg(long)]
    pub(crate) lmbench: bool,
    /// Floors instead of mean costs, in lmbench's tables
    #[arg(long, requires = "lmbench")]
    pub(crate) floor: bool,
    /// Changes below this do not matter
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = share)]
    pub(crate) margin: f64,
    /// What counts as one independent repetition
    #[arg(long, value_enum, default_value_t = CompareUnit::Recording)]
    pub(crate) unit: CompareUnit,
    /// Exit with code 3 if a metric changed, changed beyond the margin, or got worse; with 5 if that cannot be judged
    #[arg(long, value_enum)]
    pub(crate) fail_on: Option<FailOn>,
    /// How to print
    #[arg(long, value_enum, default_value_t = CompareFormat::Text)]
    pub(crate) format: CompareFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareFigure {
    Floor,
    Mean,
    Value,
    P99,
}

impl CompareFigure {
    /// As a comparison names it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Mean => "mean",
            Self::Value => "value",
            Self::P99 => "p99",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareUnit {
    Recording,
    Run,
}

impl From<CompareUnit> for Unit {
    fn from(unit: CompareUnit) -> Self {
        match unit {
            CompareUnit::Recording => Self::Recording,
            CompareUnit::Run => Self::Run,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareCorrection {
    Family,
    Discovery,
}

impl From<CompareCorrection> for Correction {
    fn from(correction: CompareCorrection) -> Self {
        match correction {
            CompareCorrection::Family => Self::FamilyWise,
            CompareCorrection::Discovery => Self::Discovery,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareFormat {
    Text,
    Json,
    Markdown,
    Html,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    Changed,
    Beyond,
    Worse,
}
