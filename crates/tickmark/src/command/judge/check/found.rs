//! The recordings that a new one is judged by.

use crate::cli::Check;
use crate::command::gates::Gate;
use crate::error::Error;
use crate::progress::Steps;
use tickmark_analysis::gate::{self, Figures, MOST, Name, machine};
use tickmark_store::{Entry, Recording, Store};

/// A recording is judged together with no more that it repeats.
const MOST_TOGETHER: usize = 20;

/// Recordings of one machine that measured the same in the same manner: newest first.
pub(super) struct CheckedRecordings {
    pub(super) earlier: Vec<Recording>,
    /// With the newest first.
    pub(super) new: Vec<Recording>,
    /// How many earlier ones were left out, as a figure had another level then, and which figure.
    pub(super) older: Option<(usize, Name)>,
}

/// What recordings share that judge each other: the machine and the request, or of another program's results their name and the program.
pub(super) fn identity(recording: &Recording, options: &Check) -> String {
    match &recording.imported {
        Some(_) => format!("{}; {}", recording.meta.name, program_settings(recording)),
        None => format!("{}; {}", machine(recording, !options.any_host), recording.request_text()),
    }
}

/// The program of an imported result, and the facts that it states of its own run (threads, URL): results of other settings are no history.
pub(super) fn program_settings(recording: &Recording) -> String {
    let own = recording.meta.plan.metrics.first().map_or("", |metric| metric.name.as_str());
    let prefix = format!("{}.", own.split('.').next().unwrap_or_default());
    let facts = recording.environment().into_iter().flat_map(tickmark_wire::Environment::iter);
    let own: Vec<String> = facts
        .filter(|(name, _)| name.starts_with(&prefix))
        .map(|(name, fact)| format!("{name}={}", fact.value.as_deref().unwrap_or_default()))
        .collect();
    let tool = recording.imported.as_ref().map_or("", |from| from.tool.as_str());
    format!("{} {}", program(tool), own.join(" "))
}

/// The name of a program without its version.
fn program(tool: &str) -> String {
    let is_version = |word: &&str| word.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit());
    tool.split([' ', '-']).filter(|word| !is_version(word)).collect::<Vec<_>>().join(" ")
}

impl CheckedRecordings {
    pub(super) fn find(
        store: &Store,
        newest: &Recording,
        gate: &Gate,
        options: &Check,
    ) -> Result<Self, Error> {
        let wanted = identity(newest, options);
        let own = Entry::from_recording(newest);
        let fits = |entry: &&Entry| {
            entry.complete
                && entry.imported == own.imported
                && entry.is_history()
                && entry.created <= own.created
                && entry.id != own.id
        };
        let is_earlier = |entry: &Entry| {
            !gate.claimed.contains(&entry.id)
                && gate.since.is_none_or(|since| entry.created >= since)
                && (gate.baseline.is_empty() || gate.baseline.contains(&entry.id))
        };
        let mut entries = store.list()?;
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.created));
        let mut steps = Steps::new();
        let (mut new, mut earlier) = (vec![newest.clone()], Vec::new());
        for entry in entries.iter().filter(fits) {
            let repeats = options.retry && gate.claimed.contains(&entry.id) && new.len() < MOST_TOGETHER;
            let is_new = new.len() < options.last as usize || repeats;
            if !is_new && (earlier.len() >= MOST || !is_earlier(entry)) {
                continue;
            }
            steps.at(&format!("reading {}", entry.id.short()));
            match store.read(&entry.id) {
                Ok(recording) if identity(&recording, options) == wanted => {
                    let side = if is_new { &mut new } else { &mut earlier };
                    side.push(recording);
                }
                Ok(_) => {}
                Err(why) => steps.warn(&format!("{} is left out: {why}", entry.id)),
            }
        }
        steps.finish();
        if new.len() < options.last as usize {
            let there = new.len();
            return Err(Error::Usage(format!("--last {}: there are {there} such recordings", options.last)));
        }
        Ok(Self { earlier, new, older: None })
    }

    /// Without earlier ones of another level. Who chose what to judge by gets it.
    pub(super) fn of_today(mut self, gate: &Gate, figures: &dyn Fn(&Recording) -> Figures) -> Self {
        let earlier: Vec<Figures> = self.earlier.iter().map(figures).collect();
        let older = gate::of_an_older_level(&earlier).filter(|_| gate.baseline.is_empty());
        if let Some(older) = older {
            self.older = Some((self.earlier.len() - older.kept, older.name));
            self.earlier.truncate(older.kept);
        }
        self
    }
}
