//! Everything that must hold, in the order in which it fails fastest.

use crate::{Result, agent, agent_c, book, cross, docs, licences, package, shell};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;

/// The browser that shows reports.
const CHROMIUM: &str = "/usr/bin/chromium";

/// A program that the tests run, and Debian's package that has it.
const NEEDED: &[(&str, &str)] = &[
    ("bwrap", "bubblewrap"),
    ("jq", "jq"),
    ("ministat", "ministat"),
    ("valgrind", "valgrind"),
    ("go", "golang-go"),
    ("tcc", "tcc"),
    ("taskset", "util-linux"),
    ("chrt", "util-linux"),
    ("/usr/sbin/slurmctld", "slurm-wlm"),
    ("/usr/sbin/munged", "munge"),
    ("pip3", "python3-pip"),
    ("pdsh", "pdsh"),
    ("mpirun", "openmpi-bin"),
    ("java", "default-jre-headless"),
    ("kill", "procps"),
    ("cpio", "cpio"),
    ("ip", "iproute2"),
    ("ssh", "openssh-client"),
    ("/usr/sbin/sshd", "openssh-server"),
    (CHROMIUM, "chromium"),
    ("make", "make"),
    ("gcc", "gcc"),
    ("/usr/sbin/mariadbd", "mariadb-server"),
    ("/usr/bin/mariadb-install-db", "mariadb-server"),
    ("/usr/bin/pg_ctlcluster", "postgresql"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("xz", "xz-utils"),
    ("lz4", "lz4"),
    ("/usr/include/libelf.h", "libelf-dev"),
    ("/usr/include/stdio.h", "libc6-dev"),
    ("powerpc-linux-gnu-gcc", "gcc-powerpc-linux-gnu"),
    ("/usr/powerpc-linux-gnu/include/stdio.h", "libc6-dev-powerpc-cross"),
    ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    ("/usr/aarch64-linux-gnu/include/stdio.h", "libc6-dev-arm64-cross"),
    ("riscv64-linux-gnu-gcc", "gcc-riscv64-linux-gnu"),
    ("/usr/riscv64-linux-gnu/include/stdio.h", "libc6-dev-riscv64-cross"),
    ("qemu-aarch64-static", "qemu-user-static"),
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("qemu-system-ppc", "qemu-system-ppc"),
    ("qemu-system-aarch64", "qemu-system-arm"),
    ("qemu-system-riscv64", "qemu-system-misc"),
    ("/usr/src/linux-source-6.1.tar.xz", "linux-source-6.1"),
    ("/usr/src/linux-source-6.12.tar.xz", "linux-source-6.12"),
];

/// Tests of the whole workspace.
const TESTS: &[&str] = &["test", "--workspace", "--quiet", "--no-fail-fast"];

/// The tests of the program, as the workspace calls their file: of those that measure one runs at a time, and as many of the others as there
/// are processors; more threads than these wait for the machine (`bench::machine`).
const OF_THE_PROGRAM: &str = "program";

/// The step whose tests measure this machine.
const MEASURING: &str = "tests";
/// The step that boots guests. They need whole processors and no clock of this machine: it runs beside the tests where both are carried out.
const LAB: &str = "the lab";

/// The kernels that the tests boot.
const KERNELS: &[&str] = &[
    "powerpc:hz=100",
    "powerpc:hz=1000",
    "arm64:hz=1000",
    "riscv64:hz=1000",
    "x86_64:hz=100",
    "x86_64:hz=1000",
    "x86_64:hz=1000:osnoise=on",
    "x86_64:lockdep=on:source=6.12",
];

/// The small experiment: the document's own, shortened.
const EXPERIMENT: &str = "experiments/clock-tick-100-vs-1000.toml";

/// How it is shortened.
const SHORT: &[&str] =
    &["--machine", "powerpc", "--machine", "powerpc-16MB", "--blocks", "2", "--slice", "20ms"];

/// Its name, minutes that it took on two shared cores as a part of the whole with the kernels there (for the time left, nothing is judged by
/// it), and what it does.
type Step = (&'static str, f64, fn() -> Result<()>);

const STEPS: &[Step] = &[
    ("packages", 0.3, || shell::install(NEEDED)),
    ("Python's packages", 0.4, python),
    ("format", 0.1, || shell::run("cargo", &["fmt", "--all", "--check"])),
    ("lints", 1.0, || {
        shell::run("cargo", &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])
    }),
    ("probes in the docs", 0.1, docs::check),
    ("the book", 0.6, book::build),
    ("licences", 0.1, licences::check),
    ("documentation", 0.2, documentation),
    ("the static agent", 0.5, || agent::build().map(drop)),
    ("the small agent", 0.1, agent_c::check),
    ("agents of other processors", 1.1, cross::test),
    (MEASURING, 20.0, all_but_the_lab),
    (LAB, 3.5, lab),
    ("threads of timers in every order", 0.9, threads_in_every_order),
    ("the main job", 1.0, main_job),
    ("the short experiment", 0.4, short_experiment),
    ("fork weighs neither program", 0.3, agent::weighs_the_same),
    ("the package", 0.1, package::check),
];

/// Installs the Python packages that query the tables of surveys, validate manifests, and measure what is imported, from PyPI.
fn python() -> Result<()> {
    let folder = shell::root().join("target/python");
    let packages =
        ["duckdb", "chdb", "pyspark", "kubernetes-validate", "pyperf", "pytest", "pytest-benchmark"];
    if packages.iter().all(|package| folder.join(package.replace('-', "_")).is_dir()) {
        return Ok(());
    }
    let folder = folder.to_string_lossy().into_owned();
    shell::run("pip3", &[&["install", "--quiet", "--target", &folder], &packages[..]].concat())
}

/// Carries out the steps whose names contain one of these words, or all, and closes with a count.
pub(crate) fn run(wanted: &[&str]) -> Result<()> {
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|word| name.contains(word));
    let unknown = wanted.iter().find(|word| !STEPS.iter().any(|(name, ..)| name.contains(**word)));
    if let Some(word) = unknown {
        let names: Vec<&str> = STEPS.iter().map(|(name, ..)| *name).collect();
        return Err(format!("no step is called {word}; they are: {}", names.join(", ")));
    }
    let steps: Vec<&Step> = STEPS.iter().filter(|(name, ..)| is_wanted(name)).collect();
    let (mut failed, mut beside) = (Vec::new(), None);
    let all = Instant::now();
    for (number, (name, minutes, step)) in steps.iter().enumerate() {
        let left: f64 = steps[number..].iter().map(|(_, minutes, _)| minutes).sum();
        println!("== {name} ({} of {}; about {left:.0} min left)", number + 1, steps.len());
        let started = Instant::now();
        if *name == MEASURING && steps.iter().any(|(name, ..)| *name == LAB) {
            // Where it cannot, it follows.
            beside = Beside::begin(LAB).inspect_err(|why| println!("{why}")).ok();
        }
        let done = match beside.take_if(|_| *name == LAB) {
            Some(lab) => lab.finish(),
            None => step(),
        };
        if let Err(why) = done {
            println!("== {name} FAILED: {why}");
            failed.push(*name);
        }
        let seconds = started.elapsed().as_secs_f64();
        println!("== {name}: {:.1} min (usually {minutes:.1})", seconds / 60.0);
    }
    println!("{:.1} min in all", all.elapsed().as_secs_f64() / 60.0);
    println!("{} passed, {} failed", steps.len() - failed.len(), failed.len());
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
}

/// A step that is carried out with the time that others leave (SCHED_IDLE): beside a task that computes it has some .3 % of a processor, and
/// one that wakes up has it at once.
struct Beside {
    process: Child,
    log: NamedTempFile,
}

impl Beside {
    fn begin(step: &str) -> Result<Self> {
        let begin = || -> std::io::Result<Self> {
            let log = NamedTempFile::new()?;
            let printed = log.reopen()?;
            let mut process = Command::new("chrt");
            process.args(["--idle", "0"]).arg(std::env::current_exe()?).args(["test", step]);
            let process = process.stdout(printed.try_clone()?).stderr(printed).spawn()?;
            Ok(Self { process, log })
        };
        begin().map_err(|e| format!("{step}: {e}"))
    }

    /// Prints what it has printed, and waits for its end.
    fn finish(mut self) -> Result<()> {
        let mut log = self.log.reopen().map_err(|e| e.to_string())?;
        loop {
            let ended = self.process.try_wait().map_err(|e| e.to_string())?;
            std::io::copy(&mut log, &mut std::io::stdout()).map_err(|e| e.to_string())?;
            match ended {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(format!("ended with {status}")),
                None => std::thread::sleep(Duration::from_millis(200)),
            }
        }
    }
}

/// The kernels, and the tests that boot them.
fn lab() -> Result<()> {
    let kernels = [&["run", "--quiet", "--release", "--", "lab", "kernels"], KERNELS].concat();
    shell::run("cargo", &kernels)?;
    let tests = ["--test", OF_THE_PROGRAM, "--", "--include-ignored", "lab::"];
    shell::run("cargo", &[TESTS, &tests].concat())
}

/// Every test of both tiers that boots nothing, whatever failed before it.
fn all_but_the_lab() -> Result<()> {
    // One test measures in 16 MB, which the unoptimised program does not fit in.
    shell::run("cargo", &["build", "--release", "--quiet"])?;
    let files = integration_tests()?;
    let others = files.iter().filter(|name| *name != OF_THE_PROGRAM).flat_map(|name| ["--test", name]);
    let others: Vec<&str> = ["--lib", "--bins", "--examples"].into_iter().chain(others).collect();
    let threads = |count| ["--", "--include-ignored", "--test-threads", count];
    let parts = [
        [TESTS, &["--test", OF_THE_PROGRAM], &threads("12"), &["--skip", "lab::"]].concat(),
        // Each library's in one process, which they share.
        [TESTS, &others, &threads("3")].concat(),
        [TESTS, &["--doc"]].concat(),
    ];
    parts.map(|part| shell::run("cargo", &part)).into_iter().collect()
}

/// The names of the workspace's files of tests, each of which is a program of its own.
fn integration_tests() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for package in list(&shell::root().join("crates"))? {
        let tests = package.join("tests");
        if tests.is_dir() {
            names.extend(
                list(&tests)?
                    .iter()
                    .filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned())),
            );
        }
    }
    Ok(names)
}

fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(|e| e.to_string())).collect()
}

fn documentation() -> Result<()> {
    let mut doc = Command::new("cargo");
    doc.args(["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"]);
    doc.env("RUSTDOCFLAGS", "-D warnings").current_dir(shell::root());
    shell::output(&mut doc).map(drop)
}

/// The thread of a timer queue beside others, under loom.
fn threads_in_every_order() -> Result<()> {
    let mut modelled = Command::new("cargo");
    modelled.args(["test", "--quiet", "--package", "tickmark-timer", "--lib"]);
    modelled.args(["--target-dir", "target/loom", "modelled"]);
    modelled.env("RUSTFLAGS", "--cfg loom").current_dir(shell::root());
    let (text, _) = shell::output(&mut modelled)?;
    if !text.contains("3 passed") {
        return Err(format!("three models expected: {text}"));
    }
    Ok(())
}

/// A matrix of the document's own, from kernels in the cache to the tables, in a store of its own.
fn short_experiment() -> Result<()> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    // What it explains by function are 28 boots of which no table is made; tests of the lab have them.
    let whole = std::fs::read_to_string(shell::root().join(EXPERIMENT)).map_err(|e| e.to_string())?;
    let is_kept = |line: &&str| !["explain =", "caches ="].iter().any(|key| line.starts_with(key));
    let short: Vec<&str> = whole.lines().filter(is_kept).collect();
    let file = folder.path().join("short.toml");
    std::fs::write(&file, short.join("\n")).map_err(|e| e.to_string())?;
    let mut run = Command::new("cargo");
    run.args(["run", "--quiet", "--release", "--", "lab", "run"]).arg(file).args(SHORT);
    run.env("TICKMARK_STORE", folder.path().join("store")).current_dir(shell::root());
    let (text, _) = shell::output(&mut run)?;
    println!("{text}");
    let tables = text.lines().filter(|line| is_documents_change(line)).count();
    // All ten on each of two machines, the first one without a row of ours.
    if tables != 20 || !text.contains("predicted for HZ 1000") {
        return Err(format!("{tables} tables and 20 expected, or no prediction"));
    }
    Ok(())
}

/// The row below a table that says by how many per cent the document's own figures differ.
fn is_documents_change(line: &str) -> bool {
    line.split_whitespace().take(3).eq(["%", "against", "tqm860l"])
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
        // What a tick costs is not known beside other tasks, and said to be so.
        .filter(|row| !matches!(row["status"].as_str(), Some("ok" | "partly" | "unsupported" | "unknown")))
        .map(|row| format!("{} {} {}", row["metric"], row["status"], row["notes"]))
        .collect();
    let seconds = model["recording"]["seconds"].as_f64().unwrap_or(f64::INFINITY);
    println!("{} rows, {with_value} with a value, measured for {seconds:.0} s", rows.len());
    if with_value < 90 || !bad.is_empty() {
        return Err(format!("rows that are not in order: {}", bad.join("; ")));
    }
    Ok(())
}
