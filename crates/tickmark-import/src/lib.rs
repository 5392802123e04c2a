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

mod columns;
mod cyclictest;
mod hyperfine;
mod imported;
mod iperf3;
pub mod lmbench;
mod netperf;
mod number;
mod perf;
mod smack;
mod sockperf;
mod sysbench;
mod timer_module;
mod wrk;

pub use imported::{Imported, Series, Value};

use imported::begin;
use number::{first_number, named};
use std::collections::{BTreeMap, BTreeSet};

/// Reads one kind of result.
struct Format {
    /// True if a text is of this kind.
    is: fn(&str) -> bool,
    /// Its name and text, to what is kept; why it cannot be read.
    read: fn(&str, &str) -> Result<Vec<Imported>, String>,
    /// True if each file is one run, so that several make one recording.
    runs: bool,
}

/// The first that takes a text has it.
const FORMATS: &[Format] = &[
    Format { is: hyperfine::is, read: hyperfine::read, runs: false },
    Format { is: cyclictest::is, read: cyclictest::read, runs: true },
    Format { is: timer_module::is, read: timer_module::read, runs: false },
    Format { is: sysbench::is, read: sysbench::read, runs: true },
    Format { is: iperf3::is, read: iperf3::read, runs: true },
    Format { is: sockperf::is, read: sockperf::read, runs: true },
    Format { is: netperf::is, read: netperf::read, runs: true },
    Format { is: wrk::is, read: wrk::read, runs: true },
    Format { is: perf::is, read: perf::read, runs: true },
    Format { is: smack::is, read: smack::read, runs: false },
];

/// Reads every text, given with its name, as what it is: a format that names itself, lmbench's, or columns of numbers. The second
/// part names lines that should hold figures and do not.
///
/// # Errors
/// Which text is nothing of these, or why one cannot be read.
pub fn read(texts: &[(String, String)]) -> Result<(Vec<Imported>, Vec<String>), String> {
    let (mut found, mut warnings, mut of_lmbench) = (Vec::new(), Vec::new(), Vec::new());
    for (name, text) in texts {
        if of_a_format(name, text, &mut found)? {
            continue;
        }
        let own = [(name.clone(), text.clone())];
        if lmbench::read(&own).is_ok() {
            of_lmbench.extend(own);
        } else if let Some((columns, others)) = columns::read(name, text) {
            found.push(columns);
            warnings.extend(others);
        } else {
            return Err(format!(
                "{name} is no result of lmbench 2 or 3, super-smack, hyperfine (JSON), sysbench, wrk, iperf3 (-J), netperf, sockperf, cyclictest, perf bench or tickmark_timer_test, \
                 and no columns of numbers (two lines or more, {} columns at most)",
                columns::MOST_COLUMNS
            ));
        }
    }
    let many =
        found.iter().find(|one| one.series.values().map(|s| s.values.len()).sum::<usize>() > MOST_FIGURES);
    if let Some(one) = many {
        return Err(format!("{} has more than {MOST_FIGURES} figures: too many for a recording", one.host));
    }
    tell_apart(&mut found);
    if !of_lmbench.is_empty() {
        let (hosts, others) = lmbench::read(&of_lmbench).map_err(|name| format!("{name} cannot be read"))?;
        found.extend(hosts);
        warnings.extend(others);
    }
    Ok((found, warnings))
}

/// Reads a text whose format is known by its content; files of one tool that are runs are joined in `all`.
///
/// # Errors
/// Why it cannot be read.
fn of_a_format(name: &str, text: &str, all: &mut Vec<Imported>) -> Result<bool, String> {
    let Some(format) = FORMATS.iter().find(|format| (format.is)(text)) else { return Ok(false) };
    let found = (format.read)(name, text).map_err(|why| format!("{name}: {why}"))?;
    if found.iter().any(|one| one.series.is_empty()) {
        return Err(format!("{name} has no figure that is known"));
    }
    if all.len() + found.len() > MOST_SYSTEMS {
        return Err(format!(
            "{name}: more than {MOST_SYSTEMS} systems or commands: give fewer files at once"
        ));
    }
    for one in &found {
        one.check().map_err(|why| format!("{name}: {why}"))?;
    }
    for one in found {
        // Runs of the same: of one program, with the same facts and the same figures.
        let same = |known: &&mut Imported| {
            let facts = |of: &Imported| {
                of.facts.iter().map(|(name, value, _)| (name.clone(), value.clone())).collect::<Vec<_>>()
            };
            format.runs
                && known.tool == one.tool
                && facts(known) == facts(&one)
                && known.kinds.keys().eq(one.kinds.keys())
        };
        match all.iter_mut().find(same) {
            Some(known) => join(known, one),
            None => all.push(one),
        }
    }
    Ok(true)
}

/// Systems, commands or files that one call reads: each becomes a recording.
pub(crate) const MOST_SYSTEMS: usize = 1_000;
/// Figures of one system: each is a run of its recording.
const MOST_FIGURES: usize = 200_000;

/// Gives those of one name a number, so that each can be named.
fn tell_apart(all: &mut [Imported]) {
    let (mut counts, mut taken) = (BTreeMap::<String, usize>::new(), BTreeSet::new());
    for one in all {
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

/// Another run of the same.
fn join(known: &mut Imported, more: Imported) {
    let before = known.rounds;
    for (metric, series) in more.series {
        for value in series.values {
            known.put(&metric, before + value.round, value.value, value.step, value.over);
        }
    }
    known.rounds += more.rounds;
    known.kinds.extend(more.kinds);
}

#[cfg(test)]
mod tests;
