//! Reads the output of other programs, as figures by host, metric and run: each format is one file and one line in `FORMATS`.
//!
//! Texts come in, [`Imported`] goes out. This crate opens no file, keeps nothing and computes nothing: a figure is what was
//! printed, in the unit of recordings, with what one step of its last digit is worth.
//!
//! # Where things are
//!
//! - **A new format to import**: one file in `crates/tickmark-import/src/` and one line in its `FORMATS`.
//! - **lmbench**: `tickmark-import/src/lmbench/layout.rs` says which metric stands in which column; the tables, the importers and the suite
//!   `lmbench` all come from it.
#![forbid(unsafe_code)]

mod ab;
mod asv;
mod benchmarkdotnet;
mod cargobench;
mod catch2;
mod columns;
mod criterion;
mod cyclictest;
mod escapes;
mod fio;
mod gobench;
mod googlebench;
mod hammerdb;
mod history;
mod hyperfine;
mod imb;
mod imported;
mod iperf3;
mod jmh;
mod json;
mod k6;
pub mod lmbench;
mod netperf;
mod netpipe;
mod number;
mod oha;
mod oslat;
mod osu;
mod perf;
mod perfstat;
mod pgbench;
mod ping;
mod plausible;
mod pyperf;
mod pytest;
mod qperf;
mod rtla;
mod smack;
mod sockperf;
mod stressng;
mod sysbench;
mod table;
mod timer_module;
mod unknown;
mod vegeta;
mod wrk;

pub use imported::{Imported, Series, Value};
pub use number::{natural_order, unit, with_point};
pub use table::{Lines, TableOptions};

use escapes::without_escapes;
use imported::begin;
use number::{first_number, named, quantity};
use std::collections::{BTreeMap, BTreeSet};

/// Reads one kind of result.
struct Format {
    /// Its program, for people.
    name: &'static str,
    /// True if the beginning of a text is of this kind.
    recognizes: fn(&str) -> bool,
    /// Its name and text, to what is kept; why it cannot be read.
    read: fn(&str, &str) -> Result<Vec<Imported>, String>,
    /// What several files are together.
    files: Files,
}

/// What several files of one program are together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Files {
    /// Recordings of their own.
    Apart,
    /// Runs of one recording, where they have the same facts and metrics.
    Runs,
    /// Metrics of one recording.
    Metrics,
}

macro_rules! formats {
    ($($name:literal $module:ident $files:ident,)*) => {
        &[$(Format { name: $name, recognizes: $module::recognizes, read: $module::read, files: Files::$files }),*]
    };
}

/// The first that takes a text has it.
const FORMATS: &[Format] = formats! {
    "hyperfine" hyperfine Apart,
    "cyclictest" cyclictest Runs,
    "rtla" rtla Apart,
    "oslat" oslat Apart,
    "stress-ng" stressng Runs,
    "tickmark_timer_test" timer_module Apart,
    "sysbench" sysbench Runs,
    "pgbench" pgbench Runs,
    "HammerDB" hammerdb Runs,
    "fio" fio Runs,
    "iperf3" iperf3 Runs,
    "sockperf" sockperf Runs,
    "netperf" netperf Runs,
    "qperf" qperf Runs,
    "NetPIPE" netpipe Apart,
    "OSU" osu Apart,
    "IMB" imb Apart,
    "ping" ping Apart,
    "wrk, wrk2" wrk Runs,
    "ab" ab Runs,
    "vegeta" vegeta Runs,
    "oha, hey" oha Runs,
    "k6" k6 Runs,
    "perf bench" perf Runs,
    "perf stat" perfstat Runs,
    "go test -bench" gobench Apart,
    "Google Benchmark" googlebench Apart,
    "criterion" criterion Metrics,
    "cargo bench, divan" cargobench Apart,
    "JMH (JSON)" jmh Apart,
    "pyperf" pyperf Apart,
    "pytest-benchmark (JSON)" pytest Apart,
    "BenchmarkDotNet (JSON)" benchmarkdotnet Apart,
    "Catch2 (XML)" catch2 Apart,
    "super-smack" smack Apart,
    "asv" asv Apart,
    "github-action-benchmark, conbench, Bencher" history Apart,
};

/// A format is known by so much of the beginning of a text, bytes.
const BEGINNING: usize = 256 << 10;

/// Reads every text, given with its name, as the results of a known program, as a table whose columns `options` name, or as plain columns of
/// numbers. The second part names lines that should hold figures and do not.
///
/// # Errors
/// A text is none of these: what it looks like, and the command that would read it; or why one cannot be read.
pub fn read(
    texts: &[(String, String)],
    options: &TableOptions,
) -> Result<(Vec<Imported>, Vec<String>), String> {
    let (mut found, mut warnings, mut of_lmbench) = (Vec::new(), Vec::new(), Vec::new());
    let mut cut = Vec::new();
    let most = if options.is_history { MOST_FIGURES } else { MOST_SYSTEMS };
    for (name, text) in texts {
        if let Some(what) = unknown::binary(text) {
            return Err(format!("{name} is {what}"));
        }
        let text = &without_escapes(text);
        if unknown::is_cut(text) {
            cut.push(format!("{name} ends within a number: was it written to its end?"));
        }
        if options.is_table() {
            let tables = table::read(name, text, options).map_err(|why| format!("{name}: {why}"))?;
            if tables.is_empty() {
                return Err(format!("{name} has no figure in these columns"));
            }
            add(name, Files::Apart, tables, most, &mut found)?;
            continue;
        }
        if of_a_format(name, text, most, &mut found)? {
            continue;
        }
        let own = [(name.clone(), text.to_string())];
        if lmbench::read(&own).is_ok() {
            of_lmbench.extend(own);
        } else if let Some(mut columns) = columns::read(name, text, options.decimal_comma) {
            columns.is_one_replicate = options.lines != Some(Lines::Replicates);
            let all = if options.is_history { columns.by_round() } else { vec![columns] };
            add(name, Files::Apart, all, most, &mut found)?;
        } else if options.is_history && table::has_heads(text, options) {
            add(
                name,
                Files::Apart,
                table::read(name, text, options).map_err(|why| format!("{name}: {why}"))?,
                most,
                &mut found,
            )?;
        } else {
            return Err(format!("{name} is {}", unknown::description(name, text)));
        }
    }
    let many =
        found.iter().find(|one| one.series.values().map(|s| s.values.len()).sum::<usize>() > MOST_FIGURES);
    if let Some(one) = many {
        return Err(format!("{} has more than {MOST_FIGURES} figures: too many for a recording", one.host));
    }
    if !options.is_history {
        tell_apart(&mut found);
    }
    if !of_lmbench.is_empty() {
        let (hosts, others) = lmbench::read(&of_lmbench).map_err(|name| format!("{name} cannot be read"))?;
        found.extend(hosts);
        warnings.extend(others);
    }
    found.iter_mut().for_each(plausible::remark);
    if let Some(first) = found.first_mut() {
        first.remarks.extend(cut);
    }
    Ok((found, warnings))
}

/// Detects the format of a text by its beginning and reads it; files of one tool that are runs are joined in `all`.
///
/// # Errors
/// Why it cannot be read.
fn of_a_format(name: &str, text: &str, most: usize, all: &mut Vec<Imported>) -> Result<bool, String> {
    let beginning = &text[..text.floor_char_boundary(BEGINNING)];
    // Where one has only a line in it that looks like another program's, the next one reads it.
    let mut first_empty = None;
    for format in FORMATS.iter().filter(|format| (format.recognizes)(beginning)) {
        let found = (format.read)(name, text).map_err(|why| format!("{name} (of {}): {why}", format.name))?;
        let (found, empty): (Vec<Imported>, Vec<Imported>) =
            found.into_iter().partition(|one| !one.series.is_empty());
        if !found.is_empty() {
            return keep(name, format, (found, empty), most, all).map(|()| true);
        }
        first_empty = first_empty.or(Some(format.name));
    }
    match first_empty {
        Some(format) => Err(format!("{name} (of {format}) has no figure that is known")),
        None => Ok(false),
    }
}

/// Takes what was read, with a word on results without a figure.
fn keep(
    name: &str,
    format: &Format,
    (mut found, empty): (Vec<Imported>, Vec<Imported>),
    most: usize,
    all: &mut Vec<Imported>,
) -> Result<(), String> {
    let commit =
        |one: &Imported| one.facts.iter().find(|(fact, ..)| fact == "commit.id").map(|(_, id, _)| id.clone());
    let left_out = empty
        .iter()
        .map(|one| format!("{}: a result without a figure", commit(one).unwrap_or_else(|| one.host.clone())));
    found[0].left_out.extend(left_out);
    add(name, format.files, found, most, all)
}

/// Reads a text with several runs one after the other: those of the same facts and metrics are runs of one result, others are results of
/// their own, named by the facts in which they differ.
fn each_run(
    name: &str,
    text: &str,
    begins: impl Fn(&str) -> bool,
    read: impl Fn(&str, &str) -> Result<Imported, String>,
) -> Result<Vec<Imported>, String> {
    let mut starts = vec![(0, 0)];
    let (mut at, mut has_begun) = (0, false);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if begins(line) {
            if has_begun {
                starts.push((at, number));
            }
            has_begun = true;
        }
        at += line.len();
    }
    let mut all: Vec<Imported> = Vec::new();
    for (number, (start, lines)) in starts.iter().enumerate() {
        let end = starts.get(number + 1).map_or(text.len(), |(end, _)| *end);
        let mut one = read(name, &text[*start..end])?;
        one.shift_lines(*lines);
        let same = |known: &&mut Imported| {
            known.tool == one.tool && facts(known) == facts(&one) && known.kinds.keys().eq(one.kinds.keys())
        };
        match all.iter_mut().find(same) {
            Some(known) => join(known, one, Files::Runs),
            None if one.series.is_empty() && starts.len() > 1 => {
                if let Some(known) = all.last_mut() {
                    known.left_out.extend(one.left_out);
                }
            }
            None => all.push(one),
        }
    }
    if all.len() > 1 {
        let known: Vec<Vec<(String, String)>> = all.iter().map(facts).collect();
        for (one, own) in all.iter_mut().zip(&known) {
            let differs = |fact: &&(String, String)| known.iter().any(|other| !other.contains(fact));
            let word = |(name, value): &(String, String)| {
                format!("{}={value}", name.rsplit('.').next().unwrap_or(name))
            };
            let words: Vec<String> = own.iter().filter(differs).map(word).collect();
            if !words.is_empty() {
                one.host = format!("{} ({})", one.host, words.join(", "));
            }
        }
    }
    Ok(all)
}

/// Names and values of the facts of a result.
fn facts(of: &Imported) -> Vec<(String, String)> {
    of.facts.iter().map(|(name, value, _)| (name.clone(), value.clone())).collect()
}

/// Adds the results of a file to those of earlier ones.
fn add(
    name: &str,
    files: Files,
    found: Vec<Imported>,
    most: usize,
    all: &mut Vec<Imported>,
) -> Result<(), String> {
    if all.len() + found.len() > most {
        return Err(format!(
            "{name}: more than {most} systems, commands or measurements: give fewer at once"
        ));
    }
    for one in &found {
        one.check().map_err(|why| format!("{name}: {why}"))?;
    }
    for one in found {
        let same = |known: &&mut Imported| {
            known.tool == one.tool
                && match files {
                    Files::Apart => false,
                    Files::Runs => facts(known) == facts(&one) && known.kinds.keys().eq(one.kinds.keys()),
                    Files::Metrics => {
                        known.host == one.host
                            && !one.kinds.keys().any(|metric| known.kinds.contains_key(metric))
                    }
                }
        };
        match all.iter_mut().find(same) {
            Some(known) => join(known, one, files),
            None => all.push(one),
        }
    }
    Ok(())
}

/// Systems, commands or files that one call reads: each becomes a recording.
pub(crate) const MOST_SYSTEMS: usize = 1_000;
/// Figures of one system: each is a run of its recording.
const MOST_FIGURES: usize = 200_000;

/// Gives those of one name and time a number, so that each can be named.
fn tell_apart(all: &mut [Imported]) {
    let (mut counts, mut taken) = (BTreeMap::<String, usize>::new(), BTreeSet::new());
    let is_alone = |one: &Imported| {
        !all.iter().any(|other| other.host == one.host && other.at == one.at && !std::ptr::eq(one, other))
    };
    let timed: Vec<bool> = all.iter().map(|one| one.at.is_some() && is_alone(one)).collect();
    // Those of other times are a history of one name.
    for (one, _) in all.iter_mut().zip(timed).filter(|(_, timed)| !timed) {
        let name = one.host.replace(|c: char| c.is_control(), " ");
        let count = counts.entry(name.clone()).or_default();
        // One may be called so by itself.
        one.host = loop {
            *count += 1;
            let numbered = if *count > 1 { format!("{name} ({count})") } else { name.clone() };
            if taken.insert(numbered.clone()) {
                break numbered;
            }
        };
    }
}

/// Adds another run of the same, or other metrics.
fn join(known: &mut Imported, more: Imported, files: Files) {
    let before = if files == Files::Runs { known.rounds } else { 0 };
    for (metric, series) in more.series {
        for value in series.values {
            known.put(&metric, before + value.round, value.value, value.step, value.over);
        }
    }
    known.rounds = known.rounds.max(before + more.rounds);
    known.kinds.extend(more.kinds);
    known.left_out.extend(more.left_out);
    known.remarks.extend(
        more.remarks.into_iter().filter(|remark| !known.remarks.contains(remark)).collect::<Vec<_>>(),
    );
    // Each file is a replicate.
    known.is_one_replicate &= files != Files::Runs;
}

#[cfg(test)]
mod tests;
