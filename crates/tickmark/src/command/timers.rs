//! How late each way to wait wakes a program.

use super::run::{measured_here, own_name, saved};
use crate::cli::{Format, Timers};
use crate::error::{Code, Error};
use crate::selection;
use tickmark_analysis::report;
use tickmark_analysis::wakes::{self, Wakes};
use tickmark_drive::plan;
use tickmark_store::{Recording, Store};
use tickmark_wire::{Nanos, names};

pub(super) fn run(store: &Store, asked: &Timers) -> Result<Code, Error> {
    if let Some(name) = &asked.of {
        let recording = store.find(name)?;
        return show(&recording, asked).map(|_| Code::Done);
    }
    let select = select(asked);
    let offers = selection::select(&select)?;
    let settings = (&asked.settings).into();
    let plan = plan::make(&offers, asked.runs, Some(asked.duration), settings, false, &mut rand::rng());
    let name = own_name(asked.name.as_deref());
    let (made, stopped) = measured_here(store, &[(name, plan)], &select, &|_| false)?;
    let recording =
        made.into_iter().next().ok_or_else(|| Error::Refused("nothing was measured".to_owned()))??;
    let all = show(&recording, asked)?.ways.iter().all(|way| way.seen.is_ok());
    if asked.output.format == Format::Text {
        saved(&recording, stopped, "timers --of")?;
    }
    Ok(if all && !stopped { Code::Done } else { Code::Partly })
}

/// The probe with each combination that is asked for.
fn select(asked: &Timers) -> Vec<String> {
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

fn show(recording: &Recording, asked: &Timers) -> Result<Wakes, Error> {
    let lengths: Vec<f64> = asked.late.iter().map(|length: &Nanos| length.as_f64()).collect();
    let id = &recording.meta.id;
    let wakes = wakes::of(recording, &lengths, asked.confidence)
        .ok_or_else(|| Error::Usage(format!("recording {id} has no wake-ups of `tickmark timers`")))?;
    let header = report::build(recording, &|_| false, false).header;
    if asked.output.format == Format::Json {
        let mut value = tickmark_render::wakes::json(&wakes);
        value["recording"] = serde_json::json!(header);
        super::print_json(&value)?;
    } else {
        super::print(&format!("{}\n\n", tickmark_render::report::header(&header)))?;
        super::print(&tickmark_render::wakes::text(&wakes))?;
    }
    Ok(wakes)
}
