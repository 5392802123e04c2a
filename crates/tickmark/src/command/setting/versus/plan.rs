//! How often commands run, in how many blocks, and after which of them they are compared.

use crate::cli::Versus;
use std::time::Duration;
use tickmark_drive::Experiment;
use tickmark_stats::sequential;
use tickmark_wire::Nanos;

/// How long it may take where nothing is said: of several commands, of a single one.
const BUDGET: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(10)];
/// The first look, in blocks; a budget that is not said leaves time for as many.
const FIRST: u32 = 8;
/// Blocks at most, where nothing else is said.
const MOST: u32 = 2_000;
/// A command is run so often in a block that it takes about this long, and at most so often.
const SLICE: Duration = Duration::from_millis(20);
const REPEATS: f64 = 99.0;

/// How long it may take.
pub(super) fn budget(options: &Versus, commands: usize) -> Duration {
    options.budget.map_or(BUDGET[usize::from(commands < 2)], Nanos::to_duration)
}

/// How often each command runs in a block: the same for all; once where something comes before or after each run, or the number of runs
/// was said.
pub(super) fn repeats(options: &Versus, walls: &[Duration]) -> u32 {
    let is_single = options.runs.is_some() || !options.prepare.is_empty() || !options.conclude.is_empty();
    let slowest = walls.iter().max().map_or(f64::MAX, Duration::as_secs_f64);
    if is_single { 1 } else { (SLICE.as_secs_f64() / slowest.max(1e-6)).clamp(1.0, REPEATS) as u32 }
}

/// How many blocks, and when they are looked at; the first runs took some of the time.
pub(super) fn plan(options: &Versus, experiment: &mut Experiment, block: Duration, spent: Duration) {
    if let Some(runs) = options.runs {
        (experiment.blocks, experiment.budget) = (runs, options.budget.map(Nanos::to_duration));
        return;
    }
    let left = budget(options, experiment.programs.len()).saturating_sub(spent);
    let fits = (left.as_secs_f64() / block.as_secs_f64().max(1e-4)) as u32;
    let first = options.min_runs.unwrap_or(FIRST);
    let least = if options.budget.is_some() { 2 } else { first };
    let most = options.max_runs.unwrap_or(MOST.max(first));
    // The first runs are a rough guess: half as many more are planned, and the time ends it.
    experiment.blocks = (fits + fits / 2).max(least).min(most);
    // A budget that nobody named leaves time for the first look, also where runs turn out slower.
    let is_enough = options.budget.is_some() || fits >= 2 * first;
    experiment.budget = is_enough.then_some(left);
    let looks = sequential::looks(first.min(experiment.blocks) as usize, experiment.blocks as usize);
    experiment.looks = looks.into_iter().map(|look| look as u32).collect();
}

/// How long it will take, in words.
pub(super) fn announced(options: &Versus, experiment: &Experiment, block: Duration) -> String {
    let (blocks, commands) = (experiment.blocks, experiment.programs.len() as u32);
    let seconds = block.as_secs_f64() * f64::from(blocks);
    let seconds = experiment.budget.map_or(seconds, |budget| seconds.min(budget.as_secs_f64()));
    let time = tickmark_render::rough_time(seconds);
    let what = if commands < 2 { String::new() } else { format!(" of {commands} commands") };
    let blocks = tickmark_render::count(blocks, "block");
    match options.runs {
        Some(_) => format!("{blocks}{what}: about {time}"),
        None => format!("at most {blocks}{what}, about {time}; it ends when it is decided"),
    }
}
