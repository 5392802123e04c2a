//! One recording against the one before, judged by earlier ones: changes that the machine really has, and pairs without one.

use super::Tickmark;
use crate::{Result, shell};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};

/// Selection of each recording: two seconds.
const MEASURED: [&str; 7] = ["syscall", "clock", "--small", "--runs", "5", "--budget", "2s"];
/// Recordings before anything is compared, times that each change is made, and pairs without one.
const EARLIER: usize = 20;
const TIMES: usize = 10;
const PAIRS: usize = 100;

/// Starts what stands behind it under a filter for seccomp that looks at an argument sixty times, so that the kernel cannot keep
/// its answer, and allows everything; without speculative store bypass.
const FILTER: &str = "my $f = pack('SCCL', 0x20, 0, 0, 16) x 60 . pack('SCCL', 6, 0, 0, 0x7fff0000); \
    my $p = pack('S x6 P', 61, $f); \
    syscall(157, 38, 1, 0, 0, 0) == 0 && syscall(157, 22, 2, $p) == 0 or die \"seccomp: $!\"; exec @ARGV";
const NO_BYPASS: &str = "syscall(157, 53, 0, 4, 0, 0) == 0 or die \"speculation: $!\"; exec @ARGV";

/// Starts what stands behind it on another clock source, which ends with it, also where the task itself is killed.
const OTHER_CLOCK: &str = "cd /sys/devices/system/clocksource/clocksource0 && now=$(cat current_clocksource) && \
    for source in $(cat available_clocksource); do [ $source = $now ] || other=$source; done; \
    [ \"$other\" ] || { echo 'there is one clock source' >&2; exit 1; }; \
    trap 'echo $now > current_clocksource' EXIT; trap 'exit 1' HUP INT TERM; \
    echo $other > current_clocksource && \"$@\"";

/// How a change is made.
enum Change {
    /// By what starts the program.
    Starter(&'static [&'static str]),
    /// By a loop on the same CPU.
    Competitor,
}

const CHANGES: [(&str, Change); 4] = [
    ("a seccomp filter", Change::Starter(&["perl", "-e", FILTER, "--"])),
    ("a mitigation: no speculative store bypass", Change::Starter(&["perl", "-e", NO_BYPASS, "--"])),
    ("another clock source", Change::Starter(&["sh", "-c", OTHER_CLOCK, "sh"])),
    ("a competitor on the CPU", Change::Competitor),
];

/// Claims of a page.
#[derive(Default)]
struct Claims {
    pages: usize,
    /// With a claim of a figure, and of a group.
    figures: usize,
    groups: usize,
    /// Figures: all, p < .05 alone, claimed.
    all: usize,
    alone: usize,
    claimed: usize,
    /// How often each group was claimed.
    by_group: BTreeMap<String, usize>,
}

impl Claims {
    fn add(&mut self, page: &Value) {
        let of = |name: &str| page["candidates"][0][name].as_array().into_iter().flatten();
        let (before, mut groups) = (self.claimed, 0);
        for row in of("rows") {
            let claim = matches!(row["verdict"].as_str(), Some("beyond_margin" | "changed" | "below_margin"));
            self.all += 1;
            self.claimed += usize::from(claim);
            self.alone += usize::from(row["p"].as_f64().is_some_and(|p| p < 0.05));
        }
        for group in of("groups").filter(|group| group["changed"] == true) {
            groups += 1;
            let word = |name: &str| group[name].as_str().unwrap_or("?").to_owned();
            let by_call = if group["by_call"] == true { " by call" } else { "" };
            let pace = if group["pace_ratio"].is_null() { "" } else { ", against the pace" };
            let name = format!("{}{by_call} ({}){pace}", word("group"), word("figure"));
            *self.by_group.entry(name).or_default() += 1;
        }
        self.pages += 1;
        self.figures += usize::from(self.claimed > before);
        self.groups += usize::from(groups > 0);
    }

    fn print(&self, name: &str) {
        println!(
            "{name:44} {:3} pages: {:3} claim a figure, {:3} a group; of {} figures {} have p < .05, {} are claimed",
            self.pages, self.figures, self.groups, self.all, self.alone, self.claimed
        );
        self.by_group.iter().for_each(|(group, times)| println!("    {group}: {times}"));
    }
}

/// Prints all figures; an error where too many unchanged pairs have a claim.
pub(crate) fn run() -> Result<()> {
    let tickmark = Tickmark::build()?;
    println!(
        "recordings of {} on CPU {}, {EARLIER} before the first comparison",
        MEASURED.join(" "),
        tickmark.cpu
    );
    let mut last = recording(&tickmark, &[])?;
    for _ in 1..EARLIER {
        last = recording(&tickmark, &[])?;
    }
    for (name, change) in &CHANGES {
        let mut claims = Claims::default();
        for _ in 0..TIMES {
            let changed = match changed(&tickmark, change) {
                Ok(changed) => changed,
                Err(why) => {
                    println!("{name:44} cannot be made here: {why}");
                    break;
                }
            };
            claims.add(&compare(&tickmark, &last, &changed)?);
            // It is no history of the machine as it is.
            shell::output(&mut tickmark.command(&["recordings", "delete", &changed]))?;
            last = recording(&tickmark, &[])?;
        }
        claims.print(name);
    }
    let mut claims = Claims::default();
    for _ in 0..PAIRS {
        let next = recording(&tickmark, &[])?;
        claims.add(&compare(&tickmark, &last, &next)?);
        last = next;
    }
    claims.print("nothing");
    // What chance gives of 5 % of a hundred in 999 of 1000 cases.
    if claims.figures > 12 || claims.groups > 12 {
        return Err("too many claims of nothing".to_owned());
    }
    Ok(())
}

/// The id of a new recording, by a program that is started in this way.
fn recording(tickmark: &Tickmark, starter: &[&str]) -> Result<String> {
    let model = tickmark.measure_by(starter, &MEASURED)?;
    Ok(model["recording"]["id"].as_str().ok_or("no id")?.to_owned())
}

fn compare(tickmark: &Tickmark, base: &str, other: &str) -> Result<Value> {
    let (text, _) = shell::output(&mut tickmark.command(&["compare", base, other, "--format", "json"]))?;
    serde_json::from_str(&text).map_err(|e| e.to_string())
}

fn changed(tickmark: &Tickmark, change: &Change) -> Result<String> {
    match change {
        Change::Starter(words) => recording(tickmark, words),
        Change::Competitor => {
            let spin = ["-c", &tickmark.cpu, "timeout", "60", "sh", "-c", "while :; do :; done"];
            let started = Command::new("taskset").args(spin).stdin(Stdio::null()).spawn();
            let _ends = Ends(started.map_err(|e| format!("taskset: {e}"))?);
            recording(tickmark, &[])
        }
    }
}

/// Ends with what it holds.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        // `timeout` hands the signal on.
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}
