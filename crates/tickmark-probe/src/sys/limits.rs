//! Where a process may run, at which priority, and what ends it.

use super::{CallError, check, check_long, named};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, Signal};
use rustix::thread::CpuSet;
use std::num::NonZeroU64;
use std::os::fd::BorrowedFd;
use tickmark_wire::{Nanos, Priority};

/// The CPUs that this thread may use.
///
/// # Errors
/// Those of sched_getaffinity(2).
pub fn allowed_cpus() -> Result<Vec<u32>, CallError> {
    cpus_of(0)
}

/// The CPUs that a process may use; 0 is this thread.
///
/// # Errors
/// Those of sched_getaffinity(2).
pub fn cpus_of(pid: u32) -> Result<Vec<u32>, CallError> {
    let pid = Pid::from_raw(pid as i32);
    let set = rustix::thread::sched_getaffinity(pid).map_err(named("sched_getaffinity"))?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).map(|cpu| cpu as u32).collect())
}

/// Lets this thread run on these CPUs alone.
///
/// # Errors
/// Those of sched_setaffinity(2): EINVAL where none of them may be used.
pub fn pin(cpus: &[u32]) -> Result<(), CallError> {
    pin_task(0, cpus)
}

/// Lets a thread run on these CPUs alone; 0 is this one.
///
/// # Errors
/// Those of sched_setaffinity(2): EINVAL where none of them may be used, or for a thread of the kernel that is bound to its CPU.
pub fn pin_task(task: u32, cpus: &[u32]) -> Result<(), CallError> {
    let mut set = CpuSet::new();
    for cpu in cpus.iter().map(|cpu| *cpu as usize).filter(|cpu| *cpu < CpuSet::MAX_CPU) {
        set.set(cpu);
    }
    rustix::thread::sched_setaffinity(Pid::from_raw(task as i32), &set).map_err(named("sched_setaffinity"))
}

/// Gives this thread a priority; what it starts inherits it.
///
/// # Errors
/// EPERM where the system refuses: no CAP_SYS_NICE, or a cgroup without real-time budget.
pub fn set_priority(priority: Priority) -> Result<(), CallError> {
    let (policy, level) = match priority {
        Priority::Other => (libc::SCHED_OTHER, 0),
        Priority::Fifo(level) => (libc::SCHED_FIFO, i32::from(level)),
        Priority::Unknown(_) => {
            return Err(CallError { call: "sched_setscheduler", errno: libc::EINVAL });
        }
    };
    let param = libc::sched_param { sched_priority: level };
    // SAFETY: `param` is valid to read.
    check("sched_setscheduler", unsafe { libc::sched_setscheduler(0, policy, &raw const param) }).map(drop)
}

/// Whether this thread is scheduled in real time.
#[must_use]
pub fn is_real_time() -> bool {
    // SAFETY: asks for a number.
    let policy = unsafe { libc::sched_getscheduler(0) };
    [libc::SCHED_FIFO, libc::SCHED_RR, libc::SCHED_DEADLINE].contains(&policy)
}

/// Why a priority was refused: EPERM where a cgroup has no real-time budget looks like a missing privilege: say which it is.
#[must_use]
pub fn refused_because(errno: i32) -> String {
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    let cgroup = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = cgroup.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').any(|c| c == "cpu").then(|| path.to_owned())
    });
    let runtime = group
        .as_ref()
        .and_then(|path| std::fs::read_to_string(format!("/sys/fs/cgroup/cpu{path}/cpu.rt_runtime_us")).ok());
    match (group, runtime) {
        (Some(path), Some(runtime)) if runtime.trim() == "0" => {
            format!("{text}: cgroup {path} has cpu.rt_runtime_us = 0")
        }
        _ => text,
    }
}

/// Lets this thread run where nobody else wants to (SCHED_IDLE); what it starts inherits it.
///
/// # Errors
/// Those of sched_setscheduler(2).
pub fn set_idle() -> Result<(), CallError> {
    let param = libc::sched_param { sched_priority: 0 };
    // SAFETY: `param` is valid to read.
    let done = unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const param) };
    check("sched_setscheduler", done).map(drop)
}

/// Sets the timer slack of this thread, in ns; what it starts inherits it.
///
/// # Errors
/// Those of prctl(2).
pub fn set_slack(slack: Nanos) -> Result<(), CallError> {
    // Zero would mean "the default of the thread", so the least is 1 ns.
    let slack = NonZeroU64::new(slack.get().max(1) as u64);
    rustix::thread::set_current_timer_slack(slack).map_err(named("prctl"))
}

/// Lets this thread run so long in each period, before everything else (SCHED_DEADLINE); it must be allowed on every CPU.
///
/// # Errors
/// EPERM without CAP_SYS_NICE, or where it is pinned; EBUSY where so much is not free.
pub fn set_deadline(runtime: Nanos, period: Nanos) -> Result<(), CallError> {
    let of = |time: Nanos| time.get() as u64;
    set_scheduling(Scheduling {
        policy: libc::SCHED_DEADLINE as u32,
        runtime: of(runtime),
        deadline: of(period),
        period: of(period),
        ..Scheduling::default()
    })
}

/// Asks for turns of this length at ordinary priority (EEVDF, Linux 6.12); the nice value stays. Whether the kernel has taken it: earlier ones
/// ignore it.
///
/// # Errors
/// Those of sched_getattr(2) and sched_setattr(2).
pub fn set_slice(slice: Nanos) -> Result<bool, CallError> {
    let policy = libc::SCHED_OTHER as u32;
    let nice = scheduling()?.nice;
    set_scheduling(Scheduling { policy, nice, runtime: slice.get() as u64, ..Scheduling::default() })?;
    Ok(scheduling()?.runtime == slice.get() as u64)
}

fn scheduling() -> Result<Scheduling, CallError> {
    let mut own = Scheduling::default();
    let size = size_of::<Scheduling>() as u32;
    // SAFETY: `own` is valid to write, and as long as is said.
    let done = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut own, size, 0) };
    check_long("sched_getattr", done).map(|_| own)
}

/// `struct sched_attr` of sched_setattr(2), its first version.
#[repr(C)]
#[derive(Default)]
struct Scheduling {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

fn set_scheduling(mut scheduling: Scheduling) -> Result<(), CallError> {
    scheduling.size = size_of::<Scheduling>() as u32;
    // SAFETY: `asked` is valid to read, and as long as it says.
    let done = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const scheduling, 0) };
    check_long("sched_setattr", done).map(drop)
}

/// Ends this process after so many seconds, whatever it does (alarm(2)).
pub fn alarm(seconds: u32) {
    // SAFETY: no pointers; the signal's default action ends the process.
    unsafe { libc::alarm(seconds) };
}

/// Ends this process after `limit`, whatever it does: a signal from its own timer (SIGALRM, whose
/// default action ends it), the kernel's limit on real-time computing without a pause, and the death
/// of its parent.
///
/// # Errors
/// Those of prctl(2), setrlimit(2) and setitimer(2).
pub fn end_after(limit: Nanos, parent: u32) -> Result<(), CallError> {
    die_with_parent(parent)?;
    let micros = limit.get() / 1_000;
    let mut time = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // rustix takes it for a call that cannot be refused.
    // SAFETY: `time` is valid to write to.
    check("getrlimit", unsafe { libc::getrlimit(libc::RLIMIT_RTTIME, &raw mut time) })?;
    // A session may have set a lower one, which must not be raised.
    let most = time.rlim_max.min(micros as u64 + 100_000);
    let time = Rlimit { current: Some(most.min(micros as u64)), maximum: Some(most) };
    rustix::process::setrlimit(Resource::Rttime, time).map_err(named("setrlimit"))?;
    let timer = libc::itimerval {
        it_interval: libc::timeval { tv_sec: 0, tv_usec: 0 },
        it_value: libc::timeval { tv_sec: micros / 1_000_000, tv_usec: micros % 1_000_000 },
    };
    // SAFETY: `timer` is valid to read; the old value is not asked for.
    check("setitimer", unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()) })
        .map(drop)
}

/// Ends this process when its parent, process `parent`, ends.
///
/// # Errors
/// Those of prctl(2); ESRCH where the parent is gone already.
pub fn die_with_parent(parent: u32) -> Result<(), CallError> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(named("prctl"))?;
    // It may have ended before the line above. A filter that denies getppid must not end every run.
    match std::os::unix::process::parent_id() {
        // An error number stands where the id should be.
        refused if refused > i32::MAX as u32 => Ok(()),
        now if now == parent => Ok(()),
        _ => Err(CallError { call: "prctl", errno: libc::ESRCH }),
    }
}

/// A write beyond the limit of a file's size (RLIMIT_FSIZE) gives an error, and no signal ends this process.
pub fn keep_writing_errors() {
    // SAFETY: ignoring a signal runs no code of ours.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Lets this process wait for its children, also where the one that started it ignored theirs.
pub fn wait_for_children() {
    // SAFETY: the default action runs no code of ours.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// Kills a process group that this process started.
pub fn kill_group(leader: u32) {
    // A group that is gone is no harm.
    let _ =
        Pid::from_raw(leader as i32).map(|group| rustix::process::kill_process_group(group, Signal::KILL));
}

/// Sends SIGTERM to a process that this one started.
pub fn request_termination(process: u32) {
    // One that is gone is no harm.
    let _ = Pid::from_raw(process as i32).map(|pid| rustix::process::kill_process(pid, Signal::TERM));
}

/// Lets this process open as many files as it may; a system that refuses leaves it as it was.
pub fn many_files() {
    let own = rustix::process::getrlimit(Resource::Nofile);
    let _ = rustix::process::setrlimit(Resource::Nofile, Rlimit { current: own.maximum, ..own });
}

/// Waits until one of two descriptors can be read or `timeout` has passed; says which can.
///
/// # Errors
/// Those of poll(2) but EINTR.
pub fn wait_readable(fds: [BorrowedFd<'_>; 2], timeout: Nanos) -> Result<[bool; 2], CallError> {
    wait_until(fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)), timeout)
}

/// Which of some descriptors can be read, once one of them can or `timeout` has passed.
///
/// # Errors
/// Those of poll(2) but EINTR.
#[cfg(feature = "whole")]
pub fn readable(fds: &[BorrowedFd<'_>], timeout: Nanos) -> Result<Vec<bool>, CallError> {
    let mut polled: Vec<PollFd<'_>> =
        fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    poll(&mut polled, timeout)?;
    Ok(polled.iter().map(|polled| !polled.revents().is_empty()).collect())
}

/// Waits until a descriptor can be read, nobody can read what is written to another one, or `timeout` has passed; says which.
///
/// # Errors
/// Those of poll(2) but EINTR.
pub fn wait_readable_or_unread(
    source: BorrowedFd<'_>,
    sink: BorrowedFd<'_>,
    timeout: Nanos,
) -> Result<[bool; 2], CallError> {
    let polled = [(source, PollFlags::IN), (sink, PollFlags::empty())];
    wait_until(polled.map(|(fd, events)| PollFd::from_borrowed_fd(fd, events)), timeout)
}

fn wait_until(mut polled: [PollFd<'_>; 2], timeout: Nanos) -> Result<[bool; 2], CallError> {
    poll(&mut polled, timeout)?;
    Ok(polled.map(|polled| !polled.revents().is_empty()))
}

/// poll(2), where an interrupted call found nothing.
fn poll(polled: &mut [PollFd<'_>], timeout: Nanos) -> Result<(), CallError> {
    let timeout = timeout.get().max(0);
    let timeout = Timespec { tv_sec: timeout / 1_000_000_000, tv_nsec: timeout % 1_000_000_000 };
    match rustix::event::poll(polled, Some(&timeout)) {
        Err(Errno::INTR) => {
            polled.iter_mut().for_each(PollFd::clear_revents);
            Ok(())
        }
        other => other.map_err(named("poll")).map(drop),
    }
}

/// Waits until nobody can read what is written to standard output any more, as with `| head`.
pub fn reader_goes() {
    let out = std::io::stdout();
    let mut polled = [PollFd::new(&out, PollFlags::empty())];
    while rustix::event::poll(&mut polled, None) == Err(Errno::INTR) {}
}

/// Lets a command's process be killed when the thread that starts it ends, in whatever way.
pub fn end_with_this(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;
    let parent = std::process::id();
    let end = move || die_with_parent(parent).map_err(|error| std::io::Error::from_raw_os_error(error.errno));
    // SAFETY: between fork and exec two calls of the kernel, and no memory is touched.
    unsafe { command.pre_exec(end) };
}
