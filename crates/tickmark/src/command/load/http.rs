//! Transactions over HTTP.

use crate::cli::{Format, Goal, Http};
use crate::command::hosts::Elsewhere;
use crate::command::run::{measured_one, saved};
use crate::error::{Code, Error};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;
use tickmark_analysis::capacity;
use tickmark_analysis::http::{self, Load};
use tickmark_drive::plan;
use tickmark_probe::sys::limits::{self, allowed_cpus};
use tickmark_probe::sys::tracepoints;
use tickmark_probe::sys::usage::CpuClock;
use tickmark_render::json::Page;
use tickmark_store::{Recording, Store};
use tickmark_wire::{Arguments, Nanos, Offer, names};

/// How long a run measures, in ns, and how many there are: by default, and in short.
const USUAL: (i64, u32) = (2_500_000_000, 10);
pub(in crate::command) const QUICK: (i64, u32) = (2_000_000_000, 3);
/// And of a search, whose slices are 30 of each run.
const USUAL_SEARCH: (i64, u32) = (30_000_000_000, 10);
const QUICK_SEARCH: (i64, u32) = (6_000_000_000, 3);

pub(in crate::command) fn run(store: &Store, options: &Http) -> Result<Code, Error> {
    if options.serve {
        return serve(options);
    }
    if let Some(name) = &options.of {
        let is_http = |recording: &Recording| {
            !http::summarize_loads(recording, names::HTTP).is_empty()
                || !capacity::read_capacities(recording).is_empty()
        };
        return page(&store.find_usable(name, &is_http)?, options.output.format);
    }
    // It listens until the recording is made.
    let find = |host: &String| Elsewhere::find(host, &options.ssh, options.token_file.as_deref());
    let elsewhere = options.peer.as_ref().map(find).transpose()?;
    let whose = whose(options, elsewhere.as_ref())?;
    let (offers, defaults) = match &options.find_capacity {
        Some(goal) => (searches(options, goal, &whose)?, [QUICK_SEARCH, USUAL_SEARCH]),
        None => (offers(options, &whose)?, [QUICK, USUAL]),
    };
    let (each, runs) = defaults[usize::from(!options.quick)];
    let (each, runs) = (options.duration.map_or(each, Nanos::get), options.runs.unwrap_or(runs));
    let recorded = recorded(options, &whose)?;
    let offers: Vec<Offer> = offers.into_iter().chain(recorded).collect();
    let all = Nanos::new(each.saturating_mul(i64::from(runs) * offers.len() as i64));
    let mut plan = plan::make(&offers, runs, Some(all), (&options.settings).into(), false, &mut rand::rng());
    plan::keep_first(&mut plan, |run| run.arguments.get("latency").is_some_and(|way| way == RECORDED));
    let (recording, stopped) = measured_one(store, options.name.as_deref(), plan, &["http".to_owned()])?;
    let code = page(&recording, options.output.format)?;
    if options.output.format == Format::Text {
        saved(&recording, stopped, "http --of")?;
    }
    Ok(if stopped { code.worse(Code::Partly) } else { code })
}

/// Prints a recording's search, or its loads.
fn page(recording: &Recording, format: Format) -> Result<Code, Error> {
    let all = capacity::read_capacities(recording);
    if all.is_empty() {
        return show(recording, names::HTTP, format);
    }
    shown(recording, &all, format, tickmark_render::json::Capacities::new, tickmark_render::capacity::text)
}

/// Our own server, here or on another host, or another one.
fn whose(options: &Http, elsewhere: Option<&Elsewhere>) -> Result<Vec<(&'static str, String)>, Error> {
    if let Some(url) = &options.url {
        let arguments = of_url(url, options.pid)?;
        answers(url, &arguments)?;
        return Ok(arguments);
    }
    let own = [("bytes", options.bytes.to_string()), ("workers", options.workers.to_string())];
    let there = elsewhere.map(|host| [("whose", "host".to_owned())].into_iter().chain(host.arguments()));
    Ok(own.into_iter().chain(there.into_iter().flatten()).collect())
}

/// On which CPUs.
fn places(options: &Http) -> Vec<&str> {
    let several = allowed_cpus().is_ok_and(|cpus| cpus.len() > 1);
    match (options.url.is_some() || options.peer.is_some(), options.place.is_empty()) {
        (true, _) => vec!["same"],
        // Where they share a CPU, the client is late while the server runs.
        (_, true) if several && options.find_capacity.is_some() => vec!["across"],
        (_, true) if several => vec!["same", "across"],
        (_, true) => vec!["same"],
        _ => options.place.iter().map(String::as_str).collect(),
    }
}

/// Each search that is asked for.
fn searches(options: &Http, goal: &Goal, whose: &[(&'static str, String)]) -> Result<Vec<Offer>, Error> {
    let places = places(options);
    let fixed = [
        ("pace", options.arrivals.clone()),
        ("quantile", goal.quantile.clone()),
        ("limit", goal.micros.to_string()),
    ];
    let mut offers = Vec::new();
    for connection in &options.connection {
        for connections in &options.connections {
            for by in &options.by {
                for place in &places {
                    let own = [
                        ("connection", connection.clone()),
                        ("connections", connections.to_string()),
                        ("by", by.clone()),
                        ("place", (*place).to_owned()),
                    ];
                    offers.push(offer(names::CAPACITY, own.iter().chain(whose).chain(&fixed))?);
                }
            }
        }
    }
    Ok(offers)
}

fn offer<'a>(probe: &str, given: impl Iterator<Item = &'a (&'static str, String)>) -> Result<Offer, Error> {
    let arguments: Arguments = given.map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    Ok(tickmark_load::REGISTRY.case(probe, &arguments).map_err(Error::Usage)?.offer())
}

/// The way of measuring latency that records the kernel's events.
const RECORDED: &str = "recorded";

/// The first combination once more with the kernel's events recorded, where they can be and the CPU of the server is known.
fn recorded(options: &Http, whose: &[(&'static str, String)]) -> Result<Option<Offer>, Error> {
    let is_elsewhere = options.peer.is_some() || (options.url.is_some() && options.pid.is_none());
    let is_counted = options.count_only || options.find_capacity.is_some();
    let cpus = options.pid.map_or_else(allowed_cpus, limits::cpus_of).unwrap_or_default();
    // Of a server that may use several CPUs nobody knows which it waited for.
    let is_anywhere = options.pid.is_some() && cpus.len() != 1;
    if cpus.is_empty() || is_elsewhere || is_counted || is_anywhere {
        return Ok(None);
    }
    if let Err(why) = tracepoints::available("http") {
        crate::notice!("what delays the slowest requests is not recorded ({why})");
        return Ok(None);
    }
    let first = offers(options, whose)?.into_iter().next();
    let again = |first: Offer| {
        let mut arguments = first.arguments;
        arguments.insert("latency".to_owned(), RECORDED.to_owned());
        tickmark_load::REGISTRY.case(names::HTTP, &arguments).map(|case| case.offer()).map_err(Error::Usage)
    };
    first.map(again).transpose()
}

/// Each combination that is asked for.
fn offers(options: &Http, whose: &[(&'static str, String)]) -> Result<Vec<Offer>, Error> {
    let places = places(options);
    let pace = |rate: &u32| [("pace", options.arrivals.clone()), ("rate", rate.to_string())];
    let closed = [("pace", "closed".to_owned()), ("rate", "0".to_owned())];
    let paces: Vec<_> =
        if options.rate.is_empty() { vec![closed] } else { options.rate.iter().map(pace).collect() };
    let fixed = [
        ("latency", if options.count_only { "no" } else { "yes" }.to_owned()),
        ("patience", options.patience.to_string()),
    ];
    let mut offers = Vec::new();
    for connection in &options.connection {
        let each = options.requests_per_connection.filter(|_| connection == "keep-alive").unwrap_or(0);
        for connections in &options.connections {
            for by in &options.by {
                for place in &places {
                    for pace in &paces {
                        let own = [
                            ("connection", connection.clone()),
                            ("each", each.to_string()),
                            ("connections", connections.to_string()),
                            ("by", by.clone()),
                            ("place", (*place).to_owned()),
                        ];
                        offers.push(offer(names::HTTP, own.iter().chain(pace).chain(whose).chain(&fixed))?);
                    }
                }
            }
        }
    }
    Ok(offers)
}

/// Answers until it is ended.
fn serve(options: &Http) -> Result<Code, Error> {
    let listen = options.listen;
    let [connection] = options.connection.as_slice() else {
        return Err(Error::Usage("--serve has one --connection".to_owned()));
    };
    let how = (options.workers, options.bytes, connection == "keep-alive", options.reads);
    let tell = |at| {
        let _ = crate::command::write(&format!("serves at {at}\n"));
    };
    let ended = tickmark_load::serve_http(*listen.ip(), listen.port(), how, tell);
    ended.map(|()| Code::Done).map_err(|error| Error::Refused(format!("--listen {listen}: {error}")))
}

/// Arguments of the probe for a server that runs already.
pub(in crate::command) fn of_url(url: &str, pid: Option<u32>) -> Result<Vec<(&'static str, String)>, Error> {
    let wrong = |why: &str| Error::Usage(format!("--url {url}: {why}"));
    if url.starts_with("https://") {
        return Err(wrong(
            "https is not spoken here: its cost is that of a TLS library; give the http:// address behind it",
        ));
    }
    let rest = url.strip_prefix("http://").ok_or_else(|| wrong("give http://HOST:PORT/PATH"))?;
    let (host, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    if host.is_empty() || url.chars().any(|c| c.is_control() || c == ' ') {
        return Err(wrong("give http://HOST:PORT/PATH"));
    }
    let with_port = |host: &str| host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let named = if with_port(host) { host.to_owned() } else { format!("{host}:80") };
    let address =
        named.to_socket_addrs().map_err(|error| wrong(&error.to_string()))?.min_by_key(SocketAddr::is_ipv6);
    let address = address.ok_or_else(|| wrong("this name has no address"))?;
    if let Some(pid) = pid.filter(|pid| CpuClock::for_process(*pid).is_none()) {
        return Err(Error::Usage(format!("--pid {pid}: there is no such process")));
    }
    Ok(vec![
        ("whose", "url".to_owned()),
        ("bytes", "any".to_owned()),
        ("target", address.to_string()),
        ("host", host.to_owned()),
        ("path", path.to_owned()),
        ("pid", pid.map_or_else(String::new, |pid| pid.to_string())),
    ])
}

/// Whether somebody listens where a URL leads: nothing is measured of a port that is dead.
fn answers(url: &str, arguments: &[(&'static str, String)]) -> Result<(), Error> {
    let target = arguments.iter().find(|(name, _)| *name == "target").and_then(|(_, to)| to.parse().ok());
    let Some(target) = target else { return Ok(()) };
    let connected = TcpStream::connect_timeout(&target, Duration::from_secs(5));
    connected.map(drop).map_err(|error| {
        Error::Refused(format!("--url {url}: nobody answers at {target}: {error}; is the server running?"))
    })
}

/// Every load of a probe in a recording.
pub(in crate::command) fn show(recording: &Recording, probe: &str, format: Format) -> Result<Code, Error> {
    let all = http::summarize_loads(recording, probe);
    if all.is_empty() {
        let id = &recording.meta.id;
        return Err(Error::Usage(format!("recording {id} has no transactions of `tickmark {probe}`")));
    }
    shown(recording, &all, format, tickmark_render::json::Loads::new, tickmark_render::http::text)
}

fn shown<T, P: Page>(
    recording: &Recording,
    all: &[Load<T>],
    format: Format,
    json: fn(&[Load<T>]) -> P,
    text: fn(&[Load<T>]) -> String,
) -> Result<Code, Error> {
    let id = &recording.meta.id;
    if format == Format::Json {
        crate::command::print_recorded(recording, json(all))?;
    } else {
        crate::command::print_framed(recording, &text(all))?;
    }
    match all.iter().filter_map(|load| load.summary.as_ref().err()).next() {
        Some(why) if all.iter().all(|load| load.summary.is_err()) => {
            Err(Error::Refused(format!("nothing was measured: {why}; saved as {id}")))
        }
        Some(_) => Ok(Code::Partly),
        None if recording.complete() => Ok(Code::Done),
        None => Ok(Code::Partly),
    }
}
