//! A loop that does not look all the time, and asks the kernel what it counted.

use super::*;

/// After some gaps the loop reads what the kernel counted, and sees nothing meanwhile: the tick follows the host's closely.
#[test]
fn what_came_while_the_loop_did_not_look_is_not_missing() {
    for seed in 0..10 {
        let planted = Planted::new(seed, 2.0)
            .train(250.0, 15_000.0, 0.97, true, false)
            .train(1000.0, 6_000.0, 1.0, false, false);
        let Planted { gaps, mut random, .. } = planted;
        let mut ticks: Vec<f64> = gaps.iter().filter(|gap| gap.1 > 12_000.0).map(|gap| gap.0).collect();
        ticks.sort_unstable_by(f64::total_cmp);
        let shift = ticks[0]
            - 10_000.0
            - gaps.iter().filter(|gap| gap.1 < 12_000.0).map(|gap| gap.0).fold(f64::MAX, f64::min);
        // The host's begin 10 us before the tick's.
        let mut all: Vec<(f64, f64)> = gaps
            .iter()
            .map(|gap| if gap.1 < 12_000.0 { ((gap.0 + shift).max(0.0), 4_000.0) } else { (gap.0, gap.1) })
            .collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut observed, mut unseen) = (Vec::<(f64, f64)>::new(), Vec::<(f64, f64)>::new());
        let mut timers: Vec<(u32, bool)> = Vec::new();
        for (start, length) in all {
            let busy = unseen.last().is_some_and(|(_, to)| start < *to)
                || observed.last().is_some_and(|last| start < last.0 + last.1);
            if busy || start + length > 2e9 {
                continue;
            }
            observed.push((start, length));
            if random.random::<f64>() < 0.5 {
                timers.push((observed.len() as u32 - 1, length > 12_000.0));
                unseen.push((start + length, start + length + 45_000.0));
            }
        }
        let start: Vec<f64> = observed.iter().map(|gap| gap.0).collect();
        let length: Vec<f64> = observed.iter().map(|gap| gap.1).collect();
        // So many that the count does not refuse the host's.
        let gaps = Gaps {
            span: 2e9,
            start: &start,
            length: &length,
            preempted: &[],
            interrupts: Some(2_000.0),
            unseen: &unseen,
            timers: &timers,
        };
        let all = trains(&gaps);
        let rates: Vec<f64> = all.all.iter().map(|train| train.frequency.round()).collect();
        assert!(rates.contains(&250.0) && rates.contains(&1000.0), "seed {seed}: {rates:?}");
        // Nothing was counted in the host's, so that it is none of this kernel's, however many timers there are.
        let is_host =
            |found: &Trains| found.tick.ok().is_some_and(|tick| within(&found.all[tick], 1000.0, 50.0));
        assert!(!is_host(&all), "seed {seed}: {all:?}");
        assert!(is_host(&trains(&Gaps { timers: &[], ..gaps })), "seed {seed}: told by nothing else");
        let fewer = find(&Gaps { interrupts: Some(520.0), ..gaps });
        assert!(fewer.as_ref().is_ok_and(|train| within(train, 250.0, 20.0)), "seed {seed}: {fewer:?}");
    }
}

/// Tasks come between the ticks that no timer of this CPU woke: where timers were counted in the tick's own gaps, the tick is a part of the count all the
/// same.
#[test]
fn tasks_that_come_between_are_no_timers() {
    for seed in 0..10 {
        let mut planted = Planted::new(seed, 2.0).train(250.0, 15_000.0, 0.97, true, false);
        for _ in 0..1_200 {
            let at = planted.random.random::<f64>() * 2e9;
            planted.gaps.push((at, 20_000.0, true));
        }
        planted.gaps.sort_by(|a, b| a.0.total_cmp(&b.0));
        planted.merge();
        let start: Vec<f64> = planted.gaps.iter().map(|gap| gap.0).collect();
        let length: Vec<f64> = planted.gaps.iter().map(|gap| gap.1).collect();
        let which = |turn: bool| {
            let own = (0u32..).zip(&planted.gaps).filter(move |(_, gap)| gap.2 == turn);
            own.map(|(number, _)| number).collect::<Vec<u32>>()
        };
        let preempted = which(true);
        let timers: Vec<(u32, bool)> = which(false).into_iter().step_by(3).map(|gap| (gap, true)).collect();
        // 410 other timers a second: each may have woken one of the tasks.
        let gaps = Gaps {
            span: 2e9,
            start: &start,
            length: &length,
            preempted: &preempted,
            interrupts: Some(660.0),
            unseen: &[],
            timers: &timers,
        };
        let found = find(&gaps);
        assert!(found.as_ref().is_ok_and(|train| within(train, 250.0, 5.0)), "seed {seed}: {found:?}");
        let found = find(&Gaps { timers: &[], ..gaps });
        assert!(found.is_err(), "seed {seed}: timers may have woken the tasks");
    }
}
