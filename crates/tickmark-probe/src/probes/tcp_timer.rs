//! How late TCP's timers are, which count ticks: delayed acknowledgements, retransmissions, keepalives. Seen from outside: TCP_INFO is read
//! again and again until it says that a timer has run out. No suite has it: each timer takes from 40 ms to a second.

use crate::case::{Parameter, Value};
use crate::routine::{Budget, Sink, routine};
use crate::sys::namespace::{Link, Namespaces};
use crate::sys::tcp_timer::{Connection, Info};
use crate::{Expected, Meter, Probe, ProbeError, Spec, Syscall, SystemMeter};
use std::time::Duration;
use tickmark_timer::monotonic_ns;
use tickmark_wire::{Group, Headline, Nanos, Observations, Part};

/// Probes of a connection are so far apart: the least that the kernel takes.
const KEEP_ALIVE: Duration = Duration::from_secs(1);
/// A timer that has not run out so many times its time after is none.
const PATIENCE: i64 = 5;
/// A tick of HZ 100, in ns.
const LONGEST_TICK: u64 = 10_000_000;
/// Its multiples' fractions fill 0 to 1 evenly, wherever they end.
const GOLDEN: f64 = 0.618_033_988_749_894_9;
/// An acknowledgement sooner than this part of the delay was not delayed.
const AT_ONCE: i64 = 4;

pub(super) static PROBES: &[Probe] = &[Probe {
    spec: Spec {
        metric: "ipc.tcp.timer.{timer}{link}.late",
        headline: Headline::Median,
        timed: "{timer}{link}: TCP_INFO is read until it has run out; how much later that is than its time, which TCP_INFO gives",
        source: "tcp(7); RFC 1122 4.2.3.2, RFC 6298, RFC 1122 4.2.3.6",
        expected: Expected::UNKNOWN,
        needs: &[Syscall::Setsockopt, Syscall::Getsockopt, Syscall::Read, Syscall::Write],
        parameters: &[
            Parameter::choice(
                "timer",
                "which",
                &[
                    named(
                        "delayed-ack",
                        "delayed_ack",
                        "one byte is sent, and the end that has it sends nothing",
                    ),
                    named(
                        "retransmission",
                        "retransmission",
                        "one byte is sent to an end that hears nothing, from the first time that it is sent again to the second",
                    ),
                    named(
                        "keepalive",
                        "keepalive",
                        "from one probe of an end that hears nothing to the next",
                    ),
                ],
            ),
            Parameter::choice(
                "link",
                "what lies between: the loopback interface, or a veth pair between two network namespaces",
                &[
                    Value { value: "own", name: "", title: "", timed: "" },
                    Value { value: "veth", name: ".veth", title: ", veth", timed: ", over a veth pair" },
                ],
            ),
            // None of its values is for suites.
            Parameter::number("samples", "how often at most", 1, 10_000),
        ],
        ..Spec::cost(Group::Communication, "ipc.tcp.timer", "TCP, {timer}{link}, late")
    },
    prepare: |_, params| {
        let sample = match params.argument("timer") {
            "delayed-ack" => delayed_ack,
            "retransmission" => retransmission,
            _ => keepalive,
        };
        let samples = params.number("samples");
        let link = match params.argument("link") {
            "veth" => Some(Namespaces::new(&Link::USUAL)?),
            _ => None,
        };
        // What is refused is found here.
        Connection::new(link.as_ref())?.info()?;
        Ok(routine(move |budget: &Budget, sink| measure(sample, link.as_ref(), samples, budget, sink)))
    },
}];

const fn named(value: &'static str, name: &'static str, timed: &'static str) -> Value {
    Value { value, name, title: value, timed }
}

fn measure(
    sample: fn(&Connection, usize) -> Result<i64, ProbeError>,
    link: Option<&Namespaces>,
    samples: usize,
    budget: &Budget,
    sink: &mut dyn Sink,
) -> Result<(), ProbeError> {
    let mut late = Vec::with_capacity(samples);
    let mut meter = SystemMeter::new(&[]);
    let (before, origin) = (meter.reading(), monotonic_ns());
    while late.len() < samples && (late.is_empty() || monotonic_ns() - origin < budget.time.get() as u64) {
        late.push(Nanos::new(sample(&Connection::new(link)?, late.len())?));
    }
    let wall = Nanos::new((monotonic_ns() - origin) as i64);
    let segment = meter.reading().since(&before, Nanos::ZERO, wall);
    sink.observe(Part::Whole, Observations::Latencies(late), vec![segment]);
    Ok(())
}

/// How much later than its time the acknowledgement of a byte comes.
fn delayed_ack(connection: &Connection, nth: usize) -> Result<i64, ProbeError> {
    // As an end that has answered before: it waits for an answer that could take the acknowledgement along.
    connection.delay()?;
    // The one before ended with a tick: these begin evenly between two, also where they are few.
    let begin = monotonic_ns();
    let wait = (LONGEST_TICK as f64 * (nth as f64 * GOLDEN).fract()) as u64;
    while monotonic_ns() - begin < wait {}
    let sent = monotonic_ns();
    connection.send()?;
    let delay = connection.other()?.ato;
    let acked = until(connection, delay, |info| info.unacked == 0)?.0;
    connection.receive()?;
    let took = (acked - sent) as i64;
    match took < delay / AT_ONCE {
        true => Err(ProbeError::Other("the byte was acknowledged at once: nothing was delayed".to_owned())),
        false => Ok(took - delay),
    }
}

fn retransmission(connection: &Connection, _: usize) -> Result<i64, ProbeError> {
    connection.deafen()?;
    connection.send()?;
    let (first, info) = until(connection, connection.info()?.rto, |info| info.retransmits >= 1)?;
    let (second, _) = until(connection, info.rto, |info| info.retransmits >= 2)?;
    Ok((second - first) as i64 - info.rto)
}

fn keepalive(connection: &Connection, _: usize) -> Result<i64, ProbeError> {
    connection.deafen()?;
    connection.keep_alive(KEEP_ALIVE)?;
    let time = KEEP_ALIVE.as_nanos() as i64;
    let first = until(connection, time, |info| info.probes >= 1)?.0;
    let second = until(connection, time, |info| info.probes >= 2)?.0;
    Ok((second - first) as i64 - time)
}

/// When it is first seen, and what is said then; `time` is what the timer takes.
fn until(connection: &Connection, time: i64, is: impl Fn(&Info) -> bool) -> Result<(u64, Info), ProbeError> {
    let from = monotonic_ns();
    loop {
        let info = connection.info()?;
        let now = monotonic_ns();
        if is(&info) {
            return Ok((now, info));
        }
        if (now - from) as i64 > PATIENCE * time.max(1_000_000) {
            return Err(ProbeError::Other(format!("the timer of {} ms did not run out", time / 1_000_000)));
        }
    }
}
