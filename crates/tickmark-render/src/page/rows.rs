//! The rows of a recording: a table and a drawing for each group.

use super::frame::Section;
use super::{figure, plain};
use crate::number::{self, count, percent, time};
use crate::plot::{Axis, Dots, Drawing, Row as DotRow};
use crate::reason;
use maud::{Markup, html};
use tickmark_analysis::report::{Each, Model, Row, RowStatus, Unit};
use tickmark_wire::{Group, Offer};

/// Notes of so many characters have room beside the figures.
const SHORT: usize = 48;

/// Each group with rows.
pub(super) fn sections(model: &Model, offers: &[Offer], prefix: &str) -> Vec<Section> {
    let one = |(group, rows): &(Group, Vec<Row>)| Section {
        id: format!("{prefix}{}", plain(group.suite())),
        title: group.title().to_owned(),
        body: html! {
            (table(group.title(), rows, offers))
            @for drawing in drawings(group.title(), rows) { (figure(&drawing)) }
        },
    };
    model.groups.iter().map(one).collect()
}

/// Formatter of a unit's values.
fn label(unit: Unit) -> fn(f64) -> String {
    match unit {
        Unit::Nanoseconds => time,
        Unit::Share => percent,
        Unit::Bytes => number::bytes,
        Unit::Throughput => |value| number::value(value, None, Unit::Throughput),
        Unit::Rate => |value| number::value(value, None, Unit::Rate),
        Unit::Hz => |value| number::value(value, None, Unit::Hz),
        Unit::Count | Unit::Ratio | Unit::Other(_) => |value| number::value(value, None, Unit::Ratio),
    }
}

/// Every run of every row, those of one unit in one drawing.
pub(super) fn drawings(title: &str, rows: &[Row]) -> Vec<Drawing> {
    // A logarithm has no place for 0: rows with one have a drawing of their own.
    let is_linear = |row: &Row| {
        matches!(row.unit, Unit::Share | Unit::Ratio)
            || row.each.iter().any(|each| each.value <= 0.0 || each.mean <= 0.0)
    };
    let mut axes: Vec<(Unit, bool)> = Vec::new();
    for row in rows.iter().filter(|row| !row.each.is_empty()) {
        if !axes.contains(&(row.unit, is_linear(row))) {
            axes.push((row.unit, is_linear(row)));
        }
    }
    let one = |(unit, linear): (Unit, bool)| {
        let of_axis = |row: &&Row| row.unit == unit && is_linear(row) == linear && !row.each.is_empty();
        let own: Vec<&Row> = rows.iter().filter(of_axis).collect();
        let is_cost = own.iter().any(|row| row.mean.is_some());
        let column = |row: &Row, of: fn(&Each) -> f64| row.each.iter().map(of).collect::<Vec<f64>>();
        let dots = |row: &&Row| DotRow {
            name: row.title.trim().to_owned(),
            values: match row.mean.is_some() {
                true => vec![column(row, |each| each.value), column(row, |each| each.mean)],
                false => vec![column(row, |each| each.value)],
            },
        };
        let kinds: &[&str] = if is_cost { &["floor of each run", "mean of each run"] } else { &["each run"] };
        let axis = if linear { Axis::linear("", label(unit)) } else { Axis::log("", label(unit)) };
        Drawing::Dots(Dots {
            title: format!("{title}: every run"),
            axis,
            kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
            rows: own.iter().map(dots).collect(),
        })
    };
    axes.into_iter().map(one).collect()
}

fn table(name: &str, rows: &[Row], offers: &[Offer]) -> Markup {
    // Which share others had is said in the answer, and of each row in a word.
    let contended = rows.iter().filter(|row| row.contended.is_some()).count() * 2 >= rows.len();
    let usual = reason::UsualCaveats { contended, ..reason::UsualCaveats::default() };
    html! {
        div class="wide" {
            table class="rows sort filtered" data-name=(name) {
                thead { tr { th { "metric" } th { "floor" } th { "mean" } th { "CV" } th { "disturbed" } th { "notes" } } }
                tbody { @for row in rows { (line(row, offers, usual)) } }
            }
        }
    }
}

fn line(row: &Row, offers: &[Offer], usual: reason::UsualCaveats) -> Markup {
    let shown = match (&row.value, row.status) {
        (Some(estimate), _) => number::value(estimate.point, row.deviation, row.unit),
        (None, RowStatus::Missing) => "-".to_owned(),
        (None, status) => reason::status(status).to_owned(),
    };
    let mean = row.mean.map_or_else(String::new, |mean| number::value(mean, row.mean_deviation, row.unit));
    let marked = row.contended.is_some() || row.status != RowStatus::Ok;
    let mut notes = reason::all(row, usual);
    if let Some(share) = row.contended.filter(|_| usual.contended) {
        notes.insert(0, format!("contended {}", percent(share)));
    }
    let sorts = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    html! {
        "\n"
        tr class=[marked.then_some("marked")] {
            td { details { summary { (row.title.trim()) } (how(row, offers, &notes)) } }
            td class="n" data-v=(sorts(row.value.map(|value| value.point))) { (shown) }
            td class="n" data-v=(sorts(row.mean)) { (mean) }
            td class="n" data-v=(sorts(row.cv())) { (row.cv().map_or_else(String::new, percent)) }
            td class="n" data-v=(sorts(row.disturbed)) { (row.disturbed.map_or_else(String::new, percent)) }
            td class="note" { (one_line(&notes)) }
        }
    }
}

/// Notes in a line, which opens where it is cut.
fn one_line(notes: &[String]) -> Markup {
    let all = notes.join("; ");
    html! { @if all.chars().count() > SHORT { details { summary { (all) } } } @else { (all) } }
}

/// How the figure was obtained, and what each run says.
fn how(row: &Row, offers: &[Offer], notes: &[String]) -> Markup {
    let gives = |offer: &&Offer| {
        let of = |metric: &tickmark_wire::Metric| {
            let name = metric.name.as_str();
            row.metric == name || row.metric.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))
        };
        offer.metrics.iter().any(of)
    };
    let offer = offers.iter().find(gives);
    let value = |value: f64| number::value(value, Some(value.abs() * 1e-3), row.unit);
    let run = |each: &Each| match row.mean.is_some() {
        true => format!("{} ({})", value(each.value), value(each.mean)),
        false => value(each.value),
    };
    let runs: Vec<String> = row.each.iter().map(run).collect();
    html! {
        dl {
            dt { "name" } dd { code { (row.metric) } }
            @if let Some(offer) = offer {
                dt { "timed" } dd { (offer.timed) }
                @if !offer.source.is_empty() { dt { "defined by" } dd { (offer.source) } }
            }
            @if let Some(estimate) = &row.value {
                dt { "interval" }
                dd { (value(estimate.interval.low)) " to " (value(estimate.interval.high)) ", " (percent(estimate.confidence)) ", of " (count(row.runs as u32, "run")) " of " (row.made) }
            }
            @if !notes.is_empty() { dt { "notes" } dd { (notes.join("; ")) } }
            @if !runs.is_empty() {
                dt { @if row.mean.is_some() { "runs: floor (mean)" } @else { "runs" } }
                dd { (runs.join(", ")) }
            }
        }
    }
}
