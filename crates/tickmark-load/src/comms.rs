//! Messages of several sizes to and fro, beside a task that computes: Comms1 and Comms2 of the GENESIS benchmarks, and what they cost the
//! processor (Boosten, Processor load, 1998). No suite has them, as they are told their sizes: `tickmark comms` asks.

mod accounts;
mod computing;
#[cfg_attr(not(feature = "whole"), path = "comms/nowhere.rs")]
mod elsewhere;
mod host;
mod sides;

use accounts::Accounts;
pub use host::serve;
use sides::{Sides, trip};
use tickmark_probe::case::{Parameter, Value};
use tickmark_probe::routine::{Budget, Routine, Sink, routine};
use tickmark_probe::spec::Also;
use tickmark_probe::sys::message::{self, End};
use tickmark_probe::sys::namespace::{Link, Namespaces};
use tickmark_probe::sys::{CallError, limits};
use tickmark_probe::{Expected, Params, Probe, ProbeError, Spec, Unavailable};
use tickmark_timer::monotonic_ns;
use tickmark_wire::{
    Arguments, Better, Group, Headline, Loads, Nanos, Observations, Part, Point, Priority, Unit, names,
};

/// Name of a transport by the medium between the two ends.
struct Called {
    metric: &'static str,
    title: &'static str,
    also: [Also; 2],
}

macro_rules! called {
    ($metric:literal, $title:literal) => {{
        const METRIC: &str =
            concat!("comms.{benchmark}.{over}", $metric, "{stream}{peer}{place}{load}{step}{class}");
        const TITLE: &str =
            concat!("{benchmark} over {over}", $title, "{stream}{peer}{place}{load}{step}{class}");
        const fn cpu(metric: &'static str, title: &'static str) -> Also {
            Also { metric, title, unit: Unit::Share, better: Better::Lower, headline: Headline::Median }
        }
        &Called {
            metric: METRIC,
            title: TITLE,
            also: [
                cpu(
                    concat!(
                        "comms.{benchmark}.{over}",
                        $metric,
                        "{stream}{peer}{place}{load}{step}{class}.cpu"
                    ),
                    concat!(
                        "{benchmark} over {over}",
                        $title,
                        "{stream}{peer}{place}{load}{step}{class}, CPU time of its tasks"
                    ),
                ),
                cpu(
                    concat!(
                        "comms.{benchmark}.{over}",
                        $metric,
                        "{stream}{peer}{place}{load}{step}{class}.cpu_there"
                    ),
                    concat!(
                        "{benchmark} over {over}",
                        $title,
                        "{stream}{peer}{place}{load}{step}{class}, CPU time of its tasks there"
                    ),
                ),
            ],
        }
    }};
}

/// Over this machine's own network, or to another host; between two network namespaces; the same with a limit of the rate.
const OWN: &Called = called!("", "");
const VETH: &Called = called!(".veth{mtu}{offloads}{rps}", ", veth {mtu}{offloads}{rps}");
const LIMITED: &Called =
    called!(".veth{mtu}{offloads}{rps}.at{rate}", ", veth {mtu}{offloads}{rps} at {rate} Mbit/s");

pub(super) static PROBES: &[Probe] = &[Probe {
    spec: Spec {
        metric: OWN.metric,
        headline: Headline::First,
        sleeps: true,
        timed: "{benchmark} over {over}{stream}{peer}{place}{load}{step}{class}: messages of each size, the whole way there and back",
        source: "Hockney, GENESIS and PARKBENCH (COMMS1, COMMS2); processor-load.txt",
        expected: Expected::UNKNOWN,
        parameters: &[
            Parameter::choice(
                "benchmark",
                "comms1: a message goes there and comes back; comms2: both send and receive, and return what they got",
                &[Value::named("comms1", "comms1", "Comms1"), Value::named("comms2", "comms2", "Comms2")],
            ),
            Parameter::choice(
                "over",
                "what carries them",
                &[
                    Value::named("tcp", "tcp", "TCP"),
                    Value::named("udp", "udp", "UDP"),
                    Value::named("unix", "unix", "AF_UNIX stream"),
                    Value::named("unix-dgram", "unix_dgram", "AF_UNIX datagrams"),
                    Value::named("pipe", "pipe", "pipes"),
                    Value::named("memory", "memory", "shared memory and futex"),
                    Value::named("vsock", "vsock", "AF_VSOCK"),
                ],
            ),
            Parameter::choice(
                "peer",
                "what the other side is",
                &[Value::named("process", "", ""), Value::named("thread", ".thread", ", a thread")],
            ),
            Parameter::choice(
                "place",
                "the CPU of the other side",
                &[
                    Value::named("same", "", ""),
                    Value::named("across", ".across", ", across CPUs"),
                    Value::named("host", ".host", ", with another host"),
                ],
            ),
            Parameter::choice("at", "the address of the other host, where `tickmark comms --serve` listens", &[]),
            Parameter::choice("token", "the file with the token of that host; empty: TICKMARK_TOKEN has it", &[]),
            Parameter::choice(
                "load",
                "what computes beside them, on each CPU",
                &[
                    Value::named("none", "", ""),
                    Value::named("thread", ".beside_thread", ", beside a computing thread"),
                    Value::named("process", ".beside_process", ", beside a computing process"),
                ],
            ),
            Parameter::choice(
                "step",
                "how it computes",
                &[
                    Value::named("multiply", "", ""),
                    Value::named("increment", ".increment", " (memory counter)"),
                ],
            ),
            Parameter::choice(
                "class",
                "how the communicating tasks are scheduled",
                &[
                    Value { value: "plan", name: "", title: "", timed: "" },
                    Value::named("other", ".other", ", ordinary priority"),
                    Value::named("fifo", ".fifo", ", fifo priority"),
                ],
            ),
            Parameter::choice(
                "link",
                "what lies between: this machine's own network, or a veth pair between two network namespaces (tcp, udp)",
                &[Value::named("own", "", ""), Value::named("veth", ".veth", ", veth")],
            ),
            Parameter::choice("mtu", "bytes of a packet on that pair", &[Value::plain("1500")]).or_numbers(68, 65_535),
            Parameter::choice(
                "offloads",
                "whether the kernel may join and split segments there and leave out checksums",
                &[Value::named("on", "", ""), Value::named("off", ".plain", ", offloads off")],
            ),
            Parameter::choice(
                "rps",
                "whether what comes there is handled on the CPU of who reads it (receive packet steering), and not on the sender's",
                &[Value::named("off", "", ""), Value::named("on", ".rps", ", RPS")],
            ),
            Parameter::choice("rate", "Mbit a second that pass there each way at most, by a token bucket (tc-tbf(8)); 0: as many as do", &[Value::named("0", "", "")]).or_numbers(1, 100_000),
            Parameter::choice(
                "stream",
                "what else goes to the other side: nothing, or a TCP stream as fast as it can",
                &[Value::named("none", "", ""), Value::named("yes", ".beside_stream", ", beside a stream")],
            ),
            Parameter::choice("sizes", "bytes of the messages, ascending, with spaces between", &[]),
        ],
        also: &OWN.also,
        tune: |spec, arguments: &Arguments| {
            let is = |name: &str, value: &str| arguments.get(name).is_some_and(|told| told == value);
            let both = !is("place", "same");
            let called = match is("link", "veth") {
                true if !is("rate", "0") => LIMITED,
                true => VETH,
                false => OWN,
            };
            (spec.metric, spec.title) = (called.metric, called.title);
            spec.also = if both { &called.also } else { &called.also[..1] };
        },
        ..Spec::cost(Group::Communication, names::COMMS, OWN.title)
    },
    prepare: |_, params| ready(params),
}];

/// The priority of `fifo`.
const FIFO: u8 = 50;
/// Windows of each size, and parts of its time that are not in them: the first trips.
const WINDOWS: i64 = 4;
const PARTS: i64 = WINDOWS + 1;
/// Round trips of each size that are kept at most; of more, one in so many.
const KEPT: usize = 1_000;
/// First trips, which are not kept: at most so many, and of the size's time a part.
const FIRST: u64 = 50;
/// The largest message.
const MOST: usize = 64 << 20;

fn ready(params: &Params) -> Result<Box<dyn Routine>, Unavailable> {
    let over = params.argument("over");
    let missing = |why: String| Unavailable::Missing(why);
    let sizes: Result<Vec<usize>, _> = params.argument("sizes").split_whitespace().map(str::parse).collect();
    let sizes = sizes.ok().filter(|all| !all.is_empty() && all.is_sorted() && all[0] > 0);
    let sizes = sizes.ok_or_else(|| missing(format!("sizes={:?} are none", params.argument("sizes"))))?;
    let most = sizes.last().copied().unwrap_or(1);
    let largest = match over {
        "udp" => message::MOST_UDP,
        "unix-dgram" => message::MOST_UNIX,
        _ => MOST,
    };
    if most > largest {
        return Err(missing(format!("a message of {most} bytes: {over} takes at most {largest}")));
    }
    let there = params.place()?;
    set_class(params.argument("class")).map_err(missing)?;
    if params.argument("place") == "host"
        && (!["tcp", "udp"].contains(&over)
            || params.argument("peer") != "process"
            || params.argument("link") != "own"
            || params.argument("stream") != "none")
    {
        return Err(missing(
            "another host takes tcp and udp, its other side is a process, and no stream goes beside"
                .to_owned(),
        ));
    }
    // What cannot be made here is known before anything is measured.
    let link = match params.argument("link") {
        "veth" => Some(Namespaces::new(&Link {
            mtu: params.number("mtu") as u32,
            offloads: params.argument("offloads") == "on",
            rate: params.number("rate") as u64 * 1_000_000 / 8,
            steered: (params.argument("rps") == "on").then_some([params.cpu, there]),
        })?),
        _ => None,
    };
    pair(link.as_ref(), over, most)?;
    let (params, both) = (params.clone(), params.argument("benchmark") == "comms2");
    Ok(routine(move |budget: &Budget, sink| {
        let mut sides = Sides::start(&params, link.as_ref(), there, most, both, budget)?;
        match measure(&mut sides, &params, there, &sizes, both, budget, sink) {
            Ok(mut loads) => {
                loads.extend(sides.end()?);
                for (number, loads) in loads.into_iter().enumerate() {
                    sink.take(number + 1, Part::Whole, Observations::Loads(Box::new(loads)), Vec::new());
                }
                Ok(())
            }
            // The other side may wait for what does not come any more: it ends with this process.
            Err(error) => {
                let error = sides.failure_reason(error);
                std::mem::forget(sides);
                Err(error)
            }
        }
    }))
}

/// Schedules this task as the parameter says; why that is refused, with the file that refuses it.
fn set_class(class: &str) -> Result<(), String> {
    let set = match class {
        "other" => limits::set_priority(Priority::Other),
        "fifo" => limits::set_priority(Priority::Fifo(FIFO)),
        _ => Ok(()),
    };
    set.map_err(|error| format!("{class} is refused: {}", limits::refused_because(error.errno)))
}

/// Two connected ends, over this machine's own network or between two.
fn pair(link: Option<&Namespaces>, over: &str, most: usize) -> Result<(End, End), CallError> {
    match link {
        Some(both) => message::pair_between(both, over),
        None => message::pair(over, most),
    }
}

fn measure(
    sides: &mut Sides,
    params: &Params,
    there: u32,
    sizes: &[usize],
    both: bool,
    budget: &Budget,
    sink: &mut dyn Sink,
) -> Result<Vec<Loads>, ProbeError> {
    let mut accounts = Accounts::begin(sides.tasks(), params.cpu, there, budget);
    sides.wait()?;
    let share = budget.time.get() / (sizes.len() as i64 * PARTS);
    let (mut out, mut got, mut back) = (Vec::new(), Vec::new(), Vec::new());
    let mut curve = Vec::with_capacity(sizes.len());
    for size in sizes {
        // Other bytes in each place and for each size: what comes back is looked at.
        out.clear();
        out.extend((0..*size).map(|at| (at * 7 + size) as u8));
        for buffer in [&mut got, &mut back] {
            buffer.clear();
            buffer.resize(*size, 0);
        }
        // How many trips a window has room for, by the first ones.
        let begun = monotonic_ns();
        let mut first = 0;
        while first < FIRST && (first < 3 || ((monotonic_ns() - begun) as i64) < share / 2) {
            sides.announce(*size, 1, false)?;
            trip(&mut sides.end, both, &out, &mut got, &mut back)?;
            sides.settle()?;
            first += 1;
        }
        let one = ((monotonic_ns() - begun) / first).max(1);
        let trips = (share as u64 / one).clamp(1, 10_000_000);
        let mut kept = Vec::with_capacity(KEPT + 8);
        let every = (trips as usize * WINDOWS as usize).div_ceil(KEPT).max(1);
        for _ in 0..WINDOWS {
            if sides.is_elsewhere() {
                sides.announce(*size, trips, true)?;
                accounts.open(sides.tasks());
            } else {
                accounts.open(sides.tasks());
                sides.announce(*size, trips, true)?;
            }
            let mut before = monotonic_ns();
            for number in 0..trips as usize {
                trip(&mut sides.end, both, &out, &mut got, &mut back)?;
                let now = monotonic_ns();
                // In the first one the other side has yet to hear what comes.
                if (number > 0 || trips == 1) && number % every == 0 {
                    kept.push(Nanos::new((now - before) as i64));
                }
                before = now;
            }
            accounts.close(sides.tasks(), *size as u64, trips);
            sides.settle()?;
        }
        if back != out {
            return Err(ProbeError::Other(format!("a message of {size} bytes came back otherwise")));
        }
        curve.push(Point { at: *size as u64, observations: Observations::Latencies(kept) });
    }
    sink.observe(Part::Whole, Observations::Curve(curve), Vec::new());
    Ok(accounts.loads())
}
