//! The kernel's own instruments for what the tick's loop sees and for how late timers wake, where the kernel was built with them and the
//! user may: checks of these. No suite has them, as they have to be told for how long.

use crate::case::Parameter;
use crate::routine::{Budget, Sink, routine};
use crate::spec::Also;
use crate::sys::osnoise::{Kind, Tracer, Wake, unavailable};
use crate::{Expected, Probe, ProbeError, Spec, Unavailable};
use std::time::{Duration, Instant};
use tickmark_wire::{Better, Group, Headline, Nanos, Observations, Part, Unit, Values, names};

/// How often its trace is looked at, and what it may be late.
const LOOK: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(2);

const SECONDS: Parameter = Parameter::number("seconds", "how long it traces", 1, 600);

pub(super) static PROBES: &[Probe] = &[OSNOISE, TIMERLAT];

const TIMERLAT: Probe = Probe {
    spec: Spec {
        headline: Headline::Median,
        timed: "the kernel's timerlat tracer on the CPU: how late the interrupt of its timer came",
        source: "Documentation/trace/timerlat-tracer.rst",
        expected: Expected::UNKNOWN,
        sleeps: true,
        // Its time is told, and is none of the others'.
        weight: 0,
        parameters: &[SECONDS],
        also: &[Also {
            metric: names::TIMERLAT_THREAD,
            title: "timerlat, thread",
            unit: Unit::Time,
            better: Better::Lower,
            headline: Headline::Median,
        }],
        metric: names::TIMERLAT_INTERRUPT,
        ..Spec::cost(Group::Timer, names::TIMERLAT, "timerlat, interrupt")
    },
    prepare: |_, params| {
        if let Some(why) = unavailable(Kind::Timerlat) {
            return Err(Unavailable::Missing(why));
        }
        let (cpu, seconds) = (params.cpu, params.number("seconds"));
        Ok(routine(move |_: &Budget, sink| wakes(cpu, seconds, sink)))
    },
};

fn wakes(cpu: u32, seconds: usize, sink: &mut dyn Sink) -> Result<(), ProbeError> {
    let tracer = Tracer::begin(Kind::Timerlat, cpu)?;
    tracer.room(seconds)?;
    std::thread::sleep(Duration::from_secs(seconds as u64));
    let (wakes, lost) = (tracer.wakes(), tracer.lost());
    drop(tracer);
    if lost > 0 {
        return Err(ProbeError::Other(format!(
            "the trace was full: {lost} of its lines are lost; trace for less long"
        )));
    }
    let of = |is_thread: bool| -> Vec<Nanos> {
        let own = |wake: &&Wake| wake.is_thread == is_thread;
        wakes.iter().filter(own).map(|wake| Nanos::new(wake.late)).collect()
    };
    let (interrupts, threads) = (of(false), of(true));
    if interrupts.is_empty() || threads.is_empty() {
        return Err(ProbeError::Other(
            "timerlat wrote no wake-up: is osnoise/timerlat_period_us too long?".to_owned(),
        ));
    }
    sink.observe(Part::Whole, Observations::Latencies(interrupts), Vec::new());
    sink.take(1, Part::Whole, Observations::Latencies(threads), Vec::new());
    Ok(())
}

const OSNOISE: Probe = Probe {
    spec: Spec {
        unit: Unit::Share,
        headline: Headline::Median,
        timed: "the kernel's osnoise tracer on the CPU, periods of a second: noise over runtime",
        source: "Documentation/trace/osnoise-tracer.rst",
        expected: Expected::UNKNOWN,
        sleeps: true,
        // Its time is told, and is none of the others'.
        weight: 0,
        parameters: &[SECONDS],
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
        if let Some(why) = unavailable(Kind::Osnoise) {
            return Err(Unavailable::Missing(why));
        }
        let (cpu, seconds) = (params.cpu, params.number("seconds"));
        Ok(routine(move |_: &Budget, sink| trace(cpu, seconds, sink)))
    },
};

fn trace(cpu: u32, seconds: usize, sink: &mut dyn Sink) -> Result<(), ProbeError> {
    let tracer = Tracer::begin(Kind::Osnoise, cpu)?;
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
