//! What each tracepoint begins or ends.

use crate::noise::cause::Cause;
use tickmark_wire::EventSubject;

/// Functions of hrtimers that are the tick: until Linux 6.9, and since.
const TICKS: [&str; 2] = ["tick_sched_timer", "tick_nohz_handler"];

/// What a tracepoint does.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    Enter(String),
    Exit(String),
    Switch,
    Fault,
    Flush,
    Lasted,
    Other,
}

impl Step {
    pub(super) fn of_tracepoint(name: &str) -> Self {
        let strip = |ends: [&str; 2]| ends.iter().find_map(|end| name.strip_suffix(end)).map(str::to_owned);
        match name {
            "sched/sched_switch" => Self::Switch,
            "exceptions/page_fault_user" | "exceptions/page_fault_kernel" => Self::Fault,
            "tlb/tlb_flush" => Self::Flush,
            "nmi/nmi_handler" => Self::Lasted,
            "timer/hrtimer_start" | "timer/timer_start" => Self::Other,
            _ => match (strip(["_entry", "_start"]), strip(["_exit", "_end"])) {
                (Some(layer), _) => Self::Enter(layer),
                (_, Some(layer)) => Self::Exit(layer),
                _ => Self::Other,
            },
        }
    }
}

/// Cause of a frame that a tracepoint of this layer opens.
pub(super) fn cause(layer: &str, subject: &EventSubject) -> Cause {
    let name = || subject.name.clone();
    match layer {
        "irq/irq_handler" => Cause::Device { number: subject.id.unwrap_or(0), name: name() },
        "irq/softirq" => Cause::SoftInterrupt(name()),
        "irq/tasklet" => Cause::Tasklet(name()),
        "timer/hrtimer_expire" if TICKS.contains(&subject.name.as_str()) => Cause::Tick,
        "timer/hrtimer_expire" | "timer/timer_expire" => Cause::Timer(name()),
        "workqueue/workqueue_execute" => Cause::Work(name()),
        "csd/csd_function" => Cause::Call(name()),
        _ => Cause::Interrupt(layer.rsplit('/').next().unwrap_or(layer).to_owned()),
    }
}
