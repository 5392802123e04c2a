//! Recordings side by side.

use crate::cli::{Compare, Format};
use crate::error::{Code, Error};
use crate::report::{self, Each, Model, Row};
use crate::store::{Recording, Store};
use serde_json::{Value, json};
use std::fmt::Write;

pub(super) fn run(store: &Store, compare: &Compare) -> Result<Code, Error> {
    let (base, candidate) = (store.find(&compare.base)?, store.find(&compare.candidate)?);
    if compare.lmbench {
        return super::lmbench_tables(&[&base, &candidate], compare.floor, compare.output.format);
    }
    let models = [&base, &candidate].map(|recording| report::build(recording, &|_| true, false));
    let [first, second] = models.each_ref().map(rows);
    let with_value = |row: &&Row, others: &[&Row]| {
        row.value.is_some() && others.iter().any(|other| other.metric == row.metric && other.value.is_some())
    };
    let pairs: Vec<(&Row, &Row)> = first
        .iter()
        .filter(|row| with_value(row, &second))
        .filter_map(|row| Some((*row, *second.iter().find(|other| other.metric == row.metric)?)))
        .collect();
    if pairs.is_empty() {
        return Err(Error::Usage("the recordings have no metric with figures in common".to_owned()));
    }
    let alone = |own: &[&Row], others: &[&Row]| -> Vec<String> {
        own.iter().filter(|row| !with_value(row, others)).map(|row| row.metric.clone()).collect()
    };
    let only = [alone(&first, &second), alone(&second, &first)];
    let sides = [side(&base), side(&candidate)];
    match compare.output.format {
        Format::Json => {
            let row = |(base, candidate): &(&Row, &Row)| {
                json!({
                    "metric": base.metric,
                    "unit": base.unit,
                    "better": base.better,
                    "mean": [mean(base, compare.floor), mean(candidate, compare.floor)],
                    "over": [base.over, candidate.over],
                    "change": change(base, candidate, compare.floor),
                    "verdict": Value::Null,
                })
            };
            super::print_json(&json!({
                "base": base.meta.id,
                "candidate": candidate.meta.id,
                "figures": if compare.floor { "floor" } else { "mean" },
                "rows": pairs.iter().map(row).collect::<Vec<_>>(),
                "without_a_pair": only,
            }))?;
        }
        Format::Text => super::print(&text(&sides, &pairs, &only, compare.floor))?,
    }
    Ok(Code::Done)
}

fn rows(model: &Model) -> Vec<&Row> {
    model.groups.iter().flat_map(|(_, rows)| rows).collect()
}

/// What a recording is called, and who measured it.
fn side(recording: &Recording) -> [String; 2] {
    let tool = recording.imported.as_ref().map_or("tickmark", |from| from.tool.as_str());
    [format!("{} {}", recording.meta.name, recording.meta.id), tool.to_owned()]
}

/// The mean of what the runs say.
fn mean(row: &Row, floor: bool) -> f64 {
    let figure = |each: &Each| if floor { each.value } else { each.mean };
    row.each.iter().map(figure).sum::<f64>() / row.each.len() as f64
}

/// The candidate's mean over the base's, less one; none where the base is zero or they went over different sizes.
fn change(base: &Row, candidate: &Row, floor: bool) -> Option<f64> {
    let (low, high) = (mean(base, floor), mean(candidate, floor));
    (low != 0.0 && base.same_size(candidate)).then(|| high / low - 1.0)
}

fn text(sides: &[[String; 2]; 2], pairs: &[(&Row, &Row)], only: &[Vec<String>; 2], floor: bool) -> String {
    let [[base, measured], [candidate, by]] = sides;
    let mut grid = vec![["metric".to_owned(), base.clone(), candidate.clone(), "change".to_owned()]];
    for (one, other) in pairs {
        let shown = |row: &Row| {
            let value = report::value(mean(row, floor), None, row.unit);
            if one.same_size(other) {
                value
            } else {
                format!("{value} over {}", report::bytes(row.over as f64))
            }
        };
        let change =
            change(one, other, floor).map_or_else(|| "-".to_owned(), |c| format!("{:+.1} %", c * 100.0));
        grid.push([one.metric.clone(), shown(one), shown(other), change]);
    }
    let width = |column: usize| grid.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let [a, b, c, d] = [0, 1, 2, 3].map(width);
    let mut out = String::new();
    for [metric, one, other, change] in &grid {
        let _ = writeln!(out, "{metric:a$}  {one:>b$}  {other:>c$}  {change:>d$}");
    }
    let what = if floor { "means of the runs' floors" } else { "means of the runs' mean costs" };
    let _ = writeln!(out, "\n{what}. No verdict: nothing here says that a difference is real.");
    if measured != by {
        let _ = writeln!(
            out,
            "{base} was measured by {measured}, {candidate} by {by}: their definitions differ."
        );
    }
    for (side, metrics) in [base, candidate].into_iter().zip(only).filter(|(_, metrics)| !metrics.is_empty())
    {
        let _ = writeln!(out, "without a figure to compare with, {side}: {}", metrics.join(", "));
    }
    out
}
