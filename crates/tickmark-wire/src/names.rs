//! The metrics of which the host says more than their figures. The registry takes their names from here and a test finds
//! each there, so that neither side changes one alone; all others the host knows by what they say of themselves.

/// The tick's train: rate, cost and share. A short run of it belongs to the environment record.
pub const TICK: &str = "tick";
/// The tick's loop with the kernel's events recorded beside it: a probe.
pub const WITNESS: &str = "tick.witness";
/// A fact of a session's end: other processes that had most CPU time meanwhile, as `cargo 12.3 s, cc1 0.8 s`.
pub const OTHER_TASKS: &str = "state.other_tasks";
/// The loop that does nothing: what it loses is the share of the processor that interrupts take.
pub const SPIN: &str = "tick.spin";
/// The kernel's own instrument for what interrupts a CPU, a probe.
pub const OSNOISE: &str = "osnoise";
/// The share of the CPU that it says was lost.
pub const OSNOISE_LOST: &str = "osnoise.lost";
/// How many interrupts it met, a second.
pub const OSNOISE_INTERRUPTS: &str = "osnoise.interrupts";
/// The kernel's own instrument for how late timers are, a probe.
pub const TIMERLAT: &str = "timerlat";
/// How late their interrupt came.
pub const TIMERLAT_INTERRUPT: &str = "timerlat.interrupt";
/// How late the thread went on that it woke.
pub const TIMERLAT_THREAD: &str = "timerlat.thread";
/// Clock reads of a command: a probe, and those of each clock.
pub const CLOCK_READS: &str = "clock_reads";
/// Those of each call site.
pub const CLOCK_READS_SITES: &str = "clock_reads.sites";
/// Reads that the count does not include.
pub const CLOCK_READS_BLIND: &str = "clock_reads.blind";
/// How long the command took.
pub const CLOCK_READS_TIME: &str = "clock_reads.time";
/// How often it did what is counted.
pub const CLOCK_READS_COUNT: &str = "clock_reads.count";
/// Calls of clock_gettime that the kernel counted beside it; nothing where it was not asked.
pub const CLOCK_READS_KERNEL: &str = "clock_reads.kernel";
/// In that: calls of the C library's clock_gettime.
pub const BY_UPROBES: &str = "clock_gettime";
/// In that, before the name of a system call: how often it was made.
pub const SYSTEM_CALL: &str = "system call ";
/// In that: breakpoints counted all reads, and not only those of clock_gettime.
pub const ALL_BY_UPROBES: &str = "all by breakpoints";
/// Calls of functions that were named.
pub const CLOCK_READS_CALLS: &str = "clock_reads.calls";
/// Probe of the cost of a slower clock for a server, and metric of each transaction's cost in each slice of time.
pub const DOSE: &str = "dose";
/// By how much each clock read was to take longer there, in ns; below 0: it was a system call.
pub const DOSE_ASKED: &str = "dose.asked";
/// And by how much it did.
pub const DOSE_DELIVERED: &str = "dose.delivered";
/// Clock reads of each transaction.
pub const DOSE_READS: &str = "dose.reads";
/// Transactions a second.
pub const DOSE_RATE: &str = "dose.rate";
/// Cost of a read here: through the vDSO, and as a system call; of an operation on timestamps, and of a switch to another thread.
pub const DOSE_COST: &str = "dose.read_cost";
/// Clock reads of the server that can neither be counted nor made longer.
pub const DOSE_BLIND: &str = "dose.blind";
/// Transactions that failed, by kind.
pub const DOSE_FAULTS: &str = "dose.faults";
/// CPU time of the reads that were timed by the thread's own clock, of each slice.
pub const DOSE_CPU: &str = "dose.cpu_of_reads";
/// How many these were.
pub const DOSE_TIMED: &str = "dose.timed_reads";
/// Context switches of the server for each transaction that it asked for.
pub const DOSE_SLEEPS: &str = "dose.sleeps";
/// Context switches of the server for each transaction that were forced upon it.
pub const DOSE_FORCED: &str = "dose.forced_switches";
/// Transactions over HTTP: a probe.
pub const HTTP: &str = "http";
/// The highest rate of them that keeps a limit: a probe.
pub const CAPACITY: &str = "http.capacity";
/// Transactions of databases: a probe.
pub const SQL: &str = "sql";
/// How late programs are woken, by any way to wait: a probe.
pub const WAKE: &str = "timer.wake";
/// How late while the kernel's events are recorded: a probe.
pub const RECORDED_WAKE: &str = "timer.recorded";
/// Its latest wake-ups, with the events of their waits.
pub const LATE_WAKE: &str = "timer.recorded.late";
/// Rows of timers, by several strategies: a probe.
pub const SCENARIO: &str = "timer.scenario";
/// Rows of the user's own: a probe.
pub const OWN_ROW: &str = "timer.row";
/// The rows.
pub const ROWS: [&str; 3] = ["simple", "many", "too-many"];
/// The strategies.
pub const STRATEGIES: [&str; 4] = ["one-shot", "last-error", "hybrid", "spin"];
/// Strategies of the kernel module tickmark_timer, by its correction.
pub const IN_KERNEL: [&str; 3] = ["kernel-none", "kernel-last", "kernel-quantile"];
/// The ways to wait that it knows.
pub const WAYS: [&str; 13] = [
    "nanosleep",
    "nanosleep-relative",
    "timerfd",
    "ppoll",
    "epoll_pwait2",
    "futex",
    "posix-signal",
    "posix-thread",
    "io_uring",
    "sleeper",
    "std",
    "tokio",
    "spin",
];
/// Messages of several sizes to and fro, with what they cost the processor: a probe.
pub const COMMS: &str = "comms";
/// Whose CPU time a command was: how long it took beside computing tasks.
pub const BILL: &str = "bill.time";
/// And without them.
pub const BILL_UNWATCHED: &str = "bill.unwatched.time";
/// Beside them, with the kernel's events recorded; and those.
pub const BILL_RECORDED: &str = "bill.recorded.time";
/// Events of each CPU beside it.
pub const BILL_EVENTS: &str = "bill.recorded.events";
/// Name of this program's threads that take what nobody else wants, or look at a CPU: in records of the kernel they are nobody's.
pub const INSTRUMENT: &str = "tm-instrument";
/// How late a sleep ends, of which timer slack is a part.
pub const SLEEP: &str = "timer.clock_nanosleep.late";
/// How far the clocks of two CPUs are apart.
pub const BETWEEN_CPUS: &str = "clock.monotonic.between_cpus";
/// A command of the user: a probe, and the name of its runs.
pub const COMMAND: &str = "command";
/// What starting an empty process takes, just before or after a command runs.
pub const COMMAND_START: &str = "command.start";
/// How long a command runs without that.
pub const COMMAND_NET: &str = "command.net";
/// The code that it ends with.
pub const COMMAND_CODE: &str = "command.code";
/// How long a command of the user runs.
pub const COMMAND_TIME: &str = "command.time";
/// The number that it prints.
pub const COMMAND_NUMBER: &str = "command.number";
/// Clocks that the vDSO reads without the kernel where the clock source allows it; CPU time clocks have no such way.
pub const FAST_CLOCKS: [&str; 7] =
    ["realtime", "monotonic", "monotonic_raw", "boottime", "tai", "gettimeofday", "time"];

/// The metric of reading a clock in the way that programs do.
#[must_use]
pub fn clock_read(clock: &str) -> String {
    format!("clock.{clock}.read")
}

/// The metric of reading it by a system call; of a `clock_read` the same clock.
#[must_use]
pub fn clock_syscall(clock: &str) -> String {
    format!("clock.{clock}.syscall")
}

/// The clock of a metric of [`clock_read`].
#[must_use]
pub fn clock_of(metric: &str) -> Option<&str> {
    metric.strip_prefix("clock.")?.strip_suffix(".read")
}
