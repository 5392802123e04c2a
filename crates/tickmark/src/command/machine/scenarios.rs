//! Rows of timers: which are asked for, and how far off they were.

use crate::cli::{Format, ScenarioOutput, Timers};
use crate::error::Error;
use serde::Deserialize;
use std::path::Path;
use tickmark_analysis::scenario::Scenario;
use tickmark_store::Recording;
use tickmark_wire::names;

/// Of a plot in the terminal, axes not counted.
pub(in crate::command) const SIZE: (usize, usize) = (62, 16);
/// Timers of a row at most, and how far ahead the last may be: in cycles and in ns.
const MOST: usize = 1_000;
const LAST: u64 = 1_000_000_000;
/// Of a row's name at most.
const LONGEST: usize = 40;

/// A file of rows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    scenario: Vec<Row>,
}

/// When the timers of a row are due, from its beginning.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    #[serde(default)]
    cycles: Vec<u64>,
    #[serde(default)]
    ns: Vec<u64>,
}

/// The probes of rows with each combination that is asked for.
pub(in crate::command) fn select(options: &Timers) -> Result<Vec<String>, Error> {
    let (unit, repeats) = (options.unit.as_str(), options.repeats);
    let known = options.rows.iter().map(|row| format!("{}:row={row},unit={unit}", names::SCENARIO));
    let mut all: Vec<String> = known.collect();
    if let Some(place) = &options.rows_from {
        let text = tickmark_process::text(place).map_err(Error::file("read", place))?;
        let own =
            parse_rows(&text, unit).map_err(|why| Error::Usage(format!("{}: {why}", place.display())))?;
        all.extend(own);
    }
    let kernel = options.in_kernel.then_some(names::IN_KERNEL).into_iter().flatten();
    let strategies: Vec<&str> = options.strategy.iter().map(String::as_str).chain(kernel).collect();
    let by = |row: &String| {
        let arguments = |strategy: &&str| format!("{row},strategy={strategy},repeats={repeats}");
        strategies.iter().map(arguments).collect::<Vec<_>>()
    };
    Ok(all.iter().flat_map(by).collect())
}

/// The rows of a file.
fn parse_rows(text: &str, unit: &str) -> Result<Vec<String>, String> {
    let file: File = toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        format!("line {}: {}", 1 + text[..start].matches('\n').count(), error.message().replace('\n', " "))
    })?;
    let mut known: Vec<&str> = Vec::new();
    for row in &file.scenario {
        let name = row.name.as_str();
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        if name.is_empty() || name.len() > LONGEST || !name.chars().all(plain) {
            return Err(format!("name {name:?}: give a-z, 0-9, - and _, at most {LONGEST}"));
        }
        if known.contains(&name) {
            return Err(format!("scenario {name:?} stands twice"));
        }
        known.push(name);
    }
    if file.scenario.is_empty() {
        return Err("no [[scenario]]".to_owned());
    }
    file.scenario.iter().map(|row| row.probe(unit)).collect()
}

impl Row {
    fn probe(&self, unit: &str) -> Result<String, String> {
        let name = &self.name;
        let (at, unit) = match (&self.cycles[..], &self.ns[..]) {
            ([], []) => return Err(format!("scenario {name}: no timers; give cycles = [...] or ns = [...]")),
            (at, []) => (at, unit),
            ([], at) => (at, "ns"),
            _ => return Err(format!("scenario {name}: give cycles or ns, not both")),
        };
        if at.len() > MOST {
            return Err(format!("scenario {name}: {} timers; at most {MOST} are waited for", at.len()));
        }
        if !at.is_sorted() {
            return Err(format!("scenario {name}: its times are to be ascending"));
        }
        if let Some(last) = at.last().filter(|last| **last > LAST) {
            return Err(format!("scenario {name}: {last} is too far ahead; at most {LAST}"));
        }
        let at: Vec<String> = at.iter().map(u64::to_string).collect();
        Ok(format!("{}:name={name},at={},unit={unit}", names::OWN_ROW, at.join(" ")))
    }
}

/// True if every one has errors.
pub(in crate::command) fn show(
    recording: &Recording,
    scenarios: &[Scenario],
    options: &Timers,
) -> Result<bool, Error> {
    let plots = tickmark_render::scenario::plots(scenarios);
    if let Some(folder) = &options.plots {
        for (number, plot) in plots.iter().enumerate() {
            write(&folder.join(format!("scenario-{}.svg", number + 1)), &plot.svg())?;
        }
    }
    match (options.output.format, options.scenario_output) {
        (Format::Json, _) => {
            crate::command::print_recorded(recording, tickmark_render::json::Scenarios::new(scenarios))?;
        }
        (_, ScenarioOutput::Values) => crate::command::write(&tickmark_render::scenario::values(scenarios))?,
        (_, output) => {
            let text = if output == ScenarioOutput::Plot {
                let texts: Vec<String> = plots.iter().map(|plot| plot.text(SIZE.0, SIZE.1)).collect();
                texts.join("\n")
            } else {
                tickmark_render::scenario::text(scenarios)
            };
            crate::command::print_framed(recording, &text)?;
        }
    }
    Ok(scenarios.iter().all(|scenario| scenario.errors.is_ok()))
}

/// Writes a plot.
pub(in crate::command) fn write(path: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(path, text).map_err(|error| unwritable(path, &error))
}

/// Where plots cannot be written.
pub(in crate::command) fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    Error::Refused(format!("--plots: {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_file_are_told_to_the_probe() {
        let text =
            "[[scenario]]\nname = \"a-1\"\ncycles = [100, 100, 2000]\n[[scenario]]\nname = \"b\"\nns = [5]\n";
        let probes = ["timer.row:name=a-1,at=100 100 2000,unit=time", "timer.row:name=b,at=5,unit=ns"];
        assert_eq!(parse_rows(text, "time").unwrap(), probes);
    }

    #[test]
    fn what_is_wrong_with_a_file_of_rows_is_said() {
        let wrong = |text: &str| parse_rows(text, "cycles").unwrap_err();
        let row = |rest: &str| wrong(&format!("[[scenario]]\nname = \"a\"\n{rest}"));
        assert!(wrong("").contains("scenario") && wrong("scenario = []").contains("no [[scenario]]"));
        assert!(row("").contains("no timers") && row("cycle = [1]").contains("line 3"));
        assert!(row("ns = [1]\ncycles = [1]").contains("not both"));
        assert!(row("ns = [2, 1]").contains("ascending") && row("ns = [-1]").contains("line 3"));
        assert!(row("ns = [1000000001]").contains("too far ahead"));
        assert!(row(&format!("ns = {:?}", vec![1; 1001])).contains("1001 timers"));
        assert!(row("ns = [1]\n[[scenario]]\nname = \"a\"\nns = [1]").contains("twice"));
        assert!(wrong("[[scenario]]\nname = \"a,b\"\nns = [1]").contains("a,b"));
    }
}
