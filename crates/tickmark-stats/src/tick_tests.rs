//! Ticks planted among other interruptions, with jitter and loss.

use super::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Gaps of trains (Hz, length ns, share seen) and `noise` others, over `seconds`.
fn planted(seed: u64, seconds: f64, trains: &[(f64, f64, f64)], noise: usize) -> (Vec<f64>, Vec<f64>) {
    let mut random = StdRng::seed_from_u64(seed);
    let mut gaps = Vec::new();
    for (hz, length, seen) in trains {
        let phase: f64 = random.random();
        for slot in 0..(seconds * hz) as usize {
            if random.random::<f64>() < *seen {
                // Late by something like an exponential of 1 us: never early.
                let late = -random.random::<f64>().max(1e-9).ln() * 1_000.0;
                gaps.push((
                    (slot as f64 + phase) / hz * 1e9 + late,
                    length * (0.9 + 0.4 * random.random::<f64>()),
                ));
            }
        }
    }
    for _ in 0..noise {
        gaps.push((random.random::<f64>() * seconds * 1e9, 400.0 + random.random::<f64>() * 30_000.0));
    }
    gaps.sort_by(|a, b| a.0.total_cmp(&b.0));
    gaps.into_iter().unzip()
}

fn look(
    seed: u64,
    trains: &[(f64, f64, f64)],
    noise: usize,
    interrupts: Option<f64>,
) -> Result<Train, NotFound> {
    let seconds = 1.2;
    let (start, length) = planted(seed, seconds, trains, noise);
    find(&Gaps {
        span: seconds * 1e9,
        start: &start,
        length: &length,
        interrupts: interrupts.map(|hz| hz * seconds),
    })
}

#[test]
fn usual_rates_are_found_within_5_ppm() {
    for hz in [100.0, 250.0, 300.0, 1000.0] {
        for seed in 0..5 {
            let train = look(seed, &[(hz, 15_000.0, 0.95)], 60, Some(hz + 3.0)).unwrap();
            let ppm = (train.frequency / hz - 1.0).abs() * 1e6;
            assert!(ppm < 5.0, "{hz} Hz, seed {seed}: {ppm} ppm off");
            assert!(train.confirmed && train.filled > 0.9);
            let share = hz * 15_000.0 * 1.1 / 1e9;
            assert!((train.share / share - 1.0).abs() < 0.15, "{hz} Hz takes {}, not {share}", train.share);
        }
    }
}

#[test]
fn the_kernels_count_tells_the_tick_from_the_hypervisors_trains() {
    let trains = [(250.0, 15_000.0, 0.95), (100.0, 12_000.0, 0.9), (99.907, 5_000.0, 0.9)];
    for seed in 0..5 {
        let train = look(seed, &trains, 40, Some(252.0)).unwrap();
        assert!((train.frequency - 250.0).abs() < 0.0025, "{}", train.frequency);
    }
}

/// Traces of a real guest with a tick of 250 Hz: a line for span and count, then start and length, ns.
#[test]
fn the_tick_of_a_real_guest_is_found_among_twice_as_many_other_gaps() {
    let traces = [
        include_str!("../fixtures/gaps-guest-fifo.txt"),
        include_str!("../fixtures/gaps-guest-busy-neighbour.txt"),
        include_str!("../fixtures/gaps-guest-idle.txt"),
    ];
    for text in traces {
        let mut pairs = text.lines().map(|line| {
            let (a, b) = line.split_once(' ').unwrap();
            (a.parse::<f64>().unwrap(), b.parse::<f64>().unwrap())
        });
        let (span, interrupts) = pairs.next().unwrap();
        let (start, length): (Vec<f64>, Vec<f64>) = pairs.unzip();
        let train =
            find(&Gaps { span, start: &start, length: &length, interrupts: Some(interrupts) }).unwrap();
        let ppm = (train.frequency / 250.0 - 1.0).abs() * 1e6;
        assert!(ppm < 2.0, "{ppm} ppm off");
    }
}

#[test]
fn a_long_run_is_followed_to_its_end() {
    let (start, length) = planted(3, 40.0, &[(250.000_5, 15_000.0, 0.9)], 2_000);
    let train =
        find(&Gaps { span: 40e9, start: &start, length: &length, interrupts: Some(10_050.0) }).unwrap();
    assert!((train.frequency - 250.000_5).abs() < 250e-7, "{}", train.frequency);
    assert!(train.filled > 0.85);
}

#[test]
fn a_third_of_a_second_shows_it() {
    for seed in 0..20 {
        let (start, length) =
            planted(seed, 0.3, &[(250.0, 15_000.0, 0.95), (100.0, 9_000.0, 0.9), (200.0, 5_000.0, 0.7)], 60);
        let gaps = Gaps { span: 0.3e9, start: &start, length: &length, interrupts: Some(78.0) };
        let train = find(&gaps).unwrap();
        assert!(
            train.confirmed && (train.frequency - 250.0).abs() < 0.01,
            "seed {seed}: {}",
            train.frequency
        );
    }
}

#[test]
fn half_of_the_slots_suffice() {
    for seed in 0..5 {
        let train = look(seed, &[(250.0, 15_000.0, 0.38)], 30, Some(251.0)).unwrap();
        assert!((train.frequency - 250.0).abs() < 0.0025, "{}", train.frequency);
    }
}

#[test]
fn no_tick_is_found_where_none_is() {
    for seed in 0..20 {
        assert!(look(seed, &[], 500, Some(250.0)).is_err(), "seed {seed}");
    }
    assert_eq!(look(0, &[], 5, None), Err(NotFound::FewGaps));
    // A train faster than the kernel counted timer interrupts is none of the kernel's.
    assert_eq!(look(1, &[(250.0, 12_000.0, 0.95)], 20, Some(100.0)), Err(NotFound::NoneFits));
}

#[test]
fn other_timers_in_the_count_leave_the_tick_unconfirmed() {
    let train = look(1, &[(250.0, 12_000.0, 0.95)], 20, Some(400.0)).unwrap();
    assert!((train.frequency - 250.0).abs() < 0.0025 && !train.confirmed);
    // A count of next to nothing is of a timer that the machine does not use.
    let train = look(1, &[(250.0, 12_000.0, 0.95)], 20, Some(2.0)).unwrap();
    assert!((train.frequency - 250.0).abs() < 0.0025 && !train.confirmed);
}
