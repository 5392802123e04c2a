//! A token goes round a ring of processes, each of which adds up some memory on its turn.

use crate::batch::{self, Shape};
use crate::routine::checked;
use crate::sys::file;
use crate::sys::memory::{Pages, Region};
use crate::sys::peer::Peer;
use crate::sys::{CallError, limits};
use crate::{Parameter, Params, Probe, ProbeError, Routine, Spec, Syscall, Unavailable, Value};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use tickmark_wire::{Group, Part, Picos};

/// Where the processes of a ring run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RingPlacement {
    /// All on the measured CPU.
    Same,
    /// In turn on the measured CPU and another, so that every switch is between two.
    Across,
    /// On any CPU that is allowed.
    Unpinned,
}

const NEEDS: &[Syscall] = &[
    Syscall::Mmap,
    Syscall::Pipe2,
    Syscall::RtSigaction,
    Syscall::Clone,
    Syscall::Prctl,
    Syscall::SchedSetaffinity,
    Syscall::Read,
    Syscall::Write,
];
/// Without the first.
const WITHOUT_MEMORY: &[Syscall] = NEEDS.split_at(1).1;

const PARAMETERS: &[Parameter] = &[
    Parameter::choice(
        "processes",
        "processes of the ring",
        &[Value::plain("2"), Value::plain("8"), Value::plain("16")],
    )
    .or_numbers(2, 96),
    Parameter::choice(
        "kib",
        "KiB that each adds up on its turn",
        &[Value::plain("0"), Value::plain("16"), Value::plain("64")],
    )
    .or_numbers(0, 1024),
    Parameter::choice(
        "place",
        "where they run",
        &[
            Value { value: "same", name: "", title: "", timed: "on one CPU" },
            Value { value: "across", name: ".across", title: ", across CPUs", timed: "on two CPUs in turn" },
            Value { value: "unpinned", name: ".unpinned", title: ", unpinned", timed: "on any CPU" },
        ],
    ),
];

impl RingPlacement {
    fn from_argument(argument: &str) -> Self {
        match argument {
            "across" => Self::Across,
            "unpinned" => Self::Unpinned,
            _ => Self::Same,
        }
    }
}

pub(super) static PROBES: &[Probe] = &[Probe {
    spec: Spec {
        metric: "switch.{processes}p.{kib}k{place}",
        timed: "a token goes round a ring of {processes} processes {place}, joined by pipes, each adding up {kib} KiB of its own; \
                per switch, minus the same work in one process",
        needs: NEEDS,
        source: "McVoy and Staelin, USENIX 1996 (lat_ctx)",
        physical_floor: Picos::new(50_000),
        parts: &[Part::Whole, Part::Less],
        parameters: PARAMETERS,
        tune: |spec, arguments| {
            let argument = |name: &str| arguments.get(name).map_or("", String::as_str);
            // With more than two, the one that is woken may come before the one that wakes has gone to sleep.
            spec.expected.switches = (argument("processes") == "2").then_some(1);
            spec.sleeps = RingPlacement::from_argument(argument("place")) == RingPlacement::Across;
            spec.roams = RingPlacement::from_argument(argument("place")) == RingPlacement::Unpinned;
            if argument("kib") == "0" {
                spec.needs = WITHOUT_MEMORY;
            }
        },
        ..Spec::cost(Group::Communication, "switch", "context switch {processes}p/{kib}K{place}")
    },
    prepare,
}];

/// The work of a process on its turn.
fn work(array: Option<&Region>) {
    if let Some(array) = array {
        std::hint::black_box(array.sum(0, array.len()));
    }
}

fn turn(from: BorrowedFd<'_>, array: Option<&Region>, to: BorrowedFd<'_>) -> Result<(), CallError> {
    file::read_byte(from)?;
    work(array);
    file::write_byte(to)
}

fn own_array(bytes: usize) -> Result<Option<Region>, CallError> {
    (bytes > 0).then(|| Region::private(bytes, Pages::Small)).transpose()
}

fn prepare(spec: &Spec, params: &Params) -> Result<Box<dyn Routine>, Unavailable> {
    let (processes, bytes) = (params.number("processes"), params.number("kib") << 10);
    let place = RingPlacement::from_argument(params.argument("place"));
    let other = params.allowed.iter().copied().find(|cpu| *cpu != params.cpu);
    let cpus = match (place, other) {
        (RingPlacement::Same, _) => vec![params.cpu],
        (_, None) => return Err(Unavailable::Missing("only one CPU is allowed".to_owned())),
        (RingPlacement::Across, Some(other)) => vec![params.cpu, other],
        (RingPlacement::Unpinned, _) => params.allowed.clone(),
    };
    let on = |process: usize| match place {
        RingPlacement::Unpinned => cpus.clone(),
        _ => vec![cpus[process % cpus.len()]],
    };
    let pipes = (0..processes).map(|_| file::pipe()).collect::<Result<Vec<_>, _>>()?;
    let mut peers = Vec::with_capacity(processes);
    for process in 1..processes {
        let (from, to) = (&pipes[process].0, &pipes[(process + 1) % processes].1);
        let cpus = on(process);
        peers.push(Peer::start(|| {
            let others = pipes.iter().flat_map(|(read, write)| [read, write]);
            Peer::close(others.filter(|end| ![from.as_raw_fd(), to.as_raw_fd()].contains(&end.as_raw_fd())));
            limits::pin(&cpus)?;
            let array = own_array(bytes)?;
            loop {
                turn(from.as_fd(), array.as_ref(), to.as_fd())?;
            }
        })?);
    }
    limits::pin(&on(0))?;
    let mut from = None;
    let mut to = None;
    for (process, (read, write)) in pipes.into_iter().enumerate() {
        match process {
            0 => from = Some(read),
            1 => to = Some(write),
            _ => {}
        }
    }
    let ends = from.zip(to).ok_or_else(|| Unavailable::Missing("a ring of one".to_owned()))?;
    let placed: Vec<(u32, Vec<u32>)> =
        std::iter::once(0).chain(peers.iter().map(Peer::pid)).zip((0..processes).map(on)).collect();
    let ring =
        routine(spec, processes as u64, ends, own_array(bytes)?, own_array(bytes)?, peers, file::pipe()?);
    Ok(if place == RingPlacement::Across { checked(ring, move || stayed(&placed)) } else { ring })
}

/// A ring whose processes came together on one CPU is another ring.
fn stayed(placed: &[(u32, Vec<u32>)]) -> Result<(), ProbeError> {
    for (pid, cpus) in placed {
        if limits::cpus_of(*pid)? != *cpus {
            return Err(ProbeError::Other("a process of the ring was moved to other CPUs".to_owned()));
        }
    }
    Ok(())
}

fn routine(
    spec: &Spec,
    processes: u64,
    (from, to): (OwnedFd, OwnedFd),
    array: Option<Region>,
    alone: Option<Region>,
    peers: Vec<Peer>,
    (inward, outward): (OwnedFd, OwnedFd),
) -> Box<dyn Routine> {
    let pids: Vec<u32> = peers.iter().map(Peer::pid).collect();
    let over = array.as_ref().map_or(0, |array| array.len() as u64);
    let ring = move || {
        let _ = &peers;
        file::write_byte(to.as_fd())?;
        file::read_byte(from.as_fd())?;
        work(array.as_ref());
        Ok(())
    };
    let alone = move || {
        file::write_byte(outward.as_fd())?;
        turn_alone(inward.as_fd(), alone.as_ref())
    };
    // A trip is as many switches as there are processes, one of them of this process.
    batch::fallible(Shape::from_spec(spec).times(processes).over(over), ring)
        .part(Part::Less, Shape::plain(spec), alone)
        .with_peers(&pids)
        .boxed()
}

fn turn_alone(from: BorrowedFd<'_>, array: Option<&Region>) -> Result<(), CallError> {
    file::read_byte(from)?;
    work(array);
    Ok(())
}
