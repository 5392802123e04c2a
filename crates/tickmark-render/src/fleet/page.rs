//! Many machines, as a page that stands alone.

use super::{against, group, rule};
use crate::fold::shortened;
use crate::number::value;
use crate::page::frame::{self, Section};
use crate::plot::{Axis, Dots, Drawing, Row};
use maud::{Markup, PreEscaped, html};
use tickmark_analysis::fleet::{Model, OutlierNode};

/// More machines than this are not on the page.
const MOST: usize = 200;
/// Metrics of a drawing.
const DRAWN: usize = 60;

/// The whole page.
#[must_use]
pub fn html(model: &Model, id: &str, when: &str) -> String {
    let nodes = model.outcomes.values().sum();
    let section =
        |id: &str, title: &str, body: Markup| Section { id: id.to_owned(), title: title.to_owned(), body };
    let sections = [
        section("worse", "Machines that are worse than the others", worse(model, nodes)),
        section("missing", "Machines that did not give everything", missing(model)),
        section("groups", "Groups that differ from all others", groups(model)),
        section("links", "Links between machines", super::links::html(model.links.as_ref())),
        section("findings", "What the doctor found", findings(model, nodes)),
        section("metrics", "Over the machines", metrics(model)),
    ];
    let named: Vec<&str> = model.worst.iter().take(5).map(|bad| bad.node.as_str()).collect();
    let top = html! {
        p class="note" { (when) " · survey " code { (id) } " · " (super::summary(nodes, &model.outcomes).trim()) }
        div class="lead" {
            @if model.judged == 0 { p { "Not judged: fewer than 5 machines have the same metric." } }
            @else if named.is_empty() { p { "No machine is worse than the others." } }
            @else { p { (model.worst.len()) " of " (nodes) " machines lie apart on the worse side, the worst first: " (named.join(", ")) } }
            @if let Some(lead) = model.links.as_ref().and_then(super::links::lead) { p { (lead) } }
        }
        @if model.judged > 0 { p class="note" { (rule(model)) } }
    };
    frame::page(&format!("tickmark: survey {id}"), &top, &sections, false)
}

fn worse(model: &Model, nodes: usize) -> Markup {
    html! {
        @if model.judged == 0 { p { "Not judged: fewer than 5 machines have the same metric." } }
        @else if model.worst.is_empty() { p { "None." } }
        @for bad in model.worst.iter().take(MOST) { (outlier_section(bad, nodes)) }
        @if model.worst.len() > MOST { p { "And " (model.worst.len() - MOST) " more: --format json has all." } }
    }
}

fn outlier_section(bad: &OutlierNode, nodes: usize) -> Markup {
    html! {
        h3 { (bad.node) @if let Some(id) = &bad.recording { " " code { (id.get(..8).unwrap_or(id)) } } }
        ul {
            @for apart in &bad.apart { li { (apart.metric) " " (value(apart.value, None, apart.unit)) ": " (against(apart.value, apart.median, apart.unit)) } }
            @for found in bad.found.iter().filter(|found| found.nodes * 2 <= nodes || nodes < 5) {
                li { "found: " (crate::doctor::title(&found.check)) " (on " (found.nodes) " of " (nodes) "): " (crate::doctor::advice(&found.check)) }
            }
            @for unlike in &bad.unlike { li { "unlike most: " (unlike.fact) " is " (shortened(&unlike.value, 60)) ", there " (shortened(&unlike.usual, 60)) } }
        }
    }
}

fn missing(model: &Model) -> Markup {
    html! {
        @if model.missing.is_empty() { p { "None." } }
        @else {
            div class="wide" {
                table class="sort filtered" data-name="machines" {
                    thead { tr { th { "machine" } th { "outcome" } th { "why" } } }
                    tbody { @for node in &model.missing { tr { td { (node.name) } td { (node.outcome) } td { (node.why.as_deref().unwrap_or_default()) } } } }
                }
            }
        }
    }
}

fn groups(model: &Model) -> Markup {
    html! {
        @if model.groups.is_empty() { p { "None." } }
        ul { @for one in model.groups.iter().take(MOST) { li { (group(one)) } } }
    }
}

fn findings(model: &Model, nodes: usize) -> Markup {
    html! {
        @if model.findings.is_empty() { p { "Nothing." } }
        ul { @for (check, count) in &model.findings { li { (crate::doctor::title(check)) ": on " (count) " of " (nodes) } } }
    }
}

fn metrics(model: &Model) -> Markup {
    let drawn: Vec<Row> = model
        .metrics
        .iter()
        .filter(|one| one.quantiles.iter().all(|quantile| *quantile > 0.0))
        .take(DRAWN)
        .map(|one| {
            let [least, low, median, high, most] = one.quantiles.map(|quantile| quantile / one.quantiles[2]);
            Row { name: one.metric.clone(), values: vec![vec![low, median, high], vec![least, most]] }
        })
        .collect();
    let drawing = Drawing::Dots(Dots {
        title: "Each metric over the machines, as a part of its median".to_owned(),
        axis: Axis::log("of the median", |ratio| format!("{ratio:.2}")),
        kinds: vec!["5th percentile, median, 95th".to_owned(), "minimum, maximum".to_owned()],
        rows: drawn,
    });
    html! {
        figure { (PreEscaped(drawing.svg())) }
        div class="wide" {
            table class="sort filtered" data-name="metrics" {
                thead { tr { th { "metric" } th { "machines" } th { "minimum" } th { "5 %" } th { "median" } th { "95 %" } th { "maximum" } th { "apart above" } } }
                tbody {
                    @for one in &model.metrics {
                        tr {
                            td { (one.metric) }
                            td data-v=(one.nodes) { (one.nodes) }
                            @for quantile in one.quantiles { td data-v=(quantile) { (value(quantile, None, one.unit)) } }
                            td { @match one.limits { Some(limits) => (value(limits[1], None, one.unit)), None => "-" } }
                        }
                    }
                }
            }
        }
    }
}
