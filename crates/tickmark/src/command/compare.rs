//! Recordings side by side.

use crate::cli::{Compare, Format};
use crate::error::{Code, Error};
use crate::lmbench;
use crate::report::{self, Row};
use crate::store::Store;
use serde_json::{Value, json};
use std::fmt::Write;

pub(super) fn run(store: &Store, compare: &Compare) -> Result<Code, Error> {
    let recordings = [&compare.base, &compare.candidate].map(|name| store.find(name));
    let [base, candidate] = recordings;
    let (base, candidate) = (base?, candidate?);
    let models = [&base, &candidate].map(|recording| report::build(recording, &|_| true, false));
    let [first, second] = &models;
    if compare.lmbench {
        let page = lmbench::page(&[(&base, first), (&candidate, second)], compare.floor);
        if page.tables.is_empty() {
            return Err(Error::Usage("neither recording has a metric of lmbench's tables".to_owned()));
        }
        match compare.output.format {
            Format::Json => super::print_json(&page)?,
            Format::Text => super::print(lmbench::render(&page).trim_start())?,
        }
        return Ok(Code::Done);
    }
    let rows =
        |model: &report::Model| model.groups.iter().flat_map(|(_, rows)| rows.clone()).collect::<Vec<Row>>();
    let others = rows(second);
    let pairs: Vec<(Row, Row)> = rows(first)
        .into_iter()
        .filter_map(|row| {
            Some((row.clone(), others.iter().find(|other| other.metric == row.metric)?.clone()))
        })
        .filter(|(base, candidate)| base.value.is_some() && candidate.value.is_some())
        .collect();
    if pairs.is_empty() {
        return Err(Error::Usage("the recordings have no metric with figures in common".to_owned()));
    }
    match compare.output.format {
        Format::Json => {
            let row = |(base, candidate): &(Row, Row)| {
                json!({
                    "metric": base.metric,
                    "unit": base.unit,
                    "better": base.better,
                    "mean": [mean(base, compare.floor), mean(candidate, compare.floor)],
                    "change": change(base, candidate, compare.floor),
                    "verdict": Value::Null,
                })
            };
            super::print_json(&json!({
                "base": base.meta.id,
                "candidate": candidate.meta.id,
                "figures": if compare.floor { "floor" } else { "mean" },
                "rows": pairs.iter().map(row).collect::<Vec<_>>(),
            }))?;
        }
        Format::Text => super::print(&text(&base.meta.name, &candidate.meta.name, &pairs, compare.floor))?,
    }
    Ok(Code::Done)
}

/// The mean of what the runs say.
fn mean(row: &Row, floor: bool) -> f64 {
    let figure = |each: &report::Each| if floor { each.value } else { each.mean };
    row.each.iter().map(figure).sum::<f64>() / row.each.len() as f64
}

/// The candidate's mean over the base's, less one; none where the base is zero.
fn change(base: &Row, candidate: &Row, floor: bool) -> Option<f64> {
    let (base, candidate) = (mean(base, floor), mean(candidate, floor));
    (base != 0.0).then(|| candidate / base - 1.0)
}

fn text(base: &str, candidate: &str, pairs: &[(Row, Row)], floor: bool) -> String {
    let mut grid = vec![["metric".to_owned(), base.to_owned(), candidate.to_owned(), "change".to_owned()]];
    for (one, other) in pairs {
        let shown = |row: &Row| report::value(mean(row, floor), None, row.unit);
        let change =
            change(one, other, floor).map_or_else(|| "-".to_owned(), |c| format!("{:+.1} %", c * 100.0));
        grid.push([one.metric.clone(), shown(one), shown(other), change]);
    }
    let width = |column: usize| grid.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3].map(width);
    let mut out = String::new();
    for [metric, one, other, change] in &grid {
        let [a, b, c, d] = widths;
        let _ = writeln!(out, "{metric:a$}  {one:>b$}  {other:>c$}  {change:>d$}");
    }
    let what = if floor { "means of the runs' floors" } else { "means of the runs' mean costs" };
    let _ = writeln!(out, "\n{what}. No verdict: nothing here says that a difference is real.");
    out
}
