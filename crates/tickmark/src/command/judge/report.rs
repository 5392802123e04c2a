//! Recordings as a page, as drawings in files, or as drawings in the terminal.

use crate::cli::Report as ReportOptions;
use crate::command::answers::{self, Answers};
use crate::command::compare::{compared, matching, parts, planned_primary};
use crate::command::lab::explained::ExplainedSettings;
use crate::command::scenarios::unwritable;
use crate::error::{Code, Error};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use tickmark_analysis::comparison::{CompareOptions, Model, RowSelection, Side};
use tickmark_analysis::page::{self, Page};
use tickmark_analysis::report::Row;
use tickmark_drive::ThisMachine;
use tickmark_render::page::{Report, drawings, html};
use tickmark_store::{Recording, Store};
use tickmark_tables::destination::Destination;

pub(in crate::command) fn run(store: &Store, options: &ReportOptions) -> Result<Code, Error> {
    if let Some(folder) = &options.plots {
        std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    }
    let mut recordings = Vec::new();
    for name in &options.recordings {
        recordings.extend(matching(store, name)?.map_or_else(|| store.find(name).map(|one| vec![one]), Ok)?);
    }
    let recordings = with_settings(store, recordings)?;
    let model = side_by_side(store, &recordings, options.margin)?;
    let explained = ExplainedSettings::from_store(store, &recordings)?;
    let damaged = explained.iter().flat_map(|of| &of.failed);
    damaged.for_each(|why| crate::notice!("tickmark: {why}"));
    let answers = answers_of(&recordings, model.as_ref(), &explained)?;
    let pages: Vec<Page> = recordings.iter().map(page::build_page).collect();
    // How things are timed is known of what this program has.
    let offers = ThisMachine::catalogue(&[]).map(|all| all.offers).unwrap_or_default();
    let explained: Vec<_> = explained.iter().map(ExplainedSettings::explained).collect();
    let report = Report {
        pages: &pages,
        comparison: model.as_ref(),
        answers: &answers,
        explained: &explained,
        offers: &offers,
    };
    if let Some(file) = &options.output {
        write(file, &html(&report))?;
    }
    let wants_text = options.output.is_none() && options.plots.is_none();
    if let Some(folder) = &options.plots {
        plots(folder, &report)?;
    }
    if wants_text {
        let width = tickmark_render::width().clamp(60, 160);
        let all: Vec<String> = drawings(&report).iter().map(|one| one.text(width)).collect();
        crate::command::print(&all.join("\n"))?;
    }
    Ok(Code::Done)
}

/// Where one setting of an experiment is named, all of its settings, the first first.
fn with_settings(store: &Store, named: Vec<Recording>) -> Result<Vec<Recording>, Error> {
    let [only] = &named[..] else { return Ok(named) };
    let Some(arm) = only.meta.arm.clone().filter(|arm| !arm.pilot) else { return Ok(named) };
    let same = |entry: &tickmark_store::Entry| {
        entry.arm.as_ref().is_some_and(|own| !own.pilot && own.experiment == arm.experiment)
    };
    let mut all: Vec<(u32, Recording)> = Vec::new();
    for entry in store.list()?.into_iter().filter(same) {
        let number = entry.arm.as_ref().map_or(0, |arm| arm.number);
        all.push((number, store.read(&entry.id)?));
    }
    all.sort_by_key(|(number, recording)| (*number, recording.meta.created));
    // Blocks that were added later belong to their setting.
    all.dedup_by_key(|(number, _)| *number);
    Ok(all.into_iter().map(|(_, recording)| recording).collect())
}

/// The first against the others.
fn side_by_side(store: &Store, recordings: &[Recording], margin: f64) -> Result<Option<Model>, Error> {
    if recordings.len() < 2 {
        return Ok(None);
    }
    let side = |recording: &Recording| Ok(Side { recordings: parts(store, recording.clone())? });
    let sides = recordings.iter().map(side).collect::<Result<Vec<_>, Error>>()?;
    let planned = planned_primary(&sides);
    let primary = |_, row: &Row| planned.is_empty() || planned.contains(&row.metric);
    let picks = RowSelection { primary: &primary, ..RowSelection::ALL };
    compared(store, &sides, CompareOptions::with_margin(margin), picks).map(Some)
}

/// Answers of an experiment that comes with tickmark: the headline first.
fn answers_of(
    recordings: &[Recording],
    model: Option<&Model>,
    explained: &[ExplainedSettings],
) -> Result<Vec<(String, String)>, Error> {
    let (Some((title, report)), Some(model)) = (answers::shipped(recordings), model) else {
        return Ok(Vec::new());
    };
    let Answers { answer, prediction, tables } =
        Answers::from_settings(&report, recordings, model, explained)?;
    let more = [("Predicted", prediction), ("Tables, with the document's figures", tables)];
    let more = more.map(|(title, text)| (title.to_owned(), text));
    let all = std::iter::once((title, answer)).chain(more);
    Ok(all.filter(|(_, text)| !text.trim().is_empty()).collect())
}

/// Each drawing in a file of its own, in the order of the page.
fn plots(folder: &Path, report: &Report<'_>) -> Result<(), Error> {
    let mut count = 0;
    for drawing in drawings(report) {
        let svg = drawing.svg();
        if !svg.is_empty() {
            count += 1;
            let path = folder.join(format!("{count:03}-{}.svg", drawing.file()));
            std::fs::write(&path, svg).map_err(|error| unwritable(&path, &error))?;
        }
    }
    crate::notice!("{} in {}", tickmark_render::count(count, "plot"), folder.display());
    Ok(())
}

/// Writes a page where `--output` says.
pub(in crate::command) fn write(path: &Path, text: &str) -> Result<(), Error> {
    OutputFile::open("--output", path)?.write(text)
}

/// Where an option says that something is to be written: opened before the work that gives it.
pub(in crate::command) struct OutputFile<'a> {
    option: &'static str,
    path: &'a Path,
    opened: (Destination, File),
}

impl<'a> OutputFile<'a> {
    pub(in crate::command) fn open(option: &'static str, path: &'a Path) -> Result<Self, Error> {
        let opened = Destination::create(path);
        let opened = opened.map_err(|error| {
            let next = crate::error::elsewhere(&error);
            Error::Refused(format!("{option}: {}: {error}{next}", path.display()))
        })?;
        Ok(Self { option, path, opened })
    }

    pub(in crate::command) fn write(self, text: &str) -> Result<(), Error> {
        let Self { option, path, opened: (destination, mut file) } = self;
        let written = file.write_all(text.as_bytes()).and_then(|()| destination.finish(&file));
        written.map_err(|error| Error::Refused(format!("{option}: {}: {error}", path.display())))?;
        crate::notice!("{}: {} kB", path.display(), text.len().div_ceil(1000));
        Ok(())
    }
}
