//! Transactions over HTTP: a server with workers on one socket and a client with many connections (http and httpd of FreeBSD's netrate, which
//! hz-and-http.txt ran), or the client against a server that runs already. No suite has it, as it is told how much: `tickmark http` asks.

mod answer;
mod board;
#[cfg(feature = "whole")]
pub(super) mod capacity;
mod client;
#[cfg(feature = "whole")]
pub(super) mod clients;
#[cfg(feature = "whole")]
mod elsewhere;
pub(super) mod host;
mod parameters;
#[cfg(feature = "whole")]
mod recorded;
mod served;
mod server;
#[cfg_attr(not(feature = "whole"), path = "http/small.rs")]
mod whole;

use super::costs::Costs;
use board::{Board, Fault, Times};
use client::{Due, HttpClientOptions};
use parameters::{AT, BY, BYTES, CONNECTION, CONNECTIONS, HOST, PATH, PID, TARGET, TOKEN, WHOSE, WORKERS};
use served::Served;
use std::net::SocketAddr;
use std::time::Duration;
use tickmark_probe::case::{Parameter, Value};
use tickmark_probe::routine::{Budget, Sink, routine};
use tickmark_probe::spec::Also;
use tickmark_probe::sys::limits;
use tickmark_probe::sys::peer::Peer;
use tickmark_probe::{Expected, Params, Probe, ProbeError, Spec, Unavailable};
use tickmark_timer::monotonic_ns;
use tickmark_wire::{
    Better, Group, Headline, Nanos, Observations, Part, Tally, Unit, Values, Windows, names,
};

macro_rules! of {
    ($end:literal, $title:literal, $unit:ident, $better:ident) => {
        Also {
            metric: concat!(
                "http.{connection}{each}.c{connections}.{bytes}b{by}{place}{whose}{pace}{rate}{latency}",
                $end
            ),
            title: concat!(
                "HTTP, {connection}{each}, connections: {connections}, {bytes} bytes{by}{place}{whose}{pace}{rate}{latency}, ",
                $title
            ),
            unit: Unit::$unit,
            better: Better::$better,
            headline: Headline::Median,
        }
    };
}

/// In the order of [`measure`].
const ALSO: &[Also] = &[
    of!(".cpu_server", "CPU time of the server for each", Time, Lower),
    of!(".cpu_client", "CPU time of the client for each", Time, Lower),
    of!(".system_server", "of the server's, in the kernel", Share, Neither),
    of!(".system_client", "of the client's, in the kernel", Share, Neither),
    of!(".wait_server", "the server, runnable without a CPU for each", Time, Lower),
    of!(".wait_client", "the client, runnable without a CPU for each", Time, Lower),
    of!(".switches", "context switches for each", Count, Lower),
    of!(".interrupts", "interrupts for each", Count, Lower),
    of!(".busy_server", "the server, CPUs used", Share, Neither),
    of!(".busy_client", "the client, CPUs used or waited for", Share, Neither),
    of!(".clock_reads", "clock reads of the client for each", Count, Neither),
    of!(".failed", "failed", Share, Lower),
    of!(".faults", "what failed", Count, Lower),
    of!(".source_reads", "reads of the clock source tickmark for each", Count, Neither),
    of!(".latency", "service latency", Time, Lower),
    of!(".response", "response latency", Time, Lower),
    of!(".late", "lateness of the client", Time, Lower),
    of!(".missed", "due and not sent", Share, Lower),
];
/// Of a load that is recorded.
const RECORDED: &[Also] = &[
    of!(".latency", "service latency", Time, Neither),
    of!(".slowest", "the slowest, with the kernel's events", Time, Neither),
];
/// Those without latency, and those without a rate.
const LENGTHS: [usize; 2] = [14, 15];

pub(super) static PROBES: &[Probe] = &[Probe {
    spec: Spec {
        metric: "http.{connection}{each}.c{connections}.{bytes}b{by}{place}{whose}{pace}{rate}{latency}",
        unit: Unit::Rate,
        better: Better::Higher,
        headline: Headline::Median,
        sleeps: true,
        timed: "GET requests, {connection}{each}, connections: {connections}, {bytes} bytes{by}{place}{whose}{pace}{rate}{latency}; those with the right answer",
        source: "Watson, FreeBSD tools/tools/netrate (http, httpd); hz-and-http.txt",
        expected: Expected::UNKNOWN,
        parameters: &[
            CONNECTION,
            Parameter::choice(
                "each",
                "requests after which the client closes one that is kept; 0: never",
                &[Value::named("0", "", "")],
            )
            .or_numbers(1, 1_000_000),
            CONNECTIONS,
            BYTES,
            WORKERS,
            BY,
            super::packets::PLACE,
            WHOSE,
            AT,
            TOKEN,
            TARGET,
            HOST,
            PATH,
            PID,
            Parameter::choice(
                "pace",
                "closed: the next request when an answer has come; fixed, poisson: at times of their own",
                &[
                    Value::named("closed", "", ""),
                    Value::named("fixed", ".fixed", ", a second: "),
                    Value::named("poisson", ".poisson", ", a second at random: "),
                ],
            ),
            Parameter::choice(
                "rate",
                "requests a second at times of their own",
                &[Value::named("0", "", "")],
            )
            .or_numbers(1, 10_000_000),
            Parameter::choice(
                "latency",
                "whether it is measured; without it the client reads no clock",
                &[
                    Value::named("yes", "", ""),
                    Value::named("no", ".counted", ", counted alone"),
                    Value::named("recorded", ".recorded", ", with the kernel's events recorded"),
                ],
            ),
            Parameter::choice(
                "patience",
                "seconds after which an answer that has not come is none",
                &[Value::plain("5")],
            )
            .or_numbers(1, 3600),
        ],
        also: ALSO,
        tune: |spec, arguments| {
            let is = |name: &str, value: &str| arguments.get(name).is_some_and(|given| given == value);
            let count = match () {
                () if is("latency", "no") => LENGTHS[0],
                () if is("pace", "closed") => LENGTHS[1],
                () => ALSO.len(),
            };
            spec.also = if is("latency", "recorded") { RECORDED } else { &ALSO[..count] };
            // What was due in a window that the machine lost comes in the next ones: the usual window has less than the rate.
            if !is("pace", "closed") {
                spec.headline = Headline::Mean;
            }
        },
        ..Spec::cost(
            Group::Communication,
            names::HTTP,
            "HTTP, {connection}{each}, connections: {connections}, {bytes} bytes{by}{place}{whose}{pace}{rate}{latency}",
        )
    },
    prepare: |_, params| {
        let missing = |why: &str| Unavailable::Missing(why.to_owned());
        if (params.argument("pace") == "closed") != (params.number("rate") == 0) {
            return Err(missing("a rate and pace=fixed or pace=poisson belong together"));
        }
        if params.argument("pace") == "poisson" && !cfg!(feature = "whole") {
            return Err(missing("this small agent sends at even times alone"));
        }
        if params.argument("pace") != "closed" && params.argument("latency") == "no" {
            return Err(missing("requests at times of their own take a clock: latency=yes"));
        }
        let (place, target) = (params.place()?, target(params)?);
        let params = params.clone();
        Ok(routine(move |budget: &Budget, sink| measure(&params, place, target, budget, sink)))
    },
}];

/// Where a server listens that is not ours, and its process.
fn target(params: &Params) -> Result<Option<(SocketAddr, Option<u32>)>, Unavailable> {
    if params.argument("whose") == "url" {
        return whole::target(params).map(Some).map_err(Unavailable::Missing);
    }
    if params.argument("connection") == "keep-alive"
        && params.number("workers") < params.number("connections")
    {
        let why = "a worker holds the connection that is kept: give as many workers as connections";
        return Err(Unavailable::Missing(why.to_owned()));
    }
    Ok(None)
}

/// How long a window is; a tick for the client.
const WINDOW: u64 = 100_000_000;
/// Of its time it runs so much before it is looked at, from the first answer on.
const BEFORE: u64 = 10;
/// The first answer has so many ns to come, and the last ones: within the limit of the run, which is ten times its time and three seconds.
fn rest(budget: &Budget) -> u64 {
    (budget.time.get() as u64 * 4 + 1_000_000_000).min(10_000_000_000)
}

fn request(params: &Params, keep: bool) -> Vec<u8> {
    let or = |given: &str, usual: &str| if given.is_empty() { usual.to_owned() } else { given.to_owned() };
    let (path, host) = (or(params.argument("path"), "/"), or(params.argument("host"), "127.0.0.1"));
    let connection = if keep { "keep-alive" } else { "close" };
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: tickmark\r\nAccept: */*\r\nConnection: {connection}\r\n\r\n")
        .into_bytes()
}

fn due(params: &Params) -> Option<Due> {
    let rate = params.number("rate");
    let poisson = params.argument("pace") == "poisson";
    (rate > 0).then(|| Due { apart: 1e9 / rate as f64, poisson, random: monotonic_ns(), next: 0.0 })
}

/// A server with its client, which asks.
struct Load {
    server: Served,
    #[cfg_attr(not(feature = "whole"), expect(dead_code, reason = "no load is recorded"))]
    place: u32,
    board: Board,
    client: Peer,
    options: HttpClientOptions,
}

impl Load {
    fn begin(
        params: &Params,
        place: u32,
        target: Option<(SocketAddr, Option<u32>)>,
        budget: &Budget,
    ) -> Result<Self, ProbeError> {
        let keep = params.argument("connection") == "keep-alive";
        let answer = server::answer(params.number("bytes"), keep);
        let server = Served::begin(params, place, target, &answer, budget)?;
        let board = Board::new()?;
        let options = HttpClientOptions {
            to: server.at()?,
            request: request(params, keep),
            known: (!matches!(server, Served::Another(..))).then_some(answer),
            connections: params.number("connections"),
            keep,
            each: params.number("each") as u64,
            stamps: params.argument("latency") != "no",
            due: due(params),
            patience: (params.number("patience") as u64 * 1_000_000_000).div_ceil(WINDOW),
            slowest: params.argument("latency") == "recorded",
        };
        let client = Peer::start(|| {
            limits::pin(&[params.cpu])?;
            // It is woken when a request is due.
            limits::set_slack(Nanos::new(1))?;
            client::run(&options, &board)?;
            // Its end would end the run: it is ended.
            loop {
                std::thread::park();
            }
        })?;
        Ok(Self { server, place, board, client, options })
    }
}

fn measure(
    params: &Params,
    place: u32,
    target: Option<(SocketAddr, Option<u32>)>,
    budget: &Budget,
    sink: &mut dyn Sink,
) -> Result<(), ProbeError> {
    let mut load = Load::begin(params, place, target, budget)?;
    if params.argument("latency") == "recorded" {
        return whole::recorded(&mut load, params, budget, sink);
    }
    let Load { server, board, client, options, .. } = &mut load;
    let board = &*board;
    warm(board, budget)?;
    // Interrupts are of both sides' CPUs, or of none.
    let both = [params.cpu, place];
    let cpus = match (&server, both[0] == both[1]) {
        (Served::Another(..), _) => &both[..0],
        (Served::Host(_), _) | (Served::Own(_), true) => &both[..1],
        (Served::Own(_), false) => &both[..],
    };
    // Of a client with a real-time priority, who looks has to be elsewhere.
    limits::pin(&params.allowed)?;
    let (first, there) = (server.processes(), server.books()?);
    let (before, begun, source) = (board.read(), monotonic_ns(), source_reads());
    let costs = Costs::begin(first, client.pid(), cpus);
    let windows = look(board, begun, budget.time.get() as u64);
    let last = server.processes();
    let (after, wall) = (board.read(), monotonic_ns() - begun);
    let source = source_reads().zip(source).map(|(after, before)| after - before);
    let mut costs = costs.end(&last);
    if let Some((before, after)) = there.zip(server.books()?) {
        let (account, interrupts) = served::between(&before, &after, wall);
        costs = costs.of_another_host(account, interrupts);
    }
    let behind = begun.saturating_add(wall).saturating_sub(board.next()) as f64;
    board.drain();
    let all = drained(board, options.patience.min(rest(budget) / WINDOW));
    board.stop();
    limits::pin(&[params.cpu])?;
    let (done, mut faults) = (after.done(&before), all.faults(&before));
    if all.open() > 0 {
        faults.push((Fault::Silent, all.open()));
    }
    if done == 0 {
        return Err(ProbeError::Other(format!("no transaction succeeded: {}", counted(&faults))));
    }
    sink.observe(Part::Whole, Observations::Windows(windows), Vec::new());
    let mut one = |at: usize, value: Option<f64>| {
        if let Some(value) = value {
            let values = Values { values: vec![value], step: 0.0, over: 0 };
            sink.take(at, Part::Whole, Observations::Values(values), Vec::new());
        }
    };
    for (at, value) in costs.values(done as f64, wall as f64).into_iter().enumerate() {
        one(at + 1, value);
    }
    one(14, source.map(|reads| reads as f64 / done as f64));
    one(11, Some(after.reads(&before) as f64 / done as f64));
    let failed: u64 = faults.iter().map(|(_, count)| count).sum();
    one(12, Some(failed as f64 / (done + failed) as f64));
    if let Some(due) = &options.due {
        // What is due and waits for a connection.
        let behind = behind / due.apart;
        one(18, Some(behind / (behind + after.sent(&before) as f64)));
    }
    let (names, count) = faults.iter().map(|(fault, count)| (fault.words().to_owned(), count)).unzip();
    sink.take(13, Part::Whole, Observations::Tally(Tally { names, count }), Vec::new());
    for (at, times) in [(15, Times::Service), (16, Times::Response), (17, Times::Late)] {
        if let Some(times) = all.times(&before, times) {
            sink.take(at, Part::Whole, Observations::Histogram(times), Vec::new());
        }
    }
    Ok(())
}

/// Reads so far of the clock source that counts its own (kernel/tickmark_clock), where it is there.
fn source_reads() -> Option<u64> {
    let reads = std::fs::read_to_string("/sys/module/tickmark_clock/parameters/reads");
    reads.ok()?.trim().parse().ok()
}

/// In words.
fn counted(faults: &[(Fault, u64)]) -> String {
    let all: Vec<String> = faults.iter().map(|(fault, count)| format!("{count} {}", fault.words())).collect();
    if all.is_empty() { "no answer came".to_owned() } else { all.join(", ") }
}

/// Waits for the first answer, and then for a part of the time.
fn warm(board: &Board, budget: &Budget) -> Result<(), ProbeError> {
    let begun = monotonic_ns();
    let none = board.read();
    let tick = |nanos| {
        std::thread::sleep(Duration::from_nanos(nanos));
        board.tick();
    };
    while board.done() == 0 {
        tick(WINDOW);
        let faults = board.read().faults(&none);
        let several = faults.iter().map(|(_, count)| count).sum::<u64>() > 3;
        if board.done() == 0 && (several || monotonic_ns() - begun > rest(budget)) {
            return Err(ProbeError::Other(format!("no transaction succeeded: {}", counted(&faults))));
        }
    }
    tick((budget.time.get() as u64 / BEFORE).min(WINDOW * 5));
    Ok(())
}

/// Waits until every request that was sent has its answer, or has failed; what there was then.
fn drained(board: &Board, patience: u64) -> board::BoardReading {
    for _ in 0..patience + 3 {
        let observed = board.read();
        if observed.open() == 0 {
            return observed;
        }
        std::thread::sleep(Duration::from_nanos(WINDOW));
        board.tick();
    }
    board.read()
}

/// Counts what is done in each window.
fn look(board: &Board, begun: u64, time: u64) -> Windows {
    let mut windows = Windows { start: Vec::new(), length: Vec::new(), count: Vec::new() };
    let (mut opened, mut had) = (begun, board.done());
    while opened - begun < time {
        std::thread::sleep(Duration::from_nanos(WINDOW.min(begun + time - opened)));
        let (now, done) = (monotonic_ns(), board.done());
        board.tick();
        windows.start.push(Nanos::new((opened - begun) as i64));
        windows.length.push(Nanos::new((now - opened) as i64));
        windows.count.push(done - had);
        (opened, had) = (now, done);
    }
    windows
}
