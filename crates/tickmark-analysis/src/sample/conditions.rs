//! CPU time that other tasks had of a run.

use tickmark_stats::contention::{Manner, Stretch};
use tickmark_store::Recording;
use tickmark_wire::{Metric, Nanos, Observed, Segment};

/// The share of the run that other tasks had, and whether that is more than an idle machine's own threads take.
pub(super) fn share_of_others(recording: &Recording, metric: &Metric, observed: &[Observed]) -> (f64, bool) {
    let (mut taken, mut contended) = (0.0, false);
    for part in observed {
        let (share, over) = contention(&part.segments, manner(recording, metric));
        // A guest that was booted to measure has no other tasks: what the kernel did, it did for the probe.
        let over = over && crate::instruction(recording).is_none();
        taken = f64::max(taken, share);
        contended |= over;
    }
    (taken, contended)
}

/// CPU time over wall time.
pub(super) fn computing(segments: &[Segment]) -> Option<f64> {
    let wall: f64 = segments.iter().map(|s| s.wall.as_f64()).sum();
    let cpu: f64 = segments.iter().map(|s| s.cpu.as_f64() + s.others_cpu.as_f64()).sum();
    (wall > 0.0).then(|| cpu / wall)
}

/// Steal time, and the time over which it was counted, in ns.
pub(super) fn steal(observed: &[Observed]) -> (f64, f64) {
    let counted =
        observed.iter().flat_map(|o| &o.segments).filter_map(|s| Some((s.steal?.as_f64(), s.wall.as_f64())));
    counted.fold((0.0, 0.0), |sum, (steal, wall)| (sum.0 + steal, sum.1 + wall))
}

fn manner(recording: &Recording, metric: &Metric) -> Manner {
    let cpus = recording.sessions.first().map_or(1, |hello| hello.settled.allowed.len());
    match (metric.roams, metric.sleeps) {
        (true, _) => Manner::Roams { cpus },
        (false, true) => Manner::Sleeps,
        (false, false) => Manner::Busy,
    }
}

/// The share that others had over all segments, and whether contended ones make up a third of the time.
fn contention(segments: &[Segment], manner: Manner) -> (f64, bool) {
    let stretch = |s: &Segment| Stretch {
        wall: s.wall.as_f64(),
        own: s.cpu.as_f64() + s.others_cpu.as_f64(),
        delay: s.run_delay.map(Nanos::as_f64),
        manner,
        runnable: s.runnable,
    };
    let wall: f64 = segments.iter().map(|s| s.wall.as_f64()).sum();
    if wall <= 0.0 {
        return (0.0, false);
    }
    let weigh = |share: &dyn Fn(&Stretch) -> f64| {
        segments.iter().map(stretch).map(|s| share(&s) * s.wall).sum::<f64>() / wall
    };
    let contended = weigh(&|s| f64::from(u8::from(s.contended())));
    (weigh(&Stretch::taken), contended > 1.0 / 3.0)
}
