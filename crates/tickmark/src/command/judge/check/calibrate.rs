//! Recordings in which nothing is changed, to measure the gate by.

use super::CheckedRecordings;
use crate::cli::Check;
use crate::command::gates::{Gate, Trial};
use crate::command::run::{measured_one, own_name};
use crate::error::Error;
use crate::progress::{control, plan_time};
use rand::seq::SliceRandom;
use tickmark_analysis::gate::{self, Figures, needed_by_labels};
use tickmark_store::{Recording, Store};
use tickmark_wire::{Plan, RunId, RunPlan};

/// So many times recordings are made where the level of a figure changed meanwhile.
const ROUNDS: usize = 3;

/// Makes recordings like the newest, and keeps their figures as trials; what the history lacks of the level of today is made first, and kept as recordings:
/// gives what is found then.
pub(super) fn run(
    store: &Store,
    of: &str,
    mut found: CheckedRecordings,
    options: &Check,
    figures: &dyn Fn(&Recording) -> Figures,
) -> Result<CheckedRecordings, Error> {
    let newest = &found.new[0].clone();
    if newest.meta.target.is_some() || newest.imported.is_some() || newest.meta.arm.is_some() {
        return Err(Error::Usage(
            "--calibrate: this recording was not made by `tickmark run` on this machine".to_owned(),
        ));
    }
    let folder = tempfile::tempdir().map_err(Error::file("make", std::env::temp_dir()))?;
    let scratch = crate::command::open(Some(folder.path().to_owned()))?;
    let name = own_name(Some(&newest.meta.name));
    let one = |store: &Store| -> Result<Recording, Error> {
        let select = newest.meta.select.clone();
        let (made, stopped) = measured_one(store, Some(&name), again(&newest.meta.plan), &select)?;
        if stopped || control().stopped() {
            return Err(Error::Refused("interrupted: what was made so far is kept".to_owned()));
        }
        if gate::machine(&made, !options.any_host) != gate::machine(newest, !options.any_host) {
            return Err(Error::Refused(format!(
                "recording {} is of another machine ({}) than this one ({})",
                newest.meta.id,
                gate::machine(newest, true),
                gate::machine(&made, true)
            )));
        }
        Ok(made)
    };
    let together = options.last as usize;
    let wanted = (options.recordings as usize).max(needed_by_labels(together));
    let lacks = (wanted + together).saturating_sub(found.earlier.len() + found.new.len());
    let all = (lacks + options.trials as usize * together) as f64;
    let all = all * plan_time(&newest.meta.plan).as_nanos() as f64;
    crate::notice!(
        "this takes about {}: {lacks} recordings like {}, then {} trials",
        tickmark_render::time(all),
        newest.meta.id,
        options.trials
    );
    for _ in 0..ROUNDS {
        // With the new ones, which are earlier ones from now on.
        let mut last = None;
        for number in found.earlier.len() + found.new.len()..wanted + together {
            crate::notice!("recording {} of {} to judge by", number + 1, wanted + together);
            last = Some(one(store)?);
        }
        let Some(last) = last else { break };
        let gate = Gate::read(store, of)?;
        found = CheckedRecordings::find(store, &last, &gate, options)?.of_today(&gate, figures);
    }
    let count = options.trials as usize * together;
    for number in 1..=count {
        crate::notice!("trial {number} of {count}");
        let made = one(&scratch)?;
        let kernel = made.environment().and_then(|facts| facts.get("kernel.release"));
        let trial = Trial::new(kernel.unwrap_or("unknown"), gate::figures(&made, &|_, _| true));
        scratch.delete(&made.meta.id)?;
        Gate::change(store, of, |gate| gate.trials.push(trial))?;
    }
    Ok(found)
}

/// A plan of the same runs, in other orders.
fn again(plan: &Plan) -> Plan {
    let mut random = rand::rng();
    let rounds = plan.runs.iter().map(|run| run.round).max().unwrap_or(0);
    let mut runs = Vec::with_capacity(plan.runs.len());
    for round in 0..=rounds {
        let mut own: Vec<RunPlan> = plan.runs.iter().filter(|run| run.round == round).cloned().collect();
        own.shuffle(&mut random);
        runs.extend(own);
    }
    for (id, run) in (0..).zip(&mut runs) {
        run.id = RunId(id);
    }
    Plan { runs, ..plan.clone() }
}
