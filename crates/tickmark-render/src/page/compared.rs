//! Recordings side by side: the verdicts, and an interval of each figure on one scale.

use super::frame::Section;
use super::plain;
use crate::comparison::{strip, words};
use crate::number;
use crate::plot::{Axis, Bar, Drawing, Forest};
use maud::{Markup, html};
use tickmark_analysis::comparison::{Against, Line, Model};

/// Facts that are listed.
const LISTED: usize = 1000;
/// Of the scale in a row.
const WIDTH: f64 = 220.0;
const HEIGHT: f64 = 18.0;

/// A section for each that is compared with the first.
pub(crate) fn sections(model: &Model) -> Vec<Section> {
    let base = words::label(&model.base);
    let one = |against: &Against| {
        let other = words::label(&against.party);
        Section {
            id: format!("against-{}", plain(&other)),
            title: format!("{other} against {base}"),
            body: body(model, &base, against),
        }
    };
    let mut all: Vec<Section> = model.against.iter().map(one).collect();
    // The ids of two of one name.
    for number in 1..all.len() {
        let id = format!("{}-{number}", all[number].id);
        if all[..number].iter().any(|earlier| earlier.id == all[number].id) {
            all[number].id = id;
        }
    }
    all
}

/// Summary of the comparison.
pub(crate) fn summary(model: &Model) -> Markup {
    let base = words::label(&model.base);
    html! {
        div class="lead" {
            @for against in &model.against {
                p { strong { (words::label(&against.party)) " against " (base) ": " } (words::summary(against)) }
                @for group in words::groups(against) { p { (group) } }
            }
            @if let Some(doses) = &model.doses { ul { @for line in words::doses(doses) { li { (line) } } } }
        }
    }
}

/// The intervals of every figure, on their own.
pub(super) fn drawings(model: &Model) -> Vec<Drawing> {
    let one = |against: &Against| {
        let bar = |line: &Line| {
            Some(Bar {
                name: format!("{} {}", line.metric, line.figure),
                point: line.ratio? - 1.0,
                ends: ends(line).map(|(low, high)| (low - 1.0, high - 1.0)),
                words: words::word(line.word).to_owned(),
                stands_out: line.changed(),
            })
        };
        Drawing::Forest(Forest {
            title: format!("{} against {}", words::label(&against.party), words::label(&model.base)),
            axis: Axis::linear("change", percent),
            reference: (0.0, model.margin),
            bars: against.lines.iter().filter_map(bar).collect(),
        })
    };
    model.against.iter().map(one).collect()
}

fn ends(line: &Line) -> Option<(f64, f64)> {
    if let Some(exact) = line.exact {
        return Some((1.0 + exact.least, 1.0 + exact.most));
    }
    let interval = line.claim.or(line.alone)?.change().1?;
    Some((interval.low, interval.high))
}

/// One scale for all rows: what most intervals need, and at least three margins.
fn scale(model: &Model, against: &Against) -> f64 {
    let far = |line: &Line| {
        let (low, high) = ends(line).or_else(|| line.ratio.map(|ratio| (ratio, ratio)))?;
        Some((low - 1.0).abs().max((high - 1.0).abs()))
    };
    let mut all: Vec<f64> = against.lines.iter().filter_map(far).filter(|far| far.is_finite()).collect();
    all.sort_by(f64::total_cmp);
    let most = all.get(all.len().saturating_sub(1) * 9 / 10).copied().unwrap_or(0.0);
    most.max(3.0 * model.margin).max(1e-4)
}

fn body(model: &Model, base: &str, against: &Against) -> Markup {
    let other = words::label(&against.party);
    let lines = [
        words::parties(model, against).to_vec(),
        words::environment(model, against, LISTED),
        words::notes(against),
    ];
    let scale = scale(model, against);
    html! {
        p { (words::summary(against)) }
        ul { @for line in lines.iter().flatten() { li { (line) } } }
        div class="wide" {
            table class="sort filtered" data-name=(format!("{other} against {base}")) {
                thead {
                    tr {
                        th { "metric" } th { "figure" } th { (base) } th { (other) } th { "change" }
                        th { (words::range(&against.basis)) } th { "from " (percent(-scale)) " to " (percent(scale)) } th { "values" } th { "verdict" }
                    }
                }
                tbody { @for line in &against.lines { (row(model, against, line, scale)) } }
            }
        }
        @for line in words::without(model, against) { p { (line) } }
        @if let Some(deciding) = &against.experiment { p { "To decide, run: " code { (words::command(deciding)) } } }
        p class="note" { (words::legend(model)) }
    }
}

fn percent(change: f64) -> String {
    number::change(1.0 + change, 1)
}

fn row(model: &Model, against: &Against, line: &Line, scale: f64) -> Markup {
    let class = match line {
        line if line.worse() => Some("worse"),
        line if line.changed() => Some("changed"),
        _ => None,
    };
    let printed = words::printed(line, &against.basis, model.margin);
    let [base, other] = &printed.means;
    let number = |value: f64| if value.is_finite() { value.to_string() } else { String::new() };
    html! {
        "\n"
        tr class=[class] {
            td { (line.metric) }
            td { (line.figure) }
            td class="n" data-v=(number(line.means[0])) { (base) }
            td class="n" data-v=(number(line.means[1])) { (other) }
            td class="n" data-v=(line.ratio.map_or_else(String::new, number)) { (printed.change) }
            td class="n" { (printed.interval) }
            td { (bar(model, line, scale)) }
            td { (dots(&strip::places(&line.values))) }
            td { (printed.verdict) }
        }
    }
}

/// Where the change lies: no change in the middle, the margin around it.
fn bar(model: &Model, line: &Line, scale: f64) -> Markup {
    let x = |ratio: f64| ((ratio - 1.0) / scale).clamp(-1.0, 1.0).mul_add(0.5, 0.5) * WIDTH;
    let at = |ratio: f64| format!("{:.1}", x(ratio));
    let (middle, out) = (HEIGHT / 2.0, if line.changed() { "bar out" } else { "bar" });
    let zone = (x(1.0 - model.margin), x(1.0 + model.margin));
    html! {
        svg width=(WIDTH) height=(HEIGHT) viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(line.ratio.map_or_else(|| "no change is told".to_owned(), |ratio| percent(ratio - 1.0))) {
            rect class="zone" x=(format!("{:.1}", zone.0)) y="0" width=(format!("{:.1}", zone.1 - zone.0)) height=(HEIGHT) {}
            line class="axis" x1=(at(1.0)) x2=(at(1.0)) y1="0" y2=(HEIGHT) {}
            @if let Some((low, high)) = ends(line) { line class=(out) x1=(at(low)) x2=(at(high)) y1=(middle) y2=(middle) {} }
            @if ends(line).is_some_and(|(low, _)| low - 1.0 < -scale) { text x="0" y=(middle + 4.0) { "\u{25c2}" } }
            @if ends(line).is_some_and(|(_, high)| high - 1.0 > scale) { text x=(WIDTH) y=(middle + 4.0) text-anchor="end" { "\u{25b8}" } }
            @if let Some(ratio) = line.ratio { circle class=(if line.changed() { "o" } else { "b" }) cx=(at(ratio)) cy=(middle) r="4" {} }
        }
    }
}

/// The strip as a picture: the first side above, the other below.
fn dots(places: &[Vec<usize>; 2]) -> Markup {
    let (step, height) = (6, 18);
    let rows = places.iter().zip([("b", 5), ("o", 13)]);
    html! {
        svg width=(step * strip::WIDTH) height=(height) role="img" aria-label="values of both sides" {
            @for (side, (class, y)) in rows {
                @for place in side { circle class=(class) cx=(place * step + step / 2) cy=(y) r="2.5" {} }
            }
        }
    }
}
