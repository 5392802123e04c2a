//! When figures changed their level: as text and as JSON.

use crate::comparison::{chance, difference};
use crate::grid::wrapped;
use crate::number::{self, count, time, value};
use crate::plot::{Axis, Plot, Series as Points, Shape};
use std::fmt::Write;
use tickmark_analysis::changes::{Level, Series};
use tickmark_stats::change::Kind;
use tickmark_wire::text::printable;

/// Facts that are listed with a level; JSON has all.
const LISTED: usize = 3;

/// Of more series none is drawn in the terminal.
const DRAWN: usize = 4;

/// A series over its recordings, with the middles of its levels.
#[must_use]
pub fn plot(series: &Series) -> Plot {
    let points = series.points.iter().enumerate().map(|(at, point)| (at as f64 + 1.0, point.value)).collect();
    let each = Points { name: "each recording".to_owned(), points, shape: Shape::Points, band: Vec::new() };
    let mut begins: Vec<(usize, f64)> =
        series.levels.iter().map(|level| (level.change.at, level.change.after)).collect();
    begins.extend(series.levels.first().map(|level| (0, level.change.before)));
    begins.sort_by_key(|(at, _)| *at);
    let ends = begins.iter().skip(1).map(|(at, _)| *at).chain([series.points.len()]);
    let levels = begins
        .iter()
        .zip(ends)
        .flat_map(|((at, middle), end)| [(*at as f64 + 1.0, *middle), (end as f64, *middle)]);
    let levels: Vec<(f64, f64)> = levels.collect();
    let mut all = vec![each];
    if !levels.is_empty() {
        all.push(Points::line("middle of each level", levels));
    }
    let label: fn(f64) -> String = match series.unit {
        tickmark_analysis::report::Unit::Nanoseconds => time,
        _ => |number| format!("{number:.4}"),
    };
    Plot {
        title: format!("{} {} over the recordings", series.metric, series.figure),
        x: Axis::linear("recording", |number| number.to_string()),
        y: Axis::linear("", label),
        series: all,
    }
}

/// Each series that has more than one level, then what has none.
#[must_use]
pub fn text(all: &[Series]) -> String {
    let mut text = String::new();
    for series in all.iter().filter(|series| all.len() <= DRAWN && series.points.len() > 1) {
        let _ = writeln!(text, "{}", plot(series).text(66, 12));
    }
    for series in all.iter().filter(|series| !series.levels.is_empty()) {
        let _ = writeln!(text, "{}", head(series));
        if let Some(first) = series.levels.first() {
            let _ = writeln!(text, "  {:>12}  from the first one", shown(series, first.change.before));
        }
        series.levels.iter().for_each(|level| text += &of_level(series, level));
    }
    let (enough, few): (Vec<&Series>, Vec<&Series>) = all.iter().partition(|series| series.enough());
    let waves = enough.iter().filter(|series| series.unknowable).count();
    let same = enough.iter().filter(|series| series.levels.is_empty()).count() - waves;
    if waves > 0 {
        let note = format!(
            "of {waves} of {} it cannot be known: recordings resemble those before them so much that a change is no more than a wave; record on, or side by side (experiment, versus)",
            count(enough.len() as u32, "figure")
        );
        text += &(wrapped(&note, 0).join("\n") + "\n");
    }
    for series in enough.iter().filter(|series| !series.outliers.is_empty() && !series.levels.is_empty()) {
        let names = series.outliers.iter().filter_map(|at| series.points.get(*at)).take(LISTED);
        let names: Vec<String> = names.map(|point| printable(&point.name, false).into_owned()).collect();
        let _ = writeln!(
            text,
            "{} {}: {} far from the level, among them {}",
            series.metric,
            series.figure,
            count(series.outliers.len() as u32, "recording"),
            names.join(", ")
        );
    }
    if same > 0 {
        let _ = writeln!(text, "no change is proven of {same} of {}", count(enough.len() as u32, "figure"));
    }
    if !few.is_empty() {
        let _ = writeln!(
            text,
            "fewer than seven recordings, which show no levels: {}",
            count(few.len() as u32, "figure")
        );
    }
    if !enough.is_empty() {
        let note = "The chance that any change is shown where nothing changed is about 5 %, also where a recording resembles the one before (CUSUM, against simulated series of the same noise).";
        text += &(wrapped(note, 0).join("\n") + "\n");
    }
    text
}

fn head(series: &Series) -> String {
    let day = |at: Option<&tickmark_analysis::changes::Point>| {
        at.map_or(String::new(), |point| point.created.strftime("%Y-%m-%d").to_string())
    };
    let host = printable(series.host.as_deref().unwrap_or("an unknown machine"), false).into_owned();
    let (first, last) = (day(series.points.first()), day(series.points.last()));
    let made = count(series.points.len() as u32, "recording");
    let how = match &series.command {
        Some(command) => printable(command, false).into_owned(),
        None => format!("{} of {}", count(series.length.0 as u32, "run"), time(series.length.1.as_f64())),
    };
    format!("{} {}: {made} of {host} ({how}), {first} to {last}", series.metric, series.figure)
}

fn shown(series: &Series, level: f64) -> String {
    value(level, None, series.unit)
}

fn of_level(series: &Series, level: &Level) -> String {
    let change = &level.change;
    let Some(point) = series.points.get(change.at) else { return String::new() };
    let ratio = match change.kind {
        Kind::Level => number::change(change.after / change.before, 1),
        Kind::Spread => "another spread".to_owned(),
    };
    let mut text = format!(
        "  {:>12}  {ratio} from {} UTC  {}  {}  p {}\n",
        shown(series, change.after),
        point.created.strftime("%Y-%m-%d %H:%M"),
        point.id,
        printable(&point.name, false),
        chance(change.p)
    );
    if change.between.0 < change.between.1 {
        let point = |at: usize| series.points.get(at).map_or(String::new(), |point| point.id.to_string());
        let _ = writeln!(
            text,
            "{:16}it may have begun with {} to {} (95 %)",
            "",
            point(change.between.0),
            point(change.between.1)
        );
    }
    for fact in level.differences.iter().take(LISTED) {
        let _ = writeln!(text, "{:16}{}", "", difference(fact));
    }
    if level.differences.len() > LISTED {
        let _ = writeln!(
            text,
            "{:16}and {} more facts; --format json has all",
            "",
            level.differences.len() - LISTED
        );
    }
    text
}
