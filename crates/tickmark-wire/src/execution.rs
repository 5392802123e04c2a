//! Commands of the user: what the host asks the process that runs them, and what one execution gives. One JSON object a line each way.

use crate::{Nanos, Priority, Segment};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A command to be run, once or more.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionRequest {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// A program that does nothing, run beside each execution: what starting it takes. Empty: a static program of 188 bytes.
    pub empty: Vec<String>,
    /// Variables that are set, or unset where there is no value.
    pub environment: BTreeMap<String, Option<String>>,
    /// Where it runs; none is where this program runs.
    pub directory: Option<PathBuf>,
    /// The CPU that it is pinned to; none is any.
    pub cpu: Option<u32>,
    /// Its priority.
    pub priority: Priority,
    /// Its timer slack; none is this process's.
    pub slack: Option<Nanos>,
    /// The list of processes of a cgroup that it joins.
    pub joins: Option<PathBuf>,
    /// Its standard input; none is empty.
    pub input: Option<PathBuf>,
    /// Where it writes.
    pub output: OutputTarget,
    /// Ask the kernel for another layout of its memory, also where this process was started without.
    pub randomize: bool,
    /// After which it is ended.
    pub limit: Nanos,
    /// How often it is run.
    pub repeats: u32,
}

/// Where a command writes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputTarget {
    /// Nowhere.
    #[default]
    Null,
    /// It is read, up to 16 MiB of it.
    Pipe,
    /// On the terminal, as standard error.
    Inherit,
    /// Into a file, which each execution begins anew.
    File(PathBuf),
}

/// One execution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Execution {
    /// From before it is forked until it has ended.
    pub wall: Nanos,
    /// CPU time in user space, of it and of what it waited for (getrusage(2)).
    pub user: Nanos,
    /// CPU time in the kernel.
    pub system: Nanos,
    /// The most memory that one of its processes had resident, in bytes.
    pub resident: u64,
    /// Page faults: without and with input.
    pub faults: [u64; 2],
    /// Context switches: voluntary and involuntary.
    pub switches: [u64; 2],
    /// Bytes that its calls read and wrote, and bytes from and to storage (/proc/PID/io); none where that may not be read.
    pub bytes: Option<[u64; 4]>,
    /// How long its first thread stood runnable without a CPU (/proc/PID/schedstat).
    pub run_queue: Option<Nanos>,
    /// How often the CPU quota of its cgroup, or of one above it, was used up; none where there is none.
    pub throttled: Option<u64>,
    /// Counters of the processor, in the order of [`COUNTERS`], of user space alone where no more is granted; none where there are none.
    pub counters: [Option<u64>; 4],
    /// From before the empty program was forked until it had ended, just before or after.
    pub start: Option<Nanos>,
    /// How it ended.
    pub end: ExecutionEnd,
    /// What it wrote to standard output, where that was read; what is no UTF-8 is replaced.
    pub output: Option<String>,
    /// True if it wrote more than is kept.
    pub cut: bool,
    /// The last line that it wrote to standard error.
    pub complaint: String,
    /// What the machine did meanwhile.
    pub segment: Segment,
}

/// How an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionEnd {
    /// By itself, with this code.
    Code(i32),
    /// By a signal.
    Signal(i32),
    /// Its time was over.
    Late,
    /// Nobody wanted it any longer.
    Stopped,
}

/// Counters of the processor: what stands in a metric's name.
pub const COUNTERS: [&str; 4] = ["cycles", "instructions", "cache_misses", "branch_misses"];

/// What the process that runs commands says to a request: the executions, or why it could not be started.
pub type ExecutionReply = Result<Vec<Execution>, String>;
