//! What a comparison is asked.

use super::complete::{probes, recordings};
use super::values::share;
use clap::{Args, ValueEnum};
use tickmark_analysis::comparison::Unit;

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
    /// Exit with code 3 if a metric changed or got worse, with 5 if that cannot be judged
    #[arg(long, value_enum)]
    pub(crate) fail_on: Option<FailOn>,
    /// How to print
    #[arg(long, value_enum, default_value_t = CompareFormat::Text)]
    pub(crate) format: CompareFormat,
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
pub(crate) enum CompareFormat {
    Text,
    Json,
    Markdown,
    Html,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    Changed,
    Worse,
}
