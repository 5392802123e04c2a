//! Links between machines.

use super::MOST;
use crate::fold::wrapped;
use crate::grid::fitting_table;
use crate::number::{percent, time, value};
use maud::{Markup, html};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use tickmark_analysis::fleet::links::{LinkMetric, LinkRole, Links, Missing, Slow, SlowMachine, Spread};
use tickmark_analysis::report::Unit;

/// Pairs and machines on a page.
const ON_PAGE: usize = 200;

fn unit(way: LinkMetric) -> Unit {
    if way == LinkMetric::Trip { Unit::Nanoseconds } else { Unit::Throughput }
}

/// How far a value is from another, so that worse is more.
fn against(way: LinkMetric, own: f64, usual: f64) -> String {
    let of = |number| value(number, None, unit(way));
    let ratio = if way == LinkMetric::Trip { own / usual } else { usual / own };
    match (way, ratio >= 2.0) {
        _ if !ratio.is_finite() => format!("{} and not {}", of(own), of(usual)),
        (LinkMetric::Trip, true) => format!("{} and not {}: {ratio:.1} times as long", of(own), of(usual)),
        (LinkMetric::Trip, false) => {
            format!("{} and not {}: {:.0} % longer", of(own), of(usual), (ratio - 1.0) * 100.0)
        }
        (LinkMetric::Stream, _) => {
            format!("{} and not {}: {:.0} % less", of(own), of(usual), (1.0 - own / usual) * 100.0)
        }
    }
}

/// Where an end had to wait for its own machine.
fn waited(share: Option<f64>) -> String {
    let share = share.filter(|share| *share >= 0.01);
    share.map_or_else(String::new, |share| {
        format!("; an end was without a CPU for {:.0} % of the time", share * 100.0)
    })
}

/// A slow pair in a sentence.
fn slow(one: &Slow) -> String {
    let between = match one.way {
        LinkMetric::Trip => format!("{} and {}: a byte takes", one.from, one.to),
        LinkMetric::Stream => format!("from {} to {}: a stream has", one.from, one.to),
    };
    let times =
        if one.measured > 1 { format!("; the best of {} times", one.measured) } else { String::new() };
    let resent = one.resent.filter(|resent| *resent > 0.0);
    let resent = resent.map_or_else(String::new, |resent| {
        format!("; {resent:.0} or more TCP segments sent again each time")
    });
    let (against, waited) = (against(one.way, one.value, one.usual), waited(one.waited));
    format!("{between} {against}{times}{resent}{waited}")
}

/// A slow machine in a sentence.
fn machine(one: &SlowMachine) -> String {
    let (part, way) = match one.part {
        LinkRole::Trips => ("a byte to another and back takes", LinkMetric::Trip),
        LinkRole::Sends => ("a stream to another has", LinkMetric::Stream),
        LinkRole::Receives => ("a stream from another has", LinkMetric::Stream),
    };
    let (against, waited) = (against(way, one.value, one.median), waited(one.waited));
    format!("{}: {part} {against} (median of {} pairs{waited})", one.node, one.pairs)
}

fn missing(one: &Missing) -> String {
    let other = one.other.as_ref().map_or_else(String::new, |other| format!(" and {other}"));
    format!("{}{other}: {}", one.node, one.why)
}

fn summary(links: &Links) -> String {
    let judged = match links.judged {
        0 => "; none judged: a machine needs 3 pairs (--rounds)".to_owned(),
        judged if judged < links.nodes => {
            format!("; {judged} machines judged, the others have fewer than 3 pairs")
        }
        _ => String::new(),
    };
    let few = links.judged > 0 && !links.machines_judged;
    let few = if few { "; fewer than 5 machines to judge by each other: pairs alone are judged" } else { "" };
    let how = &links.how;
    let at_once = match how.at_once {
        None => "all pairs of a round at once".to_owned(),
        Some(1) => "one pair at a time".to_owned(),
        Some(count) => format!("{count} pairs at once"),
    };
    let network =
        how.network.as_ref().map_or_else(String::new, |network| format!(", in the network of {network}"));
    format!(
        "{} pairs of {} machines over TCP{network}; trips for {}, a stream as long each way, {at_once}{judged}{few}",
        links.pairs,
        links.nodes,
        time(how.time as f64)
    )
}

/// Error rates of the rule; none where nothing was judged.
fn rule(links: &Links) -> Option<String> {
    (links.judged > 0).then(|| {
        format!(
            "Of equal machines and links any would be named in {} of surveys, if their logarithms are normal; differences below {} are none",
            percent(links.false_alarm),
            percent(links.margin)
        )
    })
}

/// First lines of the page, where something is slow.
pub(super) fn lead(links: &Links) -> Option<String> {
    let pairs: BTreeSet<(&str, &str)> = links
        .slow
        .iter()
        .map(|one| (one.from.as_str().min(&one.to), one.from.as_str().max(&one.to)))
        .collect();
    let machines: BTreeSet<&str> = links.machines.iter().map(|one| one.node.as_str()).collect();
    let are = |count: usize, one: &str, more: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {more}"),
    };
    (pairs.len() + machines.len() > 0).then(|| {
        format!(
            "Links: {} of {} measured, and {} slow to those that they met",
            are(pairs.len(), "slow pair", "slow pairs"),
            links.pairs,
            are(machines.len(), "machine is", "machines are")
        )
    })
}

/// Parts on links, each under its heading: judged and normal ones, and failures.
fn parts(links: &Links) -> Vec<(&'static str, Vec<String>)> {
    let slow = links.slow.iter().map(slow).collect();
    let machines = links.machines.iter().map(machine).collect();
    let missing: Vec<String> = links.missing.iter().map(missing).collect();
    let all = [
        ("Slow pairs, of machines that are not slow to others", slow, links.judged > 0),
        ("Machines that are slow to those that they met", machines, links.machines_judged),
        ("Not measured", missing.clone(), !missing.is_empty()),
    ];
    all.into_iter().filter(|(_, _, is_told)| *is_told).map(|(heading, lines, _)| (heading, lines)).collect()
}

/// The heading of a figure.
fn what(way: LinkMetric) -> &'static str {
    match way {
        LinkMetric::Trip => "a byte there and back",
        LinkMetric::Stream => "a stream, each way",
    }
}

fn cells(one: &Spread) -> Vec<String> {
    let figures = one.quantiles.map(|quantile| value(quantile, None, unit(one.way)));
    [what(one.way).to_owned(), one.count.to_string()].into_iter().chain(figures).collect()
}

const COLUMNS: [&str; 7] = ["", "pairs", "min", "5 %", "median", "95 %", "max"];

/// The section of a report.
pub(super) fn text(out: &mut String, links: &Links) {
    wrapped(&summary(links), 2).iter().for_each(|line| *out += &format!("{line}\n"));
    for (heading, lines) in parts(links) {
        let none = if lines.is_empty() { " none" } else { "" };
        let _ = writeln!(out, "  {heading}:{none}");
        for line in lines.iter().take(MOST) {
            wrapped(line, 4).iter().for_each(|line| *out += &format!("{line}\n"));
        }
        if lines.len() > MOST {
            let _ = writeln!(out, "    and {} more", lines.len() - MOST);
        }
    }
    let rule = rule(links).unwrap_or_default();
    wrapped(&rule, 2).iter().filter(|_| !rule.is_empty()).for_each(|line| *out += &format!("{line}\n"));
    let rows = links.spread.iter().map(cells);
    let rows: Vec<Vec<String>> = std::iter::once(COLUMNS.map(str::to_owned).to_vec()).chain(rows).collect();
    fitting_table(out, &rows, &[1, 2, 3, 4, 5, 6], &[3, 5, 1, 2, 6]);
}

/// The section of a page.
pub(super) fn html(links: Option<&Links>) -> Markup {
    let Some(links) = links else {
        return html! { p { "Not measured: " code { "tickmark fleet links" } } };
    };
    html! {
        p { (summary(links)) }
        @for (heading, lines) in parts(links) {
            h3 { (heading) }
            @if lines.is_empty() { p { "None." } }
            ul { @for line in lines.iter().take(ON_PAGE) { li { (line) } } }
            @if lines.len() > ON_PAGE { p { "And " (lines.len() - ON_PAGE) " more: --format json has all." } }
        }
        @if let Some(rule) = rule(links) { p class="note" { (rule) } }
        div class="wide" {
            table {
                thead { tr { @for column in COLUMNS { th { (column) } } } }
                tbody { @for one in &links.spread { tr { @for cell in cells(one) { td { (cell) } } } } }
            }
        }
    }
}
