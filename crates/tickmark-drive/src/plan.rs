//! Which runs are made, in which order, for how long.

use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use tickmark_wire::{Group, Headline, Name, Nanos, Offer, Plan, RunId, RunPlan, Settings, names};

/// Measuring time of a probe in each run unless a budget is given.
const SLICE: Nanos = Nanos::from_millis(72);
/// Total time of all probes unless a budget is given: with starting their processes a minute.
const ALL: Nanos = Nanos::from_millis(46_000);
/// Measuring time of a probe that is run once.
const ONCE: Nanos = Nanos::from_millis(500);
/// The least: a batch loop finds its batches and stamps some.
const LEAST: Nanos = Nanos::from_millis(2);
/// The least that shows a tick of 100 Hz and its rate.
const LEAST_TICK: Nanos = Nanos::from_millis(300);
/// Time limit of a command: a boot has its limit in real time, and a guest is slower than its clock.
const COMMAND: Nanos = Nanos::from_millis(24 * 3_600_000);
/// Environments differ by up to a page, in steps of a stack's alignment.
const PADDING: std::ops::Range<u32> = 0..256;

/// The runs of the selected probes: `rounds` rounds, each in an order of its own. Where the tick is
/// not among them, one short run of it comes first, for the environment record. `once` is one round without
/// that.
#[must_use]
pub fn make(
    selected: &[Offer],
    rounds: u32,
    budget: Option<Nanos>,
    settings: Settings,
    once: bool,
    random: &mut impl Rng,
) -> Plan {
    let one = Nanos::new(ONCE.get() * selected.len() as i64);
    let budget = budget.or(once.then_some(one));
    let rounds = if once { 1 } else { rounds };
    let weight = weight(selected);
    let shared = |all: Nanos| all.as_f64() * 10.0 / f64::from(weight.max(1)) / f64::from(rounds.max(1));
    let slice = budget.map_or_else(|| SLICE.as_f64().min(shared(ALL)), shared);
    let share = |weight: u32| Nanos::new((slice * f64::from(weight) / 10.0) as i64).max(LEAST);
    let mut runs = Vec::new();
    let padding = |random: &mut dyn FnMut() -> u32| random() * 16;
    let has_tick = selected.iter().any(is_tick);
    let selftest =
        selected.iter().all(|offer| offer.metric().is_some_and(|metric| metric.group == Group::Selftest));
    if !has_tick && !selftest && !once {
        let padding = padding(&mut || random.random_range(PADDING));
        runs.push(RunPlan { padding, ..RunPlan::new(RunId(0), 0, Name::new(names::TICK), LEAST_TICK) });
    }
    for round in 1..=rounds {
        let mut order: Vec<&Offer> = selected.iter().collect();
        order.shuffle(random);
        for offer in order {
            let least = if is_tick(offer) { LEAST_TICK } else { LEAST };
            let run = RunPlan::new(
                RunId(runs.len() as u32),
                round,
                offer.probe.clone(),
                share(offer.weight).max(least),
            );
            let own = offer.metrics.iter().map(|metric| metric.name.clone());
            runs.push(RunPlan {
                arguments: offer.arguments.clone(),
                // How long a command takes is not known before, nor how long a server does to begin, and a tracer is told.
                limit: (offer.probe.as_str() == names::SQL
                    || offer.metric().is_some_and(|m| LONG.contains(&m.name.as_str())))
                .then_some(COMMAND),
                // A probe of one metric has its name.
                gives: own.filter(|name| offer.metrics.len() > 1 || *name != offer.probe).collect(),
                padding: padding(&mut || random.random_range(PADDING)),
                ..run
            });
        }
    }
    let metrics = selected.iter().flat_map(|offer| offer.metrics.iter().cloned()).collect();
    Plan { settings, metrics, runs }
}

/// Leaves of the runs of one kind the first, and numbers all anew.
pub fn keep_first(plan: &mut Plan, kind: impl Fn(&RunPlan) -> bool) {
    let mut kept = false;
    plan.runs.retain(|run| !kind(run) || !std::mem::replace(&mut kept, true));
    for (number, run) in plan.runs.iter_mut().enumerate() {
        run.id = RunId(number as u32);
    }
}

fn is_tick(offer: &Offer) -> bool {
    offer.metric().is_some_and(|metric| metric.headline == Headline::TickTrain)
}

/// Metrics of what takes as long as it takes.
const LONG: [&str; 10] = [
    names::WITNESS,
    names::RECORDED_WAKE,
    names::COMMAND_TIME,
    names::OSNOISE_LOST,
    names::TIMERLAT_INTERRUPT,
    names::BILL,
    names::BILL_UNWATCHED,
    names::BILL_RECORDED,
    names::CLOCK_READS,
    names::DOSE,
];

/// How many tenths of an ordinary probe's budget they take together.
#[must_use]
pub fn weight(selected: &[Offer]) -> u32 {
    selected.iter().map(|offer| offer.weight).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use std::collections::BTreeSet;

    fn plan(names: &[&str], rounds: u32, budget: Option<Nanos>, seed: u64) -> Plan {
        let named = |offer: &Offer| match names {
            [] => offer.metrics[0].group != Group::Selftest,
            names => names.contains(&offer.metrics[0].name.as_str()),
        };
        let offers = tickmark_load::REGISTRY.cases().map(|case| case.offer());
        let selected: Vec<Offer> = offers.filter(named).collect();
        make(&selected, rounds, budget, Settings::default(), false, &mut StdRng::seed_from_u64(seed))
    }

    #[test]
    fn each_round_runs_every_probe_once_in_its_own_order() {
        let plan = plan(&[], 5, None, 1);
        let round =
            |n| plan.runs.iter().filter(move |r| r.round == n).flat_map(|r| r.metrics().map(Name::as_str));
        let sets: BTreeSet<BTreeSet<&str>> = (1..=5).map(|n| round(n).collect()).collect();
        assert_eq!(sets.len(), 1);
        let orders: BTreeSet<Vec<&str>> = (1..=5).map(|n| round(n).collect()).collect();
        assert_eq!(orders.len(), 5);
        let paddings: BTreeSet<u32> = plan.runs.iter().map(|r| r.padding).collect();
        assert!(paddings.len() > 100);
    }

    #[test]
    fn the_default_measures_for_less_than_a_minute() {
        let total = |names: &[&str]| plan(names, 5, None, 1).runs.iter().map(|r| r.budget.get()).sum::<i64>();
        assert!((35_000_000_000..49_000_000_000).contains(&total(&[])), "{}", total(&[]));
    }

    #[test]
    fn a_run_says_what_the_probe_is_told_and_gives() {
        let one = plan(&["switch.8p.16k.across"], 1, None, 1);
        let run = one.runs.iter().find(|run| run.round == 1).unwrap();
        assert_eq!((run.probe.as_str(), run.arguments["place"].as_str()), ("switch", "across"));
        assert!(run.gives(&Name::new("switch.8p.16k.across")) && !run.gives(&run.probe));
        let plain = plan(&["syscall.null"], 1, None, 1);
        assert!(plain.runs.iter().all(|run| run.gives.is_empty() && run.gives(&run.probe)));
    }

    #[test]
    fn a_budget_is_kept() {
        let total = |budget| {
            plan(&[], 5, Some(Nanos::new(budget)), 1).runs.iter().map(|r| r.budget.get()).sum::<i64>()
        };
        assert!((total(60_000_000_000) - 60_000_000_000).abs() < 600_000_000);
        let one = plan(&["syscall.null"], 2, Some(Nanos::new(1_000_000_000)), 1);
        let null: Vec<i64> = one.runs.iter().filter(|r| r.round > 0).map(|r| r.budget.get()).collect();
        assert_eq!(null, [500_000_000, 500_000_000]);
    }

    #[test]
    fn the_tick_is_looked_at_once_where_it_was_not_asked_for() {
        let rounds = |names: &[&str]| {
            let plan = plan(names, 2, None, 1);
            plan.runs.iter().filter(|r| r.probe.as_str() == "tick").map(|r| r.round).collect::<Vec<_>>()
        };
        assert_eq!(rounds(&["syscall.null"]), [0]);
        assert_eq!(rounds(&["tick"]), [1, 2]);
        assert!(rounds(&["selftest.hang"]).is_empty());
    }
}
