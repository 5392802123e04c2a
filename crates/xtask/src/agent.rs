//! The static agent: one file that runs on any machine of its architecture.

use crate::{Result, shell};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const TARGET: &str = "x86_64-unknown-linux-gnu";
/// The most that it may weigh, in bytes.
const LIMIT: u64 = 2 << 20;
/// What it may depend on, one crate a line.
const LIST: &str = "crates/tickmark-agent/dependencies.txt";

/// Builds it; its path.
pub(crate) fn build() -> Result<PathBuf> {
    dependencies()?;
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "-p", "tickmark-agent", "--profile", "agent", "--target", TARGET]);
    // With a target named, the flag does not reach build scripts and procedural macros.
    cargo.env("RUSTFLAGS", "-C target-feature=+crt-static").current_dir(shell::root());
    shell::output(&mut cargo)?;
    let path = target_folder().join(TARGET).join("agent/tickmark-agent");
    let bytes = std::fs::metadata(&path).map_err(|e| format!("{}: {e}", path.display()))?.len();
    let (linked, _) = shell::output(Command::new("file").arg("-b").arg(&path)).unwrap_or_default();
    println!("tickmark-agent: {bytes} bytes of at most {LIMIT}; {}", linked.trim());
    if bytes > LIMIT {
        return Err(format!("the agent has {bytes} bytes, {LIMIT} are allowed"));
    }
    let (said, _) = shell::output(Command::new(&path).arg("--version"))?;
    if !said.contains(&bytes.to_string()) {
        return Err(format!("the agent reports another size than it has: {said}"));
    }
    Ok(path)
}

fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| shell::root().join("target"), PathBuf::from)
}

/// Compares what the agent links with the list that was agreed on.
fn dependencies() -> Result<()> {
    let mut tree = Command::new("cargo");
    tree.args(["tree", "-p", "tickmark-agent", "-e", "normal", "--prefix", "none", "--format", "{p}"]);
    let (text, _) = shell::output(tree.current_dir(shell::root()))?;
    let seen: BTreeSet<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let agreed = std::fs::read_to_string(shell::root().join(LIST)).map_err(|e| format!("{LIST}: {e}"))?;
    let agreed: BTreeSet<&str> = agreed.lines().filter(|line| !line.starts_with('#')).collect();
    let new: Vec<&&str> = seen.difference(&agreed).collect();
    let gone: Vec<&&str> = agreed.difference(&seen).collect();
    if new.is_empty() && gone.is_empty() {
        return Ok(());
    }
    Err(format!("{LIST} is not what the agent depends on: new {new:?}, gone {gone:?}"))
}

/// The figure of fork from the static agent and from the whole program, in turns: the programs differ in
/// size by several megabytes, the figure must not. Medians of seven pairs.
pub(crate) fn weighs_the_same() -> Result<()> {
    let small = build()?;
    let large = target_folder().join("release/tickmark");
    let small_bytes = std::fs::metadata(&small).map_or(0, |status| status.len());
    let large_bytes = std::fs::metadata(&large).map_or(0, |status| status.len());
    let mut ratios = Vec::new();
    for _ in 0..7 {
        ratios.push(
            fork_floor(Command::new(&small).arg("run"))?
                / fork_floor(Command::new(&large).args(["agent", "run"]))?,
        );
    }
    let ratio = tickmark_stats::median(ratios).unwrap_or(f64::NAN);
    println!("fork from {small_bytes} bytes against fork from {large_bytes} bytes: {ratio:.3}");
    if (ratio - 1.0).abs() < 0.1 { Ok(()) } else { Err(format!("fork weighs the program: ratio {ratio:.3}")) }
}

/// The 10th percentile of fork, in ns, as an agent measures it.
fn fork_floor(agent: &mut Command) -> Result<f64> {
    let plan = r#"{"settings":{"cpu":null,"priority":"other","priority_optional":false,"slack":null},"metrics":[],
        "runs":[{"id":0,"round":1,"probe":"process.fork","budget":100000000,"padding":0}]}"#;
    let mut child = agent
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cannot start the agent: {e}"))?;
    let mut stdin = child.stdin.take().ok_or("no standard input")?;
    writeln!(stdin, "{}", plan.replace('\n', " ")).map_err(|e| e.to_string())?;
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    drop(stdin);
    let elapsed = String::from_utf8_lossy(&output.stdout).lines().find_map(|line| {
        let event: serde_json::Value = serde_json::from_str(line).ok()?;
        let batches = &event["observed"]["observations"]["batches"];
        let iterations = batches["iterations"].as_f64()?;
        let elapsed = batches["elapsed"].as_array()?.iter().filter_map(serde_json::Value::as_f64);
        Some(tickmark_stats::Sorted::new(elapsed.map(|e| e / iterations)))
    });
    elapsed.and_then(|sorted| sorted.quantile(0.1)).ok_or_else(|| "the agent observed nothing".to_owned())
}
