//! An experiment in a file: what is turned here, or booted on machines, in one format (docs/EXPERIMENTS.md).

mod quick;

use crate::Error;
use crate::experiment::{self, Outcome, OutcomeSource};
use crate::knob::{self, Commands, Turned};
use crate::lab::{self, Machine, Report};
use quick::Quick;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use tickmark_wire::text::{duration, share};
use tickmark_wire::{Better, Nanos};

/// The content of an experiment file.
#[derive(Debug)]
pub enum ExperimentFile {
    /// A knob of this machine.
    Here(Box<experiment::ExperimentRequest>),
    /// Boots: guests, or machines over ssh.
    Booted(lab::MatrixRequest),
    /// Probes side by side on this machine, each launch of which begins in random order: nothing is turned.
    Launched(Launched),
}

/// Probes, and how they are launched.
#[derive(Debug)]
pub struct Launched {
    /// Name of the recording.
    pub name: String,
    /// Which document's question it answers.
    pub answers: Option<String>,
    /// With what they are told.
    pub probes: Vec<String>,
    /// Launches of each.
    pub launches: u32,
    /// For all of them.
    pub budget: Nanos,
    /// How it is shown.
    pub report: Report,
}

/// Content of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Option<String>,
    answers: Option<String>,
    #[serde(default)]
    probes: Vec<String>,
    blocks: Option<u32>,
    slice: Option<String>,
    budget: Option<String>,
    width: Option<String>,
    margin: Option<String>,
    /// As on the command line; with settings that commands make, what they turn.
    knob: Option<String>,
    /// Prints which setting is in force.
    get: Option<String>,
    #[serde(default)]
    setting: Vec<Setting>,
    #[serde(default)]
    command: Vec<Command>,
    #[serde(default)]
    machine: Vec<Machine>,
    #[serde(default)]
    speeds: Vec<f64>,
    #[serde(default)]
    report: Vec<Report>,
    quick: Option<Quick>,
}

/// A side of the comparison: made by commands, or booted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Setting {
    name: String,
    #[serde(default)]
    set: String,
    #[serde(default)]
    reset: String,
    #[serde(default)]
    kernel: String,
    hz: Option<u32>,
    #[serde(default)]
    append: String,
    #[serde(default)]
    write: BTreeMap<String, String>,
    #[serde(default)]
    modules: Vec<String>,
    #[serde(default)]
    boot: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Command {
    name: String,
    run: String,
    after: Option<String>,
    #[serde(default)]
    time: bool,
    better: Option<Better>,
    limit: Option<String>,
}

/// Boots of a setting, and the time of a probe in each, where nothing is said.
const BOOTS: u32 = 5;
const SLICE: Nanos = Nanos::from_millis(100);
/// Launches of messages, where nothing is said.
const LAUNCHES: u32 = 3;

/// The experiments that come with tickmark, by name: they are there wherever the program is.
pub const SHIPPED: [(&str, &str); 21] = [
    ("apic-timer-module", include_str!("../../../experiments/apic-timer-module.toml")),
    ("clock-doses", include_str!("../../../experiments/clock-doses.toml")),
    ("clock-resolution", include_str!("../../../experiments/clock-resolution.toml")),
    ("clocksource", include_str!("../../../experiments/clocksource.toml")),
    ("hz-prediction", include_str!("../../../experiments/hz-prediction.toml")),
    ("hz-and-packets", include_str!("../../../experiments/hz-and-packets.toml")),
    ("hz-and-http", include_str!("../../../experiments/hz-and-http.toml")),
    ("kernel-6.1-vs-6.12", include_str!("../../../experiments/kernel-6.1-vs-6.12.toml")),
    ("kernel-clock-reads", include_str!("../../../experiments/kernel-clock-reads.toml")),
    ("precise-timers-low-hz", include_str!("../../../experiments/precise-timers-low-hz.toml")),
    ("processor-load", include_str!("../../../experiments/processor-load.toml")),
    ("database-clock-reads", include_str!("../../../experiments/database-clock-reads.toml")),
    ("databases-and-clocks", include_str!("../../../experiments/databases-and-clocks.toml")),
    ("clock-tick-100-vs-1000", include_str!("../../../experiments/clock-tick-100-vs-1000.toml")),
    ("clock-tick-more-processors", include_str!("../../../experiments/clock-tick-more-processors.toml")),
    ("timestamp-doses", include_str!("../../../experiments/timestamp-doses.toml")),
    ("timecounter-cost", include_str!("../../../experiments/timecounter-cost.toml")),
    ("tick-anatomy", include_str!("../../../experiments/tick-anatomy.toml")),
    ("tick-by-setting", include_str!("../../../experiments/tick-by-setting.toml")),
    ("tick-modes", include_str!("../../../experiments/tick-modes.toml")),
    ("user-space-timers", include_str!("../../../experiments/user-space-timers.toml")),
];

/// True if a word names an experiment in a file, or one that comes with tickmark.
#[must_use]
pub fn is_named(word: &str) -> bool {
    !word.contains('=')
        && (word.ends_with(".toml") || Path::new(word).is_file() || shipped_text(word).is_some())
}

/// Reads an experiment that comes with tickmark, whatever files there are.
///
/// # Errors
/// There is none of that name; it has no short form.
pub fn shipped(name: &str, length: Length) -> Result<ExperimentFile, Error> {
    let text = shipped_text(name).ok_or_else(|| Error::Usage(format!("no experiment is called {name}")))?;
    parse(text, length).map_err(|why| Error::Usage(format!("{name}: {why}")))
}

fn shipped_text(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Names of the experiments that come with tickmark.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|(name, _)| *name)
}

/// Reads a file, or an experiment that comes with tickmark by its name.
///
/// # Errors
/// What is wrong with it, with its line; there is none of that name.
pub fn read(path: &Path) -> Result<ExperimentFile, Error> {
    read_as(path, Length::Whole)
}

/// Reads a file in its short form, or whole.
///
/// # Errors
/// As of [`read`]; it has no short form.
pub fn read_as(path: &Path, length: Length) -> Result<ExperimentFile, Error> {
    let named = path.to_str().and_then(shipped_text).filter(|_| !path.exists());
    let text = match named {
        Some(text) => text.to_owned(),
        None if !path.exists() && path.components().count() == 1 && path.extension().is_none() => {
            let names: Vec<&str> = names().collect();
            let meant = tickmark_store::did_you_mean_or_all(&path.to_string_lossy(), &names);
            let place = path.display();
            return Err(Error::Usage(format!(
                "{place} is no file, and no experiment that comes with tickmark{meant}"
            )));
        }
        None => tickmark_process::text(path).map_err(Error::file("read", path))?,
    };
    parse(&text, length).map_err(|why| Error::Usage(format!("{}: {why}", path.display())))
}

/// How much of an experiment is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// All of it.
    Whole,
    /// What its `[quick]` says.
    Quick,
}

fn parse(text: &str, length: Length) -> Result<ExperimentFile, String> {
    let mut file: File = toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = 1 + text[..start].matches('\n').count();
        format!("line {line}: {}", error.message().replace('\n', " "))
    })?;
    let quick = file.quick.take();
    if length == Length::Quick {
        file.shorten(quick.ok_or("it has no short form: [quick] says nothing")?)?;
    }
    if file.setting.iter().any(|setting| setting.name.trim().is_empty()) {
        return Err("a [[setting]] has an empty name".to_owned());
    }
    lab::once("setting", file.setting.iter().map(|setting| setting.name.as_str()))?;
    let is_launched =
        file.machine.is_empty() && file.setting.is_empty() && file.knob.is_none() && !file.report.is_empty();
    // What is compared is measured twice at least.
    let least = if is_launched { 1 } else { 2 };
    if file.blocks.is_some_and(|blocks| !(least..=1000).contains(&blocks)) {
        return Err(format!("blocks: give {least} to 1000"));
    }
    if is_launched {
        launched(file).map(ExperimentFile::Launched)
    } else if file.machine.is_empty() {
        here(file).map(|requested| ExperimentFile::Here(Box::new(requested)))
    } else {
        booted(file).map(ExperimentFile::Booted)
    }
}

/// Refuses the first key that says something where it means nothing.
fn none_of(keys: &[(bool, &str)], why: &str) -> Result<(), String> {
    match keys.iter().find(|(is, _)| *is) {
        Some((_, key)) => Err(format!("{key} {why}")),
        None => Ok(()),
    }
}

fn share_of(key: &str, text: Option<&str>) -> Result<Option<f64>, String> {
    text.map(share).transpose().map_err(|why| format!("{key}: {why}"))
}

fn duration_of(key: &str, text: Option<&str>) -> Result<Option<Nanos>, String> {
    text.map(duration).transpose().map_err(|why| format!("{key}: {why}"))
}

fn launched(file: File) -> Result<Launched, String> {
    none_of(
        &[
            (file.slice.is_some(), "slice"),
            (file.get.is_some(), "get"),
            (!file.command.is_empty(), "[[command]]"),
            (!file.speeds.is_empty(), "speeds"),
            (file.width.is_some(), "width"),
            (file.margin.is_some(), "margin"),
        ],
        "means nothing where nothing is turned or booted",
    )?;
    let [report @ (Report::Messages | Report::Doses | Report::Scenarios)] = file.report[..] else {
        return Err("report: where nothing is turned or booted, one of messages, doses, scenarios".to_owned());
    };
    if file.probes.is_empty() {
        return Err("probes: name what is measured".to_owned());
    }
    Ok(Launched {
        name: file.name.ok_or("an experiment has a name")?,
        answers: file.answers,
        launches: file.blocks.unwrap_or(LAUNCHES),
        budget: duration_of("budget", file.budget.as_deref())?.ok_or("budget: say how long it may take")?,
        probes: file.probes,
        report,
    })
}

fn here(file: File) -> Result<experiment::ExperimentRequest, String> {
    none_of(
        &[
            (file.slice.is_some(), "slice"),
            (!file.speeds.is_empty(), "speeds"),
            (file.report.iter().any(|report| *report != Report::Ministat), "report"),
        ],
        "is for boots, and there is no [[machine]] to boot",
    )?;
    Ok(experiment::ExperimentRequest {
        knob: turned(file.knob, file.get, file.setting)?,
        probes: file.probes,
        outcomes: file.command.into_iter().map(outcome).collect::<Result<_, _>>()?,
        name: file.name,
        blocks: file.blocks,
        width: share_of("width", file.width.as_deref())?,
        budget: duration_of("budget", file.budget.as_deref())?,
        margin: share_of("margin", file.margin.as_deref())?,
        answers: file.answers,
        report: file.report,
    })
}

fn turned(knob: Option<String>, get: Option<String>, settings: Vec<Setting>) -> Result<Turned, String> {
    let Some(knob) = knob else {
        return Err("nothing is turned: give a knob, or a [[machine]] that boots the settings".to_owned());
    };
    if knob.starts_with("kernel=") {
        return Err(
            "kernels are booted: give each as a [[setting]], and a [[machine]] (docs/EXPERIMENTS.md)"
                .to_owned(),
        );
    }
    if settings.is_empty() {
        none_of(
            &[(get.is_some(), "get")],
            "is for settings that commands make, and there is no [[setting]]",
        )?;
        return knob::parse(&knob).map_err(|error| error.to_string());
    }
    for setting in &settings {
        let boots = [
            (!setting.kernel.is_empty(), "kernel"),
            (setting.hz.is_some(), "hz"),
            (!setting.append.is_empty(), "append"),
            (!setting.write.is_empty(), "write"),
            (!setting.modules.is_empty(), "modules"),
            (!setting.boot.is_empty(), "boot"),
        ];
        none_of(&boots, "of a setting is for boots, and there is no [[machine]] to boot")?;
        if !setting.set.is_empty() && setting.reset.is_empty() {
            return Err(format!(
                "setting {} has no reset, so that it could not be put back (reset = \"true\" where there is nothing to do)",
                setting.name
            ));
        }
    }
    let names: Vec<String> = settings.iter().map(|setting| setting.name.clone()).collect();
    knob::distinct(&knob, &names).map_err(|error| error.to_string())?;
    let (set, reset) = settings.into_iter().map(|setting| (setting.set, setting.reset)).unzip();
    Ok(Turned { name: knob, knob: Box::new(Commands { set, reset, get }), settings: names })
}

fn booted(file: File) -> Result<lab::MatrixRequest, String> {
    none_of(
        &[
            (file.knob.is_some(), "knob"),
            (file.get.is_some(), "get"),
            (!file.command.is_empty(), "[[command]]"),
            (file.width.is_some(), "width"),
            (file.budget.is_some(), "budget"),
        ],
        "is for what is turned here, and a [[machine]] boots its settings",
    )?;
    let setting = |setting: Setting| {
        none_of(
            &[(!setting.set.is_empty(), "set"), (!setting.reset.is_empty(), "reset")],
            "of a setting is for what is turned here, and a [[machine]] boots its settings",
        )?;
        let Setting { name, kernel, hz, append, write, modules, boot, .. } = setting;
        Ok(lab::Setting { name, kernel, hz, append, write, modules, boot })
    };
    let request = lab::MatrixRequest {
        name: file.name.ok_or("a matrix has a name")?,
        answers: file.answers,
        blocks: file.blocks.unwrap_or(BOOTS),
        slice: duration_of("slice", file.slice.as_deref())?.unwrap_or(SLICE),
        margin: share_of("margin", file.margin.as_deref())?.unwrap_or(0.01),
        report: file.report,
        settings: file.setting.into_iter().map(setting).collect::<Result<_, String>>()?,
        machines: file.machine,
    };
    request.complete(&file.probes, &file.speeds)
}

fn outcome(command: Command) -> Result<Outcome, String> {
    let take = match (command.time, command.after) {
        (true, Some(_)) => return Err(format!("command {}: give time or after, not both", command.name)),
        (true, None) => OutcomeSource::Time,
        (false, Some(text)) => OutcomeSource::After(text),
        (false, None) => OutcomeSource::Only,
    };
    if matches!(command.better, Some(Better::Other(_) | Better::Neither)) {
        return Err(format!("command {}: better is lower or higher", command.name));
    }
    let limit = duration_of("limit", command.limit.as_deref())?;
    Ok(Outcome {
        name: command.name,
        command: command.run,
        take,
        better: command.better.unwrap_or(Better::Lower),
        limit: limit.map_or(Duration::from_secs(60), Nanos::to_duration),
    })
}

#[cfg(test)]
mod tests;
