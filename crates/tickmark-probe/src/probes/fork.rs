//! Making a process: fork, fork and execute a program, the same through a shell, vfork.
//!
//! The process that forks is a minimal one (sys/forker.rs), and the program that is executed is 188 bytes of
//! ours, so that neither this program nor its samples weigh in.

use crate::batch::SEGMENT;
use crate::batch::{self, Shape, Stamped};
use crate::routine::{Budget, Routine, Sink};
use crate::sys::forker::{BALLAST, Ballast, Call, Child, Forker, SLOTS};
use crate::sys::{CallError, exec};
use crate::{Counts, Expected, Meter, Params, Probe, ProbeError, Spec, Syscall, SystemMeter, Unavailable};
use std::ffi::CStr;
use std::time::Duration;
use tickmark_timer::{Anchor, Scale};
use tickmark_wire::{Group, Nanos, Observations, Part, Picos};

/// No process is made in less, ns: how many there may be.
const FASTEST: usize = 20_000;

/// Where memory is short: the kernel frees what a process took some time after it ended, and many that end in a row
/// take all there is. Children are then made in short stretches with pauses between them.
const STRETCH: Nanos = Nanos::from_millis(10);
const PAUSE: Duration = Duration::from_millis(30);

const FORK: &[Syscall] = &[
    Syscall::Mmap,
    Syscall::Mprotect,
    Syscall::Madvise,
    Syscall::Clone3,
    Syscall::Futex,
    Syscall::Fork,
    Syscall::ExitGroup,
    Syscall::Wait4,
];
const EXEC: &[Syscall] = &[
    Syscall::Mmap,
    Syscall::Mprotect,
    Syscall::Madvise,
    Syscall::Clone3,
    Syscall::Futex,
    Syscall::Fork,
    Syscall::Execve,
    Syscall::ExitGroup,
    Syscall::Wait4,
];
const VFORK: &[Syscall] = &[
    Syscall::Mmap,
    Syscall::Mprotect,
    Syscall::Madvise,
    Syscall::Clone3,
    Syscall::Futex,
    Syscall::Fork,
    Syscall::Vfork,
    Syscall::ExitGroup,
    Syscall::Wait4,
];

const fn spec(name: &'static str, title: &'static str, timed: &'static str, weight: u32) -> Spec {
    Spec {
        timed,
        needs: EXEC,
        source: "McVoy and Staelin, USENIX 1996 (lat_proc)",
        physical_floor: Picos::new(1_000_000),
        // The parent sleeps once for the child. How many pages it must copy back is the kernel's to say.
        expected: Expected { switches: Some(1), faults: None },
        weight,
        ..Spec::cost(Group::Process, name, title)
    }
}

pub(super) static PROBES: &[Probe] = &[
    Probe {
        spec: Spec {
            needs: FORK,
            ..spec(
                "process.fork",
                "fork",
                "fork of a minimal process (a stack, and 32 private pages in 16 mappings), exit of the child, wait; the child takes 7 page \
                 faults, where lmbench's static program takes 14",
                10,
            )
        },
        prepare: |spec, params| prepare(spec, params, Call::Fork, Child::Exit, 0, &[], BALLAST),
    },
    Probe {
        spec: Spec {
            needs: FORK,
            ..spec(
                "process.fork.16m",
                "fork, 16 MiB resident",
                "the same of a process with 4096 private pages in 16 mappings: what its page tables add",
                10,
            )
        },
        prepare: |spec, params| {
            if params.sizes.short {
                return Err(Unavailable::Missing("too little memory for 16 MiB more".to_owned()));
            }
            prepare(spec, params, Call::Fork, Child::Exit, 0, &[], Ballast { mappings: 16, pages: 256 })
        },
    },
    Probe {
        spec: spec(
            "process.exec",
            "fork and exec",
            "fork as above, execve of a static program of 188 bytes, its exit, wait",
            20,
        ),
        prepare: |spec, params| {
            let program = [params.tiny()?];
            let executes =
                prepare(spec, params, Call::Fork, Child::Exec, exec::TINY_STATUS, &program, BALLAST)?;
            can_execute(&program).map(|()| executes)
        },
    },
    Probe {
        spec: spec(
            "process.sh",
            "fork and sh -c",
            "fork as above, execve of /bin/sh -c of that program, its exit, wait",
            20,
        ),
        prepare: |spec, params| {
            let program = [c"/bin/sh", c"-c", params.tiny()?];
            let executes =
                prepare(spec, params, Call::Fork, Child::Exec, exec::TINY_STATUS, &program, BALLAST)?;
            can_execute(&program).map(|()| executes)
        },
    },
    Probe {
        spec: Spec {
            needs: VFORK,
            // The parent sleeps until the child has let go of its memory, and until it has ended.
            expected: Expected { switches: Some(2), faults: None },
            ..spec("process.vfork", "vfork", "vfork of the same process, exit of the child, wait", 10)
        },
        prepare: |spec, params| prepare(spec, params, Call::Vfork, Child::Exit, 0, &[], BALLAST),
    },
];

/// That a program can be executed here: an emulator of programs, for one, has a kernel of another architecture.
fn can_execute<const N: usize>(program: &[&CStr; N]) -> Result<(), Unavailable> {
    match exec::spawn_and_wait(program)? {
        exec::TINY_STATUS => Ok(()),
        status => Err(Unavailable::Missing(format!(
            "a program that only calls exit_group({}) ended with status {status}",
            exec::TINY_STATUS
        ))),
    }
}

fn prepare(
    spec: &Spec,
    params: &Params,
    call: Call,
    child: Child,
    status: i32,
    program: &[&CStr],
    ballast: Ballast,
) -> Result<Box<dyn Routine>, Unavailable> {
    if !std::path::Path::new("/proc/self/maps").exists() {
        let why = "without /proc/self/maps the size of this program would weigh in";
        return Err(Unavailable::Missing(why.to_owned()));
    }
    let forker = Forker::new(call, child, program, ballast)?;
    let pause = params.sizes.short.then_some(PAUSE);
    Ok(Box::new(Children { forker, status, shape: Shape::from_spec(spec), pause }))
}

/// Children of a minimal process, one a batch.
struct Children {
    forker: Forker,
    status: i32,
    shape: Shape,
    pause: Option<Duration>,
}

impl Routine for Children {
    fn measure(&mut self, budget: &Budget, sink: &mut dyn Sink) -> Result<(), ProbeError> {
        // On a thread of its own, whose stack goes along: the main thread's is as deep as the program made it.
        std::thread::scope(|scope| {
            let work = || self.stream(budget, sink);
            let thread = std::thread::Builder::new().stack_size(128 << 10).spawn_scoped(scope, work);
            let thread = thread.map_err(|e| CallError::from_io("clone3", &e))?;
            thread.join().unwrap_or_else(|_| Err(ProbeError::Other("the measuring thread died".to_owned())))
        })
    }
}

impl Children {
    /// Starts a minimal process for each segment, until the budget is used.
    fn stream(&mut self, budget: &Budget, sink: &mut dyn Sink) -> Result<(), ProbeError> {
        let mut meter = SystemMeter::new(&[]);
        budget.align();
        let origin = Anchor::take();
        // Before the first process is made, and touched: what is mapped later would go along to children.
        let room = (budget.time.get() as usize / FASTEST).clamp(SLOTS, batch::MOST) + SLOTS;
        let mut made = Stamped::with_room(room, &self.shape);
        let (mut segments, mut used, mut paused) = (Vec::with_capacity(room / 16), 0, 0);
        loop {
            let (before, start) = (meter.reading(), Anchor::take());
            let longest = if self.pause.is_some() { STRETCH.get() } else { SEGMENT.get() };
            let length = longest.min(budget.time.get()) as f64 * budget.gauge.counter_frequency() / 1e9;
            let children = self.forker.run(length as u64)?;
            let end = Anchor::take();
            let (from, to) = (start.nanos - origin.nanos, end.nanos - origin.nanos);
            let segment =
                meter.reading().since(&before, Nanos::new(from as i64), Nanos::new((to - from) as i64));
            used += segment.cpu.get() + segment.others_cpu.get();
            segments.push(segment);
            if let Some(child) = children.iter().find(|child| child.status != self.status) {
                let (observed, status) = (child.status, self.status);
                return Err(ProbeError::Other(format!("a child ended with {observed}, not {status}")));
            }
            // The accounts of each minimal process begin at nothing.
            let mut before = Counts::default();
            for child in children {
                made.push(child.start, child.end, before, child.counts);
                before = child.counts;
            }
            if made.len() + SLOTS > room
                || batch::is_enough(made.len(), Nanos::new(to as i64 - paused), budget.time, || {
                    Nanos::new(used)
                })
            {
                break;
            }
            if let Some(pause) = self.pause {
                std::thread::sleep(pause);
                paused += pause.as_nanos() as i64;
            }
        }
        // The minimal process stamps with the counter also where another clock stamps the rest.
        let scale = match budget.gauge.counts() {
            true => Some(budget.gauge.refined(origin)),
            false => Scale::between(origin, Anchor::take()),
        };
        let scale =
            scale.ok_or_else(|| ProbeError::Other("the processor's counter stands still".to_owned()))?;
        let batches = made.finish(scale, origin.ticks)?;
        sink.observe(Part::Whole, Observations::Batches(batches), segments);
        Ok(())
    }
}
