//! For a terminal.

use super::model::{Against, Model};
use super::strip;
use std::fmt::Write;

/// Facts that are listed.
const LISTED: usize = 12;

pub(crate) fn render(model: &Model) -> String {
    let mut out = String::new();
    for (at, against) in model.against.iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        one(&mut out, model, against);
    }
    let _ = writeln!(out, "\n{}", model.legend());
    out
}

fn one(out: &mut String, model: &Model, against: &Against) {
    for line in model.parties(against) {
        let _ = writeln!(out, "{line}");
    }
    for line in model.environment(against, LISTED) {
        let _ = writeln!(out, "  {line}");
    }
    for note in &against.notes {
        let _ = writeln!(out, "{note}");
    }
    out.push('\n');
    let heads = [
        "metric",
        "",
        "base",
        "candidate",
        "change",
        against.basis.range(),
        "x base, o candidate",
        "verdict",
    ];
    let mut grid = vec![heads.map(str::to_owned)];
    let mut last = "";
    for line in &against.lines {
        let metric = if line.metric == last { String::new() } else { line.metric.clone() };
        last = &line.metric;
        let [base, candidate] = line.shown.clone();
        let figure = if line.figure == "value" { String::new() } else { line.figure.to_owned() };
        let (change, interval) = (line.change.clone(), line.interval.clone());
        grid.push([
            metric,
            figure,
            base,
            candidate,
            change,
            interval,
            strip::text(&line.places),
            line.words.clone(),
        ]);
    }
    let width = |column: usize| grid.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3, 4, 5, 6].map(width);
    for [metric, figure, one, other, change, interval, strip, verdict] in &grid {
        let [a, b, c, d, e, f, g] = widths;
        let line = format!(
            "{metric:a$}  {figure:b$}  {one:>c$}  {other:>d$}  {change:>e$}  {interval:>f$}  {strip:g$}  {verdict}"
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
    let _ = writeln!(out, "\n{}", against.summary());
    for line in model.without(against) {
        let _ = writeln!(out, "{line}");
    }
    if let Some(command) = &against.experiment {
        let _ = writeln!(out, "what would decide: {command}");
    }
}
