//! What is remarkable, in words that say what to do.

use super::header::Header;
use super::number;
use super::row::{Row, RowStatus};
use super::rows::KERNEL_PATH;
use crate::sample::Sample;
use serde::Serialize;
use std::fmt;
use tickmark_store::{Id, Recording};
use tickmark_wire::{Group, Nanos};

/// One remarkable thing.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case", tag = "remark")]
pub(crate) enum Remark {
    NoVdso,
    KernelClock { clock: String, read: f64, syscall: f64, source: String },
    CostlyTick { share: f64, cost: f64, rate: f64 },
    PriorityRefused { asked: String, why: String },
    Slack { late: f64, slack: f64 },
    Contended { metrics: Vec<String>, share: f64 },
    Disturbed { metrics: Vec<String>, share: f64 },
    Steal { share: f64 },
    Frequency { low: f64, high: f64 },
    Backwards { steps: f64 },
    Offset { nanos: f64 },
    Unsupported { metrics: Vec<String>, why: String },
    Failed { metric: String, status: RowStatus, why: String },
    Incomplete { open: usize, id: Id, elsewhere: Option<String> },
    Resumed { boots: usize, sessions: usize },
    LeftOut { line: String },
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |ns: &f64| number::time(*ns);
        let percent = |share: &f64| number::percent(*share);
        match self {
            Self::NoVdso => f.write_str(
                "this kernel gives processes no vDSO: every clock read is a system call (vdso= on the command line?)",
            ),
            Self::KernelClock { clock, read, syscall, source } => write!(
                f,
                "{clock} goes through the kernel: {} for a read, {} as a system call; clock source {source}",
                time(read),
                time(syscall)
            ),
            Self::CostlyTick { share, cost, rate } => write!(
                f,
                "the tick takes {} of the CPU: {} {rate:.0} times a second; a lower HZ or nohz_full would give it back",
                percent(share),
                time(cost)
            ),
            Self::PriorityRefused { asked, why } => {
                write!(f, "priority {asked} was refused ({why}); measured at ordinary priority")
            }
            Self::Slack { late, slack } => write!(
                f,
                "clock_nanosleep wakes {} late, {} of it by timer slack; --slack 1ns or a real-time priority has none",
                time(late),
                time(slack)
            ),
            Self::Contended { metrics, share } => write!(
                f,
                "other tasks had up to {} of the CPU while {} measured: not the cost on an idle CPU; --priority fifo:50 keeps them off",
                percent(share),
                names(metrics)
            ),
            Self::Disturbed { metrics, share } => write!(
                f,
                "up to {} of the batches were disturbed for {}",
                percent(share),
                names(metrics)
            ),
            Self::Steal { share } => {
                write!(f, "the hypervisor took {} of the CPU (steal)", percent(share))
            }
            Self::Frequency { low, high } => write!(
                f,
                "the CPU ran at {low:.2} to {high:.2} GHz: costs in ns moved with it"
            ),
            Self::Backwards { steps } => write!(f, "CLOCK_MONOTONIC went backwards between CPUs {steps} times"),
            Self::Offset { nanos } => write!(f, "CLOCK_MONOTONIC differs by {} between CPUs", time(nanos)),
            Self::Unsupported { metrics, why } => write!(f, "not supported here: {} ({why})", names(metrics)),
            Self::Failed { metric, status: RowStatus::Timeout, why } => write!(f, "{metric} timed out: {why}"),
            Self::Failed { metric, why, .. } => write!(f, "{metric} failed: {why}"),
            Self::Incomplete { open, id, elsewhere: None } => {
                write!(f, "{open} runs are still to be made: tickmark run --resume {id}")
            }
            Self::Incomplete { open, elsewhere: Some(why), .. } => write!(f, "{open} runs were not made: {why}"),
            Self::Resumed { boots: 1, sessions } => write!(f, "measured in {sessions} sessions"),
            Self::Resumed { boots, sessions } => {
                write!(f, "measured in {sessions} sessions over {boots} boots: the runs are not alike")
            }
            Self::LeftOut { line } => f.write_str(line),
        }
    }
}

/// Up to three names, and how many more.
fn names(all: &[String]) -> String {
    let more = all.len().saturating_sub(3);
    let some = all.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{some} and {more} more") } else { some }
}

pub(super) fn of(
    recording: &Recording,
    header: &Header,
    groups: &[(Group, Vec<Row>)],
    samples: &[Sample<'_>],
) -> Vec<Remark> {
    let rows: Vec<&Row> = groups.iter().flat_map(|(_, rows)| rows).collect();
    let mut remarks = Vec::new();
    clocks(recording, header, &rows, &mut remarks);
    tick(&rows, &mut remarks);
    settings(recording, &rows, &mut remarks);
    disturbances(samples, header, &rows, &mut remarks);
    failures(&rows, &mut remarks);
    recorded(recording, &mut remarks);
    remarks
}

fn point(rows: &[&Row], metric: &str) -> Option<f64> {
    rows.iter().find(|row| row.metric == metric)?.value.map(|value| value.point)
}

fn clocks(recording: &Recording, header: &Header, rows: &[&Row], remarks: &mut Vec<Remark>) {
    let fact = |name| recording.sessions.first().and_then(|hello| hello.environment.get(name));
    if fact("kernel.vdso") == Some("no") {
        remarks.push(Remark::NoVdso);
    }
    // CPU time clocks have no vDSO path on any kernel: only those that should be fast are told of.
    let fast = ["realtime", "monotonic", "monotonic_raw", "boottime", "tai", "gettimeofday", "time"];
    for clock in fast {
        let read = point(rows, &format!("clock.{clock}.read"));
        let syscall = point(rows, &format!("clock.{clock}.syscall"));
        if let (Some(read), Some(syscall)) = (read, syscall)
            && read > KERNEL_PATH * syscall
        {
            let source = header.clock_source.clone().unwrap_or_else(|| "unknown".to_owned());
            remarks.push(Remark::KernelClock { clock: clock.to_owned(), read, syscall, source });
        }
    }
    if let Some(steps) = point(rows, "clock.monotonic.between_cpus.backwards").filter(|steps| *steps > 0.0) {
        remarks.push(Remark::Backwards { steps });
    }
    if let Some(nanos) = point(rows, "clock.monotonic.between_cpus.offset").filter(|nanos| *nanos > 1_000.0) {
        remarks.push(Remark::Offset { nanos });
    }
}

/// What the tick costs is no advice where another task had a part in it, or the rate is not the kernel's.
fn tick(rows: &[&Row], remarks: &mut Vec<Remark>) {
    let row = |name| rows.iter().find(|row| row.metric == name);
    let figure = |name| point(rows, name);
    let known = row("tick.rate").is_some_and(|rate| !rate.unconfirmed && rate.contended_runs == 0);
    if let (Some(share), Some(cost), Some(rate)) =
        (figure("tick.share"), figure("tick.cost"), figure("tick.rate"))
        && known
        && share > 0.01
    {
        remarks.push(Remark::CostlyTick { share, cost, rate });
    }
}

fn settings(recording: &Recording, rows: &[&Row], remarks: &mut Vec<Remark>) {
    let Some(session) = recording.sessions.first() else { return };
    if let Some(why) = &session.settled.priority_refused {
        let asked = session.asked.priority.to_string();
        remarks.push(Remark::PriorityRefused { asked, why: why.clone() });
    }
    let system = session.environment.get("clock.slack_ns").and_then(|ns| ns.parse().ok());
    let slack = session.asked.slack.map(Nanos::as_f64).or(system).unwrap_or(0.0);
    let real_time = session.settled.priority != tickmark_wire::Priority::Other;
    if let Some(late) = point(rows, "timer.clock_nanosleep.late")
        && !real_time
        && slack > 0.3 * late
    {
        remarks.push(Remark::Slack { late, slack });
    }
}

fn disturbances(samples: &[Sample<'_>], header: &Header, rows: &[&Row], remarks: &mut Vec<Remark>) {
    let largest = |of: &dyn Fn(&Row) -> Option<f64>| {
        let marked: Vec<(&&Row, f64)> = rows.iter().filter_map(|row| Some((row, of(row)?))).collect();
        let share = marked.iter().map(|(_, share)| *share).max_by(f64::total_cmp)?;
        Some((marked.iter().map(|(row, _)| row.metric.clone()).collect::<Vec<_>>(), share))
    };
    if let Some((metrics, share)) = largest(&|row| row.contended) {
        remarks.push(Remark::Contended { metrics, share });
    }
    if let Some((metrics, share)) = largest(&|row| row.disturbed.filter(|share| *share > 0.2)) {
        remarks.push(Remark::Disturbed { metrics, share });
    }
    let steal = samples.iter().flat_map(|s| &s.runs).map(|run| run.steal);
    let (taken, wall) = steal.fold((0.0, 0.0), |sum, (taken, wall)| (sum.0 + taken, sum.1 + wall));
    if wall > 0.0 && taken / wall > 0.01 {
        remarks.push(Remark::Steal { share: taken / wall });
    }
    if let Some([low, _, high]) = header.gigahertz
        && high > 1.05 * low
    {
        remarks.push(Remark::Frequency { low, high });
    }
}

fn failures(rows: &[&Row], remarks: &mut Vec<Remark>) {
    let mut unsupported: Vec<(String, Vec<String>)> = Vec::new();
    for row in rows {
        let why = row.remarks().first().map_or_else(String::new, |why| (*why).to_owned());
        match row.status {
            RowStatus::Unsupported => match unsupported.iter_mut().find(|(reason, _)| *reason == why) {
                Some((_, metrics)) => metrics.push(row.metric.clone()),
                None => unsupported.push((why, vec![row.metric.clone()])),
            },
            RowStatus::Failed | RowStatus::Timeout => {
                remarks.push(Remark::Failed { metric: row.metric.clone(), status: row.status, why });
            }
            RowStatus::Ok | RowStatus::Partly | RowStatus::Missing | RowStatus::Unknown => {}
        }
    }
    remarks.extend(unsupported.into_iter().map(|(why, metrics)| Remark::Unsupported { metrics, why }));
}

fn recorded(recording: &Recording, remarks: &mut Vec<Remark>) {
    let open = recording.open().count();
    if open > 0 {
        remarks.push(Remark::Incomplete {
            open,
            id: recording.meta.id.clone(),
            elsewhere: recording.elsewhere(),
        });
    }
    let sessions = recording.sessions.len();
    if sessions > 1 {
        let boots = recording.sessions.iter().filter_map(|s| s.environment.get("boot.id"));
        let boots = boots.collect::<std::collections::BTreeSet<_>>().len();
        remarks.push(Remark::Resumed { boots, sessions });
    }
    remarks.extend(recording.warnings.iter().map(|line| Remark::LeftOut { line: line.clone() }));
}
