//! Ticks planted among other interruptions, with jitter, loss, other timers and other tasks; and real ones.

mod false_trains;
mod looks;

use super::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// A trace that is being made.
struct Planted {
    random: StdRng,
    seconds: f64,
    /// Start, length, preempted.
    gaps: Vec<(f64, f64, bool)>,
    interrupts: f64,
}

impl Planted {
    fn new(seed: u64, seconds: f64) -> Self {
        Self { random: StdRng::seed_from_u64(seed), seconds, gaps: Vec::new(), interrupts: 0.0 }
    }

    /// A train of which a share is seen, counted by the kernel or not, that switches to another task or not.
    fn train(mut self, hz: f64, length: f64, observed: f64, counted: bool, switches: bool) -> Self {
        let phase: f64 = self.random.random();
        for slot in 0..(self.seconds * hz) as usize {
            if self.random.random::<f64>() < observed {
                // Late by something like an exponential of 1 us: never early.
                let late = -self.random.random::<f64>().max(1e-9).ln() * 1_000.0;
                let length = length * (0.9 + 0.4 * self.random.random::<f64>());
                self.gaps.push(((slot as f64 + phase) / hz * 1e9 + late, length, switches));
            }
            self.interrupts += f64::from(u8::from(counted));
        }
        self
    }

    fn noise(mut self, count: usize) -> Self {
        for _ in 0..count {
            let at = self.random.random::<f64>() * self.seconds * 1e9;
            self.gaps.push((at, 400.0 + self.random.random::<f64>() * 30_000.0, false));
        }
        self
    }

    /// So many others take turns that begin and end with a tick: what the loop sees is what falls into its own.
    fn shared(mut self, hz: f64, others: usize) -> Self {
        let period = 1e9 / hz;
        let cycle = period * (others + 1) as f64;
        // The first gap is the tick's.
        let phase = self.gaps[0].0 % period;
        self.gaps.retain(|(at, ..)| (at - phase - 20_000.0).rem_euclid(cycle) < 0.98 * period);
        let mut turn = phase + period;
        while turn < self.seconds * 1e9 {
            let late = self.random.random::<f64>() * 5_000.0;
            self.gaps.push((turn, others as f64 * period + 15_000.0 + late, true));
            turn += cycle;
        }
        self.interrupts = self.seconds * hz;
        self
    }

    /// Joins overlapping interruptions: one that begins in a gap is a part of it, and one that ends after the loop is not seen whole.
    fn merge(&mut self) {
        let mut merged: Vec<(f64, f64, bool)> = Vec::new();
        for (start, length, preempted) in self.gaps.drain(..) {
            match merged.last_mut() {
                Some(last) if start < last.0 + last.1 => {
                    last.1 = last.1.max(start + length - last.0);
                    last.2 |= preempted;
                }
                _ => merged.push((start, length, preempted)),
            }
        }
        merged.retain(|(start, length, _)| start + length < self.seconds * 1e9);
        self.gaps = merged;
    }

    fn find(mut self, counted: bool) -> Result<Train, NotFound> {
        self.gaps.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.merge();
        let start: Vec<f64> = self.gaps.iter().map(|gap| gap.0).collect();
        let length: Vec<f64> = self.gaps.iter().map(|gap| gap.1).collect();
        let preempted: Vec<u32> =
            (0..).zip(&self.gaps).filter(|(_, gap)| gap.2).map(|(index, _)| index).collect();
        find(&Gaps {
            span: self.seconds * 1e9,
            start: &start,
            length: &length,
            preempted: &preempted,
            interrupts: counted.then_some(self.interrupts),
            unseen: &[],
            timers: &[],
        })
    }
}

fn within(train: &Train, hz: f64, ppm: f64) -> bool {
    (train.frequency / hz - 1.0).abs() * 1e6 < ppm
}

#[test]
fn usual_and_unusual_rates_are_found_within_5_ppm() {
    for hz in [83.0, 100.0, 128.0, 250.0, 300.0, 1000.0, 1024.0] {
        for seed in 0..5 {
            let planted = Planted::new(seed, 1.2).train(hz, 15_000.0, 0.95, true, false).noise(60);
            let train = planted.find(true).unwrap();
            assert!(within(&train, hz, 5.0), "{hz} Hz, seed {seed}: {}", train.frequency);
            assert!(train.confirmed && train.filled > 0.9);
            let share = hz * 15_000.0 * 1.1 / 1e9;
            let cost = train.cost.unwrap();
            assert!((cost.share / share - 1.0).abs() < 0.15, "{hz} Hz takes {}, not {share}", cost.share);
        }
    }
}

/// The tick of the core's other thread is felt too, at the same rate.
#[test]
fn of_two_trains_of_one_rate_the_tick_is_the_longer() {
    for seed in 0..10 {
        let planted = Planted::new(seed, 1.2)
            .train(250.0, 600.0, 1.0, false, false)
            .train(250.0, 15_000.0, 0.95, true, false)
            .noise(60);
        let train = planted.find(true).unwrap();
        let length = train.cost.unwrap().length[1];
        assert!(
            within(&train, 250.0, 5.0) && length > 10_000.0,
            "seed {seed}: {} Hz, {length} ns",
            train.frequency
        );
    }
}

/// Where other tasks have the CPU too, what is felt alone is no tick of this CPU; where none has, it may be that of a fast one.
#[test]
fn beside_other_tasks_less_than_a_microsecond_is_no_tick() {
    for seed in 0..10 {
        let alone = || Planted::new(seed, 1.2).train(250.0, 600.0, 1.0, true, false);
        assert!(alone().find(true).is_ok_and(|train| within(&train, 250.0, 5.0)), "seed {seed}");
        let beside = alone().train(31.0, 3_000_000.0, 1.0, false, true);
        assert!(beside.find(true).is_err(), "seed {seed}");
    }
}

/// Another process that sleeps so many times a second: each of its timers is counted and gives it the CPU.
#[test]
fn other_timers_in_the_count_do_not_move_the_tick() {
    for hz in [83.0, 128.0, 250.0, 1024.0] {
        for others in [20.0, 50.3, 100.0, 217.0] {
            for seed in 0..3 {
                let planted = Planted::new(seed, 1.2)
                    .train(hz, 15_000.0, 0.97, true, false)
                    .train(others, 40_000.0, 0.95, true, true)
                    .train(1000.0, 6_000.0, 1.0, false, false)
                    .noise(100);
                let train = planted.find(true);
                let right = train.as_ref().is_ok_and(|train| within(train, hz, 10.0) && train.confirmed);
                assert!(right, "{hz} Hz beside {others}, seed {seed}: {train:?}");
            }
        }
    }
}

#[test]
fn the_kernels_count_tells_the_tick_from_the_hypervisors_trains() {
    for seed in 0..5 {
        let planted = Planted::new(seed, 1.2)
            .train(250.0, 15_000.0, 0.95, true, false)
            .train(100.0, 12_000.0, 0.9, false, false)
            .train(99.907, 5_000.0, 0.9, false, false)
            .train(1000.0, 5_000.0, 1.0, false, false)
            .noise(40);
        let train = planted.find(true).unwrap();
        assert!(within(&train, 250.0, 10.0), "{}", train.frequency);
    }
}

/// The tick and the host's own, of four times the rate, begin together: each fourth is longer.
#[test]
fn a_tick_that_falls_together_with_its_hosts_is_told_by_its_length() {
    for seed in 0..5 {
        let mut planted = Planted::new(seed, 1.2).train(1000.0, 6_000.0, 1.0, false, false).noise(40);
        planted.gaps.sort_by(|a, b| a.0.total_cmp(&b.0));
        let begins = planted.gaps[0].0 % 1e6;
        for (at, length, _) in &mut planted.gaps {
            let slot = ((*at - begins) / 1e6).round();
            if (*at - begins - slot * 1e6).abs() < 20_000.0 && slot % 4.0 == 1.0 {
                *length += 12_000.0;
            }
        }
        planted.interrupts = 300.0;
        let train = planted.find(true).unwrap();
        assert!(within(&train, 250.0, 10.0), "{}", train.frequency);
        let median = train.cost.unwrap().length[1];
        assert!((median - 12_000.0).abs() < 3_000.0, "without the host's part: {median}");
    }
}

#[test]
fn tasks_that_take_turns_hide_ticks_and_are_no_part_of_their_cost() {
    for hz in [100.0, 250.0, 300.0] {
        for others in [1, 2, 3] {
            for seed in 0..3 {
                let planted = Planted::new(seed, 400.0 / hz).train(hz, 15_000.0, 1.0, true, false).noise(100);
                let train = planted.shared(hz, others).find(true);
                let right = train.as_ref().is_ok_and(|train| within(train, hz, 50.0));
                assert!(right, "{hz} Hz beside {others}, seed {seed}: {train:?}");
                let share = train.unwrap().cost.map_or(0.0, |cost| cost.share);
                assert!(share < hz * 20_000.0 / 1e9, "{hz} Hz beside {others}: {share}");
            }
        }
    }
}

/// Traces of a real guest with a tick of 250 Hz, on a host of 1000 Hz: a line for span and count, then start and length, ns,
/// and a mark where another task had the CPU.
fn real(text: &str) -> Result<Train, NotFound> {
    let mut lines = text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let number = |text: &str| text.parse::<f64>().unwrap();
    let first = lines.next().unwrap();
    let gaps: Vec<Vec<&str>> = lines.collect();
    let start: Vec<f64> = gaps.iter().map(|gap| number(gap[0])).collect();
    let length: Vec<f64> = gaps.iter().map(|gap| number(gap[1])).collect();
    let preempted: Vec<u32> =
        (0..).zip(&gaps).filter(|(_, gap)| gap.len() > 2).map(|(index, _)| index).collect();
    find(&Gaps {
        span: number(first[0]),
        start: &start,
        length: &length,
        preempted: &preempted,
        interrupts: Some(number(first[1])),
        unseen: &[],
        timers: &[],
    })
}

#[test]
fn the_tick_of_a_real_guest_is_found_on_idle_and_on_busy_machines() {
    let traces = [
        ("fifo", include_str!("../../fixtures/gaps-guest-fifo.txt")),
        ("busy neighbour", include_str!("../../fixtures/gaps-guest-busy-neighbour.txt")),
        ("idle", include_str!("../../fixtures/gaps-guest-idle.txt")),
        ("50 Hz", include_str!("../../fixtures/gaps-beside-timer-of-50-hz.txt")),
        ("1 competitor", include_str!("../../fixtures/gaps-beside-1-competitor.txt")),
        ("3 competitors", include_str!("../../fixtures/gaps-beside-3-competitors.txt")),
        ("8 competitors", include_str!("../../fixtures/gaps-beside-8-competitors.txt")),
        ("with its host's", include_str!("../../fixtures/gaps-with-its-hosts-tick.txt")),
    ];
    for (name, text) in traces {
        let train = real(text);
        // Where both fall together what is stamped is the host's, and its clock is 8 ppm slow.
        let right = train.as_ref().is_ok_and(|train| within(train, 250.0, 10.0) && train.confirmed);
        assert!(right, "{name}: {train:?}");
        let share = train.unwrap().cost.map_or(0.0, |cost| cost.share);
        assert!(share < 0.01, "{name}: {share}");
    }
}

/// Another task begins its turns with every other tick, for two of them: the slots between are seldom seen, and filled then.
#[test]
fn half_a_tick_is_none() {
    for text in [
        include_str!("../../fixtures/gaps-beside-tests-1.txt"),
        include_str!("../../fixtures/gaps-beside-tests-2.txt"),
    ] {
        let train = real(text);
        assert!(train.as_ref().map_or(true, |train| within(train, 250.0, 10.0)), "{train:?}");
    }
    // Where they are never seen nothing tells it from a tick of half the rate.
    for seed in 0..10 {
        let mut planted = Planted::new(seed, 2.0).train(250.0, 15_000.0, 1.0, true, false);
        let ticks: Vec<f64> = planted.gaps.iter().map(|(at, ..)| *at).collect();
        planted.gaps.clear();
        for pair in ticks.chunks_exact(2) {
            planted.gaps.push((pair[0], 15_000.0, false));
            planted.gaps.push((pair[1] - 1.5e6, 2e6, true));
        }
        let train = planted.find(true);
        assert!(train.as_ref().map_or(true, |train| within(train, 250.0, 50.0)), "seed {seed}: {train:?}");
    }
}

/// Every tick begins together with another process's turn: nothing tells it from that process's own timer.
#[test]
fn a_tick_that_cannot_be_told_from_other_timers_is_not_guessed() {
    let train = real(include_str!("../../fixtures/gaps-beside-timer-of-1000-hz.txt"));
    assert!(matches!(train, Err(NotFound::NoPeriod { counted: Some(_) })), "{train:?}");
}

#[test]
fn a_long_run_is_followed_to_its_end() {
    let planted = Planted::new(3, 40.0).train(250.000_5, 15_000.0, 0.9, true, false).noise(2_000);
    let train = planted.find(true).unwrap();
    assert!(within(&train, 250.000_5, 0.1), "{}", train.frequency);
    assert!(train.filled > 0.85);
}

#[test]
fn a_third_of_a_second_shows_it() {
    for seed in 0..20 {
        let planted = Planted::new(seed, 0.3)
            .train(250.0, 15_000.0, 0.95, true, false)
            .train(100.0, 9_000.0, 0.9, false, false)
            .train(200.0, 5_000.0, 0.7, false, false)
            .noise(60);
        let train = planted.find(true);
        let right = train.as_ref().is_ok_and(|train| within(train, 250.0, 40.0) && train.confirmed);
        assert!(right, "seed {seed}: {train:?}");
    }
}

#[test]
fn no_tick_is_found_where_none_is() {
    for seed in 0..50 {
        let noise = Planted { interrupts: 300.0, ..Planted::new(seed, 1.2).noise(500) };
        assert!(noise.find(true).is_err(), "seed {seed}");
        assert!(Planted::new(seed, 1.2).noise(3_000).find(false).is_err(), "seed {seed}");
        // What fills two of three slots is no train of that rate.
        let half = Planted::new(seed, 1.2).train(250.0, 15_000.0, 0.67, true, false).noise(50);
        assert!(half.find(true).is_err(), "seed {seed}");
    }
    assert_eq!(Planted::new(0, 1.2).noise(5).find(false), Err(NotFound::FewGaps));
    // A train faster than the kernel counted timer interrupts is none of the kernel's.
    let of_host =
        Planted { interrupts: 120.0, ..Planted::new(1, 1.2).train(250.0, 12_000.0, 0.95, false, false) };
    assert!(matches!(of_host.find(true), Err(NotFound::NoPeriod { .. })));
    // One of which the kernel counted twice as many and more is a part of the tick, or of something else.
    let of_host =
        Planted { interrupts: 300.0, ..Planted::new(1, 1.2).train(125.0, 12_000.0, 0.95, false, false) };
    assert!(of_host.find(true).is_err());
}

#[test]
fn without_a_count_it_stays_unconfirmed() {
    for interrupts in [None, Some(2.0)] {
        let mut planted = Planted::new(1, 1.2).train(250.0, 12_000.0, 0.95, true, false).noise(20);
        // A count of next to nothing is of a timer that the machine does not use.
        planted.interrupts = interrupts.unwrap_or(0.0);
        let train = planted.find(interrupts.is_some()).unwrap();
        assert!(within(&train, 250.0, 10.0) && !train.confirmed);
    }
}

/// Columns of a damaged recording are refused at once.
#[test]
fn columns_that_are_no_trace_are_refused() {
    let start: Vec<f64> = (0..300).map(|i| f64::from(i) * 4e6).collect();
    let length = vec![10_000.0; 300];
    let (span, preempted) = (1.2e9, Vec::new());
    let whole = Gaps {
        span,
        start: &start,
        length: &length,
        preempted: &preempted,
        interrupts: Some(300.0),
        unseen: &[],
        timers: &[],
    };
    assert!(find(&whole).is_ok());
    for span in [f64::NAN, f64::INFINITY, 9e18, -1.0, 0.0, 1e9] {
        assert_eq!(find(&Gaps { span, ..whole }), Err(NotFound::Damaged), "{span}");
    }
    let with = |at: usize, value: f64| {
        let mut start = start.clone();
        start[at] = value;
        find(&Gaps { start: &start, ..whole })
    };
    for value in [f64::NAN, f64::INFINITY, -5.0, start[200], start[149] + 1.0] {
        assert_eq!(with(150, value), Err(NotFound::Damaged), "{value}");
    }
    // Each gap twice, preempted: lags of nothing.
    let twice: Vec<f64> = (0..200).map(|i| f64::from(i / 2) * 210_000.0).collect();
    let (length, preempted) = (vec![205_000.0; 200], (0..200).collect::<Vec<u32>>());
    let damaged = Gaps {
        span: 21.2e6,
        start: &twice,
        length: &length,
        preempted: &preempted,
        interrupts: None,
        unseen: &[],
        timers: &[],
    };
    assert_eq!(find(&damaged), Err(NotFound::Damaged));
    let close: Vec<f64> = (0..200).map(|i| f64::from(i) * 206_000.0).collect();
    let dense = Gaps { span: 41.3e6, start: &close, ..damaged };
    assert!(find(&dense).is_err());
    assert!(find(&Gaps { length: &length[..100], ..whole }).is_err());
}
