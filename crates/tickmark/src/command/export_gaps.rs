//! The gaps that a watching loop saw, for programs that show latencies and traces.

use crate::error::Error;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use serde_json::{Value, json};
use std::time::{Duration, UNIX_EPOCH};
use tickmark_analysis::noise::{self, Gap, Noise};
use tickmark_store::Recording;

/// One histogram of so much time, in ns.
const INTERVAL: f64 = 1e9;
/// Gaps up to an hour, to three digits.
const LONGEST: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;

/// What a recording's loop saw.
pub(super) fn noise_of(recording: &Recording) -> Result<Noise, Error> {
    let id = &recording.meta.id;
    noise::of(recording)
        .ok_or_else(|| Error::Usage(format!("recording {id} has no whole trace of the tick's probe")))
}

/// An interval log of HdrHistogram: the lengths of the gaps in ns, a histogram a second, under a tag for each CPU.
pub(super) fn hdr(recording: &Recording) -> Result<String, Error> {
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
    let noise = noise_of(recording)?;
    let tag = format!("cpu{}", noise.cpu);
    let tag = Tag::new(&tag);
    // No loop of ours spins for as long as a year: a damaged span is cut off.
    for number in 0..((noise.span / INTERVAL).ceil() as u64).min(365 * 86_400) {
        let from = number as f64 * INTERVAL;
        let mut histogram =
            Histogram::<u64>::new_with_bounds(1, LONGEST, DIGITS).map_err(|e| failed(e.to_string()))?;
        let until = |time: f64| noise.gaps.partition_point(|gap| gap.start < time);
        noise.gaps[until(from)..until(from + INTERVAL)]
            .iter()
            .for_each(|gap| histogram.saturating_record(gap.length as u64));
        let length = Duration::from_nanos((noise.span - from).min(INTERVAL) as u64);
        log.write_histogram(&histogram, Duration::from_nanos(from as u64), length, tag)
            .map_err(|e| failed(format!("{e:?}")))?;
    }
    drop(log);
    String::from_utf8(out).map_err(|e| failed(e.to_string()))
}

/// Trace Event JSON, which Perfetto and chrome://tracing open: a slice for each gap, named, on a track for each CPU; times in us.
pub(super) fn perfetto(recording: &Recording) -> Result<Value, Error> {
    let noise = noise_of(recording)?;
    let name = json!({
        "ph": "M", "name": "thread_name", "pid": 0, "tid": noise.cpu,
        "args": { "name": format!("CPU {}", noise.cpu) },
    });
    let slice = |gap: &Gap| {
        json!({
            "ph": "X", "name": gap.what.code(), "cat": "gap", "pid": 0, "tid": noise.cpu,
            "ts": gap.start / 1e3, "dur": gap.length / 1e3,
        })
    };
    let events: Vec<Value> = std::iter::once(name).chain(noise.gaps.iter().map(slice)).collect();
    Ok(json!({
        "displayTimeUnit": "ns",
        "traceEvents": events,
        "otherData": { "recording": recording.meta.id, "program": recording.meta.program },
    }))
}
