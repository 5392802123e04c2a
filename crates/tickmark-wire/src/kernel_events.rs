//! Events of the kernel's tracepoints on the CPU of a loop.

use crate::Nanos;
use crate::observations::is_zero;
use serde::{Deserialize, Serialize};

/// Events of the kernel on one CPU, in columns. Times are of the axis of the gaps beside it, in ns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelEvents {
    /// Tracepoints that were enabled, by their names in tracefs: `irq/softirq_entry`.
    pub tracepoints: Vec<String>,
    /// Tracepoints that the kernel refused, with the reason: `tlb/tlb_flush: Permission denied`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// Clock that stamped them, by clock_gettime(2): `CLOCK_MONOTONIC_RAW`.
    pub clock: String,
    /// That clock at the first reading of the loop, ns.
    pub origin: Nanos,
    /// Thread number of the loop.
    pub thread: u32,
    /// True if threads have other numbers than those that the program's own namespace of processes gives them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
    /// The CPU, where it is none of a loop's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// What events are about.
    pub subjects: Vec<EventSubject>,
    /// When each event was; from before the loop begins to after its end.
    pub time: Vec<Nanos>,
    /// Its tracepoint, as an index.
    pub tracepoint: Vec<u32>,
    /// Its subject, as an index.
    pub subject: Vec<u32>,
    /// How long it had lasted when it was recorded, for those that say so (`nmi/nmi_handler`): index of the event, ns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lasted: Vec<(u32, Nanos)>,
    /// Task that had set a timer last, for expiries of those that one had set here: index of the event, of the subject.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub armed: Vec<(u32, u32)>,
    /// Wake-ups of tasks that are to run on this CPU.
    pub wakings: Wakings,
    /// Events that the kernel counted and that are not here: after the last one that is here where the buffer was full.
    pub dropped: u64,
    /// System management interrupts that the processor counted meanwhile (MSR_SMI_COUNT, Intel's), where /dev/cpu/*/msr may be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub management: Option<u64>,
    /// What an event costs here.
    pub cost: Option<EventCost>,
    /// How much later than its time the kernel may end a wait (timer slack), for the waits of a wake-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slack: Option<Nanos>,
}

/// What an event is about: an interrupt with its device, a soft interrupt, a function of the kernel, a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EventSubject {
    /// The device's name, the function's, the task's; an address where the kernel does not name its functions.
    pub name: String,
    /// Number of the interrupt or of the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u32>,
    /// The process of a thread, where that has another number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    /// The cgroup of a task (version 2), from the root; absent where it had ended before it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<String>,
    /// The priority of a task when it was switched to last, as the kernel has it: below 100 in real time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
}

/// Who woke which task, in columns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wakings {
    /// When, ns.
    pub time: Vec<Nanos>,
    /// On which CPU the waker ran.
    pub cpu: Vec<u32>,
    /// The task that was woken, as an index of the subjects.
    pub task: Vec<u32>,
    /// The task that was on the waker's CPU; an interrupt may have been above it.
    pub by: Vec<u32>,
    /// Wake-ups by other CPUs that the kernel counted and that are not here, as their buffers were full.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped: u64,
}

/// Durations of batches of a system call in which two tracepoints lie, by turns with none of them enabled, with one and with both, in ns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventCost {
    /// Calls of each batch.
    pub calls: u32,
    /// Batches without events.
    pub none: Vec<Nanos>,
    /// Batches with one event each call.
    pub one: Vec<Nanos>,
    /// Batches with two.
    pub two: Vec<Nanos>,
}
