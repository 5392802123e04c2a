//! Pages of commands other than `run`: each with its text and its drawings.

use super::dense::{self, Dense};
use super::{Section, accounts, figure, sampled, text};
use super::{bill, capacity, clock_reads, comms, dose, http, noise, scenario, wakes};
use crate::number::{percent, time};
use crate::plot::{Axis, Drawing, Heat, Plot, Series, Shape, tail_shares};
use maud::html;
use tickmark_analysis::dose::Dosed;
use tickmark_analysis::http::{Load, TimedRun};
use tickmark_analysis::noise::{GapCause, Noise};
use tickmark_analysis::page::Page;
use tickmark_analysis::wakes::{WaitMethodRow, Wakes, WayRun};

/// Columns of a map over time, and its rows of lengths at most.
const COLUMNS: usize = 120;
const ROWS: i64 = 40;
/// From so many points on they are drawn by the script, which zooms.
const DENSE: usize = 2_000;

/// A part of a recording: where it stands, what it is called, its text and its drawings.
pub(super) struct PagePart {
    id: &'static str,
    title: &'static str,
    text: String,
    drawings: Vec<Drawing>,
    pub(super) dense: Vec<Dense>,
}

pub(super) fn parts(page: &Page) -> Vec<PagePart> {
    let mut all = Vec::new();
    let mut part = |id, title, text: String, drawings: Vec<Drawing>, dense: Vec<Dense>| {
        all.push(PagePart { id, title, text, drawings, dense });
    };
    if let Some(of) = &page.wakes {
        part(
            "wake-ups",
            "Wake-ups",
            wakes::text(of),
            of_wakes(of, &page.wake_runs),
            dense_wakes(&page.wake_runs),
        );
    }
    if !page.scenarios.is_empty() {
        let plots = scenario::plots(&page.scenarios).into_iter().map(Drawing::Plot).collect();
        part("rows-of-timers", "Rows of timers", scenario::text(&page.scenarios), plots, Vec::new());
    }
    if !page.comms.is_empty() {
        let plots = comms::plots(&page.comms).into_iter().map(Drawing::Plot).collect();
        part("messages", "Messages and their load", comms::text(&page.comms), plots, Vec::new());
    }
    for (id, title, loads) in
        [("http", "Transactions over HTTP", &page.http), ("sql", "Transactions of databases", &page.sql)]
    {
        if !loads.is_empty() {
            let mut drawings = of_loads(title, loads);
            drawings.extend(of_timed(&page.timed, &format!("{id}.")));
            part(id, title, http::text(loads), drawings, Vec::new());
        }
    }
    if !page.capacity.is_empty() {
        part(
            "capacity",
            "Rates that keep a limit",
            capacity::text(&page.capacity),
            accounts::of_capacity(&page.capacity),
            Vec::new(),
        );
    }
    if let Some(of) = &page.dosed {
        part("dose", "What a slower clock costs", dose::text(of), vec![of_dose(of)], Vec::new());
    }
    if let Some(of) = &page.bill {
        part("bill", "Whose CPU time it was", bill::text(of), accounts::of_bill(of), Vec::new());
    }
    if let Some(of) = &page.reads {
        part("clock-reads", "Clock reads", clock_reads::text(of), accounts::of_reads(of), Vec::new());
    }
    if let Some(of) = &page.noise {
        part("ticks", "Ticks and noise", noise::text(of), of_noise(of), dense_gaps(of));
        // The first, where it was asked for.
        if page.noise_asked {
            all.rotate_right(1);
        }
    }
    all
}

/// `among` series of many points on the whole page.
pub(super) fn sections(parts: &[PagePart], prefix: &str, among: usize) -> Vec<Section> {
    let section = |part: &PagePart| {
        let body = html! {
            (text(&part.text))
            @for drawing in &part.drawings { (figure(drawing)) }
            @for dense in &part.dense { (dense::series(dense, among)) }
        };
        Section { id: format!("{prefix}{}", part.id), title: part.title.to_owned(), body }
    };
    parts.iter().map(section).collect()
}

pub(super) fn drawings(page: &Page) -> Vec<Drawing> {
    parts(page).into_iter().flat_map(|part| part.drawings).collect()
}

/// A number of seconds on an axis.
fn seconds(s: f64) -> String {
    let text = format!("{s:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// When which cause took how much, and each tick over time.
fn of_noise(of: &Noise) -> Vec<Drawing> {
    let most = of.kinds.iter().flat_map(|kind| &kind.over_time).copied().fold(0.0, f64::max);
    let row = |kind: &tickmark_analysis::noise::Kind| {
        let cells = kind.over_time.iter().map(|share| if most > 0.0 { share / most } else { 0.0 }).collect();
        (noise::what(&kind.what), cells)
    };
    let heat = Heat {
        title: format!("What took CPU {}, over time", of.cpu),
        x: ("0 s".to_owned(), time(of.span), "share of each stretch of time".to_owned()),
        rows: of.kinds.iter().take(12).map(row).collect(),
        most: percent(most),
    };
    let mut all = vec![Drawing::Heat(heat)];
    let ticks: Vec<(f64, f64)> = of
        .gaps
        .iter()
        .filter(|gap| gap.what == GapCause::Tick)
        .map(|gap| (gap.start / 1e9, gap.length))
        .collect();
    // Of very many some: the script has them all.
    let step = ticks.len().div_ceil(DENSE).max(1);
    let points: Vec<(f64, f64)> = ticks.into_iter().step_by(step).collect();
    if !points.is_empty() {
        all.push(Drawing::Plot(Plot {
            title: sampled(&format!("Each tick of CPU {}", of.cpu), step),
            x: Axis::linear("s", seconds),
            y: Axis::log("time that it took", time),
            series: vec![Series { points, shape: Shape::Points, ..Series::default() }],
        }));
    }
    all
}

/// How late: by share, and over time.
fn of_wakes(of: &Wakes, runs: &[WayRun]) -> Vec<Drawing> {
    let series = |way: &WaitMethodRow| {
        let observed = way.summary.as_ref().ok()?;
        let shares = tail_shares(20, observed.late.as_slice().len() as u64);
        let points =
            shares.filter_map(|share| Some((share, observed.late.quantile(share)?.max(1.0)))).collect();
        Some(Series { name: way.title.clone(), points, shape: Shape::Steps, band: Vec::new() })
    };
    let series: Vec<Series> = of.ways.iter().filter_map(series).collect();
    let mut all = vec![Drawing::Plot(Plot {
        title: "Wake-up latency by the share of wake-ups that are no later".to_owned(),
        x: Axis::tail("share of wake-ups"),
        y: Axis::log("wake-up latency", time),
        series,
    })];
    for (metric, own) in by_metric(runs) {
        let late: Vec<(f64, f64, u64)> =
            own.iter().flat_map(|run| timed(run).map(|(at, late)| (at, late, 1))).collect();
        let ends: Vec<f64> = own.iter().flat_map(|run| [run.begin, run.begin + run.length]).collect();
        all.extend(latency_map(&format!("{metric}: wake-ups by latency, over time"), &late, &ends));
    }
    all
}

/// The runs of each metric, in the order of its first.
fn by_metric(runs: &[WayRun]) -> Vec<(&str, Vec<&WayRun>)> {
    let mut all: Vec<(&str, Vec<&WayRun>)> = Vec::new();
    for run in runs {
        match all.iter_mut().find(|(metric, _)| *metric == run.metric) {
            Some((_, own)) => own.push(run),
            None => all.push((&run.metric, vec![run])),
        }
    }
    all
}

/// Each wake-up of a run with when it was, as they came one after the other; in ns.
fn timed(run: &WayRun) -> impl Iterator<Item = (f64, f64)> {
    let apart = run.length / run.late.len().max(1) as f64;
    run.late.iter().enumerate().map(move |(at, late)| (run.begin + apart * (at as f64 + 0.5), *late))
}

/// How long what took, by when it was: a row for each octave. Time, length and how often; `ends` are those of the runs.
fn latency_map(title: &str, values: &[(f64, f64, u64)], ends: &[f64]) -> Option<Drawing> {
    let octave = |length: f64| length.max(1.0).log2().floor() as i64;
    let low = values.iter().map(|(_, length, _)| octave(*length)).min()?;
    let high = values.iter().map(|(_, length, _)| octave(*length)).max()?;
    let height = (high - low + 1).min(ROWS) as usize;
    let from = ends.iter().copied().fold(f64::INFINITY, f64::min);
    let to = ends.iter().copied().fold(from + 1.0, f64::max);
    let mut cells = vec![vec![0u64; COLUMNS]; height];
    for (at, length, count) in values {
        let row = (high - octave(*length)).clamp(0, height as i64 - 1) as usize;
        let column = ((at - from) / (to - from) * COLUMNS as f64) as usize;
        cells[row][column.min(COLUMNS - 1)] += count;
    }
    let most = cells.iter().flatten().copied().max().unwrap_or(1).max(1);
    // By its logarithm: one late among thousands is to be seen.
    let shade =
        |count: &u64| if *count == 0 { 0.0 } else { ((count + 1) as f64).ln() / ((most + 1) as f64).ln() };
    let rows = cells.iter().enumerate().map(|(row, cells)| {
        let least = ((high - row as i64) as f64).exp2();
        (format!("{} or more", time(least)), cells.iter().map(shade).collect())
    });
    Some(Drawing::Heat(Heat {
        title: title.to_owned(),
        x: ("0 s".to_owned(), time(to - from), "darker: more, by the logarithm".to_owned()),
        rows: rows.collect(),
        most: format!("{most} of them"),
    }))
}

/// The latencies of each run of transactions, over the time of the recording.
fn of_timed(all: &[TimedRun], probe: &str) -> Vec<Drawing> {
    let mut metrics: Vec<&str> =
        all.iter().map(|run| run.metric.as_str()).filter(|metric| metric.starts_with(probe)).collect();
    metrics.sort_unstable();
    metrics.dedup();
    let map = |metric: &str| {
        let own: Vec<&TimedRun> = all.iter().filter(|run| run.metric == metric).collect();
        // A run is one histogram: it fills the columns of its time.
        let ends: Vec<f64> = own.iter().flat_map(|run| [run.begin, run.begin + run.length]).collect();
        let span =
            ends.iter().copied().fold(0.0, f64::max) - ends.iter().copied().fold(f64::INFINITY, f64::min);
        let values = own.iter().flat_map(|run| {
            let columns = (run.length / span.max(1.0) * COLUMNS as f64).round().max(1.0) as usize;
            (0..columns).flat_map(move |column| {
                let at = run.begin + run.length * (column as f64 + 0.5) / columns as f64;
                run.counts.iter().map(move |(length, count)| (at, *length, count.div_ceil(columns as u64)))
            })
        });
        latency_map(&format!("{metric}, run by run"), &values.collect::<Vec<_>>(), &ends)
    };
    metrics.into_iter().filter_map(map).collect()
}

/// Latencies of each load, by share.
fn of_loads(title: &str, loads: &[Load]) -> Vec<Drawing> {
    const NAMES: [&str; 3] = ["service", "response", "lateness of the client"];
    let mut series = Vec::new();
    for load in loads {
        let Ok(observed) = &load.summary else { continue };
        for (times, name) in observed.times.iter().zip(NAMES) {
            let Some(times) = times else { continue };
            let points =
                tail_shares(20, times.count).map(|share| (share, times.quantile(share).max(1.0))).collect();
            series.push(Series {
                name: format!("{}: {name}", load.title),
                points,
                shape: Shape::Steps,
                band: Vec::new(),
            });
        }
    }
    let plot = Plot {
        title: format!("{title}: latency by share"),
        x: Axis::tail("share of transactions"),
        y: Axis::log("latency", time),
        series,
    };
    vec![Drawing::Plot(plot)]
}

/// Each slice, and the line through them.
fn of_dose(of: &Dosed) -> Drawing {
    let mut series = vec![Series {
        name: "each slice".to_owned(),
        points: of.slices.clone(),
        shape: Shape::Points,
        band: Vec::new(),
    }];
    let most = of.slices.iter().map(|slice| slice.0).fold(0.0, f64::max);
    if let Some(slope) = of.slope {
        let ends = slope.interval(tickmark_analysis::dose::CONFIDENCE);
        let at = |x: f64| (x, of.cost + slope.point * (x - of.none));
        let band = |x: f64| (of.cost + ends.low * (x - of.none), of.cost + ends.high * (x - of.none));
        let (from, to) = (of.none, most.max(of.none));
        series.push(Series {
            name: format!("slope {:.3} ({:.3} to {:.3})", slope.point, ends.low, ends.high),
            points: vec![at(from), at(to)],
            shape: Shape::Line,
            band: vec![band(from), band(to)],
        });
    }
    Drawing::Plot(Plot {
        title: "What a transaction costs, by how much longer its clock reads take".to_owned(),
        x: Axis::linear("a read took longer by", time),
        y: Axis::linear(if of.is_number { "a transaction" } else { "CPU time of a transaction" }, time),
        series,
    })
}

fn dense_gaps(of: &Noise) -> Vec<Dense> {
    let points: Vec<(f64, f64)> = of.gaps.iter().map(|gap| (gap.start / 1e9, gap.length)).collect();
    let title = format!("Every gap of CPU {}", of.cpu);
    (points.len() > DENSE).then_some(Dense { title, x: "s", y: "length", points }).into_iter().collect()
}

fn dense_wakes(runs: &[WayRun]) -> Vec<Dense> {
    let one = |(metric, own): (&str, Vec<&WayRun>)| {
        let points: Vec<(f64, f64)> =
            own.iter().flat_map(|run| timed(run).map(|(at, late)| (at / 1e9, late))).collect();
        let title = format!("{metric}: each wake-up");
        (points.len() > DENSE).then_some(Dense { title, x: "s", y: "wake-up latency", points })
    };
    by_metric(runs).into_iter().filter_map(one).collect()
}
