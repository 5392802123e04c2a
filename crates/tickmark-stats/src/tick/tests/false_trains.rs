//! Trains that nobody planted are none.

use super::*;

/// As many interruptions as a flood of packets makes: every slot of every comb is filled by chance, and that is no train.
#[test]
fn a_flood_of_gaps_has_no_train_and_the_search_ends() {
    for (seed, count) in [(1, 20_000), (2, 60_000), (3, 120_000)] {
        let planted = Planted { interrupts: 1_500.0, ..Planted::new(seed, 3.0).noise(count) };
        let found = planted.find(true);
        assert!(found.is_err(), "{count}: {found:?}");
        // Evenly, as a busy queue is drained.
        let mut planted = Planted::new(seed, 3.0);
        for gap in 0..count {
            let late = planted.random.random::<f64>() * 2_000.0;
            planted.gaps.push((gap as f64 * 3e9 / count as f64 + late, 4_000.0, false));
        }
        planted.interrupts = 750.0;
        let found = planted.find(true);
        assert!(found.is_err(), "{count} evenly: {found:?}");
    }
}

/// Every train of a trace, with no count of the kernel's to refuse one.
fn rates(mut planted: Planted) -> Vec<f64> {
    planted.gaps.sort_by(|a, b| a.0.total_cmp(&b.0));
    planted.merge();
    let start: Vec<f64> = planted.gaps.iter().map(|gap| gap.0).collect();
    let length: Vec<f64> = planted.gaps.iter().map(|gap| gap.1).collect();
    let gaps = Gaps {
        span: planted.seconds * 1e9,
        start: &start,
        length: &length,
        preempted: &[],
        interrupts: None,
        unseen: &[],
        timers: &[],
    };
    trains(&gaps).all.iter().map(|train| train.frequency).collect()
}

/// A false train is one that nobody planted. In 200 mixes of up to four rates, with up to 60 % of a train's interruptions lost, jitter and up to
/// 4,000 gaps at random, there is none; by the rule of three the chance of one in a trace like these is below 1.5 %.
#[test]
fn no_train_is_found_that_nobody_planted() {
    let all = [50.0, 100.0, 250.0, 300.0, 1000.0];
    let (mut found, mut full) = (0, 0);
    for seed in 0..200 {
        let mut random = StdRng::seed_from_u64(1_000 + seed);
        let mut planted = Planted::new(seed, 1.0 + 3.0 * random.random::<f64>());
        let mut own = Vec::new();
        for hz in all {
            if random.random::<f64>() < 0.5 {
                let observed = 1.0 - 0.6 * random.random::<f64>();
                planted =
                    planted.train(hz, 3_000.0 + 20_000.0 * random.random::<f64>(), observed, true, false);
                own.push((hz, observed));
            }
        }
        let noise = (4_000.0 * random.random::<f64>()) as usize;
        let found_here = rates(planted.noise(noise));
        for rate in &found_here {
            let is_own = own.iter().any(|(hz, _)| (rate / hz - 1.0).abs() < 1e-4);
            assert!(is_own, "seed {seed}: {rate} Hz among {own:?} and {noise} at random");
        }
        full += own.iter().filter(|(_, observed)| *observed > 0.95).count();
        found += own
            .iter()
            .filter(|(hz, observed)| {
                *observed > 0.95 && found_here.iter().any(|rate| (rate / hz - 1.0).abs() < 1e-4)
            })
            .count();
    }
    // What loses little is found mostly, so that the search is no empty one.
    assert!(full > 20 && found * 4 > full * 3, "{found} of {full} that lose less than a twentieth");
}

#[test]
fn two_trains_a_fifth_apart_are_told_apart() {
    for seed in 0..20 {
        let planted = Planted::new(seed, 2.0)
            .train(250.0, 15_000.0, 0.97, true, false)
            .train(300.0, 12_000.0, 0.97, true, false)
            .noise(200);
        let found = rates(planted);
        let has = |hz: f64| found.iter().any(|rate| (rate / hz - 1.0).abs() < 2e-5);
        assert!(has(250.0) && has(300.0), "seed {seed}: {found:?}");
    }
}

/// Another CPU's tick is felt too, at the same rate, until that CPU has nothing to do.
#[test]
fn a_train_that_ends_does_not_hide_the_tick_of_the_same_rate() {
    for seed in 0..10 {
        let mut planted = Planted::new(seed, 5.0).train(250.0, 1_100.0, 1.0, false, false);
        planted.gaps.retain(|(at, ..)| *at < 1.3e9);
        let planted = planted.train(250.0, 35_000.0, 0.95, true, false).noise(4_000);
        let train = planted.find(true);
        let cost = train.as_ref().ok().and_then(|train| train.cost);
        let right = train.as_ref().is_ok_and(|train| within(train, 250.0, 5.0))
            && cost.is_some_and(|cost| cost.length[1] > 30_000.0);
        assert!(right, "seed {seed}: {train:?}");
    }
}
