//! For a terminal: the answer, then what changed, then the rest and what it rests on.

use super::kinds::{Kind, answer, by_kind, largest, next};
use super::strip;
use super::words::{self, Printed};
use crate::fold::{hanging, wrapped};
use crate::grid::{lines, width};
use crate::number::percent;
use anstyle::{AnsiColor, Style};
use std::collections::BTreeMap;
use std::fmt::Write;
use tickmark_analysis::comparison::{Against, Basis, Line, Marked, Model, NoClaimReason, Word};
use tickmark_analysis::report::Mark;

/// Facts that are listed.
const LISTED: usize = 12;
/// The narrowest column of names beside figures.
const NARROWEST: usize = 16;

const WORSE: Style = AnsiColor::Red.on_default().bold();
const BETTER: Style = AnsiColor::Green.on_default().bold();
const HEADING: Style = Style::new().bold();

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
    let _ = writeln!(out, "\n{}", wrapped(&words::legend(model), 0).join("\n"));
    out
}

fn write_comparison(out: &mut String, model: &Model, against: &Against) {
    let _ = writeln!(out, "{}", wrapped(&answer(against, model.margin), 0).join("\n"));
    if let Some(line) = largest(against, model.margin) {
        let _ = writeln!(out, "{}", hanging(&line));
    }
    let next = next(against);
    next.iter().for_each(|next| {
        let _ = writeln!(out, "{}", hanging(next));
    });
    out.push('\n');
    for line in words::parties(model, against) {
        let _ = writeln!(out, "{}", hanging(&line));
    }
    let contended = usual_contention(against);
    let said: Vec<&str> = contended.iter().flatten().map(String::as_str).collect();
    if !said.is_empty() {
        let line = format!(
            "contended: other tasks had a share of the CPU, up to {} (--format json has each)",
            said.join(" and ")
        );
        let _ = writeln!(out, "{}", hanging(&line));
    }
    let medians = usual_medians(against);
    if let Some(count) = medians {
        let line = format!(
            "~ a median instead of the floor on both sides, as batches are too few: {count} of {} figures",
            against.lines.len()
        );
        let _ = writeln!(out, "{}", hanging(&line));
    }
    for (kind, of_kind) in by_kind(against) {
        // The mark of a side of which it is said stands with none of its figures.
        let is_said =
            |one: &Marked| one.sides.iter().zip(&contended).all(|(has, said)| !has || said.is_some());
        let without = |line: &&Line| {
            let mut line = (*line).clone();
            line.marks.retain(|one| !matches!(one.mark, Mark::Contended { .. }) || !is_said(one));
            if medians.is_some() && is_median(&line) {
                line.marks.retain(|one| !is_median_of_both(one));
                line.figure = "~floor";
            }
            line
        };
        table(out, model, against, kind, &of_kind.iter().map(without).collect::<Vec<_>>());
    }
    out.push('\n');
    let mut rest = words::environment(model, against, LISTED);
    rest.extend(words::notes(against));
    rest.push(words::summary(against));
    rest.extend(words::groups(against));
    rest.extend(words::without(model, against));
    for line in rest {
        let _ = writeln!(out, "{}", hanging(&line));
    }
}

/// True if a median stands in the place of the floor on both sides; of one side alone it is said in words.
fn is_median(line: &Line) -> bool {
    line.marks.iter().any(is_median_of_both)
}

fn is_median_of_both(one: &Marked) -> bool {
    matches!(one.mark, Mark::Median) && one.sides == [true, true]
}

/// How many figures are medians in the place of floors on both sides, where a quarter are.
fn usual_medians(against: &Against) -> Option<usize> {
    let count = against.lines.iter().filter(|line| is_median(line)).count();
    Some(count).filter(|count| *count > 1 && count * 4 >= against.lines.len())
}

/// What other tasks had of the CPU, of each side of which more than half of the figures were measured beside them.
fn usual_contention(against: &Against) -> [Option<String>; 2] {
    let all = against.lines.len();
    [(0, "baseline"), (1, "candidate")].map(|(side, name)| {
        let share = |one: &Marked| match one.mark {
            Mark::Contended { share, .. } if one.sides[side] => Some(share),
            _ => None,
        };
        let most = |line: &Line| line.marks.iter().filter_map(share).reduce(f64::max);
        let shares: Vec<f64> = against.lines.iter().filter_map(most).collect();
        let count = shares.len();
        let most = shares.into_iter().reduce(f64::max).filter(|_| count > 1 && count * 2 > all)?;
        Some(format!("{} in {count} of {all} figures of the {name}", percent(most)))
    })
}

/// How many replicates would decide a figure of which nothing else is to be said.
fn needed(line: &Line, basis: &Basis, printed: &Printed) -> Option<usize> {
    let Some(why @ NoClaimReason::Needs(needed)) = line.why else { return None };
    let plain = format!("{}: {}", words::word(Word::Undecided), words::open_reason(why, line, basis));
    (printed.verdict == plain).then_some(needed)
}

/// Above such figures.
fn deciding(basis: &Basis) -> String {
    format!("undecided; how many {} would decide in 4 of 5 cases", words::replicates(basis))
}

/// The figures of a kind; the verdict that most of them have stands above.
fn table(out: &mut String, model: &Model, against: &Against, kind: Kind, of_kind: &[Line]) {
    let printed: Vec<Printed> =
        of_kind.iter().map(|line| words::printed(line, &against.basis, model.margin)).collect();
    let mut counts = BTreeMap::<&str, usize>::new();
    printed.iter().for_each(|one| *counts.entry(&one.verdict).or_default() += 1);
    let usual =
        counts.into_iter().max_by_key(|(_, count)| *count).filter(|(_, count)| *count * 2 > printed.len());
    let usual = usual.map(|(verdict, _)| verdict);
    // How many replicates would decide is a column where most figures have nothing else to say.
    let needed: Vec<Option<usize>> =
        of_kind.iter().zip(&printed).map(|(line, one)| needed(line, &against.basis, one)).collect();
    let is_column = usual.is_none() && needed.iter().flatten().count() * 2 > needed.len();
    let deciding = deciding(&against.basis);
    let heading = if is_column { &deciding } else { usual.unwrap_or(kind.heading()) };
    let style = match kind {
        Kind::Worse => WORSE,
        Kind::Better => BETTER,
        _ => HEADING,
    };
    let _ = writeln!(out, "\n{style}{}{style:#}", hanging(heading));
    let heads =
        ["", "baseline", "candidate", "change", words::range(&against.basis), "x baseline, o candidate"];
    let mut grid = vec![heads.map(str::to_owned).to_vec()];
    grid.extend(of_kind.iter().zip(&printed).zip(&needed).map(|((line, one), needed)| {
        let figure = if line.figure == "value" { String::new() } else { line.figure.to_owned() };
        let [base, candidate] = one.means.clone();
        let strip = strip::text(&strip::places(&line.values));
        let last =
            if is_column { needed.map_or_else(String::new, |needed| needed.to_string()) } else { strip };
        vec![figure, base, candidate, one.change.clone(), one.interval.clone(), last]
    }));
    if is_column {
        words::replicates(&against.basis).clone_into(&mut grid[0][5]);
    }
    // Columns that have no room are left out: first where the values lie, then the candidate, which the change gives, or both means.
    let columns_width = |grid: &[Vec<String>]| {
        lines(grid.to_vec(), 1..5).iter().map(|line| line.chars().count()).max().unwrap_or(0)
    };
    // Where it is not known, the interval is not, either.
    let has_change = of_kind.iter().all(|line| line.ratio.is_some_and(f64::is_finite));
    let dropped = match (is_column, has_change) {
        (true, _) => [2, 1],
        (false, true) => [5, 2],
        (false, false) => [5, 4],
    };
    for dropped in dropped {
        if columns_width(&grid) + NARROWEST + 4 > width() {
            grid.iter_mut().for_each(|row| {
                row.remove(dropped);
            });
        }
    }
    let last = grid[0].len() - usize::from(!is_column && grid[0].len() == 6);
    let cells = lines(grid, 1..last);
    let room = width().saturating_sub(4 + cells.iter().map(|line| line.chars().count()).max().unwrap_or(0));
    let longest = of_kind.iter().map(|line| line.metric.chars().count()).max().unwrap_or(0);
    let room = room.min(longest);
    let mut before = "";
    let _ = writeln!(out, "  {:room$}  {}", "", cells[0]);
    for (((line, one), needed), cells) in of_kind.iter().zip(&printed).zip(&needed).zip(&cells[1..]) {
        let is_new = line.metric != before;
        before = &line.metric;
        let name = if is_new { line.metric.as_str() } else { "" };
        if name.chars().count() > room {
            let _ = writeln!(out, "  {name}\n  {:room$}  {cells}", "");
        } else {
            let _ = writeln!(out, "  {name:room$}  {cells}");
        }
        if usual != Some(one.verdict.as_str()) && !(is_column && needed.is_some()) {
            let _ = writeln!(out, "{}", wrapped(&one.verdict, 6).join("\n"));
        }
    }
}
