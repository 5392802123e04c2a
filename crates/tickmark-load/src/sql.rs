//! Transactions of databases: select_index of super-smack, which timecounter-cost.txt ran, and three more; SQLite in this process, a server of our own, or one
//! that runs already. No suite has it, as it is told how much: `tickmark sql` asks.

pub(super) mod clients;
pub(super) mod database;
pub(super) mod server;
mod work;

use super::costs::Costs;
use super::started::Scratch;
use clients::Clients;
use database::{DatabaseTarget, Kind};
use server::Planned;
use std::time::Duration;
use tickmark_probe::case::{Parameter, Value};
use tickmark_probe::routine::{Budget, Sink, routine};
use tickmark_probe::spec::Also;
use tickmark_probe::sys::usage::CpuClock;
use tickmark_probe::sys::{limits, tasks};
use tickmark_probe::{Expected, Params, Probe, ProbeError, Spec, Unavailable};
use tickmark_timer::monotonic_ns;
use tickmark_wire::{
    Better, Group, Headline, Nanos, Observations, Part, Tally, Unit, Values, Windows, names,
};

macro_rules! of {
    ($end:literal, $title:literal, $unit:ident, $better:ident) => {
        Also {
            metric: concat!("sql.{server}.{load}.c{connections}.{rows}.{queries}{place}{whose}", $end),
            title: concat!(
                "{server}, {load}, connections: {connections}, {rows} rows, queries: {queries}{place}{whose}, ",
                $title
            ),
            unit: Unit::$unit,
            better: Better::$better,
            headline: Headline::Median,
        }
    };
}

/// In the order of [`look`].
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
    of!(".failed", "failed", Share, Lower),
    of!(".faults", "what failed", Count, Lower),
    of!(".latency", "service latency", Time, Lower),
];

/// The work that can be asked for.
pub(super) const LOAD: Parameter = Parameter::choice(
    "load",
    "select-index: a row by its name (super-smack's select-key); point-select: a part of one by its number; insert: a new row; read-write: two rows and a change, begin to commit",
    &[
        Value::plain("select-index"),
        Value::plain("point-select"),
        Value::plain("insert"),
        Value::plain("read-write"),
    ],
);

pub(super) static PROBES: &[Probe] = &[Probe {
    spec: Spec {
        metric: "sql.{server}.{load}.c{connections}.{rows}.{queries}{place}{whose}",
        unit: Unit::Rate,
        better: Better::Higher,
        headline: Headline::Median,
        sleeps: true,
        much_memory: true,
        timed: "{load}, statements as text by calls that block, connections: {connections}; those that gave what they should",
        source: "super-smack, select-key.smack; timecounter-cost.txt",
        expected: Expected::UNKNOWN,
        parameters: &[
            Parameter::choice(
                "server",
                "sqlite: in the client's process",
                &[Value::plain("sqlite"), Value::plain("mariadb"), Value::plain("postgres")],
            ),
            LOAD,
            Parameter::number("connections", "at the same time, each a thread", 1, 64),
            Parameter::choice("rows", "of the table", &[Value::plain("90000")]).or_numbers(1, 9_999_999),
            super::packets::PLACE,
            Parameter::choice(
                "whose",
                "the server: our own, which begins and ends with the run, or one that runs already",
                &[Value::named("own", "", ""), Value::named("url", ".url", ", URL")],
            ),
            Parameter::text("target", "where that is: HOST:PORT, or unix:PATH"),
            Parameter::text("user", "as whom it is asked"),
            Parameter::text(
                "password_file",
                "whose first line is that user's password; empty: TICKMARK_SQL_PASSWORD of the environment",
            ),
            Parameter::text("database", "of that server"),
            Parameter::text("pid", "its process; empty: its CPU time is not known"),
            Parameter::choice(
                "create",
                "whether the tables are made there",
                &[Value::named("no", "", ""), Value::named("yes", "", "")],
            ),
            Parameter::choice(
                "queries",
                "transactions until it ends; 0: as long as it has time",
                &[Value::named("0", "time", "for a time")],
            )
            .or_numbers(1, 100_000_000),
        ],
        also: ALSO,
        ..Spec::cost(
            Group::Communication,
            names::SQL,
            "{server}, {load}, connections: {connections}, {rows} rows, queries: {queries}{place}{whose}",
        )
    },
    prepare: |_, params| {
        let missing = Unavailable::Missing;
        let kind = Kind::from_name(params.argument("server"));
        let own = params.argument("whose") == "own";
        if own && kind != Kind::Sqlite {
            server::programs(kind).map_err(missing)?;
        }
        let there = if own { None } else { Some(DatabaseTarget::from_params(params).map_err(missing)?) };
        if let Some(pid) =
            params.argument("pid").parse().ok().filter(|pid| CpuClock::for_process(*pid).is_none())
        {
            return Err(Unavailable::Missing(format!("there is no process {pid}")));
        }
        params.tiny()?;
        let cpu = params.place()?;
        let params = params.clone();
        Ok(routine(move |budget: &Budget, sink| measure(&params, kind, there.as_ref(), cpu, budget, sink)))
    },
}];

/// How long a window is.
const WINDOW: u64 = 100_000_000;
/// Of its time it runs so much before it is looked at.
const BEFORE: u64 = 10;

fn measure(
    params: &Params,
    kind: Kind,
    there: Option<&DatabaseTarget>,
    cpu: u32,
    budget: &Budget,
    sink: &mut dyn Sink,
) -> Result<(), ProbeError> {
    let other = |why: String| ProbeError::Other(why);
    let folder = Scratch::make("sql").map_err(|error| other(format!("a folder: {error}")))?;
    let planned = match (there, kind) {
        (None, Kind::Mariadb | Kind::Postgres) => Some(Planned::new(kind).map_err(other)?),
        _ => None,
    };
    let mut server = planned.as_ref().map(|planned| planned.start(&[cpu])).transpose()?;
    limits::pin(&params.allowed)?;
    let file = DatabaseTarget::file(&folder.0.join("database"));
    let place = there.or(planned.as_ref().map(|planned| &planned.place)).unwrap_or(&file);
    if let (Some(planned), Some(server)) = (&planned, &mut server) {
        planned.wait_for(server)?;
    }
    let rows = params.number("rows") as u64;
    let is_there = if there.is_some() { work::check(place, rows) } else { Err(String::new()) };
    match is_there {
        // Once made, the tables stay.
        Err(_) if there.is_none() || params.argument("create") == "yes" => populate(place, params)?,
        is_there => is_there.map_err(other)?,
    }
    let clients = Clients::start(place, params, params.cpu, false)?;
    let pid = server.as_ref().map(|server| server.child.id()).or(params.argument("pid").parse().ok());
    // Interrupts are of the CPUs of both sides, or of none.
    let cpus = match (there, params.cpu == cpu) {
        (Some(_), _) => Vec::new(),
        (None, true) => vec![cpu],
        (None, false) => vec![params.cpu, cpu],
    };
    let done = look(clients, pid, &cpus, params.number("queries") as u64, budget.time.get() as u64, sink);
    drop(server);
    limits::pin(&[params.cpu])?;
    done
}

/// Makes the tables.
///
/// # Errors
/// The database's error.
pub(super) fn populate(place: &DatabaseTarget, params: &Params) -> Result<(), ProbeError> {
    work::populate(place, params.number("rows") as u64).map_err(ProbeError::Other)
}

/// Until a server has done the first, in ns.
const FIRST: u64 = 30_000_000_000;
/// As often it is looked at whether as many are done as are asked for.
const SOON: Duration = Duration::from_millis(1);

/// Looks at what clients do, until they have done so many, or for so many ns.
fn look(
    clients: Clients,
    pid: Option<u32>,
    cpus: &[u32],
    queries: u64,
    time: u64,
    sink: &mut dyn Sink,
) -> Result<(), ProbeError> {
    let servers = || pid.map_or_else(Vec::new, |pid| tasks::below(pid, &tasks::all()));
    let warm = monotonic_ns();
    while clients.done() == 0 || monotonic_ns() - warm < time / BEFORE {
        std::thread::sleep(Duration::from_millis(10));
        let several = clients.failed().iter().map(|(_, count)| count).sum::<u64>() > 3;
        if clients.done() == 0 && (several || monotonic_ns() - warm > FIRST) {
            return Err(nothing(&clients));
        }
    }
    let first = servers();
    clients.measure();
    let (before, failed, begun) = (clients.done(), clients.failed(), monotonic_ns());
    let costs = Costs::begin(first, std::process::id(), cpus);
    let mut windows = Windows { start: Vec::new(), length: Vec::new(), count: Vec::new() };
    let (mut opened, mut had, mut moved) = (begun, before, begun);
    let goes_on = |now: u64, done: u64| match queries {
        0 => now - begun < time,
        queries => done - before < queries,
    };
    while goes_on(opened, had) {
        let sleep = if queries > 0 { SOON } else { Duration::from_nanos(WINDOW.min(begun + time - opened)) };
        let until = opened + WINDOW;
        let (mut now, mut done) = (opened, had);
        while now < until && goes_on(now, done) {
            std::thread::sleep(sleep);
            let last = done;
            (now, done) = (monotonic_ns(), clients.done());
            moved = if done > last { now } else { moved };
            if queries > 0 && now - moved > FIRST {
                return Err(nothing(&clients));
            }
        }
        windows.start.push(Nanos::new((opened - begun) as i64));
        windows.length.push(Nanos::new((now - opened) as i64));
        windows.count.push(done - had);
        (opened, had) = (now, done);
    }
    let last = servers();
    let (done, wall) = (clients.done() - before, monotonic_ns() - begun);
    let used = costs.end(&last);
    if done == 0 {
        return Err(nothing(&clients));
    }
    let faults = since(clients.failed(), &failed);
    let times = clients.end();
    sink.observe(Part::Whole, Observations::Windows(windows), Vec::new());
    let mut one = |at: usize, value: Option<f64>| {
        if let Some(value) = value {
            let values = Values { values: vec![value], step: 0.0, over: 0 };
            sink.take(at, Part::Whole, Observations::Values(values), Vec::new());
        }
    };
    for (at, value) in used.values(done as f64, wall as f64).into_iter().enumerate() {
        one(at + 1, value);
    }
    let sum: u64 = faults.iter().map(|(_, count)| count).sum();
    one(11, Some(sum as f64 / (done + sum) as f64));
    let (names, count) = faults.into_iter().unzip();
    sink.take(12, Part::Whole, Observations::Tally(Tally { names, count }), Vec::new());
    if times.total() > 0 {
        sink.take(13, Part::Whole, Observations::Histogram(times), Vec::new());
    }
    Ok(())
}

/// Failures meanwhile.
fn since(all: Vec<(String, u64)>, before: &[(String, u64)]) -> Vec<(String, u64)> {
    let earlier = |name: &str| before.iter().find(|(known, _)| known == name).map_or(0, |(_, count)| *count);
    let more = all.into_iter().map(|(name, count)| (name.clone(), count - earlier(&name)));
    more.filter(|(_, count)| *count > 0).collect()
}

fn nothing(clients: &Clients) -> ProbeError {
    let all: Vec<String> =
        clients.failed().iter().map(|(why, count)| format!("{count} times {why}")).collect();
    let why = if all.is_empty() { "nothing came".to_owned() } else { all.join("; ") };
    ProbeError::Other(format!("no transaction succeeded any more: {why}"))
}
