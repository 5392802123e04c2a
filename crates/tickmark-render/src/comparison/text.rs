//! For a terminal.

use super::strip;
use super::words::{self, Printed};
use std::fmt::Write;
use tickmark_analysis::comparison::{Against, Model};

/// Facts that are listed.
const LISTED: usize = 12;

/// The whole comparison.
#[must_use]
pub fn render(model: &Model) -> String {
    let mut out = String::new();
    for (at, against) in model.against.iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        write_comparison(&mut out, model, against);
    }
    for (at, line) in model.doses.iter().flat_map(words::doses).enumerate() {
        let _ = writeln!(out, "{}{line}", if at == 0 { "\n" } else { "  " });
    }
    let _ = writeln!(out, "\n{}", words::legend(model));
    out
}

fn write_comparison(out: &mut String, model: &Model, against: &Against) {
    for line in words::parties(model, against) {
        let _ = writeln!(out, "{line}");
    }
    for line in words::environment(model, against, LISTED) {
        let _ = writeln!(out, "  {line}");
    }
    for note in words::notes(against) {
        let _ = writeln!(out, "{note}");
    }
    out.push('\n');
    let heads = [
        "metric",
        "",
        "baseline",
        "candidate",
        "change",
        words::range(&against.basis),
        "x baseline, o candidate",
        "verdict",
    ];
    let mut grid = vec![heads.map(str::to_owned)];
    let mut last = "";
    for line in &against.lines {
        let metric = if line.metric == last { String::new() } else { line.metric.clone() };
        last = &line.metric;
        let Printed { means: [base, candidate], change, interval, verdict } =
            words::printed(line, &against.basis, model.margin);
        let figure = if line.figure == "value" { String::new() } else { line.figure.to_owned() };
        grid.push([
            metric,
            figure,
            base,
            candidate,
            change,
            interval,
            strip::text(&strip::places(&line.values)),
            verdict,
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
    let _ = writeln!(out, "\n{}", words::summary(against));
    for group in words::groups(against) {
        let _ = writeln!(out, "{group}");
    }
    for line in words::without(model, against) {
        let _ = writeln!(out, "{line}");
    }
    if let Some(deciding) = &against.experiment {
        let _ = writeln!(out, "to decide, run: {}", words::command(deciding));
    }
}
