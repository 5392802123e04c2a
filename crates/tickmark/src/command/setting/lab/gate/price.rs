//! What counted changes cost on a real machine, before the new kernel is booted there; and whether that held.

use super::{Kinds, PathCost, Paths};
use crate::cli::LabGate;
use crate::error::Error;
use std::fmt::Write;
use tickmark_analysis::price::{Grade, Pace, Prediction, Price, Prices};
use tickmark_store::Store;

/// The recordings of `--price` and `--grade`.
pub(super) struct PriceRequest {
    recording: String,
    nanos: Paths,
    grading: Option<(String, Paths)>,
}

/// Changes with their predictions, and how these were graded.
pub(in crate::command) struct PricedChanges {
    recording: String,
    /// The recording that graded, where one did.
    grading: Option<String>,
    pub(in crate::command) prices: Prices,
    pub(in crate::command) changes: Vec<PricedChange>,
    /// The times of paths whose instructions did not change.
    pace: Option<Pace>,
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
        let (recording, nanos) = measured(store, "--price", name)?;
        let grading = options.grade.as_ref().map(|name| measured(store, "--grade", name)).transpose()?;
        Ok(Some(Self { recording, nanos, grading }))
    }

    /// Prices what changed.
    pub(super) fn price(
        self,
        (before, kinds): (&Paths, Kinds),
        all: &[PathCost],
        margin: f64,
    ) -> Result<PricedChanges, Error> {
        let Self { recording, nanos, grading } = self;
        let prices = Prices::new(before, kinds, nanos).ok_or_else(|| {
            Error::Unjudged(format!(
                "--price: fewer than five of these paths were measured in recording {recording}"
            ))
        })?;
        let by = |path: &PathCost| path.new - path.base;
        let unchanged =
            || all.iter().filter(|path| by(path).abs() <= margin).map(|path| path.metric.as_str());
        let pace = grading.as_ref().and_then(|(_, after)| prices.compared(unchanged(), after));
        if grading.is_some() && pace.is_none() {
            return Err(Error::Unjudged(
                "--grade: fewer than five unchanged paths are in both recordings, so that their noise is not known"
                    .to_owned(),
            ));
        }
        let change = |path: &PathCost| {
            let prediction = prices.predict(&path.metric, by(path));
            let grade = grading
                .as_ref()
                .zip(pace)
                .and_then(|((_, after), pace)| prices.grade(&path.metric, &prediction, after, pace));
            PricedChange { metric: path.metric.clone(), prediction, grade }
        };
        let changes = all.iter().filter(|path| by(path).abs() > margin).map(change).collect();
        Ok(PricedChanges { recording, grading: grading.map(|(id, _)| id), prices, changes, pace })
    }
}

/// The id of a recording of a real machine, and the times of its paths in ns.
fn measured(store: &Store, option: &str, name: &str) -> Result<(String, Paths), Error> {
    let recording = store.find(name)?;
    if tickmark_analysis::instruction(&recording).is_some() {
        return Err(Error::Usage(format!(
            "{option} {name}: its times are counts of instructions; name a recording of a real machine"
        )));
    }
    Ok((recording.meta.id.to_string(), super::floors(&recording, 1.0)))
}

impl PricedChanges {
    pub(super) fn text(&self) -> String {
        if self.changes.is_empty() {
            return "\nNo path changed: there is nothing to predict.\n".to_owned();
        }
        let mut text = format!("\nPredicted for the machine of {}:\n", self.recording);
        let name = self.changes.iter().map(|change| change.metric.len()).max().unwrap_or(0);
        for PricedChange { metric, prediction, grade } in &self.changes {
            let [least, middle, most] = prediction.nanos.map(tickmark_render::time);
            let _ =
                writeln!(text, "  {metric:name$} {middle:>9}  ({least} to {most}){}", self.graded(*grade));
        }
        for sentence in self.sentences() {
            text += &(tickmark_render::paragraph(&sentence) + "\n");
        }
        text
    }

    /// What a recording says of a prediction.
    fn graded(&self, grade: Option<Grade>) -> String {
        let Some(Grade { measured, noise, held }) = grade else {
            return if self.grading.is_some() { "  not in both recordings" } else { "" }.to_owned();
        };
        let verdict = match held {
            Some(true) => "held",
            Some(false) => "did not hold",
            None => "cannot be told",
        };
        let [measured, noise] = [measured, noise].map(tickmark_render::time);
        format!("  {measured} \u{b1} {noise}: {verdict}")
    }

    /// The prices, and how far they go.
    fn sentences(&self) -> Vec<String> {
        let of_price = |kind: &str, price: &Price| {
            let mut sentence = format!(
                "An instruction of {} paths{kind} takes {:.2} to {:.2} ns there on average of each path (median {:.2}).",
                price.paths, price.low, price.high, price.median
            );
            if price.is_wide() {
                sentence += " This range is wide: caches and mispredicted branches make these prices, and their number of instructions says little.";
            }
            sentence
        };
        let uses =
            |kind: &str| self.changes.iter().any(|change| change.prediction.kind.as_deref() == Some(kind));
        let kinds = self.prices.kinds.iter().filter(|(kind, _)| uses(kind));
        let mut all: Vec<String> =
            kinds.map(|(kind, price)| of_price(&format!(" ({kind})"), price)).collect();
        if self.changes.iter().any(|change| change.prediction.kind.is_none()) {
            all.push(of_price(" of all kinds, by which the others are priced,", &self.prices.all));
        }
        all.push(format!(
            "Another path like these has an average price in that range with a chance of {:.0} %; what is added to a path may be dearer or cheaper than its average.",
            self.prices.all.coverage() * 100.0
        ));
        all.push(match (&self.grading, self.pace) {
            (Some(id), Some(pace)) => {
                let grades = || self.changes.iter().filter_map(|change| change.grade);
                let count = |held| grades().filter(|grade| grade.held == held).count();
                format!(
                    "Recording {id}: {} of {} predictions held, {} did not, {} cannot be told from no change. Paths with the same instructions take {:.3} times as long there, to within {:.1} %.",
                    count(Some(true)),
                    grades().count(),
                    count(Some(false)),
                    count(None),
                    pace.ratio,
                    pace.noise * 100.0
                )
            }
            _ => "`tickmark run` with the new kernel there gives a recording for --grade.".to_owned(),
        });
        all
    }
}
