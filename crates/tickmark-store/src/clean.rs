//! Cleans untrusted recordings: their texts lose whatever a terminal would obey, and content that no recording has is refused.

use super::recording::Meta;
use tickmark_wire::shared::{MOST_PADDING, MOST_ROUNDS};
use tickmark_wire::text::printable;
use tickmark_wire::{Environment, Event, Hello, Name, Observations, Reason};

/// Runs and metrics of a plan: more are none that a person reads, and every page goes through all of them.
const MOST_RUNS: usize = 1_000_000;
const MOST_METRICS: usize = 10_000;
/// Looks at an experiment: those of ours grow by half each time.
const MOST_LOOKS: usize = 64;

/// Why this is the meta.json of no recording, if it is not.
pub(super) fn refuse(meta: &Meta) -> Option<String> {
    let (runs, metrics) = (meta.plan.runs.len(), meta.plan.metrics.len());
    if runs > MOST_RUNS || metrics > MOST_METRICS {
        return Some(format!(
            "its plan has {runs} runs and {metrics} metrics: up to {MOST_RUNS} and {MOST_METRICS}"
        ));
    }
    let looks = meta.arm.as_ref().map_or(0, |arm| arm.looks.len());
    if looks > MOST_LOOKS {
        return Some(format!("it was to be looked at {looks} times: up to {MOST_LOOKS}"));
    }
    let run = meta.plan.runs.iter().find(|run| run.round > MOST_ROUNDS || run.padding > MOST_PADDING)?;
    let (id, round, padding) = (run.id.0, run.round, run.padding);
    Some(format!(
        "run {id} of its plan has round {round} and padding {padding}: up to {MOST_ROUNDS} and {MOST_PADDING}"
    ))
}

fn text(text: &mut String) {
    if let std::borrow::Cow::Owned(clean) = printable(text, false) {
        *text = clean;
    }
}

pub(super) fn name(of: &mut Name) {
    if let std::borrow::Cow::Owned(clean) = printable(of.as_str(), false) {
        *of = Name::new(clean);
    }
}

pub(super) fn meta(meta: &mut Meta) {
    text(&mut meta.name);
    text(&mut meta.program);
    meta.select.iter_mut().chain(&mut meta.target).for_each(text);
    if let Some(arm) = &mut meta.arm {
        [&mut arm.experiment, &mut arm.knob, &mut arm.setting].into_iter().for_each(text);
        arm.primary.iter_mut().for_each(text);
    }
    for metric in &mut meta.plan.metrics {
        name(&mut metric.name);
        text(&mut metric.title);
    }
    for run in &mut meta.plan.runs {
        name(&mut run.probe);
        run.gives.iter_mut().for_each(name);
    }
}

pub(super) fn event(event: &mut Event) {
    match event {
        Event::Hello(hello) => self::hello(hello),
        Event::Imported(from) => {
            text(&mut from.tool);
            environment(&mut from.environment);
        }
        Event::Finished(outcome) => outcome.changed.iter_mut().for_each(text),
        Event::Skipped(_, reason) | Event::Failed(_, reason) | Event::TimedOut(_, reason) => {
            self::reason(reason);
        }
        Event::Goodbye { state, .. } => environment(state),
        Event::Refused(_) | Event::Started(_) | Event::Observed(_) | Event::Unknown(_) => {}
    }
}

/// The names in observations: of tasks, interrupts, counters.
pub(super) fn observations(own: &mut Observations) {
    match own {
        Observations::Gaps(trace) => {
            trace.counted.iter_mut().flat_map(|counted| &mut counted.names).for_each(text);
            let Some(events) = &mut trace.events else { return };
            events.tracepoints.iter_mut().chain(&mut events.refused).for_each(text);
            for subject in &mut events.subjects {
                text(&mut subject.name);
                subject.cgroup.iter_mut().for_each(text);
            }
        }
        Observations::Tally(tally) => tally.names.iter_mut().for_each(text),
        Observations::Curve(points) => {
            points.iter_mut().for_each(|point| observations(&mut point.observations));
        }
        Observations::Unknown(kind) => text(kind),
        Observations::Batches(_)
        | Observations::Latencies(_)
        | Observations::Exchanges(_)
        | Observations::Values(_)
        | Observations::Histogram(_)
        | Observations::Windows(_)
        | Observations::Loads(_) => {}
    }
}

fn hello(hello: &mut Hello) {
    text(&mut hello.agent);
    text(&mut hello.settled.cpu_because);
    hello.settled.priority_refused.iter_mut().for_each(text);
    environment(&mut hello.environment);
}

fn reason(reason: &mut Reason) {
    text(&mut reason.message);
    reason.call.iter_mut().for_each(text);
}

fn environment(facts: &mut Environment) {
    facts.change_texts(|text| printable(text, false).into_owned());
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickmark_wire::{EventSubject, GapTrace, KernelEvents};

    #[test]
    fn a_task_of_any_name_is_printable() {
        let hostile = "a\u{1b}]0;b\u{7}\nc".to_owned();
        let subject =
            EventSubject { name: hostile.clone(), cgroup: Some(hostile.clone()), ..Default::default() };
        let events = KernelEvents { subjects: vec![subject], refused: vec![hostile], ..Default::default() };
        let mut own = Observations::Gaps(GapTrace { events: Some(Box::new(events)), ..Default::default() });
        observations(&mut own);
        let Observations::Gaps(GapTrace { events: Some(events), .. }) = own else { unreachable!() };
        let subject = &events.subjects[0];
        for text in [&subject.name, subject.cgroup.as_ref().unwrap(), &events.refused[0]] {
            assert_eq!(text, "a\\u{1b}]0;b\\u{7}\\nc");
        }
    }
}
