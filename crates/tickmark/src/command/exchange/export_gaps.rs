//! The gaps that a watching loop saw, and how late programs were woken, for programs that show latencies and traces.

use crate::error::Error;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use serde_json::{Value, json};
use std::time::{Duration, UNIX_EPOCH};
use tickmark_analysis::http::{self, TimedRun};
use tickmark_analysis::noise::{self, Noise, WitnessedGap};
use tickmark_analysis::wakes::{self, WayRun};
use tickmark_store::Recording;
use tickmark_wire::names;

/// One histogram of so much time, in ns.
const INTERVAL: f64 = 1e9;
/// Gaps up to an hour, to three digits.
const LONGEST: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;

/// The gaps of a recording's loop.
pub(in crate::command) fn noise_of(recording: &Recording) -> Result<Noise, Error> {
    let id = &recording.meta.id;
    let more = if recording.complete() {
        String::new()
    } else {
        format!("; `{}` completes it", crate::suggest::command(&format!("run --resume {id}")))
    };
    noise::summarize_noise(recording)
        .ok_or_else(|| Error::Usage(format!("recording {id} has no whole trace of the tick's probe{more}")))
}

/// Values of a time, under a tag. Times in ns.
struct Interval {
    tag: String,
    begin: f64,
    length: f64,
    /// Each with how often it came.
    values: Vec<(f64, u64)>,
}

/// An interval log of HdrHistogram, in ns: how late programs were woken, or the latencies of transactions, a histogram a run, under a tag for each way or metric; else the
/// lengths of the gaps, a histogram a second, under a tag for each CPU.
pub(in crate::command) fn hdr(recording: &Recording) -> Result<String, Error> {
    let runs = wakes::runs(recording);
    let timed = http::timed_runs(recording);
    if !timed.is_empty() {
        let interval = |run: TimedRun| {
            let TimedRun { metric: tag, begin, length, counts: values } = run;
            Interval { tag, begin, length, values }
        };
        return log(recording, timed.into_iter().map(interval));
    }
    if runs.is_empty() {
        return log(recording, gaps(&noise_of(recording)?));
    }
    let prefix = format!("{}.", names::WAKE);
    let interval = |run: WayRun| Interval {
        tag: run.metric.strip_prefix(&prefix).unwrap_or(&run.metric).to_owned(),
        begin: run.begin,
        length: run.length,
        values: run.late.into_iter().map(|late| (late, 1)).collect(),
    };
    log(recording, runs.into_iter().map(interval))
}

fn gaps(noise: &Noise) -> impl Iterator<Item = Interval> {
    // No loop of ours spins for as long as a year: a damaged span is cut off.
    (0..((noise.span / INTERVAL).ceil() as u64).min(365 * 86_400)).map(|number| {
        let begin = number as f64 * INTERVAL;
        let until = |time: f64| noise.gaps.partition_point(|gap| gap.start < time);
        let own = &noise.gaps[until(begin)..until(begin + INTERVAL)];
        let values = own.iter().map(|gap| (gap.length, 1)).collect();
        Interval {
            tag: format!("cpu{}", noise.cpu),
            begin,
            length: (noise.span - begin).min(INTERVAL),
            values,
        }
    })
}

fn log(recording: &Recording, intervals: impl Iterator<Item = Interval>) -> Result<String, Error> {
    let failed = |what: String| Error::Output(std::io::Error::other(what));
    let begin = Duration::from_millis(u64::try_from(recording.meta.created.as_millisecond()).unwrap_or(0));
    let mut out = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .with_start_time(UNIX_EPOCH + begin)
        .with_base_time(UNIX_EPOCH + begin)
        .with_max_value_divisor(1e6)
        .begin_log_with(&mut out, &mut serializer)
        .map_err(|e| failed(e.to_string()))?;
    for interval in intervals {
        let mut histogram =
            Histogram::<u64>::new_with_bounds(1, LONGEST, DIGITS).map_err(|e| failed(e.to_string()))?;
        // What is early is none.
        for (value, count) in &interval.values {
            histogram.saturating_record_n(value.max(0.0) as u64, *count);
        }
        let [begin, length] = [interval.begin, interval.length].map(|time| Duration::from_nanos(time as u64));
        log.write_histogram(&histogram, begin, length, Tag::new(&interval.tag))
            .map_err(|e| failed(format!("{e:?}")))?;
    }
    drop(log);
    String::from_utf8(out).map_err(|e| failed(e.to_string()))
}

/// Trace Event JSON, which Perfetto and chrome://tracing open: a slice for each gap on a track for each CPU; times in us. Where the kernel's events
/// were recorded these are gaps of that time, by the clock of the events, with what ran below each, as other traces of that clock show it.
pub(in crate::command) fn perfetto(recording: &Recording) -> Result<Value, Error> {
    let noise = noise_of(recording)?;
    let name = json!({
        "ph": "M", "name": "thread_name", "pid": 0, "tid": noise.cpu,
        "args": { "name": format!("CPU {}", noise.cpu) },
    });
    let slice = |name: String, category: &str, start: f64, length: f64| {
        json!({
            "ph": "X", "name": name, "cat": category, "pid": 0, "tid": noise.cpu,
            "ts": start / 1e3, "dur": length / 1e3,
        })
    };
    let slices: Vec<Value> = match &noise.witness {
        Some(Ok(witness)) => witness.gaps.iter().flat_map(|gap| witnessed(gap, &slice)).collect(),
        _ => noise.gaps.iter().map(|gap| slice(gap.what.code(), "gap", gap.start, gap.length)).collect(),
    };
    let events: Vec<Value> = std::iter::once(name).chain(slices).collect();
    Ok(json!({
        "displayTimeUnit": "ns",
        "traceEvents": events,
        "otherData": { "recording": recording.meta.id, "program": recording.meta.program },
    }))
}

/// A gap, and in it its parts.
fn witnessed(gap: &WitnessedGap, slice: &impl Fn(String, &str, f64, f64) -> Value) -> Vec<Value> {
    let mut at = gap.stamp;
    let mut all = vec![slice("gap".to_owned(), "gap", gap.stamp, gap.length)];
    for (cause, length) in &gap.parts {
        all.push(slice(cause.words(), cause.code(), at, *length));
        at += length;
    }
    all
}
