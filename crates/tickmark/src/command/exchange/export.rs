//! A recording for other programs: the figures of each run, or every observation.

use super::export_benchmarks;
use crate::cli::{Export, ExportFormat};
use crate::command::json_text;
use crate::command::pages::ExportPage;
use crate::command::report::OutputFile;
use crate::error::{Code, Error};
use serde_json::{Value, json};
use tickmark_analysis::report::Unit as RowUnit;
use tickmark_analysis::sample;
use tickmark_render::json::Versioned;
use tickmark_store::{Recording, Run, Status, Store};
use tickmark_wire::text::printable;
use tickmark_wire::{Headline, Metric, Nanos, Observations};

/// A table: the names of its columns, its rows.
pub(in crate::command) type Table = (&'static [&'static str], Vec<Vec<Value>>);

const FIGURES: &[&str] = &[
    "recording",
    "metric",
    "unit",
    "better",
    "round",
    "run",
    "status",
    "value",
    "mean",
    "cpu",
    "disturbed_share",
    "taken_share",
    "contended",
    "reason",
];
const OBSERVATIONS: &[&str] =
    &["recording", "metric", "round", "run", "part", "kind", "index", "start_ns", "value", "iterations"];

pub(in crate::command) fn run(store: &Store, export: &Export) -> Result<Code, Error> {
    let recording = store.find(&export.recording)?;
    match (export.format, &export.output) {
        (ExportFormat::Parquet, Some(folder)) => {
            crate::command::fleet::tables::of_recording(folder, &recording)?;
        }
        (ExportFormat::Parquet, None) => {
            return Err(Error::Usage("give --output DIR with --format parquet".to_owned()));
        }
        (_, Some(path)) => {
            let file = OutputFile::open("--output", path)?;
            file.write(&text(&recording, export)?)?;
        }
        (_, None) => crate::command::write(&text(&recording, export)?)?,
    }
    Ok(Code::Done)
}

/// A recording in a format that is one file.
fn text(recording: &Recording, export: &Export) -> Result<String, Error> {
    let table = || if export.raw { observations(recording) } else { figures(recording) };
    match export.format {
        ExportFormat::Openmetrics => Ok(crate::command::export_metrics::text(recording)),
        ExportFormat::Hdr => crate::command::export_gaps::hdr(recording),
        ExportFormat::Perfetto => json_text(&crate::command::export_gaps::perfetto(recording)?),
        ExportFormat::Benchfmt => Ok(export_benchmarks::benchfmt(recording)),
        ExportFormat::GoogleBenchmark => {
            let (page, left_out) = export_benchmarks::google(recording);
            if left_out > 0 {
                let values = tickmark_render::count(left_out as u32, "value");
                crate::notice!("tickmark: warning: {values} that are no times left out: the format has none");
            }
            json_text(&page)
        }
        ExportFormat::Json => {
            let (columns, rows) = table();
            let object = |row: &Vec<Value>| {
                columns.iter().map(|name| (*name).to_owned()).zip(row.iter().cloned()).collect()
            };
            let rows = rows.iter().map(object).collect();
            json_text(&Versioned::new(&ExportPage::new(&recording.meta, &recording.sessions, rows)))
        }
        ExportFormat::Csv | ExportFormat::Parquet => {
            let (columns, rows) = table();
            csv(columns, &rows)
        }
    }
}

fn csv(columns: &[&str], rows: &[Vec<Value>]) -> Result<String, Error> {
    let failed = |error: csv::Error| Error::Output(std::io::Error::other(error));
    let mut out = csv::Writer::from_writer(Vec::new());
    out.write_record(columns).map_err(failed)?;
    for row in rows {
        let text = |value: &Value| match value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        out.write_record(row.iter().map(text)).map_err(failed)?;
    }
    let bytes = out.into_inner().map_err(|e| Error::Output(std::io::Error::other(e.to_string())))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The runs of the plan, with each metric that they give.
fn runs(recording: &Recording) -> impl Iterator<Item = (&Run, &Metric)> {
    recording.runs.iter().filter(|run| run.planned.round > 0).flat_map(|run| {
        let own = |metric: &&Metric| run.planned.gives(&metric.name);
        recording.meta.plan.metrics.iter().filter(own).map(move |metric| (run, metric))
    })
}

/// The unit of the value that stands for a run: of a tick its rate.
fn unit(metric: &Metric) -> RowUnit {
    if metric.headline == Headline::TickTrain { RowUnit::Hz } else { metric.unit.into() }
}

pub(in crate::command) fn figures(recording: &Recording) -> Table {
    let row = |(run, metric): (&Run, &Metric)| {
        let (mut status, mut reason) = match &run.status {
            Status::Ok => ("ok", None),
            Status::Open => ("open", None),
            Status::Unsupported(reason) => ("unsupported", Some(reason.message.clone())),
            Status::Failed(reason) => ("failed", Some(reason.message.clone())),
            Status::TimedOut(reason) => ("timeout", Some(reason.message.clone())),
        };
        let figures = match (&run.status, sample::figures(recording, metric, run)) {
            (Status::Ok, Ok(figures)) => Some(figures),
            // A run that ended well and gave no figure has failed for whoever wants the figure.
            (Status::Ok, Err(why)) => {
                status = "failed";
                reason = Some(tickmark_render::no_figure(&why));
                None
            }
            _ => None,
        };
        let of = |pick: &dyn Fn(&sample::Figures) -> Option<f64>| json!(figures.as_ref().and_then(pick));
        vec![
            json!(recording.meta.id),
            json!(metric.name),
            json!(unit(metric)),
            json!(metric.better),
            json!(run.planned.round),
            json!(run.planned.id),
            json!(status),
            of(&|f| Some(f.value)),
            of(&|f| f.mean),
            of(&|f| f.cpu),
            of(&|f| f.disturbed.filter(|(_, all)| *all > 0).map(|(some, all)| some as f64 / all as f64)),
            of(&|f| Some(f.taken)),
            json!(figures.as_ref().map(|f| f.contended)),
            json!(reason),
        ]
    };
    (FIGURES, runs(recording).map(row).collect())
}

fn observations(recording: &Recording) -> Table {
    let mut rows = Vec::new();
    for (run, metric) in runs(recording) {
        for observed in &recording.observed(run, &metric.name) {
            let part = observed.as_ref().map(|observed| observed.part);
            let mut push =
                |kind: &str, index: usize, start: Option<Nanos>, value: Value, iterations: Option<u64>| {
                    rows.push(vec![
                        json!(recording.meta.id),
                        json!(metric.name),
                        json!(run.planned.round),
                        json!(run.planned.id),
                        json!(part),
                        json!(kind),
                        json!(index),
                        json!(start),
                        value,
                        json!(iterations),
                    ]);
                };
            // What cannot be parsed any more stands in its place.
            let Some(observed) = observed else {
                push("damaged", 0, None, Value::Null, None);
                continue;
            };
            match &observed.observations {
                Observations::Batches(b) => {
                    for (i, (start, elapsed)) in b.start.iter().zip(&b.elapsed).enumerate() {
                        push("batch", i, Some(*start), json!(elapsed), Some(b.iterations.get()));
                    }
                }
                Observations::Latencies(all) => {
                    all.iter().enumerate().for_each(|(i, l)| push("latency", i, None, json!(l), None));
                }
                Observations::Gaps(trace) => {
                    for (i, (start, length)) in trace.start.iter().zip(&trace.length).enumerate() {
                        push("gap", i, Some(*start), json!(length), None);
                    }
                }
                Observations::Curve(points) => {
                    for point in points {
                        match &point.observations {
                            Observations::Batches(b) => {
                                let kind = format!("batch at {}", point.at);
                                for (i, (start, elapsed)) in b.start.iter().zip(&b.elapsed).enumerate() {
                                    push(&kind, i, Some(*start), json!(elapsed), Some(b.iterations.get()));
                                }
                            }
                            Observations::Latencies(all) => {
                                let kind = format!("latency at {}", point.at);
                                let each = all.iter().enumerate();
                                each.for_each(|(i, l)| push(&kind, i, None, json!(l), None));
                            }
                            _ => {}
                        }
                    }
                }
                Observations::Loads(all) => {
                    for (i, (wall, used)) in all.wall.iter().zip(&all.communicating).enumerate() {
                        let size = all.size.get(i).copied().unwrap_or(0);
                        let kind = format!("CPU time of {} ns, {size} bytes", wall.get());
                        push(&kind, i, None, json!(used), all.trips.get(i).copied());
                    }
                }
                Observations::Histogram(histogram) => {
                    for (low, high, count) in histogram.buckets().unwrap_or_default() {
                        let kind = format!("{} to {} ns", low.get(), high.get());
                        push(&kind, 0, None, json!(count), None);
                    }
                }
                Observations::Windows(all) => {
                    let windows = all.start.iter().zip(&all.length).zip(&all.count);
                    for (i, ((start, length), count)) in windows.enumerate() {
                        push(&format!("window of {} ns", length.get()), i, Some(*start), json!(count), None);
                    }
                }
                Observations::Tally(all) => {
                    for (i, (name, count)) in all.names.iter().zip(&all.count).enumerate() {
                        push(&printable(name, false), i, None, json!(count), None);
                    }
                }
                Observations::Unknown(kind) => push(kind, 0, None, Value::Null, None),
                Observations::Values(all) => {
                    all.values.iter().enumerate().for_each(|(i, v)| push("value", i, None, json!(v), None));
                }
                Observations::Exchanges(all) => {
                    for exchange in all {
                        for (i, (out, back)) in exchange.out.iter().zip(&exchange.back).enumerate() {
                            push(&format!("out to CPU {}", exchange.cpu), i, None, json!(out), None);
                            push(&format!("back from CPU {}", exchange.cpu), i, None, json!(back), None);
                        }
                    }
                }
            }
        }
    }
    (OBSERVATIONS, rows)
}
