//! The highest rate at which a quantile of the response latency keeps a limit, searched in slices of open loop by the up-and-down
//! method (Dixon and Mood, A method for obtaining and analyzing sensitivity data, J. Amer. Statist. Assoc. 43, 1948):
//! faster after a slice that kept it, slower after one that did not, with steps that halve at each turn. It ends
//! around the rate that keeps the limit half of the time. No suite has it: `tickmark http --find-capacity` asks.

mod search;

use super::clients::Clients;
use super::parameters::{
    AT, BY, BYTES, CONNECTION, CONNECTIONS, HOST, PATH, PID, TARGET, TOKEN, WHOSE, WORKERS,
};
use super::{Due, HttpClientOptions, Served, board, counted, request, server, target};
use board::Times;
use search::{CapacityFound, Search};
use std::net::SocketAddr;
use std::time::Duration;
use tickmark_probe::case::{Parameter, Value};
use tickmark_probe::routine::{Budget, Sink, routine};
use tickmark_probe::spec::Also;
use tickmark_probe::sys::limits;
use tickmark_probe::{Expected, Params, Probe, ProbeError, Spec, Unavailable};
use tickmark_timer::monotonic_ns;
use tickmark_wire::{Better, Group, Headline, Histogram, Nanos, Observations, Part, Unit, Values, names};

const METRIC: &str =
    "http.capacity.{connection}.c{connections}.{bytes}b{by}{place}{whose}{pace}.{quantile}.{limit}us";

macro_rules! of {
    ($end:literal, $title:literal, $unit:ident) => {
        Also {
            metric: concat!(
                "http.capacity.{connection}.c{connections}.{bytes}b{by}{place}{whose}{pace}.{quantile}.{limit}us",
                $end
            ),
            title: concat!(
                "HTTP, {quantile} up to {limit} us, {connection}, {connections} connections, {bytes} bytes{by}{place}{whose}{pace}, ",
                $title
            ),
            unit: Unit::$unit,
            better: Better::Neither,
            headline: Headline::Median,
        }
    };
}

/// In the order of [`measure`].
const ALSO: &[Also] = &[
    of!(".kept", "highest rate of a slice that kept it", Rate),
    of!(".broke", "lowest rate of a slice that did not", Rate),
    of!(".closed", "the next request when an answer has come", Rate),
    of!(".late", "slices in which the client was late", Share),
];

pub(crate) static PROBES: &[Probe] = &[Probe {
    spec: Spec {
        metric: METRIC,
        unit: Unit::Rate,
        better: Better::Higher,
        headline: Headline::Median,
        sleeps: true,
        timed: "slices of GET requests that are due at times of their own, faster after one whose {quantile} of response latency is up to {limit} us, slower after another; the mean rate after some turns",
        source: "Dixon and Mood, J. Amer. Statist. Assoc. 43, 1948",
        expected: Expected::UNKNOWN,
        parameters: &[
            CONNECTION,
            CONNECTIONS,
            BYTES,
            WORKERS,
            BY,
            super::super::packets::PLACE,
            WHOSE,
            AT,
            TOKEN,
            TARGET,
            HOST,
            PATH,
            PID,
            Parameter::choice(
                "pace",
                "requests are due at even times, or as from independent users",
                &[Value::named("fixed", "", ""), Value::named("poisson", ".poisson", ", at random")],
            ),
            Parameter::choice(
                "quantile",
                "of the response latencies of a slice",
                &[
                    Value::plain("p50"),
                    Value::plain("p90"),
                    Value::plain("p95"),
                    Value::plain("p99"),
                    Value::plain("p99.9"),
                ],
            ),
            Parameter::number("limit", "us that it may have", 1, 60_000_000),
        ],
        also: ALSO,
        ..Spec::cost(
            Group::Communication,
            names::CAPACITY,
            "HTTP, highest rate with {quantile} up to {limit} us, {connection}, {connections} connections, {bytes} bytes{by}{place}{whose}{pace}",
        )
    },
    prepare: |_, params| {
        let quantile = params.argument("quantile").trim_start_matches('p').parse::<f64>();
        let quantile =
            quantile.map_err(|_| Unavailable::Missing("a quantile such as p99 is needed".to_owned()))?;
        let goal = Goal { above: 1.0 - quantile / 100.0, limit: params.number("limit") as u64 * 1000 };
        let (place, target) = (params.place()?, target(params)?);
        let params = params.clone();
        Ok(routine(move |budget: &Budget, sink| measure(&params, place, target, goal, budget, sink)))
    },
}];

/// So small a share of the requests may take longer than so many ns.
#[derive(Clone, Copy)]
struct Goal {
    above: f64,
    limit: u64,
}

/// Slices of a run, if nothing came between them.
const SLICES: i64 = 30;
/// In a slice so many have to be able to break the limit.
const LEAST: f64 = 2.0;
/// Of a slice it runs so much before it is looked at: connections are made.
const BEFORE: u32 = 5;
/// Time for outstanding requests at the end of a slice; longer where the limit is.
const REST: Duration = Duration::from_millis(500);

/// How a slice went.
enum Slice {
    Kept,
    Broke,
    /// The client itself was late by more than half of the limit: that is not the server's.
    Late,
}

fn measure(
    params: &Params,
    place: u32,
    target: Option<(SocketAddr, Option<u32>)>,
    goal: Goal,
    budget: &Budget,
    sink: &mut dyn Sink,
) -> Result<(), ProbeError> {
    let keep = params.argument("connection") == "keep-alive";
    let answer = server::answer(params.number("bytes"), keep);
    let server = Served::begin(params, place, target, &answer, budget)?;
    let to = server.at()?;
    let is_own = !matches!(server, Served::Another(..));
    let length = Duration::from_nanos((budget.time.get() / SLICES) as u64);
    let clients = |rate: Option<f64>| {
        let poisson = params.argument("pace") == "poisson";
        let due = rate.map(|rate| Due { apart: 1e9 / rate, poisson, random: monotonic_ns(), next: 0.0 });
        let options = HttpClientOptions {
            to,
            request: request(params, keep),
            known: is_own.then(|| answer.clone()),
            connections: params.number("connections"),
            keep,
            each: 0,
            stamps: true,
            due,
            patience: Clients::ticks(Duration::from_nanos(goal.limit) + REST),
            slowest: false,
        };
        Clients::ask(options, params.cpu, false)
    };
    // Who looks on has to be elsewhere, where the client has a real-time priority.
    limits::pin(&params.allowed)?;
    let closed = closed_loop(clients(None)?, length)?;
    let least = LEAST / goal.above / length.as_secs_f64();
    let mut search = Search::new(closed / 2.0, least);
    let (mut late, until) = (0u32, monotonic_ns() + budget.time.get() as u64);
    while monotonic_ns() < until {
        let rate = search.rate();
        match slice(clients(Some(rate))?, rate, length, goal)? {
            Slice::Kept => search.take(true),
            Slice::Broke => search.take(false),
            Slice::Late => late += 1,
        }
    }
    limits::pin(&[params.cpu])?;
    if late > search.slices() {
        let why = format!(
            "the client was the limit: in {late} of {} slices it was itself late by more than half of the limit; give it a CPU of its own (--place across) or a priority (--priority fifo:50)",
            late + search.slices()
        );
        return Err(ProbeError::Other(why));
    }
    let CapacityFound { rate, kept, broke } = search.found().map_err(ProbeError::Other)?;
    let share = f64::from(late) / f64::from(late + search.slices());
    for (at, value) in [rate, kept, broke, closed, share].into_iter().enumerate() {
        let values = Values { values: vec![value], step: 0.0, over: 0 };
        sink.take(at, Part::Whole, Observations::Values(values), Vec::new());
    }
    Ok(())
}

/// Answers a second where the next request is sent when one has come.
fn closed_loop(mut clients: Clients, length: Duration) -> Result<f64, ProbeError> {
    clients.go_on(length / BEFORE)?;
    let (before, begun) = (clients.done(), monotonic_ns());
    clients.go_on(length)?;
    let (done, wall) = (clients.done() - before, monotonic_ns() - begun);
    if done == 0 {
        let faults = clients.read_board().all_faults();
        return Err(ProbeError::Other(format!("no transaction succeeded: {}", counted(&faults))));
    }
    Ok(done as f64 * 1e9 / wall as f64)
}

fn slice(mut clients: Clients, rate: f64, length: Duration, goal: Goal) -> Result<Slice, ProbeError> {
    clients.go_on(length / BEFORE)?;
    let before = clients.read_board();
    clients.go_on(length)?;
    // What was due longer ago than the limit and could not be sent has broken it.
    let behind = clients.behind().saturating_sub(goal.limit) as f64 * rate / 1e9;
    clients.drain(REST.max(Duration::from_nanos(goal.limit)))?;
    let after = clients.read_board();
    let failed: u64 = after.faults(&before).iter().map(|(_, count)| count).sum();
    let unanswered = behind + (failed + after.open()) as f64;
    let response = after.times(&before, Times::Response);
    let all = response.as_ref().map_or(0, Histogram::total) as f64 + unanswered;
    let over = above(response.as_ref(), goal.limit) as f64 + unanswered;
    let late = above(after.times(&before, Times::Late).as_ref(), goal.limit / 2) as f64;
    Ok(match () {
        () if over <= goal.above * all && all > 0.0 => Slice::Kept,
        () if late > goal.above * all => Slice::Late,
        () => Slice::Broke,
    })
}

/// How many are longer than so many ns, as far as its buckets tell them apart.
fn above(all: Option<&Histogram>, nanos: u64) -> u64 {
    let buckets = all.and_then(Histogram::buckets).unwrap_or_default();
    let longer = |from: Nanos| from.get() as u64 > nanos;
    buckets.into_iter().filter(|(from, _, _)| longer(*from)).map(|(_, _, count)| count).sum()
}
