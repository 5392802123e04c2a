//! Links of which it is known which are slow.

use super::*;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

const RULE: Rule = Rule { false_alarm: 0.05, margin: 0.05 };

fn normal(random: &mut StdRng) -> f64 {
    let (u, v): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// Equal machines, each paired in so many rounds with others; each machine and each pair differs by this (CV).
fn equal(nodes: usize, rounds: usize, cv: f64, random: &mut StdRng) -> Vec<Link> {
    let own: Vec<[f64; 3]> = (0..nodes).map(|_| [0; 3].map(|_| cv * normal(random))).collect();
    let mut met = BTreeSet::new();
    let mut links = Vec::new();
    for _ in 0..rounds {
        // As good as a tournament: nobody twice in a round, and no two twice in all.
        for _ in 0..200 {
            let mut order: Vec<usize> = (0..nodes).collect();
            order.shuffle(random);
            let pairs: Vec<(usize, usize)> =
                order.chunks_exact(2).map(|two| (two[0].min(two[1]), two[0].max(two[1]))).collect();
            if pairs.iter().any(|pair| met.contains(pair)) {
                continue;
            }
            met.extend(pairs.iter().copied());
            for (a, b) in pairs {
                let mut of = |sum: f64| (sum + cv * normal(random)).exp();
                links.push(Link {
                    asks: a,
                    answers: Some(b),
                    trip: Some(30_000.0 * of(own[a][0] + own[b][0])),
                    there: Some(1e9 / of(own[a][1] + own[b][2])),
                    back: Some(1e9 / of(own[b][1] + own[a][2])),
                    ..Link::default()
                });
            }
            break;
        }
    }
    links
}

fn name(node: usize) -> String {
    format!("n{node}")
}

fn examined(links: &[Link]) -> Links {
    examine(&Series { links: links.to_vec(), ..Series::default() }, &name, RULE)
}

#[test]
fn a_slow_pair_a_slow_machine_and_a_slow_direction_are_told_apart() {
    let mut links = equal(40, 5, 0.02, &mut StdRng::seed_from_u64(1));
    // The machine is slow to all; the pair is between two that are not; a stream goes one way at half of its rate.
    for link in links.iter_mut().filter(|link| link.asks == 7 || link.answers == Some(7)) {
        link.trip = link.trip.map(|trip| trip * 2.0);
    }
    let pair = links.iter().position(|link| link.asks != 7 && link.answers != Some(7)).unwrap();
    links[pair].trip = links[pair].trip.map(|trip| trip * 1.5);
    let sends = links.iter().rposition(|link| link.asks != 7 && link.answers != Some(7)).unwrap();
    links[sends].back = links[sends].back.map(|rate| rate / 2.0);
    links[sends].resent = Some(7.0);
    let model = examined(&links);
    let slow: Vec<_> = model.slow.iter().map(|one| (one.from.clone(), one.to.clone(), one.way)).collect();
    let of = |link: &Link| (name(link.asks), name(link.answers.unwrap()));
    let ((a, b), (d, c)) = (of(&links[pair]), of(&links[sends]));
    assert_eq!(slow, [(c, d, LinkMetric::Stream), (a, b, LinkMetric::Trip)], "{model:?}");
    assert_eq!(model.slow[0].resent, Some(7.0));
    assert!((1.9..2.1).contains(&(model.slow[0].usual / model.slow[0].value)), "{model:?}");
    let machines: Vec<_> = model.machines.iter().map(|one| (one.node.as_str(), one.part)).collect();
    assert_eq!(machines, [("n7", LinkRole::Trips)], "{model:?}");
    assert_eq!((model.nodes, model.pairs, model.judged), (40, 100, 40));
}

#[test]
fn what_was_slow_once_is_no_slow_link() {
    let mut links = equal(40, 5, 0.02, &mut StdRng::seed_from_u64(2));
    let mut again = links[3].clone();
    links[3].trip = links[3].trip.map(|trip| trip * 3.0);
    assert_eq!(examined(&links).slow.len(), 1);
    // Measured again, and by the other one.
    again.answers = Some(std::mem::replace(&mut again.asks, again.answers.unwrap()));
    std::mem::swap(&mut again.there, &mut again.back);
    links.push(again);
    let model = examined(&links);
    assert!(model.slow.is_empty() && model.pairs == 100, "{:?}", model.slow);
}

#[test]
fn what_was_not_measured_is_told_once_and_judged_by_nothing() {
    let mut links = equal(10, 5, 0.02, &mut StdRng::seed_from_u64(3));
    let why = || Some("refused".to_owned());
    let failed = Link { asks: links[0].asks, answers: links[0].answers, why: why(), ..Link::default() };
    links[0] = failed.clone();
    links.push(failed);
    links.push(Link { asks: 11, answers: None, why: why(), ..Link::default() });
    // One that failed at first.
    links.push(Link { why: why(), trip: None, ..links[1].clone() });
    let model = examined(&links);
    let missing: Vec<_> = model.missing.iter().map(|one| (one.node.clone(), one.other.clone())).collect();
    assert_eq!(missing, [(name(links[0].asks), links[0].answers.map(name)), (name(11), None)]);
    // Two rounds are too few for anything.
    let mut few = equal(20, 2, 0.02, &mut StdRng::seed_from_u64(4));
    few[0].trip = few[0].trip.map(|trip| trip * 9.0);
    let model = examined(&few);
    assert!(model.judged == 0 && model.slow.is_empty() && model.machines.is_empty(), "{model:?}");
    assert!(examined(&[]).spread.is_empty());
}

#[test]
fn equal_machines_are_named_no_more_often_than_is_said() {
    let mut random = StdRng::seed_from_u64(5);
    for (nodes, rounds) in [(6, 4), (8, 3), (8, 5), (16, 5), (64, 5), (64, 3), (200, 5)] {
        let trials = if nodes > 100 { 200 } else { 600 };
        let alarm = |_: &usize| {
            let model = examined(&equal(nodes, rounds, 0.1, &mut random));
            !model.slow.is_empty() || !model.machines.is_empty()
        };
        let rate = (0..trials).filter(alarm).count() as f64 / trials as f64;
        println!("{nodes} machines, {rounds} pairs each: named in {:.1} % of surveys", rate * 100.0);
        let error = 3.0 * (0.05f64 * 0.95 / trials as f64).sqrt();
        assert!(rate < 0.05 + error, "{rate} of {nodes} with {rounds}");
    }
}
