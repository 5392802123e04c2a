//! Notable findings of a recording.

use super::header::Header;
use super::marks::Mark;
use super::row::{Row, RowStatus};
use super::rows::KERNEL_PATH;
use crate::noise::GapCause;
use crate::sample::{NoFigure, Sample};
use serde::Serialize;
use std::collections::BTreeMap;
use tickmark_store::{Elsewhere, Id, Recording};
use tickmark_wire::{Environment, Group, Nanos, names};

/// A share of the CPU that others have, above which it is told of.
const NOISY: f64 = 0.01;
/// The same of a CPU that was watched for a moment alone, before what was asked for.
const BUSY: f64 = 0.1;
/// So many of them are named.
const NAMED: usize = 3;

/// One notable thing: shares are of one, times in ns.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "finding")]
#[expect(missing_docs, reason = "a variant says what its fields are")]
pub enum Finding {
    /// The kernel gives processes no vDSO.
    NoVdso,
    /// A clock that should be fast goes through the kernel.
    KernelClock { clock: String, read: f64, syscall: f64, source: String },
    /// The tick takes more than 1 % of the CPU.
    CostlyTick { share: f64, cost: f64, rate: f64 },
    /// Beside the tick others had this share of the CPU while it was watched; what each of them had.
    Noise {
        share: f64,
        #[serde(serialize_with = "codes")]
        #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, f64>"))]
        others: Vec<(GapCause, f64)>,
        id: Id,
    },
    /// Measured at ordinary priority instead.
    PriorityRefused { priority: String, why: String },
    /// Wake-up latency is made of timer slack.
    Slack { late: f64, slack: f64 },
    /// Other tasks had up to this share of the CPU; those that had most CPU time in the sessions, on any CPU, in s.
    Contended { metrics: Vec<String>, share: f64, tasks: BTreeMap<String, f64> },
    /// Up to this share of the batches was disturbed.
    Disturbed { metrics: Vec<String>, share: f64 },
    /// The hypervisor took this share.
    Steal { share: f64 },
    /// The CPU's GHz moved between these.
    Frequency { low: f64, high: f64 },
    /// CLOCK_MONOTONIC went backwards between CPUs.
    Backwards { steps: f64 },
    /// CLOCK_MONOTONIC differs between CPUs.
    Offset { nanos: f64 },
    /// Operations that this system does not support.
    Unsupported {
        metrics: Vec<String>,
        #[serde(skip)]
        why: Option<Mark>,
    },
    /// A metric without a figure.
    Failed {
        metric: String,
        status: RowStatus,
        #[serde(skip)]
        why: Option<Mark>,
    },
    /// Runs that were not made.
    Incomplete {
        open: usize,
        id: Id,
        #[serde(skip)]
        elsewhere: Option<Elsewhere>,
    },
    /// More than one session.
    Resumed { boots: usize, sessions: usize },
    /// A line that could not be read.
    LeftOut { line: String },
}

pub(super) fn find_all(
    recording: &Recording,
    header: &Header,
    groups: &[(Group, Vec<Row>)],
    samples: &[Sample<'_>],
) -> Vec<Finding> {
    let rows: Vec<&Row> = groups.iter().flat_map(|(_, rows)| rows).collect();
    let mut findings = Vec::new();
    clocks(recording, header, &rows, &mut findings);
    tick(&rows, &mut findings);
    let has_tick = samples.iter().any(|sample| sample.metric.name.as_str() == names::TICK);
    noise(recording, if has_tick { NOISY } else { BUSY }, &mut findings);
    settings(recording, &rows, &mut findings);
    disturbances(recording, samples, header, &rows, &mut findings);
    failures(&rows, &mut findings);
    recorded(recording, &mut findings);
    findings
}

fn point(rows: &[&Row], metric: &str) -> Option<f64> {
    rows.iter().find(|row| row.metric == metric)?.value.map(|value| value.point)
}

fn clocks(recording: &Recording, header: &Header, rows: &[&Row], findings: &mut Vec<Finding>) {
    let fact = |name| recording.sessions.first().and_then(|hello| hello.environment.get(name));
    if fact("kernel.vdso") == Some("no") {
        findings.push(Finding::NoVdso);
    }
    // Only those that should be fast are told of.
    for clock in names::FAST_CLOCKS {
        let read = point(rows, &names::clock_read(clock));
        let syscall = point(rows, &names::clock_syscall(clock));
        if let (Some(read), Some(syscall)) = (read, syscall)
            && read > KERNEL_PATH * syscall
        {
            let source = header.clock_source.clone().unwrap_or_else(|| "unknown".to_owned());
            findings.push(Finding::KernelClock { clock: clock.to_owned(), read, syscall, source });
        }
    }
    let between = |figure: &str| point(rows, &format!("{}.{figure}", names::BETWEEN_CPUS));
    // Of all runs: their median forgets the steps of two of five.
    let backwards = format!("{}.backwards", names::BETWEEN_CPUS);
    let row = rows.iter().find(|row| row.metric == backwards);
    let steps = row.map(|row| row.total());
    if let Some(steps) = steps.filter(|steps| *steps > 0.0) {
        findings.push(Finding::Backwards { steps });
    }
    if let Some(nanos) = between("offset").filter(|nanos| *nanos > 1_000.0) {
        findings.push(Finding::Offset { nanos });
    }
}

/// Notes the cost of the tick. There is no advice where another task had a part in it, or the rate is not the kernel's.
fn tick(rows: &[&Row], findings: &mut Vec<Finding>) {
    let row = |figure: &str| rows.iter().find(|row| row.metric == format!("{}.{figure}", names::TICK));
    let figure = |figure: &str| row(figure)?.value.map(|value| value.point);
    let known = row("rate").is_some_and(|rate| !rate.unconfirmed && rate.contended_runs == 0);
    if let (Some(share), Some(cost), Some(rate)) = (figure("share"), figure("cost"), figure("rate"))
        && known
        && share > 0.01
    {
        findings.push(Finding::CostlyTick { share, cost, rate });
    }
}

/// Notes the time that a watched CPU lost beside its tick.
fn noise(recording: &Recording, least: f64, findings: &mut Vec<Finding>) {
    let Some(noise) = crate::noise::summarize_noise(recording) else { return };
    // Without a tick its own gaps are somebody else's, but for those of tasks; what has no name may be its as well.
    let named = |what: &GapCause| {
        matches!(what, GapCause::Task | GapCause::Quota | GapCause::RealTimeReserve)
            || (noise.tick.is_ok() && !matches!(what, GapCause::Unknown | GapCause::Fault))
    };
    let others = || noise.others().filter(|(what, _)| named(what));
    let share = others().map(|(_, share)| share).sum::<f64>();
    if share > least {
        let others = others().take(NAMED).map(|(what, share)| (what.clone(), share)).collect();
        findings.push(Finding::Noise { share, others, id: recording.meta.id.clone() });
    }
}

/// By their codes: a share for each.
fn codes<S: serde::Serializer>(others: &[(GapCause, f64)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(others.iter().map(|(what, share)| (what.code(), share)))
}

fn settings(recording: &Recording, rows: &[&Row], findings: &mut Vec<Finding>) {
    let Some(session) = recording.sessions.first() else { return };
    if let Some(why) = &session.settled.priority_refused {
        let priority = session.settings.priority.to_string();
        findings.push(Finding::PriorityRefused { priority, why: why.clone() });
    }
    let system = session.environment.get("clock.slack_ns").and_then(|ns| ns.parse().ok());
    let slack = session.settings.slack.map(Nanos::as_f64).or(system).unwrap_or(0.0);
    let real_time = session.settled.priority != tickmark_wire::Priority::Other;
    if let Some(late) = point(rows, names::SLEEP)
        && !real_time
        && slack > 0.3 * late
    {
        findings.push(Finding::Slack { late, slack });
    }
}

/// What the ends of sessions say of other tasks, with the CPU time of each in all of them, in s.
fn other_tasks(ends: &[Environment]) -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    let each = ends.iter().filter_map(|end| end.get(names::OTHER_TASKS)).flat_map(|text| text.split(", "));
    for (name, seconds) in each.filter_map(|one| one.strip_suffix(" s")?.rsplit_once(' ')) {
        let seconds = seconds.parse().ok().filter(|seconds: &f64| seconds.is_finite());
        *all.entry(name.to_owned()).or_default() += seconds.unwrap_or(0.0);
    }
    all
}

fn disturbances(
    recording: &Recording,
    samples: &[Sample<'_>],
    header: &Header,
    rows: &[&Row],
    findings: &mut Vec<Finding>,
) {
    let largest = |of: &dyn Fn(&Row) -> Option<f64>| {
        let marked: Vec<(&&Row, f64)> = rows.iter().filter_map(|row| Some((row, of(row)?))).collect();
        let share = marked.iter().map(|(_, share)| *share).max_by(f64::total_cmp)?;
        Some((marked.iter().map(|(row, _)| row.metric.clone()).collect::<Vec<_>>(), share))
    };
    if let Some((metrics, share)) = largest(&|row| row.contended) {
        findings.push(Finding::Contended { metrics, share, tasks: other_tasks(&recording.ends) });
    }
    if let Some((metrics, share)) = largest(&|row| row.disturbed.filter(|share| *share > 0.2)) {
        findings.push(Finding::Disturbed { metrics, share });
    }
    let steal = samples.iter().flat_map(|s| &s.runs).map(|run| run.steal);
    let (taken, wall) = steal.fold((0.0, 0.0), |sum, (taken, wall)| (sum.0 + taken, sum.1 + wall));
    if wall > 0.0 && taken / wall > 0.01 {
        findings.push(Finding::Steal { share: taken / wall });
    }
    if let Some([low, _, high]) = header.gigahertz
        && high > 1.05 * low
    {
        findings.push(Finding::Frequency { low, high });
    }
}

fn failures(rows: &[&Row], findings: &mut Vec<Finding>) {
    let mut unsupported: Vec<(Option<Mark>, Vec<String>)> = Vec::new();
    for row in rows {
        let why = row.marks.first().cloned();
        match row.status {
            // A figure beside the first one that a run may lack: its row says why, and nothing is wrong.
            RowStatus::Unsupported if why == Some(Mark::Nothing(NoFigure::NotTold)) => {}
            RowStatus::Unsupported => match unsupported.iter_mut().find(|(reason, _)| *reason == why) {
                Some((_, metrics)) => metrics.push(row.metric.clone()),
                None => unsupported.push((why, vec![row.metric.clone()])),
            },
            RowStatus::Failed | RowStatus::Timeout => {
                findings.push(Finding::Failed { metric: row.metric.clone(), status: row.status, why });
            }
            RowStatus::Ok | RowStatus::Partly | RowStatus::Missing | RowStatus::Unknown => {}
        }
    }
    findings.extend(unsupported.into_iter().map(|(why, metrics)| Finding::Unsupported { metrics, why }));
}

fn recorded(recording: &Recording, findings: &mut Vec<Finding>) {
    let open = recording.open().count();
    // What ended when it was decided did not need them.
    let is_decided = recording.meta.arm.as_ref().is_some_and(|arm| !arm.looks.is_empty());
    if open > 0 && !is_decided {
        findings.push(Finding::Incomplete {
            open,
            id: recording.meta.id.clone(),
            elsewhere: recording.elsewhere(),
        });
    }
    let sessions = recording.sessions.len();
    if sessions > 1 {
        let boots = recording.sessions.iter().filter_map(|s| s.environment.get("boot.id"));
        let boots = boots.collect::<std::collections::BTreeSet<_>>().len();
        findings.push(Finding::Resumed { boots, sessions });
    }
    findings.extend(recording.warnings.iter().map(|line| Finding::LeftOut { line: line.clone() }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_tasks_of_all_sessions_are_added() {
        let end = |value: &str| {
            let mut end = Environment::default();
            end.know(names::OTHER_TASKS, "planted", value.to_owned());
            end
        };
        let ends =
            [end("cargo 2.0 s, Web Content 0.5 s"), Environment::default(), end("cargo 1.5 s, sh NaN s")];
        let all = other_tasks(&ends);
        assert_eq!(
            all,
            BTreeMap::from(
                [("cargo", 3.5), ("Web Content", 0.5), ("sh", 0.0)].map(|(name, had)| (name.to_owned(), had))
            )
        );
    }
}
