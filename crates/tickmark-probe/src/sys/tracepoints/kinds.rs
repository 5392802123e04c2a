//! The tracepoints that say what has a CPU, and which of their fields says about what they are.

use crate::sys::CallError;
use crate::sys::perf::{SAMPLE_ID, SAMPLE_RAW, SAMPLE_TIME};
use crate::sys::tracefs::{Field, Tracefs, field};

/// Fields of a sample: time, number of the event, record.
pub(super) const SAMPLE: u64 = SAMPLE_TIME | SAMPLE_ID | SAMPLE_RAW;

/// Those of every architecture. Local interrupts of x86 come from their folder.
const NAMES: [&str; 21] = [
    "irq/irq_handler_entry",
    "irq/irq_handler_exit",
    "irq/softirq_entry",
    "irq/softirq_exit",
    "irq/tasklet_entry",
    "irq/tasklet_exit",
    "ipi/ipi_entry",
    "ipi/ipi_exit",
    "sched/sched_switch",
    "timer/hrtimer_expire_entry",
    "timer/hrtimer_expire_exit",
    "timer/timer_expire_entry",
    "timer/timer_expire_exit",
    "workqueue/workqueue_execute_start",
    "workqueue/workqueue_execute_end",
    "csd/csd_function_entry",
    "csd/csd_function_exit",
    "nmi/nmi_handler",
    "task/task_rename",
    "tlb/tlb_flush",
    "exceptions/page_fault_kernel",
];
/// Page faults of the loop's own thread alone: another task's are a part of its turn.
const FAULT: &str = "exceptions/page_fault_user";
/// Timers that are set, but for those that an interrupt sets, as the tick does itself: `common_flags` says so (TRACE_FLAG_HARDIRQ,
/// TRACE_FLAG_SOFTIRQ in include/linux/trace_events.h).
const STARTS: [&str; 2] = ["timer/hrtimer_start", "timer/timer_start"];
const IN_INTERRUPT: u32 = 0x18;
/// Interrupts of x86 that pass the local APIC; the others in the folder are about vectors.
const LOCAL: &str = "irq_vectors";

/// What a field of a record says.
#[derive(Debug, Clone, Copy)]
pub(super) enum Subject {
    /// Nothing.
    None,
    /// An interrupt's number, and the device's name.
    Device(Field, Field),
    /// The number of a soft interrupt.
    Soft(Field),
    /// The address of a function.
    Function(Field),
    /// A task: its name and number.
    Task(Field, Field),
}

/// A tracepoint as this kernel has it.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) name: String,
    /// By which it is opened.
    pub(super) number: u64,
    pub(super) subject: Subject,
    /// The field with how long it took.
    pub(super) lasted: Option<Field>,
    /// The field with the timer's address.
    pub(super) timer: Option<Field>,
    /// The fields with the name and the number of the task that had the CPU.
    pub(super) previous: Option<(Field, Field)>,
    /// The field with the priority of the task that gets it.
    pub(super) priority: Option<Field>,
}

/// Names of those that this kernel may have.
pub(super) fn names(tracefs: &Tracefs) -> Vec<String> {
    let is_local = |name: &String| {
        let is_interrupt = name.ends_with("_entry") || name.ends_with("_exit");
        // The kernel refuses it to all, as recording an event may itself be such work.
        is_interrupt && !name.starts_with("vector_") && name != "irq_work_exit"
    };
    let local = tracefs.names(&format!("events/{LOCAL}")).into_iter().filter(is_local);
    let all = NAMES.into_iter().chain(STARTS).chain([FAULT]).map(str::to_owned);
    all.chain(local.map(|name| format!("{LOCAL}/{name}"))).collect()
}

impl Kind {
    /// Reads what the kernel says of it.
    ///
    /// # Errors
    /// ENOENT where there is none.
    pub(super) fn read(tracefs: &Tracefs, name: &str) -> Result<Self, CallError> {
        let number = tracefs.event(name)?;
        let format = tracefs.read(&format!("events/{name}/format"))?;
        let of = |name: &str| field(&format, name);
        let device = || Some(Subject::Device(of("irq")?, of("name")?));
        let soft = || Some(Subject::Soft(of("vec")?));
        let function = || Some(Subject::Function(of("function").or_else(|| of("func"))?));
        let next = || Some(Subject::Task(of("next_comm")?, of("next_pid")?));
        let renamed = || Some(Subject::Task(of("newcomm")?, of("pid")?));
        let woken = || Some(Subject::Task(of("comm")?, of("pid")?));
        let handler = || Some(Subject::Function(of("handler")?));
        let subject = match name {
            "irq/irq_handler_entry" => device(),
            "irq/softirq_entry" | "irq/softirq_exit" => soft(),
            "sched/sched_switch" => next(),
            "sched/sched_waking" => woken(),
            "task/task_rename" => renamed(),
            "nmi/nmi_handler" => handler(),
            _ => function(),
        };
        let subject = subject.unwrap_or(Subject::None);
        let timer = of("hrtimer").or_else(|| of("timer"));
        let previous = of("prev_comm").zip(of("prev_pid"));
        let (lasted, priority) = (of("delta_ns"), of("next_prio"));
        Ok(Self { name: name.to_owned(), number, subject, lasted, timer, previous, priority })
    }

    /// Which of its events are kept, for a loop of this thread; none keeps all.
    pub(super) fn condition(&self, thread: u32) -> Option<String> {
        match self.name.as_str() {
            FAULT => Some(format!("common_pid == {thread}")),
            _ if self.is_start() => Some(format!("!(common_flags & {IN_INTERRUPT})")),
            _ => None,
        }
    }

    /// Whether it is the beginning of an interrupt.
    pub(super) fn is_interrupt(&self) -> bool {
        let is_local = self.name.starts_with(LOCAL) && self.name.ends_with("_entry");
        is_local || matches!(self.name.as_str(), "irq/irq_handler_entry" | "ipi/ipi_entry")
    }

    /// Whether it is a timer that is set.
    pub(super) fn is_start(&self) -> bool {
        STARTS.contains(&self.name.as_str())
    }
}
