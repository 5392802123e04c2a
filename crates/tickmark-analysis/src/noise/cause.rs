//! What had the CPU, by the kernel's own events.

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

impl Cause {
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
