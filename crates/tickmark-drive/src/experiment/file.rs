//! An experiment in a file.

use super::outcome::{Outcome, Take};
use crate::Error;
use crate::knob::{self, Commands, Turned};
use serde::Deserialize;
use std::path::Path;
use std::time::Duration;
use tickmark_wire::Better;

/// What the file says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    knob: Written,
    #[serde(default)]
    probes: Vec<String>,
    #[serde(default)]
    command: Vec<Command>,
    name: Option<String>,
    blocks: Option<u32>,
    width: Option<String>,
    budget: Option<String>,
    margin: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Written {
    /// As on the command line.
    Line(String),
    Commands(Table),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    name: String,
    settings: Vec<Setting>,
    get: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Setting {
    name: String,
    #[serde(default)]
    set: String,
    #[serde(default)]
    reset: String,
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

/// An experiment as it was asked for: what the command line and a file have in common.
#[derive(Debug)]
pub struct Asked {
    /// What is turned.
    pub knob: Turned,
    /// Suites, probes, patterns.
    pub probes: Vec<String>,
    /// Commands with a number.
    pub outcomes: Vec<Outcome>,
    /// Of its recordings.
    pub name: Option<String>,
    /// How many.
    pub blocks: Option<u32>,
    /// The half-width of intervals at which it ends.
    pub width: Option<f64>,
    /// After which it ends.
    pub budget: Option<tickmark_wire::Nanos>,
    /// Below which changes do not matter.
    pub margin: Option<f64>,
}

/// Reads a file.
///
/// # Errors
/// What is wrong with it, with its line.
pub fn read(path: &Path) -> Result<Asked, Error> {
    let text = std::fs::read_to_string(path).map_err(Error::file("read", path))?;
    parse(&text).map_err(|why| Error::Usage(format!("{}: {why}", path.display())))
}

/// What a text in TOML says.
///
/// # Errors
/// What is wrong with it, with its line.
pub(crate) fn from_toml<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| {
        let line =
            error.span().map_or(1, |span| 1 + text[..span.start.min(text.len())].matches('\n').count());
        format!("line {line}: {}", error.message().replace('\n', " "))
    })
}

fn parse(text: &str) -> Result<Asked, String> {
    let file: File = from_toml(text)?;
    let knob = match file.knob {
        Written::Line(line) if line.starts_with("kernel=") => {
            return Err(
                "kernels are compared by a matrix file: tickmark lab run (docs/EXPERIMENTS.md)".to_owned()
            );
        }
        Written::Line(line) => knob::parse(&line).map_err(|error| error.to_string())?,
        Written::Commands(table) => {
            let names: Vec<String> = table.settings.iter().map(|setting| setting.name.clone()).collect();
            knob::distinct(&table.name, &names).map_err(|error| error.to_string())?;
            let unpaired = |setting: &&Setting| !setting.set.is_empty() && setting.reset.is_empty();
            if let Some(setting) = table.settings.iter().find(unpaired) {
                return Err(format!(
                    "setting {} has no reset, so that it could not be put back (reset = \"true\" where there is nothing to do)",
                    setting.name
                ));
            }
            let commands = Commands {
                set: table.settings.iter().map(|setting| setting.set.clone()).collect(),
                reset: table.settings.iter().map(|setting| setting.reset.clone()).collect(),
                get: table.get,
            };
            Turned { name: table.name, knob: Box::new(commands), settings: names }
        }
    };
    if file.blocks.is_some_and(|blocks| !(2..=1000).contains(&blocks)) {
        return Err("blocks: give 2 to 1000".to_owned());
    }
    let share = |text: &Option<String>| text.as_deref().map(tickmark_wire::text::share).transpose();
    Ok(Asked {
        knob,
        probes: file.probes,
        outcomes: file.command.into_iter().map(outcome).collect::<Result<_, _>>()?,
        name: file.name,
        blocks: file.blocks,
        width: share(&file.width).map_err(|why| format!("width: {why}"))?,
        budget: file.budget.as_deref().map(tickmark_wire::text::duration).transpose()?,
        margin: share(&file.margin).map_err(|why| format!("margin: {why}"))?,
    })
}

fn outcome(command: Command) -> Result<Outcome, String> {
    let take = match (command.time, command.after) {
        (true, Some(_)) => return Err(format!("command {}: either time or after", command.name)),
        (true, None) => Take::Time,
        (false, Some(text)) => Take::After(text),
        (false, None) => Take::Only,
    };
    if matches!(command.better, Some(Better::Other(_) | Better::Neither)) {
        return Err(format!("command {}: better is lower or higher", command.name));
    }
    let limit = command.limit.as_deref().map(tickmark_wire::text::duration).transpose()?;
    Ok(Outcome {
        name: command.name,
        command: command.run,
        take,
        better: command.better.unwrap_or(Better::Lower),
        limit: limit.map_or(Duration::from_secs(60), tickmark_wire::Nanos::to_duration),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_everything() {
        let asked = parse(
            r#"
            name = "swap"
            blocks = 6
            budget = "5min"
            width = "0.5%"
            probes = ["clock", "syscall.null"]

            [knob]
            name = "swappiness"
            settings = [{ name = "10", set = "echo 10", reset = "true" }, { name = "60", set = "echo 60", reset = "echo back" }]
            get = "echo 10"

            [[command]]
            name = "requests"
            run = "echo Requests/sec: 5"
            after = "Requests/sec:"
            better = "higher"
            "#,
        )
        .unwrap();
        assert_eq!(
            (asked.knob.name.as_str(), asked.knob.settings.len(), asked.blocks),
            ("swappiness", 2, Some(6))
        );
        assert_eq!((asked.width, asked.outcomes[0].better), (Some(0.005), Better::Higher));
        assert_eq!(asked.outcomes[0].take, Take::After("Requests/sec:".to_owned()));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let wrong = |text: &str| parse(text).map(|asked| asked.blocks).unwrap_err();
        assert!(
            wrong("knob = \"slack=1ns,50us\"\nblock = 5").contains("line 2"),
            "{}",
            wrong("knob = \"slack=1ns,50us\"\nblock = 5")
        );
        let better = "knob = \"slack=1ns,50us\"\n[[command]]\nname=\"a\"\nrun=\"b\"\nbetter=\"hihger\"";
        assert!(wrong(better).contains("lower or higher"));
        assert!(wrong("knob = \"slack=1ns\"").contains("one setting"));
        assert!(wrong("probes = []").contains("knob"));
        assert!(
            wrong("[knob]\nname=\"k\"\nsettings=[{name=\"a\",set=\"b\"},{name=\"c\"}]").contains("no reset")
        );
        assert!(wrong("knob = \"slack=1ns,50us\"\nblocks = 1").contains("2 to 1000"));
        assert!(wrong("knob = \"slack=1ns,50us\"\nwidth = \"much\"").contains("width"));
        assert!(
            wrong("knob = \"slack=1ns,50us\"\n[[command]]\nname=\"a\"\nrun=\"b\"\ntime=true\nafter=\"c\"")
                .contains("either")
        );
    }
}
