//! Where the time of a message goes: the call that sends it, the queue of the device, the device, the soft interrupt, the wake-up of who receives it.
//! No suite has it: stamping costs some of what it measures.

use super::packets::{LINK, PLACE};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};
use tickmark_probe::case::{Parameter, Value};
use tickmark_probe::routine::{Budget, Sink, routine};
use tickmark_probe::spec::Also;
use tickmark_probe::sys::memory::Words;
use tickmark_probe::sys::namespace::{Link, Namespaces};
use tickmark_probe::sys::peer::Peer;
use tickmark_probe::sys::stages::{self, Stage};
use tickmark_probe::sys::{CallError, clock, file, limits, net};
use tickmark_probe::{Expected, Params, Probe, ProbeError, Spec, Syscall};
use tickmark_timer::monotonic_ns;
use tickmark_wire::{Better, Group, Headline, Nanos, Observations, Part, Unit};

const fn also(metric: &'static str, title: &'static str) -> Also {
    Also { metric, title, unit: Unit::Time, better: Better::Lower, headline: Headline::Median }
}

/// In the order of a message's way.
const ALSO: &[Also] = &[
    also("ipc.stages.{over}{link}{place}.send", "{over}{link}{place}, the call that sends"),
    also("ipc.stages.{over}{link}{place}.to_queue", "{over}{link}{place}, call to the device's queue"),
    also("ipc.stages.{over}{link}{place}.to_device", "{over}{link}{place}, queue to device"),
    also("ipc.stages.{over}{link}{place}.to_receive", "{over}{link}{place}, device to soft interrupt"),
    also("ipc.stages.{over}{link}{place}.to_user", "{over}{link}{place}, soft interrupt to program"),
    also("ipc.stages.{over}{link}{place}.acknowledged", "{over}{link}{place}, call to acknowledgement"),
];

/// The last one is TCP's.
const OF_UDP: usize = 5;

pub(super) static PROBES: &[Probe] = &[Probe {
    spec: Spec {
        metric: "ipc.stages.{over}{link}{place}.round_trip",
        headline: Headline::Median,
        timed: "a message there and back over {over}{link}{place}, stamped by the kernel where it passes (SO_TIMESTAMPING)",
        source: "Linux, Documentation/networking/timestamping.rst",
        expected: Expected::UNKNOWN,
        needs: &[Syscall::Setsockopt, Syscall::Read, Syscall::Write],
        sleeps: true,
        parameters: &[
            Parameter::choice(
                "over",
                "what carries it",
                &[Value::named("tcp", "tcp", "TCP"), Value::named("udp", "udp", "UDP")],
            ),
            LINK,
            PLACE,
            Parameter::choice("bytes", "of the message", &[Value::plain("1")]).or_numbers(1, 60_000),
            // None of its values is for suites.
            Parameter::number("samples", "how many messages at most", 10, 100_000),
        ],
        also: ALSO,
        tune: |spec, arguments| {
            if arguments.get("over").is_some_and(|over| over == "udp") {
                spec.also = &ALSO[..OF_UDP];
            }
        },
        ..Spec::cost(Group::Communication, "ipc.stages", "{over}{link}{place}, stamped, round trip")
    },
    prepare: |_, params| {
        let there = params.place()?;
        let (ours, theirs) = pair(params)?;
        stages::stamp_sent(&ours)?;
        stages::stamp_received(&theirs)?;
        let params = params.clone();
        let mut both = Some((ours, theirs));
        Ok(routine(move |budget: &Budget, sink| {
            let (ours, theirs) = both.take().map_or_else(|| pair(&params), Ok)?;
            measure(&params, there, (&ours, &theirs), budget, sink)
        }))
    },
}];

fn pair(params: &Params) -> Result<(OwnedFd, OwnedFd), CallError> {
    let tcp = params.argument("over") == "tcp";
    match (params.argument("link"), tcp) {
        ("veth", true) => Namespaces::new(&Link::USUAL)?.tcp_pair(),
        ("veth", false) => Namespaces::new(&Link::USUAL)?.udp_pair(),
        (_, true) => net::tcp_pair(),
        (_, false) => net::udp_pair(),
    }
}

/// The other side's account of the last message: number of messages, time of arrival, time of delivery to the program.
const HAD: usize = 0;
const CAME: usize = 1;
const READ: usize = 2;

/// Messages that come first are not kept.
const FIRST: usize = 20;
/// The kernel begins to stamp what arrives in a worker of its own (net_enable_timestamp), which a busy machine lets wait: for so many ns at most, the
/// messages before the first stamp are not kept either.
const PATIENCE: u64 = 2_000_000_000;

fn real() -> i64 {
    clock::read(libc::CLOCK_REALTIME).map_or(0, Nanos::get)
}

fn measure(
    params: &Params,
    there: u32,
    (ours, theirs): (&OwnedFd, &OwnedFd),
    budget: &Budget,
    sink: &mut dyn Sink,
) -> Result<(), ProbeError> {
    let (size, samples) = (params.number("bytes"), params.number("samples"));
    let is_tcp = params.argument("over") == "tcp";
    let board = Arc::new(Words::shared(3)?);
    let _peer = Peer::start(|| {
        Peer::close(std::iter::once(ours));
        limits::pin(&[there])?;
        let mut message = vec![0; size];
        loop {
            let came = stages::receive_all(theirs, &mut message)?;
            let read = real();
            board.wide(CAME).store(came.unwrap_or(0) as u64, Release);
            board.wide(READ).store(read as u64, Release);
            board.wide(HAD).store(board.wide(HAD).load(Acquire) + 1, Release);
            file::write_all(theirs.as_fd(), &message)?;
        }
    })?;
    let (message, mut back) = (vec![7; size], vec![0; size]);
    // Round trip, then each stage.
    let mut columns: [Vec<Nanos>; 7] = std::array::from_fn(|_| Vec::with_capacity(samples));
    let (mut begun, mut first_kept) = (monotonic_ns(), None);
    for number in 0.. {
        let elapsed = monotonic_ns() - begun;
        let is_enough = |first: usize| {
            number == first + samples || (number > first + FIRST && elapsed > budget.time.get() as u64)
        };
        if first_kept.is_some_and(is_enough) {
            break;
        }
        let called = real();
        file::write_all(ours.as_fd(), &message)?;
        let returned = real();
        file::read_all(ours.as_fd(), &mut back)?;
        let over = real();
        let [mut queued, mut given, mut acknowledged] = [None; 3];
        stages::sent(ours, |stage, of, at| {
            // Those of an earlier message came too late for it.
            let own = if is_tcp { (u64::from(of) + 1).div_ceil(size as u64) } else { u64::from(of) + 1 };
            if own == number as u64 + 1 {
                *match stage {
                    Stage::Queue => &mut queued,
                    Stage::Device => &mut given,
                    Stage::Acknowledged => &mut acknowledged,
                } = Some(at);
            }
        })?;
        let [came, read] = [CAME, READ].map(|word| board.wide(word).load(Acquire) as i64);
        let came = Some(came).filter(|came| *came > 0);
        if first_kept.is_none() {
            if number < FIRST || (came.is_none() && elapsed < PATIENCE) {
                continue;
            }
            (begun, first_kept) = (monotonic_ns(), Some(number));
        }
        if board.wide(HAD).load(Acquire) != number as u64 + 1 {
            continue;
        }
        // A clock that was set meanwhile gives a stage that ends before it begins.
        let mut keep = |column: usize, from: Option<i64>, to: Option<i64>| {
            let stage = from.zip(to).map(|(from, to)| to - from).filter(|stage| *stage >= 0);
            columns[column].extend(stage.map(Nanos::new));
        };
        keep(0, Some(called), Some(over));
        keep(1, Some(called), Some(returned));
        keep(2, Some(called), queued);
        keep(3, queued, given);
        keep(4, given, came);
        keep(5, came, Some(read));
        keep(6, Some(called), acknowledged);
    }
    if columns[2].is_empty() && columns[3].is_empty() {
        return Err(ProbeError::Other("the kernel stamped no message".to_owned()));
    }
    let count = if is_tcp { columns.len() } else { 1 + OF_UDP };
    for (number, column) in
        columns.into_iter().enumerate().take(count).filter(|(_, column)| !column.is_empty())
    {
        match number {
            0 => sink.observe(Part::Whole, Observations::Latencies(column), Vec::new()),
            _ => sink.take(number, Part::Whole, Observations::Latencies(column), Vec::new()),
        }
    }
    Ok(())
}
