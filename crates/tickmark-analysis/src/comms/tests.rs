use super::*;
use tickmark_wire::{Alone, Nanos, Span};

fn nanos(values: &[f64]) -> Vec<Nanos> {
    values.iter().map(|value| Nanos::new(*value as i64)).collect()
}

/// Windows of 10 ms in which the messages' own tasks have .3, interrupts charged to the computing one .1, and other tasks what is said.
fn loads(others: &[f64], lost: f64) -> Loads {
    let wall = 1e7;
    let computing: Vec<f64> = others.iter().map(|others| wall * (0.7 - others - lost)).collect();
    let done: Vec<f64> = computing.iter().map(|computing| computing - 0.1 * wall).collect();
    let sum = |column: &[f64]| Nanos::new(column.iter().sum::<f64>() as i64);
    let waited: Vec<f64> = others.iter().map(|others| wall * (0.3 + others)).collect();
    let count = others.len() as f64;
    Loads {
        cpu: 1,
        span: Some(Span {
            wall: Nanos::new((wall * count) as i64),
            communicating: Nanos::new((0.3 * wall * count) as i64),
            computing: sum(&computing),
            waited: Some(sum(&waited)),
            stat: None,
        }),
        alone: Some(Alone {
            wall: Nanos::new(100_000_000),
            computing: Nanos::new(100_000_000),
            steps: 90_000_000,
            unbroken: Nanos::new(99_000_000),
        }),
        size: vec![64; others.len()],
        wall: nanos(&vec![wall; others.len()]),
        trips: vec![100; others.len()],
        communicating: nanos(&vec![0.3 * wall; others.len()]),
        steps: done.iter().map(|done| (done * 0.9) as u64).collect(),
        unbroken: nanos(&done.iter().map(|done| done * 0.99).collect::<Vec<_>>()),
        waited: nanos(&waited),
        computing: nanos(&computing),
        stat: vec![[60, 20, 5, 5, 5, 5].map(|ms| Nanos::new(ms * 1_000_000)); others.len()],
        switches: vec![200; others.len()],
        interrupts: vec![[300, 150]; others.len()],
        host: None,
    }
}

fn summary_with(loads: Loads) -> CommsSummary {
    let curve: Curve = [(64, vec![20_000.0, 22_000.0, 40_000.0])].into();
    CommsSummary::from_curves(&[(0, curve)], &[vec![loads], Vec::new()], 2.0, false).unwrap()
}

#[test]
fn the_load_is_what_the_messages_tasks_had_and_the_interrupts_charged_to_the_other() {
    let summary = summary_with(loads(&[0.0, 0.0, 0.2, 0.3], 0.0));
    let load = &summary.rows[0].loads[0];
    for meter in [load.gaps, load.counter] {
        assert!((meter.unwrap() - 0.4).abs() < 1e-6, "{load:?}");
    }
    assert!((load.tasks.unwrap() - 0.3).abs() < 1e-9 && (load.stat.unwrap() - 0.3).abs() < 1e-9);
    assert!((load.others.unwrap() - 0.125).abs() < 1e-6, "other tasks are not its: {load:?}");
    assert_eq!(load.windows, (4, 0));
    assert_eq!((load.per_message.switches, load.per_message.interrupts), (Some(2.0), Some(3.0)));
    assert!(summary.cpus[0].apart.unwrap().1 < 1e-6 && summary.cpus[0].cpu == 1);
    // Half of the way there and back.
    assert_eq!((summary.rows[0].time, summary.rows[0].whole.median), (11_000.0, 22_000.0));
    assert!(summary.rows[0].launches.is_none() && summary.pieces.is_none());
}

#[test]
fn windows_that_nobody_explains_are_refused() {
    let load = |lost| summary_with(loads(&[0.0; 4], lost)).rows[0].loads[0].clone();
    assert_eq!(load(0.01).windows, (4, 0));
    let none = load(0.05);
    assert_eq!((none.windows, none.gaps, none.tasks), ((4, 4), None, None));
    assert!((none.unexplained.unwrap() - 0.05).abs() < 1e-6);
    // A column that is short is no column.
    let short = Loads { steps: vec![1], ..loads(&[0.0; 4], 0.0) };
    assert!(Books::from_launches(&[short], false).is_none() && Books::from_launches(&[], false).is_none());
    // Without a computing task there is no such load, and the rest is there.
    let alone = Loads {
        alone: None,
        steps: Vec::new(),
        unbroken: Vec::new(),
        computing: Vec::new(),
        waited: Vec::new(),
        ..loads(&[0.0; 4], 0.0)
    };
    let load = &summary_with(alone).rows[0].loads[0];
    assert_eq!((load.gaps, load.counter), (None, None));
    assert!((load.tasks.unwrap() - 0.3).abs() < 1e-9);
}

#[test]
fn a_dip_is_where_the_rate_falls_and_ends_where_it_is_regained() {
    let row = |(size, time): (u64, f64)| Row {
        size,
        time,
        launches: None,
        whole: RoundTripSummary { median: 2.0 * time, mean: 2.0 * time, quantiles: [(0.9, None); 3] },
        loads: Vec::new(),
        each: Vec::new(),
    };
    let of = |times: &[(u64, f64)]| {
        let rows = times.iter().copied().map(row).collect();
        CommsSummary { rows, runs: 1, rounds: vec![0], pieces: None, cpus: Vec::new() }.dips()
    };
    assert!(of(&[(100, 1000.0), (200, 1100.0), (400, 1300.0), (800, 2500.0)]).is_empty());
    let dipped = [(100, 1000.0), (200, 1100.0), (256, 2100.0), (400, 2600.0), (800, 2900.0)];
    assert_eq!(of(&dipped), [(256, Some(800))]);
    assert_eq!(of(&dipped[..4]), [(256, None)]);
}

#[test]
fn interrupts_that_no_task_is_charged_with_are_load() {
    // As above, but 400 windows, and a tenth of the time that the kernel keeps as interrupts, and nothing of it in a task's account.
    let mut apart = loads(&[0.1; 400], 0.0);
    apart.steps = apart.computing.iter().map(|computing| (computing.as_f64() * 0.9) as u64).collect();
    apart.unbroken =
        apart.computing.iter().map(|computing| Nanos::new((computing.as_f64() * 0.99) as i64)).collect();
    let with = |softirq: i64| {
        let stat = Some([0, 0, 0, softirq, 0, 0].map(|ms| Nanos::new(ms * 1_000_000)));
        Loads { span: apart.span.map(|span| Span { stat, ..span }), ..apart.clone() }
    };
    let load = |loads: Loads| Books::from_launches(&[loads], true).unwrap().at(64);
    let known = load(with(400));
    assert!(
        (known.gaps.unwrap() - 0.4).abs() < 1e-6 && (known.counter.unwrap() - 0.4).abs() < 1e-6,
        "{known:?}"
    );
    // What /proc/stat does not have as interrupts either is nobody's.
    assert_eq!(load(with(0)).windows, (400, 400));
    // Nor does it tell of a short launch.
    let mut short = with(400);
    short.span.as_mut().unwrap().wall = Nanos::new(400_000_000);
    assert_eq!(load(short).windows.1, 400);
}
