//! Reads a recording. Lines that are no event are left out and named; every other one counts.

use super::recording::{Meta, Recording, Run, Span, Status};
use crate::error::Error;
use std::io::{BufRead, BufReader};
use std::path::Path;
use tickmark_wire::{Event, Format, Observations, Reason, RunId};

/// Reads the recording in a folder.
///
/// # Errors
/// No recording there, or one of a format that this program does not know.
pub(crate) fn load(folder: &Path) -> Result<Recording, Error> {
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
        multiplications: Vec::new(),
        ends: Vec::new(),
        warnings: Vec::new(),
        torn: false,
    };
    let path = folder.join("events.jsonl");
    let failed = |error| Error::store("read", &path)(error);
    let file = match std::fs::File::open(&path) {
        Ok(file) => file,
        // Killed between the two files: a recording without events.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(recording),
        Err(error) => return Err(failed(error)),
    };
    let mut lines = BufReader::new(file);
    let (mut line, mut start, mut open) = (Vec::new(), 0, 0u32);
    // The run that a damaged line may belong to.
    let mut running = None;
    let mut damaged: Vec<RunId> = Vec::new();
    for number in 1.. {
        line.clear();
        let length = lines.read_until(b'\n', &mut line).map_err(failed)?;
        if length == 0 {
            break;
        }
        recording.torn = !line.ends_with(b"\n");
        if !line.iter().all(u8::is_ascii_whitespace) {
            match serde_json::from_slice::<Event>(&line) {
                Ok(event) => {
                    open = at_once(open, &event);
                    match &event {
                        Event::Started(started) => {
                            running = Some(started.run);
                            damaged.retain(|run| *run != started.run);
                        }
                        Event::Observed(_) => {}
                        _ => running = None,
                    }
                    recording.at_once = recording.at_once.max(open);
                    take(&mut recording, event, Span { start, length });
                }
                Err(error) => {
                    damaged.extend(running);
                    recording.warnings.push(format!("events.jsonl line {number}: {}", what(&line, &error)));
                }
            }
        }
        start += length as u64;
    }
    for id in damaged {
        // Without one of its parts a figure would be another one.
        if let Some(run) = recording.run(id).filter(|run| run.status == Status::Ok) {
            run.status = Status::Failed(Reason::new("a line of its observations is damaged"));
        }
    }
    Ok(recording)
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

/// Why a line is no event: of a newer minor version, or damaged.
fn what(line: &[u8], error: &serde_json::Error) -> String {
    let kind = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(line)
        .ok()
        .filter(|map| map.len() == 1)
        .and_then(|map| map.keys().next().cloned());
    match kind {
        Some(kind) if error.to_string().starts_with("unknown variant") => {
            format!("an event of a kind that this version does not know ({kind}); left out")
        }
        _ if error.is_eof() => "half an event, as a killed run leaves it; left out".to_owned(),
        _ => "not an event; left out".to_owned(),
    }
}

fn take(recording: &mut Recording, event: Event, span: Span) {
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
            }
        }
        Event::Observed(observed) => {
            let costs = observed.segments.iter().map(|segment| segment.multiply.as_nanos_f64());
            recording.multiplications.extend(costs.filter(|cost| *cost > 0.0));
            if let Some(run) = recording.run(observed.run) {
                // Figures of another program are whole as they are.
                if matches!(observed.observations, Observations::Values(_)) {
                    run.status = Status::Ok;
                }
                run.observed.push(span);
            }
        }
        Event::Finished(outcome) => {
            if let Some(run) = recording.run(outcome.run) {
                run.status = Status::Ok;
                run.outcome = Some(outcome);
            }
        }
        Event::Skipped(id, reason) => status(id, Status::Unsupported(reason)),
        Event::Failed(id, reason) => status(id, Status::Failed(reason)),
        Event::TimedOut(id, reason) => status(id, Status::TimedOut(reason)),
        Event::Goodbye { state, .. } => recording.ends.push(state),
    }
}

/// meta.json, its version first: a newer one may not fit the rest.
fn meta(folder: &Path) -> Result<Meta, Error> {
    #[derive(serde::Deserialize)]
    struct Version {
        format: Format,
    }
    let path = folder.join("meta.json");
    let text = std::fs::read(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            Error::NotARecording { path: folder.to_owned(), why: "it has no meta.json".to_owned() }
        }
        _ => Error::store("read", &path)(error),
    })?;
    let broken = |error: serde_json::Error| Error::NotARecording {
        path: folder.to_owned(),
        why: format!("its meta.json cannot be read ({error})"),
    };
    let Version { format } = serde_json::from_slice(&text).map_err(broken)?;
    if !format.readable() {
        return Err(Error::NewerFormat { path: folder.to_owned(), format });
    }
    serde_json::from_slice(&text).map_err(broken)
}
