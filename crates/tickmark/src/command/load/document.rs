//! The document's figures of 2005 on the tick, beside ours.

use crate::command::import;
use crate::command::lab::explained::{ExplainedSettings, cache_text};
use crate::error::Error;
use std::fmt::Write;
use tickmark_analysis::comparison::{CompareOptions, RowSelection, Side, Word};
use tickmark_analysis::lmbench::{self, Filled};
use tickmark_analysis::paper::LmbenchColumn;
use tickmark_analysis::report::{self, Model};
use tickmark_import::lmbench::{TABLES, printed};
use tickmark_store::Recording;

/// The ten tables of "Comparing Performance 100 Hz versus 1000 Hz Clock Tick" (Denk, 2005), five runs a side.
const DOCUMENT: &str = include_str!("../../../../../fixtures/lmbench/tqm860l-summary.txt");
/// Which has it.
const EXPERIMENT: &str = "clock-tick-100-vs-1000";
/// Label of the document's rows in the tables.
const BESIDE: &str = "the document's figures";

/// lmbench's ten tables of the recordings, with the document's rows of per cent and what it got from noise; and which of its
/// differences are real, in a sentence.
pub(in crate::command) fn tables(
    recordings: &[Recording],
    real: &[&str],
    document: bool,
    explained: &[ExplainedSettings],
) -> Result<(String, String), Error> {
    let models: Vec<Model> =
        recordings.iter().map(|recording| report::build(recording, &|_| true, false)).collect();
    let both: Vec<_> = recordings.iter().zip(&models).collect();
    let mut page = lmbench::page(&both, real, false);
    by_setting(&mut page, recordings);
    if page.tables.is_empty() {
        return Ok((String::new(), String::new()));
    }
    if !document {
        let text = tickmark_render::lmbench::text(&page, BESIDE) + &cache_text(explained, &[]);
        return Ok((text, String::new()));
    }
    let besides = beside(&mut page)?;
    let mut out = tickmark_render::lmbench::text(&page, BESIDE);
    let filled = besides.iter().filter(|beside| beside.here.is_some()).count();
    let _ = writeln!(
        out,
        "in the document's rows * marks a change that its five runs a side tell from noise, corrected for all columns\n\n{filled} of the document's {} columns are filled here.",
        besides.len()
    );
    out += &noise(&besides);
    out += &cache_text(explained, &besides);
    Ok((out, real_ones(&besides)))
}

/// Names systems by their setting alone: all are of one machine, which the heading says.
fn by_setting(page: &mut lmbench::Page, recordings: &[Recording]) {
    let setting = |name: &mut String| {
        let own = recordings.iter().find(|recording| recording.meta.name == *name);
        if let Some(arm) = own.and_then(|recording| recording.meta.arm.as_ref()) {
            name.clone_from(&arm.setting);
        }
    };
    page.tables.iter_mut().flat_map(|table| &mut table.systems).for_each(|system| setting(&mut system.name));
    page.missing.iter_mut().for_each(|missing| setting(&mut missing.system));
}

/// Columns that the document has, too; none of another experiment.
pub(in crate::command) fn columns(
    experiment: &str,
    recordings: &[Recording],
) -> Result<Vec<LmbenchColumn>, Error> {
    if experiment != EXPERIMENT {
        return Ok(Vec::new());
    }
    let models: Vec<Model> =
        recordings.iter().map(|recording| report::build(recording, &|_| true, false)).collect();
    beside(&mut lmbench::page(&recordings.iter().zip(&models).collect::<Vec<_>>(), &[], false))
}

/// Puts the document's rows into the tables, also those of which there are none here; with each column that both have.
fn beside(page: &mut lmbench::Page) -> Result<Vec<LmbenchColumn>, Error> {
    // A store of its own, gone when this ends: the document is imported like any file.
    let folder = tempfile::tempdir().map_err(Error::file("make", std::env::temp_dir()))?;
    let mut theirs = its_page(folder.path())?.tables;
    let mut columns: Vec<LmbenchColumn> = Vec::new();
    for table in &mut page.tables {
        let Some(known) = theirs.iter().position(|other| other.title == table.title) else { continue };
        let systems = theirs.remove(known).systems;
        let second =
            systems.get(1).and_then(|second| Some((second.percent.as_ref()?, second.real.as_ref()?)));
        let Some((percents, decided)) = second else { continue };
        for (index, column) in table.columns.iter().enumerate() {
            let here = table.systems.get(1).and_then(|system| system.percent.as_ref()?[index]);
            let known = columns.iter().any(|known| known.metric == column.metric);
            if let Some(document) =
                percents[index].filter(|_| !known && !column.metric.starts_with("machine."))
            {
                let (table, decided) = (table.title.clone(), decided[index]);
                columns.push(LmbenchColumn { table, metric: column.metric, document, decided, here });
            }
        }
        table.beside = systems;
    }
    let lacking =
        theirs.into_iter().map(|table| Filled { beside: table.systems, systems: Vec::new(), ..table });
    page.tables.extend(lacking);
    let place = |table: &Filled| TABLES.iter().position(|known| table.title.starts_with(known.title));
    page.tables.sort_by_key(place);
    Ok(columns)
}

/// Gives the document's systems the averages and per cents that it prints, which are not always those of its rows.
fn as_printed(table: &mut Filled) {
    let Some(PrintedRows { averages, percents }) = PrintedRows::find(&table.title) else { return };
    let some = |row: Vec<f64>| row.into_iter().map(Some).collect();
    for (system, row) in table.systems.iter_mut().zip(averages) {
        system.average = some(row);
    }
    if let Some(second) = table.systems.get_mut(1) {
        second.percent = Some(some(percents));
    }
}

/// What the document made of the runs of a table: the averages of both settings, and the change in per cent.
#[derive(Debug, PartialEq)]
struct PrintedRows {
    averages: [Vec<f64>; 2],
    percents: Vec<f64>,
}

impl PrintedRows {
    fn find(title: &str) -> Option<Self> {
        let known = TABLES.iter().find(|table| title.starts_with(table.title))?;
        let lines = DOCUMENT.lines().map(str::trim).skip_while(|line| !line.starts_with(known.title)).skip(1);
        let other = |line: &str| TABLES.iter().any(|table| line.starts_with(table.title));
        let (mut averages, mut percents) = (Vec::new(), None);
        for line in lines.take_while(|line| !other(line)) {
            if let Some((_, figures)) = line.split_once("Avrg:") {
                // "30 K" is one figure.
                let figures = figures.replace(" K", "K");
                averages.push(figures.split_whitespace().filter_map(|word| Some(printed(word)?.0)).collect());
            } else if let Some(figures) = line.strip_suffix('%') {
                let figure = |word: &str| word.replace("+-", "").parse().ok();
                percents = Some(figures.split_whitespace().filter_map(figure).collect());
            }
        }
        Some(Self { averages: averages.try_into().ok()?, percents: percents? })
    }
}

/// Which of the document's differences the tick explains.
fn real_ones(besides: &[LmbenchColumn]) -> String {
    let decided = besides.iter().filter(|beside| beside.decided);
    let lacking = decided.clone().filter(|beside| beside.here.is_none()).count();
    let lacking =
        if lacking == 0 { String::new() } else { format!(" ({lacking} of them have no figure here)") };
    let real: Vec<&str> =
        decided.clone().filter(|beside| beside.is_explained()).map(|beside| beside.metric).collect();
    format!(
        "Of the document's {} differences {} exceed the noise of its own runs{lacking}; {} match the tick's sign and size{}.\n",
        besides.len(),
        decided.count(),
        real.len(),
        if real.is_empty() { String::new() } else { format!(": {}", real.join(", ")) }
    )
}

/// The document's page; changes that its five runs a side tell apart, after correction for all of its columns, are marked as real.
fn its_page(folder: &std::path::Path) -> Result<lmbench::Page, Error> {
    let store = crate::command::open(Some(folder.to_owned()))?;
    let texts = [("tqm860l-summary.txt".to_owned(), DOCUMENT.to_owned())];
    let (found, _) = tickmark_import::lmbench::read(&texts)
        .map_err(|name| Error::Refused(format!("{name} cannot be read")))?;
    let ids = found
        .iter()
        .map(|one| import::write_recording(&store, one, &one.host))
        .collect::<Result<Vec<_>, _>>()?;
    let read = || ids.iter().map(|id| store.read(id)).collect::<Result<Vec<_>, _>>();
    let sides: Vec<Side> =
        read()?.into_iter().map(|recording| Side { recordings: vec![recording] }).collect();
    let options = CompareOptions::with_margin(0.01);
    let compared = crate::command::compare::compared(&store, &sides, options, RowSelection::ALL)?;
    let lines = compared.against.iter().flat_map(|against| &against.lines);
    let changed = lines.filter(|line| line.decided() && line.word != Word::Equivalent);
    let real: Vec<&str> = changed.map(|line| line.metric.as_str()).collect();
    let recordings = read()?;
    let models: Vec<Model> =
        recordings.iter().map(|recording| report::build(recording, &|_| true, false)).collect();
    let mut page = lmbench::page(&recordings.iter().zip(&models).collect::<Vec<_>>(), &real, false);
    page.tables.iter_mut().for_each(as_printed);
    Ok(page)
}

/// Differences in the document that are not the tick's: its own runs do not separate the sides, or they do, but the tick, which takes the
/// same share of everything, cannot be the cause.
fn noise(besides: &[LmbenchColumn]) -> String {
    let mut out = String::new();
    let compared = || besides.iter().filter_map(|beside| Some((beside, beside.here?)));
    let mut list = |title: &str, of: &dyn Fn(&LmbenchColumn, f64) -> bool| {
        let lines: Vec<String> = compared()
            .filter(|(beside, here)| of(beside, *here))
            .map(|(beside, here)| format!("{} {:+.1} ({here:+.1} here)", beside.metric, beside.document))
            .collect();
        if !lines.is_empty() {
            let _ = writeln!(out, "{title} ({}): {}", lines.len(), lines.join(", "));
        }
    };
    let same = |a: f64, b: f64| (a >= 0.0) == (b >= 0.0);
    list(
        "not told from noise by its own runs, corrected for all columns and for runs in a row that may resemble each other",
        &|beside, _| !beside.decided,
    );
    list("the other way than a count of instructions", &|beside, here| {
        beside.decided && !same(beside.document, here)
    });
    list("the same way, more than twice as much or less than half", &|beside, here| {
        beside.decided && same(beside.document, here) && !beside.is_explained()
    });
    list("of the sign and size that the tick has here", &|beside, _| beside.decided && beside.is_explained());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_table_of_the_document_has_a_printed_average_and_per_cent_for_every_column() {
        let all: Vec<_> = TABLES.iter().filter_map(|t| Some((t, PrintedRows::find(t.title)?))).collect();
        assert_eq!(all.len(), 10);
        for (table, PrintedRows { averages: [from, to], percents }) in &all {
            assert_eq!([from.len(), to.len(), percents.len()], [table.columns.len(); 3], "{}", table.title);
            // Not always those of its rows, as it cuts where it could round, but never far off.
            for ((from, to), percent) in from.iter().zip(to).zip(percents) {
                let computed = 100.0 * (to / from - 1.0);
                assert!((computed - percent).abs() < 0.6, "{}: {computed} {percent}", table.title);
            }
        }
        let integer = PrintedRows::find("Basic integer operations - times in nanoseconds").unwrap();
        assert_eq!((integer.averages[0][1], &integer.percents[..2]), (20.4, &[2.4, 2.9][..]));
        assert_eq!(PrintedRows::find("Basic uint64 operations"), None);
    }
}
