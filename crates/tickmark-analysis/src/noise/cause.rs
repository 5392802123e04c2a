//! What had the CPU, by the kernel's own events.

use tickmark_wire::EventSubject;

/// What had the CPU.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The kernel's tick.
    Tick,
    /// Another timer, by its function.
    Timer(String),
    /// An interrupt of the processor itself, by the kernel's name of its vector.
    Interrupt(String),
    /// A function that another CPU had called here.
    Call(String),
    /// Another CPU had addresses forgotten here.
    TlbFlush,
    /// A device's interrupt.
    Device {
        /// As in /proc/interrupts.
        number: u32,
        /// Device's name.
        name: String,
    },
    /// A soft interrupt, as /proc/softirqs calls it.
    SoftInterrupt(String),
    /// A tasklet, by its function.
    Tasklet(String),
    /// Work of a work queue, by its function.
    Work(String),
    /// A task.
    Task {
        /// The thread's name.
        name: String,
        /// The thread's number.
        thread: u32,
        /// The cgroup, from the root, where the task was still there to be asked.
        cgroup: Option<String>,
        /// True if it has a priority in real time.
        real_time: bool,
    },
    /// No task: the loop's thread was not allowed to run.
    Idle,
    /// A page fault of the loop's own.
    PageFault,
    /// A handler of non-maskable interrupts, by its function.
    NonMaskable(String),
    /// Nothing of this kernel ran.
    Outside,
    /// Events were dropped.
    Unknown,
}

/// Tasks of the usual class (SCHED_OTHER), their work and the interrupts that had them run: what waits for a task in real time.
pub const OTHER_TASKS: &str = "other tasks";

/// Priorities below are in real time (`MAX_RT_PRIO` in include/linux/sched/prio.h).
const ORDINARY: i32 = 100;

/// Threads of the kernel that have a priority in real time, at least in a kernel for it, by how their names begin.
pub(crate) const REAL_TIME_THREADS: [&str; 6] =
    ["migration/", "idle_inject/", "rcuc/", "ktimers/", "irq_work/", "irq/"];

impl Cause {
    /// The task of a thread; of a recording without priorities, in real time by its name.
    pub(super) fn task(subject: &EventSubject, thread: u32) -> Self {
        let by_name = || REAL_TIME_THREADS.iter().any(|start| subject.name.starts_with(start));
        let real_time = subject.priority.map_or_else(by_name, |priority| priority < ORDINARY);
        Self::Task { name: subject.name.clone(), thread, cgroup: subject.cgroup.clone(), real_time }
    }

    /// True if it is this cause, by its words, or one of [`OTHER_TASKS`].
    #[must_use]
    pub fn is_removed_with(&self, name: &str) -> bool {
        let is_tasks = match self {
            Self::Task { real_time, .. } => !real_time,
            Self::Work(_) => true,
            Self::Interrupt(vector) => vector == "reschedule",
            _ => false,
        };
        self.words() == name || (is_tasks && name == OTHER_TASKS)
    }

    /// In words, which programs may read as well.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Tick => "the tick".to_owned(),
            Self::Timer(function) => format!("timer {function}"),
            Self::Interrupt(vector) => format!("interrupt: {}", vector.replace('_', " ")),
            Self::Call(function) => format!("function call {function}"),
            Self::TlbFlush => "TLB flush for another CPU".to_owned(),
            Self::Device { number, name } => format!("interrupt {number} {name}"),
            Self::SoftInterrupt(name) => format!("softirq {name}"),
            Self::Tasklet(function) => format!("tasklet {function}"),
            Self::Work(function) => format!("work {function}"),
            Self::Task { name, thread, .. } => format!("{name} ({thread})"),
            Self::Idle => "idle".to_owned(),
            Self::PageFault => "page fault".to_owned(),
            Self::NonMaskable(function) => format!("NMI {function}"),
            Self::Outside => "outside of this kernel".to_owned(),
            Self::Unknown => "not known".to_owned(),
        }
    }

    /// The kind, for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Tick => "tick",
            Self::Timer(_) => "timer",
            Self::Interrupt(_) => "interrupt",
            Self::Call(_) => "function_call",
            Self::TlbFlush => "tlb_flush",
            Self::Device { .. } => "device",
            Self::SoftInterrupt(_) => "soft_interrupt",
            Self::Tasklet(_) => "tasklet",
            Self::Work(_) => "work",
            Self::Task { .. } => "task",
            Self::Idle => "idle",
            Self::PageFault => "page_fault",
            Self::NonMaskable(_) => "nmi",
            Self::Outside => "outside",
            Self::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_priority_takes_away_tasks_their_work_and_what_had_them_run() {
        let of = |name: &str, thread, priority| {
            Cause::task(&EventSubject { name: name.to_owned(), priority, ..EventSubject::default() }, thread)
        };
        let task = of("kworker/1:0", 17, None);
        let gone = [
            task.clone(),
            of("make", 18, Some(120)),
            of("migration/1", 21, Some(120)),
            Cause::Work("vmstat_update".to_owned()),
            Cause::Interrupt("reschedule".to_owned()),
        ];
        assert!(gone.iter().all(|cause| cause.is_removed_with(OTHER_TASKS)));
        let left = [
            of("migration/1", 21, None),
            of("hog", 22, Some(39)),
            of("deadline", 23, Some(-1)),
            Cause::Tick,
            Cause::Interrupt("irq_work".to_owned()),
            Cause::SoftInterrupt("NET_RX".to_owned()),
        ];
        assert!(!left.iter().any(|cause| cause.is_removed_with(OTHER_TASKS)));
        // Of a cause that is named, that one.
        assert!(task.is_removed_with("kworker/1:0 (17)") && !task.is_removed_with("kworker/1:0 (18)"));
    }
}
