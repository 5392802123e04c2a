//! Everything that must hold, in the order in which it fails fastest.

use crate::{Result, agent, docs, licences, shell};
use std::process::Command;
use std::time::Instant;

/// A program that the tests run, and Debian's package that has it.
const NEEDED: &[(&str, &str)] = &[
    ("bwrap", "bubblewrap"),
    ("ministat", "ministat"),
    ("valgrind", "valgrind"),
    ("taskset", "util-linux"),
    ("kill", "procps"),
];

type Step = (&'static str, fn() -> Result<()>);

const STEPS: &[Step] = &[
    ("packages", || shell::install(NEEDED)),
    ("format", || shell::run("cargo", &["fmt", "--all", "--check"])),
    ("lints", || {
        shell::run("cargo", &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])
    }),
    ("probes in the docs", docs::check),
    ("licences", licences::check),
    ("documentation", documentation),
    ("tests", || shell::run("cargo", &["test", "--workspace", "--quiet", "--no-fail-fast"])),
    ("the static agent", || agent::build().map(drop)),
    ("the main job", main_job),
    ("fork weighs neither program", agent::weighs_the_same),
];

/// Carries out every step and closes with a count.
pub(crate) fn run() -> Result<()> {
    let mut failed = Vec::new();
    for (name, step) in STEPS {
        println!("== {name}");
        let started = Instant::now();
        if let Err(why) = step() {
            println!("== {name} FAILED: {why}");
            failed.push(*name);
        }
        println!("== {name}: {:.0} s", started.elapsed().as_secs_f64());
    }
    println!("{} passed, {} failed", STEPS.len() - failed.len(), failed.len());
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
}

fn documentation() -> Result<()> {
    let mut doc = Command::new("cargo");
    doc.args(["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"]);
    doc.env("RUSTDOCFLAGS", "-D warnings").current_dir(shell::root());
    shell::output(&mut doc).map(drop)
}

/// The README's first command, as a user types it, in a store of its own; what it prints is looked at.
fn main_job() -> Result<()> {
    let store = tempfile::tempdir().map_err(|e| e.to_string())?;
    let mut run = Command::new("cargo");
    run.args(["run", "--quiet", "--release", "--", "run", "--format", "json"]);
    run.env("TICKMARK_STORE", store.path()).current_dir(shell::root());
    // Some runs may find no tick on a busy host, which is partly done; the rows are judged below.
    let output = run.output().map_err(|e| e.to_string())?;
    let model: serde_json::Value = serde_json::from_slice(&output.stdout)
        .map_err(|e| format!("{e}: {}", String::from_utf8_lossy(&output.stderr)))?;
    let rows = model["rows"].as_array().ok_or("no rows")?;
    let with_value = rows.iter().filter(|row| row["value"].is_number()).count();
    let bad: Vec<String> = rows
        .iter()
        .filter(|row| !matches!(row["status"].as_str(), Some("ok" | "partly" | "unsupported")))
        .map(|row| format!("{} {} {}", row["metric"], row["status"], row["notes"]))
        .collect();
    let seconds = model["recording"]["seconds"].as_f64().unwrap_or(f64::INFINITY);
    println!("{} rows, {with_value} with a value, measured for {seconds:.0} s", rows.len());
    if with_value < 90 || !bad.is_empty() {
        return Err(format!("rows that are not in order: {}", bad.join("; ")));
    }
    Ok(())
}
