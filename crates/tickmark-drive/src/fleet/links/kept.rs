//! Measurements of each pair, a line of `links.jsonl` each.

use super::super::{Survey, append};
use crate::Error;
use serde::{Deserialize, Serialize};
use tickmark_store::files::read_regular;
use tickmark_wire::Nanos;
use tickmark_wire::links::{Link, Side};
use tickmark_wire::text::printable;

pub(in super::super) const FILE: &str = "links.jsonl";
/// Bytes of it at most: of ten thousand machines it has some tens of millions.
const LONGEST: u64 = 1 << 30;

/// Pairs that were measured by one command: with others they are not compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Series {
    /// When it began.
    pub begun: jiff::Timestamp,
    /// For how long trips went, ns, and a stream, each way.
    pub time: Nanos,
    /// So many pairs measured at once; none are all of a round.
    pub at_once: Option<usize>,
    /// An address of the network that was measured; none is the one by which machines reach this one.
    pub network: Option<String>,
}

/// A pair that was measured, or a machine that could not take part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measured {
    /// The machine that asked.
    pub asks: String,
    /// The one that answered; none of a machine that did not come.
    pub answers: Option<String>,
    /// With what.
    pub series: Series,
    /// When it ended.
    pub at: jiff::Timestamp,
    /// In which round.
    pub round: usize,
    /// True if it was measured again, as it had looked slow.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// Why there is nothing more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The measurement of both sides.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "seen")]
    pub observation: Option<LinkObservation>,
}

/// Observations of both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkObservation {
    /// Ns that a byte took there and back: some of them, evenly taken.
    pub trips: Vec<u32>,
    /// Of so many.
    pub made: u64,
    /// Bytes a second from who asked; none where the stream had one block.
    pub there: Option<f64>,
    /// Bytes a second to who asked.
    pub back: Option<f64>,
    /// TCP segments that either side's kernel sent again.
    pub resent: u64,
    /// The share of its time that a side's task stood runnable without a CPU, of the side that had more of it.
    pub waited: Option<f64>,
}

impl Measured {
    pub(super) fn between(
        series: &Series,
        asks: &str,
        answers: Option<&str>,
        round: usize,
        again: bool,
    ) -> Self {
        let (asks, answers) = (asks.to_owned(), answers.map(str::to_owned));
        let at = jiff::Timestamp::now();
        Self { asks, answers, series: series.clone(), at, round, again, why: None, observation: None }
    }

    /// A machine that did not take part.
    pub(super) fn absent(series: &Series, node: &str, why: &str) -> Self {
        let mut absent = Self::between(series, node, None, 0, false);
        absent.failed(why);
        absent
    }

    /// A stranger's words are for no terminal.
    pub(super) fn failed(&mut self, why: &str) {
        self.why = Some(printable(why, false).into_owned());
    }

    pub(super) fn saw(&mut self, link: &Link, other: &Side) {
        let share = |side: &Side| Some(side.waited?.get() as f64 / side.took.get().max(1) as f64);
        let sides = [&link.side, other];
        self.at = jiff::Timestamp::now();
        self.observation = Some(LinkObservation {
            trips: link.trips.clone(),
            made: link.made,
            there: link.there.rate(),
            back: link.back.rate(),
            resent: sides.iter().map(|side| side.resent).sum(),
            waited: sides.iter().filter_map(|side| share(side)).max_by(f64::total_cmp),
        });
    }
}

/// The links of a survey that were measured so far.
///
/// # Errors
/// It cannot be read.
pub fn links(survey: &Survey) -> Result<Vec<Measured>, Error> {
    let path = survey.folder().join(FILE);
    let text = match read_regular(&path, LONGEST) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Error::file("read", path)(error));
        }
        text => text.unwrap_or_default(),
    };
    // Half a line is what a kill leaves.
    Ok(String::from_utf8_lossy(&text)
        .lines()
        .filter_map(|line| serde_json::from_slice(line.as_bytes()).ok())
        .collect())
}

/// Keeps them, on the disk when this returns.
pub(super) fn keep(survey: &Survey, measured: &[Measured]) -> Result<(), Error> {
    append(&survey.folder().join(FILE), measured, true)
}
