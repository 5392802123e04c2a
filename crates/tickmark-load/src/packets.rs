//! UDP packets a second, as many as go or at a fixed rate, with what is lost; TCP streams beside each other, with what a byte costs: netblast, netsend,
//! netreceive and tcpp of FreeBSD's netrate. No suite has them, as they are told how much.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tickmark_probe::case::{Parameter, Value};
use tickmark_probe::routine::{Budget, Sink, routine};
use tickmark_probe::spec::Also;
use tickmark_probe::sys::memory::Words;
use tickmark_probe::sys::message::{self, End};
use tickmark_probe::sys::namespace::{Link, Namespaces};
use tickmark_probe::sys::peer::Peer;
use tickmark_probe::sys::sending::Sender;
use tickmark_probe::sys::usage::{self, CpuClock};
use tickmark_probe::sys::{CallError, limits};
use tickmark_probe::{Expected, Params, Probe, ProbeError, Spec, Syscall, Unavailable};
use tickmark_timer::monotonic_ns;
use tickmark_wire::{Better, Group, Headline, Nanos, Observations, Part, Sending, Unit, Values, Windows};

const fn also(metric: &'static str, title: &'static str, unit: Unit, better: Better) -> Also {
    Also { metric, title, unit, better, headline: Headline::Median }
}

macro_rules! of_packets {
    ($end:literal, $title:literal, $unit:ident, $better:ident) => {
        also(
            concat!("net.udp.packets.{bytes}b.{rate}{link}{place}", $end),
            concat!("UDP, {bytes} bytes{link}{place}, ", $title),
            Unit::$unit,
            Better::$better,
        )
    };
}

const OF_PACKETS: &[Also] = &[
    of_packets!(".sent", "packets sent", Rate, Higher),
    of_packets!(".lost", "packets lost", Share, Lower),
    of_packets!(".cpu_receive", "CPU time of receiving one", Time, Lower),
    of_packets!(".cpu_send", "CPU time of sending one, with waiting for its time", Time, Lower),
    of_packets!(".late", "sent late", Time, Lower),
];

/// Without a time there is no lateness.
const AS_MANY_AS_GO: usize = OF_PACKETS.len() - 1;

/// Of probes that have another side.
pub(super) const PLACE: Parameter = Parameter::choice(
    "place",
    "the CPU of the other side",
    &[Value::named("same", "", ""), Value::named("across", ".across", ", across CPUs")],
);
/// And something between.
pub(super) const LINK: Parameter = Parameter::choice(
    "link",
    "what lies between: the loopback interface, or a veth pair between two network namespaces",
    &[Value::named("own", "", ""), Value::named("veth", ".veth", ", veth")],
);

pub(super) static PROBES: &[Probe] = &[
    Probe {
        spec: Spec {
            metric: "net.udp.packets.{bytes}b.{rate}{link}{place}",
            unit: Unit::Rate,
            better: Better::Higher,
            headline: Headline::Median,
            timed: "packets of {bytes} bytes sent {rate} times a second (0: as fast as the call returns){link}{place}; those that were received",
            source: "Watson, FreeBSD tools/tools/netrate (netblast, netsend, netreceive)",
            expected: Expected::UNKNOWN,
            needs: &[Syscall::Read, Syscall::Write],
            parameters: &[
                Parameter::choice("bytes", "of a packet", &[Value::plain("64")]).or_numbers(1, 65_507),
                // None of its values is for suites.
                Parameter::number("rate", "packets a second; 0: as many as go", 0, 10_000_000),
                LINK,
                PLACE,
            ],
            also: OF_PACKETS,
            tune: |spec, arguments| {
                if arguments.get("rate").is_some_and(|rate| rate == "0") {
                    spec.also = &OF_PACKETS[..AS_MANY_AS_GO];
                }
            },
            ..Spec::cost(
                Group::Communication,
                "net.udp.packets",
                "UDP, {bytes} bytes{link}{place}, packets received",
            )
        },
        prepare: |_, params| {
            let (there, link) = between(params)?;
            let params = params.clone();
            Ok(routine(move |budget: &Budget, sink| packets(&params, there, link.as_ref(), budget, sink)))
        },
    },
    Probe {
        spec: Spec {
            metric: "net.tcp.streams.{streams}{link}{place}",
            unit: Unit::Throughput,
            better: Better::Higher,
            headline: Headline::Median,
            timed: "{streams} TCP streams with TCP_NODELAY at the same time, 64 KiB a call, a process at either end{link}{place}; sent as the setting `send` has it",
            source: "Watson, FreeBSD tools/tools/netrate (tcpp)",
            expected: Expected::UNKNOWN,
            needs: &[Syscall::Read, Syscall::Write],
            sleeps: true,
            parameters: &[
                // None of its values is for suites.
                Parameter::number("streams", "how many", 1, 64),
                LINK,
                PLACE,
            ],
            also: &[
                also(
                    "net.tcp.streams.{streams}{link}{place}.cpu_send",
                    "CPU time of sending 1 MB, {streams} streams{link}{place}",
                    Unit::Time,
                    Better::Lower,
                ),
                also(
                    "net.tcp.streams.{streams}{link}{place}.cpu_receive",
                    "CPU time of receiving 1 MB, {streams} streams{link}{place}",
                    Unit::Time,
                    Better::Lower,
                ),
            ],
            ..Spec::cost(Group::Bandwidth, "net.tcp.streams", "{streams} TCP streams{link}{place}")
        },
        prepare: |_, params| {
            let (there, link) = between(params)?;
            let params = params.clone();
            Ok(routine(move |budget: &Budget, sink| streams(&params, there, link.as_ref(), budget, sink)))
        },
    },
];

/// The CPU of who receives, and the namespaces.
fn between(params: &Params) -> Result<(u32, Option<Namespaces>), Unavailable> {
    let link = if params.argument("link") == "veth" { Some(Namespaces::new(&Link::USUAL)?) } else { None };
    Ok((params.place()?, link))
}

fn pair(link: Option<&Namespaces>, over: &str) -> Result<(End, End), CallError> {
    match link {
        Some(both) => message::pair_between(both, over),
        None => message::pair(over, 1),
    }
}

/// CPU time of a process that was started.
fn clock(peer: &Peer) -> Result<CpuClock, CallError> {
    CpuClock::for_process(peer.pid()).ok_or(CallError { call: "clock_getcpuclockid", errno: libc::ESRCH })
}

/// How long a window is, in ns.
const WINDOW: u64 = 10_000_000;
/// Time for packets that are on their way when the last one was sent.
const REST: Duration = Duration::from_millis(50);
/// Of so many packets that are sent at a fixed rate one is asked how late it was.
const ASKED: u64 = 16;

fn packets(
    params: &Params,
    there: u32,
    link: Option<&Namespaces>,
    budget: &Budget,
    sink: &mut dyn Sink,
) -> Result<(), ProbeError> {
    let (mut ours, mut theirs) = pair(link, "udp")?;
    let (size, rate) = (params.number("bytes"), params.number("rate") as u64);
    let received = Arc::new(Words::shared(1)?);
    let peer = Peer::start(|| {
        ours.close_copies();
        limits::pin(&[there])?;
        let mut packet = vec![0; size];
        loop {
            match theirs.receive(&mut packet) {
                Ok(()) => received.wide(0).store(received.wide(0).load(Relaxed) + 1, Relaxed),
                // Nothing came for a second.
                Err(CallError { errno: libc::EAGAIN, .. }) => {}
                Err(error) => return Err(error),
            }
        }
    })?;
    let there = clock(&peer)?;
    let cpu = || [usage::thread_cpu().get(), there.read().get()];
    let packet = vec![7; size];
    let new = || Windows { start: Vec::new(), length: Vec::new(), count: Vec::new() };
    let (mut out, mut into, mut late) = (new(), new(), Vec::new());
    let (before, begun) = (cpu(), monotonic_ns());
    let (mut sent, mut opened, mut had) = (0u64, begun, [0, 0]);
    loop {
        let mut now = monotonic_ns();
        if rate > 0 {
            let due = begun + (u128::from(sent) * 1_000_000_000 / u128::from(rate)) as u64;
            while now < due {
                // On the same CPU who receives waits for this one, at fifo priority for ever.
                if params.argument("place") == "same" {
                    std::thread::yield_now();
                } else {
                    std::hint::spin_loop();
                }
                now = monotonic_ns();
            }
            if sent.is_multiple_of(ASKED) {
                late.push(Nanos::new((now - due) as i64));
            }
        }
        if now - opened >= WINDOW {
            for (windows, count, had) in
                [(&mut out, sent, had[0]), (&mut into, received.wide(0).load(Relaxed), had[1])]
            {
                windows.start.push(Nanos::new((opened - begun) as i64));
                windows.length.push(Nanos::new((now - opened) as i64));
                windows.count.push(count - had);
            }
            had = [had[0] + out.count.last().unwrap_or(&0), had[1] + into.count.last().unwrap_or(&0)];
            opened = now;
            if now - begun >= budget.time.get() as u64 {
                break;
            }
        }
        match ours.send(&packet) {
            // The queue of the device is full: the packet is lost there.
            Ok(()) | Err(CallError { errno: libc::ENOBUFS, .. }) => sent += 1,
            Err(error) => return Err(error.into()),
        }
    }
    let after = cpu();
    std::thread::sleep(REST);
    let received = received.wide(0).load(Relaxed);
    let one = |value: f64| Observations::Values(Values { values: vec![value], step: 0.0, over: 0 });
    sink.observe(Part::Whole, Observations::Windows(into), Vec::new());
    sink.take(1, Part::Whole, Observations::Windows(out), Vec::new());
    sink.take(2, Part::Whole, one(1.0 - received as f64 / sent.max(1) as f64), Vec::new());
    let each = |at: usize, count: u64| one((after[at] - before[at]) as f64 / count as f64);
    if received > 0 {
        sink.take(3, Part::Whole, each(1, received), Vec::new());
    }
    sink.take(4, Part::Whole, each(0, sent.max(1)), Vec::new());
    if rate > 0 {
        sink.take(5, Part::Whole, Observations::Latencies(late), Vec::new());
    }
    Ok(())
}

/// Bytes of a call.
const PIECE: usize = 64 << 10;
/// Time before streams are first observed.
const BEGINS: Duration = Duration::from_millis(50);

fn streams(
    params: &Params,
    there: u32,
    link: Option<&Namespaces>,
    budget: &Budget,
    sink: &mut dyn Sink,
) -> Result<(), ProbeError> {
    let count = params.number("streams");
    let here = params.cpu;
    let pieces = Arc::new(Words::shared(count)?);
    let way = params.send.unwrap_or(Sending::Write);
    let (mut senders, mut receivers) = (Vec::new(), Vec::new());
    for number in 0..count {
        let (from, mut to) = pair(link, "tcp")?;
        receivers.push(Peer::start(|| {
            from.close_copies();
            limits::pin(&[there])?;
            let mut piece = vec![0; PIECE];
            loop {
                to.receive(&mut piece)?;
                pieces.wide(number).store(pieces.wide(number).load(Relaxed) + 1, Relaxed);
            }
        })?);
        senders.push(Peer::start(|| {
            to.close_copies();
            limits::pin(&[here])?;
            let mut sender = Sender::new(from.stream()?, way)?;
            let piece = vec![7; PIECE].leak();
            loop {
                sender.send(piece)?;
            }
        })?);
    }
    let clocks = |all: &[Peer]| all.iter().map(clock).collect::<Result<Vec<_>, _>>();
    let both = [clocks(&senders)?, clocks(&receivers)?];
    let look = || {
        let cpu = both.each_ref().map(|clocks| clocks.iter().map(|clock| clock.read().get()).sum::<i64>());
        (monotonic_ns(), cpu, (0..count).map(|number| pieces.wide(number).load(Relaxed)).sum::<u64>())
    };
    std::thread::sleep(BEGINS);
    let before = look();
    std::thread::sleep(budget.time.to_duration());
    let after = look();
    let bytes = ((after.2 - before.2) * PIECE as u64) as f64;
    if bytes == 0.0 {
        return Err(ProbeError::Other("no stream has moved 64 KiB".to_owned()));
    }
    let one = |value: f64| Observations::Values(Values { values: vec![value], step: 0.0, over: 0 });
    sink.observe(Part::Whole, one(bytes * 1e9 / (after.0 - before.0) as f64), Vec::new());
    for at in 0..2 {
        sink.take(1 + at, Part::Whole, one((after.1[at] - before.1[at]) as f64 * 1e6 / bytes), Vec::new());
    }
    Ok(())
}
