//! Recordings side by side: the verdicts, and an interval of each figure on one scale.

use super::frame::Section;
use super::plain;
use crate::comparison::kinds::{self, Kind};
use crate::comparison::{strip, words};
use crate::number;
use crate::plot::{Axis, Bar, Drawing, Forest};
use maud::{Markup, html};
use tickmark_analysis::comparison::{Against, Line, Model};

/// Facts that are listed.
const LISTED: usize = 1000;
/// Of the scale in a row.
const WIDTH: f64 = 220.0;
/// Words of two marks have room.
const APART: f64 = 44.0;
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

/// The answer: how many got worse or better, what changed most, what would decide the rest.
pub(crate) fn summary(model: &Model) -> Markup {
    let base = words::label(&model.base);
    html! {
        div class="lead" {
            @for against in &model.against {
                p { strong { (kinds::answer(against, model.margin)) } }
                @if let Some(largest) = kinds::largest(against, model.margin) { p { (largest) } }
                p { (words::label(&against.party)) " against " (base) }
                @if let Some(next) = kinds::next(against) { p class="note" { (next) } }
            }
            @if let Some(doses) = &model.doses { ul { @for line in words::doses(doses) { li { (line) } } } }
        }
    }
}

/// The intervals of every figure, on their own.
pub(super) fn drawings(model: &Model) -> Vec<Drawing> {
    let one = |against: &Against| {
        let bar = |(kind, line): (Kind, &Line)| {
            let figure = if line.figure == "value" { String::new() } else { format!(" {}", line.figure) };
            Some(Bar {
                name: format!("{}{figure}", line.metric),
                point: line.ratio? - 1.0,
                ends: ends(line).map(|(low, high)| (low - 1.0, high - 1.0)),
                words: kind.word().to_owned(),
                stands_out: line.changed(),
            })
        };
        let lines = kinds::by_kind(against).into_iter().flat_map(|(kind, mut lines)| {
            kinds::by_size(&mut lines);
            lines.into_iter().map(move |line| (kind, line))
        });
        Drawing::Forest(Forest {
            title: format!("{} against {}", words::label(&against.party), words::label(&model.base)),
            axis: Axis::linear("change", percent),
            reference: (0.0, model.margin),
            bars: lines.filter_map(bar).collect(),
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

/// As far as the farthest interval, and at least three margins.
fn farthest(model: &Model, against: &Against) -> f64 {
    let far = |line: &Line| {
        let (low, high) = ends(line).or_else(|| line.ratio.map(|ratio| (ratio, ratio)))?;
        Some((low - 1.0).abs().max((high - 1.0).abs()))
    };
    let all = against.lines.iter().filter_map(far).filter(|far| far.is_finite());
    all.fold((3.0 * model.margin).max(1e-4), f64::max)
}

fn body(model: &Model, base: &str, against: &Against) -> Markup {
    let other = words::label(&against.party);
    let notes = [words::environment(model, against, LISTED), words::notes(against)];
    let scale = Scale { margin: model.margin, most: farthest(model, against) };
    html! {
        div class="wide" {
            table class="compared sort filtered" data-name=(format!("{other} against {base}")) {
                thead {
                    tr {
                        th { "verdict" } th { "figure" } th { "change" } th { (words::range(&against.basis)) }
                        th { (scale.axis()) } th { "baseline" } th { "candidate" }
                    }
                }
                tbody {
                    @for (kind, lines) in kinds::by_kind(against) {
                        @for line in lines { (row(model, against, kind, line, &scale)) }
                    }
                }
            }
        }
        p class="note" { "In the drawing the band is ±" (percent(model.margin).trim_start_matches('+')) ", the scale beyond it is logarithmic. " (words::legend(model)) }
        details {
            summary { "What this rests on" }
            ul {
                @for line in words::parties(model, against) { li { (line) } }
                @for line in notes.iter().flatten() { li { (line) } }
                @for line in words::groups(against) { li { (line) } }
                @for line in words::without(model, against) { li { (line) } }
                li { (words::summary(against)) }
            }
        }
    }
}

fn percent(change: f64) -> String {
    number::change(1.0 + change, 1)
}

/// A figure in a line, which opens.
fn row(model: &Model, against: &Against, kind: Kind, line: &Line, scale: &Scale) -> Markup {
    let class = match kind {
        Kind::Worse => Some("worse"),
        Kind::Better => Some("better"),
        Kind::Changed => Some("changed"),
        Kind::Open | Kind::Same | Kind::Apart => None,
    };
    let printed = words::printed(line, &against.basis, model.margin);
    let [base, other] = &printed.means;
    let number = |value: f64| if value.is_finite() { value.to_string() } else { String::new() };
    html! {
        "\n"
        tr class=[class] {
            td { (kind.word()) }
            td {
                details {
                    summary { (line.metric) @if line.figure != "value" { " " span class="note" { (line.figure) } } }
                    p { (printed.verdict) }
                    p { "baseline " (base) ", candidate " (other) ": " (printed.change) @if printed.interval != "-" { ", " (printed.interval.trim_matches(['(', ')'])) } }
                    (dots(&strip::places(&line.values)))
                }
            }
            td class="n" data-v=(line.ratio.map_or_else(String::new, number)) { (printed.change) }
            td class="n" { (printed.interval) }
            td { (scale.bar(line)) }
            td class="n" data-v=(number(line.means[0])) { (base) }
            td class="n" data-v=(number(line.means[1])) { (other) }
        }
    }
}

/// One scale for all rows: even around no change and logarithmic beyond the margin, so that 3 % and 300 % are both seen.
struct Scale {
    margin: f64,
    /// The change at both ends.
    most: f64,
}

impl Scale {
    /// The place of a change, in the drawing's units.
    fn x(&self, change: f64) -> f64 {
        let far = |change: f64| (change / self.margin.max(1e-4)).asinh();
        (far(change) / far(self.most)).clamp(-1.0, 1.0).mul_add(WIDTH / 2.0 - 5.0, WIDTH / 2.0)
    }

    /// Changes above none that are marked: round ones, from the largest down, as far apart as their words need.
    fn marks(&self) -> Vec<f64> {
        let round = (-4..=4).rev().flat_map(|decade| [3.0, 1.0].map(|step| step * 10f64.powi(decade)));
        let (mut marks, mut from) = (Vec::new(), WIDTH + APART / 2.0);
        for change in round.filter(|change| *change <= self.most * 1.001) {
            let x = self.x(change);
            if x <= from - APART && x >= WIDTH / 2.0 + APART {
                marks.push(change);
                from = x;
            }
        }
        marks
    }

    /// The marks with their words, above all rows.
    fn axis(&self) -> Markup {
        let marks = self.marks();
        let both = both(&marks);
        html! {
            svg width=(WIDTH) height=(HEIGHT) viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label={ "change, from " (percent(-self.most.min(1.0))) " to " (percent(self.most)) } {
                text x=(WIDTH / 2.0) y=(HEIGHT - 5.0) text-anchor="middle" { "0" }
                @for change in both { text x=(format!("{:.1}", self.x(change))) y=(HEIGHT - 5.0) text-anchor="middle" { (marked(change)) } }
            }
        }
    }

    /// Where the change lies: no change in the middle, the margin around it.
    fn bar(&self, line: &Line) -> Markup {
        let at = |change: f64| format!("{:.1}", self.x(change));
        let (middle, out) = (HEIGHT / 2.0, if line.changed() { "bar out" } else { "bar" });
        let zone = (self.x(-self.margin), self.x(self.margin));
        html! {
            svg width=(WIDTH) height=(HEIGHT) viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(line.ratio.map_or_else(|| "no change is told".to_owned(), |ratio| percent(ratio - 1.0))) {
                rect class="zone" x=(format!("{:.1}", zone.0)) y="0" width=(format!("{:.1}", zone.1 - zone.0)) height=(HEIGHT) {}
                line class="axis" x1=(at(0.0)) x2=(at(0.0)) y1="0" y2=(HEIGHT) {}
                @for change in both(&self.marks()) { line class="mark" x1=(at(change)) x2=(at(change)) y1="0" y2=(HEIGHT) {} }
                @if let Some((low, high)) = ends(line) { line class=(out) x1=(at(low - 1.0)) x2=(at(high - 1.0)) y1=(middle) y2=(middle) {} }
                @if let Some(ratio) = line.ratio { circle class=(if line.changed() { "o" } else { "b" }) cx=(at(ratio - 1.0)) cy=(middle) r="4" {} }
            }
        }
    }
}

/// Changes to either side; nothing becomes less by more than all of it.
fn both(marks: &[f64]) -> impl Iterator<Item = f64> {
    marks.iter().flat_map(|change| [-change, *change]).filter(|change| *change > -1.0)
}

/// A change at a mark: `+30%`.
fn marked(change: f64) -> String {
    let digits = if change.abs() < 0.01 { 2 } else { 0 };
    format!("{:+.digits$}%", change * 100.0)
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
