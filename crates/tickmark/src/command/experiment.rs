//! A knob turned in interleaved blocks, and what that changes.

use super::compare;
use crate::cli::{CompareFormat, Experiment as Asked};
use crate::comparison::{self, Model, Side, Unit};
use crate::error::{Code, Error};
use crate::experiment::{self, Experiment, Halt, Outcome, Reach, Take};
use crate::report::{self, RowStatus};
use crate::selection;
use crate::store::Store;
use crate::target::Stop;
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::path::Path;
use std::time::Duration;
use tickmark_wire::{Better, Nanos};

/// Blocks where nothing is said, and the most that a width may ask for.
const BLOCKS: u32 = 10;
const MOST: u32 = 100;
/// What one setting of one block measures at most, and each probe of it.
const BLOCK: Nanos = Nanos::from_millis(9_000);
const SLICE: Nanos = Nanos::from_millis(60);

pub(super) fn run(store: &Store, asked: &Asked) -> Result<Code, Error> {
    if asked.restore {
        let lines = experiment::restore(store.root())?;
        let none = "no killed experiment left anything changed".to_owned();
        let text = if lines.is_empty() { none } else { lines.join("\n") };
        super::print(&format!("{text}\n"))?;
        return Ok(Code::Done);
    }
    let (experiment, width, margin) = plan(asked)?;
    let stop = Stop::default();
    let own = stop.clone();
    // The blocks end, everything is put back, and what was measured is shown.
    let _ = ctrlc::set_handler(move || own.stop());
    let mut random = StdRng::from_rng(&mut rand::rng());
    let ended = experiment.guarded(store, || {
        experiment.try_settings()?;
        if !asked.no_pilot {
            announce(store, &experiment, &stop, &mut random)?;
        }
        let narrow = |ids: &[String], blocks: u32| {
            let wide = |width| blocks < 3 || !is_narrow(store, ids, margin, width);
            width.is_some_and(|width| !wide(width))
        };
        if stop.stopped() {
            return Err(Error::Refused(
                "interrupted before the first block; everything is put back".to_owned(),
            ));
        }
        experiment.run(store, &stop, &mut random, &narrow)
    });
    let (ids, made, halt) = ended?;
    if made < 2 {
        let kept = ids.join(" ");
        return Err(Error::Refused(format!("ended after {made} blocks, too few to compare; kept as {kept}")));
    }
    let model = model(store, &ids, margin)?;
    compare::show(&model, asked.format)?;
    tell(&experiment, &ids, made, halt, asked.format)?;
    let code = compare::code(&model, asked.fail_on);
    let partly = halt == Halt::Stopped || failed(store, &ids, made);
    Ok(if code == Code::Done && partly { Code::Partly } else { code })
}

/// From the command line and a file to what is to be done; with the width and the margin.
fn plan(asked: &Asked) -> Result<(Experiment, Option<f64>, f64), Error> {
    let what = asked.what.as_deref().unwrap_or_default();
    let file = !what.contains('=') && (what.ends_with(".toml") || Path::new(what).is_file());
    let from = if file {
        experiment::read(Path::new(what))?
    } else {
        let knob = experiment::parse(what)?;
        let (probes, outcomes) = (Vec::new(), Vec::new());
        experiment::Asked {
            knob,
            probes,
            outcomes,
            name: None,
            blocks: None,
            width: None,
            budget: None,
            margin: None,
        }
    };
    let mut outcomes = from.outcomes;
    outcomes.extend(asked.command.as_ref().map(|command| Outcome {
        name: "command".to_owned(),
        command: command.clone(),
        take: Take::Only,
        better: if asked.higher_is_better { Better::Higher } else { Better::Lower },
        limit: Duration::from_secs(600),
    }));
    let select = if asked.select.is_empty() { from.probes } else { asked.select.clone() };
    // A command of its own is what is looked at, unless probes are named.
    let probes =
        if select.is_empty() && !outcomes.is_empty() { Vec::new() } else { selection::select(&select)? };
    if let Some(own) = outcomes.iter().find(|outcome| tickmark_probe::find(&outcome.name).is_some()) {
        return Err(Error::Usage(format!("command {} has the name of a probe", own.name)));
    }
    let (knob_name, knob, settings) = from.knob;
    let width = asked.width.or(from.width);
    let blocks = asked.blocks.or(from.blocks).unwrap_or(if width.is_some() { MOST } else { BLOCKS });
    let weight: u32 = probes.iter().map(|probe| probe.spec.weight).sum();
    let slice = Nanos::new((SLICE.get() * i64::from(weight) / 10).min(BLOCK.get()).max(1));
    let experiment = Experiment {
        name: asked.name.clone().or(from.name).unwrap_or_else(|| knob_name.clone()),
        knob_name,
        knob,
        settings,
        probes,
        outcomes,
        blocks,
        slice,
        budget: asked.budget.or(from.budget).map(Nanos::to_duration),
        measured: (&asked.settings).into(),
    };
    Ok((experiment, width, asked.margin.or(from.margin).unwrap_or(0.01)))
}

/// Looks how far runs spread, and says what the experiment will be able to see.
fn announce(store: &Store, experiment: &Experiment, stop: &Stop, random: &mut StdRng) -> Result<(), Error> {
    let id = experiment.pilot(store, experiment::PAIRS, stop, random)?;
    if stop.stopped() {
        return Ok(());
    }
    let model = report::build(&store.find(&id)?, &|_| true, false);
    let mut reach = experiment::reach(&model, experiment.blocks);
    reach.sort_by(|a, b| a.detectable.total_cmp(&b.detectable));
    let percent = |reach: &Reach| format!("{:.2} %", reach.detectable * 100.0);
    let (blocks, power) = (experiment.blocks, experiment::POWER * 100.0);
    let say = |line: String| anstream::eprintln!("{line}");
    say(format!("the smallest change that {blocks} blocks find in {power} of 100 experiments (pilot {id}):"));
    let few = reach.len() <= 12;
    if few {
        for one in &reach {
            say(format!("  {} {}: {}", one.metric, one.figure, percent(one)));
        }
    } else if let [best, .., worst] = &reach[..] {
        let middle = &reach[reach.len() / 2];
        say(format!(
            "  of {} figures the best {} ({} {}),",
            reach.len(),
            percent(best),
            best.metric,
            best.figure
        ));
        say(format!(
            "  the middle one {}, the worst {} ({} {})",
            percent(middle),
            percent(worst),
            worst.metric,
            worst.figure
        ));
    }
    let expected = experiment::expected(
        &experiment.knob,
        &experiment.knob_name,
        &experiment.settings,
        &experiment.measured,
        &model,
    );
    for line in expected {
        say(format!("expected: {line}"));
    }
    Ok(())
}

fn model(store: &Store, ids: &[String], margin: f64) -> Result<Model, Error> {
    let sides = ids.iter().map(|id| Ok(Side { recordings: vec![store.find(id)?] }));
    let sides: Vec<Side> = sides.collect::<Result<_, Error>>()?;
    comparison::build(store, &sides, comparison::Asked { margin, unit: Unit::Recording })
}

/// Whether every interval is this narrow.
fn is_narrow(store: &Store, ids: &[String], margin: f64, width: f64) -> bool {
    let narrow = |model: Model| !model.any(|line| line.half_width().is_none_or(|half| half > width));
    model(store, ids, margin).is_ok_and(narrow)
}

/// Whether a run of a block that was made gave nothing for another reason than that the system lacks it.
fn failed(store: &Store, ids: &[String], made: u32) -> bool {
    let rows = |id: &String| {
        let Ok(mut recording) = store.find(id) else { return true };
        recording.runs.retain(|run| run.planned.round <= made);
        let model = report::build(&recording, &|_| true, false);
        let bad = |status| {
            matches!(status, RowStatus::Partly | RowStatus::Failed | RowStatus::Timeout | RowStatus::Missing)
        };
        model.groups.iter().flat_map(|(_, rows)| rows).any(|row| bad(row.status))
    };
    ids.iter().any(rows)
}

fn tell(
    experiment: &Experiment,
    ids: &[String],
    made: u32,
    halt: Halt,
    format: CompareFormat,
) -> Result<(), Error> {
    let why = match halt {
        Halt::Done => String::new(),
        Halt::Narrow => ", as the intervals are narrow enough".to_owned(),
        Halt::Budget => ", as the time is over".to_owned(),
        Halt::Stopped => ", interrupted".to_owned(),
    };
    let knob = &experiment.knob_name;
    let line = format!("{made} blocks{why}; {knob} is as it was; kept as {}\n", ids.join(" "));
    if format == CompareFormat::Text {
        return super::print(&line);
    }
    anstream::eprint!("{line}");
    Ok(())
}
