//! Where a process may run, at which priority, and what ends it.

use super::{CallError, check};
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
    // SAFETY: a CPU set is a bit mask, for which zero is a value.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: `set` is valid to write `size` bytes to.
    check("sched_getaffinity", unsafe { libc::sched_getaffinity(pid as libc::pid_t, size, &raw mut set) })?;
    // SAFETY: each index lies in the set.
    Ok((0..size * 8).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).map(|cpu| cpu as u32).collect())
}

/// Lets this thread run on these CPUs alone.
///
/// # Errors
/// Those of sched_setaffinity(2): EINVAL where none of them may be used.
pub fn pin(cpus: &[u32]) -> Result<(), CallError> {
    // SAFETY: a CPU set is a bit mask, for which zero is a value.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::cpu_set_t>();
    for cpu in cpus.iter().filter(|cpu| (**cpu as usize) < size * 8) {
        // SAFETY: the index lies in the set.
        unsafe { libc::CPU_SET(*cpu as usize, &mut set) };
    }
    // SAFETY: `set` is valid to read `size` bytes from.
    check("sched_setaffinity", unsafe { libc::sched_setaffinity(0, size, &raw const set) }).map(drop)
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

/// Sets the timer slack of this thread, in ns; what it starts inherits it.
///
/// # Errors
/// Those of prctl(2).
pub fn set_slack(slack: Nanos) -> Result<(), CallError> {
    // Zero would mean "the default of the thread", so the least is 1 ns.
    let slack = slack.get().max(1) as libc::c_ulong;
    // SAFETY: no pointers.
    check("prctl", unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack) }).map(drop)
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
    // SAFETY: `time` is valid to write to.
    check("getrlimit", unsafe { libc::getrlimit(libc::RLIMIT_RTTIME, &raw mut time) })?;
    // A session may have set a lower one, which must not be raised.
    time.rlim_max = time.rlim_max.min(micros as libc::rlim_t + 100_000);
    time.rlim_cur = time.rlim_max.min(micros as libc::rlim_t);
    // SAFETY: `time` is valid to read.
    check("setrlimit", unsafe { libc::setrlimit(libc::RLIMIT_RTTIME, &raw const time) })?;
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
    // SAFETY: no pointers.
    check("prctl", unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) })?;
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
    // SAFETY: no pointers; a group that is gone is no harm.
    unsafe { libc::kill(-(leader as libc::pid_t), libc::SIGKILL) };
}

/// Waits until one of two descriptors can be read or `timeout` has passed; says which can.
///
/// # Errors
/// Those of poll(2) but EINTR.
pub fn wait_readable(fds: [i32; 2], timeout: Nanos) -> Result<[bool; 2], CallError> {
    let mut polled = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    let millis = (timeout.get().max(0) / 1_000_000 + 1).min(i64::from(i32::MAX)) as i32;
    // SAFETY: `polled` is valid to read and write for its length.
    match check("poll", unsafe { libc::poll(polled.as_mut_ptr(), 2, millis) }) {
        Err(CallError { errno: libc::EINTR, .. }) => Ok([false; 2]),
        other => other.map(|_| polled.map(|p| p.revents != 0)),
    }
}

/// Lets a command's process be killed when the thread that starts it ends, in whatever way.
pub fn end_with_this(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;
    let parent = std::process::id();
    let end = move || die_with_parent(parent).map_err(|error| std::io::Error::from_raw_os_error(error.errno));
    // SAFETY: between fork and exec two calls of the kernel, and no memory is touched.
    unsafe { command.pre_exec(end) };
}
