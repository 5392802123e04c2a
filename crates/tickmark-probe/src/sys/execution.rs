//! Runs a command and reads what the kernel says of it when it has ended, before it is forgotten.
//!
//! It is forked from this process, which is small, and not spawned: Linux counts the memory of the process that executes a program as that
//! of the program (`ru_maxrss`), and of a forked one that is what was copied alone.

mod running;

use super::perf::{DISABLED, ENABLE_ON_EXEC, EventRequest, INHERIT};
use super::usage::{CpuBooks, all_cpu_times};
use super::{CallError, cgroup, exec, limits, named};
use crate::meter::{Meter, SystemMeter};
use running::Running;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tickmark_timer::monotonic_ns;
use tickmark_wire::{Execution, ExecutionEnd, ExecutionRequest, Nanos, OutputTarget, Priority};

/// So much of what it writes is kept.
const MOST: usize = 16 << 20;
/// And of its complaints.
const COMPLAINT: usize = 4 << 10;
/// How long a command that was killed may take to end.
const GRACE: Nanos = Nanos::from_millis(3_000);
/// How long what it left running may hold its output open.
const PATIENCE: Duration = Duration::from_millis(300);
/// personality(2), without the bit that keeps the layout of memory the same.
const ADDR_NO_RANDOMIZE: libc::c_ulong = 0x0004_0000;
const ASK_PERSONALITY: libc::c_ulong = 0xffff_ffff;
/// PERF_TYPE_HARDWARE, and its events (linux/perf_event.h) in the order of `tickmark_wire::COUNTERS`.
const HARDWARE: u64 = 0;
const EVENTS: [u64; 4] = [0, 1, 3, 5];
/// Of perf_event_attr.
const EXCLUDE_KERNEL: u64 = 1 << 5;
/// PERF_FORMAT_TOTAL_TIME_ENABLED and PERF_FORMAT_TOTAL_TIME_RUNNING.
const TIMES: u64 = 3;

/// What runs commands: this process, from which they are forked.
#[derive(Debug)]
pub struct Runner {
    meter: SystemMeter,
    /// Of the processor's counters those that this system has and grants.
    counted: [Option<u64>; 4],
    /// Where the tiny program is.
    tiny: Option<OwnedFd>,
    /// Groups with a quota of CPU time, of this process and so of its commands.
    quotas: Vec<PathBuf>,
    /// Whether the empty process came before the last command, or after it.
    is_start_first: bool,
}

impl Runner {
    /// In a process of one thread.
    #[must_use]
    pub fn new() -> Self {
        let quotas = cgroup::limits().unwrap_or_default().into_iter().map(|limit| limit.folder).collect();
        let granted = |event, flags: &u64| counter(HARDWARE, event, *flags).is_some();
        let flags = |event| [0, EXCLUDE_KERNEL].into_iter().find(|flags| granted(event, flags));
        Self {
            meter: SystemMeter::new(&[]),
            counted: EVENTS.map(flags),
            tiny: tiny().ok(),
            quotas,
            is_start_first: false,
        }
    }

    /// Carries a request out: so many executions as it asks for, fewer where one of them is ended. `stop` ends it when it can be read or
    /// nobody writes to it.
    ///
    /// # Errors
    /// The command cannot be started, in words.
    pub fn carry_out(
        &mut self,
        request: &ExecutionRequest,
        stop: BorrowedFd<'_>,
    ) -> Result<Vec<Execution>, String> {
        let mut all = Vec::new();
        for _ in 0..request.repeats.max(1) {
            // The empty process comes before and after by turns: neither has the other's caches, nor the fresh slice of the scheduler.
            self.is_start_first = !self.is_start_first;
            let first = if self.is_start_first { self.start(request, stop)? } else { None };
            let mut execution = self.once(request, stop)?;
            let is_over = matches!(execution.end, ExecutionEnd::Late | ExecutionEnd::Stopped);
            execution.start = if self.is_start_first || is_over { first } else { self.start(request, stop)? };
            all.push(execution);
            if is_over {
                break;
            }
        }
        Ok(all)
    }

    /// One execution, and what the machine did meanwhile.
    fn once(&mut self, request: &ExecutionRequest, stop: BorrowedFd<'_>) -> Result<Execution, String> {
        // Anew each time: what is enabled by a first program is not for a second one, as the kernel may hand the child this process's own.
        let counters = std::array::from_fn::<_, 4, _>(|at| counter(HARDWARE, EVENTS[at], self.counted[at]?));
        let mut command = command(request, &request.words)?;
        streams(request, &mut command)?;
        let (throttled, stolen, before) = (self.throttled(request), stolen(request), self.meter.reading());
        let ended = launch(command, request, stop)?;
        let throttled =
            self.throttled(request).zip(throttled).map(|(now, before)| now.saturating_sub(before));
        let mut segment = self.meter.reading().since(&before, Nanos::ZERO, ended.wall);
        segment.run_delay = ended.books.run_queue;
        // Not of the CPU that this process is on, but of those that the command may be on.
        segment.steal =
            self::stolen(request).zip(stolen).map(|(now, then)| Nanos::new(now.get() - then.get()));
        let nanos = |time: libc::timeval| Nanos::new(time.tv_sec * 1_000_000_000 + time.tv_usec * 1_000);
        let count = |value: i64| value.max(0) as u64;
        let usage = ended.usage;
        Ok(Execution {
            wall: ended.wall,
            user: nanos(usage.ru_utime),
            system: nanos(usage.ru_stime),
            resident: count(usage.ru_maxrss) * 1024,
            faults: [count(usage.ru_minflt), count(usage.ru_majflt)],
            switches: [count(usage.ru_nvcsw), count(usage.ru_nivcsw)],
            bytes: ended.books.bytes,
            run_queue: ended.books.run_queue,
            throttled,
            counters: counters.map(|counter| counted(&counter?)),
            start: None,
            end: ended.end,
            output: (request.output == OutputTarget::Pipe)
                .then(|| String::from_utf8_lossy(&ended.output).into_owned()),
            cut: ended.cut,
            complaint: last_line(&ended.complaint),
            segment,
        })
    }

    /// How often the quotas that a command lives under were used up so far.
    fn throttled(&self, request: &ExecutionRequest) -> Option<u64> {
        let joined = request.joins.as_deref().and_then(Path::parent).map(Path::to_owned);
        let stat =
            |folder: PathBuf| cgroup::throttled(&std::fs::read_to_string(folder.join("cpu.stat")).ok()?);
        let each: Vec<u64> = self.quotas.iter().cloned().chain(joined).filter_map(stat).collect();
        (!each.is_empty()).then(|| each.iter().sum())
    }

    /// How long the empty program takes, in the same way; none where it cannot be run.
    fn start(&self, request: &ExecutionRequest, stop: BorrowedFd<'_>) -> Result<Option<Nanos>, String> {
        let own = self
            .tiny
            .as_ref()
            .map(|tiny| vec![format!("/proc/{}/fd/{}", std::process::id(), tiny.as_raw_fd())]);
        let (words, expected) = match (&request.empty[..], own) {
            ([], Some(own)) => (own, exec::TINY_STATUS),
            ([], None) => return Ok(None),
            (empty, _) => (empty.to_vec(), 0),
        };
        let mut command = command(request, &words)?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let ended = launch(command, request, stop).ok();
        Ok(ended.filter(|ended| ended.end == ExecutionEnd::Code(expected)).map(|ended| ended.wall))
    }
}

/// Steal time so far of the CPU that a command is pinned to, else the mean of all CPUs.
fn stolen(request: &ExecutionRequest) -> Option<Nanos> {
    let times = all_cpu_times();
    let of_command = |cpu: u32| request.cpu.is_none_or(|own| own == cpu);
    let steal: Vec<i64> =
        times.iter().filter(|(cpu, _)| of_command(*cpu)).map(|(_, [.., steal])| steal.get()).collect();
    (!steal.is_empty()).then(|| Nanos::new(steal.iter().sum::<i64>() / steal.len() as i64))
}

/// A command that has ended.
struct Ended {
    wall: Nanos,
    end: ExecutionEnd,
    usage: libc::rusage,
    books: CpuBooks,
    output: Vec<u8>,
    complaint: Vec<u8>,
    cut: bool,
}

/// Starts a command and waits for its end.
fn launch(mut command: Command, request: &ExecutionRequest, stop: BorrowedFd<'_>) -> Result<Ended, String> {
    let begun = monotonic_ns();
    let child = command.spawn().map_err(|error| cannot_start(request, &error))?;
    let mut running = Running::new(child).map_err(|error| error.to_string())?;
    let end = running.wait(request.limit, stop);
    let wall = Nanos::new((monotonic_ns() - begun) as i64);
    let books = CpuBooks::read(running.id());
    if end.is_some() {
        limits::kill_group(running.id());
        if !running.is_over(GRACE) {
            return Err(format!(
                "process {} cannot be ended: another user's, or waiting for a device",
                running.give_up()
            ));
        }
    }
    let (status, usage) = running.reap().map_err(|error| error.to_string())?;
    let (output, complaint, cut) = running.rest();
    Ok(Ended { wall, end: end.unwrap_or_else(|| ended(status)), usage, books, output, complaint, cut })
}

impl Default for Runner {
    fn default() -> Self {
        Self::new()
    }
}

/// The tiny program in memory, open to be executed.
fn tiny() -> Result<OwnedFd, CallError> {
    let file = rustix::fs::memfd_create("empty", rustix::fs::MemfdFlags::CLOEXEC);
    let file = file.map_err(named("memfd_create"))?;
    rustix::io::write(&file, &exec::tiny_program()).map_err(named("write"))?;
    Ok(file)
}

/// A counter over what this process executes from here on, with the kernel or without.
fn counter(kind: u64, event: u64, flags: u64) -> Option<OwnedFd> {
    let flags = flags | INHERIT | DISABLED | ENABLE_ON_EXEC;
    EventRequest { kind, event, flags, format: TIMES, ..EventRequest::default() }.open(0, -1).ok()
}

/// What it counted, extrapolated where it shared the processor's counters with others; none where it never had one.
fn counted(counter: &OwnedFd) -> Option<u64> {
    let mut words = [0u8; 24];
    let length = rustix::io::read(counter, &mut words).ok()?;
    let word = |at: usize| u64::from_ne_bytes(words[8 * at..8 * at + 8].try_into().unwrap_or_default());
    let (value, enabled, running) = (word(0), word(1), word(2));
    let whole = || (value as f64 * enabled as f64 / running as f64).round() as u64;
    (length == words.len() && running > 0).then(whole)
}

/// A command with its place.
fn command(request: &ExecutionRequest, words: &[String]) -> Result<Command, String> {
    let (program, arguments) = words.split_first().ok_or("a command is empty")?;
    // Looked for here, so that looking is no part of its time.
    let mut command = Command::new(find_program(program, request).as_deref().unwrap_or(program.as_ref()));
    command.arg0(program).args(arguments);
    for (name, value) in &request.environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    request.directory.iter().for_each(|directory| {
        command.current_dir(directory);
    });
    let (cpu, priority, randomize) = (request.cpu, request.priority, request.randomize);
    let (slack, joins) = (request.slack, request.joins.clone());
    let parent = std::process::id();
    let settle = move || {
        let io = |error: CallError| error.io();
        limits::die_with_parent(parent).map_err(io)?;
        // A group of its own, and no terminal: what reads from one fails at once, where it would wait in the background.
        rustix::process::setsid().map_err(named("setsid")).map_err(io)?;
        joins.as_ref().map_or(Ok(()), |procs| std::fs::write(procs, "0"))?;
        cpu.map_or(Ok(()), |cpu| limits::pin(&[cpu])).map_err(io)?;
        slack.map_or(Ok(()), limits::set_slack).map_err(io)?;
        // Where nothing is asked for, the caller's stays.
        if priority != Priority::Other {
            limits::set_priority(priority).map_err(io)?;
        }
        // This program may have ignored it, and an ignored signal stays so.
        // SAFETY: the default action runs no code of ours.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_DFL) };
        if randomize {
            // SAFETY: numbers alone.
            unsafe {
                libc::personality(libc::personality(ASK_PERSONALITY) as libc::c_ulong & !ADDR_NO_RANDOMIZE)
            };
        }
        Ok(())
    };
    // SAFETY: this process has one thread, so that nothing is locked in the child.
    unsafe { command.pre_exec(settle) };
    Ok(command)
}

/// The file of a program that is named without a folder, as execvp(3) finds it.
fn find_program(program: &str, request: &ExecutionRequest) -> Option<PathBuf> {
    let own = request.environment.get("PATH").cloned().unwrap_or_else(|| std::env::var("PATH").ok());
    let executable = |file: &PathBuf| {
        file.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    let folders = own.filter(|_| !program.contains('/'))?;
    std::env::split_paths(&folders)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .find(executable)
}

/// Opens what the command reads from and writes to.
fn streams(request: &ExecutionRequest, command: &mut Command) -> Result<(), String> {
    let wrong = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    command.stdin(match &request.input {
        Some(path) => File::open(path).map_err(|error| wrong(path, error))?.into(),
        None => Stdio::null(),
    });
    command.stdout(match &request.output {
        OutputTarget::Null => Stdio::null(),
        OutputTarget::Pipe => Stdio::piped(),
        OutputTarget::Inherit => {
            let error = std::io::stderr().as_fd().try_clone_to_owned();
            error.map_err(|error| error.to_string())?.into()
        }
        OutputTarget::File(path) => File::create(path).map_err(|error| wrong(path, error))?.into(),
    });
    let inherits = request.output == OutputTarget::Inherit;
    command.stderr(if inherits { Stdio::inherit() } else { Stdio::piped() });
    Ok(())
}

fn ended(status: i32) -> ExecutionEnd {
    match libc::WIFEXITED(status) {
        true => ExecutionEnd::Code(libc::WEXITSTATUS(status)),
        false => ExecutionEnd::Signal(libc::WTERMSIG(status)),
    }
}

/// Why a command cannot be started, with what was asked for that may be refused.
fn cannot_start(request: &ExecutionRequest, error: &std::io::Error) -> String {
    let program = request.words.first().map_or("", String::as_str);
    let refused = error.raw_os_error() == Some(libc::EPERM) && request.priority != Priority::Other;
    let why = if refused {
        format!("; priority {} is refused: run as root", request.priority)
    } else {
        String::new()
    };
    format!("{program}: {error}{why}")
}

fn last_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests;
