//! The document's figures of 2005 on the tick, beside ours.

use crate::command::import;
use crate::command::lab::explained::{ExplainedSettings, cache_text};
use crate::error::Error;
use std::fmt::Write;
use tickmark_analysis::comparison::{CompareOptions, RowSelection, Side};
use tickmark_analysis::lmbench;
use tickmark_analysis::paper::LmbenchColumn;
use tickmark_analysis::report::{self, Model};
use tickmark_store::Recording;

/// The ten tables of "Comparing Performance 100 Hz versus 1000 Hz Clock Tick" (Denk, 2005), five runs a side.
const DOCUMENT: &str = include_str!("../../../../../fixtures/lmbench/tqm860l-summary.txt");
/// Which has it.
const EXPERIMENT: &str = "clock-tick-100-vs-1000";
/// Label of the document's per cents in the tables.
const BESIDE: &str = "the document, by its runs";
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
    let _ = writeln!(out, "\n{filled} of the document's {} columns are filled here.", besides.len());
    out += &noise(&besides);
    out += &cache_text(explained, &besides);
    Ok((out, real_ones(&besides)))
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

/// Puts the document's per cents into the tables; with each column that both have.
fn beside(page: &mut lmbench::Page) -> Result<Vec<LmbenchColumn>, Error> {
    // A store of its own, gone when this ends: the document is imported like any file.
    let folder = tempfile::tempdir().map_err(Error::file("make", std::env::temp_dir()))?;
    let mut theirs = its_page(folder.path())?.tables;
    let mut columns: Vec<LmbenchColumn> = Vec::new();
    for table in &mut page.tables {
        let Some(known) = theirs.iter().position(|other| other.title == table.title) else { continue };
        let systems = theirs.swap_remove(known).systems;
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
    Ok(columns)
}

/// Which of the document's differences the tick explains.
fn real_ones(besides: &[LmbenchColumn]) -> String {
    let compared: Vec<(&LmbenchColumn, f64)> =
        besides.iter().filter_map(|beside| Some((beside, beside.here?))).collect();
    let decided = compared.iter().filter(|(beside, _)| beside.decided);
    let real: Vec<&str> = decided
        .clone()
        .filter(|(beside, _)| beside.is_explained())
        .map(|(beside, _)| beside.metric)
        .collect();
    format!(
        "Of the document's {} differences {} exceed the noise of its own runs; {} of them match the tick's sign and size{}.\n",
        compared.len(),
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
    let changed = compared.against.iter().flat_map(|against| &against.lines).filter(|line| line.decided());
    let real: Vec<&str> = changed.map(|line| line.metric.as_str()).collect();
    let recordings = read()?;
    let models: Vec<Model> =
        recordings.iter().map(|recording| report::build(recording, &|_| true, false)).collect();
    Ok(lmbench::page(&recordings.iter().zip(&models).collect::<Vec<_>>(), &real, false))
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
    list("noise: its own runs do not tell", &|beside, _| !beside.decided);
    list("the other way than a count of instructions", &|beside, here| {
        beside.decided && !same(beside.document, here)
    });
    list("the same way, more than twice as much or less than half", &|beside, here| {
        beside.decided && same(beside.document, here) && !beside.is_explained()
    });
    list("of the sign and size that the tick has here", &|beside, _| beside.decided && beside.is_explained());
    out
}
