//! Measures the links between a survey's machines; their table.

use super::run::{bar, launcher};
use super::tables::{self, OF};
use crate::cli::{FleetLinks, Format};
use crate::command::pages::FleetLinksPage;
use crate::command::{print, print_page};
use crate::error::{Code, Error};
use crate::progress;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use tickmark_analysis::fleet::Rule;
use tickmark_analysis::fleet::links::{How, Link, Series, examine};
use tickmark_drive::fleet::Survey;
use tickmark_drive::fleet::links::{LinkOptions, Measured, links, measure};
use tickmark_stats::median;
use tickmark_tables::{Kind, Schema, Writer, read};
use tickmark_wire::Nanos;
use tickmark_wire::links::Times;
use tickmark_wire::text::printable;

/// A row for each pair and time that it was measured: `node` asks, `peer` answers.
const LINKS: Schema = &[
    OF[0],
    OF[1],
    OF[2],
    ("peer", Kind::Text),
    ("series", Kind::Text),
    ("time", Kind::Number),
    ("at_once", Kind::Number),
    ("network", Kind::Text),
    ("at", Kind::Text),
    ("round", Kind::Integer),
    ("again", Kind::Flag),
    ("trip", Kind::Number),
    ("trip_least", Kind::Number),
    ("trips", Kind::Integer),
    ("there", Kind::Number),
    ("back", Kind::Number),
    ("resent", Kind::Number),
    ("waited_share", Kind::Number),
    ("why", Kind::Text),
];

/// In less time a stream says nothing.
const LEAST: Nanos = Nanos::from_millis(1);
/// Rule for links that are measured again: it selects more than a report names.
const SUSPECT: Rule = Rule { false_alarm: 0.2, margin: 0.0 };
/// Default rule for links that a report names.
const NAMED: Rule = Rule { false_alarm: 0.05, margin: 0.05 };

pub(super) fn run(options: &FleetLinks) -> Result<Code, Error> {
    let survey = Survey::open(&options.survey)?;
    let _ours = survey.lock()?;
    let launcher = launcher(&options.launching)?;
    let pairs = LinkOptions {
        rounds: options.rounds as usize,
        times: Times { trips: options.time, stream: options.time },
        at_once: options.at_once.map(|count| count as usize),
        listen: options.listen,
        network: options.network,
    };
    if Times::parse(&pairs.times.line()).is_none() || options.time < LEAST {
        return Err(Error::Usage("--time: from 1ms to 60s".to_owned()));
    }
    let bar = bar(survey.request.nodes.len() / 2 * pairs.rounds, "pairs");
    let mut tell = |done: usize, all: usize| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    };
    let suspects = |measured: &[Measured]| suspects(&survey.request.nodes, measured);
    let control = progress::control();
    let measured = measure(&survey, &launcher, &pairs, &control, &mut tell, &suspects);
    bar.finish_and_clear();
    let measured = measured?;
    tables::of_survey(&survey)?;
    let whole = measured.iter().all(|one| one.observation.is_some()) && !control.stopped();
    let folder = survey.folder().display().to_string();
    match options.output.format {
        Format::Json => {
            print_page(&FleetLinksPage::new(&survey.request.id, survey.folder(), measured.clone()))?;
        }
        Format::Text => {
            let own = series(&survey.request.nodes, &measured);
            let model = examine(&own, &|node| survey.request.nodes[node].clone(), NAMED);
            print(&tickmark_render::fleet::measured_links(&model, &folder))?;
        }
    }
    Ok(match whole {
        true => Code::Done,
        false if measured.iter().any(|one| one.observation.is_some()) => Code::Partly,
        false => Code::Failed,
    })
}

/// The pairs that look slow by what was measured, or are of a machine that does, and those of which nothing came.
fn suspects(nodes: &[String], measured: &[Measured]) -> Vec<(String, String)> {
    let model = examine(&series(nodes, measured), &|node| nodes[node].clone(), SUSPECT);
    let sorted = |a: &String, b: &String| if a < b { (a.clone(), b.clone()) } else { (b.clone(), a.clone()) };
    let slow: HashSet<(String, String)> = model.slow.iter().map(|one| sorted(&one.from, &one.to)).collect();
    let machines: HashSet<&String> = model.machines.iter().map(|one| &one.node).collect();
    let is_suspect = |one: &Measured, pair: &(String, String)| {
        let is_slow = slow.contains(pair) || machines.contains(&pair.0) || machines.contains(&pair.1);
        one.observation.is_none() || is_slow
    };
    let pairs = measured.iter().filter_map(|one| Some((one, sorted(&one.asks, one.answers.as_ref()?))));
    pairs.filter(|(one, pair)| is_suspect(one, pair)).map(|(_, pair)| pair).collect()
}

/// Measurements of one command, as the analysis takes them.
fn series(nodes: &[String], measured: &[Measured]) -> Series {
    let places: BTreeMap<String, usize> =
        nodes.iter().enumerate().map(|(at, node)| (node.clone(), at)).collect();
    let how = measured.first().map(|one| How {
        begun: one.series.begun.to_string(),
        time: one.series.time.get(),
        at_once: one.series.at_once.map(|count| count as i64),
        network: one.series.network.clone(),
    });
    Series {
        how: how.unwrap_or_default(),
        links: measured.iter().filter_map(|one| link_from(one, &places)).collect(),
    }
}

/// A pair as the analysis has it; none of machines that are not known.
fn link_from(one: &Measured, places: &BTreeMap<String, usize>) -> Option<Link> {
    let answers = match &one.answers {
        Some(node) => Some(*places.get(node)?),
        None => None,
    };
    let observed = one.observation.as_ref();
    Some(Link {
        asks: *places.get(&one.asks)?,
        answers,
        trip: observed.and_then(|observed| median(observed.trips.iter().map(|trip| f64::from(*trip)))),
        there: observed.and_then(|observed| observed.there),
        back: observed.and_then(|observed| observed.back),
        resent: observed.map(|observed| observed.resent as f64),
        waited: observed.and_then(|observed| observed.waited),
        why: one.why.clone(),
    })
}

/// Writes the table of a survey whose links were measured.
pub(super) fn write(survey: &Survey, folder: &Path, day: &str, id: &str) -> Result<(), Error> {
    let all = links(survey)?;
    if all.is_empty() {
        return Ok(());
    }
    let path = folder.join("links").join(format!("day={day}")).join(format!("{id}.parquet"));
    let mut writer = Writer::create(&path, LINKS)?;
    for one in &all {
        let observed = one.observation.as_ref();
        let trips =
            || observed.into_iter().flat_map(|observed| observed.trips.iter().map(|trip| f64::from(*trip)));
        writer.push(&[
            json!(id),
            json!(one.asks),
            Value::Null,
            json!(one.answers),
            json!(one.series.begun),
            json!(one.series.time.get()),
            json!(one.series.at_once),
            json!(one.series.network),
            json!(one.at),
            json!(one.round),
            json!(one.again),
            json!(median(trips())),
            json!(trips().min_by(f64::total_cmp)),
            json!(observed.map(|observed| observed.made)),
            json!(observed.map(|observed| observed.there)),
            json!(observed.map(|observed| observed.back)),
            json!(observed.map(|observed| observed.resent)),
            json!(observed.map(|observed| observed.waited)),
            json!(one.why),
        ])?;
    }
    Ok(writer.finish()?)
}

/// Result of the last series in the table, where there is one.
pub(super) fn read_last_series(
    folder: &Path,
    places: &BTreeMap<String, usize>,
) -> Result<Option<Series>, Error> {
    let folder = folder.join("links");
    if !folder.is_dir() {
        return Ok(None);
    }
    const COLUMNS: Schema = &[
        ("node", Kind::Text),
        ("peer", Kind::Text),
        ("why", Kind::Text),
        ("trip", Kind::Number),
        ("there", Kind::Number),
        ("back", Kind::Number),
        ("resent", Kind::Number),
        ("waited_share", Kind::Number),
        ("series", Kind::Text),
        ("time", Kind::Number),
        ("at_once", Kind::Number),
        ("network", Kind::Text),
    ];
    let table = read(&folder, COLUMNS)?;
    let place = |column, row| table.text(column, row).and_then(|name| places.get(name)).copied();
    let link = |row| {
        let asks = place(0, row)?;
        // A machine that is not known is no machine alone.
        let answers = place(1, row);
        let is_known = answers.is_some() || table.text(1, row).is_none();
        is_known.then(|| Link {
            asks,
            answers,
            why: table.text(2, row).map(|why| printable(why, false).into_owned()),
            trip: table.number(3, row),
            there: table.number(4, row),
            back: table.number(5, row),
            resent: table.number(6, row),
            waited: table.number(7, row),
        })
    };
    // In the order in which they were measured, whatever the clocks said.
    let Some(last) = table.rows.checked_sub(1) else { return Ok(None) };
    let how = How {
        begun: table.text(8, last).unwrap_or_default().to_owned(),
        time: table.number(9, last).unwrap_or_default() as i64,
        at_once: table.number(10, last).map(|count| count as i64),
        network: table.text(11, last).map(|network| printable(network, false).into_owned()),
    };
    let of_last = (0..table.rows).filter(|row| table.text(8, *row) == table.text(8, last));
    let links = of_last.filter_map(link).collect();
    Ok(Some(Series { how, links }))
}

#[cfg(test)]
mod tests;
