//! Operations that were explained: what is kept of them with their recordings, and how it is shown.

use crate::error::Error;
use std::collections::BTreeMap;
use tickmark_analysis::explain::{CacheEffect, Explanation, explain};
use tickmark_analysis::paper::LmbenchColumn;
use tickmark_drive::target::explained_counts;
use tickmark_render::explain::{DocumentChange, Explained, compared, summary, text};
use tickmark_render::json::ExplainPage;
use tickmark_store::{Entry, Recording, Store};

/// How the recordings are called whose boot was explained; then the experiment, its machine and the setting.
const NAMED: &str = "lab explain ";
/// Earlier boots of a guest that are looked at.
const LOOKED_AT: usize = 64;

/// The name of a recording whose boot is explained.
pub(in crate::command) fn recording_name(of: &str) -> String {
    format!("{NAMED}{of}")
}

/// What the recordings of a setting's guest are named by: the experiment, its machine and speed, the setting.
pub(in crate::command) fn guest_name(experiment: &str, setting: &str) -> String {
    format!("{experiment}, {setting}")
}

/// The machine and the setting of such a name.
pub(in crate::command) fn guest_label(name: &str) -> String {
    let guest = name.split_once(", ").map_or(name, |(_, guest)| guest);
    let (machine, setting) = guest.split_once(", ").unwrap_or((guest, ""));
    format!("{}, {setting}", machine.split('@').next().unwrap_or(machine))
}

/// A setting of an experiment with what its guest executes.
pub(in crate::command) struct ExplainedSetting {
    /// Machine and setting.
    pub(in crate::command) label: String,
    pub(super) explanation: Explanation,
    /// Of the boot without the plugin.
    pub(super) recording: String,
}

/// An operation that was explained in the guests of a machine: by setting, or why not.
#[derive(Default)]
pub(in crate::command) struct ExplainedSettings {
    pub(in crate::command) all: Vec<ExplainedSetting>,
    /// Why others are not: with their names.
    pub(in crate::command) failed: Vec<String>,
}

/// What was kept of a recording's boot; none where nothing was explained.
///
/// # Errors
/// It cannot be read, or is not of this recording.
pub(super) fn kept_explanation(store: &Store, recording: &Recording) -> Result<Option<Explanation>, Error> {
    let transcript = store.transcripts(&recording.meta.id).join("1");
    let Some(counts) = explained_counts(&transcript)? else { return Ok(None) };
    let id = recording.meta.id.short();
    explain(recording, &counts)
        .map(Some)
        .map_err(|why| Error::Refused(format!("{id}: what was counted in its boot cannot be used: {why}")))
}

/// The kernel of a guest, as it was named.
pub(super) fn kernel_of(recording: &Recording) -> String {
    fact(recording, "guest.kernel").unwrap_or_else(|| recording.meta.name.clone())
}

fn fact(recording: &Recording, name: &str) -> Option<String> {
    recording.environment()?.get(name).map(str::to_owned)
}

/// What makes a guest, and who measures in it.
pub(super) fn guest_facts(recording: &Recording) -> BTreeMap<String, String> {
    let facts = recording.environment().into_iter().flat_map(tickmark_wire::Environment::iter);
    let own = facts.filter(|(name, _)| name.starts_with("guest.") && *name != "guest.repeated");
    let agent = recording.sessions.first().map(|hello| ("agent".to_owned(), hello.agent.clone()));
    own.map(|(name, fact)| (name.to_owned(), fact.value.clone().unwrap_or_default())).chain(agent).collect()
}

/// Recordings of a name, the newest first, at most so many.
pub(super) fn newest(entries: &[Entry], name: &str, most: usize) -> Vec<Entry> {
    let mut all: Vec<Entry> = entries.iter().filter(|entry| entry.name == name).cloned().collect();
    all.sort_by_key(|entry| std::cmp::Reverse(entry.created));
    all.truncate(most);
    all
}

impl ExplainedSettings {
    /// Of recordings that were explained themselves, or are the settings of an experiment that explains: the last of each operation in a
    /// guest with the same facts. What is damaged is said in its place.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(in crate::command) fn from_store(
        store: &Store,
        recordings: &[Recording],
    ) -> Result<Vec<Self>, Error> {
        let mut all: Vec<Self> = Vec::new();
        let entries = store.list()?;
        for recording in recordings {
            let Some(arm) = recording.meta.arm.as_ref().filter(|arm| !arm.pilot) else {
                let label = format!("{}, recording {}", kernel_of(recording), recording.meta.id.short());
                if let Err(why) = add(&mut all, store, &label, recording) {
                    all.push(Self { all: Vec::new(), failed: vec![why.to_string()] });
                }
                continue;
            };
            let guest = guest_name(&arm.knob, &arm.setting);
            let label = guest_label(&guest);
            let facts = guest_facts(recording);
            let (mut failed, mut found) = (Vec::new(), false);
            for entry in newest(&entries, &recording_name(&guest), LOOKED_AT) {
                let one = match store.read(&entry.id) {
                    Ok(one) => one,
                    Err(why) => {
                        failed.push(why.to_string());
                        continue;
                    }
                };
                if guest_facts(&one) == facts {
                    match add(&mut all, store, &label, &one) {
                        Ok(is_known) => found |= is_known,
                        Err(why) => failed.push(why.to_string()),
                    }
                }
            }
            if !found && !failed.is_empty() {
                all.push(Self { all: Vec::new(), failed });
            }
        }
        Ok(all)
    }

    /// True if it is of that operation, with caches or without.
    pub(in crate::command) fn is_of(&self, metric: &str, with_caches: bool) -> bool {
        let is_so = |of: &Explanation| of.metric == metric && of.calls.refills.is_some() == with_caches;
        self.all.iter().all(|one| is_so(&one.explanation)) && !self.all.is_empty()
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
        parts.push(self.failures());
        parts.retain(|part| !part.is_empty());
        parts.join("\n")
    }

    /// The same in a few lines, and where the rest is.
    pub(in crate::command) fn summary(&self) -> String {
        let mut text = summary(&self.explained());
        if let [first, others @ ..] = &self.all[..] {
            let ids = std::iter::once(first)
                .chain(others)
                .map(|one| one.recording.chars().take(8).collect::<String>());
            let ids = ids.collect::<Vec<_>>().join(" ");
            let page = crate::suggest::command(&format!("report {ids} -o page.html"));
            text += &format!("all functions, flame graphs: {page}\n");
        }
        text + &self.failures()
    }

    fn failures(&self) -> String {
        self.failed.iter().map(|why| tickmark_render::paragraph(why) + "\n").collect()
    }

    /// For programs: all settings of it.
    pub(in crate::command) fn page(&self) -> ExplainPage {
        let recordings: Vec<String> = self.all.iter().map(|one| one.recording.clone()).collect();
        ExplainPage::new(&self.explained(), &recordings)
    }

    pub(in crate::command) fn labelled(&self, label: &str) -> Option<&Explanation> {
        self.all.iter().find(|one| one.label == label).map(|one| &one.explanation)
    }
}

/// Adds what is known of a recording's boot to the same operation of others on its processor, where that setting is not known yet; true if
/// anything is.
fn add(
    all: &mut Vec<ExplainedSettings>,
    store: &Store,
    label: &str,
    recording: &Recording,
) -> Result<bool, Error> {
    let Some(explanation) = kept_explanation(store, recording)? else { return Ok(false) };
    let (metric, machine) = (explanation.metric.clone(), fact(recording, "guest.machine"));
    let setting = || ExplainedSetting {
        label: label.to_owned(),
        explanation,
        recording: recording.meta.id.to_string(),
    };
    for of in all.iter_mut() {
        let Some(first) = of.all.first().filter(|first| first.explanation.metric == metric) else { continue };
        let other = store.find(&first.recording)?;
        if fact(&other, "guest.machine") != machine {
            continue;
        }
        if of.labelled(label).is_none() {
            of.all.push(setting());
        }
        return Ok(true);
    }
    all.push(ExplainedSettings { all: vec![setting()], failed: Vec::new() });
    Ok(true)
}

/// What simulated caches add to each other setting's effect against the first, beside the document's changes; nothing where none were simulated.
pub(in crate::command) fn cache_text(all: &[ExplainedSettings], columns: &[LmbenchColumn]) -> String {
    let mut labels: Vec<&str> = Vec::new();
    for one in all.iter().flat_map(|of| &of.all) {
        if !labels.contains(&one.label.as_str()) {
            labels.push(&one.label);
        }
    }
    let [first, others @ ..] = &labels[..] else { return String::new() };
    let texts = others.iter().map(|other| {
        let effect = |of: &ExplainedSettings| CacheEffect::new(of.labelled(first)?, of.labelled(other)?);
        let effects: Vec<_> = all
            .iter()
            .filter_map(effect)
            .map(|effect| (effect.clone(), document_change(&effect, columns)))
            .collect();
        let title = format!("\nWhat caches add, {other} against {first} (simulated):");
        tickmark_render::explain::cache_effects(&title, &effects)
    });
    texts.collect()
}

/// The document's change of an operation: of a cost that is nothing but this operation.
fn document_change(effect: &CacheEffect, columns: &[LmbenchColumn]) -> Option<DocumentChange> {
    let is_rate = effect.metric.starts_with("bandwidth.");
    let column = columns.iter().find(|column| column.metric == effect.metric);
    let column = column.filter(|_| effect.is_whole_figure && !is_rate)?;
    Some(DocumentChange { change: column.document / 100.0, decided: column.decided })
}
