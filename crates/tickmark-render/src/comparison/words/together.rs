//! Words on several figures, or on several settings, together.

use super::{by_pace, chance, percent};
use crate::number::count;
use tickmark_analysis::comparison::{Against, Doses, GroupLine, TrendLine};
use tickmark_stats::trend::Trend;
use tickmark_wire::Better;

/// The groups that changed, a line each, and how many did not.
pub(crate) fn groups(against: &Against) -> Vec<String> {
    let (changed, same): (Vec<&GroupLine>, Vec<&GroupLine>) =
        against.groups.iter().partition(|group| group.changed);
    let mut lines: Vec<String> = changed.into_iter().map(group).collect();
    if !same.is_empty() {
        let what = if lines.is_empty() { "group" } else { "more group" };
        lines.push(format!("no change is proven of {}", count(same.len() as u32, what)));
    }
    lines
}

/// A group of figures, in a line.
pub(crate) fn group(line: &GroupLine) -> String {
    let [lower, higher] = line.moved;
    let (way, direction) = if line.rises { (higher, "higher") } else { (lower, "lower") };
    let said = match (line.changed, line.worse(), line.better) {
        (false, ..) => "no change of the group is proven",
        (true, _, Better::Neither | Better::Other(_)) => "the group changed",
        (true, true, _) => "the group changed, worse",
        (true, false, _) => "the group changed, better",
    };
    let figure = if line.figure == "value" { String::new() } else { format!(", {}", line.figure) };
    let by_call = if line.by_call { " by call" } else { "" };
    let pace = line.by_pace.map_or(String::new(), |pace| format!(", {}", by_pace(pace)));
    let mean = percent(line.ratio);
    let mean = if line.rises == (line.ratio > 1.0) {
        format!("{mean} on the geometric mean")
    } else {
        format!("against {mean} on the geometric mean, as few figures change much")
    };
    format!(
        "{}{by_call}{figure}{pace}: {way} of {} {direction}, {mean}; {said} (p = {})",
        line.group.title(),
        line.figures,
        chance(line.adjusted)
    )
}

/// How figures follow settings that are numbers, as lines: those with a trend, and how many have none.
pub(crate) fn doses(doses: &Doses) -> Vec<String> {
    let one = |line: &&TrendLine| {
        let Trend { slope, interval, .. } = line.trend;
        let figure = if line.figure == "value" { String::new() } else { format!(" {}", line.figure) };
        let span = doses.doses.last().unwrap_or(&0.0) - doses.doses.first().unwrap_or(&0.0);
        // What the line gives over all settings, as a share of the first.
        let over = |slope: f64| percent(1.0 + slope * span / line.base);
        format!(
            "{}{figure}: {} over the settings ({} to {}), p = {}",
            line.metric,
            over(slope),
            over(interval.low),
            over(interval.high),
            chance(line.adjusted)
        )
    };
    let mut lines: Vec<String> =
        doses.lines.iter().filter(|line| line.rises_or_falls).map(|line| one(&line)).collect();
    let none = doses.lines.len() - lines.len();
    lines.insert(
        0,
        format!(
            "trend over {} (a line through the settings; Page's test of one direction):",
            doses.settings.join(", ")
        ),
    );
    if none > 0 {
        lines.push(format!("no trend is proven of {none} of {} figures", doses.lines.len()));
    }
    lines
}
