//! Options of commands that exchange files with other programs.

use super::{Output, complete};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// Result files or summary pages
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Name of the recording [default: the host's name in the file]
    #[arg(long)]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// What the columns of tables are.
#[derive(Debug, Args)]
pub(crate) struct TableArgs {
    /// Names of a table's columns in their order, with units where they have some: size,latency:us,- (- leaves one out)
    #[arg(long, value_name = "NAME[:UNIT],...", value_delimiter = ',', help_heading = TABLES)]
    pub(crate) columns: Vec<String>,
    /// A column of figures, by its name or number; may be given several times [default: all that have no other role]
    #[arg(long, value_name = "COLUMN[:UNIT]", help_heading = TABLES)]
    pub(crate) value: Vec<String>,
    /// A column that is a parameter of the figures: a size, a number of threads
    #[arg(long, value_name = "COLUMN", help_heading = TABLES)]
    pub(crate) group: Vec<String>,
    /// The column that names the metric
    #[arg(long, value_name = "COLUMN", help_heading = TABLES)]
    pub(crate) metric: Option<String>,
    /// The column of times; each time becomes a recording
    #[arg(long, value_name = "COLUMN", help_heading = TABLES)]
    pub(crate) time: Option<String>,
    /// What several lines of one metric are: repetitions of one execution (one replicate), or executions of their own (each a replicate)
    #[arg(long, value_name = "WHAT", value_enum, help_heading = TABLES)]
    pub(crate) lines: Option<Lines>,
    /// The decimal mark
    #[arg(long, value_name = "MARK", value_parser = [".", ","], default_value = ".", help_heading = TABLES)]
    pub(crate) decimal: String,
    /// A cell without a figure, such as - or NaN; may be given several times
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, help_heading = TABLES)]
    pub(crate) missing: Vec<String>,
}

/// Heading of the options of tables.
const TABLES: &str = "Tables of unknown programs";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Lines {
    Repetitions,
    Replicates,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// Which recording
    #[arg(value_name = "REC", add = complete::recordings())]
    pub(crate) recording: String,
    /// What to write
    #[arg(long, value_enum, default_value_t = ExportFormat::Csv)]
    pub(crate) format: ExportFormat,
    /// Every observation instead of the figures of each run
    #[arg(long)]
    pub(crate) raw: bool,
    /// Write to this file; of Parquet's tables the folder, to which this recording is added
    #[arg(long, short, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    Csv,
    Json,
    /// What a watched CPU was lost to, or how late programs were woken: HdrHistogram's interval log, ns
    Hdr,
    /// What a watched CPU was lost to as trace events, for Perfetto
    Perfetto,
    /// Tables of a folder (--output) for DuckDB, ClickHouse, Spark: figures, facts, findings, each by day
    Parquet,
    /// The figures as text for a scraper
    Openmetrics,
    /// The values of each run as Go's benchmarks print them, for benchstat
    Benchfmt,
    /// The times of each run as Google Benchmark's JSON
    GoogleBenchmark,
}
