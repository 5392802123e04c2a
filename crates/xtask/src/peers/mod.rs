//! Side by side with other tools, and with itself under load. Not part of CI: it takes its time, and its
//! figures are looked at by a person.

pub(crate) mod aa;
pub(crate) mod catalogue;
pub(crate) mod changes;
mod claims;
pub(crate) mod culprits;
mod finders;
pub(crate) mod history;
pub(crate) mod http;
pub(crate) mod latency;
pub(crate) mod messages;
pub(crate) mod stat;
pub(crate) mod steady;
pub(crate) mod sweep;
pub(crate) mod tick;
pub(crate) mod timer_dose;
pub(crate) mod tools;
pub(crate) mod versus;
pub(crate) mod witness;

use crate::{Result, shell};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use tickmark_stats::median;

/// The program, built for release, with a store of its own.
pub(crate) struct Tickmark {
    pub(crate) program: PathBuf,
    store: tempfile::TempDir,
    pub(crate) cpu: String,
}

impl Tickmark {
    pub(crate) fn build() -> Result<Self> {
        shell::run("cargo", &["build", "--release", "--quiet", "-p", "tickmark"])?;
        let store = tempfile::tempdir().map_err(|e| e.to_string())?;
        // One CPU for all: the last one that is allowed.
        let (count, _) = shell::output(&mut Command::new("nproc"))?;
        let last = count.trim().parse::<u32>().map_err(|e| e.to_string())?.saturating_sub(1);
        Ok(Self { program: shell::root().join("target/release/tickmark"), store, cpu: last.to_string() })
    }

    /// `tickmark ARGUMENTS` in that store.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).env("TICKMARK_STORE", self.store.path());
        command
    }

    /// `tickmark run` on that CPU; the model.
    pub(crate) fn measure(&self, arguments: &[&str]) -> Result<Value> {
        self.measure_by(&[], arguments)
    }

    /// The same, started by another program with its arguments.
    pub(crate) fn measure_by(&self, starter: &[&str], arguments: &[&str]) -> Result<Value> {
        let own = self.program.to_string_lossy();
        let all = [starter, &[&*own, "run", "--cpu", &self.cpu, "--format", "json"], arguments].concat();
        let mut command = Command::new(all[0]);
        command.args(&all[1..]).env("TICKMARK_STORE", self.store.path());
        let output = command.output().map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout);
        serde_json::from_str(&text).map_err(|e| format!("{e}: {}", String::from_utf8_lossy(&output.stderr)))
    }
}

/// A figure of a row, such as `value` or `mean`.
pub(crate) fn figure(model: &Value, metric: &str, which: &str) -> Option<f64> {
    rows(model).find(|row| row["metric"] == metric)?[which].as_f64()
}

pub(crate) fn rows(model: &Value) -> impl Iterator<Item = &Value> {
    model["rows"].as_array().into_iter().flatten()
}

/// Rounds of each comparison.
pub(crate) const ROUNDS: usize = 7;

/// A figure of ours or of theirs, in the same unit; the path is the folder of compiled programs.
pub(crate) type Measure = fn(&Tickmark, &Path) -> Result<Option<f64>>;

/// One comparison.
pub(crate) struct Pair {
    pub(crate) name: &'static str,
    pub(crate) ours: Measure,
    pub(crate) theirs: Measure,
    /// Why they differ by more than the limit, where that is known; else empty.
    pub(crate) explained: &'static str,
}

impl Pair {
    const fn new(name: &'static str, ours: Measure, theirs: Measure) -> Self {
        Self { name, ours, theirs, explained: "" }
    }

    const fn explained(mut self, explained: &'static str) -> Self {
        self.explained = explained;
        self
    }
}

/// Measures all pairs in interleaved rounds and prints their ratios; the inner result names those that are farther
/// apart than the limit.
pub(crate) fn pairs(tickmark: &Tickmark, folder: &Path, pairs: &[Pair], limit: f64) -> Result<Result<()>> {
    println!("{ROUNDS} interleaved rounds on CPU {}; medians, ns or bytes a second", tickmark.cpu);
    let mut off = Vec::new();
    for pair in pairs {
        let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let our =
                (pair.ours)(tickmark, folder)?.ok_or_else(|| format!("no figure of ours: {}", pair.name))?;
            let their = (pair.theirs)(tickmark, folder)?
                .ok_or_else(|| format!("no figure of theirs: {}", pair.name))?;
            ours.push(our);
            theirs.push(their);
            ratios.push(our / their);
        }
        let middle = |values: Vec<f64>| median(values).unwrap_or(f64::NAN);
        let (our, their, ratio) = (middle(ours), middle(theirs), middle(ratios));
        println!(
            "{:50} {our:15.2} {their:15.2}  ratio {:.3}  median of the pairs' ratios {ratio:.3}",
            pair.name,
            our / their
        );
        match ((our / their - 1.0).abs() > limit, pair.explained) {
            (true, "") => off.push(pair.name),
            (true, why) => println!("    {why}"),
            (false, _) => {}
        }
    }
    let apart = || Err(format!("more than {:.0} % apart: {}", limit * 100.0, off.join(", ")));
    Ok(if off.is_empty() { Ok(()) } else { apart() })
}

/// Compiles a C program into a folder.
pub(crate) fn compile(source: &str, folder: &Path, name: &str) -> Result<()> {
    let path = folder.join(format!("{name}.c"));
    std::fs::write(&path, source).map_err(|e| e.to_string())?;
    // A copy loop stays a loop.
    let options = ["-O2", "-fno-tree-loop-distribute-patterns", "-o"];
    shell::output(Command::new("gcc").args(options).arg(folder.join(name)).arg(&path)).map(drop)
}
