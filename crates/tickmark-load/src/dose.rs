//! Cost of a slower clock for a server: its clock reads are made longer by known doses, in a random order in each block, while it serves;
//! the cost of a transaction is compared with the counted reads. No suite has it, as it has to be told the server: `tickmark dose` asks.

mod doser;
mod load;
pub(super) mod slices;

use super::clock_reads::program;
use super::preloaded::{NOT_LOADED, Preloaded};
use super::sql::database::Kind;
use super::sql::server::{self, Planned};
use super::started::{self, Started};
use doser::{Doser, Module};
use load::Load;
use slices::{Dose, Slices};
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tickmark_probe::case::{Parameter, Value};
use tickmark_probe::routine::{Budget, Sink, routine};
use tickmark_probe::spec::Also;
use tickmark_probe::sys::limits;
use tickmark_probe::{Expected, Params, Probe, ProbeError, Spec, Unavailable};
use tickmark_wire::{Better, Group, Headline, Observations, Part, Tally, Unit, Values, names};

const fn also(metric: &'static str, title: &'static str, unit: Unit) -> Also {
    Also { metric, title, unit, better: Better::Neither, headline: Headline::Median }
}

/// In the order of [`observe`].
const ALSO: &[Also] = &[
    also(names::DOSE_ASKED, "longer clock reads, asked", Unit::Time),
    also(names::DOSE_DELIVERED, "longer clock reads, delivered", Unit::Time),
    also(names::DOSE_READS, "longer clock reads, clock reads for each transaction", Unit::Count),
    also(names::DOSE_RATE, "longer clock reads, transactions", Unit::Rate),
    also(names::DOSE_COST, "longer clock reads, what a read, an operation and a switch cost", Unit::Time),
    also(names::DOSE_FAULTS, "longer clock reads, what failed", Unit::Count),
    also(names::DOSE_BLIND, "longer clock reads, what is not made longer", Unit::Count),
    also(names::DOSE_CPU, "longer clock reads, CPU time of the timed ones", Unit::Time),
    also(names::DOSE_TIMED, "longer clock reads, timed by the thread's own clock", Unit::Count),
    also(names::DOSE_SLEEPS, "longer clock reads, switches that a transaction asks for", Unit::Count),
    also(names::DOSE_FORCED, "longer clock reads, switches forced in a transaction", Unit::Count),
];

pub(super) static PROBES: &[Probe] = &[Probe {
    spec: Spec {
        metric: names::DOSE,
        better: Better::Lower,
        headline: Headline::Median,
        timed: "CPU time of a server's processes for each transaction, or a number of the user's, while its clock reads take longer by doses in random order",
        source: "ld.so(8), LD_PRELOAD; proc_pid_schedstat(5)",
        expected: Expected::UNKNOWN,
        sleeps: true,
        roams: true,
        weight: 1,
        parameters: &[
            Parameter::text("words", "the server and its arguments, with a NUL between them"),
            Parameter::text("folder", "where it runs; empty: in a folder of the run's"),
            Parameter::text(
                "target",
                "where it speaks HTTP: ADDRESS:PORT; printed: where its first line says; empty: it is not asked over HTTP",
            ),
            Parameter::choice(
                "connection",
                "close: a new one for each request; keep-alive: the same",
                &[Value::plain("close"), Value::plain("keep-alive")],
            ),
            Parameter::number("connections", "at the same time", 1, 1024),
            Parameter::text("host", "the name that it is asked for"),
            Parameter::text("path", "the page that it is asked for"),
            Parameter::choice(
                "start",
                "a database of our own instead of the server, which our clients ask",
                &[Value::plain("none"), Value::plain("mariadb"), Value::plain("postgres")],
            ),
            super::sql::LOAD,
            Parameter::number("rows", "of its table", 1, 9_999_999),
            Parameter::text("busy", "a shell command that keeps it busy"),
            Parameter::text("count", "a shell command that prints how many transactions were done so far"),
            Parameter::text(
                "number",
                "a shell command that prints how long a transaction took, instead of its CPU time",
            ),
            Parameter::number("unit", "ns in one of that number", 1, 1_000_000_000),
            Parameter::text(
                "doses",
                "ns by which reads take longer, with commas or blanks between them; syscall: each is a system call",
            ),
            Parameter::choice(
                "op",
                "doses are not ns: so many operations of this kind on timestamps more for each read",
                &[
                    Value::plain("none"),
                    Value::plain("normalise"),
                    Value::plain("compare"),
                    Value::plain("bintime"),
                ],
            ),
            Parameter::choice(
                "by",
                "what makes reads longer: a library before the server's own, or the clock source of the whole machine (kernel/tickmark_clock)",
                &[Value::plain("preload"), Value::plain("kernel")],
            ),
            Parameter::text(
                "sources",
                "what a read costs by each clock source of the machine: NAME=NS, with commas between them",
            ),
            Parameter::number("slice", "ms of each dose in a block", 20, 600_000),
            Parameter::number("blocks", "each with every dose once", 1, 10_000),
            Parameter::choice(
                "place",
                "the CPU of the server and of our client: the same; another one; any for the server",
                &[Value::plain("same"), Value::plain("across"), Value::plain("any")],
            ),
        ],
        also: ALSO,
        ..Spec::cost(Group::Machine, names::DOSE, "a transaction of a server with longer clock reads")
    },
    prepare: |_, params| {
        let missing = |why: String| Unavailable::Missing(why);
        let started = Kind::from_name(params.argument("start"));
        let words: Vec<String> = match started {
            Kind::Sqlite => params.argument("words").split('\0').map(str::to_owned).collect(),
            kind => vec![server::programs(kind).map_err(missing)?[1].display().to_string()],
        };
        let name = words.first().filter(|word| !word.is_empty());
        let name = name.ok_or_else(|| missing("no server was named".to_owned()))?;
        let by_kernel = params.argument("by") == "kernel";
        let mut blind = program::blind(name, params.argument("folder")).map_err(missing)?;
        // The kernel's clock source has the reads of every program, but for those of the processor's counter.
        blind.retain(|why| !by_kernel || matches!(why, program::Blind::Counter));
        if let Some(why) = blind.iter().find(|why| why.is_all()) {
            let why = why.words();
            return Err(missing(format!(
                "{name} {why}: nothing can be loaded before it that makes reads longer"
            )));
        }
        if !tickmark_timer::has_counter() {
            return Err(missing("this processor has no counter that programs read".to_owned()));
        }
        let doses = slices::doses(params.argument("doses"), params.argument("op")).map_err(missing)?;
        if by_kernel {
            Module::find(&doses, slice(params)).map_err(missing)?;
        }
        params.tiny()?;
        let server = params.place()?;
        let params = params.clone();
        Ok(routine(move |_: &Budget, sink| measure(&words, &params, server, (&doses, &blind), sink)))
    },
}];

/// A server may take so long until it listens.
const BEGINS: Duration = Duration::from_secs(30);
/// Bytes of the line that says where.
const LINE: u64 = 4096;
/// It is asked so long before it is looked at.
const BEFORE: Duration = Duration::from_secs(1);

fn measure(
    words: &[String],
    params: &Params,
    cpu: u32,
    (doses, blind): (&[Dose], &[program::Blind]),
    sink: &mut dyn Sink,
) -> Result<(), ProbeError> {
    let [plain, call] = slices::cost_of_a_read()?;
    let switch = slices::cost_of_a_switch();
    let switch = switch.map_err(|error| ProbeError::Other(format!("switches between threads: {error}")))?;
    let cost = [plain, call, slices::cost_of_an_operation(params.argument("op")), switch];
    let is_printed = params.argument("target") == "printed";
    let output = if is_printed { Stdio::piped() } else { Stdio::null() };
    let cpus = if params.argument("place") == "any" { params.allowed.clone() } else { vec![cpu] };
    let planned = match Kind::from_name(params.argument("start")) {
        Kind::Sqlite => None,
        kind => Some(Planned::new(kind).map_err(ProbeError::Other)?),
    };
    let (words, user, folder) = match &planned {
        Some(planned) => (&planned.words[..], planned.user, ""),
        None => (words, None, params.argument("folder")),
    };
    let mut server = if params.argument("by") == "kernel" {
        let module = Module::find(doses, slice(params)).map_err(ProbeError::Other)?;
        Doser::Kernel(started::plain(words, folder, &cpus, output, user)?, module)
    } else {
        Doser::Preload(Preloaded::start(words, folder, false, &cpus, output, user)?)
    };
    let target = target(params.argument("target"), server.server())?;
    limits::pin(&params.allowed)?;
    let mut load = match &planned {
        Some(planned) => Load::of_database(planned, params, server.server())?,
        None => Load::begin(params, target, server.server())?,
    };
    load.go_on(BEFORE)?;
    if let Doser::Preload(all) = &server
        && all.preload.counts().is_ok_and(|counts| counts.loaded == 0)
    {
        return Err(all.started.wrong(NOT_LOADED));
    }
    // Where both have a CPU of their own, these are kept awake: how deep an idle CPU sleeps, and how late it wakes, depends on the dose.
    let spinners = if params.argument("place") == "same" { Vec::new() } else { params.allowed.clone() };
    let _spinners = Spinners::start(&spinners)?;
    let all = Slices::new(&mut server, &mut load, slice(params), cost)?.run(params.number("blocks"), doses);
    let faults = load.failed();
    // A client may wait for the server: it ends first, or with it.
    load.stop();
    drop(server);
    drop(load);
    limits::pin(&[params.cpu])?;
    observe(&all?, cost, faults, blind, sink);
    Ok(())
}

/// Keep CPUs from idling, where nobody else wants to run, until this is dropped.
struct Spinners {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Spinners {
    fn start(cpus: &[u32]) -> Result<Self, ProbeError> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut all = Self { stop, threads: Vec::new() };
        for cpu in cpus.iter().copied() {
            let stop = Arc::clone(&all.stop);
            let spin = move || {
                if limits::pin(&[cpu]).and_then(|()| limits::set_idle()).is_ok() {
                    while !stop.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                }
            };
            let thread = std::thread::Builder::new().spawn(spin);
            all.threads.push(thread.map_err(|error| ProbeError::Other(format!("a thread: {error}")))?);
        }
        Ok(all)
    }
}

impl Drop for Spinners {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

fn slice(params: &Params) -> Duration {
    Duration::from_millis(params.number("slice") as u64)
}

/// Where it speaks HTTP, if it does.
fn target(given: &str, server: &mut Started) -> Result<Option<SocketAddr>, ProbeError> {
    let line = match (given, server.child.stdout.take()) {
        ("", _) => return Ok(None),
        ("printed", Some(output)) => {
            let mut line = String::new();
            let read = BufReader::new(output.take(LINE)).read_line(&mut line);
            read.map_err(|error| server.wrong(&error.to_string()))?;
            line
        }
        (given, _) => given.to_owned(),
    };
    let address = line.split_whitespace().next_back().and_then(|word| word.parse().ok());
    address.map(Some).ok_or_else(|| server.wrong("does not say where it listens"))
}

fn observe(
    all: &[slices::Slice],
    cost: [f64; 4],
    faults: Vec<(String, u64)>,
    blind: &[program::Blind],
    sink: &mut dyn Sink,
) {
    let values = |values: Vec<f64>| Observations::Values(Values { values, step: 0.0, over: 0 });
    let column = |of: fn(&slices::Slice) -> f64| values(all.iter().map(of).collect());
    sink.observe(Part::Whole, column(|slice| slice.cost), Vec::new());
    let others: [fn(&slices::Slice) -> f64; 4] =
        [|slice| slice.nominal, |slice| slice.delivered, |slice| slice.reads, |slice| slice.rate];
    for (at, of) in others.into_iter().enumerate() {
        sink.take(at + 1, Part::Whole, column(of), Vec::new());
    }
    sink.take(5, Part::Whole, values(cost.to_vec()), Vec::new());
    let (names, count) = faults.into_iter().unzip();
    sink.take(6, Part::Whole, Observations::Tally(Tally { names, count }), Vec::new());
    let (names, count) = blind.iter().map(|why| (why.words().to_owned(), 1)).unzip();
    sink.take(7, Part::Whole, Observations::Tally(Tally { names, count }), Vec::new());
    let more: [fn(&slices::Slice) -> f64; 4] =
        [|slice| slice.cpu, |slice| slice.timed, |slice| slice.sleeps, |slice| slice.forced];
    for (at, of) in more.into_iter().enumerate() {
        sink.take(at + 8, Part::Whole, column(of), Vec::new());
    }
}
