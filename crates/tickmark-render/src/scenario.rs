//! Errors of rows of timers, as text, JSON, columns and plot.

use crate::fold::wrapped;
use crate::grid::fitting_table;
use crate::number::{percent, time};
use crate::plot::{Axis, Plot, Series};
use std::fmt::Write;
use tickmark_analysis::scenario::{Errors, Scenario, Timer};

/// Remark of apic-timer-module.txt on its own figures; its plots and tables are lost.
const DOCUMENT: &str = "The document (450 MHz, 2001): without correction 2000 cycles late (4.4 us) or more; with it the first timer of a row is as \
                        late, the others 400 cycles (.9 us) on average; 29 timers 1000 cycles apart fall behind.";

fn measured(scenarios: &[Scenario]) -> impl Iterator<Item = (&Scenario, &Errors)> {
    scenarios.iter().filter_map(|scenario| Some((scenario, scenario.errors.as_ref().ok()?)))
}

fn middle(timer: Option<&Timer>) -> f64 {
    timer.and_then(|timer| timer.errors.quantile(0.5)).unwrap_or(0.0)
}

/// Statistics of each, as the module's /proc file has them, and how the error grows along the row.
#[must_use]
pub fn text(scenarios: &[Scenario]) -> String {
    table(scenarios) + &notes(scenarios)
}

/// The same of several settings, each under its name.
#[must_use]
pub fn of_settings(settings: &[(String, Vec<Scenario>)]) -> String {
    let one = |(name, scenarios): &(String, Vec<Scenario>)| format!("{name}\n{}\n", table(scenarios));
    let notes = notes(settings.iter().flat_map(|(_, scenarios)| scenarios));
    settings.iter().map(one).collect::<String>() + notes.trim_start()
}

fn notes<'a>(scenarios: impl IntoIterator<Item = &'a Scenario>) -> String {
    let documents = scenarios.into_iter().any(|scenario| !scenario.is_own);
    let notes = std::iter::once(NOTE).chain(documents.then_some(DOCUMENT));
    notes.map(|text| format!("\n{}\n", wrapped(text, 0).join("\n"))).collect()
}

fn table(scenarios: &[Scenario]) -> String {
    let mut out = String::new();
    let heading = ["error", "p50", "p99", "min", "max", "first", "others", "last", "early", "CPU"];
    let row = |(scenario, errors): (&Scenario, &Errors)| {
        let of = |q| errors.absolute.quantile(q).map_or_else(String::new, time);
        let ends = [errors.ends.0, errors.ends.1].map(signed);
        let [first, last] = [errors.timers.first(), errors.timers.last()].map(|timer| signed(middle(timer)));
        let others = errors.rest.map_or_else(|| "-".to_owned(), time);
        let mut cells = vec![scenario.title.clone(), of(0.5), of(0.99)];
        cells.extend(ends.into_iter().chain([first, others, last]));
        cells.push(if errors.early > 0.0 { percent(errors.early) } else { "0 %".to_owned() });
        cells.push(errors.cpu.map_or_else(|| "-".to_owned(), percent));
        cells
    };
    let rows = std::iter::once(heading.map(str::to_owned).to_vec()).chain(measured(scenarios).map(row));
    // Where there is no room: what is least of the document's.
    fitting_table(&mut out, &rows.collect::<Vec<_>>(), &[1, 2, 3, 4, 5, 6, 7, 8, 9], &[9, 8, 3, 2]);
    for scenario in scenarios {
        if let Err(why) = &scenario.errors {
            let _ = writeln!(
                out,
                "\n{}",
                wrapped(&format!("{} was not measured: {why}", scenario.title), 0).join("\n")
            );
        }
    }
    out
}

/// Errors of each row in cycles of `mhz`, with the fields of the module's /proc file; none where nothing was measured.
#[must_use]
pub fn statistics(scenarios: &[Scenario], mhz: f64) -> String {
    let mut out = String::new();
    if measured(scenarios).next().is_none() {
        return out;
    }
    let heading = ["error", "fired", "early", "min", "mean", "mean_absolute", "max"];
    let row = |(scenario, errors): (&Scenario, &Errors)| {
        let fired = errors.absolute.as_slice();
        let cycles = |nanos: f64| format!("{:.0}", nanos * mhz / 1e3);
        let early = (errors.early * fired.len() as f64).round();
        let absolute = fired.iter().sum::<f64>() / fired.len() as f64;
        let counts = [fired.len().to_string(), early.to_string()];
        let times = [errors.ends.0, errors.mean, absolute, errors.ends.1].map(cycles);
        std::iter::once(scenario.title.clone()).chain(counts).chain(times).collect()
    };
    let rows = std::iter::once(heading.map(str::to_owned).to_vec()).chain(measured(scenarios).map(row));
    fitting_table(&mut out, &rows.collect::<Vec<_>>(), &[1, 2, 3, 4, 5, 6], &[]);
    out
}

/// Explanation of the columns.
const NOTE: &str = "p50 and p99 of the error, early or late; min and max with early ones negative; first and last: median of the first and of the last timer \
                of a row; others: mean of all but the first, early or late; CPU: of all the time, pauses between rows included; - where interrupts take it.";

fn signed(nanos: f64) -> String {
    if nanos < 0.0 { format!("-{}", time(-nanos)) } else { time(nanos) }
}

/// A plot for each row: the median error of each timer, early or late, by strategy.
#[must_use]
pub fn plots(scenarios: &[Scenario]) -> Vec<Plot> {
    let mut plots: Vec<Plot> = Vec::new();
    for (scenario, errors) in measured(scenarios) {
        let (row, strategy) = scenario.title.split_once(": ").unwrap_or(("", &scenario.title));
        let title = format!("{row}: median error of each timer, early or late");
        let point = |timer: &Timer| (timer.number as f64, middle(Some(timer)).abs().max(1.0));
        let series = Series::line(strategy, errors.timers.iter().map(point).collect());
        match plots.iter_mut().find(|plot| plot.title == title) {
            Some(plot) => plot.series.push(series),
            None => plots.push(Plot {
                title,
                x: Axis::linear("timer", |number| number.to_string()),
                y: Axis::log("error", time),
                series: vec![series],
            }),
        }
    }
    plots
}

/// For gnuplot: number of the timer, median, 10th and 90th percentile in ns; a block with its name for each row and strategy.
#[must_use]
pub fn values(scenarios: &[Scenario]) -> String {
    let mut out = String::new();
    for (scenario, errors) in measured(scenarios) {
        let _ = writeln!(out, "# {}\n# timer median p10 p90 (ns, early is negative)", scenario.title);
        for timer in &errors.timers {
            let [median, low, high] = [0.5, 0.1, 0.9].map(|q| timer.errors.quantile(q).unwrap_or(0.0));
            let _ = writeln!(out, "{} {median} {low} {high}", timer.number);
        }
        out += "\n\n";
    }
    out
}
