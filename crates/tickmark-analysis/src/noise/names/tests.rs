//! Gaps that were planted, with what the kernel counted in them.

use super::*;
use tickmark_stats::tick::trains;
use tickmark_wire::Nanos;

/// A trace of 2 s with a tick of 250 Hz of 15 us, a train of 97 Hz of 30 us in which nothing is counted, and one gap more.
struct Planted {
    gaps: Vec<(f64, f64)>,
    preempted: Vec<u32>,
    counted: Counted,
}

const ODD: (f64, f64) = (1_001_000_000.0, 9_000.0);

impl Planted {
    /// A trace whose odd gaps move these counters; `absent` is the share of their time that was not the loop's, `always` reads the counters
    /// after every gap.
    fn new(moved: &[&str], absent: f64, preempted: bool, always: bool) -> Self {
        let train = |hz: f64, phase: f64, length: f64| {
            (0..(2.0 * hz) as usize).map(move |slot| ((slot as f64 + phase) / hz * 1e9, length))
        };
        let mut gaps: Vec<(f64, f64)> =
            train(250.0, 0.1, 15_000.0).chain(train(97.0, 0.5, 30_000.0)).collect();
        gaps.retain(|gap| (gap.0 - ODD.0).abs() > 60_000.0);
        gaps.push(ODD);
        gaps.sort_by(|a, b| a.0.total_cmp(&b.0));
        // Each alone.
        gaps.dedup_by(|next, last| next.0 < last.0 + 60_000.0 && *last != ODD);
        let names = [
            "interrupt LOC",
            "interrupt 36 virtio1-req.0",
            "softirq RCU",
            "softirq NET_RX",
            "page fault",
            Counted::QUOTA,
        ];
        let mut counted = Counted { names: names.map(str::to_owned).to_vec(), ..Counted::default() };
        let mut preempted_gaps = Vec::new();
        let (mut ticks, mut odd) = (0, false);
        for (gap, (start, length)) in gaps.iter().enumerate() {
            let is_odd = (*start, *length) == ODD;
            ticks += u32::from(*length == 15_000.0);
            odd |= is_odd;
            if is_odd && preempted {
                preempted_gaps.push(gap as u32);
            }
            if !always && gap % 3 != 0 {
                continue;
            }
            let reading = counted.gap.len() as u32;
            let mut add = |name: &str, more: u32| {
                let name = names.iter().position(|known| *known == name).unwrap();
                counted.reading.push(reading);
                counted.counter.push(name as u32);
                counted.more.push(more);
            };
            if ticks > 0 {
                add("interrupt LOC", ticks);
                add("softirq RCU", ticks);
            }
            if odd {
                moved.iter().for_each(|name| add(name, 1));
            }
            counted.gap.push(gap as u32);
            counted.took.push(Nanos::new(20_000));
            counted.absent.push(Nanos::new(if odd { absent as i64 } else { 0 }));
            (ticks, odd) = (0, false);
        }
        Self { gaps, preempted: preempted_gaps, counted }
    }

    /// The names of a tick, of a gap of the other train, and of the odd one.
    fn names(self, interrupts: bool) -> [GapCause; 3] {
        let wanted = [15_000.0, 30_000.0, ODD.1];
        let at = wanted.map(|wanted| self.gaps.iter().position(|gap| gap.1 == wanted).unwrap());
        let (names, _) = self.all(interrupts);
        at.map(|at| names[at].clone())
    }

    /// The name of each gap and of each reading, and the turns of others that began in readings.
    fn all(self, interrupts: bool) -> (Vec<GapCause>, Vec<(usize, f64, f64)>) {
        let nanos =
            |values: Vec<f64>| values.into_iter().map(|value| Nanos::new(value as i64)).collect::<Vec<_>>();
        let start: Vec<f64> = self.gaps.iter().map(|gap| gap.0).collect();
        let length: Vec<f64> = self.gaps.iter().map(|gap| gap.1).collect();
        let trace = GapTrace {
            threshold: Nanos::new(300),
            span: Nanos::new(2_000_000_000),
            timer_interrupts: Some(500),
            start: nanos(start.clone()),
            length: nanos(length.clone()),
            preempted: Some(self.preempted.clone()),
            counted: Some(Box::new(self.counted)),
            events: None,
        };
        let gaps = Gaps {
            span: 2e9,
            start: &start,
            length: &length,
            preempted: &self.preempted,
            interrupts: Some(500.0),
            unseen: &[],
            timers: &[],
        };
        let found = trains(&gaps);
        let account = Account { steal: true, interrupts, quotas: true, reserve: None };
        let named = Named { trace: &trace, gaps: &gaps, trains: &found, account };
        (named.each(), named.away())
    }
}

/// Another task's turn that began while the counters were read is a gap of its own; a quota's where the next reading counted it, or that one.
#[test]
fn a_turn_that_begins_in_a_reading_has_a_name() {
    for (counted_at, name) in
        [(11, GapCause::Quota), (10, GapCause::Quota), (20, GapCause::Task), (5, GapCause::Task)]
    {
        let mut planted = Planted::new(&[], 0.0, false, true);
        let (readings, gaps) = (planted.counted.gap.len(), planted.gaps.len());
        planted.counted.away = vec![Nanos::ZERO; readings];
        planted.counted.away[10] = Nanos::new(1_000_000);
        planted.counted.took[10] = Nanos::new(1_020_000);
        let place = planted.counted.reading.partition_point(|reading| *reading <= counted_at);
        planted.counted.reading.insert(place, counted_at);
        planted.counted.counter.insert(place, 5);
        planted.counted.more.insert(place, 1);
        let end = planted.gaps[planted.counted.gap[10] as usize];
        let (names, away) = planted.all(true);
        assert_eq!(away, [(10, end.0 as i64 as f64 + end.1 + 20_000.0, 1_000_000.0)]);
        assert_eq!(names[gaps + 10], name, "counted at {counted_at}");
    }
}

#[test]
fn a_gap_has_the_name_of_what_was_counted_in_it() {
    let soft = || GapCause::SoftInterrupt("NET_RX".to_owned());
    let cases: [(&[&str], f64, bool, GapCause); 9] = [
        // 9 us are no stop.
        (&[Counted::QUOTA], 0.0, true, GapCause::Task),
        (&[], 0.0, false, GapCause::Unseen),
        (&[], 8_500.0, false, GapCause::Outside(Evidence::Steal)),
        (&[], 0.0, true, GapCause::Task),
        (&["interrupt LOC"], 0.0, false, GapCause::Timer),
        (&["interrupt LOC"], 8_500.0, false, GapCause::Outside(Evidence::Steal)),
        (&["interrupt 36 virtio1-req.0"], 0.0, false, GapCause::Interrupt("36 virtio1-req.0".to_owned())),
        (&["interrupt 36 virtio1-req.0", "softirq NET_RX"], 0.0, false, soft()),
        (&["page fault"], 0.0, false, GapCause::Fault),
    ];
    for always in [true, false] {
        for (moved, absent, preempted, name) in &cases {
            let names = Planted::new(moved, *absent, *preempted, always).names(true);
            assert_eq!(names[0], GapCause::Tick, "{moved:?}");
            let train = &names[1];
            // Where readings are far apart, no gap of the train has been asked about alone often enough, or it has.
            let foreign = matches!(train, GapCause::Outside(Evidence::Train(97_000)));
            assert!(foreign || (!always && *train == GapCause::Unseen), "{moved:?}: {train:?}");
            assert_eq!(names[2], *name, "{moved:?}, after every gap: {always}");
        }
    }
}
/// Two turns of others a second apart, of this length in ms, seen by a loop from which so much is kept in each second.
fn turns(millis: f64, apart: f64, reserve: Option<f64>) -> Vec<GapCause> {
    let (start, length) = (vec![1e8, 1e8 + apart], vec![millis * 1e6; 2]);
    let trace = GapTrace {
        threshold: Nanos::new(300),
        span: Nanos::new(2_000_000_000),
        timer_interrupts: None,
        start: start.iter().map(|ns| Nanos::new(*ns as i64)).collect(),
        length: length.iter().map(|ns| Nanos::new(*ns as i64)).collect(),
        preempted: Some(vec![0, 1]),
        counted: None,
        events: None,
    };
    let gaps = Gaps {
        span: 2e9,
        start: &start,
        length: &length,
        preempted: &[0, 1],
        interrupts: None,
        unseen: &[],
        timers: &[],
    };
    let found = trains(&gaps);
    let reserve = reserve.map(|reserve| (reserve, 1e9));
    let account = Account { steal: false, interrupts: true, quotas: false, reserve };
    Named { trace: &trace, gaps: &gaps, trains: &found, account }.each()
}

#[test]
fn the_real_time_reserve_is_known_by_its_length_and_its_period() {
    let reserve = Some(50e6);
    for millis in [50.0, 54.0] {
        assert_eq!(
            turns(millis, 1e9, reserve),
            [GapCause::RealTimeReserve, GapCause::RealTimeReserve],
            "{millis}"
        );
    }
    // At an ordinary priority, of another length, and more often than once a second others had the CPU.
    let others = [
        turns(50.0, 1e9, None),
        turns(20.0, 1e9, reserve),
        turns(90.0, 1e9, reserve),
        turns(50.0, 3e8, reserve),
    ];
    assert!(others.iter().flatten().all(|what| *what == GapCause::Task), "{others:?}");
}

/// Where interrupts are no part of the CPU time, what is absent may be theirs.
#[test]
fn an_interrupt_that_the_account_leaves_out_is_no_steal() {
    let timer = || Planted::new(&["interrupt LOC"], 8_500.0, false, true);
    assert_eq!(timer().names(false)[2], GapCause::Timer);
    assert_eq!(timer().names(true)[2], GapCause::Outside(Evidence::Steal));
    assert_eq!(Planted::new(&[], 8_500.0, false, true).names(false)[2], GapCause::Outside(Evidence::Steal));
}

/// Counters of two things moved: neither is the name of more gaps than it moved in.
#[test]
fn a_window_of_several_kinds_is_not_given_one_name() {
    let moved = ["interrupt 36 virtio1-req.0", "interrupt 25 ttyS0", "softirq BLOCK"];
    let of =
        |counts: [u64; 3]| kind(&moved.into_iter().zip(counts).filter(|(_, count)| *count > 0).collect());
    assert_eq!(
        of([5, 0, 1]),
        Some((GapCause::SoftInterrupt("BLOCK".to_owned()), 5)),
        "its own work, once for five"
    );
    assert_eq!(of([5, 2, 1]), Some((GapCause::SoftInterrupt("BLOCK".to_owned()), 1)));
    assert_eq!(of([5, 2, 0]), Some((GapCause::Interrupt("36 virtio1-req.0".to_owned()), 5)));
}
