//! A process that runs already: the kernel stops it, and what it has started, where it reads clocks.

use super::ClockReadCounts;
use super::breakpoints::{CLOCK, Mapping, mappings, named, place, refused};
use super::code::Code;
use super::program::{Blind, blind_in};
use crate::counting::Count;
use crate::started;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tickmark_preload::KIND_NAMES;
use tickmark_probe::sys::limits::many_files;
use tickmark_probe::sys::tasks;
use tickmark_probe::sys::uprobe::{Call, Places, Watch};
use tickmark_probe::{Params, ProbeError};

/// Functions that read clocks, and which, where no argument says so: of the C library, also in static programs, and of Go's runtime, whose time.now reads two.
const READS: [(&str, &[&str]); 6] = [
    (CLOCK, &[]),
    ("__clock_gettime", &[]),
    ("gettimeofday", &["gettimeofday"]),
    ("time", &["time"]),
    ("runtime.nanotime1.abi0", &["CLOCK_MONOTONIC"]),
    ("time.now", &["CLOCK_REALTIME", "CLOCK_MONOTONIC"]),
];
/// A function of such a name is the C library's where that has clock_gettime, too; where it chooses its code when a program begins calls do not come by where it
/// begins.
const OTHERS: [&str; 2] = ["gettimeofday", "time"];
/// How the runtime of Go reads a clock.
const GO: [&str; 2] = ["runtime.nanotime1.abi0", "time.now"];
/// Code that a running program has mapped, and programs that it has started.
pub(super) struct Program {
    pid: u32,
    /// By device and number of the file.
    files: BTreeMap<Identity, CodeFile>,
    /// Where to stop: in which file, offset, function, and which clocks that reads; none where it was named by the user.
    places: Vec<(Identity, u64, String, Option<&'static [&'static str]>)>,
    pub(super) blind: BTreeSet<String>,
}

type Identity = (u64, u64);

/// A file with code.
struct CodeFile {
    /// As processes call it, and where it can be read from here.
    name: String,
    path: PathBuf,
    code: Code,
}

fn identity(path: &Path) -> Option<Identity> {
    let file = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    Some((file.dev(), file.ino()))
}

impl Program {
    /// Looks at it.
    ///
    /// # Errors
    /// There is no such process, nothing of it can be read, or it has none of the functions.
    pub(super) fn inspect(pid: u32, calls: &str) -> Result<Self, String> {
        let mapped = mappings(pid);
        if mapped.is_empty() {
            return Err(match Path::new(&format!("/proc/{pid}")).exists() {
                true => format!(
                    "process {pid}: what it runs cannot be read (of another user: run as root; or a thread of the kernel)"
                ),
                false => format!("there is no process {pid}"),
            });
        }
        let mut program = Self { pid, files: BTreeMap::new(), places: Vec::new(), blind: BTreeSet::new() };
        let others = processes(pid).into_iter().filter(|other| *other != pid).flat_map(mappings);
        for mapping in mapped.into_iter().chain(others) {
            program.add(mapping);
        }
        if program.places.is_empty() {
            return Err(format!(
                "process {pid} has no function clock_gettime to stop at: it is stripped, or reads clocks without it"
            ));
        }
        if !calls.is_empty() {
            let files: Vec<_> =
                program.files.iter().map(|(identity, known)| (*identity, &known.code)).collect();
            let named = named(&files, calls).map_err(|why| format!("process {pid}: {why}"))?;
            program.places.extend(named.into_iter().map(|(file, name, offset)| (file, offset, name, None)));
        }
        Ok(program)
    }

    /// A file with code, and where it reads clocks.
    fn add(&mut self, mapping: Mapping) {
        let Mapping { name, path, .. } = mapping;
        let Some(identity) = identity(&path).filter(|identity| !self.files.contains_key(identity)) else {
            return;
        };
        let Ok(code) = Code::read(&path) else { return };
        let has_clock = !code.begin(|name| name == CLOCK || name == "__clock_gettime").is_empty();
        let reads = |name: &str| READS.iter().find(|(known, _)| *known == name).map(|(_, clocks)| *clocks);
        let is_read = |name: &str| reads(name).is_some() && (has_clock || !OTHERS.contains(&name));
        let places = code.begin(is_read);
        let has_go = places.iter().any(|(name, _)| GO.contains(&name.as_str()));
        let is_library = name.contains(".so");
        for why in blind_in(&path) {
            // What is told apart by Go's own functions and those of a static program is seen. Libraries of the system read the counter, too, where nobody asks them.
            let is_seen = match why {
                Blind::Static => true,
                Blind::Go => has_go,
                Blind::Counter => is_library,
            };
            if !is_seen {
                self.blind.insert(why.words().to_owned());
            }
        }
        let chosen: Vec<&str> = OTHERS.into_iter().filter(|name| code.chooses(name)).collect();
        if !chosen.is_empty() {
            let names = chosen.join(" or ");
            self.blind
                .insert(format!("may call {names}, whose code the C library chooses when a program begins"));
        }
        self.places.extend(places.into_iter().map(|(name, offset)| {
            let clocks = reads(&name);
            (identity, offset, name, clocks)
        }));
        self.files.insert(identity, CodeFile { name, path, code });
    }

    /// Looks for so long; how often it did meanwhile what is counted.
    ///
    /// # Errors
    /// Uprobes are refused; the process has ended.
    pub(super) fn watch(
        self,
        time: Duration,
        params: &Params,
    ) -> Result<(ClockReadCounts, Option<f64>), ProbeError> {
        let (pid, mut begun) = (self.pid, None);
        // From when it is watched: on a busy machine the setting up alone may take longer than what is asked for.
        let is_over = move || {
            begun.get_or_insert_with(Instant::now).elapsed() >= time
                || !Path::new(&format!("/proc/{pid}")).exists()
        };
        self.watch_until(params, &|| {}, &mut { is_over })
    }

    /// Lets it `go_on` when it is watched, and looks until it `is_over`.
    fn watch_until(
        mut self,
        params: &Params,
        go_on: &dyn Fn(),
        is_over: &mut dyn FnMut() -> bool,
    ) -> Result<(ClockReadCounts, Option<f64>), ProbeError> {
        let pid = self.pid;
        let wrong = |why: String| ProbeError::Other(format!("process {pid}: {why}"));
        many_files();
        let of = |(file, offset, ..): &(Identity, u64, String, _)| place(&self.files[file].path, *offset);
        let places = self.places.iter().map(of).collect::<Result<Vec<_>, _>>();
        let places = Places::define(&places.map_err(|error| wrong(error.to_string()))?);
        let watch = places.and_then(|places| Watch::set_up(places, &|| threads(pid), &online()));
        let mut watch = watch.map_err(|error| wrong(refused(error)))?;
        let mut taken = CallCounts { own: mappings(pid), known: BTreeMap::new(), calls: BTreeMap::new() };
        let count = Count::begin(params)?;
        watch.begin().map_err(|error| wrong(error.to_string()))?;
        let begun = Instant::now();
        go_on();
        while !is_over() {
            std::thread::sleep(LOOK);
            watch.take(&mut |call| taken.add(call));
            watch.keep_apart(&threads(pid));
        }
        watch.end().map_err(|error| wrong(error.to_string()))?;
        let took = begun.elapsed();
        let count = count.end()?;
        let counted = watch.counts().map_err(|error| wrong(error.to_string()))?;
        watch.take(&mut |call| taken.add(call));
        let system_calls = watch.system_calls().map_err(|error| wrong(error.to_string()))?;
        if watch.lost > 0 {
            self.blind.insert(format!("read faster than its calls were taken: {} are counted, and their clocks and call sites unknown", watch.lost));
        }
        if watch.late > 0 {
            self.blind.insert(format!(
                "began {} tasks while it was set up, some of whose reads may be missing",
                watch.late
            ));
        }
        self.unknown();
        let observed = self.summarize(&taken, &counted, took);
        Ok((ClockReadCounts { system_calls, ..observed }, count))
    }

    /// Programs of other files that it has started since, none of whose functions are stopped.
    fn unknown(&mut self) {
        for process in processes(self.pid) {
            let files: Vec<Identity> =
                mappings(process).iter().filter_map(|mapping| identity(&mapping.path)).collect();
            let is_seen = self.places.iter().any(|(file, ..)| files.contains(file));
            if !files.is_empty() && !is_seen {
                let name = std::fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
                self.blind.insert(format!("has started {}, whose reads are not seen", name.trim()));
            }
        }
    }

    fn summarize(&self, taken: &CallCounts, counted: &[u64], took: Duration) -> ClockReadCounts {
        let (mut clocks, mut sites, mut own) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let (mut kept, mut all) = (0, 0);
        let mut found = BTreeMap::new();
        for ((place, argument, pid, caller), count) in &taken.calls {
            let (.., Some(labels)) = &self.places[*place] else { continue };
            kept += count;
            // The number of a clock is an int: those of processes and devices are below 0.
            let by_number = || {
                let name = KIND_NAMES.get(*argument as u32 as usize).copied();
                name.filter(|name| name.starts_with("CLOCK")).unwrap_or("other clocks")
            };
            let names = if labels.is_empty() { vec![by_number()] } else { labels.to_vec() };
            for name in &names {
                *clocks.entry((*name).to_owned()).or_insert(0) += count;
            }
            let site = self.site(taken.mappings(*pid), *caller, &mut found);
            *sites.entry(site).or_insert(0) += count * names.len() as u64;
        }
        for ((.., name, clocks), count) in self.places.iter().zip(counted) {
            if clocks.is_some() {
                all += count;
            } else {
                *own.entry(name.clone()).or_insert(0) += count;
            }
        }
        let lost = all.saturating_sub(kept);
        if lost > 0 {
            clocks.insert("lost samples: counted, clock unknown".to_owned(), lost);
            sites.insert("lost samples".to_owned(), lost);
        }
        ClockReadCounts {
            clocks: clocks.into_iter().collect(),
            sites: sites.into_iter().collect(),
            calls: own.into_iter().collect(),
            blind: self.blind.iter().cloned().collect(),
            took: took.as_nanos() as u64,
            kernel: None,
            system_calls: None,
            by_breakpoints: true,
        }
    }

    /// As addr2line(1) takes it: the file and the address of the call in it; with the function before it. `found` has files that were not known at the beginning.
    fn site(&self, known: &[Mapping], caller: u64, found: &mut BTreeMap<PathBuf, Code>) -> String {
        // The call stands before the place to which it returns.
        let call = caller.saturating_sub(1);
        let inside = |mapping: &&Mapping| (mapping.from..mapping.to).contains(&call);
        let Some(mapping) = known.iter().find(inside) else {
            return "unknown".to_owned();
        };
        // Of a process that has ended nothing can be read any more: its files are known by their names.
        let file = match identity(&mapping.path) {
            Some(identity) => self.files.get(&identity),
            None => self.files.values().find(|known| known.name == mapping.name),
        };
        let code = match file {
            Some(known) => &known.code,
            None => found
                .entry(mapping.path.clone())
                .or_insert_with(|| Code::read(&mapping.path).unwrap_or_default()),
        };
        let (address, function) = code.at(call - mapping.from + mapping.offset);
        super::named(&mapping.name, address, function)
    }
}

/// Between two looks at what came.
const LOOK: Duration = Duration::from_millis(5);
/// How long a command that is to wait for its beginning may take until it does.
const STOPS: Duration = Duration::from_secs(5);

/// Starts a command of which a preloaded library sees nothing, and has the kernel stop it where it reads clocks, from its first instruction to its end.
///
/// # Errors
/// Uprobes are refused; it has none of the functions, or ends with an error.
pub(super) fn begun(
    words: &[String],
    path: &Path,
    params: &Params,
) -> Result<(ClockReadCounts, Option<f64>), ProbeError> {
    let wrong = |why: String| ProbeError::Other(why);
    let mut program = Program { pid: 0, files: BTreeMap::new(), places: Vec::new(), blind: BTreeSet::new() };
    let name = path.display().to_string();
    program.add(Mapping { from: 0, to: 0, offset: 0, name, path: path.to_owned() });
    if program.places.is_empty() {
        return Err(wrong(
            "it has no function clock_gettime to stop at: it is stripped, or reads clocks without it"
                .to_owned(),
        ));
    }
    let calls = params.argument("calls");
    if !calls.is_empty() {
        let files: Vec<_> = program.files.iter().map(|(identity, known)| (*identity, &known.code)).collect();
        let named = named(&files, calls).map_err(wrong)?;
        program.places.extend(named.into_iter().map(|(file, name, offset)| (file, offset, name, None)));
    }
    // A shell that stops itself becomes the command when it goes on: as the same process.
    let own = ["sh", "-c", "kill -STOP $$; exec \"$@\"", "sh"].map(str::to_owned);
    let all: Vec<String> = own.into_iter().chain(words.iter().cloned()).collect();
    let mut started = started::plain(&all, params.argument("folder"), &params.allowed, Stdio::null(), None)?;
    let pid = started.child.id();
    program.pid = pid;
    let state = || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        status.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
    };
    let until = Instant::now() + STOPS;
    while state() != Some('T') {
        if Instant::now() > until {
            started.end_all();
            return Err(ProbeError::Other(format!("`{}` does not begin", words.join(" "))));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let time = params.argument("seconds").parse::<f64>().ok();
    let (begun, mut ended) = (Instant::now(), None);
    let go_on = || {
        if let Some(pid) = rustix::process::Pid::from_raw(pid as i32) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::CONT);
        }
    };
    let mut is_over = || {
        ended = started.child.try_wait().ok().flatten();
        ended.is_some() || time.is_some_and(|time| begun.elapsed().as_secs_f64() >= time)
    };
    let observed = program.watch_until(params, &go_on, &mut is_over);
    started.end_all();
    match ended.filter(|status| !status.success()) {
        Some(status) => Err(ProbeError::Other(format!("`{}`: ended with {status}", words.join(" ")))),
        None => observed,
    }
}

/// The calls that came: how often which place was called by whom.
struct CallCounts {
    /// Of the process itself, which what it forks has, too.
    own: Vec<Mapping>,
    known: BTreeMap<u32, Vec<Mapping>>,
    calls: BTreeMap<(usize, u64, u32, u64), u64>,
}

impl CallCounts {
    fn add(&mut self, call: Call) {
        let Call { place, pid, argument, caller } = call;
        let own = self.known.entry(pid).or_insert_with(|| mappings(pid));
        // One that executed another program meanwhile has other mappings.
        if !own.is_empty() && !own.iter().any(|mapping| (mapping.from..mapping.to).contains(&caller)) {
            let now = mappings(pid);
            if !now.is_empty() {
                *own = now;
            }
        }
        *self.calls.entry((place, argument, pid, caller)).or_default() += 1;
    }

    /// Of a process that had ended before it was looked at, those of the one that is watched.
    fn mappings(&self, pid: u32) -> &[Mapping] {
        self.known.get(&pid).filter(|all| !all.is_empty()).unwrap_or(&self.own)
    }
}

/// CPUs that tasks may be on.
fn online() -> Vec<u32> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    tickmark_wire::text::list(text.trim()).unwrap_or_else(|| vec![0])
}

/// A process and all below it.
fn processes(pid: u32) -> Vec<u32> {
    tasks::below(pid, &tasks::all())
}

/// Their threads.
pub(super) fn threads(pid: u32) -> Vec<i32> {
    let of = |pid: u32| std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    processes(pid)
        .into_iter()
        .flat_map(of)
        .filter_map(|thread| thread.file_name().to_str()?.parse().ok())
        .collect()
}
