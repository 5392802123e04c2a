//! Documents whose experiments come with tickmark: what each asks and found, claim by claim, and where our figure for each claim is.

mod agreement;
mod evaluate;
mod messages;

pub use agreement::{Agreement, AnsweredClaim, Figure, IntervalKind, Levels};
pub use evaluate::{LmbenchColumn, MeasuredGroup, evaluate, without_farthest};

use serde::Deserialize;

/// The documents that come with tickmark, by the name of their main experiment, in the order of their years of work.
const SHIPPED: [(&str, &str); 5] = [
    ("clock-tick-100-vs-1000", include_str!("../../../../papers/clock-tick-100-vs-1000.toml")),
    ("timecounter-cost", include_str!("../../../../papers/timecounter-cost.toml")),
    ("apic-timer-module", include_str!("../../../../papers/apic-timer-module.toml")),
    ("hz-and-http", include_str!("../../../../papers/hz-and-http.toml")),
    ("processor-load", include_str!("../../../../papers/processor-load.toml")),
];

/// A document, and what is measured to answer it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Title as printed.
    pub title: String,
    /// Who wrote it.
    pub author: String,
    /// When.
    pub year: u16,
    /// What it asks, in a sentence.
    pub question: String,
    /// What it found, in a sentence.
    pub answer: String,
    /// What was found here, in a sentence with `{id}` where the figure of a claim stands.
    pub here: String,
    /// Experiments that are measured for it: the main one first.
    pub experiments: Vec<String>,
    /// What a machine must have.
    pub needs: String,
    /// Minutes on two CPUs with kernels in the cache: with `--quick`, and whole.
    pub minutes: [f64; 2],
    /// What of the document cannot be had here, and why.
    #[serde(default)]
    pub lacks: Vec<String>,
    /// Machines whose tables and figures are text, too; empty is all. The page has those of all.
    #[serde(default)]
    pub shown: Vec<String>,
    /// Tables and figures that it prints.
    #[serde(default)]
    pub printed: Vec<Printed>,
    /// Remarks of ours.
    #[serde(default)]
    pub note: Vec<Printed>,
    /// What it claims, in its own order.
    pub claim: Vec<Claim>,
}

/// Lines with a heading.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Printed {
    /// Its heading.
    pub title: String,
    /// Its lines.
    pub text: String,
}

/// One claim: a figure of a table, a row of a table, or a sentence.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// By which `here` names it.
    #[serde(default)]
    pub id: String,
    /// Where it stands in the document.
    pub place: String,
    /// What it says, with its figure and unit.
    pub says: String,
    /// Experiment that measures it; empty is the main one.
    #[serde(default)]
    pub experiment: String,
    /// Machine with its speed; empty where nothing is booted.
    #[serde(default)]
    pub on: String,
    /// How our figure is found.
    pub measure: Measure,
    /// Unit of our figure.
    pub unit: ClaimUnit,
    /// Ours agrees from the first to the second of these, in the claim's unit; none where the document claims no value.
    pub agrees: Option<[f64; 2]>,
    /// Known reason of a disagreement; shown where there is one.
    pub differs: Option<String>,
}

/// Units of claims. Times are in ns where they are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum ClaimUnit {
    /// A share in per cent.
    #[serde(rename = "%")]
    Percent,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanos,
    /// Microseconds.
    #[serde(rename = "us")]
    Micros,
    /// Cycles of 450 MHz, the clock of apic-timer-module.txt.
    #[serde(rename = "cycles")]
    Cycles,
    /// Bytes.
    #[serde(rename = "bytes")]
    Bytes,
    /// A plain number.
    #[serde(rename = "")]
    Number,
}

/// How the figure of a claim is found in the recordings of its experiment.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Measure {
    /// Change of a metric between two settings, one of which is the first, as a share.
    Change(Change),
    /// Level of a metric's row in a setting.
    Level(Level),
    /// Share of the CPU that the tick takes in a setting.
    Lost(Lost),
    /// Time of one tick in a setting.
    Tick(String),
    /// How many of a table's differences that exceed the document's own noise have the same sign and half to twice the size here: the table's title.
    Lmbench(String),
    /// Error of the timers of a row.
    Timers(Timers),
    /// A quantity of messages.
    Messages(MessageQuantity),
    /// A quantity of a server whose clock reads take longer.
    Doses(DoseQuantity),
    /// Nothing measures it: the reason.
    Nothing(String),
}

/// A row of a setting.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// The row.
    pub metric: String,
    /// The setting, as of [`Change`].
    pub setting: String,
    /// What is taken off: the same row of another setting.
    #[serde(default)]
    pub minus: String,
}

/// The tick's share of the CPU in a setting.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lost {
    /// The setting.
    pub setting: String,
    /// What is taken off: the share in another setting.
    #[serde(default)]
    pub minus: String,
}

/// A change between two settings.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// A metric; of several (`op.*`) the mean of their changes, with their range.
    pub metric: String,
    /// `mean`, `floor` or `value`; empty takes the one that carries the comparison.
    #[serde(default)]
    pub figure: String,
    /// A setting: its name, `first` or `last`; of several with `|` between the first that there is.
    pub from: String,
    /// The other one.
    pub to: String,
    /// Without the run of each that is farthest from its median.
    #[serde(default)]
    pub trimmed: bool,
}

/// Timers of a row.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timers {
    /// The setting; empty where there is one.
    #[serde(default)]
    pub setting: String,
    /// The row, as it is titled.
    pub row: String,
    /// The strategy, as it is titled.
    pub strategy: String,
    /// Median error of the first or last timer, mean error of all but the first, or the latest of all.
    pub which: TimerChoice,
    /// Another strategy, over whose error it is taken.
    #[serde(default)]
    pub over: String,
}

/// Timers of a row that a claim is about.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimerChoice {
    /// The median error of the first.
    First,
    /// The mean error of all but the first, early or late.
    Others,
    /// The median error of the last.
    Last,
    /// The largest error of all.
    Latest,
}

/// Quantities of messages beside a task that computes.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MessageQuantity {
    /// Time of an empty message beside a process, less that beside a thread.
    StartDifference,
    /// Time of the smallest message beside a thread, as a change against none that computes.
    SmallBesideThread,
    /// The same beside a process.
    SmallBesideProcess,
    /// Time of the smallest message at ordinary priority beside a process, as a change against a real-time priority.
    SmallAtOrdinaryPriority,
    /// The same of the longest message.
    LongAtOrdinaryPriority,
    /// Load of long messages beside a process, as a change against a thread.
    LongLoad,
    /// Load of packets over that of packets twice as long: all such pairs of Comms1 from 512 bytes on.
    LoadOfHalf,
    /// Load times packet size of Comms1, from packets of 512 bytes on.
    Product,
    /// The largest of these products over the smallest.
    ProductRange,
    /// Packet size from which on the full rate is reached.
    LeastPacket,
}

/// Quantities of slower clock reads.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DoseQuantity {
    /// Counted clock reads of a transaction.
    Reads,
    /// Share of transactions that reads lose which are slower by what ACPI-Fast is than TSC in the document, 58 ns.
    Lost,
    /// Operations on timestamps beside each read that lose a tenth of the transactions.
    OperationsToLoseTenth,
}

impl Paper {
    /// Every document that comes with tickmark, with its name.
    ///
    /// # Errors
    /// A file of theirs is damaged: the line.
    pub fn all() -> Result<Vec<(&'static str, Self)>, String> {
        SHIPPED.iter().map(|(name, text)| Ok((*name, parse(name, text)?))).collect()
    }

    /// The document whose main experiment has this name; none where there is none.
    ///
    /// # Errors
    /// Its file is damaged: the line.
    pub fn named(name: &str) -> Result<Option<Self>, String> {
        SHIPPED.iter().find(|(known, _)| *known == name).map(|(name, text)| parse(name, text)).transpose()
    }
}

fn parse(name: &str, text: &str) -> Result<Paper, String> {
    toml::from_str(text).map_err(|error| format!("document {name}: {error}"))
}

#[cfg(test)]
mod tests;
