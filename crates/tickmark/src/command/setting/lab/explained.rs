//! Operations that were explained: what is kept of them with their recordings, and how it is shown.

use crate::error::Error;
use tickmark_analysis::explain::{CacheEffect, Explanation, explain};
use tickmark_analysis::paper::LmbenchColumn;
use tickmark_drive::target::explained_counts;
use tickmark_render::explain::{Explained, compared, text};
use tickmark_render::json::ExplainPage;
use tickmark_store::{Recording, Store};

/// How the recordings are called whose boot was explained; then the experiment, its machine and the setting.
const NAMED: &str = "lab explain ";

/// The name of a recording whose boot is explained.
pub(in crate::command) fn recording_name(of: &str) -> String {
    format!("{NAMED}{of}")
}

/// A setting of an experiment with what its guest executes.
pub(in crate::command) struct ExplainedSetting {
    /// Machine and setting.
    pub(super) label: String,
    pub(super) explanation: Explanation,
    /// Of the boot without the plugin.
    pub(super) recording: String,
}

/// An operation that was explained in the guests of a machine: by setting, or why not.
#[derive(Default)]
pub(in crate::command) struct ExplainedSettings {
    pub(super) all: Vec<ExplainedSetting>,
    /// Why others are not: with their names.
    pub(in crate::command) failed: Vec<String>,
}

/// What was kept of a recording's boot; none where nothing was explained.
///
/// # Errors
/// It cannot be read, or is not of this recording.
pub(super) fn kept(store: &Store, recording: &Recording) -> Result<Option<Explanation>, Error> {
    let transcript = store.transcripts(&recording.meta.id).join("1");
    let Some(counts) = explained_counts(&transcript)? else { return Ok(None) };
    let id = recording.meta.id.short();
    explain(recording, &counts)
        .map(Some)
        .map_err(|why| Error::Refused(format!("{id}: what its boot executed is not known: {why}")))
}

impl ExplainedSettings {
    /// Of recordings that were explained themselves, or are the settings of an experiment that explains: the last of each operation from
    /// before they were measured. What is damaged is said in its place.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(in crate::command) fn from_store(
        store: &Store,
        recordings: &[Recording],
    ) -> Result<Vec<Self>, Error> {
        let mut all: Vec<Self> = Vec::new();
        for recording in recordings {
            let Some(arm) = recording.meta.arm.as_ref().filter(|arm| !arm.pilot) else {
                let name = &recording.meta.name;
                add(&mut all, kept(store, recording), name.strip_prefix(NAMED).unwrap_or(name), recording);
                continue;
            };
            let guest = format!("{}, {}", arm.knob, arm.setting);
            let mut entries = store.list()?;
            entries.retain(|entry| {
                entry.name == recording_name(&guest) && entry.created <= recording.meta.created
            });
            entries.sort_by_key(|entry| entry.created);
            let label = guest.split_once(", ").map_or(guest.as_str(), |(_, label)| label);
            for entry in entries {
                let one = store.read(&entry.id)?;
                add(&mut all, kept(store, &one), label, &one);
            }
        }
        Ok(all)
    }

    /// The settings with their explanations, as they are shown.
    pub(in crate::command) fn explained(&self) -> Vec<Explained<'_>> {
        self.all.iter().map(|one| (one.label.as_str(), &one.explanation)).collect()
    }

    /// The first setting, then each other against it.
    pub(in crate::command) fn text(&self) -> String {
        let mut parts = Vec::new();
        if let [first, others @ ..] = &self.explained()[..] {
            parts.push(text(*first));
            parts.extend(others.iter().map(|other| compared([*first, *other])));
        }
        parts.extend(self.failed.iter().map(|why| textwrap::fill(why, tickmark_render::width()) + "\n"));
        parts.join("\n")
    }

    /// For programs: all settings of it.
    pub(in crate::command) fn page(&self) -> ExplainPage {
        let recordings: Vec<String> = self.all.iter().map(|one| one.recording.clone()).collect();
        ExplainPage::new(&self.explained(), &recordings)
    }
}

/// Adds what is known of a recording's boot, if anything, to the same operation of others.
fn add(
    all: &mut Vec<ExplainedSettings>,
    explained: Result<Option<Explanation>, Error>,
    label: &str,
    recording: &Recording,
) {
    let explanation = match explained {
        Ok(Some(explanation)) => explanation,
        Ok(None) => return,
        Err(why) => {
            all.push(ExplainedSettings { all: Vec::new(), failed: vec![why.to_string()] });
            return;
        }
    };
    let metric = explanation.metric.clone();
    let setting =
        ExplainedSetting { label: label.to_owned(), explanation, recording: recording.meta.id.to_string() };
    let is_same = |of: &&mut ExplainedSettings| of.all.iter().any(|one| one.explanation.metric == metric);
    match all.iter_mut().find(is_same) {
        // The newest counts.
        Some(of) => match of.all.iter_mut().find(|one| one.label == setting.label) {
            Some(one) => *one = setting,
            None => of.all.push(setting),
        },
        None => all.push(ExplainedSettings { all: vec![setting], failed: Vec::new() }),
    }
}

/// What simulated caches add to each other setting's effect against the first, beside the document's changes; nothing where none were simulated.
pub(in crate::command) fn cache_text(all: &[ExplainedSettings], columns: &[LmbenchColumn]) -> String {
    let document = |metric: &str| {
        let column = columns.iter().find(|column| column.metric == metric)?;
        Some(column.document / 100.0)
    };
    let settings = all.iter().map(|of| of.all.len()).max().unwrap_or(0);
    let mut out = String::new();
    for number in 1..settings {
        let pairs = || all.iter().filter_map(|of| of.all.first().zip(of.all.get(number)));
        let Some((first, other)) = pairs().next() else { continue };
        let effects =
            pairs().filter_map(|(first, other)| CacheEffect::new(&first.explanation, &other.explanation));
        let effects: Vec<_> = effects.map(|effect| (effect.clone(), document(&effect.metric))).collect();
        let title = format!("\nWhat caches add, {} against {} (simulated):", other.label, first.label);
        out += &tickmark_render::explain::cache_effects(&title, &effects);
    }
    out
}
