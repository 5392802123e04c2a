//! Runs the real program in a store of its own.

use serde_json::Value;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};

pub(crate) struct Bench {
    folder: tempfile::TempDir,
}

pub(crate) fn program() -> &'static str {
    env!("CARGO_BIN_EXE_tickmark")
}

/// A text with single blanks between its words, however it was wrapped.
pub(crate) fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// JSON of the program, which keeps to its schema.
#[track_caller]
pub(crate) fn page_of(text: impl AsRef<[u8]>) -> Value {
    static KNOWN: Mutex<BTreeMap<String, Arc<jsonschema::Validator>>> = Mutex::new(BTreeMap::new());
    let text = text.as_ref();
    let page: Value =
        serde_json::from_slice(text).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(text)));
    let name = page["schema"]["name"].as_str().unwrap_or_else(|| panic!("no schema in {page}")).to_owned();
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let made = || {
        let schema = Command::new(program()).args(["schema", &name]).output().unwrap();
        let schema = serde_json::from_slice(&schema.stdout).unwrap_or_else(|_| panic!("{}", err(&schema)));
        Arc::new(jsonschema::validator_for(&schema).unwrap())
    };
    let own = known.entry(name.clone()).or_insert_with(made).clone();
    drop(known);
    let wrong: Vec<String> =
        own.iter_errors(&page).map(|e| format!("{}: {e}", e.instance_path())).take(5).collect();
    assert!(wrong.is_empty(), "{name}: {wrong:?}");
    page
}

impl Bench {
    pub(crate) fn new() -> Self {
        if !HAS_MACHINE.get() {
            PLACE.set(Some(PLACE.take().unwrap_or_else(Place::wait)));
        }
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    /// `tickmark ARGUMENTS` with the store of this bench.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(arguments).env("TICKMARK_STORE", self.store()).env_remove("COLUMNS");
        command
    }

    /// The same without any right of root's.
    pub(crate) fn without_rights(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("setpriv");
        command.args(["--bounding-set", "-all", "--inh-caps", "-all", program()]).args(arguments);
        command.env("TICKMARK_STORE", self.store()).output().unwrap()
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[arguments, &["--format", "json"]].concat());
        page_of(&output.stdout)
    }

    /// `tickmark tick` of one CPU.
    pub(crate) fn tick(&self, arguments: &[&str]) -> Value {
        self.json(&[&["tick"], arguments].concat())["cpus"][0].take()
    }

    /// True once a run of a recording of the store has begun.
    pub(crate) fn has_begun(&self) -> bool {
        let recordings = std::fs::read_dir(self.store().join("recordings")).into_iter().flatten().flatten();
        let mut events =
            recordings.filter_map(|one| std::fs::read_to_string(one.path().join("events.jsonl")).ok());
        events.any(|events| events.contains("\"started\""))
    }

    /// What the program says that is interrupted when it has measured for two seconds.
    pub(crate) fn interrupted(&self, words: &[&str]) -> Output {
        let run = self.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        crate::machine::within(60, "a run begins", || self.has_begun());
        std::thread::sleep(std::time::Duration::from_secs(2));
        assert!(signal("INT", run.id()));
        run.wait_with_output().unwrap()
    }

    /// The recordings of the store.
    pub(crate) fn recordings(&self) -> Value {
        self.json(&["recordings"])["recordings"].take()
    }

    /// The recording's folder, of the only recording.
    pub(crate) fn recording(&self) -> PathBuf {
        let mut all = std::fs::read_dir(self.store().join("recordings")).unwrap();
        all.next().unwrap().unwrap().path()
    }
}

/// Held by tests that change the machine, and by those that need it to stay as it is.
pub(crate) fn machine() -> MutexGuard<'static, ()> {
    static MACHINE: Mutex<()> = Mutex::new(());
    // Who waits for it leaves the place to another.
    drop(PLACE.take());
    HAS_MACHINE.set(true);
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One of as many places as there are processors, for tests that run beside the one that holds the machine: more threads than that only
/// wait for it.
struct Place;

static FREE_PLACES: LazyLock<Mutex<usize>> =
    LazyLock::new(|| Mutex::new(std::thread::available_parallelism().map_or(2, |count| count.get().max(2))));
static PLACE_IS_FREE: Condvar = Condvar::new();

thread_local! {
    /// A test is a thread, or with one thread the only one that runs.
    static PLACE: Cell<Option<Place>> = const { Cell::new(None) };
    static HAS_MACHINE: Cell<bool> = const { Cell::new(false) };
}

impl Place {
    fn wait() -> Self {
        let free = FREE_PLACES.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free =
            PLACE_IS_FREE.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Self
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *FREE_PLACES.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        PLACE_IS_FREE.notify_one();
    }
}

/// The CPUs that these tests may use: a container may have some, and not the first.
pub(crate) fn cpus() -> Vec<u32> {
    tickmark_probe::sys::limits::allowed_cpus().unwrap()
}

/// One of them.
pub(crate) fn cpu() -> String {
    cpus()[0].to_string()
}

/// Sends a process a signal by name, and says whether it was there. 0 and 1 are no process of a test: kill(2) takes 0 as the whole
/// group of who calls, which is the test command itself.
#[track_caller]
pub(crate) fn signal(name: &str, process: u32) -> bool {
    assert!((2..1 << 31).contains(&process), "process {process} is none that a test started");
    let sent = Command::new("kill").args(["-s", name, &process.to_string()]).output().unwrap();
    sent.status.success()
}

pub(crate) fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// How many lines of figures a drawing has: those of its legend are thicker.
pub(crate) fn lines_drawn(svg: &str) -> usize {
    svg.lines().filter(|line| line.starts_with("<polyline") && line.contains("stroke-width=\"1.5\"")).count()
}

pub(crate) fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Asserts one clear line on the error stream and the exit code.
#[track_caller]
pub(crate) fn refused(output: &Output, code: i32, says: &[&str]) {
    let text = err(output);
    assert_eq!(output.status.code(), Some(code), "{text}");
    // How long it takes is said before it fails.
    let is_ahead = |line: &str| line.starts_with("this takes ") || line.contains(" to build, ");
    let lines = text.trim_end().lines().filter(|line| !is_ahead(line)).count();
    assert_eq!(lines, 1, "{text}");
    for part in says {
        assert!(text.contains(part), "{text:?} does not say {part:?}");
    }
}

/// The row of a metric.
#[track_caller]
pub(crate) fn row<'a>(model: &'a Value, metric: &str) -> &'a Value {
    let rows = model["rows"].as_array().unwrap();
    rows.iter().find(|row| row["metric"] == metric).unwrap_or_else(|| panic!("no {metric} in {rows:?}"))
}

/// A `bwrap` that shows the whole system, with these additions, and runs tickmark in it.
pub(crate) fn sandboxed(store: &Path, additions: &[&str], arguments: &[&str]) -> Command {
    let mut command = Command::new("bwrap");
    command.args(["--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--cap-add", "ALL"]);
    command.args(additions).arg(program()).args(arguments).env("TICKMARK_STORE", store);
    command
}
