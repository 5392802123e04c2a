//! Messages by their sizes, and what they cost the processor.

use crate::cli::{Comms, Format, ScenarioOutput};
use crate::command::hosts::{self, is_host};
use crate::command::run::{measured_one, saved};
use crate::command::scenarios::{SIZE, unwritable, write};
use crate::error::{Code, Error};
use crate::selection;
use std::path::Path;
use tickmark_analysis::comms;
use tickmark_drive::plan;
use tickmark_probe::sys::limits::allowed_cpus;
use tickmark_store::{Recording, Status, Store};
use tickmark_wire::{Nanos, names};

/// Of each combination, where nothing is said.
const EACH: i64 = 10_000_000_000;
/// Least measuring time of a size in one launch, ns.
const LEAST: i64 = 1_000_000;
/// The largest message where nothing is said, as a power of two; what a datagram takes at most.
const POWER: u32 = 20;
const MOST_UDP: u32 = 65_507;
const MOST_UNIX: u32 = 96 << 10;

pub(in crate::command) fn run(store: &Store, options: &Comms) -> Result<Code, Error> {
    if options.serve {
        return hosts::serve(options);
    }
    if let Some(folder) = &options.plots {
        std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    }
    if let Some(name) = &options.of {
        return show(
            &store.find_usable(name, &|recording| !comms::summarize_comms(recording).is_empty())?,
            &options.into(),
        )
        .map(|_| Code::Done);
    }
    check(options)?;
    // It listens until the recording is made.
    let host = options.peer.iter().find(|peer| is_host(peer));
    let elsewhere = host
        .map(|host| hosts::Elsewhere::find(host, &options.ssh, options.token_file.as_deref()))
        .transpose()?;
    let select = select(options, elsewhere.as_ref())?;
    let offers = selection::select(&select)?;
    let combinations = offers.len() as i64;
    let duration = options.duration.unwrap_or(Nanos::new(EACH * combinations));
    let sizes = if options.sizes.is_empty() { usual().len() } else { options.sizes.len() } as i64;
    let least = LEAST * sizes * i64::from(options.runs) * combinations;
    if duration.get() < least {
        return Err(Error::Usage(format!(
            "--duration: too short for {sizes} sizes in each of {} runs of {combinations} combinations; give {}s, or fewer sizes",
            options.runs,
            least / 1_000_000_000 + 1
        )));
    }
    let settings = (&options.settings).into();
    let plan = plan::make(&offers, options.runs, Some(duration), settings, false, &mut rand::rng());
    let (recording, stopped) = measured_one(store, options.name.as_deref(), plan, &select)?;
    let code = show(&recording, &options.into())?;
    if options.output.format == Format::Text && options.shown != ScenarioOutput::Values {
        saved(&recording, stopped, "comms --of")?;
    }
    Ok(if stopped { code.worse(Code::Partly) } else { code })
}

/// How a recording is shown.
struct LoadOutput<'a> {
    format: Format,
    output: ScenarioOutput,
    plots: Option<&'a Path>,
}

impl<'a> From<&'a Comms> for LoadOutput<'a> {
    fn from(options: &'a Comms) -> Self {
        Self { format: options.output.format, output: options.shown, plots: options.plots.as_deref() }
    }
}

/// Four sizes for each doubling.
fn usual() -> Vec<u32> {
    let each = |power: u32| [4, 5, 6, 7].map(|part| (u64::from(part as u32) << power) / 4);
    let mut all: Vec<u32> = (0..POWER).flat_map(each).map(|size| size as u32).chain([1 << POWER]).collect();
    all.dedup();
    all
}

/// The other host, as selections name it.
fn host_words(host: &hosts::Elsewhere) -> String {
    let all = host.arguments().into_iter().filter(|(_, value)| !value.is_empty());
    all.fold("host".to_owned(), |given, (name, value)| format!("{given},{name}={value}"))
}

/// The probe with each combination that is asked for.
fn select(options: &Comms, elsewhere: Option<&hosts::Elsewhere>) -> Result<Vec<String>, Error> {
    let several = allowed_cpus().is_ok_and(|cpus| cpus.len() > 1);
    let usual = vec![if several { "across" } else { "same" }.to_owned()];
    let places = if options.place.is_empty() { &usual } else { &options.place };
    let mut select = Vec::new();
    for benchmark in &options.benchmarks {
        for over in &options.over {
            let sizes = sizes(options, over)?;
            for peer in &options.peer {
                let host = [elsewhere.map(host_words).unwrap_or_default()];
                let (peer, places) = match is_host(peer) {
                    true => ("process", &host[..]),
                    false => (peer.as_str(), &places[..]),
                };
                for place in places {
                    for load in &options.load {
                        // Without anything that computes there is no way to do so.
                        let steps = if load == "none" { &options.step[..1] } else { &options.step[..] };
                        for step in steps {
                            for class in &options.class {
                                let arguments = format!(
                                    "benchmark={benchmark},over={over},peer={peer},place={place},load={load},step={step},class={class}"
                                );
                                for stream in &options.stream {
                                    let link = |link| {
                                        format!(
                                            "{}:{arguments},stream={stream},{link},sizes={sizes}",
                                            names::COMMS
                                        )
                                    };
                                    select.extend(links(options).into_iter().map(link));
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    Ok(select)
}

/// Each link; a veth pair with each MTU, with and without offloads and steering, at each limit.
fn links(options: &Comms) -> Vec<String> {
    let or = |given: &[String], usual: &str| {
        if given.is_empty() { vec![usual.to_owned()] } else { given.to_vec() }
    };
    let numbers = |given: &[u32]| given.iter().map(u32::to_string).collect::<Vec<_>>();
    let all = [
        ("mtu", or(&numbers(&options.mtu), "1500")),
        ("offloads", or(&options.offloads, "on")),
        ("rps", or(&options.rps, "off")),
        ("rate", or(&numbers(&options.rate), "0")),
    ];
    let with = |links: Vec<String>, (name, values): &(&str, Vec<String>)| {
        let each =
            |link: &String| values.iter().map(|value| format!("{link},{name}={value}")).collect::<Vec<_>>();
        links.iter().flat_map(each).collect()
    };
    let each = |link: &String| match link.as_str() {
        "veth" => all.iter().fold(vec!["link=veth".to_owned()], with),
        _ => vec!["link=own".to_owned()],
    };
    options.link.iter().flat_map(each).collect()
}

/// Refuses what would be left out silently.
fn check(options: &Comms) -> Result<(), Error> {
    let veth = options.link.iter().any(|link| link == "veth");
    let absent = [
        options.mtu.is_empty(),
        options.offloads.is_empty(),
        options.rps.is_empty(),
        options.rate.is_empty(),
    ];
    let has_link_options = absent.contains(&false);
    if has_link_options && !veth {
        return Err(Error::Usage(
            "--mtu, --offloads, --rps and --rate are of a veth pair: give --link veth".to_owned(),
        ));
    }
    let hosts = options.peer.iter().filter(|peer| is_host(peer)).count();
    if hosts > 1 {
        return Err(Error::Usage("--peer: one other host at a time".to_owned()));
    }
    if hosts == 0 && (!options.ssh.is_empty() || options.token_file.is_some()) {
        return Err(Error::Usage("--ssh and --token-file are of another host: give --peer HOST".to_owned()));
    }
    if hosts == options.peer.len() && !options.place.is_empty() {
        return Err(Error::Usage("--place is of another side on this host".to_owned()));
    }
    if hosts == 1 && options.stream.iter().any(|stream| stream != "none") {
        return Err(Error::Usage("--stream is within this host, and not to another".to_owned()));
    }
    if hosts == 1 && veth {
        return Err(Error::Usage(
            "--link veth is between two namespaces of this host, and not to another".to_owned(),
        ));
    }
    match options.over.iter().find(|over| !["tcp", "udp"].contains(&over.as_str())) {
        Some(over) if veth => Err(Error::Usage(format!("--link veth carries tcp and udp, and not {over}"))),
        Some(over) if hosts == 1 => {
            Err(Error::Usage(format!("another host takes tcp and udp, and not {over}")))
        }
        _ => Ok(()),
    }
}

/// Those that are asked for, ascending; of the usual ones those that a datagram takes.
fn sizes(options: &Comms, over: &str) -> Result<String, Error> {
    let most = match over {
        "udp" => MOST_UDP,
        "unix-dgram" => MOST_UNIX,
        _ => u32::MAX,
    };
    let mut sizes = if options.sizes.is_empty() {
        usual().into_iter().filter(|size| *size <= most).collect()
    } else {
        options.sizes.clone()
    };
    sizes.sort_unstable();
    sizes.dedup();
    if let Some(size) = sizes.iter().find(|size| **size > most) {
        return Err(Error::Usage(format!(
            "--sizes: {size} bytes: a datagram of {over} holds at most {most}"
        )));
    }
    Ok(sizes.iter().map(u32::to_string).collect::<Vec<_>>().join(" "))
}

/// Partly where not everything is in it that was to be, failed where nothing is.
fn show(recording: &Recording, options: &LoadOutput<'_>) -> Result<Code, Error> {
    let all = comms::summarize_comms(recording);
    if all.is_empty() {
        let id = &recording.meta.id;
        return Err(Error::Usage(format!("recording {id} has no messages of `tickmark comms`")));
    }
    let plots = tickmark_render::comms::plots(&all);
    if let Some(folder) = options.plots {
        for (number, plot) in plots.iter().enumerate() {
            write(&folder.join(format!("comms-{}.svg", number + 1)), &plot.svg())?;
        }
    }
    match (options.format, options.output) {
        (Format::Json, _) => {
            crate::command::print_recorded(recording, tickmark_render::json::CommsPage::new(&all))?;
        }
        (_, ScenarioOutput::Values) => crate::command::write(&tickmark_render::comms::values(&all))?,
        (_, ScenarioOutput::Plot) => {
            let texts: Vec<String> = plots.iter().map(|plot| plot.text(SIZE.0, SIZE.1)).collect();
            crate::command::print_framed(recording, &texts.join("\n"))?;
        }
        (_, ScenarioOutput::Summary) => {
            crate::command::print_framed(recording, &tickmark_render::comms::text(&all))?;
        }
    }
    Ok(match all.iter().filter(|comms| comms.summary.is_ok()).count() {
        0 => Code::Failed,
        count if count < all.len() || !recording.complete() => Code::Partly,
        _ if recording.runs.iter().any(|run| run.status != Status::Ok) => Code::Partly,
        _ => Code::Done,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_sizes_for_each_doubling() {
        let sizes = usual();
        assert!(sizes.len() >= 60 && sizes.is_sorted_by(|a, b| a < b), "{sizes:?}");
        assert_eq!((&sizes[..5], sizes.last()), (&[1, 2, 3, 4, 5][..], Some(&(1 << 20))));
    }
}
