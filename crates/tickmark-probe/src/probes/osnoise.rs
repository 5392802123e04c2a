//! The kernel's own instrument for what the tick's loop sees, where the kernel was built with it and the user may: a check of this one.
//! No suite has it, as it has to be told for how long.

use crate::case::Parameter;
use crate::routine::{Budget, Sink, routine};
use crate::spec::Also;
use crate::sys::osnoise::{Tracer, unavailable};
use crate::{Expected, Probe, ProbeError, Spec, Unavailable};
use std::time::{Duration, Instant};
use tickmark_wire::{Better, Group, Headline, Observations, Part, Unit, Values, names};

/// How often its trace is looked at, and what it may be late.
const LOOK: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) static PROBES: &[Probe] = &[Probe {
    spec: Spec {
        unit: Unit::Share,
        headline: Headline::Median,
        timed: "the kernel's osnoise tracer on the CPU, periods of a second: noise over runtime",
        source: "Documentation/trace/osnoise-tracer.rst",
        expected: Expected::UNKNOWN,
        sleeps: true,
        // Its time is told, and is none of the others'.
        weight: 0,
        parameters: &[Parameter {
            name: "seconds",
            about: "how long it traces",
            values: &[],
            numbers: Some((1, 600)),
        }],
        also: &[Also {
            metric: names::OSNOISE_INTERRUPTS,
            title: "interrupts, by osnoise",
            unit: Unit::Frequency,
            better: Better::Neither,
            headline: Headline::Median,
        }],
        metric: names::OSNOISE_LOST,
        ..Spec::cost(Group::Tick, names::OSNOISE, "CPU time lost, by osnoise")
    },
    prepare: |_, params| {
        if let Some(why) = unavailable() {
            return Err(Unavailable::Missing(why));
        }
        let (cpu, seconds) = (params.cpu, params.number("seconds"));
        Ok(routine(move |_: &Budget, sink| trace(cpu, seconds, sink)))
    },
}];

fn trace(cpu: u32, seconds: usize, sink: &mut dyn Sink) -> Result<(), ProbeError> {
    let tracer = Tracer::begin(cpu)?;
    let until = Instant::now() + Duration::from_secs(seconds as u64) + PATIENCE;
    while tracer.samples().len() < seconds && Instant::now() < until {
        std::thread::sleep(LOOK);
    }
    let samples = tracer.samples();
    drop(tracer);
    if samples.is_empty() {
        return Err(ProbeError::Other(
            "osnoise wrote no period: is osnoise/runtime_us above a second?".to_owned(),
        ));
    }
    let values = |of: &dyn Fn(&crate::sys::osnoise::Sample) -> f64, step: f64| {
        Observations::Values(Values { values: samples.iter().map(of).collect(), step, over: 0 })
    };
    sink.observe(Part::Whole, values(&|one| one.noise / one.runtime, 1e-6), Vec::new());
    let interrupts = values(&|one| one.interrupts * 1e6 / one.runtime, 1.0);
    sink.take(1, Part::Whole, interrupts, Vec::new());
    Ok(())
}
