//! The kernel's accounts: CPU time, switches, faults, run delay, steal.

use crate::Counts;
use std::fs::File;
use std::os::unix::fs::FileExt;
use tickmark_wire::Nanos;

fn usage(who: i32) -> libc::rusage {
    // SAFETY: rusage is plain numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid to write to; `who` is one of the documented values.
    unsafe { libc::getrusage(who, &raw mut usage) };
    usage
}

/// Context switches and page faults of the calling thread.
#[must_use]
#[inline]
pub fn thread_counts() -> Counts {
    let usage = usage(libc::RUSAGE_THREAD);
    Counts {
        switches: usage.ru_nvcsw + usage.ru_nivcsw,
        faults: usage.ru_minflt + usage.ru_majflt,
        reclaimed: usage.ru_majflt + usage.ru_inblock,
        retransmits: super::net::retransmits(),
    }
}

/// How often the calling thread lost the CPU to another task so far: its involuntary context switches.
#[must_use]
#[inline]
pub fn preemptions() -> i64 {
    usage(libc::RUSAGE_THREAD).ru_nivcsw
}

/// Page faults of the calling thread so far.
#[must_use]
pub fn faults() -> i64 {
    let usage = usage(libc::RUSAGE_THREAD);
    usage.ru_minflt + usage.ru_majflt
}

/// How many threads this process has; none where /proc does not say.
#[must_use]
pub fn threads() -> Option<u32> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The 20th field; the second, the name, may hold anything and ends with the last parenthesis (proc(5)).
    text.rsplit_once(')')?.1.split_whitespace().nth(17)?.parse().ok()
}

/// CPU time of the children that ended and were waited for; in steps of 1 us.
#[must_use]
pub fn ended_children() -> Nanos {
    let usage = usage(libc::RUSAGE_CHILDREN);
    let nanos = |time: libc::timeval| time.tv_sec * 1_000_000_000 + time.tv_usec * 1_000;
    Nanos::new(nanos(usage.ru_utime) + nanos(usage.ru_stime))
}

/// Resident size of this process now, kB; without /proc its largest so far, in which the program that
/// executed it may still count.
#[must_use]
pub fn resident_kb() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let now = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    now.unwrap_or_else(|| u64::try_from(usage(libc::RUSAGE_SELF).ru_maxrss).unwrap_or(0))
}

/// CPU time of the calling thread.
#[must_use]
pub fn thread_cpu() -> Nanos {
    super::clock::read(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or_default()
}

/// CPU time of this process's other threads, those that ended included.
#[must_use]
pub fn other_threads() -> Nanos {
    let thread = thread_cpu();
    let process = super::clock::read(libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or_default();
    Nanos::new((process.get() - thread.get()).max(0))
}

/// The CPU time clock of another process.
#[derive(Debug)]
pub struct CpuClock(libc::clockid_t);

impl CpuClock {
    /// The clock of process `pid`; none where it is gone.
    #[must_use]
    pub fn for_process(pid: u32) -> Option<Self> {
        let mut clock = 0;
        // SAFETY: `clock` is valid to write to.
        let errno = unsafe { libc::clock_getcpuclockid(pid as libc::pid_t, &raw mut clock) };
        (errno == 0).then_some(Self(clock))
    }

    /// The clock of a thread of this process (CPUCLOCK_PERTHREAD and CPUCLOCK_SCHED of linux/posix-timers.h).
    #[must_use]
    pub fn of_thread(id: u32) -> Self {
        Self((!(id as libc::clockid_t) << 3) | 6)
    }

    /// CPU time used so far; zero once the process is gone.
    #[must_use]
    pub fn read(&self) -> Nanos {
        super::clock::read(self.0).unwrap_or_default()
    }
}

/// The number of the calling thread. The standard library refers to gettid weakly, so that a static program may be without the C library's.
#[must_use]
pub fn thread_id() -> u32 {
    // SAFETY: no arguments.
    (unsafe { libc::syscall(libc::SYS_gettid) }) as u32
}

/// What the kernel knows of a process that ended and was not waited for.
#[cfg(feature = "whole")]
#[derive(Debug, Clone, Copy, Default)]
pub struct CpuBooks {
    /// Bytes that its calls read and wrote, and bytes from and to storage, with those of children that it waited for.
    pub bytes: Option<[u64; 4]>,
    /// How long its first thread stood runnable without a CPU.
    pub run_queue: Option<Nanos>,
}

#[cfg(feature = "whole")]
impl CpuBooks {
    /// Reads /proc/PID/io and /proc/PID/schedstat.
    #[must_use]
    pub fn read(pid: u32) -> Self {
        let text = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).ok();
        let bytes = || {
            let io = text("io")?;
            let field = |name: &str| io.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
            Some([field("rchar:")?, field("wchar:")?, field("read_bytes:")?, field("write_bytes:")?])
        };
        let waited = || text("schedstat")?.split_whitespace().nth(1)?.parse().ok();
        Self { bytes: bytes(), run_queue: waited().map(Nanos::new) }
    }
}

/// One CPU in /proc/stat.
#[derive(Debug)]
pub struct CpuTimes {
    file: Option<File>,
    line: String,
    tick: i64,
    text: Vec<u8>,
}

impl CpuTimes {
    /// Opens it.
    #[must_use]
    pub fn open(cpu: u32) -> Self {
        // SAFETY: no pointers.
        let hz = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
        let line = format!("cpu{cpu} ");
        Self {
            file: File::open("/proc/stat").ok(),
            line,
            tick: 1_000_000_000 / hz.max(1),
            text: vec![0; 64 << 10],
        }
    }

    /// Its times so far, in steps of the tick: user (with nice), system, interrupts, soft interrupts, idle (with iowait), steal.
    #[must_use]
    pub fn read(&mut self) -> Option<[Nanos; 6]> {
        let length = self.file.as_ref()?.read_at(&mut self.text, 0).ok()?;
        let text = std::str::from_utf8(&self.text[..length]).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(&self.line))?;
        times(line).map(|ticks| ticks.map(|ticks| Nanos::new(ticks * self.tick)))
    }
}

/// Of every CPU that is online, as [`CpuTimes::read`] has them; empty where /proc/stat does not say.
#[must_use]
pub fn all_cpu_times() -> Vec<(u32, [Nanos; 6])> {
    // SAFETY: no pointers.
    let tick = 1_000_000_000 / unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1);
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let cpus = text.lines().filter_map(|line| line.strip_prefix("cpu")?.split_once(' '));
    let each = |(cpu, line): (&str, &str)| {
        Some((cpu.parse().ok()?, times(line)?.map(|ticks| Nanos::new(ticks * tick))))
    };
    cpus.filter_map(each).collect()
}

/// The columns of a line of /proc/stat behind its name (proc_stat(5)), as [`CpuTimes::read`] has them.
fn times(line: &str) -> Option<[i64; 6]> {
    let ticks: Option<Vec<i64>> = line.split_whitespace().map(|word| word.parse().ok()).collect();
    match ticks?[..] {
        [user, nice, system, idle, iowait, irq, softirq, steal, ..] => {
            Some([user + nice, system, irq, softirq, idle + iowait, steal])
        }
        _ => None,
    }
}

/// Files of /proc, held open and read again at each segment.
#[derive(Debug)]
pub struct Accounts {
    /// Of the thread, then of its peers.
    schedstat: Vec<Option<File>>,
    stat: Option<File>,
    text: Vec<u8>,
    cpu: String,
    tick: i64,
}

/// The counters of /proc/stat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    /// Steal time of the CPU.
    pub steal: Option<Nanos>,
    /// Runnable tasks on all CPUs.
    pub runnable: u32,
}

/// The CPU that the calling thread is on; none where the kernel does not say.
#[must_use]
pub fn current_cpu() -> Option<u32> {
    // SAFETY: no arguments.
    u32::try_from(unsafe { libc::sched_getcpu() }).ok()
}

impl Accounts {
    /// Opens the accounts of the calling thread, of its peers, and of the CPU that it is on.
    #[must_use]
    pub fn open(peers: &[u32]) -> Self {
        let of = |process: String| File::open(format!("/proc/{process}/schedstat")).ok();
        let own = of("thread-self".to_owned());
        // SAFETY: no pointers.
        let hz = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
        Self {
            schedstat: std::iter::once(own).chain(peers.iter().map(|pid| of(pid.to_string()))).collect(),
            stat: File::open("/proc/stat").ok(),
            text: vec![0; 64 << 10],
            cpu: current_cpu().map_or_else(String::new, |cpu| format!("cpu{cpu} ")),
            tick: 1_000_000_000 / hz.max(1),
        }
    }

    /// Time that the thread and its peers stood runnable without a CPU: the second field of schedstat, ns.
    #[must_use]
    pub fn run_delay(&mut self) -> Option<Nanos> {
        let text = &mut self.text;
        let mut of = |file: &Option<File>| {
            let length = file.as_ref()?.read_at(text, 0).ok()?;
            let text = std::str::from_utf8(&text[..length]).ok()?;
            text.split_whitespace().nth(1)?.parse::<i64>().ok()
        };
        let all: Option<i64> = self.schedstat.iter().map(&mut of).sum();
        all.map(Nanos::new)
    }

    /// Reads /proc/stat; none where it is missing.
    #[must_use]
    pub fn machine(&mut self) -> Option<Machine> {
        let file = self.stat.as_ref()?;
        let mut length = 0;
        loop {
            match file.read_at(&mut self.text[length..], length as u64).ok()? {
                0 => break,
                more => length += more,
            }
            if length == self.text.len() {
                self.text.resize(length * 2, 0);
            }
        }
        parse_stat(std::str::from_utf8(&self.text[..length]).ok()?, &self.cpu, self.tick)
    }
}

fn parse_stat(text: &str, cpu: &str, tick: i64) -> Option<Machine> {
    let runnable = text.lines().find_map(|line| line.strip_prefix("procs_running "))?.trim().parse().ok()?;
    let steal = text.lines().find_map(|line| line.strip_prefix(cpu)).and_then(|fields| {
        let ticks: i64 = fields.split_whitespace().nth(7)?.parse().ok()?;
        Some(Nanos::new(ticks * tick))
    });
    Some(Machine { steal, runnable })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_is_read_by_name() {
        let text = "cpu  9 9 9 9 9 9 9 99 0 0\ncpu1 4 0 3 900 1 0 2 7 0 0\nintr 5\nprocs_running 3\nprocs_blocked 0\n";
        let machine = parse_stat(text, "cpu1 ", 10_000_000).unwrap();
        assert_eq!(machine, Machine { steal: Some(Nanos::new(70_000_000)), runnable: 3 });
        assert_eq!(parse_stat("cpu 1\n", "cpu1 ", 1), None);
    }

    #[test]
    fn times_of_a_cpu_are_read_by_their_columns() {
        assert_eq!(times("4 1 3 900 50 6 2 7 0 0"), Some([5, 3, 6, 2, 950, 7]));
        assert_eq!(times("4 1 3 900"), None);
        let now = CpuTimes::open(0).read();
        assert!(now.is_none_or(|times| times.iter().any(|time| time.get() > 0)), "{now:?}");
        let all = all_cpu_times();
        assert_eq!(all.iter().any(|(cpu, _)| *cpu == 0), now.is_some(), "{all:?}");
    }

    #[test]
    fn a_thread_that_works_uses_cpu() {
        let before = thread_cpu();
        std::hint::black_box(crate::sys::chain::three_cycles(3, 2_000_000));
        assert!(thread_cpu() > before);
        assert!(Accounts::open(&[]).machine().is_some_and(|m| m.runnable >= 1));
    }
}
