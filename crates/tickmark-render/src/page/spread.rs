//! How values are distributed: by share, with the range of the runs; of two recordings side by side.

use super::figure;
use super::frame::Section;
use crate::number::{bytes, percent, time};
use crate::plot::{Axis, Drawing, Plot, Series, Shape};
use maud::html;
use tickmark_analysis::page::{Distribution, Page, shifts};
use tickmark_analysis::report::{Detail, Unit};

/// Of one recording.
pub(super) fn sections(page: &Page, prefix: &str) -> Vec<Section> {
    let drawings = drawings(page);
    if drawings.is_empty() {
        return Vec::new();
    }
    let body = html! {
        p class="note" { "Each line is the mean of the runs at that share, the area from the least to the greatest of them. The axis gives 90 %, 99 % and 99.9 % the same room." }
        @for drawing in &drawings { (figure(drawing)) }
    };
    vec![Section { id: format!("{prefix}distributions"), title: "Distributions and curves".to_owned(), body }]
}

pub(super) fn drawings(page: &Page) -> Vec<Drawing> {
    // Those of other sections stand there.
    let own = |distribution: &&Distribution| {
        page.wakes.is_none() || !distribution.metric.starts_with("timer.wake.")
    };
    let distributions = page.distributions.iter().filter(own).map(by_share);
    distributions.chain(page.model.details.iter().filter_map(curve)).collect()
}

fn by_share(of: &Distribution) -> Drawing {
    let all: Vec<_> = of.across().filter(|(_, [mean, ..])| *mean > 0.0).collect();
    let series = Series {
        name: String::new(),
        points: all.iter().map(|(share, [mean, ..])| (*share, *mean)).collect(),
        shape: Shape::Steps,
        band: all.iter().map(|(_, [_, least, most])| (least.max(1.0), most.max(1.0))).collect(),
    };
    Drawing::Plot(Plot {
        title: format!("{}: {} values of {} runs", of.title, of.count, of.runs.len()),
        x: Axis::tail("share of values up to this"),
        y: Axis::log("", time),
        series: vec![series],
    })
}

fn plain(value: f64) -> String {
    format!("{value:.0}")
}

fn curve(of: &Detail) -> Option<Drawing> {
    let points: Vec<(f64, f64)> = of.curve.iter().map(|(at, floor)| (*at as f64, *floor)).collect();
    let (over, x, y) = match of.unit {
        Unit::Count => ("pages", Axis::octaves("pages", plain), Axis::linear("floor", time)),
        Unit::Ratio => ("chains", Axis::octaves("chains at the same time", plain), Axis::log("floor", time)),
        _ => ("size", Axis::octaves("size", bytes), Axis::log("floor", time)),
    };
    (points.len() > 1).then(|| {
        Drawing::Plot(Plot {
            title: format!("{}, by {over}", of.metric),
            x,
            y,
            series: vec![Series::line("", points)],
        })
    })
}

/// Of two.
pub(super) fn compared(pages: &[Page]) -> Vec<Section> {
    let drawings = drawings_of_both(pages);
    if drawings.is_empty() {
        return Vec::new();
    }
    let body = html! {
        p class="note" {
            "Where values lie: the share up to each value, the mean of the runs, with the range of the runs as area. By how much quantiles are shifted: the difference of the runs' means at each share; \
             the area is its 95 % interval by Welch's t over the runs, each share for itself, which holds where runs are independent."
        }
        @for drawing in &drawings { (figure(drawing)) }
    };
    vec![Section { id: "distributions".to_owned(), title: "Distributions of both".to_owned(), body }]
}

pub(super) fn drawings_of_both(pages: &[Page]) -> Vec<Drawing> {
    let [base, others @ ..] = pages else { return Vec::new() };
    let mut all = Vec::new();
    for ours in &base.distributions {
        let theirs = |page: &&Page| page.distributions.iter().any(|theirs| theirs.metric == ours.metric);
        let shown: Vec<&Page> = std::iter::once(base).chain(others.iter().filter(theirs)).collect();
        if shown.len() > 1 {
            all.push(ecdf(ours, &shown));
        }
    }
    for other in others {
        for shift in shifts(&base.distributions, &other.distributions) {
            let points = shift.points.iter().map(|(share, by, _)| (*share, *by)).collect();
            let band = shift
                .points
                .iter()
                .map(|(_, by, ends)| ends.map_or((*by, *by), |ends| (ends.low, ends.high)))
                .collect();
            all.push(Drawing::Plot(Plot {
                title: format!(
                    "{}: quantiles of {} less those of {}",
                    shift.title, other.model.header.name, base.model.header.name
                ),
                x: Axis::tail("share"),
                y: Axis::linear(
                    "difference",
                    |ns| if ns < 0.0 { format!("-{}", time(-ns)) } else { time(ns) },
                ),
                series: vec![Series { name: String::new(), points, shape: Shape::Line, band }],
            }));
        }
    }
    all
}

/// Points along the values.
const POINTS: usize = 160;

fn ecdf(of: &Distribution, pages: &[&Page]) -> Drawing {
    let sides: Vec<(&str, &Distribution)> = pages
        .iter()
        .filter_map(|page| {
            let own = page.distributions.iter().find(|own| own.metric == of.metric)?;
            Some((page.model.header.name.as_str(), own))
        })
        .collect();
    let ends = sides.iter().flat_map(|(_, side)| side.runs.iter().flatten()).filter(|value| **value > 0.0);
    let (low, high) =
        ends.fold((f64::INFINITY, 0.0f64), |(low, high), value| (low.min(*value), high.max(*value)));
    let value = |at: usize| low * (high / low).powf(at as f64 / (POINTS - 1) as f64);
    let series = |(name, side): &(&str, &Distribution)| {
        let at = |number: usize| {
            let shares: Vec<f64> = (0..side.runs.len()).map(|run| side.below(run, value(number))).collect();
            let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
            let ends = shares
                .iter()
                .fold((1.0f64, 0.0f64), |(low, high), share| (low.min(*share), high.max(*share)));
            ((value(number), mean), ends)
        };
        let (points, band) = (0..POINTS).map(at).unzip();
        Series { name: (*name).to_owned(), points, shape: Shape::Line, band }
    };
    Drawing::Plot(Plot {
        title: format!("{}: share of values up to each", of.title),
        x: Axis::log("", time),
        y: Axis::linear("share", percent),
        series: sides.iter().map(series).collect(),
    })
}
