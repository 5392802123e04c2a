//! Messages by their sizes, and what they cost the processor.

use crate::cli::{Comms, CompareFormat, Experiment, Format, ScenarioOutput};
use crate::command::hosts::{self, is_host};
use crate::command::run::{measured_one, saved};
use crate::command::scenarios::{SIZE, unwritable, write};
use crate::command::timers::{header, with_header};
use crate::error::{Code, Error};
use crate::selection;
use std::path::Path;
use tickmark_analysis::comms;
use tickmark_drive::file::Launched;
use tickmark_drive::plan;
use tickmark_probe::sys::limits::allowed_cpus;
use tickmark_store::{Recording, Status, Store};
use tickmark_wire::{Nanos, names};

/// Of each combination, where nothing is said.
const EACH: i64 = 10_000_000_000;
/// What a size of one launch is measured for at least.
const LEAST: i64 = 1_000_000;
/// The largest message where nothing is said, as a power of two; what a datagram takes at most.
const POWER: u32 = 20;
const MOST_UDP: u32 = 65_507;
const MOST_UNIX: u32 = 96 << 10;

pub(in crate::command) fn run(store: &Store, asked: &Comms) -> Result<Code, Error> {
    if asked.serve {
        return hosts::serve(asked);
    }
    if let Some(folder) = &asked.plots {
        std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    }
    if let Some(name) = &asked.of {
        return show(
            &store.find_usable(name, &|recording| !comms::summarize_comms(recording).is_empty())?,
            &asked.into(),
        )
        .map(|_| Code::Done);
    }
    check(asked)?;
    // It listens until the recording is made.
    let host = asked.peer.iter().find(|peer| is_host(peer));
    let elsewhere =
        host.map(|host| hosts::Elsewhere::find(host, &asked.ssh, asked.token_file.as_deref())).transpose()?;
    let select = select(asked, elsewhere.as_ref())?;
    let offers = selection::select(&select)?;
    let combinations = offers.len() as i64;
    let duration = asked.duration.unwrap_or(Nanos::new(EACH * combinations));
    let sizes = if asked.sizes.is_empty() { usual().len() } else { asked.sizes.len() } as i64;
    let least = LEAST * sizes * i64::from(asked.runs) * combinations;
    if duration.get() < least {
        return Err(Error::Usage(format!(
            "--duration: too short for {sizes} sizes in each of {} launches of {combinations} combinations; give {}s, or fewer sizes",
            asked.runs,
            least / 1_000_000_000 + 1
        )));
    }
    let settings = (&asked.settings).into();
    let plan = plan::make(&offers, asked.runs, Some(duration), settings, false, &mut rand::rng());
    let (recording, stopped) = measured_one(store, asked.name.as_deref(), plan, &select)?;
    let code = show(&recording, &asked.into())?;
    if asked.output.format == Format::Text && asked.shown != ScenarioOutput::Values {
        saved(&recording, stopped, "comms --of")?;
    }
    Ok(if stopped { code.worse(Code::Partly) } else { code })
}

/// `tickmark experiment FILE`, where the file launches messages.
pub(in crate::command) fn experiment(
    store: &Store,
    asked: &Experiment,
    from: &Launched,
) -> Result<Code, Error> {
    let fixed = [
        (asked.command.is_some(), "--command"),
        (asked.width.is_some(), "--width"),
        (asked.more.is_some(), "--more"),
        (asked.margin.is_some(), "--margin"),
        (!asked.select.is_empty(), "probes"),
    ];
    if let Some((_, what)) = fixed.iter().find(|(is, _)| *is) {
        let name = &from.name;
        return Err(Error::Usage(format!("{what}: {name} says what it measures, and turns nothing")));
    }
    let offers = selection::select(&from.probes)?;
    let launches = asked.blocks.unwrap_or(from.launches);
    let settings = (&asked.settings).into();
    let budget = asked.budget.unwrap_or(from.budget);
    let plan = plan::make(&offers, launches, Some(budget), settings, false, &mut rand::rng());
    let name = asked.name.as_ref().unwrap_or(&from.name);
    let (recording, stopped) = measured_one(store, Some(name), plan, &from.probes)?;
    let shown = Shown {
        format: if asked.format == CompareFormat::Json { Format::Json } else { Format::Text },
        output: ScenarioOutput::Summary,
        plots: None,
    };
    let code = show(&recording, &shown)?;
    if shown.format == Format::Text {
        saved(&recording, stopped, "comms --of")?;
    }
    Ok(if stopped { code.worse(Code::Partly) } else { code })
}

/// How a recording is shown.
struct Shown<'a> {
    format: Format,
    output: ScenarioOutput,
    plots: Option<&'a Path>,
}

impl<'a> From<&'a Comms> for Shown<'a> {
    fn from(asked: &'a Comms) -> Self {
        Self { format: asked.output.format, output: asked.shown, plots: asked.plots.as_deref() }
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
    all.fold("host".to_owned(), |told, (name, value)| format!("{told},{name}={value}"))
}

/// The probe with each combination that is asked for.
fn select(asked: &Comms, elsewhere: Option<&hosts::Elsewhere>) -> Result<Vec<String>, Error> {
    let several = allowed_cpus().is_ok_and(|cpus| cpus.len() > 1);
    let usual = vec![if several { "across" } else { "same" }.to_owned()];
    let places = if asked.place.is_empty() { &usual } else { &asked.place };
    let mut select = Vec::new();
    for benchmark in &asked.benchmarks {
        for over in &asked.over {
            let sizes = sizes(asked, over)?;
            for peer in &asked.peer {
                let host = [elsewhere.map(host_words).unwrap_or_default()];
                let (peer, places) = match is_host(peer) {
                    true => ("process", &host[..]),
                    false => (peer.as_str(), &places[..]),
                };
                for place in places {
                    for load in &asked.load {
                        // Without anything that computes there is no way to do so.
                        let steps = if load == "none" { &asked.step[..1] } else { &asked.step[..] };
                        for step in steps {
                            for class in &asked.class {
                                let told = format!(
                                    "benchmark={benchmark},over={over},peer={peer},place={place},load={load},step={step},class={class}"
                                );
                                for stream in &asked.stream {
                                    let link = |link| {
                                        format!(
                                            "{}:{told},stream={stream},{link},sizes={sizes}",
                                            names::COMMS
                                        )
                                    };
                                    select.extend(links(asked).into_iter().map(link));
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
fn links(asked: &Comms) -> Vec<String> {
    let or =
        |told: &[String], usual: &str| if told.is_empty() { vec![usual.to_owned()] } else { told.to_vec() };
    let numbers = |told: &[u32]| told.iter().map(u32::to_string).collect::<Vec<_>>();
    let all = [
        ("mtu", or(&numbers(&asked.mtu), "1500")),
        ("offloads", or(&asked.offloads, "on")),
        ("rps", or(&asked.rps, "off")),
        ("rate", or(&numbers(&asked.rate), "0")),
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
    asked.link.iter().flat_map(each).collect()
}

/// Refuses what would be left out silently.
fn check(asked: &Comms) -> Result<(), Error> {
    let veth = asked.link.iter().any(|link| link == "veth");
    let told = [asked.mtu.is_empty(), asked.offloads.is_empty(), asked.rps.is_empty(), asked.rate.is_empty()];
    let told = told.contains(&false);
    if told && !veth {
        return Err(Error::Usage(
            "--mtu, --offloads, --rps and --rate are of a veth pair: give --link veth".to_owned(),
        ));
    }
    let hosts = asked.peer.iter().filter(|peer| is_host(peer)).count();
    if hosts > 1 {
        return Err(Error::Usage("--peer: one other host at a time".to_owned()));
    }
    if hosts == 0 && (!asked.ssh.is_empty() || asked.token_file.is_some()) {
        return Err(Error::Usage("--ssh and --token-file are of another host: give --peer HOST".to_owned()));
    }
    if hosts == asked.peer.len() && !asked.place.is_empty() {
        return Err(Error::Usage("--place is of another side on this host".to_owned()));
    }
    if hosts == 1 && asked.stream.iter().any(|stream| stream != "none") {
        return Err(Error::Usage("--stream is within this host, and not to another".to_owned()));
    }
    if hosts == 1 && veth {
        return Err(Error::Usage(
            "--link veth is between two namespaces of this host, and not to another".to_owned(),
        ));
    }
    match asked.over.iter().find(|over| !["tcp", "udp"].contains(&over.as_str())) {
        Some(over) if veth => Err(Error::Usage(format!("--link veth carries tcp and udp, and not {over}"))),
        Some(over) if hosts == 1 => {
            Err(Error::Usage(format!("another host takes tcp and udp, and not {over}")))
        }
        _ => Ok(()),
    }
}

/// Those that are asked for, ascending; of the usual ones those that a datagram takes.
fn sizes(asked: &Comms, over: &str) -> Result<String, Error> {
    let most = match over {
        "udp" => MOST_UDP,
        "unix-dgram" => MOST_UNIX,
        _ => u32::MAX,
    };
    let mut sizes = if asked.sizes.is_empty() {
        usual().into_iter().filter(|size| *size <= most).collect()
    } else {
        asked.sizes.clone()
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
fn show(recording: &Recording, asked: &Shown<'_>) -> Result<Code, Error> {
    let all = comms::summarize_comms(recording);
    if all.is_empty() {
        let id = &recording.meta.id;
        return Err(Error::Usage(format!("recording {id} has no messages of `tickmark comms`")));
    }
    let plots = tickmark_render::comms::plots(&all);
    if let Some(folder) = asked.plots {
        for (number, plot) in plots.iter().enumerate() {
            write(&folder.join(format!("comms-{}.svg", number + 1)), &plot.svg())?;
        }
    }
    match (asked.format, asked.output) {
        (Format::Json, _) => with_header(recording, tickmark_render::comms::json(&all))?,
        (_, ScenarioOutput::Values) => crate::command::print(&tickmark_render::comms::values(&all))?,
        (_, ScenarioOutput::Plot) => {
            header(recording)?;
            let texts: Vec<String> = plots.iter().map(|plot| plot.text(SIZE.0, SIZE.1)).collect();
            crate::command::print(&texts.join("\n"))?;
        }
        (_, ScenarioOutput::Summary) => {
            header(recording)?;
            crate::command::print(&tickmark_render::comms::text(&all))?;
        }
    }
    Ok(match all.iter().filter(|comms| comms.seen.is_ok()).count() {
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
