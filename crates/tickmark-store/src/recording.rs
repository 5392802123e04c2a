//! A recording as it is read: what was planned, what came of each run.

use crate::{Id, clean};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use tickmark_wire::{Event, Format, Hello, Name, Observed, Outcome, Plan, Reason, RunId, RunPlan};

/// The file meta.json: written once, before anything is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    /// Version of the recording.
    pub format: Format,
    /// Its id, which is also the name of its folder.
    pub id: Id,
    /// Its name, which others may share.
    pub name: String,
    /// When it was begun.
    pub created: jiff::Timestamp,
    /// The program that made it.
    pub program: String,
    /// The selection of probes: suites, names, patterns.
    #[serde(default)]
    pub select: Vec<String>,
    /// Everything that is to be run.
    pub plan: Plan,
    /// Its place in an experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<Arm>,
    /// Where it is measured, if not on the machine that keeps it: a guest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// A recording's place in an interleaved experiment: one setting, whose rounds are the blocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Arm {
    /// The experiment that its recordings share.
    pub experiment: String,
    /// The knob.
    pub knob: String,
    /// To what.
    pub setting: String,
    /// Counted from 0, which the others are compared with.
    pub number: u32,
    /// Runs at the first setting before the blocks began.
    pub pilot: bool,
    /// After how many blocks it is looked at, and ends if it is decided; empty where it is looked at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<u32>,
    /// The metrics that carry its claims; empty where all do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub primary: Vec<String>,
}

/// What differs between the settings of an experiment that turns nothing: the command alone.
pub const COMMANDS: &str = "commands";

impl Arm {
    /// True if nothing of the system was turned: it is a history of its command as any other recording is.
    #[must_use]
    pub fn is_command(&self) -> bool {
        self.knob == COMMANDS && !self.pilot
    }
}

/// Why a recording cannot be resumed here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Elsewhere {
    /// Another program measured.
    Imported {
        /// Which.
        tool: String,
    },
    /// It is one setting of an experiment.
    Setting {
        /// The knob of the experiment.
        knob: String,
    },
    /// It was measured on another machine or in a guest.
    Target {
        /// Where, in words.
        place: String,
    },
}

/// Result of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Status {
    /// Nothing yet: not started, or interrupted.
    Open,
    /// It finished.
    Ok,
    /// It cannot be made on this system.
    Unsupported(Reason),
    /// It went wrong.
    Failed(Reason),
    /// It reached its limit.
    TimedOut(Reason),
}

impl Status {
    /// Why there is nothing of it, where that was said.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Unsupported(reason) | Self::Failed(reason) | Self::TimedOut(reason) => {
                Some(&reason.message)
            }
            Self::Open | Self::Ok => None,
        }
    }
}

/// A line of events.jsonl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Where it begins, in bytes.
    pub start: u64,
    /// Its bytes, with the line break.
    pub length: usize,
    /// The index of its metric in the plan; none where the plan has no such metric.
    pub metric: Option<usize>,
}

/// Where things stand in a recording, by metric.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    /// In the plan.
    metrics: HashMap<Name, usize>,
    /// The runs that give each.
    runs: HashMap<Name, Vec<usize>>,
}

impl Places {
    fn from_recording(recording: &Recording) -> Self {
        let mut metrics = HashMap::new();
        for (at, metric) in recording.meta.plan.metrics.iter().enumerate() {
            // Where one stands twice, the first is meant.
            metrics.entry(metric.name.clone()).or_insert(at);
        }
        let mut runs: HashMap<Name, Vec<usize>> = HashMap::new();
        for (at, run) in recording.runs.iter().enumerate() {
            for metric in run.planned.metrics() {
                let own = runs.entry(metric.clone()).or_default();
                if own.last() != Some(&at) {
                    own.push(at);
                }
            }
        }
        Self { metrics, runs }
    }
}

/// A run with all that it gave.
#[derive(Debug, Clone)]
pub struct Run {
    /// As the plan has it.
    pub planned: RunPlan,
    /// The result.
    pub status: Status,
    /// Where its observations stand in events.jsonl: they are read when they are needed, so that a recording of
    /// any length fits a small machine.
    pub observed: Vec<Span>,
    /// Outcome that its process reported at its end.
    pub outcome: Option<Outcome>,
    /// CLOCK_REALTIME at its start, ns.
    pub started: Option<tickmark_wire::Nanos>,
}

/// A recording, read.
#[derive(Debug, Clone)]
pub struct Recording {
    /// Where it is.
    pub folder: PathBuf,
    /// The file meta.json.
    pub meta: Meta,
    /// One for each session: a resumed recording has more.
    pub sessions: Vec<Hello>,
    /// Where the figures come from, if another program measured them.
    pub imported: Option<tickmark_wire::ImportedFrom>,
    /// The most runs that were open at the same time.
    pub at_once: u32,
    /// Session (counted from 1), start by CLOCK_MONOTONIC and length of each run that says; of one whose end is not known its budget at most.
    pub measured: Vec<(usize, tickmark_wire::Nanos, tickmark_wire::Nanos)>,
    /// Time of a dependent multiplication in each segment of each run, ns.
    pub multiplications: Vec<f64>,
    /// In the order of the plan.
    pub runs: Vec<Run>,
    /// The machine's state at the end of each session that ended by itself.
    pub ends: Vec<tickmark_wire::Environment>,
    /// Lines that are no event.
    pub warnings: Vec<String>,
    /// True if events.jsonl ends without a line break: a killed writer left half a line.
    pub torn: bool,
    /// Made when it is asked for first.
    pub(crate) places: std::sync::OnceLock<Places>,
    /// Where each run is, of a plan whose ids do not count them.
    pub(crate) by_id: Option<HashMap<RunId, usize>>,
}

impl Recording {
    /// The same for recordings that measured a metric in the same manner, whatever the system: settings, runs and their length.
    #[must_use]
    pub fn manner(&self, metric: &Name) -> String {
        crate::signature::manner(self, metric)
    }

    /// The same for recordings that were asked for the same, whatever the system and the order of runs: settings, what each probe was told, how long and how often.
    #[must_use]
    pub fn request_text(&self) -> String {
        crate::signature::request_text(self)
    }

    /// How many runs of a metric are planned, and how long each of them may measure.
    #[must_use]
    pub fn length(&self, metric: &Name) -> (usize, tickmark_wire::Nanos) {
        crate::signature::length(self, metric)
    }

    pub(super) fn run(&mut self, id: RunId) -> Option<&mut Run> {
        // Ids count the runs of a plan; a foreign plan may number them otherwise.
        let at = id.0 as usize;
        if self.runs.get(at).is_some_and(|run| run.planned.id == id) {
            return self.runs.get_mut(at);
        }
        let by_id = self.by_id.get_or_insert_with(|| {
            let places = self.runs.iter().enumerate().map(|(at, run)| (run.planned.id, at));
            // The first of an id.
            places.rev().collect()
        });
        by_id.get(&id).and_then(|at| self.runs.get_mut(*at))
    }

    /// The runs that were requested: that of round 0 looks at what disturbs the others.
    pub fn requested_runs(&self) -> impl Iterator<Item = &Run> {
        let is_later = |run: &&Run| run.planned.round > 0;
        let has_later = self.runs.iter().any(|run| is_later(&run));
        self.runs.iter().filter(move |run| !has_later || is_later(run))
    }

    /// Why a metric has no figure of some run, where that was said.
    #[must_use]
    pub fn reason(&self, metric: &Name) -> Option<&str> {
        self.runs_of(metric).find_map(|run| run.status.reason())
    }

    /// The runs of the plan that give a metric, in its order.
    pub fn runs_of<'a>(&'a self, metric: &Name) -> impl Iterator<Item = &'a Run> + use<'a> {
        let all = self.places.get_or_init(|| Places::from_recording(self));
        all.runs.get(metric).into_iter().flatten().filter_map(|at| self.runs.get(*at))
    }

    /// Forgets runs.
    pub fn keep_runs(&mut self, keep: impl FnMut(&Run) -> bool) {
        self.runs.retain(keep);
        self.by_id = None;
        self.places = std::sync::OnceLock::new();
    }

    /// The observations of a metric in a run, in the order in which they were written; `None` for a line that cannot be read or
    /// parsed any more.
    #[must_use]
    pub fn observed(&self, run: &Run, metric: &Name) -> Vec<Option<Observed>> {
        let (path, mut options) = (self.folder.join("events.jsonl"), std::fs::OpenOptions::new());
        let Ok(file) = crate::files::open_regular(&path, options.read(true)) else { return vec![None] };
        let read = |span: &Span| read_span(&file, span);
        let own = self.places.get_or_init(|| Places::from_recording(self)).metrics.get(metric).copied();
        // What the plan does not know is looked at by its own name.
        let of = |observed: &Option<Observed>| {
            own.is_some() || observed.as_ref().is_none_or(|o| o.metric == *metric)
        };
        run.observed.iter().filter(|span| span.metric == own).map(read).filter(of).collect()
    }

    /// All observations of a run, in the order in which they were written; without lines that cannot be read or parsed any more.
    #[must_use]
    pub fn observations(&self, run: &Run) -> Vec<Observed> {
        let (path, mut options) = (self.folder.join("events.jsonl"), std::fs::OpenOptions::new());
        let Ok(file) = crate::files::open_regular(&path, options.read(true)) else { return Vec::new() };
        run.observed.iter().filter_map(|span| read_span(&file, span)).collect()
    }

    /// The environment of the machine: of the first session, or of the imported results.
    #[must_use]
    pub fn environment(&self) -> Option<&tickmark_wire::Environment> {
        let imported = self.imported.as_ref().map(|from| &from.environment);
        self.sessions.first().map(|hello| &hello.environment).or(imported)
    }

    /// Runs that are still to be done.
    pub fn open(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| run.status == Status::Open)
    }

    /// True if it may be judged by earlier recordings, and judge later ones: no setting of an experiment on the system.
    #[must_use]
    pub fn is_history(&self) -> bool {
        self.meta.arm.as_ref().is_none_or(Arm::is_command)
    }

    /// Why what is still to be done cannot be done by this program on this machine, if it cannot.
    #[must_use]
    pub fn elsewhere(&self) -> Option<Elsewhere> {
        if let Some(from) = &self.imported {
            return Some(Elsewhere::Imported { tool: from.tool.clone() });
        }
        if let Some(arm) = &self.meta.arm {
            return Some(Elsewhere::Setting { knob: arm.knob.clone() });
        }
        // Recordings of formats before 1.4 say it in the environment alone.
        let guest = self.environment().and_then(|facts| facts.get("guest.machine"));
        let place = self.meta.target.as_deref().or(guest)?;
        Some(Elsewhere::Target { place: place.to_owned() })
    }

    /// True if nothing is to be done any more: blocks that an experiment did not need are not missing.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.meta.arm.is_some() || self.open().next().is_none()
    }
}

/// The observations of a line of events.jsonl.
fn read_span(file: &std::fs::File, span: &Span) -> Option<Observed> {
    let mut line = vec![0; span.length];
    file.read_exact_at(&mut line, span.start).ok()?;
    match Event::parse(&line).ok()? {
        Event::Observed(mut observed) => {
            clean::observations(&mut observed.observations);
            Some(observed)
        }
        _ => None,
    }
}
