//! How often a command reads clocks, by clock and by who calls: counted by a library that is loaded before its own. No suite has it, as it has to be told
//! the command: `tickmark clock-reads` asks.

mod breakpoints;
mod code;
pub(super) mod program;
mod running;

use super::counting::Count;
use super::preloaded::{NOT_LOADED, Preloaded};
use breakpoints::Confirmation;
use running::Program;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;
use tickmark_preload::KIND_NAMES;
use tickmark_probe::case::{Parameter, Value};
use tickmark_probe::routine::{Budget, Sink, routine};
use tickmark_probe::spec::Also;
use tickmark_probe::sys::limits;
use tickmark_probe::sys::uprobe::SwapGuard;
use tickmark_probe::{Expected, Params, Probe, ProbeError, Spec, Unavailable};
use tickmark_timer::monotonic_ns;
use tickmark_wire::{Better, Group, Headline, Observations, Part, Tally, Unit, Values, names};

const fn also(metric: &'static str, title: &'static str, unit: Unit) -> Also {
    Also { metric, title, unit, better: Better::Neither, headline: Headline::Median }
}

const ALSO: &[Also] = &[
    also(names::CLOCK_READS_SITES, "clock reads by call site", Unit::Count),
    also(names::CLOCK_READS_BLIND, "what the count of clock reads cannot see", Unit::Count),
    also(names::CLOCK_READS_TIME, "clock reads, time of the command", Unit::Time),
    also(names::CLOCK_READS_KERNEL, "clock reads, counted by the kernel", Unit::Count),
    also(names::CLOCK_READS_CALLS, "calls of named functions", Unit::Count),
    also(names::CLOCK_READS_COUNT, "clock reads, counted", Unit::Count),
];

pub(super) static PROBES: &[Probe] = &[Probe {
    spec: Spec {
        metric: names::CLOCK_READS,
        unit: Unit::Count,
        better: Better::Neither,
        headline: Headline::Median,
        timed: "calls of clock_gettime, gettimeofday and time by a command and what it starts, through the C library",
        source: "ld.so(8), LD_PRELOAD",
        expected: Expected::UNKNOWN,
        sleeps: true,
        roams: true,
        weight: 1,
        parameters: &[
            Parameter::text("words", "the program and its arguments, with a NUL between them"),
            Parameter::text("folder", "where it runs; empty: in a folder of the run's"),
            Parameter::text(
                "count",
                "how often it does what is counted: a number, or a command that prints how often so far; empty: not counted",
            ),
            Parameter::text(
                "seconds",
                "after so many it is killed, with what it started; empty: it ends by itself",
            ),
            Parameter::text(
                "pid",
                "a process that runs already, in place of the command: it is stopped where it reads clocks (uprobes)",
            ),
            Parameter::choice(
                "confirm",
                "whether the kernel counts the C library's own function, too (uprobes)",
                &[Value::plain("no"), Value::plain("yes")],
            ),
            Parameter::text(
                "calls",
                "functions of the program whose calls the kernel counts: names with commas between them, * at the end of one for all that begin so",
            ),
        ],
        also: ALSO,
        tune: |spec, arguments| {
            if arguments.get("count").is_none_or(String::is_empty) {
                spec.also = &ALSO[..ALSO.len() - 1];
            }
        },
        ..Spec::cost(Group::Machine, names::CLOCK_READS, "clock reads of a command")
    },
    prepare: |_, params| {
        let missing = |why: String| Unavailable::Missing(why);
        if !params.argument("pid").is_empty() {
            return running(params).map_err(missing);
        }
        let words: Vec<String> = params.argument("words").split('\0').map(str::to_owned).collect();
        let name = words.first().filter(|word| !word.is_empty());
        let name = name.ok_or_else(|| missing("no command was named".to_owned()))?;
        let blind = program::blind(name, params.argument("folder")).map_err(missing)?;
        params.tiny()?;
        let path = program::find(name, params.argument("folder")).map_err(missing)?;
        let params = params.clone();
        if let Some(why) = blind.iter().find(|why| why.is_all()) {
            let why = format!("{name} {}: a library that is preloaded sees none of its reads", why.words());
            return Ok(routine(move |_: &Budget, sink| {
                let observed = running::begun(&words, &path, &params);
                let (observed, count) =
                    observed.map_err(|error| ProbeError::Other(format!("{why}; {error}")))?;
                observe(observed, count, sink);
                Ok(())
            }));
        }
        Ok(routine(move |_: &Budget, sink| {
            let (observed, count) = run(&words, &path, &params, &blind)?;
            observe(observed, count, sink);
            Ok(())
        }))
    },
}];

/// How long a process that runs already is looked at if nobody says.
const WATCHED: Duration = Duration::from_secs(5);

fn running(params: &Params) -> Result<Box<dyn tickmark_probe::Routine>, String> {
    let pid_text = params.argument("pid");
    let pid = pid_text.parse().map_err(|_| format!("pid={pid_text} is no number of a process"))?;
    let mut program = Some(Program::inspect(pid, params.argument("calls"))?);
    let params = params.clone();
    Ok(routine(move |_: &Budget, sink| {
        let Some(program) = program.take() else { return Ok(()) };
        let seconds = params.argument("seconds").parse::<f64>();
        let time = seconds.map_or(WATCHED, |time| Duration::from_secs_f64(time.clamp(0.01, 1e6)));
        let (observed, count) = program.watch(time, &params)?;
        observe(observed, count, sink);
        Ok(())
    }))
}

/// Counts of clock reads.
struct ClockReadCounts {
    clocks: Vec<(String, u64)>,
    sites: Vec<(String, u64)>,
    blind: Vec<String>,
    /// ns.
    took: u64,
    /// Calls of clock_gettime that the kernel counted beside it.
    kernel: Option<u64>,
    /// System calls that read clocks, where the kernel counted these.
    system_calls: Option<Vec<(String, u64)>>,
    /// True if breakpoints counted all of it.
    by_breakpoints: bool,
    /// And calls of functions that were named.
    calls: Vec<(String, u64)>,
}

fn run(
    words: &[String],
    path: &Path,
    params: &Params,
    blind: &[program::Blind],
) -> Result<(ClockReadCounts, Option<f64>), ProbeError> {
    let count = Count::begin(params)?;
    // After what counts was started, which is none of the command's.
    let calls = params.argument("calls");
    let confirms = params.argument("confirm") == "yes" || !calls.is_empty();
    let by_kernel = confirms.then(|| Confirmation::begin(path, calls)).transpose();
    let by_kernel = by_kernel.map_err(ProbeError::Other)?;
    let begun = monotonic_ns();
    let mut apart = confirms.then(SwapGuard::default);
    let mut command =
        Preloaded::start(words, params.argument("folder"), true, &params.allowed, Stdio::null(), None)?;
    let seconds =
        params.argument("seconds").parse::<f64>().map(|time| Duration::from_secs_f64(time.clamp(0.0, 1e6)));
    let pid = command.started.child.id();
    // What the command starts is looked after while it runs.
    let mut look = || apart.iter_mut().for_each(|apart| apart.keep(&running::threads(pid)));
    look();
    let ended = match (seconds, confirms) {
        (Err(_), false) => command.started.child.wait().map(Some),
        (time, _) => wait_for(&mut command.started.child, time.ok(), &mut look),
    };
    let ended = ended.map_err(|error| command.started.wrong(&error.to_string()))?;
    if ended.is_none() {
        // Both counts are of the same: nothing of it goes on while they are read.
        command.started.end_all();
    }
    let counts = command.preload.counts().map_err(|error| command.started.wrong(&error.to_string()))?;
    let system_calls = by_kernel.as_ref().map(Confirmation::system_calls).transpose()?.flatten();
    let by_kernel = by_kernel.as_ref().map(Confirmation::counts).transpose()?;
    let took = monotonic_ns() - begun;
    let count = count.end()?;
    limits::pin(&[params.cpu])?;
    if let Some(status) = ended.filter(|status| !status.success()) {
        return Err(command.started.wrong(&format!("ended with {status}")));
    }
    if counts.loaded == 0 {
        return Err(command.started.wrong(NOT_LOADED));
    }
    let kinds = KIND_NAMES.iter().zip(counts.reads).filter(|(_, count)| *count > 0);
    // addr2line(1) takes addresses of the file, which do not all begin at 0.
    let mut firsts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut sites = Vec::with_capacity(counts.sites.len() + 1);
    for (site, count) in &counts.sites {
        let first = *firsts.entry(&site.file).or_insert_with(|| code::first_address(Path::new(&site.file)));
        sites.push((named(&site.file, site.offset + first, &site.symbol), *count));
    }
    if counts.no_room > 0 {
        sites.push(("others".to_owned(), counts.no_room));
    }
    let (kernel, calls) = by_kernel.map_or((None, Vec::new()), |(reads, calls)| (Some(reads), calls));
    let observed = ClockReadCounts {
        clocks: kinds.map(|(name, count)| ((*name).to_owned(), count)).collect(),
        sites,
        blind: blind.iter().map(|why| why.words().to_owned()).collect(),
        took,
        kernel,
        system_calls,
        by_breakpoints: false,
        calls,
    };
    Ok((observed, count))
}

fn observe(mut observed: ClockReadCounts, count: Option<f64>, sink: &mut dyn Sink) {
    let tally = |all: Vec<(String, u64)>| {
        let (names, count) = all.into_iter().unzip();
        Observations::Tally(Tally { names, count })
    };
    let one = |value: f64| Observations::Values(Values { values: vec![value], step: 0.0, over: 0 });
    observed.sites.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    sink.observe(Part::Whole, tally(observed.clocks), Vec::new());
    let mut take = |at: usize, what: Observations| sink.take(at, Part::Whole, what, Vec::new());
    take(1, tally(observed.sites));
    take(2, tally(observed.blind.into_iter().map(|why| (why, 1)).collect()));
    take(3, one(observed.took as f64));
    let kernel = observed.kernel.map(|count| (names::BY_UPROBES.to_owned(), count));
    let calls = observed.system_calls.into_iter().flatten();
    let calls = calls.map(|(name, count)| (format!("{}{name}", names::SYSTEM_CALL), count));
    let all = observed.by_breakpoints.then(|| (names::ALL_BY_UPROBES.to_owned(), 1));
    take(4, tally(kernel.into_iter().chain(calls).chain(all).collect()));
    take(5, tally(observed.calls));
    if let Some(count) = count {
        take(6, one(count));
    }
}

/// As addr2line(1) takes it: the file and the address in it; with the symbol before that.
fn named(file: &str, address: u64, symbol: &str) -> String {
    let symbol = if symbol.is_empty() { String::new() } else { format!(" ({symbol})") };
    format!("{file}+{address:#x}{symbol}")
}

/// How it ended, if it did by then; `look` is called all the while.
fn wait_for(
    child: &mut Child,
    time: Option<Duration>,
    look: &mut dyn FnMut(),
) -> std::io::Result<Option<std::process::ExitStatus>> {
    let begun = std::time::Instant::now();
    loop {
        match child.try_wait()? {
            None if time.is_none_or(|time| begun.elapsed() < time) => {
                std::thread::sleep(Duration::from_millis(2));
            }
            ended => return Ok(ended),
        }
        look();
    }
}
