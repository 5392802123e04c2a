//! Surveys in which it is known what is wrong.

use super::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const RULE: Rule = Rule { false_alarm: 0.05, margin: 0.05 };

fn normal(random: &mut StdRng) -> f64 {
    let (u, v): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// Machines that differ by 2 % (CV) in each of so many metrics, all of the same kernel and clock source.
fn equal(nodes: usize, metrics: usize, seed: u64) -> Survey {
    let mut random = StdRng::seed_from_u64(seed);
    let node = |number| Node {
        name: format!("n{number}"),
        outcome: "complete".to_owned(),
        why: None,
        recording: None,
    };
    let figures = |number: usize| Figures {
        metric: format!("m{number}"),
        unit: Unit::Nanoseconds,
        better: Better::Lower,
        values: (0..nodes).map(|node| (node, 100.0 * (1.0 + 0.02 * normal(&mut random)))).collect(),
    };
    let fact = |name: &str, value: &str| Facts {
        name: name.to_owned(),
        values: (0..nodes).map(|node| (node, 0)).collect(),
        words: vec![value.to_owned()],
    };
    Survey {
        nodes: (0..nodes).map(node).collect(),
        figures: (0..metrics).map(figures).collect(),
        facts: vec![
            fact("clock.source", "tsc"),
            fact("kernel.release", "6.12"),
            fact("firmware.version", "1.2"),
        ],
        findings: Vec::new(),
        links: None,
    }
}

/// Gives these machines another value of a fact.
fn change(facts: &mut Facts, value: &str, nodes: std::ops::Range<usize>) {
    facts.words.push(value.to_owned());
    let word = facts.words.len() as u32 - 1;
    facts.values.iter_mut().filter(|(node, _)| nodes.contains(node)).for_each(|(_, own)| *own = word);
}

#[test]
fn what_was_planted_is_found_and_explained() {
    let mut survey = equal(200, 10, 1);
    // One with a slow clock, and one that is better.
    survey.figures[3].values[17].1 = 900.0;
    survey.figures[4].values[18].1 = 20.0;
    change(&mut survey.facts[0], "hpet", 17..18);
    survey.findings.push(Finding { node: 17, check: "slow-clock".to_owned(), weight: Some(0.08) });
    survey.findings.extend((0..200).map(|node| Finding {
        node,
        check: "mitigations".to_owned(),
        weight: None,
    }));
    // Thirty of another kernel, whose firmware is another, too: 12 % slower in one metric.
    change(&mut survey.facts[1], "6.1", 100..130);
    change(&mut survey.facts[2], "1.1", 100..130);
    survey.figures[7].values[100..130].iter_mut().for_each(|(_, value)| *value *= 1.12);
    survey.nodes[199].outcome = "silent".to_owned();
    let model = examine(&survey, RULE);
    assert_eq!(model.outcomes, BTreeMap::from([("complete".to_owned(), 199), ("silent".to_owned(), 1)]));
    assert_eq!(model.missing.len(), 1);
    let worst: Vec<&str> = model.worst.iter().map(|one| one.node.as_str()).collect();
    assert_eq!(worst[0], "n17", "{worst:?}");
    let first = &model.worst[0];
    assert_eq!((first.apart.len(), first.apart[0].metric.as_str(), first.apart[0].value), (1, "m3", 900.0));
    assert_eq!(first.found[0].check, "slow-clock");
    assert_eq!((first.found[1].check.as_str(), first.found[1].nodes), ("mitigations", 200));
    let unlike = &first.unlike[0];
    assert_eq!(
        (unlike.fact.as_str(), unlike.value.as_str(), unlike.usual.as_str()),
        ("clock.source", "hpet", "tsc")
    );
    assert_eq!(model.better.iter().map(|one| one.node.as_str()).collect::<Vec<_>>(), ["n18"]);
    assert_eq!(model.groups.len(), 1, "{:?}", model.groups);
    let group = &model.groups[0];
    assert_eq!((group.metric.as_str(), group.set.nodes, group.set.facts.len()), ("m7", 30, 2));
    assert!((group.ratio() - 1.12).abs() < 0.02 && group.p < 1e-6, "{group:?}");
    assert_eq!(model.findings["mitigations"], 200);
}

#[test]
fn equal_machines_are_named_no_more_often_than_is_said() {
    // Groups without a difference, and no margin to hide behind.
    let rule = Rule { margin: 0.0, ..RULE };
    let (mut named, mut grouped) = (0, 0);
    for seed in 0..200 {
        let mut survey = equal(40, 12, seed);
        change(&mut survey.facts[1], "6.1", 0..15);
        let model = examine(&survey, rule);
        named += usize::from(!model.worst.is_empty() || !model.better.is_empty());
        grouped += usize::from(!model.groups.is_empty());
    }
    // Of 200 at 5 % each; three standard errors more.
    assert!(named <= 19, "{named}");
    assert!(grouped <= 19, "{grouped}");
}

#[test]
fn few_machines_and_equal_values_are_no_reason_to_name_one() {
    let few = examine(&equal(4, 3, 1), RULE);
    assert!(few.worst.is_empty() && few.judged == 0 && few.metrics.iter().all(|one| one.limits.is_none()));
    let mut same = equal(50, 1, 1);
    same.figures[0].values.iter_mut().for_each(|(_, value)| *value = 1.0);
    same.figures[0].values[3].1 = 1.04;
    assert!(examine(&same, RULE).worst.is_empty(), "below the margin");
    same.figures[0].values[3].1 = 4_000_000.0;
    assert_eq!(examine(&same, RULE).worst[0].node, "n3", "a clock of 4 ms among those of 1 ns");
    // A metric in which more is better, and one that may be below 0.
    same.figures[0].better = Better::Higher;
    assert_eq!(examine(&same, RULE).worst.len(), 0);
    let mut signed = equal(50, 1, 2);
    signed.figures[0].values.iter_mut().for_each(|(_, value)| *value -= 100.0);
    signed.figures[0].values[9].1 = 500.0;
    assert_eq!(examine(&signed, RULE).worst[0].node, "n9");
}
