//! Many machines, as text and as a page.

mod links;
mod page;

pub use page::html;

use crate::fold::{shortened, wrapped};
use crate::grid::fitting_table;
use crate::number::{change, percent, value};
use anstyle::{AnsiColor, Style};
use std::collections::BTreeMap;
use std::fmt::Write;
use tickmark_analysis::fleet::links::Links;
use tickmark_analysis::fleet::{Difference, Model, Node, OutlierNode, OutlyingMetric};
use tickmark_analysis::report::Unit;

const HEADING: Style = Style::new().bold();
const FOUND: Style = AnsiColor::Yellow.on_default();

/// More lines of one kind than this are counted.
const MOST: usize = 20;

/// Conclusion of a survey that has ended, with its folder.
#[must_use]
pub fn ended(nodes: &[Node], folder: &str) -> String {
    let mut outcomes = BTreeMap::new();
    nodes.iter().for_each(|node| *outcomes.entry(node.outcome.clone()).or_default() += 1);
    let mut out = summary(nodes.len(), &outcomes);
    missing(
        &mut out,
        &nodes.iter().filter(|node| node.outcome != "complete" || node.why.is_some()).collect::<Vec<_>>(),
    );
    let _ = writeln!(out, "\nsaved in {folder}        tickmark fleet report {folder}");
    if outcomes.get("complete") != Some(&nodes.len()) {
        let _ = writeln!(out, "missing machines        tickmark fleet run --resume {folder}");
    }
    out
}

/// Conclusion of links that were measured now, with the survey's folder.
#[must_use]
pub fn measured_links(found: &Links, folder: &str) -> String {
    let mut out = format!("{HEADING}Links between machines{HEADING:#}\n");
    links::text(&mut out, found);
    let _ = writeln!(out, "\nsaved in {folder}        tickmark fleet report {folder}");
    out
}

/// `4 machines: 3 complete, 1 silent`.
fn summary(nodes: usize, outcomes: &BTreeMap<String, usize>) -> String {
    let parts: Vec<String> = outcomes.iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
    let noun = if nodes == 1 { "machine" } else { "machines" };
    format!("{nodes} {noun}: {}\n", parts.join(", "))
}

fn missing(out: &mut String, nodes: &[&Node]) {
    for node in nodes.iter().take(MOST) {
        let why = node.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
        for line in wrapped(&format!("{FOUND}{}{FOUND:#} {}{why}", node.name, node.outcome), 2) {
            let _ = writeln!(out, "{line}");
        }
    }
    if nodes.len() > MOST {
        let _ = writeln!(out, "  and {} more", nodes.len() - MOST);
    }
}

/// The report of a survey; so many of the worst are `hidden`.
#[must_use]
pub fn text(model: &Model, id: &str, when: &str, hidden: usize) -> String {
    let nodes = model.outcomes.values().sum();
    let mut out = format!("{HEADING}survey {id}{HEADING:#}, {when}, {}", summary(nodes, &model.outcomes));
    missing(&mut out, &model.missing.iter().collect::<Vec<_>>());
    let _ = writeln!(out, "\n{HEADING}Machines that are worse than the others{HEADING:#}");
    if model.judged == 0 {
        let _ = writeln!(out, "  not judged: fewer than 5 machines have the same metric");
    } else if model.worst.is_empty() {
        let _ = writeln!(out, "  none");
    }
    for (number, bad) in model.worst.iter().enumerate() {
        self::bad(&mut out, number + 1, bad, nodes);
    }
    if hidden > 0 {
        let _ = writeln!(out, "  and {hidden} more (--worst N)");
    }
    if !model.better.is_empty() {
        let names: Vec<&str> = model.better.iter().take(MOST).map(|one| one.node.as_str()).collect();
        let more = model.better.len().saturating_sub(MOST);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let line =
            format!("Better than the others in something, and worse in nothing: {}{more}", names.join(", "));
        wrapped(&line, 2).iter().for_each(|line| out += &format!("{line}\n"));
    }
    if model.judged > 0 {
        wrapped(&rule(model), 2).iter().for_each(|line| out += &format!("{line}\n"));
    }
    groups(&mut out, &model.groups);
    if let Some(found) = &model.links {
        let _ = writeln!(out, "\n{HEADING}Links between machines{HEADING:#}");
        links::text(&mut out, found);
    }
    let _ = writeln!(out, "\n{HEADING}What the doctor found{HEADING:#}");
    if model.findings.is_empty() {
        let _ = writeln!(out, "  nothing");
    }
    let mut findings: Vec<_> = model.findings.iter().collect();
    findings.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for (check, count) in findings {
        let _ = writeln!(out, "  {count:>6} of {nodes}  {}", crate::doctor::title(check));
    }
    metrics(&mut out, model);
    out
}

/// Error rates of the rule.
fn rule(model: &Model) -> String {
    format!(
        "Equal machines would be named in {} of surveys (all {} metrics together, if their logarithms are normal); differences below {} are none. Equal groups: as often again",
        percent(model.false_alarm),
        model.judged,
        percent(model.margin)
    )
}

fn bad(out: &mut String, number: usize, bad: &OutlierNode, nodes: usize) {
    let recording = bad.recording.as_deref().map_or("", |id| id.get(..8).unwrap_or(id));
    let _ = writeln!(out, "\n{number}. {FOUND}{}{FOUND:#}  {recording}", bad.node);
    for apart in bad.apart.iter().take(5) {
        let _ = writeln!(out, "   {}", self::apart(apart));
    }
    if bad.apart.len() > 5 {
        let _ = writeln!(out, "   and {} more metrics", bad.apart.len() - 5);
    }
    for found in bad.found.iter().filter(|found| found.nodes * 2 <= nodes || nodes < 5) {
        let often =
            if found.nodes == 1 { "here alone".to_owned() } else { format!("on {} of {nodes}", found.nodes) };
        for line in wrapped(
            &format!(
                "found: {} ({often}): {}",
                crate::doctor::title(&found.check),
                crate::doctor::advice(&found.check)
            ),
            3,
        ) {
            let _ = writeln!(out, "{line}");
        }
    }
    for unlike in bad.unlike.iter().take(6) {
        let line = format!(
            "unlike most: {} is {}, there {}",
            unlike.fact,
            shortened(&unlike.value, 60),
            shortened(&unlike.usual, 60)
        );
        wrapped(&line, 3).iter().for_each(|line| *out += &format!("{line}\n"));
    }
}

fn apart(apart: &OutlyingMetric) -> String {
    let of = |number| value(number, None, apart.unit);
    format!("{} {}: {}", apart.metric, of(apart.value), against(apart.value, apart.median, apart.unit))
}

/// How a value stands to a median.
fn against(own: f64, median: f64, unit: Unit) -> String {
    let ratio = own / median;
    let usual = value(median, None, unit);
    match ratio {
        ratio if !ratio.is_finite() => format!("the median is {usual}"),
        ratio if ratio >= 2.0 => format!("{ratio:.1} times the median ({usual})"),
        ratio if ratio > 0.0 => format!("{} of the median ({usual})", change(ratio, 0)),
        _ => format!("the median is {usual}"),
    }
}

/// A group in a sentence.
fn group(one: &Difference) -> String {
    let facts: Vec<String> =
        one.set.facts.iter().take(3).map(|(name, is)| format!("{name} {}", shortened(is, 60))).collect();
    let more = one.set.facts.len().saturating_sub(3);
    let more = if more > 0 { format!(" and {more} more facts") } else { String::new() };
    format!(
        "{} machines with {}{more}: {} {}, {} the others ({}), p = {}",
        one.set.nodes,
        facts.join(", "),
        one.metric,
        value(one.median, None, one.unit),
        match one.ratio() {
            ratio if !ratio.is_finite() => "against".to_owned(),
            ratio if ratio >= 2.0 => format!("{ratio:.1} times"),
            ratio => format!("{} of", change(ratio, 1)),
        },
        value(one.others, None, one.unit),
        if one.p < 1e-4 { "<.0001".to_owned() } else { format!("{:.4}", one.p) },
    )
}

fn groups(out: &mut String, groups: &[Difference]) {
    let _ = writeln!(out, "\n{HEADING}Groups that differ from all others{HEADING:#}");
    if groups.is_empty() {
        let _ = writeln!(out, "  none");
    }
    for one in groups.iter().take(MOST) {
        wrapped(&group(one), 2).iter().for_each(|line| *out += &format!("{line}\n"));
    }
    if groups.len() > MOST {
        let _ = writeln!(out, "  and {} more", groups.len() - MOST);
    }
}

fn metrics(out: &mut String, model: &Model) {
    let _ = writeln!(out, "\n{HEADING}Over the machines{HEADING:#} (the median of each machine's runs)");
    let heading = ["metric", "machines", "min", "5 %", "median", "95 %", "max", "apart above"]
        .map(str::to_owned)
        .to_vec();
    let rows = model.metrics.iter().map(|one| {
        let of = |number| value(number, None, one.unit);
        let above = one.limits.map_or_else(|| "-".to_owned(), |limits| of(limits[1]));
        let cells = one.quantiles.map(of);
        [one.metric.clone(), one.nodes.to_string()].into_iter().chain(cells).chain([above]).collect()
    });
    let rows: Vec<Vec<String>> = std::iter::once(heading).chain(rows).collect();
    // The quantiles between go first, then the ends.
    fitting_table(out, &rows, &[1, 2, 3, 4, 5, 6, 7], &[3, 5, 1, 2, 6]);
}

/// A value that is above what was asked for.
#[must_use]
pub fn above(metric: &str, is: f64, most: f64, unit: Unit) -> String {
    format!("{metric} {}, more than {}", value(is, None, unit), value(most, None, unit))
}
