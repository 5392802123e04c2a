//! Runs a command and reads what the kernel says of it when it has ended, before it is forgotten.
//!
//! It is forked from this process, which is small, and not spawned: Linux counts the memory of the process that executes a program as that
//! of the program (`ru_maxrss`), and of a forked one that is what was copied alone.

use super::usage::CpuBooks;
use super::{CallError, check, exec, limits, named, uprobe};
use crate::meter::{Meter, Reading, SystemMeter};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tickmark_timer::monotonic_ns;
use tickmark_wire::{Execution, ExecutionEnd, ExecutionRequest, Nanos, OutputTarget, Priority};

/// So much of what it writes is kept.
const MOST: usize = 16 << 20;
/// And of its complaints.
const COMPLAINT: usize = 4 << 10;
/// How long what it left running may hold its output open.
const PATIENCE: Duration = Duration::from_millis(300);
/// personality(2), without the bit that keeps the layout of memory the same.
const ADDR_NO_RANDOMIZE: libc::c_ulong = 0x0004_0000;
const ASK_PERSONALITY: libc::c_ulong = 0xffff_ffff;
/// PERF_TYPE_HARDWARE, and its events (linux/perf_event.h) in the order of `tickmark_wire::COUNTERS`.
const HARDWARE: u64 = 0;
const EVENTS: [u64; 4] = [0, 1, 3, 5];
/// Of perf_event_attr.
const INHERIT: u64 = 1 << 1;
const DISABLED: u64 = 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const ENABLE_ON_EXEC: u64 = 1 << 12;

/// What runs commands: this process, from which they are forked.
#[derive(Debug)]
pub struct Runner {
    meter: SystemMeter,
    /// Of the processor's counters those that this system has and grants.
    counted: [Option<u64>; 4],
    /// Where the tiny program is.
    tiny: Option<OwnedFd>,
}

impl Runner {
    /// In a process of one thread.
    #[must_use]
    pub fn new() -> Self {
        let flags = |event| [0, EXCLUDE_KERNEL].into_iter().find(|flags| counter(event, *flags).is_some());
        Self { meter: SystemMeter::new(&[]), counted: EVENTS.map(flags), tiny: tiny().ok() }
    }

    /// Carries a request out: executions until its budget is over, or one fails. `stop` ends it when it can be read or nobody writes to it.
    ///
    /// # Errors
    /// The command cannot be started, in words.
    pub fn carry_out(
        &mut self,
        request: &ExecutionRequest,
        stop: BorrowedFd<'_>,
    ) -> Result<Vec<Execution>, String> {
        let mut all = Vec::new();
        let start = self.start(request)?;
        let mut before = self.meter.reading();
        let until = Instant::now() + request.budget.to_duration();
        loop {
            let (mut execution, after) = self.once(request, stop, &before)?;
            (execution.start, before) = (start, after);
            let well = execution.end == ExecutionEnd::Code(0);
            all.push(execution);
            if !well || all.len() >= request.most.max(1) as usize || Instant::now() >= until {
                return Ok(all);
            }
        }
    }

    /// One execution, and what the machine says after it.
    fn once(
        &mut self,
        request: &ExecutionRequest,
        stop: BorrowedFd<'_>,
        before: &Reading,
    ) -> Result<(Execution, Reading), String> {
        let counters = std::array::from_fn::<_, 4, _>(|at| counter(EVENTS[at], self.counted[at]?));
        let mut command = command(request, &request.words)?;
        streams(request, &mut command)?;
        let begun = monotonic_ns();
        let child = command.spawn().map_err(|error| cannot_start(request, &error))?;
        let mut running = Running::new(child).map_err(|error| error.to_string())?;
        let end = running.wait(request.limit, stop);
        let wall = Nanos::new((monotonic_ns() - begun) as i64);
        let books = CpuBooks::read(running.id());
        if end.is_some() {
            limits::kill_group(running.id());
        }
        let (status, usage) = running.reap().map_err(|error| error.to_string())?;
        let (output, complaint, cut) = running.rest();
        let after = self.meter.reading();
        let mut segment = after.since(before, Nanos::ZERO, wall);
        segment.run_delay = books.run_queue;
        let nanos = |time: libc::timeval| Nanos::new(time.tv_sec * 1_000_000_000 + time.tv_usec * 1_000);
        let count = |value: i64| value.max(0) as u64;
        let execution = Execution {
            wall,
            user: nanos(usage.ru_utime),
            system: nanos(usage.ru_stime),
            resident: count(usage.ru_maxrss) * 1024,
            faults: [count(usage.ru_minflt), count(usage.ru_majflt)],
            switches: [count(usage.ru_nvcsw), count(usage.ru_nivcsw)],
            bytes: books.bytes,
            run_queue: books.run_queue,
            counters: counters.map(|counter| uprobe::value(&counter?).ok()),
            start: None,
            end: end.unwrap_or_else(|| ended(status)),
            output: (request.output == OutputTarget::Pipe)
                .then(|| String::from_utf8_lossy(&output).into_owned()),
            cut,
            complaint: last_line(&complaint),
            segment,
        };
        Ok((execution, after))
    }

    /// How long the empty program takes just before; none where it cannot be run.
    fn start(&self, request: &ExecutionRequest) -> Result<Option<Nanos>, String> {
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
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let begun = monotonic_ns();
        let status = command.status();
        let took = Nanos::new((monotonic_ns() - begun) as i64);
        Ok(status.ok().filter(|status| status.code() == Some(expected)).map(|_| took))
    }
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

/// A counter of the processor over what this process executes from here on, with the kernel or without.
fn counter(event: u64, flags: u64) -> Option<OwnedFd> {
    uprobe::open_kind(HARDWARE, event, flags | INHERIT | DISABLED | ENABLE_ON_EXEC, false, 0, -1).ok()
}

/// A command with its place.
fn command(request: &ExecutionRequest, words: &[String]) -> Result<Command, String> {
    let (program, arguments) = words.split_first().ok_or("a command is empty")?;
    // Looked for here, so that looking is no part of its time.
    let mut command = Command::new(found(program, request).as_deref().unwrap_or(program.as_ref()));
    command.arg0(program).args(arguments).process_group(0);
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
        joins.as_ref().map_or(Ok(()), |procs| std::fs::write(procs, "0"))?;
        cpu.map_or(Ok(()), |cpu| limits::pin(&[cpu])).map_err(io)?;
        slack.map_or(Ok(()), limits::set_slack).map_err(io)?;
        limits::set_priority(priority).map_err(io)?;
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
fn found(program: &str, request: &ExecutionRequest) -> Option<PathBuf> {
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

/// A child that was not waited for yet, with what it wrote.
struct Running {
    child: Child,
    handle: OwnedFd,
    /// Standard output and standard error.
    written: [Written; 2],
    reaped: bool,
}

/// What comes out of a pipe.
#[derive(Default)]
struct Written {
    pipe: Option<File>,
    kept: Vec<u8>,
    cut: bool,
}

impl Written {
    fn from_pipe(pipe: Option<OwnedFd>) -> Self {
        let unblocked = |pipe: &OwnedFd| rustix::fs::fcntl_setfl(pipe, rustix::fs::OFlags::NONBLOCK).is_ok();
        Self { pipe: pipe.filter(unblocked).map(File::from), ..Self::default() }
    }

    /// Reads what is there, and keeps at most so much: the beginning, or the end.
    fn drain(&mut self, most: usize, beginning: bool) {
        let mut chunk = [0; 64 << 10];
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(&mut chunk) {
                Ok(0) => self.pipe = None,
                Ok(count) if beginning => {
                    let room = count.min(most - self.kept.len());
                    self.kept.extend_from_slice(&chunk[..room]);
                    self.cut |= room < count;
                }
                Ok(count) => {
                    self.kept.extend_from_slice(&chunk[..count]);
                    self.kept.drain(..self.kept.len().saturating_sub(most));
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.pipe = None,
            }
        }
    }
}

impl Running {
    fn new(mut child: Child) -> Result<Self, CallError> {
        // SAFETY: numbers alone.
        let handle = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id(), 0) };
        let handle = check("pidfd_open", handle as i32).inspect_err(|_| {
            let _ = child.kill();
        })?;
        // SAFETY: the descriptor that was just given.
        let handle = unsafe { OwnedFd::from_raw_fd(handle) };
        let pipes = [child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from)];
        Ok(Self { child, handle, written: pipes.map(Written::from_pipe), reaped: false })
    }

    fn id(&self) -> u32 {
        self.child.id()
    }

    fn drain(&mut self) {
        let [out, err] = &mut self.written;
        out.drain(MOST, true);
        err.drain(COMPLAINT, false);
    }

    /// Until it has ended, while what it writes is read; why it is to be ended, if it did not by itself.
    fn wait(&mut self, limit: Nanos, stop: BorrowedFd<'_>) -> Option<ExecutionEnd> {
        let deadline = Instant::now() + limit.to_duration();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Some(ExecutionEnd::Late);
            }
            let pipes = self.written.iter().filter_map(|written| Some(written.pipe.as_ref()?.as_fd()));
            let watched: Vec<BorrowedFd<'_>> = [self.handle.as_fd(), stop].into_iter().chain(pipes).collect();
            let ready = limits::readable(&watched, Nanos::from(left));
            match ready.as_deref() {
                Ok([true, ..]) => return None,
                Ok([_, true, ..]) | Err(_) => return Some(ExecutionEnd::Stopped),
                Ok(_) => self.drain(),
            }
        }
    }

    /// Its status and what it used.
    fn reap(&mut self) -> Result<(i32, libc::rusage), CallError> {
        let mut status = 0;
        // SAFETY: rusage is plain numbers, for which zero is a value.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        loop {
            // SAFETY: both are valid to write to.
            let found = unsafe { libc::wait4(self.id() as i32, &raw mut status, 0, &raw mut usage) };
            match check("wait4", found) {
                Err(error) if error.errno == libc::EINTR => {}
                other => {
                    self.reaped = true;
                    return other.map(|_| (status, usage));
                }
            }
        }
    }

    /// What it wrote. What it left running may hold its output open, and is not waited for.
    fn rest(&mut self) -> (Vec<u8>, Vec<u8>, bool) {
        let patience = Instant::now() + PATIENCE;
        self.drain();
        while self.written[0].pipe.is_some() && Instant::now() < patience {
            let pipes: Vec<BorrowedFd<'_>> =
                self.written.iter().filter_map(|written| Some(written.pipe.as_ref()?.as_fd())).collect();
            let _ = limits::readable(&pipes, Nanos::from(patience.saturating_duration_since(Instant::now())));
            self.drain();
        }
        let [out, err] = &mut self.written;
        (std::mem::take(&mut out.kept), std::mem::take(&mut err.kept), out.cut)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.reaped {
            limits::kill_group(self.id());
            let _ = self.child.wait();
        }
    }
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
mod tests {
    use super::*;

    fn request(words: &[&str]) -> ExecutionRequest {
        ExecutionRequest {
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            limit: Nanos::from_millis(20_000),
            output: OutputTarget::Pipe,
            ..ExecutionRequest::default()
        }
    }

    fn run(request: &ExecutionRequest) -> Result<Vec<Execution>, String> {
        let (stop, _open) = rustix::pipe::pipe().unwrap();
        Runner::new().carry_out(request, stop.as_fd())
    }

    #[test]
    fn what_the_kernel_says_of_a_command() {
        // 30 MiB touched, 3 MiB written, a tenth of a second computed.
        let script = "x = bytearray(30 << 20)\nimport time\nwhile time.process_time() < .1: pass\nprint('a' * (3 << 20))";
        let one = run(&request(&["python3", "-c", script])).unwrap().remove(0);
        assert_eq!((one.end, one.cut), (ExecutionEnd::Code(0), false), "{}", one.complaint);
        assert_eq!(one.output.as_ref().map(String::len), Some((3 << 20) + 1));
        let cpu = one.user.get() + one.system.get();
        assert!(cpu > 90_000_000 && one.wall.get() > 90_000_000, "{one:?}");
        assert!((30 << 20..200 << 20).contains(&one.resident) && one.faults[0] > 7_000, "{one:?}");
        assert!(one.bytes.is_some_and(|bytes| bytes[1] > 3 << 20) && one.run_queue.is_some(), "{one:?}");
        assert!(one.start.is_some_and(|start| start.get() > 0 && start < one.wall), "{one:?}");
        // What this process has is not counted as the command's.
        let small = run(&request(&["true"])).unwrap().remove(0);
        assert!(small.resident < 20 << 20, "{small:?}");
    }

    #[test]
    fn how_it_ends() {
        let one = |words: &[&str]| run(&request(words)).unwrap().remove(0);
        let failed = one(&["sh", "-c", "echo first >&2; echo no luck >&2; exit 3"]);
        assert_eq!((failed.end, failed.complaint.as_str()), (ExecutionEnd::Code(3), "no luck"));
        assert_eq!(one(&["sh", "-c", "kill -9 $$"]).end, ExecutionEnd::Signal(9));
        let late = ExecutionRequest { limit: Nanos::from_millis(50), ..request(&["sleep", "30"]) };
        assert_eq!(run(&late).unwrap()[0].end, ExecutionEnd::Late);
        assert!(run(&request(&["/nowhere/program"])).unwrap_err().contains("No such file"));
        // What it leaves running is not waited for.
        let begun = Instant::now();
        assert_eq!(one(&["sh", "-c", "sleep 30 & echo done"]).output.as_deref(), Some("done\n"));
        assert!(begun.elapsed() < Duration::from_secs(20));
        // Nobody writes to what stops it any more.
        let (stop, open) = rustix::pipe::pipe().unwrap();
        drop(open);
        let stopped = Runner::new().carry_out(&request(&["sleep", "30"]), stop.as_fd()).unwrap();
        assert_eq!(stopped[0].end, ExecutionEnd::Stopped);
    }

    #[test]
    fn its_place_and_its_repetitions() {
        let environment = [("A_NAME".to_owned(), Some("value".to_owned())), ("HOME".to_owned(), None)];
        let asked = ExecutionRequest {
            environment: environment.into(),
            directory: Some("/usr".into()),
            empty: vec!["true".to_owned()],
            budget: Nanos::from_millis(10_000),
            most: 3,
            ..request(&["sh", "-c", "echo $A_NAME $HOME; pwd"])
        };
        let all = run(&asked).unwrap();
        assert_eq!((all.len(), all[2].output.as_deref()), (3, Some("value\n/usr\n")));
        assert!(all.iter().all(|one| one.start.is_some()));
    }
}
