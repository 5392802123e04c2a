//! Reads a recording. A damaged line fails its run; a line of an unknown kind is named.

use super::clean;
use super::recording::{Meta, Recording, Run, Span, Status};
use crate::Error;
use crate::files::{SMALL, open_regular, read_regular};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use tickmark_wire::text::printable;
use tickmark_wire::{Arguments, Event, Format, Glance, LineContent, Name, Nanos, Reason, RunId};

/// Bytes of a line that are read at most: an agent's are a few million.
const LONGEST: u64 = 256 << 20;
/// Lines that cannot be read are named up to so many.
const MOST_WARNINGS: usize = 1_000;

/// Reads the recording in a folder.
///
/// # Errors
/// No recording there, or one of a format that this program does not know.
pub fn load(folder: &Path) -> Result<Recording, Error> {
    let meta = meta(folder)?;
    let runs = meta.plan.runs.iter().map(|planned| Run {
        planned: planned.clone(),
        status: Status::Open,
        observed: Vec::new(),
        outcome: None,
        started: None,
    });
    let mut recording = Recording {
        folder: folder.to_owned(),
        runs: runs.collect(),
        meta,
        sessions: Vec::new(),
        imported: None,
        at_once: 0,
        measured: Vec::new(),
        multiplications: Vec::new(),
        ends: Vec::new(),
        warnings: Vec::new(),
        torn: false,
        places: std::sync::OnceLock::new(),
        by_id: None,
    };
    let path = folder.join("events.jsonl");
    let failed = |error| Error::file("read", &path)(error);
    let file = match open_regular(&path, std::fs::OpenOptions::new().read(true)) {
        Ok(file) => file,
        // Killed between the two files: a recording without events.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(recording),
        Err(error) => return Err(failed(error)),
    };
    let mut stream = Stream::from_recording(&recording);
    let mut lines = BufReader::new(file);
    let (mut line, mut start) = (Vec::new(), 0);
    for number in 1.. {
        line.clear();
        let length = (&mut lines).take(LONGEST + 1).read_until(b'\n', &mut line).map_err(failed)?;
        if length as u64 > LONGEST {
            let why = format!("line {number} of its events.jsonl has more than {LONGEST} bytes");
            return Err(Error::NotARecording { path: folder.to_owned(), why });
        }
        if length == 0 {
            break;
        }
        recording.torn = !line.ends_with(b"\n");
        if !line.iter().all(u8::is_ascii_whitespace) {
            stream.take(&mut recording, number, &line, start);
        }
        start += length as u64;
    }
    for id in stream.damaged {
        // Without one of its parts a figure would be another one.
        if let Some(run) = recording.run(id).filter(|run| run.status == Status::Ok) {
            run.status = Status::Failed(Reason::new("a line of its observations is damaged"));
        }
    }
    complete(&mut recording);
    Ok(recording)
}

/// The lines so far.
struct Stream {
    /// The place of each metric in the plan.
    metrics: HashMap<Name, usize>,
    /// Runs that are open.
    open: u32,
    /// The run that a damaged line may belong to.
    running: Option<RunId>,
    damaged: BTreeSet<RunId>,
}

impl Stream {
    fn from_recording(recording: &Recording) -> Self {
        let mut metrics = HashMap::new();
        for (at, metric) in recording.meta.plan.metrics.iter().enumerate() {
            // Where one stands twice, the first is meant.
            metrics.entry(metric.name.clone()).or_insert(at);
        }
        Self { metrics, open: 0, running: None, damaged: BTreeSet::new() }
    }

    fn take(&mut self, recording: &mut Recording, number: usize, line: &[u8], start: u64) {
        match LineContent::parse(line) {
            // Nearly all bytes are observations, which are only parsed when they are needed.
            Ok(LineContent::Observed(mut glance)) => {
                clean::name(&mut glance.metric);
                let metric = self.metrics.get(&glance.metric).copied();
                take_observed(recording, &glance, Span { start, length: line.len(), metric });
            }
            Ok(LineContent::Event(Event::Unknown(_))) => {
                let kind = Event::kind(line).unwrap_or_default();
                warn(
                    recording,
                    format!(
                        "events.jsonl line {number}: an event of a kind that this version does not know ({}); kept, not shown",
                        printable(&kind, false)
                    ),
                );
            }
            Ok(LineContent::Event(mut event)) => {
                clean::event(&mut event);
                self.open = at_once(self.open, &event);
                match &event {
                    Event::Started(started) => {
                        self.running = Some(started.run);
                        self.damaged.remove(&started.run);
                    }
                    _ => self.running = None,
                }
                recording.at_once = recording.at_once.max(self.open);
                take(recording, event);
            }
            Err(why) => {
                self.damaged.extend(self.running);
                let why = printable(&why, false);
                warn(recording, format!("events.jsonl line {number}: {why}; left out"));
            }
        }
    }
}

/// Names a line that is not used, up to [`MOST_WARNINGS`].
fn warn(recording: &mut Recording, why: String) {
    match recording.warnings.len() {
        count if count < MOST_WARNINGS => recording.warnings.push(why),
        MOST_WARNINGS => recording.warnings.push("more lines of events.jsonl are not used".to_owned()),
        _ => {}
    }
}

fn take_observed(recording: &mut Recording, glance: &Glance, span: Span) {
    let costs = glance.segments.iter().map(|segment| segment.multiply.as_nanos_f64());
    recording.multiplications.extend(costs.filter(|cost| *cost > 0.0));
    if let Some(run) = recording.run(glance.run) {
        // Figures of another program are whole as they are.
        if glance.kind == "values" {
            run.status = Status::Ok;
        }
        run.observed.push(span);
    }
}

/// How many runs are open after an event. A new session begins with none.
fn at_once(open: u32, event: &Event) -> u32 {
    match event {
        Event::Hello(_) => 0,
        Event::Started(_) => open + 1,
        Event::Finished(_) | Event::Skipped(..) | Event::Failed(..) | Event::TimedOut(..) => {
            open.saturating_sub(1)
        }
        _ => open,
    }
}

/// Fails runs of which a line of observations is missing: without one of its parts a figure would be another one. Recordings
/// of formats before 1.4 do not say how many there are: the other runs of the probe do.
fn complete(recording: &mut Recording) {
    let mut most: BTreeMap<(Name, Arguments), usize> = BTreeMap::new();
    let of = |run: &Run| (run.planned.probe.clone(), run.planned.arguments.clone());
    for run in recording.runs.iter().filter(|run| run.status == Status::Ok) {
        let most = most.entry(of(run)).or_default();
        *most = (*most).max(run.observed.len());
    }
    for run in recording.runs.iter_mut().filter(|run| run.status == Status::Ok && run.outcome.is_some()) {
        let observed = run.outcome.as_ref().and_then(|outcome| outcome.observed);
        let all =
            observed.map_or_else(|| most.get(&of(run)).copied().unwrap_or(0), |observed| observed as usize);
        if run.observed.len() != all {
            let here = run.observed.len();
            let why = format!("{here} of its {all} lines of observations are there: some are missing");
            run.status = Status::Failed(Reason::new(why));
        }
    }
}

fn take(recording: &mut Recording, event: Event) {
    let mut status = |id, status| {
        if let Some(run) = recording.run(id) {
            run.status = status;
        }
    };
    match event {
        Event::Hello(hello) => recording.sessions.push(*hello),
        Event::Imported(from) => recording.imported = Some(*from),
        Event::Refused(_) => {}
        Event::Started(started) => {
            if let Some(run) = recording.run(started.run) {
                // What an interrupted session left of this run is not mixed with a second try.
                run.observed.clear();
                (run.status, run.outcome) = (Status::Open, None);
                run.started = Some(started.at);
                let budget = run.planned.budget;
                let session = recording.sessions.len();
                // What was before it is over.
                if let (Some(now), Some((of, from, length))) =
                    (started.monotonic, recording.measured.last_mut())
                    && *of == session
                {
                    *length = (*length).min(since(*from, now));
                }
                recording.measured.extend(started.monotonic.map(|from| (session, from, budget)));
            }
        }
        // Taken as it was read.
        Event::Observed(_) => {}
        Event::Finished(outcome) => {
            if let (Some(end), Some((_, from, length))) = (outcome.ended, recording.measured.last_mut()) {
                *length = since(*from, end);
            }
            if let Some(run) = recording.run(outcome.run) {
                run.status = Status::Ok;
                run.outcome = Some(outcome);
            }
        }
        Event::Skipped(id, reason) => status(id, Status::Unsupported(reason)),
        Event::Failed(id, reason) => status(id, Status::Failed(reason)),
        Event::TimedOut(id, reason) => status(id, Status::TimedOut(reason)),
        Event::Goodbye { state, .. } => recording.ends.push(state),
        // Named where it was read.
        Event::Unknown(_) => {}
    }
}

/// meta.json, its version first: a newer one may not fit the rest.
fn meta(folder: &Path) -> Result<Meta, Error> {
    #[derive(serde::Deserialize)]
    struct Version {
        format: Format,
    }
    let path = folder.join("meta.json");
    let text = read_regular(&path, SMALL).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            Error::NotARecording { path: folder.to_owned(), why: "it has no meta.json".to_owned() }
        }
        _ => Error::file("read", &path)(error),
    })?;
    let broken = |error: serde_json::Error| Error::NotARecording {
        path: folder.to_owned(),
        why: format!("its meta.json cannot be read ({error})"),
    };
    let Version { format } = serde_json::from_slice(&text).map_err(broken)?;
    if !format.readable() {
        return Err(Error::NewerFormat { path: folder.to_owned(), format });
    }
    let mut meta: Meta = serde_json::from_slice(&text).map_err(broken)?;
    if let Some(why) = clean::refuse(&meta) {
        return Err(Error::NotARecording { path: folder.to_owned(), why });
    }
    clean::meta(&mut meta);
    Ok(meta)
}
/// From one reading of CLOCK_MONOTONIC to a later one; 0 where it is none.
fn since(from: Nanos, to: Nanos) -> Nanos {
    Nanos::new(to.get().saturating_sub(from.get()).max(0))
}
