//! How often a command reads clocks, by clock and by who calls: counted by a library that is loaded before its own. No suite has it, as it has to be told
//! the command: `tickmark clock-reads` asks.

pub(super) mod program;

use super::counting::Count;
use super::preloaded::{NOT_LOADED, Preloaded};
use crate::case::Parameter;
use crate::routine::{Budget, Sink, routine};
use crate::spec::Also;
use crate::sys::limits;
use crate::{Expected, Params, Probe, ProbeError, Spec, Unavailable};
use std::process::{Child, Stdio};
use std::time::Duration;
use tickmark_preload::{Counts, KIND_NAMES, Site};
use tickmark_timer::monotonic_ns;
use tickmark_wire::{Better, Group, Headline, Observations, Part, Tally, Unit, Values, names};

const fn also(metric: &'static str, title: &'static str, unit: Unit) -> Also {
    Also { metric, title, unit, better: Better::Neither, headline: Headline::Median }
}

const fn text(name: &'static str, about: &'static str) -> Parameter {
    Parameter { name, about, values: &[], numbers: None }
}

const ALSO: &[Also] = &[
    also(names::CLOCK_READS_SITES, "clock reads by call site", Unit::Count),
    also(names::CLOCK_READS_BLIND, "what the count of clock reads cannot see", Unit::Count),
    also(names::CLOCK_READS_TIME, "clock reads, time of the command", Unit::Time),
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
            text("words", "the program and its arguments, with a NUL between them"),
            text("folder", "where it runs; empty: in a folder of the run's"),
            text(
                "count",
                "how often it does what is counted: a number, or a command that prints how often so far; empty: not counted",
            ),
            text("seconds", "after so many it is killed, with what it started; empty: it ends by itself"),
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
        let words: Vec<String> = params.told("words").split('\0').map(str::to_owned).collect();
        let missing = |why: String| Unavailable::Missing(why);
        let name = words.first().filter(|word| !word.is_empty());
        let name = name.ok_or_else(|| missing("no command was named".to_owned()))?;
        let blind = program::blind(name, params.told("folder")).map_err(missing)?;
        if let Some(why) = blind.iter().find(|why| why.is_all()) {
            return Err(missing(format!(
                "{name} {}: a library that is preloaded sees none of its reads",
                why.words()
            )));
        }
        params.tiny()?;
        let params = params.clone();
        Ok(routine(move |_: &Budget, sink| run(&words, &params, &blind, sink)))
    },
}];

fn run(
    words: &[String],
    params: &Params,
    blind: &[program::Blind],
    sink: &mut dyn Sink,
) -> Result<(), ProbeError> {
    let count = Count::begin(params)?;
    let begun = monotonic_ns();
    let mut command =
        Preloaded::start(words, params.told("folder"), true, &params.allowed, Stdio::null(), None)?;
    let ended = match params.told("seconds").parse::<f64>() {
        Ok(seconds) => wait_for(&mut command.started.child, Duration::from_secs_f64(seconds.clamp(0.0, 1e6))),
        Err(_) => command.started.child.wait().map(Some),
    };
    let ended = ended.map_err(|error| command.started.wrong(&error.to_string()))?;
    let counts = command.preload.counts().map_err(|error| command.started.wrong(&error.to_string()))?;
    let took = monotonic_ns() - begun;
    let count = count.end()?;
    limits::pin(&[params.cpu])?;
    if let Some(status) = ended.filter(|status| !status.success()) {
        return Err(command.started.wrong(&format!("ended with {status}")));
    }
    if counts.loaded == 0 {
        return Err(command.started.wrong(NOT_LOADED));
    }
    observe(&counts, blind, took, count, sink);
    Ok(())
}

fn observe(counts: &Counts, blind: &[program::Blind], took: u64, count: Option<f64>, sink: &mut dyn Sink) {
    let tally = |all: Vec<(String, u64)>| {
        let (names, count) = all.into_iter().unzip();
        Observations::Tally(Tally { names, count })
    };
    let one = |value: f64| Observations::Values(Values { values: vec![value], step: 0.0, over: 0 });
    let kinds = KIND_NAMES.iter().zip(counts.reads).filter(|(_, count)| *count > 0);
    sink.observe(
        Part::Whole,
        tally(kinds.map(|(name, count)| ((*name).to_owned(), count)).collect()),
        Vec::new(),
    );
    let mut sites: Vec<(String, u64)> =
        counts.sites.iter().map(|(site, count)| (named(site), *count)).collect();
    if counts.no_room > 0 {
        sites.push(("others".to_owned(), counts.no_room));
    }
    sites.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    sink.take(1, Part::Whole, tally(sites), Vec::new());
    sink.take(
        2,
        Part::Whole,
        tally(blind.iter().map(|why| (why.words().to_owned(), 1)).collect()),
        Vec::new(),
    );
    sink.take(3, Part::Whole, one(took as f64), Vec::new());
    if let Some(count) = count {
        sink.take(4, Part::Whole, one(count), Vec::new());
    }
}

/// As addr2line(1) takes it: the file and the offset; with the symbol before it.
fn named(site: &Site) -> String {
    let symbol = if site.symbol.is_empty() { String::new() } else { format!(" ({})", site.symbol) };
    format!("{}+{:#x}{symbol}", site.file, site.offset)
}

/// How it ended, if it did by then.
fn wait_for(child: &mut Child, time: Duration) -> std::io::Result<Option<std::process::ExitStatus>> {
    let until = std::time::Instant::now() + time;
    loop {
        match child.try_wait()? {
            None if std::time::Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
            ended => return Ok(ended),
        }
    }
}
