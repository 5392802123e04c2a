//! Calls of a function, counted by the kernel: a breakpoint in the memory of the tasks that are asked for alone (uprobes,
//! Documentation/trace/uprobetracer.rst; perf_event_open(2)). Each call costs the task some microseconds.

mod places;

pub use places::{Places, put_away};

use super::CallError;
use super::perf::{
    self, DISABLE, DISABLED, DUMMY, ENABLE, ENABLE_ON_EXEC, EventRequest, INHERIT, RECORD_LOST,
    RECORD_SAMPLE, Ring, SAMPLE_ID, SAMPLE_REGS_USER, SAMPLE_STACK_USER, SAMPLE_TID, SOFTWARE, TRACEPOINT,
    value, word,
};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};

/// Where a function begins.
#[derive(Debug)]
pub struct FunctionLocation {
    /// Its file, open.
    pub file: File,
    /// In the file.
    pub offset: u64,
}

/// One call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// Of which of the places.
    pub place: usize,
    /// The process.
    pub pid: u32,
    /// The first argument, as the register has it.
    pub argument: u64,
    /// Where the call returns to.
    pub caller: u64,
}

/// Bytes of records for each CPU.
const RING: usize = 1 << 20;

/// Registers of a call that are kept, ascending (asm/perf_regs.h): the first argument, and on arm64 where it returns to. On x86-64 that lies on the stack.
#[cfg(target_arch = "x86_64")]
const REGISTERS: &[u64] = &[5];
#[cfg(not(target_arch = "x86_64"))]
const REGISTERS: &[u64] = &[0, 30];

fn open(event: u64, flags: u64, samples: bool, task: i32, cpu: i32) -> Result<OwnedFd, CallError> {
    let request = EventRequest { kind: TRACEPOINT, event, flags, ..EventRequest::default() };
    let sampled = EventRequest {
        sample: SAMPLE_TID | SAMPLE_ID | SAMPLE_REGS_USER | SAMPLE_STACK_USER,
        registers: REGISTERS.iter().map(|register| 1 << register).sum(),
        stack: 8,
        ..request
    };
    if samples { sampled.open(task, cpu) } else { request.open(task, cpu) }
}

/// Keeps what tasks start from exchanging events with each other.
///
/// Where two children of a task inherited all of its events, the kernel swaps the events of both when one follows the other on a CPU. A
/// breakpoint is taken out of the memory of a task when the event ends that was made for it: of the one that ends first with the other's
/// events the other one's, whose later calls nobody counts (seen up to 7 % of the calls of four children, Linux 6.18). A task that has one
/// event which is not inherited hands on no copy of all of its events, and nothing is swapped.
#[derive(Debug, Default)]
pub struct SwapGuard(BTreeMap<i32, OwnedFd>);

impl SwapGuard {
    /// Keeps apart what these tasks start from now on; tasks that are gone are forgotten.
    pub fn keep(&mut self, tasks: &[i32]) {
        self.0.retain(|task, _| tasks.contains(task));
        let never = EventRequest { kind: SOFTWARE, event: DUMMY, ..EventRequest::default() };
        for task in tasks.iter().filter(|task| **task > 0) {
            if !self.0.contains_key(task)
                && let Ok(event) = never.open(*task, -1)
            {
                self.0.insert(*task, event);
            }
        }
    }
}

/// System calls that read clocks.
const SYSTEM_CALLS: [&str; 3] = ["clock_gettime", "gettimeofday", "time"];

/// Counts system calls that read clocks, whoever in a task makes them: also where no function of a library is called.
#[derive(Debug)]
pub struct SystemCalls(Vec<(&'static str, Vec<OwnedFd>)>);

impl SystemCalls {
    /// Of what this thread starts from now on, from each program's beginning; none where the kernel has no such events
    /// (CONFIG_FTRACE_SYSCALLS).
    #[must_use]
    pub fn of_children(places: &Places) -> Option<Self> {
        Self::open(places, INHERIT | DISABLED | ENABLE_ON_EXEC, &[0])
    }

    /// Of these tasks, and of what they start, when it is begun.
    #[must_use]
    fn of_tasks(places: &Places, tasks: &[i32]) -> Option<Self> {
        Self::open(places, INHERIT | DISABLED, tasks)
    }

    /// None where any of it is refused: a part of the tasks is no count.
    fn open(places: &Places, flags: u64, tasks: &[i32]) -> Option<Self> {
        let mut all = Vec::new();
        for name in SYSTEM_CALLS {
            let Some(event) = places.event(&format!("syscalls/sys_enter_{name}")) else { continue };
            let mut events = Vec::new();
            for task in tasks {
                match open(event, flags, false, *task, -1) {
                    Ok(event) => events.push(event),
                    // It ended since it was looked for.
                    Err(error) if error.errno == libc::ESRCH => {}
                    Err(_) => return None,
                }
            }
            all.push((name, events));
        }
        all.iter().any(|(_, events)| !events.is_empty()).then_some(Self(all))
    }

    /// So far, by name.
    ///
    /// # Errors
    /// Those of read(2).
    pub fn counts(&self) -> Result<Vec<(String, u64)>, CallError> {
        let one = |(name, events): &(&str, Vec<OwnedFd>)| {
            let sum = events.iter().map(value).sum::<Result<u64, _>>()?;
            Ok(((*name).to_owned(), sum))
        };
        self.0.iter().map(one).collect()
    }
}

/// Counts calls in what this thread starts from now on, from each program's beginning.
#[derive(Debug)]
pub struct Counter {
    events: Vec<OwnedFd>,
    system_calls: Option<SystemCalls>,
    _places: Places,
}

impl Counter {
    /// Begins.
    ///
    /// # Errors
    /// Those of perf_event_open(2).
    pub fn of_children(places: Places) -> Result<Self, CallError> {
        let flags = INHERIT | DISABLED | ENABLE_ON_EXEC;
        let events = places.ids().map(|id| open(id, flags, false, 0, -1)).collect::<Result<_, _>>()?;
        let system_calls = SystemCalls::of_children(&places);
        Ok(Self { events, system_calls, _places: places })
    }

    /// So far, of each place.
    ///
    /// # Errors
    /// Those of read(2).
    pub fn counts(&self) -> Result<Vec<u64>, CallError> {
        self.events.iter().map(value).collect()
    }

    /// System calls that read clocks so far; none where this kernel does not count them.
    ///
    /// # Errors
    /// Those of read(2).
    pub fn system_calls(&self) -> Result<Option<Vec<(String, u64)>>, CallError> {
        self.system_calls.as_ref().map(SystemCalls::counts).transpose()
    }
}

/// Keeps each call of some places by some tasks, and by what they start, from [`Watch::begin`] to [`Watch::end`].
#[derive(Debug)]
pub struct Watch {
    events: Vec<(OwnedFd, usize)>,
    /// Which place an event's number is of.
    places: BTreeMap<u64, usize>,
    rings: Vec<Ring>,
    count: usize,
    /// Tasks that began while it was set up, of which some calls may be missing.
    pub late: usize,
    /// Calls that were counted and of which nothing else is known, as nobody had taken those before.
    pub lost: u64,
    system_calls: Option<SystemCalls>,
    apart: SwapGuard,
    held: Places,
}

/// A process that starts tasks all the while is taken as it is after so many tries.
const TRIES: usize = 8;

impl Watch {
    /// Sets up what stops them; nothing is kept before it begins. `tasks` tells those that there are.
    ///
    /// # Errors
    /// ESRCH where there is none, EMFILE where there are too many for the limit of open files.
    pub fn set_up(places: Places, tasks: &dyn Fn() -> Vec<i32>, cpus: &[u32]) -> Result<Self, CallError> {
        let ids: Vec<u64> = places.ids().collect();
        let mut watch = Self {
            events: Vec::new(),
            places: BTreeMap::new(),
            rings: Vec::new(),
            count: ids.len(),
            late: 0,
            lost: 0,
            system_calls: None,
            apart: SwapGuard::default(),
            held: places,
        };
        for _ in 0..TRIES {
            watch.events.clear();
            watch.rings.clear();
            watch.places.clear();
            let known = tasks();
            watch.apart.keep(&known);
            watch.system_calls = SystemCalls::of_tasks(&watch.held, &known);
            watch.open(&ids, &known, cpus)?;
            // What a task starts has the events that it had itself at that moment: some or all.
            watch.late = tasks().iter().filter(|task| !known.contains(task)).count();
            if watch.late == 0 {
                break;
            }
        }
        let gone = CallError { call: "perf_event_open", errno: libc::ESRCH };
        if watch.events.is_empty() { Err(gone) } else { Ok(watch) }
    }

    fn open(&mut self, ids: &[u64], tasks: &[i32], cpus: &[u32]) -> Result<(), CallError> {
        for cpu in cpus {
            let mut ring = None;
            for task in tasks {
                for (number, id) in ids.iter().enumerate() {
                    match open(*id, INHERIT | DISABLED, true, *task, *cpu as i32) {
                        // It ended since it was looked for.
                        Err(error) if error.errno == libc::ESRCH => {}
                        event => self.add(event?, number, &mut ring)?,
                    }
                }
            }
        }
        Ok(())
    }

    /// From now on calls are kept.
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

    /// Of an event, and of those that its task handed on to what it started.
    fn each(&self, request: u64) -> Result<(), CallError> {
        let own = self.events.iter().map(|(event, _)| event);
        let calls = self.system_calls.iter().flat_map(|calls| &calls.0).flat_map(|(_, events)| events);
        for event in own.chain(calls) {
            perf::switch(event, request)?;
        }
        Ok(())
    }

    /// One more event, whose calls go into the ring of its CPU.
    fn add(&mut self, event: OwnedFd, place: usize, ring: &mut Option<i32>) -> Result<(), CallError> {
        let id = perf::id(&event)?;
        if let Some(first) = *ring {
            perf::write_into(&event, first)?;
        } else {
            self.rings.push(Ring::map(&event, RING)?);
            *ring = Some(event.as_raw_fd());
        }
        self.places.insert(id, place);
        self.events.push((event, place));
        Ok(())
    }

    /// Takes the events since the last time.
    pub fn take(&mut self, each: &mut dyn FnMut(Call)) {
        let (places, lost) = (&self.places, &mut self.lost);
        for ring in &mut self.rings {
            ring.take(&mut |kind, body| match kind {
                RECORD_SAMPLE => each_sample(body, places, each),
                // The number of the event, then how many.
                RECORD_LOST => *lost += word(body, 1).unwrap_or(0),
                _ => {}
            });
        }
    }

    /// System calls that read clocks since it was set up; none where this kernel does not count them.
    ///
    /// # Errors
    /// Those of read(2).
    pub fn system_calls(&self) -> Result<Option<Vec<(String, u64)>>, CallError> {
        self.system_calls.as_ref().map(SystemCalls::counts).transpose()
    }

    /// Looks after tasks that were started meanwhile.
    pub fn keep_apart(&mut self, tasks: &[i32]) {
        self.apart.keep(tasks);
    }

    /// How many calls of each place there were so far, also of those that are lost.
    ///
    /// # Errors
    /// Those of read(2).
    pub fn counts(&self) -> Result<Vec<u64>, CallError> {
        let mut all = vec![0; self.count];
        for (event, place) in &self.events {
            all[*place] += value(event)?;
        }
        Ok(all)
    }
}

/// Process and thread, number of the event, registers, a part of the stack: as they were asked for.
fn each_sample(body: &[u8], places: &BTreeMap<u64, usize>, each: &mut dyn FnMut(Call)) {
    let call = || {
        // Registers are there where the task was no thread of the kernel.
        let register = |at: usize| word(body, 3 + at).filter(|_| word(body, 2).is_some_and(|abi| abi > 0));
        let stack = 3 + REGISTERS.len();
        let caller = if REGISTERS.len() > 1 {
            register(1)?
        } else {
            (word(body, stack)? >= 8).then(|| word(body, stack + 1))??
        };
        let (pid, argument) = (word(body, 0)? as u32, register(0)?);
        Some(Call { place: *places.get(&word(body, 1)?)?, pid, argument, caller })
    };
    if let Some(call) = call() {
        each(call);
    }
}

#[cfg(test)]
mod tests;
