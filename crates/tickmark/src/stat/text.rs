//! The page that `tickmark stat` prints.

use super::c_format::g;
use super::distances::Distances;
use super::figures::SYMBOLS;
use super::model::{Against, Model, Set};
use std::fmt::Write;
use tickmark_render::comparison::{order, states};
use tickmark_render::count;
use tickmark_stats::verdict::{Test, Verdict};

/// Digits of a value.
const DIGITS: usize = 8;

pub(crate) fn render(model: &Model, plot: Option<&str>) -> String {
    let mut out = String::new();
    for (set, symbol) in model.sets.iter().zip(&SYMBOLS[1..]) {
        let _ = writeln!(out, "{symbol} {}", set.name);
    }
    out.push_str(plot.unwrap_or_default());
    let heads = ["", "N", "min", "max", "median", "mean", "std dev"].map(str::to_owned);
    let mut grid = vec![heads];
    for (set, symbol) in model.sets.iter().zip(&SYMBOLS[1..]) {
        let s = &set.summary;
        let digits = |value: f64| match set.origin {
            0 => g(value, DIGITS),
            origin => Distances::text(origin, value),
        };
        let [a, b, c, d] = [s.least, s.most, s.median, s.mean].map(digits);
        let e = g(s.deviation, DIGITS);
        grid.push([symbol.to_string(), s.count.to_string(), a, b, c, d, e]);
    }
    let width = |column: usize| grid.iter().map(|line| line[column].len()).max().unwrap_or(0);
    for line in &grid {
        let _ = write!(out, "{}", line[0].replace(' ', ""));
        let _ = write!(out, "{:1$}", "", 1 - line[0].len().min(1));
        for (column, cell) in line.iter().enumerate().skip(1) {
            let _ = write!(out, "  {cell:>0$}", width(column));
        }
        out.push('\n');
    }
    for (index, set) in model.sets.iter().enumerate() {
        notes(&mut out, SYMBOLS[index + 1], set, model.manner.paired);
    }
    for against in &model.against {
        compared(&mut out, model, against);
    }
    if model.against.len() > 1 {
        let _ = writeln!(out, "claims are corrected for {} comparisons", model.against.len());
    }
    if let Some(why) = &model.left_out {
        let _ = writeln!(out, "{why}");
    }
    out
}

/// Notes on a set that is not independent values around one mean.
fn notes(out: &mut String, symbol: char, set: &Set, paired: bool) {
    let outliers = &set.outliers;
    if outliers.count > 0 {
        let listed: Vec<String> = outliers.listed.iter().map(|value| g(*value, DIGITS)).collect();
        let more = if outliers.count > listed.len() { " ..." } else { "" };
        let what = match (outliers.dropped, paired) {
            (true, _) => "dropped, as asked",
            (false, true) => "kept",
            (false, false) => "kept; --drop-outliers removes them",
        };
        let all = count(outliers.count as u32, "outlier");
        let _ = writeln!(out, "{symbol} {all} ({}{more}): {what}", listed.join(", "));
    }
    if set.sorted && set.summary.deviation > 0.0 {
        let _ = writeln!(out, "{symbol} is sorted: drift during the measurement cannot be checked");
    }
    if let Some((observed, true)) = set.lag_1.filter(|(observed, _)| *observed > 0.0) {
        let _ = writeln!(
            out,
            "{symbol} successive values are correlated (lag-1 correlation {observed:.2}): intervals are too narrow"
        );
    }
    if let Some(drift) = set.drift.filter(|drift| drift.p < 0.01) {
        let (over, p) = (g(drift.over, 4), g(drift.p, 2));
        let _ = writeln!(
            out,
            "{symbol} drifts by {over} from first to last (p = {p}): the order in which sets were taken matters"
        );
    }
}

fn compared(out: &mut String, model: &Model, against: &Against) {
    let (base, other) = (SYMBOLS[1], SYMBOLS[against.set + 1]);
    let level = model.manner.rule.level;
    let confidence = g((1.0 - level) * 100.0, 4);
    let c = &against.comparison;
    let _ = writeln!(out, "\n{other} against {base}: {}", words(model, against));
    let [a, b] = c.means;
    let _ = write!(out, "  difference of means {}", g(b - a, 6));
    if let Some(difference) = &against.difference {
        let i = difference.interval(1.0 - level);
        let _ = write!(out, ", {confidence} % [{}, {}]", g(i.low, 6), g(i.high, 6));
    }
    out.push('\n');
    match (c.ratio, c.interval) {
        (Some(ratio), Some(i)) => {
            let percent = |ratio: f64| format!("{:+.4} %", (ratio - 1.0) * 100.0);
            let [point, low, high] = [ratio, i.low, i.high].map(percent);
            let _ = writeln!(out, "  change {point}, {confidence} % [{low}, {high}] (Fieller)");
        }
        (Some(ratio), None) => {
            let _ = writeln!(out, "  change {:+.4} %, which has no interval", (ratio - 1.0) * 100.0);
        }
        (None, _) => out.push_str("  no percentage: the mean of the baseline is not above zero\n"),
    }
    if let Some(d) = &against.difference {
        let name = if model.manner.paired { "paired t" } else { "Welch's t" };
        let _ = writeln!(out, "  {name} {}, df {}, p = {}", g(d.t(), 5), g(d.df, 5), g(d.p(), 4));
    }
    let values = model.sets[0].summary.count + model.sets[against.set].summary.count;
    // What is sorted was said of its set.
    for note in
        c.order.iter().filter(|order| !order.sorted).flat_map(|of| order(of, values, &|drift| g(drift, 4)))
    {
        let _ = writeln!(out, "  {note}");
    }
    if let Some(note) = exact_step(model, against) {
        let _ = writeln!(out, "{note}");
    }
    let adjusted = c.adjusted.filter(|_| model.against.len() > 1);
    let corrected = adjusted.map_or(String::new(), |p| format!("corrected {}", g(p, 4)));
    match (c.test, c.p) {
        (Some(Test::Labels(labels)), Some(p)) => {
            let how = if model.manner.paired { "sign flips" } else { "permutations" };
            // Of many labellings some are drawn: less than one of them is not told.
            let p = if p <= labels.least(1) { format!("at most {}", g(p, 4)) } else { g(p, 4) };
            let corrected = if corrected.is_empty() { corrected } else { format!(", {corrected}") };
            let _ = writeln!(out, "  by {how} p = {p}{corrected}");
        }
        _ if !corrected.is_empty() => drop(writeln!(out, "  {corrected}")),
        _ => {}
    }
    if let Some((ratio, i)) = c.middle.filter(|_| c.by_middle) {
        let percent = |ratio: f64| format!("{:+.4} %", (ratio - 1.0) * 100.0);
        let [point, low, high] = [ratio, i.low, i.high].map(percent);
        let _ = writeln!(out, "  change of the trimmed means {point}, {confidence} % [{low}, {high}]");
    }
    if let Some((shift, i, sure)) = against.shift {
        let [point, low, high] = [shift, i.low, i.high].map(|value| g(value, 6));
        let p = against.ranks.map_or(String::new(), |ranks| {
            let how = if ranks.exact { "exact" } else { "asymptotic" };
            format!(", p = {} (Mann-Whitney, {how})", g(ranks.p, 4))
        });
        let sure = g(sure * 100.0, 4);
        let _ = writeln!(out, "  by ranks: shift {point}, {sure} % [{low}, {high}] (Hodges-Lehmann){p}");
    }
    if let Some((point, i)) = against.medians {
        let [point, low, high] = [point, i.low, i.high].map(|value| g(value, 6));
        let _ = writeln!(out, "  difference of medians {point} [{low}, {high}] (bootstrap, BCa)");
    }
    if let Some(found) = &against.states {
        let _ = writeln!(out, "  {}", states(found, &|value| g(value, 6)));
    }
}

/// One step of the last digit, where no value varies and that step may hide or make a change beyond the margin.
fn exact_step(model: &Model, against: &Against) -> Option<String> {
    let base = against.comparison.means[0].abs();
    let share = model.manner.step / base;
    (against.difference.is_none() && base > 0.0 && share > model.manner.rule.margin).then(|| {
        format!(
            "  no value varies: they are taken as exact numbers; one step of their last digit is {} %",
            g(share * 100.0, 3)
        )
    })
}

fn words(model: &Model, against: &Against) -> String {
    let margin = g(model.manner.rule.margin * 100.0, 4);
    match against.comparison.verdict {
        Verdict::Beyond => format!("changed by more than {margin} %"),
        Verdict::Changed => "changed".to_owned(),
        Verdict::BelowMargin => format!("changed, but by less than {margin} %"),
        Verdict::Equivalent => format!("equivalent within {margin} %"),
        _ if against.comparison.withheld.is_some() => {
            let why = against.comparison.withheld.map_or("", tickmark_render::comparison::withheld);
            format!("undecided: {why}")
        }
        Verdict::Undecided { needed: Some(values) } => {
            let both = if model.manner.paired { "pairs" } else { "values a side" };
            format!("undecided: {values} {both} would decide in 4 of 5 cases, for a margin of {margin} %")
        }
        Verdict::Undecided { needed: None } if against.difference.is_none() => {
            "undecided: the values do not vary".to_owned()
        }
        Verdict::Undecided { needed: None } => "undecided".to_owned(),
    }
}
