//! Figures over time: as text and as a page.

use crate::comparison::{chance, difference};
use crate::fold::wrapped;
use crate::number::{self, count, time, value};
use crate::page::frame::{self, Section};
use crate::plot::{Axis, Plot, Series as Points, Shape};
use crate::suggest::command;
use maud::{PreEscaped, html as markup};
use std::cmp::Ordering;
use std::fmt::Write;
use tickmark_analysis::history::{Level, Point, Series, Split, newest};
use tickmark_stats::change::Kind;
use tickmark_wire::Better;
use tickmark_wire::text::printable;

/// Facts that are listed with a level; JSON has all.
const LISTED: usize = 3;
/// Of more series none is drawn in the terminal.
const DRAWN: usize = 4;
/// Figures in the answer; the rest is counted.
const ANSWERED: usize = 5;
/// Letters of a commit.
const SHORT: usize = 10;

/// A series over its recordings, with the middles of its levels.
#[must_use]
pub fn plot(series: &Series) -> Plot {
    let points = series.points.iter().enumerate().map(|(at, point)| (at as f64 + 1.0, point.value)).collect();
    let each = Points { name: "each recording".to_owned(), points, shape: Shape::Points, band: Vec::new() };
    let levels = series.parts().flat_map(|part| line(series, part)).collect::<Vec<_>>();
    let mut all = vec![each];
    if !series.levels.is_empty() || !series.splits.is_empty() {
        all.push(Points::line("middle of each level", levels));
    }
    let label: fn(f64) -> String = match series.unit {
        tickmark_analysis::report::Unit::Nanoseconds => time,
        _ => |number| if number.fract() == 0.0 { format!("{number:.0}") } else { format!("{number:.4}") },
    };
    Plot {
        title: format!("{} {} over the recordings", series.metric, series.figure),
        x: Axis::linear("recording", |number| number.to_string()),
        y: Axis::linear("", label),
        series: all,
    }
}

/// The levels of a part, and the slopes between them.
fn line(series: &Series, part: std::ops::Range<usize>) -> Vec<(f64, f64)> {
    let is_own = |level: &&Level| {
        part.contains(&level.change.at) && matches!(level.change.kind, Kind::Level | Kind::Drift { .. })
    };
    let own: Vec<&Level> = series.levels.iter().filter(is_own).collect();
    let values = series.points[part.clone()].iter().map(|point| point.value);
    let middle = tickmark_stats::median(values).unwrap_or(f64::NAN);
    let mut at = (part.start, own.first().map_or(middle, |level| level.change.before));
    let mut line = Vec::new();
    for level in own {
        line.extend([
            (at.0 as f64 + 1.0, at.1),
            (level.change.at as f64 + f64::from(level.change.end() > level.change.at), level.change.before),
        ]);
        at = (level.change.end(), level.change.after);
    }
    line.extend([(at.0 as f64 + 1.0, at.1), (part.end as f64, at.1)]);
    line
}

/// What changed, newest first; then each series that did, and what did not.
#[must_use]
pub fn text(all: &[Series]) -> String {
    let mut text = answer(all);
    for series in all.iter().filter(|series| all.len() <= DRAWN && series.points.len() > 1) {
        let _ = writeln!(
            text,
            "\n{}",
            plot(series).text(crate::width().saturating_sub(14).clamp(20, 66), 12).trim_end()
        );
    }
    for series in all.iter().filter(|series| has_something(series)) {
        let _ = write!(text, "\n{}", of_series(series));
    }
    text + &notes(all)
}

/// The same as a page that stands alone.
#[must_use]
pub fn html(all: &[Series]) -> String {
    let section = |(number, series): (usize, &Series)| {
        let body = markup! {
            figure { (PreEscaped(plot(series).svg())) }
            pre class="wrapped" { (of_series(series).trim()) }
        };
        Section { id: format!("s{number}"), title: format!("{} {}", series.metric, series.figure), body }
    };
    // What changed comes first.
    let (changed, same): (Vec<&Series>, Vec<&Series>) = all.iter().partition(|series| has_something(series));
    let drawn = changed.into_iter().chain(same).filter(|series| series.points.len() > 1);
    let sections: Vec<Section> = drawn.enumerate().map(section).collect();
    let top = markup! {
        pre class="wrapped" { (answer(all).trim()) }
        p class="note" { (notes(all).trim()) }
    };
    frame::page("tickmark: history", &top, &sections, false)
}

fn has_something(series: &Series) -> bool {
    !(series.levels.is_empty() && series.splits.is_empty() && series.outliers.is_empty())
}

/// The newest change of each figure, a line each.
fn answer(all: &[Series]) -> String {
    let newest = newest(all);
    let enough = all.iter().filter(|series| series.enough()).count() as u32;
    if newest.is_empty() {
        return match (all.is_empty(), enough) {
            (true, _) => {
                format!(
                    "no recording has such a figure; `{}` makes one, --files reads result files\n",
                    command("run")
                )
            }
            (_, 0) => format!(
                "too few recordings of one machine to see a change: seven are needed; `{}` each day makes them, --files reads other programs' histories\n",
                command("run")
            ),
            _ => format!("no change is shown in {}\n", count(enough, "figure")),
        };
    }
    let mut text = format!("{} of {} changed:\n", newest.len(), count(enough, "figure"));
    for (series, level) in newest.iter().take(ANSWERED) {
        let is_same = |other: &&Series| other.metric == series.metric && other.figure == series.figure;
        let whose = match all.iter().filter(is_same).count() > 1 {
            true => format!(" of {}", printable(&series.machine, false)),
            false => String::new(),
        };
        let line = format!("{} {}{whose}: {}", series.metric, series.figure, words(series, level));
        text += &(wrapped(&line, 2).join("\n") + "\n");
    }
    if newest.len() > ANSWERED {
        let _ = writeln!(text, "  and {} more, below", newest.len() - ANSWERED);
    }
    text
}

/// A change in words: how much, whether that is worse, since when.
fn words(series: &Series, level: &Level) -> String {
    let change = &level.change;
    let since = moment(series, change.at);
    let until = moment(series, change.end());
    match change.kind {
        Kind::Level => format!(
            "{}{} since {since}",
            amount(series, change.before, change.after),
            judged(series, change.before, change.after)
        ),
        Kind::Drift { .. } => format!(
            "drifted by {}{} from {since} to {until}",
            amount(series, change.before, change.after),
            judged(series, change.before, change.after)
        ),
        Kind::Spread => format!(
            "spreads by {} in place of {} since {since}",
            shown(series, change.after),
            shown(series, change.before)
        ),
        Kind::Share { low, high } => format!(
            "of two states ({} and {}) {} of recordings are in the higher one since {since}, {} before",
            shown(series, low),
            shown(series, high),
            number::percent(change.after),
            number::percent(change.before)
        ),
    }
}

fn amount(series: &Series, before: f64, after: f64) -> String {
    match before > 0.0 && after > 0.0 {
        true => number::change(after / before, 1),
        false => format!("{} in place of {}", shown(series, after), shown(series, before)),
    }
}

/// Whether a new level is better or worse, in words behind it.
fn judged(series: &Series, before: f64, after: f64) -> &'static str {
    match (series.better, after.total_cmp(&before)) {
        (Better::Lower, Ordering::Greater) | (Better::Higher, Ordering::Less) => " (worse)",
        (Better::Lower, Ordering::Less) | (Better::Higher, Ordering::Greater) => " (better)",
        _ => "",
    }
}

/// When and what: a time, a commit or a name; the number of the recording where neither is known.
fn moment(series: &Series, at: usize) -> String {
    let Some(point) = series.points.get(at) else { return String::new() };
    let when = point.created.map(|at| at.strftime("%Y-%m-%d %H:%M UTC").to_string());
    let short = |commit: &String| {
        let commit = printable(commit, false);
        let is_hash = commit.len() > SHORT && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hash { commit[..SHORT].to_owned() } else { commit.into_owned() }
    };
    let what = point.commit.as_ref().map(|commit| format!("commit {}", short(commit)));
    let name = |id: &tickmark_store::Id| format!("{} {}", id.short(), printable(&point.name, false));
    let known = when.into_iter().chain(what.or_else(|| point.id.as_ref().map(name)));
    let known: Vec<String> = known.collect();
    match known.is_empty() {
        // Files have names of their own, lines of one file none.
        true if series.points.iter().any(|other| other.name != point.name) => {
            printable(&point.name, false).into_owned()
        }
        true => format!("number {}", at + 1),
        false => known.join(", "),
    }
}

/// A series with its levels, its splits and what lies apart.
fn of_series(series: &Series) -> String {
    let mut text = head(series);
    let first =
        series.levels.iter().find(|level| matches!(level.change.kind, Kind::Level | Kind::Drift { .. }));
    if let Some(first) = first {
        let _ = writeln!(text, "  {:>12}  at first", shown(series, first.change.before));
    }
    let mut splits = series.splits.iter().peekable();
    for level in &series.levels {
        while let Some(split) = splits.next_if(|split| split.at <= level.change.at) {
            text += &of_split(series, split);
        }
        text += &of_level(series, level);
    }
    splits.for_each(|split| text += &of_split(series, split));
    if !series.outliers.is_empty() {
        let one = |at: &usize| moment(series, *at);
        let names: Vec<String> = series.outliers.iter().map(one).take(LISTED).collect();
        let more = series.outliers.len().saturating_sub(LISTED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let line = format!("far from its level, and no change: {}{more}", names.join("; "));
        text += &(wrapped(&line, 2).join("\n") + "\n");
    }
    if let Some(cycle) = series.cycle {
        let _ = writeln!(text, "  a cycle of a {cycle} was taken out before levels were looked for");
    }
    text
}

fn head(series: &Series) -> String {
    let day = |at: Option<&Point>| {
        let when = at.and_then(|point| point.created);
        when.map_or(String::new(), |when| when.strftime("%Y-%m-%d").to_string())
    };
    let (first, last) = (day(series.points.first()), day(series.points.last()));
    let made = count(series.points.len() as u32, "recording");
    let how = match &series.command {
        Some(command) => format!(" ({})", printable(command, false)),
        None if series.length.1.as_f64() > 0.0 => {
            format!(" ({} of {})", count(series.length.0 as u32, "run"), time(series.length.1.as_f64()))
        }
        None => String::new(),
    };
    let span = if first.is_empty() { String::new() } else { format!(", {first} to {last}") };
    let machine = printable(&series.machine, false);
    let line = format!("{} {}: {made} of {machine}{how}{span}", series.metric, series.figure);
    wrapped(&line, 0).join("\n") + "\n"
}

fn shown(series: &Series, level: f64) -> String {
    value(level, None, series.unit)
}

fn of_level(series: &Series, level: &Level) -> String {
    let change = &level.change;
    let mut text = match change.kind {
        Kind::Level => format!(
            "  {:>12}  {}{} from {}",
            shown(series, change.after),
            amount(series, change.before, change.after),
            judged(series, change.before, change.after),
            moment(series, change.at)
        ),
        Kind::Drift { until } => {
            let until = moment(series, until);
            format!(
                "  {:>12}  {}, a slope from {} to {until}",
                shown(series, change.after),
                amount(series, change.before, change.after),
                moment(series, change.at)
            )
        }
        Kind::Spread => format!("  {:>12}  {}", "", words(series, level)),
        Kind::Share { .. } => format!("  {:>12}  {}", "", words(series, level)),
    };
    if change.kind == Kind::Level && change.before > 0.0 {
        let [low, high] =
            [change.size.0, change.size.1].map(|by| number::change(1.0 + by / change.before, 1));
        let _ = write!(text, ", {low} to {high} (95 %)");
    }
    let _ = write!(text, ", p {}", chance(change.p));
    let mut text = hanging(&text);
    if change.between.0 < change.between.1 {
        let line = format!(
            "it may have begun with {} to {} (95 %)",
            moment(series, change.between.0),
            moment(series, change.between.1)
        );
        text += &(wrapped(&line, 16).join("\n") + "\n");
    }
    for fact in level.differences.iter().take(LISTED) {
        text += &(wrapped(&difference(fact), 16).join("\n") + "\n");
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

/// A line that goes on below its third column.
fn hanging(line: &str) -> String {
    let options = crate::folding(crate::width()).subsequent_indent("                ");
    textwrap::fill(line, options) + "\n"
}

fn of_split(series: &Series, split: &Split) -> String {
    let facts: Vec<String> = split.facts.iter().map(difference).collect();
    let step = match &split.step {
        Some(step) if step.before > 0.0 => {
            let [low, high] = [step.size.0, step.size.1].map(|by| number::change(1.0 + by / step.before, 1));
            let apart = step.size.0 > 0.0 || step.size.1 < 0.0;
            let what = if apart {
                amount(series, step.before, step.after)
            } else {
                "no difference is shown".to_owned()
            };
            format!("{what}, {low} to {high} (95 %)")
        }
        _ => "not compared".to_owned(),
    };
    let from = moment(series, split.at);
    hanging(&format!("  {:>12}  split from {from}: {}: {step}", "", facts.join("; ")))
}

/// What holds for all.
fn notes(all: &[Series]) -> String {
    let (enough, few): (Vec<&Series>, Vec<&Series>) = all.iter().partition(|series| series.enough());
    let waves = enough.iter().filter(|series| series.unknowable).count();
    let same = enough.iter().filter(|series| series.levels.is_empty()).count() - waves;
    let figures = |number: usize| count(number as u32, "figure");
    let named = |is: &dyn Fn(&Series) -> bool| {
        let own = enough.iter().filter(|series| is(series));
        let all: Vec<String> = own.map(|series| format!("{} {}", series.metric, series.figure)).collect();
        let more = all.len().saturating_sub(LISTED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", all.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", "))
    };
    let mut lines = Vec::new();
    if waves > 0 {
        lines.push(format!("Of {waves} of {} ({}) it cannot be known: recordings resemble those before them so much that a change is no more than a wave; record on, or side by side (experiment, versus).", figures(enough.len()), named(&|series| series.unknowable)));
    }
    if same > 0 && same + waves < enough.len() {
        lines.push(format!("No change is shown in {same} of {}.", figures(enough.len())));
    }
    let mut passing: Vec<&str> = all.iter().flat_map(|series| series.passing.iter().copied()).collect();
    passing.sort_unstable();
    passing.dedup();
    if !passing.is_empty() {
        lines.push(format!(
            "Not split where these changed, as they change every few recordings: {}.",
            passing.join(", ")
        ));
    }
    let has_twin = |series: &&Series| {
        let is_twin = |other: &Series| {
            (&other.machine, &other.metric, other.figure) == (&series.machine, &series.metric, series.figure)
        };
        all.iter().any(|other| is_twin(other) && other.unit != series.unit)
    };
    let mut twins: Vec<&str> = all.iter().filter(has_twin).map(|series| series.metric.as_str()).collect();
    twins.dedup();
    if !twins.is_empty() {
        lines.push(format!("Measured in more than one unit, a series each: {}.", twins.join(", ")));
    }
    if !few.is_empty() && !enough.is_empty() {
        lines.push(format!("Fewer than seven recordings, which show no change: {}.", figures(few.len())));
    }
    if !enough.is_empty() {
        lines.push("The chance that any change is shown where nothing changed is about 5 %, also where a recording resembles the one before (CUSUM, against simulated series of the same noise; docs/methodology/series.md).".to_owned());
    }
    let lines: Vec<String> = lines.iter().map(|line| wrapped(line, 0).join("\n")).collect();
    if lines.is_empty() { String::new() } else { format!("\n{}\n", lines.join("\n")) }
}
