//! How late each way to wait wakes a program, and how far off rows of timers are.

use super::run::{measured_here, own_name, saved};
use crate::cli::{Format, ScenarioOutput, Timers};
use crate::error::{Code, Error};
use crate::selection;
use std::path::Path;
use tickmark_analysis::report;
use tickmark_analysis::scenario::{self, Scenario};
use tickmark_analysis::wakes;
use tickmark_drive::plan;
use tickmark_store::{Recording, Store};
use tickmark_wire::{Nanos, Priority, names};

/// Wake-ups that a run of one way has time for, at least.
const FEWEST: i64 = 10;
/// Of a plot in the terminal, axes not counted.
const SIZE: (usize, usize) = (62, 16);

pub(super) fn run(store: &Store, asked: &Timers) -> Result<Code, Error> {
    if let Some(folder) = &asked.plots {
        // Refused now, and not after the measurement.
        std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    }
    if let Some(name) = &asked.of {
        let recording = store.find(name)?;
        return show(&recording, asked).map(|_| Code::Done);
    }
    let select = if asked.rows.is_empty() { ways(asked) } else { rows(asked) };
    let offers = selection::select(&select)?;
    if asked.rows.is_empty() {
        enough_time(asked, offers.len() as i64)?;
    }
    let settings = (&asked.settings).into();
    let plan = plan::make(&offers, asked.runs, Some(asked.duration), settings, false, &mut rand::rng());
    let name = own_name(asked.name.as_deref());
    let (made, stopped) = measured_here(store, &[(name, plan)], &select, &|_| false)?;
    let made = made.into_iter().next();
    let recording = made.ok_or_else(|| Error::Refused("nothing was measured".to_owned()))??;
    let all = show(&recording, asked)?;
    if asked.output.format == Format::Text
        && !asked.cyclictest
        && asked.scenario_output != ScenarioOutput::Values
    {
        saved(&recording, stopped, "timers --of")?;
    }
    Ok(if all && !stopped { Code::Done } else { Code::Partly })
}

/// A run of so few wake-ups says nothing, and may not end before its limit.
fn enough_time(asked: &Timers, ways: i64) -> Result<(), Error> {
    let all = FEWEST * asked.interval.get() * i64::from(asked.runs) * ways;
    if asked.duration.get() >= all {
        return Ok(());
    }
    let (runs, seconds) = (asked.runs, all / 1_000_000_000 + 1);
    Err(Error::Usage(format!(
        "--duration: too short for {FEWEST} wake-ups in each of {runs} runs of {ways} ways; give {seconds}s, a shorter --interval or fewer ways"
    )))
}

/// The probe of wake-ups with each combination that is asked for.
fn ways(asked: &Timers) -> Vec<String> {
    let ahead = asked.interval.get() / 1_000;
    let mut select = Vec::new();
    for method in &asked.methods {
        for class in &asked.class {
            for idle in &asked.idle {
                let told = format!("ahead={ahead},method={method},class={class},idle={idle}");
                select.push(format!("{}:{told}", names::WAKE));
            }
        }
    }
    select
}

/// The probe of rows with each combination that is asked for.
fn rows(asked: &Timers) -> Vec<String> {
    let (unit, repeats) = (&asked.unit, asked.repeats);
    let of = |row| {
        let told = move |strategy| format!("row={row},strategy={strategy},unit={unit},repeats={repeats}");
        let kernel = asked.in_kernel.then_some(names::IN_KERNEL).into_iter().flatten();
        let all = asked.strategy.iter().map(String::as_str).chain(kernel);
        all.map(move |strategy| format!("{}:{}", names::SCENARIO, told(strategy)))
    };
    asked.rows.iter().flat_map(of).collect()
}

/// Whether everything that the recording was to have is in it.
fn show(recording: &Recording, asked: &Timers) -> Result<bool, Error> {
    let scenarios = scenario::of(recording);
    if !scenarios.is_empty() {
        return show_scenarios(recording, &scenarios, asked);
    }
    let lengths: Vec<f64> = asked.late.iter().map(|length: &Nanos| length.as_f64()).collect();
    let id = &recording.meta.id;
    let tails = wakes::Asked { lengths: &lengths, confidence: asked.confidence, bound: asked.bound };
    let wakes = wakes::of(recording, &tails)
        .ok_or_else(|| Error::Usage(format!("recording {id} has no wake-ups of `tickmark timers`")))?;
    if asked.cyclictest {
        super::print(&tickmark_render::cyclictest::text(&wakes, priority(recording)))?;
    } else if asked.output.format == Format::Json {
        with_header(recording, tickmark_render::wakes::json(&wakes))?;
    } else {
        header(recording)?;
        super::print(&tickmark_render::wakes::text(&wakes))?;
    }
    Ok(wakes.ways.iter().all(|way| way.seen.is_ok()))
}

/// Of real-time scheduling, as the plan asks for it.
fn priority(recording: &Recording) -> u8 {
    match recording.meta.plan.settings.priority {
        Priority::Fifo(level) => level,
        Priority::Other | Priority::Unknown(_) => 0,
    }
}

fn show_scenarios(recording: &Recording, scenarios: &[Scenario], asked: &Timers) -> Result<bool, Error> {
    let plots = tickmark_render::scenario::plots(scenarios);
    if let Some(folder) = &asked.plots {
        for (number, plot) in plots.iter().enumerate() {
            write(&folder.join(format!("scenario-{}.svg", number + 1)), &plot.svg())?;
        }
    }
    match (asked.output.format, asked.scenario_output) {
        (Format::Json, _) => with_header(recording, tickmark_render::scenario::json(scenarios))?,
        (_, ScenarioOutput::Values) => super::print(&tickmark_render::scenario::values(scenarios))?,
        (_, output) => {
            header(recording)?;
            if output == ScenarioOutput::Plot {
                let texts: Vec<String> = plots.iter().map(|plot| plot.text(SIZE.0, SIZE.1)).collect();
                super::print(&texts.join("\n"))?;
            } else {
                super::print(&tickmark_render::scenario::text(scenarios))?;
            }
        }
    }
    Ok(scenarios.iter().all(|scenario| scenario.seen.is_ok()))
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(path, text).map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    Error::Refused(format!("--plots: {}: {error}", path.display()))
}

fn header(recording: &Recording) -> Result<(), Error> {
    let header = report::build(recording, &|_| false, false).header;
    super::print(&format!("{}\n\n", tickmark_render::report::header(&header)))
}

fn with_header(recording: &Recording, mut value: serde_json::Value) -> Result<(), Error> {
    value["recording"] = serde_json::json!(report::build(recording, &|_| false, false).header);
    super::print_json(&value)
}
