//! What counted changes cost on a real machine, before the new kernel is booted there; and whether that held.

use super::{PathCost, Paths};
use crate::cli::LabGate;
use crate::error::Error;
use std::fmt::Write;
use tickmark_analysis::price::{Grade, Prediction, Prices, TimedPaths};
use tickmark_analysis::report::{self, Unit};
use tickmark_store::{Recording, Store};

/// The recordings of `--price` and `--grade`.
pub(super) struct PriceRequest {
    recording: String,
    timed: TimedPaths,
    grading: Option<(String, TimedPaths)>,
}

/// Changes with their predictions, and how these were graded.
pub(in crate::command) struct PricedChanges {
    recording: String,
    /// The recording that graded, where one did.
    grading: Option<String>,
    pub(in crate::command) prices: Prices,
    pub(in crate::command) changes: Vec<PricedChange>,
    /// The share by which paths differ whose instructions do not.
    noise: Option<f64>,
}

/// A path that changed.
pub(in crate::command) struct PricedChange {
    pub(in crate::command) metric: String,
    pub(in crate::command) prediction: Prediction,
    pub(in crate::command) grade: Option<Grade>,
}

impl PriceRequest {
    /// What the options name; a name that is none is told before the minutes that a kernel may take.
    pub(super) fn read(store: &Store, options: &LabGate) -> Result<Option<Self>, Error> {
        let Some(name) = &options.price else { return Ok(None) };
        let (recording, timed) = timed(store, "--price", name)?;
        let grading = options.grade.as_ref().map(|name| self::timed(store, "--grade", name)).transpose()?;
        Ok(Some(Self { recording, timed, grading }))
    }

    /// Prices what changed.
    pub(super) fn price(self, before: &Paths, all: &[PathCost], margin: f64) -> Result<PricedChanges, Error> {
        let Self { recording, timed, grading } = self;
        let prices = Prices::new(before, timed).ok_or_else(|| {
            Error::Unjudged(format!(
                "--price: fewer than five of these paths were measured in recording {recording}"
            ))
        })?;
        let by = |path: &PathCost| path.new - path.base;
        let unchanged =
            || all.iter().filter(|path| by(path).abs() <= margin).map(|path| path.metric.as_str());
        let noise = grading.as_ref().and_then(|(_, after)| prices.noise(unchanged(), after));
        if grading.is_some() && noise.is_none() {
            return Err(Error::Unjudged(
                "--grade: fewer than five unchanged paths are in both recordings, so that their noise is not known"
                    .to_owned(),
            ));
        }
        let change = |path: &PathCost| {
            let prediction = prices.predict(&path.metric, by(path));
            let grade = grading
                .as_ref()
                .zip(noise)
                .and_then(|((_, after), noise)| prices.grade(&path.metric, &prediction, after, noise));
            PricedChange { metric: path.metric.clone(), prediction, grade }
        };
        let changes = all.iter().filter(|path| by(path).abs() > margin).map(change).collect();
        Ok(PricedChanges { recording, grading: grading.map(|(id, _)| id), prices, changes, noise })
    }
}

/// The id of a recording of a real machine, and the times of its paths.
fn timed(store: &Store, option: &str, name: &str) -> Result<(String, TimedPaths), Error> {
    let recording = store.find(name)?;
    if tickmark_analysis::instruction(&recording).is_some() {
        return Err(Error::Usage(format!(
            "{option} {name}: its times are counts of instructions; name a recording of a real machine"
        )));
    }
    Ok((recording.meta.id.to_string(), floors(&recording)))
}

/// Floors of a recording's paths in ns, each with the group that it belongs to.
pub(super) fn floors(recording: &Recording) -> TimedPaths {
    let groups = report::rows_of(recording, &|_| true);
    let rows = groups.iter().flat_map(|(group, rows)| rows.iter().map(move |row| (group, row)));
    let path = |(group, row): (&tickmark_wire::Group, &report::Row)| {
        let floor = row.value.filter(|_| row.mean.is_some() && row.no_floor().is_none())?;
        Some((row.metric.clone(), (group.title().to_owned(), floor.point)))
    };
    rows.filter(|(_, row)| row.unit == Unit::Nanoseconds).filter_map(path).collect()
}

impl PricedChanges {
    pub(super) fn text(&self) -> String {
        let width = tickmark_render::width();
        let all = &self.prices.all;
        let mut text = format!("\nPredicted for the machine of {}:\n", self.recording);
        let name = self.changes.iter().map(|change| change.metric.len()).max().unwrap_or(0);
        for PricedChange { metric, prediction, grade } in &self.changes {
            let [least, middle, most] = prediction.nanos.map(tickmark_render::time);
            let _ = write!(text, "  {metric:name$} {middle:>9}  ({least} to {most})");
            if let Some(Grade { measured, noise, held }) = grade {
                let [measured, noise] = [*measured, *noise].map(tickmark_render::time);
                let verdict = if *held { "held" } else { "did not hold" };
                let _ = write!(text, "  measured {measured} +- {noise}: {verdict}");
            }
            text.push('\n');
        }
        let mut end: Vec<String> = Vec::new();
        let said = |kind: &str, price: &tickmark_analysis::price::Price| {
            format!(
                "An instruction of {} {kind} takes {:.2} to {:.2} ns there (median {:.2}); that of another path like these lies in this range with a chance of {:.0} %.",
                price.paths,
                price.low,
                price.high,
                price.median,
                price.coverage() * 100.0
            )
        };
        end.extend(self.prices.kinds.iter().map(|(kind, price)| said(&format!("paths ({kind})"), price)));
        let other = |change: &PricedChange| change.prediction.kind.is_none();
        if self.prices.kinds.is_empty() || self.changes.iter().any(other) {
            end.push(said("paths of any kind", all));
        }
        if all.is_wide() {
            end.push("The range is wide: caches and mispredicted branches make these prices, and their number of instructions says little.".to_owned());
        }
        end.push(match (&self.grading, self.noise) {
            (Some(id), Some(noise)) => {
                let graded = self.changes.iter().filter_map(|change| change.grade);
                let (held, graded) = (graded.clone().filter(|grade| grade.held).count(), graded.count());
                format!(
                    "By recording {id} {held} of {graded} held. Paths whose instructions are the same differ by up to {:.1} % between the two recordings.",
                    noise * 100.0
                )
            }
            _ => "`tickmark run` with the new kernel there gives a recording for --grade.".to_owned(),
        });
        for sentence in end {
            text += &(textwrap::fill(&sentence, width) + "\n");
        }
        text
    }
}
