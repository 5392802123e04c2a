//! A run of the subject beside the computing tasks in which the kernel's events say who had each CPU.

use super::subject::Subject;
use super::{Watch, single_observation};
use tickmark_probe::routine::{Budget, Sink};
use tickmark_probe::sys::tracepoints::Recorder;
use tickmark_probe::{Params, ProbeError};
use tickmark_wire::{Nanos, Observations, Part};

/// Events of so long a time have room, or as many as may be kept.
const TIME: Nanos = Nanos::from_millis(8_000);

pub(super) fn measure(
    subject: &Subject,
    params: &Params,
    budget: &Budget,
    sink: &mut dyn Sink,
) -> Result<(), ProbeError> {
    let mut recorder = Recorder::open(&params.allowed, TIME)?;
    let watch = Watch::begin(params, budget)?;
    let begun = recorder.begin();
    let carried = begun.is_ok().then(|| subject.watch(params, budget.time));
    let ended = recorder.end();
    watch.end();
    begun.and(ended)?;
    let [took, _] = carried.transpose()?.unwrap_or_default();
    sink.observe(Part::Whole, single_observation(took), Vec::new());
    for trace in recorder.traces()? {
        sink.take(1, Part::Whole, Observations::Gaps(trace), Vec::new());
    }
    Ok(())
}
