//! Names that `tickmark tick` gives to gaps by the kernel's events, against `perf record` of the same CPU at the same time: a confusion table, beside known
//! disturbers.

use super::Tickmark;
use super::tick::{DISTURBERS, disturber, watch};
use crate::{Result, shell};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long each is watched: half of it without events.
const LENGTH: &str = "8s";
/// An event of perf's belongs to a gap from so much before it to so much after, in us.
const NEAR: f64 = 0.3;
/// What begins a gap, as perf calls it, and the name of the class.
const FIRST: &[(&str, &str)] = &[
    ("irq_vectors:local_timer_entry", "timer"),
    ("irq_vectors:reschedule_entry", "reschedule"),
    ("irq_vectors:call_function_entry", "function call"),
    ("irq_vectors:call_function_single_entry", "function call"),
    ("irq_vectors:irq_work_entry", "irq work"),
    ("irq:irq_handler_entry", "device"),
    ("irq:softirq_entry", "softirq"),
    ("sched:sched_switch", "task"),
    ("nmi:nmi_handler", "nmi"),
    ("exceptions:page_fault_user", "page fault"),
];
/// No event.
const OUTSIDE: &str = "outside";

/// Prints the table.
pub(crate) fn run() -> Result<()> {
    shell::install(&[
        ("taskset", "util-linux"),
        ("ip", "iproute2"),
        ("perl", "perl"),
        ("perf", "linux-perf"),
    ])?;
    let tickmark = Tickmark::build()?;
    let mut table: BTreeMap<(String, String), usize> = BTreeMap::new();
    println!("CPU {}; {LENGTH} each, half of it with events\n", tickmark.cpu);
    println!("{:36} lost     named    gaps named  dropped  a further event   gaps  same as perf", "beside");
    for (name, starters, script) in DISTURBERS {
        let _disturber =
            if script.is_empty() { None } else { Some(disturber(&tickmark.cpu, starters, script)?) };
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let file = folder.path().join("perf.data");
        let recorded = Recorder::begin(&tickmark.cpu, &file)?;
        let page = watch(&tickmark, &[], LENGTH, &[])?;
        recorded.end()?;
        let pairs = pairs(&tickmark, &file)?;
        let same = pairs.iter().filter(|(ours, theirs)| ours == theirs).count();
        let witness = &page["witness"];
        let figure = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
        println!(
            "{name:36} {:6.2} %  {:6.2} %  {:6.2} %    {:7}  {:8.0} ns      {:6}  {:.2} %",
            100.0 * figure(&witness["lost"]),
            100.0 * figure(&witness["named"][0]),
            100.0 * figure(&witness["named"][1]),
            witness["events_dropped"],
            figure(&witness["event_cost"]["further"]),
            pairs.len(),
            100.0 * same as f64 / pairs.len().max(1) as f64
        );
        for pair in pairs {
            *table.entry(pair).or_default() += 1;
        }
    }
    println!("\n{:16} {:16} gaps", "tickmark", "perf");
    for ((ours, theirs), count) in &table {
        println!("{ours:16} {theirs:16} {count}{}", if ours == theirs { "" } else { "  differ" });
    }
    let all: usize = table.values().sum();
    let same: usize = table.iter().filter(|((ours, theirs), _)| ours == theirs).map(|(_, count)| count).sum();
    println!("{same} of {all} gaps have the same name");
    Ok(())
}

/// `perf record`, ended with this.
struct Recorder(Child);

impl Recorder {
    fn begin(cpu: &str, file: &Path) -> Result<Self> {
        let mut command = Command::new("perf");
        command.args(["record", "-q", "-C", cpu, "-m", "16M", "-k", "CLOCK_MONOTONIC_RAW", "-o"]).arg(file);
        for (event, _) in FIRST {
            command.args(["-e", event]);
        }
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let recorder = Self(child.map_err(|error| format!("perf: {error}"))?);
        std::thread::sleep(Duration::from_secs(2));
        Ok(recorder)
    }

    fn end(mut self) -> Result<()> {
        shell::run("kill", &["-INT", &self.0.id().to_string()])?;
        self.0.wait().map(drop).map_err(|error| error.to_string())
    }
}

/// Class of each gap of the last recording: by tickmark, by perf.
fn pairs(tickmark: &Tickmark, file: &Path) -> Result<Vec<(String, String)>> {
    let (text, _) = shell::output(&mut tickmark.command(&["export", "last", "--format", "perfetto"]))?;
    let page: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let mut script = Command::new("perf");
    script.args(["script", "--ns", "-F", "time,event", "-i"]).arg(file);
    let (text, _) = shell::output(&mut script)?;
    let mut events: Vec<(f64, &str)> = text.lines().filter_map(event).collect();
    events.sort_by(|a, b| a.0.total_cmp(&b.0));
    let slices: Vec<&Value> =
        page["traceEvents"].as_array().into_iter().flatten().filter(|event| event["ph"] == "X").collect();
    let mut pairs = Vec::new();
    for (at, gap) in slices.iter().enumerate().filter(|(_, slice)| slice["cat"] == "gap") {
        let (start, length) = (gap["ts"].as_f64().unwrap_or(0.0), gap["dur"].as_f64().unwrap_or(0.0));
        let from = events.partition_point(|(time, _)| *time < start - NEAR);
        let theirs = events[from..].first().filter(|(time, _)| *time <= start + length + NEAR);
        let theirs = theirs.map_or(OUTSIDE, |(_, class)| class);
        let parts = slices[at + 1..].iter().take_while(|slice| slice["cat"] != "gap");
        let ours = parts.map(|part| class(part)).find(|class| class != OUTSIDE);
        pairs.push((ours.unwrap_or_else(|| OUTSIDE.to_owned()), theirs.to_owned()));
    }
    Ok(pairs)
}

/// Time in us and class of an event: `1234.567890123: irq_vectors:local_timer_entry:`.
fn event(line: &str) -> Option<(f64, &'static str)> {
    let (time, name) = line.trim().split_once(": ")?;
    let name = name.trim().trim_end_matches(':');
    let class = FIRST.iter().find(|(event, _)| *event == name)?.1;
    let (seconds, nanos) = time.trim().split_once('.')?;
    Some((seconds.parse::<f64>().ok()? * 1e6 + nanos.parse::<f64>().ok()? / 1e3, class))
}

/// Class of a part of ours.
fn class(part: &Value) -> String {
    let name = part["name"].as_str().unwrap_or_default();
    match part["cat"].as_str().unwrap_or_default() {
        "tick" | "timer" => "timer",
        "function_call" | "tlb_flush" => "function call",
        "soft_interrupt" => "softirq",
        "page_fault" => "page fault",
        // Work that a task was in the midst of.
        "task" | "idle" | "work" => "task",
        "interrupt" => match name {
            "interrupt: local timer" => "timer",
            "interrupt: call function" | "interrupt: call function single" => "function call",
            other => other.strip_prefix("interrupt: ").unwrap_or(other),
        },
        other => other,
    }
    .to_owned()
}
