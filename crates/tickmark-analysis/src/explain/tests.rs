use super::calls::{Entry, Kind, Node};
use super::*;
use std::num::NonZeroU64;
use tickmark_wire::Nanos;

const TIMER: &str = "asm_sysvec_apic_timer_interrupt";

fn node(name: &str, parent: usize, own: u64, calls: u64) -> Node {
    Node { name: name.to_owned(), parent, own, calls, misses: [0, 0] }
}

fn kind(instructions: u64, count: u64, by: &[(&str, u64)]) -> Kind {
    let by_function = by.iter().map(|(name, all)| ((*name).to_owned(), *all)).collect();
    Kind { instructions: Some(instructions), count, by_function }
}

/// Four reads of 20 instructions, one of which calls itself, and two ticks of 100 and 130.
fn calls() -> Calls {
    let kinds = vec![kind(100, 1, &[(TIMER, 100)]), kind(130, 1, &[(TIMER, 100), ("softirq", 30)])];
    let entry =
        Entry { name: TIMER.to_owned(), is_nested: false, count: 2, instructions: 230, lines: None, kinds };
    Calls {
        windows: vec![160, 250],
        nodes: vec![
            node("program", 0, 100, 0),
            node("entry_SYSCALL_64", 0, 40, 4),
            node("read", 1, 30, 4),
            node("read", 2, 10, 1),
            node(TIMER, 0, 200, 2),
            node("softirq", 4, 30, 1),
        ],
        entries: vec![entry],
        unfinished: BTreeMap::from([("entry_SYSCALL_64".to_owned(), 80)]),
        refills: None,
    }
}

#[test]
fn the_median_tick_is_one_of_the_kinds_by_one_rule() {
    let with = |counts: [u64; 3]| {
        let mut calls = calls();
        calls.entries[0].kinds =
            counts.map(|count| kind(100 + count, count, &[(TIMER, 100 * count)])).to_vec();
        calls.entries[0].count = counts.iter().sum();
        let own: u64 = counts.iter().map(|count| 100 * count).sum();
        calls.nodes[4].own = own;
        calls.nodes[5].own = 0;
        interrupt(&calls, TIMER).median()
    };
    // Kinds take 100 instructions and as many as there are of it.
    assert_eq!(with([10, 5, 4]), 110.0);
    assert_eq!(with([5, 4, 3]), 104.0);
    // At the edge of half of all it is the kind beside it.
    assert_eq!(with([9, 5, 4]), 105.0);
    let explained = explained();
    assert_eq!(
        explained.tick().map(|tick| (tick.name.as_str(), tick.median())),
        Some((TIMER, 100.0)),
        "the shorter one of two"
    );
    assert_eq!(explained.counted_functions()[0].name, explained.functions[0].name);
    let ticks = Explanation { metric: names::SPIN.to_owned(), ..explained.clone() };
    assert_eq!(ticks.counted_functions()[0].name, TIMER);
    let mut none = explained;
    none.interrupts[0].count = 0;
    assert!(none.tick().is_none());
}

fn batches(elapsed: &[i64]) -> Batches {
    let mut at = 0;
    let mut start = Vec::new();
    for length in elapsed {
        start.push(Nanos::new(at));
        at += length;
    }
    Batches {
        start,
        elapsed: elapsed.iter().map(|length| Nanos::new(*length)).collect(),
        iterations: NonZeroU64::new(2).unwrap(),
        bytes: 0,
        over: 0,
        disturbed: Vec::new(),
    }
}

fn explained() -> Explanation {
    let agreement = Agreement::new(&batches(&[150 * 16, 240 * 16]), &calls(), 16.0, 1.0, 0.0).unwrap();
    of_calls("syscall.read".to_owned(), 4, calls(), agreement, Vec::new())
}

#[test]
fn a_tick_is_held_against_that_of_another_timer() {
    const HPET: &str = "asm_common_interrupt";
    let local = explained();
    let mut hpet = explained();
    hpet.interrupts[0].name = HPET.to_owned();
    hpet.calls.nodes[4].name = HPET.to_owned();
    let tick = |of: &Explanation| of.tick().unwrap().clone();
    let name = |interrupt: Option<&Interrupt>| interrupt.map(|found| found.name.clone());
    assert_eq!(name(local.counterpart(&tick(&local), &hpet)).as_deref(), Some(HPET));
    assert_eq!(name(hpet.counterpart(&tick(&hpet), &local)).as_deref(), Some(TIMER));
    assert_eq!(local.stacks_beside(&hpet), hpet.calls.stacks());
    assert_ne!(local.calls.stacks(), hpet.calls.stacks());
    // Where the other kernel has more interrupts of the tick's name, its tick is still its timer.
    let mut both = explained();
    both.interrupts.push(Interrupt { name: HPET.to_owned(), ..tick(&local) });
    assert_eq!(name(hpet.counterpart(&tick(&hpet), &both)).as_deref(), Some(TIMER));
    // Another interrupt than the tick has none by another name.
    let other = Interrupt { name: "asm_sysvec_call_function".to_owned(), ..tick(&local) };
    assert_eq!(name(local.counterpart(&other, &hpet)), None);
}

#[test]
fn an_operation_is_apart_from_what_interrupts_it() {
    let explained = explained();
    assert_eq!((explained.program, explained.kernel), (25.0, 20.0));
    let rows: Vec<(&str, f64, f64, f64)> =
        explained.functions.iter().map(|f| (f.name.as_str(), f.calls, f.own, f.inclusive)).collect();
    // What calls itself is counted once.
    assert_eq!(rows, [("entry_SYSCALL_64", 1.0, 10.0, 20.0), ("read", 1.25, 10.0, 10.0)]);
    let [tick] = &explained.interrupts[..] else { panic!("{:?}", explained.interrupts) };
    assert_eq!((tick.count, tick.mean), (2, 115.0));
    let dearer = tick.kinds.iter().find(|kind| kind.instructions == Some(130)).unwrap();
    let by = tick.kinds.iter().map(|kind| kind.differs_by.len()).sum::<usize>();
    assert!(
        by == 1 && (dearer.differs_by.is_empty() || dearer.differs_by[0] == ("softirq".to_owned(), 30.0))
    );
}

#[test]
fn counts_that_the_clock_denies_are_refused() {
    let agreement = |elapsed: &[i64], calls: &Calls| Agreement::new(&batches(elapsed), calls, 16.0, 1.0, 0.0);
    let good = agreement(&[150 * 16, 240 * 16], &calls()).unwrap();
    assert_eq!((good.windows, good.instructions, good.beside, good.interrupted), (2, 410, 10, 0));
    // A window lacks 60 instructions.
    assert!(agreement(&[210 * 16, 240 * 16], &calls()).unwrap_err().contains("where the clock has 450"));
    // An interrupt between a mark and a stamp.
    let mut longer = calls();
    longer.windows = vec![160, 160, 170 + 2000];
    longer.nodes[0].own += 2080;
    assert_eq!(agreement(&[150 * 16, 150 * 16, 160 * 16], &longer).unwrap().interrupted, 1);
    // A tree that lacks what the visits have.
    longer.nodes[1].own -= 1;
    let lacks = agreement(&[150 * 16, 150 * 16, 160 * 16], &longer).unwrap_err();
    assert!(lacks.contains("the call tree has 2489 instructions, and the windows 2490"), "{lacks}");
    longer.nodes[0].own += 1;
    assert!(
        agreement(&[150 * 16, 150 * 16, 160 * 16], &longer)
            .unwrap_err()
            .contains("below entry_SYSCALL_64 the call tree has 79")
    );
    assert!(agreement(&[1600], &calls()).unwrap_err().contains("2 windows were counted, and 1 batches"));
    // A clock of steps of 100 ns, where an instruction takes 16: a window may be 6 instructions off at both ends, and no more.
    let mut coarse = calls();
    coarse.windows = vec![155; 19];
    coarse.windows.push(165);
    coarse.nodes[0].own += 155 * 19 + 165 - 410;
    let stepped = |step: f64| Agreement::new(&batches(&[2400; 20]), &coarse, 16.0, step, 0.0).unwrap();
    assert_eq!((stepped(100.0).interrupted, stepped(16.0).interrupted), (0, 1));
    // One window over all batches.
    let mut one = calls();
    one.windows = vec![410];
    assert_eq!(agreement(&[150 * 16, 240 * 16], &one).unwrap().beside, 20);
}

#[test]
fn what_differs_adds_up() {
    let before = explained();
    let mut dearer = calls();
    dearer.nodes[2].own += 8;
    dearer.nodes.push(node("audit", 2, 4, 4));
    dearer.windows[0] += 12;
    *dearer.unfinished.get_mut("entry_SYSCALL_64").unwrap() += 12;
    let agreement = Agreement::new(&batches(&[162 * 16, 240 * 16]), &dearer, 16.0, 1.0, 0.0).unwrap();
    let after = of_calls("syscall.read".to_owned(), 4, dearer, agreement, Vec::new());
    let changes = difference(&before.functions, &after.functions);
    let rows: Vec<(&str, f64)> =
        changes.iter().map(|change| (change.name.as_str(), change.difference())).collect();
    assert_eq!(rows, [("read", 2.0), ("audit", 1.0)]);
    assert_eq!(after.kernel - before.kernel, 3.0);
    assert_eq!(difference(&before.functions, &before.functions), []);
}
