//! An experiment in a file: what is turned here, or booted on machines, in one format (docs/EXPERIMENTS.md).

use crate::Error;
use crate::experiment::{self, Outcome, Take};
use crate::knob::{self, Commands, Turned};
use crate::lab::{self, Machine, Report};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use tickmark_wire::text::{duration, share};
use tickmark_wire::{Better, Nanos};

/// What a file asks for.
#[derive(Debug)]
pub enum Asked {
    /// A knob of this machine.
    Here(Box<experiment::Asked>),
    /// Boots: guests, or machines over ssh.
    Booted(lab::Asked),
}

/// What the file says.
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

/// The experiments that come with tickmark, by name: they are there wherever the program is.
pub const SHIPPED: [(&str, &str); 7] = [
    ("apic-timer-module", include_str!("../../../experiments/apic-timer-module.toml")),
    ("clock-resolution", include_str!("../../../experiments/clock-resolution.toml")),
    ("clocksource", include_str!("../../../experiments/clocksource.toml")),
    ("hz-prediction", include_str!("../../../experiments/hz-prediction.toml")),
    ("precise-timers-low-hz", include_str!("../../../experiments/precise-timers-low-hz.toml")),
    ("tick-100-vs-1000", include_str!("../../../experiments/tick-100-vs-1000.toml")),
    ("tick-modes", include_str!("../../../experiments/tick-modes.toml")),
];

/// Whether a word names an experiment in a file, or one that comes with tickmark.
#[must_use]
pub fn is_named(word: &str) -> bool {
    !word.contains('=') && (word.ends_with(".toml") || Path::new(word).is_file() || shipped(word).is_some())
}

fn shipped(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Reads a file, or an experiment that comes with tickmark by its name.
///
/// # Errors
/// What is wrong with it, with its line; there is none of that name.
pub fn read(path: &Path) -> Result<Asked, Error> {
    let named = path.to_str().and_then(shipped).filter(|_| !path.exists());
    let text = match named {
        Some(text) => text.to_owned(),
        None if !path.exists() && path.components().count() == 1 && path.extension().is_none() => {
            let names: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
            let (place, names) = (path.display(), names.join(", "));
            return Err(Error::Usage(format!(
                "{place} is no file, and no experiment that comes with tickmark: {names}"
            )));
        }
        None => std::fs::read_to_string(path).map_err(Error::file("read", path))?,
    };
    parse(&text).map_err(|why| Error::Usage(format!("{}: {why}", path.display())))
}

fn parse(text: &str) -> Result<Asked, String> {
    let file: File = toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = 1 + text[..start].matches('\n').count();
        format!("line {line}: {}", error.message().replace('\n', " "))
    })?;
    if file.setting.iter().any(|setting| setting.name.trim().is_empty()) {
        return Err("a [[setting]] has an empty name".to_owned());
    }
    lab::once("setting", file.setting.iter().map(|setting| setting.name.as_str()))?;
    if file.blocks.is_some_and(|blocks| !(2..=1000).contains(&blocks)) {
        return Err("blocks: give 2 to 1000".to_owned());
    }
    if file.machine.is_empty() {
        here(file).map(|asked| Asked::Here(Box::new(asked)))
    } else {
        booted(file).map(Asked::Booted)
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

fn here(file: File) -> Result<experiment::Asked, String> {
    none_of(
        &[
            (file.slice.is_some(), "slice"),
            (!file.speeds.is_empty(), "speeds"),
            (!file.report.is_empty(), "report"),
            (file.answers.is_some(), "answers"),
        ],
        "is for boots, and there is no [[machine]] to boot",
    )?;
    Ok(experiment::Asked {
        knob: turned(file.knob, file.get, file.setting)?,
        probes: file.probes,
        outcomes: file.command.into_iter().map(outcome).collect::<Result<_, _>>()?,
        name: file.name,
        blocks: file.blocks,
        width: share_of("width", file.width.as_deref())?,
        budget: duration_of("budget", file.budget.as_deref())?,
        margin: share_of("margin", file.margin.as_deref())?,
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

fn booted(file: File) -> Result<lab::Asked, String> {
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
    let asked = lab::Asked {
        name: file.name.ok_or("a matrix has a name")?,
        answers: file.answers,
        blocks: file.blocks.unwrap_or(BOOTS),
        slice: duration_of("slice", file.slice.as_deref())?.unwrap_or(SLICE),
        margin: share_of("margin", file.margin.as_deref())?.unwrap_or(0.01),
        report: file.report,
        settings: file.setting.into_iter().map(setting).collect::<Result<_, String>>()?,
        machines: file.machine,
    };
    asked.complete(&file.probes, &file.speeds)
}

fn outcome(command: Command) -> Result<Outcome, String> {
    let take = match (command.time, command.after) {
        (true, Some(_)) => return Err(format!("command {}: give time or after, not both", command.name)),
        (true, None) => Take::Time,
        (false, Some(text)) => Take::After(text),
        (false, None) => Take::Only,
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
mod tests {
    use super::*;

    fn turned(text: &str) -> experiment::Asked {
        match parse(text).unwrap() {
            Asked::Here(asked) => *asked,
            Asked::Booted(asked) => panic!("{} boots", asked.name),
        }
    }

    fn matrix(text: &str) -> lab::Asked {
        match parse(text).unwrap() {
            Asked::Booted(asked) => asked,
            Asked::Here(_) => panic!("it turns a knob"),
        }
    }

    #[test]
    fn a_file_with_everything_that_is_turned_here() {
        let asked = turned(
            r#"
            name = "swap"
            blocks = 6
            budget = "5min"
            width = "0.5%"
            probes = ["clock", "syscall.null"]
            knob = "swappiness"
            get = "echo 10"

            [[setting]]
            name = "10"
            set = "echo 10"
            reset = "true"

            [[setting]]
            name = "60"
            set = "echo 60"
            reset = "echo back"

            [[command]]
            name = "requests"
            run = "echo Requests/sec: 5"
            after = "Requests/sec:"
            better = "higher"
            "#,
        );
        assert_eq!(
            (asked.knob.name.as_str(), asked.knob.settings.len(), asked.blocks),
            ("swappiness", 2, Some(6))
        );
        assert_eq!((asked.width, asked.outcomes[0].better), (Some(0.005), Better::Higher));
        assert_eq!(asked.outcomes[0].take, Take::After("Requests/sec:".to_owned()));
    }

    #[test]
    fn what_is_wrong_with_a_knob_is_said_with_its_line() {
        let wrong = |text: &str| parse(text).map(|_| ()).unwrap_err();
        let knob = |rest: &str| wrong(&format!("knob = \"slack=1ns,50us\"\n{rest}"));
        assert!(knob("block = 5").contains("line 2"), "{}", knob("block = 5"));
        assert!(knob("[[command]]\nname=\"a\"\nrun=\"b\"\nbetter=\"hihger\"").contains("lower or higher"));
        assert!(wrong("knob = \"slack=1ns\"").contains("one setting"));
        assert!(knob("[[setting]]\nset=\"true\"\nreset=\"true\"").contains("missing field `name`"));
        assert!(knob("[[setting]]\nname=\"\"").contains("empty name"));
        assert!(wrong("probes = []").contains("nothing is turned"));
        let unpaired = "[[setting]]\nname=\"a\"\nset=\"b\"\n[[setting]]\nname=\"c\"";
        assert!(wrong(&format!("knob=\"k\"\n{unpaired}")).contains("no reset"));
        assert!(knob("blocks = 1").contains("2 to 1000"));
        assert!(knob("width = \"much\"").contains("width"));
        assert!(knob("[[command]]\nname=\"a\"\nrun=\"b\"\ntime=true\nafter=\"c\"").contains("not both"));
        assert!(knob("speeds = [250]").contains("speeds is for boots"));
        assert!(knob("get = \"echo\"").contains("no [[setting]]"));
        assert!(
            wrong("knob=\"k\"\n[[setting]]\nname=\"a\"\nkernel=\"hz=100\"").contains("kernel of a setting")
        );
    }

    const LEAST: &str = "name = \"x\"\n[[setting]]\nname = \"a\"\nkernel = \"hz=100\"\n[[setting]]\nname = \"b\"\n\
                         kernel = \"hz=1000\"\n[[machine]]\nname = \"m\"\nkernel = \"powerpc\"\nagent = \"c\"\n";

    #[test]
    fn what_a_matrix_does_not_say_has_a_default() {
        let asked = matrix(LEAST);
        assert_eq!((asked.blocks, asked.slice, asked.settings.len()), (5, SLICE, 2));
        assert_eq!((&asked.machines[0].speeds[..], asked.machines[0].blocks), (&[62.5][..], Some(5)));
        assert_eq!([1000.0, 500.0, 250.0, 62.5].map(lab::shift), [Some(0), Some(1), Some(2), Some(4)]);
    }

    #[test]
    fn every_experiment_that_comes_with_it_is_one() {
        let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments")).unwrap();
        assert_eq!(folder.count(), SHIPPED.len());
        for (name, text) in SHIPPED {
            assert!(is_named(name) && read(Path::new(name)).is_ok());
            assert_eq!(matrix(text).name, name);
        }
        assert!(read(Path::new("tick-100")).unwrap_err().to_string().contains("tick-100-vs-1000"));
    }

    #[test]
    fn what_is_wrong_with_a_matrix_is_said() {
        let wrong = |from: &str, to: &str| parse(&LEAST.replacen(from, to, 1)).map(|_| ()).unwrap_err();
        assert!(wrong("name = \"b\"", "name = \"a\"").contains("twice"));
        assert!(wrong("agent = \"c\"", "agent = \"d\"").contains("line 11"));
        assert!(wrong("agent = \"c\"", "speeds = [100.0]").contains("62.5"));
        assert!(wrong("name = \"x\"", "name = \"x\"\nblocks = 1").contains("2 to 1000"));
        assert!(wrong("agent = \"c\"", "blocks = 1").contains("2 to 1000"));
        assert!(wrong("name = \"x\"", "name = \"x\"\nknob = \"slack=1ns,50us\"").contains("knob is for"));
        assert!(wrong("kernel = \"hz=1000\"", "set = \"true\"").contains("set of a setting"));
        assert!(wrong("kernel = \"hz=1000\"", "write = { \"/a\" = \"b\" }").contains("append"));
        assert!(wrong("[[setting]]\nname = \"b\"\nkernel = \"hz=1000\"\n", "").contains("two [[setting]]"));
        assert!(wrong("name = \"x\"\n", "").contains("has a name"));
    }
}
