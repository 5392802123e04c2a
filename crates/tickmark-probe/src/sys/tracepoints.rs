//! What the kernel ran on one CPU, told by its own tracepoints (Documentation/trace/tracepoints.rst) through perf_event_open(2): no tracer is
//! configured, and everything is gone with the process.

mod decoded;
mod kinds;
mod recorder;
mod subjects;
mod symbols;

use super::perf::{self, DISABLE, DISABLED, ENABLE, EventRequest, RECORD_SAMPLE, Ring, TRACEPOINT};
use super::tracefs::Tracefs;
use super::{CallError, clock, named};
use decoded::Raw;
pub use decoded::{Batch, SWITCH};
use kinds::Kind;
pub use recorder::Recorder;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use std::os::fd::{AsRawFd, OwnedFd};
pub use subjects::Subjects;
pub use symbols::read_functions;
use tickmark_wire::{EventCost, Nanos};

/// The tracepoints by which the cost of an event is measured: setting a timer that is set already passes each once.
const TIMED: [&str; 2] = ["timer/hrtimer_start", "timer/hrtimer_cancel"];
/// Calls of a batch, so few that other interrupts miss most batches, and batches with no event, with one and with two.
const CALLS: u32 = 4;
const BATCHES: usize = 300;
/// The timer never expires meanwhile, in s.
const FAR: i64 = 3_600;
/// Wake-ups by other CPUs.
const WAKING: &str = "sched/sched_waking";
/// The part of the CPU's bytes that the records of all others have together, and the least, in bytes.
const ELSEWHERE_PART: usize = 8;
const ELSEWHERE: usize = 1 << 21;
/// Bytes of records of the CPU for each second, and at most: some 100,000 events a second at 56 to 100 bytes.
const A_SECOND: usize = 1 << 23;
const MOST: usize = 1 << 26;
/// The part of the memory that all CPUs' records may take, as each may be watched at the same time; and the least of one.
const PART: u64 = 64;
const LEAST: usize = 1 << 17;

/// CPUs up to which each one's recorder without a loop has the wake-ups by all others.
const FEW: u32 = 16;
/// There is no room for another event.
const EXHAUSTED: [i32; 3] = [libc::EMFILE, libc::ENFILE, libc::ENOMEM];

/// A tracepoint that is open.
#[derive(Debug)]
struct Opened {
    event: OwnedFd,
    kind: Kind,
    id: u64,
}

/// Tracepoints of one CPU, and of the others those of wake-ups that go to it.
#[derive(Debug)]
pub struct Tracepoints {
    cpu: u32,
    thread: u32,
    clock: libc::clockid_t,
    /// Whether this thread is a loop that has the CPU where nothing else does.
    has_loop: bool,
    opened: Vec<Opened>,
    ring: Ring,
    /// Wake-ups by other CPUs: which, the event, its records.
    elsewhere: Vec<(u32, OwnedFd, Ring)>,
    /// For the cost of an event: the timer, and one event or two of setting it.
    timer: OwnedFd,
    timed: Vec<OwnedFd>,
    refused: Vec<String>,
}

/// Checks that this process may open tracepoints here, for a command.
///
/// # Errors
/// Why not, and what would help.
pub fn available(command: &str) -> Result<(), String> {
    openable().map_err(|error| reason(&error, command))
}

/// Why there is no witness, with what would help.
fn reason(error: &CallError, command: &str) -> String {
    match error.errno {
        libc::EPERM | libc::EACCES => {
            format!("{error}; run as root (sudo tickmark {command}), or with CAP_PERFMON and tracefs mounted")
        }
        libc::ENOENT | libc::ENODEV | libc::ENOSYS => {
            format!("{error}: this kernel has no tracepoints (CONFIG_TRACEPOINTS, CONFIG_PERF_EVENTS)")
        }
        _ => error.to_string(),
    }
}

fn openable() -> Result<(), CallError> {
    let tracefs = Tracefs::open("events")?;
    let event = tracefs.event("sched/sched_switch")?;
    let request = EventRequest {
        kind: TRACEPOINT,
        event,
        flags: DISABLED,
        sample: kinds::SAMPLE,
        ..EventRequest::default()
    };
    // Any CPU will do that is not offline.
    request.open(-1, rustix::thread::sched_getcpu() as i32).map(drop)
}

impl Tracepoints {
    /// Opens those that this kernel has on `cpu`, for events of so long a time, stamped by CLOCK_MONOTONIC_RAW or CLOCK_MONOTONIC.
    ///
    /// # Errors
    /// EPERM or EACCES without root (CAP_PERFMON, perf_event_paranoid above -1), ENODEV or ENOENT without tracepoints.
    pub fn open(cpu: u32, time: Nanos, clock: libc::clockid_t) -> Result<Self, CallError> {
        Self::open_for(cpu, time, clock, true)
    }

    /// The same where no loop has the CPU: this thread is a task as any other.
    pub(crate) fn open_for(
        cpu: u32,
        time: Nanos,
        clock: libc::clockid_t,
        has_loop: bool,
    ) -> Result<Self, CallError> {
        let tracefs = Tracefs::open("events")?;
        let wanted = A_SECOND * (time.get() as usize / 1_000_000_000 + 1);
        let size = wanted.next_power_of_two().min(share_of_memory()).clamp(LEAST, MOST);
        let request = |event: u64| EventRequest {
            kind: TRACEPOINT,
            event,
            flags: DISABLED,
            sample: kinds::SAMPLE,
            clock: Some(clock),
            ..EventRequest::default()
        };
        // Wake-ups are needed for the ring, and every kernel with tracepoints has them.
        let waking = Kind::read(&tracefs, WAKING)?;
        let first = request(waking.number).open(-1, cpu as i32)?;
        let ring = map(&first, size)?;
        let shared = first.as_raw_fd();
        let timed = |name: &str| {
            let event = request(tracefs.event(name)?).open(-1, cpu as i32)?;
            perf::write_into(&event, shared)?;
            Ok(event)
        };
        let mut all = Self {
            cpu,
            thread: own_thread(),
            clock,
            has_loop,
            opened: vec![Opened { id: perf::id(&first)?, event: first, kind: waking }],
            ring,
            elsewhere: Vec::new(),
            timer: timer()?,
            timed: TIMED.into_iter().map(timed).collect::<Result<_, CallError>>()?,
            refused: Vec::new(),
        };
        all.number_thread()?;
        let thread = all.thread;
        for name in kinds::names(&tracefs) {
            let open = |kind: Kind| {
                let event = request(kind.number).open(-1, cpu as i32)?;
                perf::write_into(&event, shared)?;
                if let Some(condition) = kind.condition(thread) {
                    perf::filter(&event, &condition)?;
                }
                Ok(Opened { id: perf::id(&event)?, event, kind })
            };
            match Kind::read(&tracefs, &name).and_then(open) {
                Ok(opened) => all.opened.push(opened),
                // What this kernel does not have is not missing.
                Err(CallError { errno: libc::ENOENT, .. }) => {}
                Err(error) if EXHAUSTED.contains(&error.errno) => return Err(error),
                Err(error) => all.refused.push(format!("{name}: {error}")),
            }
        }
        // On machines with many CPUs these would be too many: there, wakers on other CPUs have no name.
        if has_loop || cpus() <= FEW {
            let size = (size / ELSEWHERE_PART).max(ELSEWHERE);
            all.open_elsewhere(&request(all.opened[0].kind.number), size)?;
        }
        Ok(all)
    }

    /// Finds the number that the kernel's records have of this thread: in a namespace of processes it has another one than there.
    fn number_thread(&mut self) -> Result<(), CallError> {
        perf::switch(&self.timed[0], ENABLE)?;
        set(&self.timer)?;
        perf::switch(&self.timed[0], DISABLE)?;
        let mut threads = Vec::new();
        self.ring.take(&mut |record, body| {
            threads.extend(Raw::parse(body).filter(|_| record == RECORD_SAMPLE).map(|raw| raw.thread()));
        });
        // Another thread may have set a timer meanwhile.
        if !threads.contains(&self.thread) {
            self.thread = threads.first().copied().unwrap_or(self.thread);
        }
        Ok(())
    }

    /// Records of so many bytes, all together.
    fn open_elsewhere(&mut self, request: &EventRequest, size: usize) -> Result<(), CallError> {
        let cpus = cpus();
        for other in (0..cpus).filter(|other| *other != self.cpu) {
            let event = match request.open(-1, other as i32) {
                Ok(event) => event,
                Err(error) if EXHAUSTED.contains(&error.errno) => return Err(error),
                // One that is offline wakes nobody.
                Err(_) => continue,
            };
            perf::filter(&event, &format!("target_cpu == {}", self.cpu))?;
            let ring = map(&event, size / (cpus as usize - 1).max(1))?;
            self.elsewhere.push((other, event, ring));
        }
        Ok(())
    }

    /// Times a system call with no event, with one and with two, by turns.
    ///
    /// # Errors
    /// Those of ioctl(2) and of timerfd_settime(2).
    pub fn cost(&mut self, mut now: impl FnMut() -> Nanos) -> Result<EventCost, CallError> {
        let mut cost = EventCost { calls: CALLS, ..EventCost::default() };
        for _ in 0..BATCHES {
            for (count, batches) in [&mut cost.none, &mut cost.one, &mut cost.two].into_iter().enumerate() {
                for (at, event) in self.timed.iter().enumerate() {
                    perf::switch(event, if at < count { ENABLE } else { DISABLE })?;
                }
                // The first call after a change is dearer.
                set(&self.timer)?;
                let begun = now();
                for _ in 0..CALLS {
                    set(&self.timer)?;
                }
                batches.push(Nanos::new(now().get() - begun.get()));
            }
        }
        self.timed.iter().try_for_each(|event| perf::switch(event, DISABLE))?;
        self.ring.take(&mut |_, _| ());
        Ok(cost)
    }

    /// From now on events are kept.
    ///
    /// # Errors
    /// Those of ioctl(2).
    pub fn begin(&self) -> Result<(), CallError> {
        self.each(ENABLE)
    }

    /// And no more.
    ///
    /// # Errors
    /// Those of ioctl(2).
    pub fn end(&self) -> Result<(), CallError> {
        self.each(DISABLE)
    }

    fn each(&self, request: u64) -> Result<(), CallError> {
        let own = self.opened.iter().map(|opened| &opened.event);
        let elsewhere = self.elsewhere.iter().map(|(_, event, _)| event);
        own.chain(elsewhere).try_for_each(|event| perf::switch(event, request))
    }

    /// Events of the CPU that the kernel has counted so far, written or not; and wake-ups by other CPUs.
    ///
    /// # Errors
    /// Those of read(2).
    pub fn counted(&self) -> Result<[u64; 2], CallError> {
        let own: Result<u64, _> = self.opened.iter().map(|opened| perf::value(&opened.event)).sum();
        let elsewhere: Result<u64, _> = self.elsewhere.iter().map(|(_, event, _)| perf::value(event)).sum();
        Ok([own?, elsewhere?])
    }

    /// The clock of the events: its reading now, in ns.
    #[must_use]
    pub fn now(&self) -> i64 {
        clock::read(self.clock).map_or(0, Nanos::get)
    }
}

/// Number of this thread in its own namespace of processes.
fn own_thread() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}

/// CPUs that this machine may have.
fn cpus() -> u32 {
    configured(libc::_SC_NPROCESSORS_CONF) as u32
}

fn configured(name: libc::c_int) -> usize {
    // SAFETY: asks for a number.
    unsafe { libc::sysconf(name) }.max(1) as usize
}

/// Bytes that the records of one CPU may take.
fn share_of_memory() -> usize {
    (rustix::system::sysinfo().totalram as u64 / PART / u64::from(cpus())) as usize
}

/// Maps records of about so many bytes, or of fewer where the user may not have as many (perf_event_mlock_kb).
fn map(event: &OwnedFd, size: usize) -> Result<Ring, CallError> {
    let page = configured(libc::_SC_PAGESIZE);
    let mut size = (size.max(page) + 1).next_power_of_two() / 2;
    loop {
        match Ring::map(event, size) {
            Err(CallError { errno: libc::EPERM, .. }) if size > page => size /= 2,
            ring => return ring,
        }
    }
}

/// A timer.
fn timer() -> Result<OwnedFd, CallError> {
    let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC);
    timer.map_err(named("timerfd_create"))
}

/// Sets it far ahead.
fn set(timer: &OwnedFd) -> Result<(), CallError> {
    let far = Timespec { tv_sec: FAR, tv_nsec: 0 };
    let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: far };
    rustix::time::timerfd_settime(timer, TimerfdTimerFlags::empty(), &once)
        .map_err(named("timerfd_settime"))
        .map(drop)
}
