//! A command of the user: how long it runs, and the number that it prints. No suite has it, as it has to be told which.

use crate::case::Parameter;
use crate::routine::{Budget, Sink, routine};
use crate::spec::Also;
use crate::sys::limits;
use crate::{Expected, Params, Probe, ProbeError, Spec, Syscall, Unavailable};
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tickmark_wire::printed::{number_after, only_number};
use tickmark_wire::{Better, Group, Headline, Observations, Part, Unit, Values, names};

/// Where it prints to, in the run's working directory: a pipe would have to be emptied beside it.
const OUTPUT: &str = "command.out";
/// So much of that is read.
const MOST: u64 = 1 << 20;
/// Argument for a number without text before it.
const ONLY: &str = "only";

/// A parameter that takes any text.
pub(super) static PROBES: &[Probe] = &[Probe {
    spec: Spec {
        metric: names::COMMAND_TIME,
        headline: Headline::Median,
        timed: "a command, from before it is started until it has ended",
        source: "posix_spawn(3), wait(2)",
        needs: &[Syscall::Execve, Syscall::Wait4],
        expected: Expected::UNKNOWN,
        sleeps: true,
        roams: true,
        weight: 1,
        parameters: &[
            Parameter::text("words", "the program and its arguments, with a NUL between them"),
            Parameter::text(
                "number",
                "which number of what it prints counts: only, or after:TEXT; empty: none",
            ),
        ],
        also: &[Also {
            metric: names::COMMAND_NUMBER,
            title: "number that a command prints",
            unit: Unit::Count,
            better: Better::Lower,
            headline: Headline::Median,
        }],
        // What is not asked for is not missing.
        tune: |spec, arguments| {
            if arguments.get("number").is_none_or(String::is_empty) {
                spec.also = &[];
            }
        },
        ..Spec::cost(Group::Command, "command", "time of a command")
    },
    prepare: |_, params| {
        let options = options_from(params);
        if options.words.iter().all(String::is_empty) {
            return Err(Unavailable::Missing("no command was named".to_owned()));
        }
        Ok(routine(move |budget, sink| options.run(budget, sink)))
    },
}];

/// The command to run, and the number that counts.
struct CommandOptions {
    /// The CPU of the run, and all that there are.
    cpu: u32,
    allowed: Vec<u32>,
    words: Vec<String>,
    number: String,
    output: PathBuf,
}

fn options_from(params: &Params) -> CommandOptions {
    let of = |name: &str| params.arguments.get(name).cloned().unwrap_or_default();
    CommandOptions {
        cpu: params.cpu,
        allowed: params.allowed.clone(),
        words: of("words").split('\0').map(str::to_owned).collect(),
        number: of("number"),
        output: OUTPUT.into(),
    }
}

impl CommandOptions {
    fn run(&self, budget: &Budget, sink: &mut dyn Sink) -> Result<(), ProbeError> {
        let name = self.words.first().map_or("", String::as_str);
        let wrong = |why: String| ProbeError::Other(format!("`{}`: {why}", self.words.join(" ")));
        let place = self.output.display();
        let out = File::create(&self.output).map_err(|error| wrong(format!("{place}: {error}")))?;
        let both = out.try_clone().map_err(|error| wrong(error.to_string()))?;
        let mut command = Command::new(name);
        command.args(&self.words[1..]).stdin(Stdio::null()).stdout(out).stderr(both);
        budget.align();
        // It may use every CPU that it might without being measured.
        limits::pin(&self.allowed)?;
        let begun = tickmark_timer::monotonic_ns();
        let status = command.status();
        let took = tickmark_timer::monotonic_ns() - begun;
        limits::pin(&[self.cpu])?;
        let status = status.map_err(|error| wrong(error.to_string()))?;
        let mut printed = Vec::new();
        let file = File::open(&self.output).map_err(|error| wrong(format!("{place}: {error}")))?;
        file.take(MOST + 1).read_to_end(&mut printed).map_err(|error| wrong(format!("{place}: {error}")))?;
        let too_much = printed.len() as u64 > MOST;
        let printed = String::from_utf8_lossy(&printed);
        if !status.success() {
            let last = printed.lines().rfind(|line| !line.trim().is_empty());
            let last = last.map_or(String::new(), |line| format!("; it printed last: {}", line.trim()));
            return Err(wrong(format!("ended with {status}{last}")));
        }
        let one = |value: f64, step: f64| Observations::Values(Values { values: vec![value], step, over: 0 });
        sink.observe(Part::Whole, one(took as f64, 0.0), Vec::new());
        if !self.number.is_empty() && too_much {
            return Err(wrong(format!(
                "it printed more than {} MiB: too much to look for a number",
                MOST >> 20
            )));
        }
        let number = match self.number.as_str() {
            "" => return Ok(()),
            ONLY => only_number(&printed),
            text => number_after(&printed, text.strip_prefix("after:").unwrap_or(text)),
        };
        let number = number.map_err(wrong)?;
        sink.take(1, Part::Whole, one(number.value, number.step), Vec::new());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Gauge;
    use tickmark_wire::{Nanos, Segment};

    #[derive(Default)]
    struct KeptSamples(Vec<(usize, f64)>);

    impl Sink for KeptSamples {
        fn take(&mut self, metric: usize, _: Part, observations: Observations, _: Vec<Segment>) {
            let Observations::Values(values) = observations else { panic!("{observations:?}") };
            self.0.extend(values.values.iter().map(|value| (metric, *value)));
        }
    }

    fn run(words: &[&str], number: &str) -> Result<Vec<(usize, f64)>, String> {
        let folder = tempfile::tempdir().unwrap();
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let allowed = limits::allowed_cpus().unwrap();
        let options = CommandOptions {
            cpu: allowed[0],
            allowed,
            words,
            number: number.to_owned(),
            output: folder.path().join(OUTPUT),
        };
        let second = Nanos::from_millis(1000);
        let budget =
            Budget { time: second, batch: second, gauge: Gauge::choose(false), phase: None, stop: None };
        let mut kept = KeptSamples::default();
        options.run(&budget, &mut kept).map_err(|error| error.to_string())?;
        Ok(kept.0)
    }

    #[test]
    fn its_time_and_its_number() {
        let time = run(&["sleep", "0.05"], "").unwrap();
        assert!(matches!(time[..], [(0, ns)] if ns > 5e7), "{time:?}");
        let both = run(&["echo", "took 7 of", "a: 42"], "after:a:").unwrap();
        assert!(matches!(both[..], [(0, _), (1, 42.0)]), "{both:?}");
        assert!(run(&["echo", "1 2"], "only").unwrap_err().contains("more than one number"));
        let why = run(&["sh", "-c", "echo first; echo no luck >&2; exit 3"], "").unwrap_err();
        assert!(why.contains("exit status: 3") && why.contains("no luck"), "{why}");
        assert!(run(&["/nowhere"], "").unwrap_err().contains("No such file"));
    }

    #[test]
    fn no_suite_has_it_and_it_takes_any_text() {
        assert!(crate::registry::PROBES.cases().all(|case| case.spec().name != "command"));
        let read = |number: &str| {
            [("words", "a\0b, c=d"), ("number", number)]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into()
        };
        let case = |number| crate::registry::PROBES.case("command", &read(number)).unwrap();
        assert_eq!((case("").metrics().len(), case("only").metrics().len()), (1, 2));
    }
}
