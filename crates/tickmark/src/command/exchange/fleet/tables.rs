//! Recordings as tables of Parquet, for DuckDB, ClickHouse, Spark and `tickmark fleet report`: `figures`, `facts`, `findings`, and of a survey `nodes`. A
//! folder each, in it one for each day (`day=2026-11-25`), in it a file for each recording that was exported, or one for a survey.

use super::links;
use super::run::word;
use crate::command::export;
use crate::error::Error;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tickmark_analysis::doctor::{self, Cost, Outcome};
use tickmark_analysis::fleet::{Facts, Figures, Finding, Node, Survey as Seen};
use tickmark_analysis::report::Unit;
use tickmark_drive::fleet::{Answer, Survey};
use tickmark_stats::median;
use tickmark_store::Recording;
use tickmark_tables::{Column, Kind, Schema, Table, Writer, read};
use tickmark_wire::Better;
use tickmark_wire::text::printable;

/// The columns of a row of every table of recordings, before its own.
pub(super) const OF: [(&str, Kind); 3] =
    [("survey", Kind::Text), ("node", Kind::Text), ("recording", Kind::Text)];

const FIGURES: Schema = &[
    OF[0],
    OF[1],
    OF[2],
    ("metric", Kind::Text),
    ("unit", Kind::Text),
    ("better", Kind::Text),
    ("round", Kind::Integer),
    ("run", Kind::Integer),
    ("status", Kind::Text),
    ("value", Kind::Number),
    ("mean", Kind::Number),
    ("cpu", Kind::Number),
    ("disturbed_share", Kind::Number),
    ("taken_share", Kind::Number),
    ("contended", Kind::Flag),
    ("reason", Kind::Text),
];
const FACTS: Schema =
    &[OF[0], OF[1], OF[2], ("name", Kind::Text), ("value", Kind::Text), ("source", Kind::Text)];
const FINDINGS: Schema = &[
    OF[0],
    OF[1],
    OF[2],
    ("check", Kind::Text),
    ("per", Kind::Text),
    ("cost", Kind::Number),
    ("weight", Kind::Number),
];
const NODES: Schema =
    &[OF[0], OF[1], OF[2], ("outcome", Kind::Text), ("why", Kind::Text), ("created", Kind::Text)];

/// The folder of a survey's tables.
fn folder(survey: &Survey) -> PathBuf {
    survey.folder().join("tables")
}

/// The tables of recordings that are being written.
struct Out<'a> {
    survey: Option<&'a str>,
    figures: Writer,
    facts: Writer,
    findings: Writer,
}

impl<'a> Out<'a> {
    fn begin(folder: &Path, day: &str, id: &str, survey: Option<&'a str>) -> Result<Self, Error> {
        let path = |table: &str| folder.join(table).join(format!("day={day}")).join(format!("{id}.parquet"));
        let begun = |table: &str, schema| Writer::create(&path(table), schema);
        Ok(Self {
            survey,
            figures: begun("figures", FIGURES)?,
            facts: begun("facts", FACTS)?,
            findings: begun("findings", FINDINGS)?,
        })
    }

    fn add(&mut self, node: &str, recording: &Recording) -> Result<(), Error> {
        let id = recording.meta.id.as_str();
        let of = [json!(self.survey), json!(node), json!(id)];
        let row = |own: Vec<Value>| -> Vec<Value> { of.iter().cloned().chain(own).collect() };
        let (columns, rows) = export::figures(recording);
        let order: Vec<usize> =
            FIGURES[3..].iter().filter_map(|(name, _)| columns.iter().position(|own| own == name)).collect();
        for values in rows {
            let own = order.iter().map(|at| values[*at].clone()).collect();
            self.figures.push(&row(own))?;
        }
        let facts = recording.environment().into_iter().flat_map(tickmark_wire::Environment::iter);
        // What changes by itself is no fact of a machine.
        for (name, fact) in facts.filter(|(name, _)| !name.starts_with("state.")) {
            if let Some(value) = &fact.value {
                self.facts.push(&row(vec![json!(name), json!(value), json!(fact.source)]))?;
            }
        }
        let checks: Vec<_> = doctor::checks().collect();
        for diagnosis in doctor::examine(recording, &checks) {
            let Outcome::Found(cost) = diagnosis.outcome else { continue };
            let (per, value) = match cost {
                Some(Cost::Share(share)) => ("cpu", Some(share)),
                Some(Cost::Call(nanos)) => ("call", Some(nanos / 1e9)),
                Some(Cost::WakeUp(nanos)) => ("wake_up", Some(nanos / 1e9)),
                None => ("", None),
            };
            let own = vec![json!(diagnosis.name), json!(per), json!(value), json!(cost.map(Cost::weight))];
            self.findings.push(&row(own))?;
        }
        Ok(())
    }

    fn finish(self) -> Result<(), Error> {
        Ok([self.figures, self.facts, self.findings].into_iter().try_for_each(Writer::finish)?)
    }
}

fn day(of: jiff::Timestamp) -> String {
    of.strftime("%Y-%m-%d").to_string()
}

/// Adds a recording to the tables in a folder.
pub(in crate::command) fn of_recording(folder: &Path, recording: &Recording) -> Result<(), Error> {
    let mut out = Out::begin(folder, &day(recording.meta.created), recording.meta.id.as_str(), None)?;
    out.add(&recording.meta.name, recording)?;
    out.finish()
}

/// Writes the tables of a survey, one file each, instead of those that are there.
pub(super) fn of_survey(survey: &Survey) -> Result<(), Error> {
    let (folder, store) = (folder(survey), survey.store()?);
    let (id, day) = (survey.request.id.as_str().to_owned(), day(survey.request.created));
    let answers = survey.answers()?;
    let mut out = Out::begin(&folder, &day, &id, Some(&id))?;
    let path = folder.join("nodes").join(format!("day={day}")).join(format!("{id}.parquet"));
    let mut nodes = Writer::create(&path, NODES)?;
    for Answer { node, outcome, why, recording } in &answers {
        let read = recording.as_ref().map(|id| store.read(id)).transpose();
        let (recording, unread) = match read {
            Ok(recording) => (recording, None),
            Err(error) => (None, Some(error.to_string())),
        };
        if let Some(recording) = &recording {
            out.add(node, recording)?;
        }
        let created = recording.as_ref().map(|recording| recording.meta.created.to_string());
        let id = recording.as_ref().map(|recording| recording.meta.id.to_string());
        let outcome = if unread.is_some() { "partly" } else { word(*outcome) };
        let why = unread.as_ref().or(why.as_ref());
        let row =
            [json!(survey.request.id), json!(node), json!(id), json!(outcome), json!(why), json!(created)];
        nodes.push(&row)?;
    }
    links::write(survey, &folder, &day, &id)?;
    out.finish()?;
    Ok(nodes.finish()?)
}

/// True if there is no table of machines, or one that was written before the last of them answered.
fn is_old(folder: &Path, changed: Option<std::time::SystemTime>) -> bool {
    let files = |day: std::fs::DirEntry| std::fs::read_dir(day.path()).into_iter().flatten().flatten();
    let all = std::fs::read_dir(folder).into_iter().flatten().flatten().flat_map(files);
    let written = all.filter(|file| file.path().extension().is_some_and(|is| is == "parquet"));
    let newest = written.filter_map(|file| file.metadata().ok()?.modified().ok()).max();
    newest.is_none_or(|newest| changed.is_some_and(|changed| newest < changed))
}

/// Content of the tables of a survey.
pub(super) fn read_survey(survey: &Survey) -> Result<Seen, Error> {
    let folder = folder(survey);
    let path = folder.join("nodes");
    if is_old(&path, survey.changed()) {
        of_survey(survey)?;
    }
    let of = |table: &str, wanted| read(&folder.join(table), wanted);
    let mut summary = Seen::default();
    let nodes = of(
        "nodes",
        &[("node", Kind::Text), ("outcome", Kind::Text), ("why", Kind::Text), ("recording", Kind::Text)],
    )?;
    for row in 0..nodes.rows {
        let text = |column| nodes.text(column, row).map(|text| printable(text, false).into_owned());
        let (name, outcome) = (text(0).unwrap_or_default(), text(1).unwrap_or_default());
        summary.nodes.push(Node { name, outcome, why: text(2), recording: text(3) });
    }
    let places: BTreeMap<String, usize> =
        summary.nodes.iter().enumerate().map(|(at, node)| (node.name.clone(), at)).collect();
    summary.figures = figures(
        &of(
            "figures",
            &[
                ("node", Kind::Text),
                ("metric", Kind::Text),
                ("unit", Kind::Text),
                ("better", Kind::Text),
                ("value", Kind::Number),
            ],
        )?,
        &places,
    );
    summary.facts =
        facts(&of("facts", &[("node", Kind::Text), ("name", Kind::Text), ("value", Kind::Text)])?, &places);
    summary.links = links::read_last_series(&folder, &places)?;
    let findings = of("findings", &[("node", Kind::Text), ("check", Kind::Text), ("weight", Kind::Number)])?;
    for row in 0..findings.rows {
        if let Some((node, check)) =
            findings.text(0, row).and_then(|name| places.get(name)).zip(findings.text(1, row))
        {
            summary.findings.push(Finding {
                node: *node,
                check: printable(check, false).into_owned(),
                weight: findings.number(2, row),
            });
        }
    }
    Ok(summary)
}

/// The texts of a column.
fn texts(table: &Table, column: usize) -> (&[String], &[Option<u32>]) {
    match &table.columns[column] {
        Column::Text(texts) => (texts.words(), texts.rows()),
        _ => (&[], &[]),
    }
}

/// The median of each machine's runs.
fn figures(table: &Table, places: &BTreeMap<String, usize>) -> Vec<Figures> {
    let ((names, nodes), (metrics, which)) = (texts(table, 0), texts(table, 1));
    let places: Vec<Option<usize>> = names.iter().map(|name| places.get(name).copied()).collect();
    let mut values: Vec<BTreeMap<usize, Vec<f64>>> = vec![BTreeMap::new(); metrics.len()];
    let mut first: Vec<Option<usize>> = vec![None; metrics.len()];
    for row in 0..table.rows {
        let known = nodes[row].and_then(|name| places[name as usize]).zip(which[row]);
        if let Some((node, metric)) = known {
            first[metric as usize].get_or_insert(row);
            if let Some(value) = table.number(4, row) {
                values[metric as usize].entry(node).or_default().push(value);
            }
        }
    }
    let parsed =
        |column, row: Option<usize>| table.text(column, row?).map(|text| Value::String(text.to_owned()));
    let mut all = Vec::new();
    for ((name, values), row) in metrics.iter().zip(values).zip(first) {
        let medians = values.into_iter().filter_map(|(node, runs)| Some((node, median(runs)?)));
        let unit = parsed(2, row).and_then(|unit| serde_json::from_value(unit).ok());
        let better = parsed(3, row).and_then(|better| serde_json::from_value(better).ok());
        all.push(Figures {
            metric: printable(name, false).into_owned(),
            unit: unit.unwrap_or(Unit::Count),
            better: better.unwrap_or(Better::Neither),
            values: medians.collect(),
        });
    }
    all.retain(|figures| !figures.values.is_empty());
    all
}

fn facts(table: &Table, places: &BTreeMap<String, usize>) -> Vec<Facts> {
    let ((names, nodes), (facts, which), (words, values)) =
        (texts(table, 0), texts(table, 1), texts(table, 2));
    let places: Vec<Option<usize>> = names.iter().map(|name| places.get(name).copied()).collect();
    let mut all: Vec<(Facts, BTreeMap<u32, u32>)> = facts
        .iter()
        .map(|name| {
            (
                Facts { name: printable(name, false).into_owned(), values: Vec::new(), words: Vec::new() },
                BTreeMap::new(),
            )
        })
        .collect();
    for row in 0..table.rows {
        let node = nodes[row].and_then(|name| places[name as usize]);
        if let (Some(node), Some(fact), Some(value)) = (node, which[row], values[row]) {
            let (facts, own) = &mut all[fact as usize];
            let word = *own.entry(value).or_insert_with(|| {
                facts.words.push(printable(&words[value as usize], false).into_owned());
                facts.words.len() as u32 - 1
            });
            facts.values.push((node, word));
        }
    }
    all.into_iter().map(|(facts, _)| facts).collect()
}
