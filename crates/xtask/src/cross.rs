//! The agents on other processors: built here, run in an emulator of programs (qemu-user).
//!
//! Where the installed Rust has no standard library for arm64, Debian's does it (rustc-web, which it keeps for browsers): its
//! packages are unpacked in the user's cache and installed nowhere.

use crate::{Result, agent, agent_c, shell};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tickmark_wire::{Catalogue, Event, LineContent, Nanos, Plan, RunId, RunPlan, Settings, StampClock};

const ARM64: &str = "aarch64-unknown-linux-gnu";
/// Rust for this machine, from Debian.
const RUST: [&str; 3] = ["rustc-web", "cargo-web", "libstd-rust-web-dev"];
/// How the libraries of their own are called that they take along; their versions are in their names.
const LIBRARIES: [&str; 5] = ["libstd-rust-web", "libllvm", "libgit2", "libhttp-parser", "libmbed"];
/// The instructions that the plugin of `tickmark lab explain` knows (tcg-plugin/decode.c).
const MARKS: [u32; 3] = [0xaa15_03ff, 0xaa16_03ff, 0xaa17_03ff];
/// How long a run of the emulated agent is; it only has to work.
const BUDGET: Nanos = Nanos::from_millis(5);

/// Builds the agent for arm64; its path.
pub(crate) fn build() -> Result<PathBuf> {
    let mut cargo = match has_target()? {
        true => Command::new("cargo"),
        false => debians()?,
    };
    cargo.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc");
    // Apart: the two compilers would build everything anew in turns.
    let agent = agent::build_with(cargo, "aarch64", &agent::target_folder().join("arm64"))?;
    let code = std::fs::read(&agent).map_err(|e| e.to_string())?;
    let has = |mark: &u32| code.chunks_exact(4).any(|word| word == mark.to_le_bytes());
    match MARKS.iter().all(has) {
        true => Ok(agent),
        false => {
            Err("the agent for arm64 has no marks: `tickmark lab explain` would count nothing".to_owned())
        }
    }
}

/// True if the installed Rust has a standard library for arm64.
fn has_target() -> Result<bool> {
    let mut rustc = Command::new("rustc");
    let (folder, _) = shell::output(rustc.args(["--print", "target-libdir", "--target", ARM64]))?;
    let mut files = std::fs::read_dir(folder.trim()).into_iter().flatten().flatten();
    Ok(files.any(|file| file.file_name().to_string_lossy().starts_with("libstd-")))
}

/// Debian's cargo with its compiler, unpacked where it is not yet.
fn debians() -> Result<Command> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = cache.or_else(home).ok_or("neither HOME nor XDG_CACHE_HOME is set")?;
    let place = cache.join("tickmark/rust-web");
    if !place.join("usr/bin/rustc").exists() {
        unpack(&place)?;
    }
    let mut cargo = Command::new(place.join("usr/bin/cargo"));
    cargo.env("RUSTC", place.join("usr/bin/rustc"));
    cargo.env("LD_LIBRARY_PATH", place.join("usr/lib/x86_64-linux-gnu"));
    Ok(cargo)
}

/// Fetches Debian's packages and unpacks them in a folder, all or nothing. For the one of the other architecture apt has a
/// configuration and lists of its own: this machine keeps its architectures.
fn unpack(place: &Path) -> Result<()> {
    let io = |e: std::io::Error| e.to_string();
    let parent = place.parent().ok_or("no folder for Debian's Rust")?;
    std::fs::create_dir_all(parent).map_err(io)?;
    let work = tempfile::tempdir_in(parent).map_err(io)?;
    let at = |name: &str| work.path().join(name);
    for folder in ["state/lists/partial", "cache/archives/partial", "packages", "rust"] {
        std::fs::create_dir_all(at(folder)).map_err(io)?;
    }
    std::fs::write(at("status"), "").map_err(io)?;
    let here = work.path().display();
    let config = format!(
        "APT::Architecture \"arm64\";\nAPT::Architectures {{ \"arm64\"; }};\nDir::State \"{here}/state\";\n\
         Dir::State::status \"{here}/status\";\nDir::Cache \"{here}/cache\";\n"
    );
    std::fs::write(at("apt.conf"), config).map_err(io)?;
    let apt = |arguments: &[&str], other: bool| {
        let mut apt = Command::new("apt-get");
        apt.arg("--quiet").args(arguments).current_dir(at("packages"));
        if other {
            apt.env("APT_CONFIG", at("apt.conf"));
        }
        shell::output(&mut apt)
    };
    println!("no Rust for arm64 here: fetching Debian's, 130 MB");
    apt(&["update"], true)?;
    apt(&["download", "libstd-rust-web-dev"], true)?;
    let stale = |error| format!("{error}; apt-get update may be needed");
    let libraries = libraries().map_err(stale)?;
    let libraries = libraries.iter().map(String::as_str);
    apt(&["download"].into_iter().chain(RUST).chain(libraries).collect::<Vec<_>>(), false).map_err(stale)?;
    for package in std::fs::read_dir(at("packages")).map_err(io)?.flatten() {
        shell::output(Command::new("dpkg").arg("-x").arg(package.path()).arg(at("rust")))?;
    }
    std::fs::rename(at("rust"), place).map_err(io)
}

/// The packages of libraries that Debian's Rust takes along.
fn libraries() -> Result<BTreeSet<String>> {
    let mut install = Command::new("apt-get");
    install.args(["install", "--simulate", "--no-install-recommends"]).args(RUST).env("LC_ALL", "C");
    // What is installed already is found where it is.
    let (text, _) = shell::output(&mut install)?;
    let missing = text.lines().filter_map(|line| line.strip_prefix("Inst ")?.split_whitespace().next());
    let own = missing.filter(|name| LIBRARIES.iter().any(|library| name.starts_with(library)));
    Ok(own.filter(|name| !RUST.contains(name)).map(str::to_owned).collect())
}

/// The agents of other processors measure what they can in an emulator, and say why not where they cannot.
pub(crate) fn test() -> Result<()> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let starter = folder.path().join("starter");
    let text = format!("#!/bin/sh\nexec qemu-aarch64-static {} \"$@\"\n", build()?.display());
    std::fs::write(&starter, text).map_err(|e| e.to_string())?;
    std::fs::set_permissions(&starter, PermissionsExt::from_mode(0o755)).map_err(|e| e.to_string())?;
    let (catalogue, _) = shell::output(Command::new(&starter).arg("catalogue"))?;
    let catalogue: Catalogue = serde_json::from_str(&catalogue).map_err(|e| e.to_string())?;
    every_probe(&starter, &catalogue)?;
    the_counter_stamps(&starter, &catalogue)?;
    for processor in ["aarch64", "riscv64"] {
        let program = folder.path().join(format!("agent-c-{processor}"));
        agent_c::compile(&format!("{processor}-linux-gnu-gcc"), &program)?;
        let mut agent = Command::new(format!("qemu-{processor}-static"));
        let (text, _) = shell::output(agent.arg(&program).args(["--budget", "5"]))?;
        let ends = Ends::parse(text.lines().map(str::to_owned))?;
        println!("agent-c for {processor}: {}", ends.summary());
        ends.judge(55, |_| false)?;
    }
    Ok(())
}

fn every_probe(starter: &Path, catalogue: &Catalogue) -> Result<()> {
    let ends = Ends::parse(measured(Command::new(starter), starter, catalogue, |_| true)?)?;
    println!("tickmark-agent for arm64: {}", ends.summary());
    // These are there to go wrong.
    ends.judge(160, |probe| probe.starts_with("selftest."))
}

/// The kernel of the emulator is another architecture's and lists no counter of arm64; where nothing lists any, the processor's
/// word counts.
fn the_counter_stamps(starter: &Path, catalogue: &Catalogue) -> Result<()> {
    let mut hidden = Command::new("bwrap");
    hidden.args(["--dev-bind", "/", "/", "--tmpfs", "/sys"]).arg(starter);
    let few = ["syscall.null", "op.int64.mul", "tick", "process.fork", "process.vfork"];
    let lines = measured(hidden, starter, catalogue, |probe| few.contains(&probe))?;
    let ends = Ends::parse(lines)?;
    println!("the same, stamped with the counter: {}", ends.summary());
    ends.judge(few.len(), |_| false)?;
    match ends.clocks[..] {
        [] => Err("no run says what stamped".to_owned()),
        _ if ends.clocks.iter().all(|clock| *clock == StampClock::Cntvct) => Ok(()),
        _ => Err(format!("{:?} stamped, and not the counter", ends.clocks)),
    }
}

/// The lines of an agent that carries out a plan of these probes.
fn measured(
    mut agent: Command,
    starter: &Path,
    catalogue: &Catalogue,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<String>> {
    let offers = catalogue.offers.iter().filter(|offer| wanted(offer.probe.as_str()));
    let mut plan = Plan { settings: Settings::default(), metrics: Vec::new(), runs: Vec::new() };
    for (number, offer) in offers.enumerate() {
        plan.runs.push(RunPlan {
            id: RunId(number as u32),
            round: 1,
            probe: offer.probe.clone(),
            arguments: offer.arguments.clone(),
            gives: offer.metrics.iter().map(|metric| metric.name.clone()).collect(),
            budget: BUDGET,
            limit: None,
            padding: 0,
        });
        plan.metrics.extend(offer.metrics.iter().cloned());
    }
    agent.arg("run").env("TICKMARK_AGENT_STARTER", starter).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = agent.spawn().map_err(|e| e.to_string())?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (mut stdin, stdout) = stdin.zip(stdout).ok_or("no pipes")?;
    let line = serde_json::to_string(&plan).map_err(|e| e.to_string())?;
    writeln!(stdin, "{line}").map_err(|e| e.to_string())?;
    // The plan's pipe stays open: its end would tell the agent to stop.
    let lines = BufReader::new(stdout).lines().collect::<std::io::Result<_>>();
    let status = child.wait().map_err(|e| e.to_string())?;
    drop(stdin);
    if !status.success() {
        return Err(format!("the emulated agent ended with {status}"));
    }
    lines.map_err(|e| e.to_string())
}

/// How the runs of a stream ended.
#[derive(Default)]
struct Ends {
    observed: usize,
    finished: usize,
    skipped: Vec<String>,
    failed: Vec<(String, String)>,
    clocks: Vec<StampClock>,
    complete: bool,
}

impl Ends {
    fn parse(lines: impl IntoIterator<Item = String>) -> Result<Self> {
        let (mut ends, mut probes) = (Self::default(), BTreeMap::new());
        for line in lines {
            let name = |probes: &BTreeMap<RunId, String>, run| probes.get(&run).cloned().unwrap_or_default();
            match LineContent::parse(line.as_bytes())? {
                LineContent::Event(Event::Started(started)) => {
                    probes.insert(started.run, started.probe.to_string());
                }
                LineContent::Observed(_) => ends.observed += 1,
                LineContent::Event(Event::Finished(outcome)) => {
                    ends.finished += 1;
                    ends.clocks.push(outcome.instrument.clock);
                }
                LineContent::Event(Event::Skipped(run, reason)) => {
                    ends.skipped.push(format!("{} ({})", name(&probes, run), reason.message));
                }
                LineContent::Event(Event::Failed(run, reason) | Event::TimedOut(run, reason)) => {
                    ends.failed.push((name(&probes, run), reason.message));
                }
                LineContent::Event(Event::Goodbye { complete, .. }) => ends.complete = complete,
                _ => {}
            }
        }
        Ok(ends)
    }

    fn summary(&self) -> String {
        let skipped = self.skipped.join(", ");
        format!("{} runs finished, not supported there: {}: {skipped}", self.finished, self.skipped.len())
    }

    /// At least so many runs finished, the stream is whole, and none failed that should not.
    fn judge(&self, least: usize, may_fail: impl Fn(&str) -> bool) -> Result<()> {
        let failed: Vec<_> = self.failed.iter().filter(|(probe, _)| !may_fail(probe)).collect();
        match self {
            _ if !failed.is_empty() => Err(format!("failed: {failed:?}")),
            Self { complete: false, .. } => Err("the stream has no end".to_owned()),
            Self { finished, observed, .. } if *finished < least || observed < finished => {
                Err(format!("{finished} runs finished with {observed} observations; {least} are expected"))
            }
            _ => Ok(()),
        }
    }
}
