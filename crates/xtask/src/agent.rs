//! The static agent: one file that runs on any machine of its architecture.

use crate::{Result, shell};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tickmark_lab::{Cache, StaticProgram};
use tickmark_stats::{Interval, summary::quantile_interval, verdict::LEVEL};

/// The most that it may weigh, in bytes.
const LIMIT: u64 = 2 << 20;
/// Allowed dependencies, one crate a line.
const LIST: &str = "crates/tickmark-agent/dependencies.txt";

/// Builds it for this machine, as the program does where it is needed; its path in the cache.
pub(crate) fn build() -> Result<PathBuf> {
    dependencies()?;
    let path = in_cache(StaticProgram::Agent)?;
    let bytes = size(&path)?;
    let (said, _) = shell::output(Command::new(&path).arg("--version"))?;
    if !said.contains(&bytes.to_string()) {
        return Err(format!("the agent reports another size than it has: {said}"));
    }
    Ok(path)
}

/// Builds the load of databases for guests, which is linked like the agent and has no limit; its path.
pub(crate) fn select_index() -> Result<PathBuf> {
    in_cache(StaticProgram::SelectIndex)
}

fn in_cache(program: StaticProgram) -> Result<PathBuf> {
    let cache = Cache::at(None).map_err(|e| e.to_string())?;
    program.path(&cache, &mut || {}, &|| false).map_err(|e| e.to_string())
}

/// Builds the agent with this cargo for an architecture, in a folder; its path. It may not be too large.
pub(crate) fn build_with(cargo: Command, arch: &str, folder: &Path) -> Result<PathBuf> {
    let path = tickmark_lab::build_static(cargo, StaticProgram::Agent, arch, &shell::root(), folder)?;
    size(&path).map(|_| path)
}

/// Its size in bytes, which may not be too large.
fn size(path: &Path) -> Result<u64> {
    let bytes = std::fs::metadata(path).map_err(|e| format!("{}: {e}", path.display()))?.len();
    let (linked, _) = shell::output(Command::new("file").arg("-b").arg(path)).unwrap_or_default();
    println!("tickmark-agent: {bytes} bytes of at most {LIMIT}; {}", linked.trim());
    if bytes > LIMIT {
        return Err(format!("the agent has {bytes} bytes, {LIMIT} are allowed"));
    }
    Ok(bytes)
}

pub(crate) fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| shell::root().join("target"), PathBuf::from)
}

/// Compares what the agent links with the list that was agreed on.
fn dependencies() -> Result<()> {
    let mut tree = Command::new("cargo");
    tree.args(["tree", "-p", "tickmark-agent", "-e", "normal", "--prefix", "none", "--format", "{p}"]);
    let (text, _) = shell::output(tree.current_dir(shell::root()))?;
    let observed: BTreeSet<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let agreed = std::fs::read_to_string(shell::root().join(LIST)).map_err(|e| format!("{LIST}: {e}"))?;
    let agreed: BTreeSet<&str> = agreed.lines().filter(|line| !line.starts_with('#')).collect();
    let new: Vec<&&str> = observed.difference(&agreed).collect();
    let gone: Vec<&&str> = agreed.difference(&observed).collect();
    if new.is_empty() && gone.is_empty() {
        return Ok(());
    }
    Err(format!("{LIST} is not what the agent depends on: new {new:?}, gone {gone:?}"))
}

/// How often each is measured, in turns of another order, before the first look and before each further one, and the most.
const TURNS: usize = 15;
const MOST: usize = 210;
/// As a share, what may differ.
const MARGIN: f64 = 0.1;

/// The figures of fork and exec from the static agent and from the whole program, which is several megabytes larger, and with six
/// times the samples. Turns are added until both are equivalent to the first: where neighbours disturb them, that takes more.
pub(crate) fn weighs_the_same() -> Result<()> {
    let small = build()?;
    let large = target_folder().join("release/tickmark");
    let bytes = |path: &PathBuf| std::fs::metadata(path).map_or(0, |status| status.len());
    println!("from {} bytes over from {} bytes, and six times the samples:", bytes(&large), bytes(&small));
    let cpu = first_cpu()?;
    for probe in ["process.fork", "process.exec"] {
        let mut floors = [const { Vec::new() }; 3];
        loop {
            weigh(&small, &large, probe, cpu, &mut floors)?;
            let [few, whole, many] = &floors;
            let compared = [whole, many].map(|other| against(few, other));
            let [size, samples] =
                compared.map(|one| one.map_or("?".to_owned(), |i| format!("{:.3} to {:.3}", i.low, i.high)));
            println!("{probe}, {} turns: from the large one {size}, with more samples {samples}", few.len());
            if compared.iter().flatten().any(|i| i.low > 1.0 + MARGIN || i.high < 1.0 - MARGIN) {
                return Err(format!("{probe} moves with the program"));
            }
            if compared.iter().all(|one| one.is_some_and(|i| i.low > 1.0 - MARGIN && i.high < 1.0 + MARGIN)) {
                break;
            }
            if few.len() >= MOST {
                return Err(format!("whether {probe} moves with the program cannot be told in {MOST} turns"));
            }
        }
    }
    Ok(())
}

/// The first CPU that this process may use.
fn first_cpu() -> Result<u32> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(|e| e.to_string())?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let first = list.and_then(|list| list.trim().split([',', '-']).next()?.parse().ok());
    first.ok_or_else(|| "no CPU in /proc/self/status".to_owned())
}

/// The interval of the median ratio of a turn, by signs: turns that a neighbour disturbed have one vote each, however far off they
/// are. Each look has its part of the level.
fn against(few: &[f64], other: &[f64]) -> Option<Interval> {
    let mut ratios: Vec<f64> = few.iter().zip(other).map(|(few, other)| other / few).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let level = LEVEL * TURNS as f64 / MOST as f64;
    quantile_interval(&ratios, 0.5, 1.0 - level).map(|(interval, _)| interval)
}

/// Measures a probe some more times from the small program, from the large one, and with six times the samples.
fn weigh(small: &Path, large: &Path, probe: &str, cpu: u32, floors: &mut [Vec<f64>; 3]) -> Result<()> {
    let one = |which: usize| match which {
        0 => floor(Command::new(small).arg("run"), probe, cpu, 100),
        1 => floor(Command::new(large).args(["agent", "run"]), probe, cpu, 100),
        _ => floor(Command::new(small).arg("run"), probe, cpu, 600),
    };
    for turn in 0..TURNS * 3 {
        // 0 1 2, 1 2 0, 2 0 1 ...
        let which = (turn + turn / 3) % 3;
        floors[which].push(one(which)?);
    }
    Ok(())
}

/// The 10th percentile of a probe, in ns, as an agent measures it for some milliseconds.
fn floor(agent: &mut Command, probe: &str, cpu: u32, millis: u32) -> Result<f64> {
    let plan = serde_json::json!({
        "settings": { "cpu": cpu, "priority": "other", "priority_optional": false, "slack": null },
        "metrics": [],
        "runs": [{ "id": 0, "round": 1, "probe": probe, "budget": millis * 1_000_000, "padding": 0 }],
    });
    let mut child = agent
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cannot start the agent: {e}"))?;
    let mut stdin = child.stdin.take().ok_or("no standard input")?;
    writeln!(stdin, "{plan}").map_err(|e| e.to_string())?;
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    drop(stdin);
    let elapsed = String::from_utf8_lossy(&output.stdout).lines().find_map(|line| {
        let event: serde_json::Value = serde_json::from_str(line).ok()?;
        let batches = &event["observed"]["observations"]["batches"];
        let iterations = batches["iterations"].as_f64()?;
        let elapsed = batches["elapsed"].as_array()?.iter().filter_map(serde_json::Value::as_f64);
        tickmark_stats::quantile(elapsed.map(|e| e / iterations), 0.1)
    });
    elapsed.ok_or_else(|| "the agent observed nothing".to_owned())
}
