//! The command that a setting is about: how it is run, and what is kept of each execution.

use super::extraction::Extraction;
use super::run::Guard;
use crate::shell::Run;
use crate::{Control, Error};
use rand::RngExt;
use rand::rngs::StdRng;
use std::path::Path;
use std::time::Duration;
use tickmark_wire::{
    Arguments, Better, COUNTERS, Event, Execution, ExecutionEnd, ExecutionRequest, Group, Headline, Metric,
    Name, Nanos, Observations, Observed, OutputTarget, Part, Printed, Priority, Reason, RunId, RunPlan,
    Segment, Settings, Unit, Values, names,
};

/// Bytes that a varied environment has more, at most: two pages, in steps of a stack's alignment.
const PADDING: u32 = 8192;
/// In which variable they stand.
const PADDED: &str = "TICKMARK_PADDING";
/// No command before or after an execution takes longer.
const LIMIT: Duration = Duration::from_secs(3600);

/// The command of a setting.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// As it was typed.
    pub text: String,
    /// How it is run.
    pub request: ExecutionRequest,
    /// For the shell, before each run.
    pub prepare: Option<String>,
    /// And after each.
    pub conclude: Option<String>,
    /// Numbers that it prints.
    pub extractions: Vec<Extraction>,
    /// Which counters of the processor the system has and grants, in the order of [`COUNTERS`].
    pub counters: [bool; 4],
    /// True if it lives under a quota of CPU time.
    pub has_quota: bool,
    /// True if it may end with any code.
    pub ignore_failure: bool,
    /// True if its environment has another length in each block.
    pub vary_environment: bool,
    /// True if what starting a process takes is taken off, as a metric of its own.
    pub subtract_start: bool,
}

/// How often a quota of CPU time was used up.
const THROTTLED: &str = "command.throttled";

/// A metric of an execution.
type Figure = (&'static str, &'static str, Unit, Better, fn(&Execution) -> Option<f64>);

/// What is kept of each execution, the first is its time.
const FIGURES: [Figure; 17] = [
    (names::COMMAND_TIME, "time", Unit::Time, Better::Lower, |e| Some(e.wall.as_f64())),
    ("command.user", "CPU time in user space", Unit::Time, Better::Lower, |e| Some(e.user.as_f64())),
    ("command.system", "CPU time in the kernel", Unit::Time, Better::Lower, |e| Some(e.system.as_f64())),
    ("command.resident", "largest resident memory", Unit::Bytes, Better::Lower, |e| Some(e.resident as f64)),
    ("command.faults.minor", "page faults without input", Unit::Count, Better::Lower, |e| count(e.faults[0])),
    ("command.faults.major", "page faults with input", Unit::Count, Better::Lower, |e| count(e.faults[1])),
    ("command.switches.voluntary", "voluntary context switches", Unit::Count, Better::Lower, |e| {
        count(e.switches[0])
    }),
    ("command.switches.involuntary", "involuntary context switches", Unit::Count, Better::Lower, |e| {
        count(e.switches[1])
    }),
    ("command.run_queue", "first thread runnable without a CPU", Unit::Time, Better::Lower, |e| {
        Some(e.run_queue?.as_f64())
    }),
    ("command.bytes.read", "bytes read by calls", Unit::Bytes, Better::Neither, |e| count(e.bytes?[0])),
    ("command.bytes.written", "bytes written by calls", Unit::Bytes, Better::Neither, |e| count(e.bytes?[1])),
    ("command.storage.read", "bytes from storage", Unit::Bytes, Better::Neither, |e| count(e.bytes?[2])),
    ("command.storage.written", "bytes to storage", Unit::Bytes, Better::Neither, |e| count(e.bytes?[3])),
    (THROTTLED, "CPU quota used up", Unit::Count, Better::Lower, |e| count(e.throttled?)),
    (names::COMMAND_START, "starting an empty process", Unit::Time, Better::Neither, |e| {
        Some(e.start?.as_f64())
    }),
    (names::COMMAND_CODE, "exit code", Unit::Count, Better::Neither, |e| match e.end {
        ExecutionEnd::Code(code) => Some(f64::from(code)),
        // As shells have it.
        ExecutionEnd::Signal(signal) => Some(f64::from(128 + signal)),
        _ => None,
    }),
    (names::COMMAND_NET, "time without starting a process", Unit::Time, Better::Lower, |e| {
        Some(e.wall.as_f64() - e.start?.as_f64())
    }),
];

fn count(value: u64) -> Option<f64> {
    Some(value as f64)
}

impl Program {
    /// What its runs give.
    #[must_use]
    pub fn metrics(&self) -> Vec<Metric> {
        let (headline, roams) = (Headline::Mean, self.request.cpu.is_none());
        let settled = |metric: Metric| Metric { headline, sleeps: true, roams, ..metric };
        let own =
            FIGURES.iter().filter(|(name, ..)| self.keeps(name)).map(|(name, title, unit, better, _)| {
                settled(Metric::of_values(name, title, Group::Command, *unit, *better))
            });
        let counters = COUNTERS.iter().zip(self.counters).filter(|(_, is)| *is).map(|(counter, _)| {
            let (name, title) = (format!("command.{counter}"), counter.replace('_', " "));
            settled(Metric::of_values(&name, &title, Group::Command, Unit::Count, Better::Lower))
        });
        let printed = self.extractions.iter().map(|one| {
            settled(Metric::of_values(&one.name, &one.name, Group::Command, Unit::Count, one.better))
        });
        own.chain(counters).chain(printed).collect()
    }

    fn keeps(&self, name: &str) -> bool {
        match name {
            names::COMMAND_NET => self.subtract_start,
            names::COMMAND_CODE => self.ignore_failure,
            THROTTLED => self.has_quota,
            _ => true,
        }
    }

    /// The run of a block.
    pub(super) fn planned(&self, round: u32, random: &mut StdRng) -> RunPlan {
        RunPlan {
            gives: self.metrics().into_iter().map(|metric| metric.name).collect(),
            limit: Some(self.request.limit),
            padding: if self.vary_environment { random.random_range(0..PADDING / 16) * 16 } else { 0 },
            arguments: self.arguments(),
            ..RunPlan::new(RunId(0), round, Name::new(names::COMMAND), Nanos::ZERO)
        }
    }

    /// What the command is told, and where it runs: what differs in any of it is another command.
    fn arguments(&self) -> Arguments {
        let request = &self.request;
        let mut all = Arguments::from([("words".to_owned(), self.text.clone())]);
        let mut say =
            |name: &str, value: Option<String>| all.extend(value.map(|value| (name.to_owned(), value)));
        let here = || std::env::current_dir().ok();
        let directory =
            request.directory.as_ref().map(|own| here().unwrap_or_default().join(own)).or_else(here);
        say("directory", directory.map(|directory| directory.display().to_string()));
        say("shell", (!request.empty.is_empty()).then(|| request.empty.join(" ")));
        let variables: Vec<String> = request
            .environment
            .iter()
            .map(|(name, value)| match value {
                Some(value) => format!("{name}={value}"),
                None => name.clone(),
            })
            .collect();
        say("environment", (!variables.is_empty()).then(|| variables.join(" ")));
        say("cpu", request.cpu.map(|cpu| cpu.to_string()));
        say("priority", (request.priority != Priority::Other).then(|| request.priority.to_string()));
        say("input", request.input.as_ref().map(|file| file.display().to_string()));
        say("prepare", self.prepare.clone());
        say("conclude", self.conclude.clone());
        all
    }

    /// Each metric with its values, one for each execution; without those that the system does not give.
    fn values(&self, executions: &[Execution]) -> Result<Vec<(String, Vec<Printed>)>, String> {
        let all = |one: &dyn Fn(&Execution) -> Option<f64>| {
            executions.iter().map(|execution| one(execution).map(Printed::from)).collect::<Option<Vec<_>>>()
        };
        let own = FIGURES.iter().filter(|(name, ..)| self.keeps(name));
        let own = own.filter_map(|(name, _, _, _, figure)| Some(((*name).to_owned(), all(figure)?)));
        let counters = COUNTERS.iter().enumerate().filter(|(at, _)| self.counters[*at]);
        let counters = counters.filter_map(|(at, counter)| {
            Some((format!("command.{counter}"), all(&|execution| count(execution.counters[at]?))?))
        });
        let mut values: Vec<(String, Vec<Printed>)> = own.chain(counters).collect();
        for one in &self.extractions {
            let found = executions.iter().map(|execution| {
                let text = execution.output.as_deref().unwrap_or_default();
                let why = if execution.cut { " (it prints more than 16 MiB)" } else { "" };
                one.finder.find(text).map_err(|error| format!("{}: {error}{why}", one.name))
            });
            values.push((one.name.clone(), found.collect::<Result<_, _>>()?));
        }
        Ok(values)
    }

    /// The events of a run.
    fn events(&self, run: RunId, executions: &[Execution]) -> Vec<Event> {
        if let Some(bad) = executions.iter().find(|execution| !self.is_well(execution)) {
            let reason = Reason::new(self.complaint(bad));
            return vec![match bad.end {
                ExecutionEnd::Late => Event::TimedOut(run, reason),
                _ => Event::Failed(run, reason),
            }];
        }
        let mut segments: Vec<Segment> = executions.iter().map(|execution| execution.segment).collect();
        let event = |(name, printed): (String, Vec<Printed>)| {
            let step = printed.iter().map(|printed| printed.step).fold(0.0, f64::max);
            let values = printed.into_iter().map(|printed| printed.value).collect();
            Event::Observed(Observed {
                run,
                metric: Name::new(name),
                part: Part::Whole,
                observations: Observations::Values(Values { values, step, over: 0 }),
                // The conditions stand with the time alone.
                segments: std::mem::take(&mut segments),
            })
        };
        match self.values(executions) {
            Ok(values) => values.into_iter().map(event).collect(),
            Err(why) => vec![Event::Failed(run, Reason::new(why))],
        }
    }

    fn is_well(&self, execution: &Execution) -> bool {
        match execution.end {
            ExecutionEnd::Code(code) => code == 0 || self.ignore_failure,
            ExecutionEnd::Signal(_) => self.ignore_failure,
            ExecutionEnd::Late | ExecutionEnd::Stopped => false,
        }
    }

    /// Why an execution failed, in words.
    fn complaint(&self, execution: &Execution) -> String {
        let said = match execution.complaint.as_str() {
            "" => String::new(),
            complaint => format!(": {complaint}"),
        };
        let how = match execution.end {
            ExecutionEnd::Code(code) => format!("ended with exit code {code}{said}"),
            ExecutionEnd::Signal(signal) => format!("was ended by signal {signal}{said}"),
            ExecutionEnd::Late => format!("took longer than {} s", self.request.limit.as_f64() / 1e9),
            ExecutionEnd::Stopped => "was interrupted".to_owned(),
        };
        format!("`{}` {how}", self.text)
    }

    /// The request under these settings of the knob.
    fn settled(&self, settings: &Settings, joins: Option<&Path>, padding: u32) -> ExecutionRequest {
        let mut request = self.request.clone();
        request.cpu = request.cpu.or(settings.cpu);
        if request.priority == Priority::Other {
            request.priority = settings.priority;
        }
        request.slack = settings.slack;
        request.joins = joins.map(Path::to_owned);
        if padding > 0 {
            request.environment.insert(PADDED.to_owned(), Some("x".repeat(padding as usize)));
        }
        request
    }

    /// Runs it, with what comes before and after; the events of the run, and why it failed.
    pub(super) fn run(
        &self,
        guard: &Guard<'_>,
        planned: &RunPlan,
        settings: &Settings,
        joins: Option<&Path>,
        control: &Control,
    ) -> Result<(Vec<Event>, Option<String>), Error> {
        self.prepare(control)?;
        let executions = guard.execute(&self.settled(settings, joins, planned.padding), control)?;
        self.conclude()?;
        let events = self.events(planned.id, &executions);
        let why = events.iter().find_map(|event| match event {
            Event::Failed(_, reason) | Event::TimedOut(_, reason) => Some(reason.message.clone()),
            _ => None,
        });
        Ok((events, why))
    }

    /// Runs what comes before, where it runs itself.
    fn prepare(&self, control: &Control) -> Result<(), Error> {
        let folder = self.request.directory.as_deref();
        self.prepare.as_deref().map_or(Ok(()), |command| run_command(command, folder, control))
    }

    /// And what comes after, also where the experiment was told to stop.
    fn conclude(&self) -> Result<(), Error> {
        let folder = self.request.directory.as_deref();
        self.conclude.as_deref().map_or(Ok(()), |command| run_command(command, folder, &Control::default()))
    }

    /// Runs it once before anything is measured: whether it can be run, how long it takes, what it prints.
    pub(super) fn trial(
        &self,
        guard: &Guard<'_>,
        settings: &Settings,
        joins: Option<&Path>,
        control: &Control,
    ) -> Result<Trial, Error> {
        self.prepare(control)?;
        let request = ExecutionRequest {
            repeats: 1,
            output: match self.request.output {
                OutputTarget::Null => OutputTarget::Pipe,
                ref other => other.clone(),
            },
            ..self.settled(settings, joins, 0)
        };
        let executions = guard.execute(&request, control)?;
        self.conclude()?;
        let Some(execution) = executions.into_iter().next() else {
            return Err(Error::Refused("nothing was run".to_owned()));
        };
        if !self.is_well(&execution) {
            let hint = match execution.end {
                ExecutionEnd::Code(_) => "; --ignore-failure (-i) measures it all the same",
                _ => "",
            };
            return Err(Error::Refused(format!("{}{hint}", self.complaint(&execution))));
        }
        self.values(std::slice::from_ref(&execution)).map_err(Error::Refused)?;
        let counters = execution.counters.map(|counter| counter.is_some());
        let has_quota = execution.throttled.is_some();
        Ok(Trial { wall: execution.wall.to_duration(), output: execution.output, counters, has_quota })
    }
}

/// Runs a command of the user by the shell, that is not measured.
///
/// # Errors
/// It fails, or is interrupted.
pub fn run_command(command: &str, folder: Option<&Path>, control: &Control) -> Result<(), Error> {
    let run = Run { command, limit: LIMIT, stop: Some(control), alone: false };
    run.run_in(folder, || Ok(())).map(drop)
}

/// What a first execution showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// How long it took.
    pub wall: Duration,
    /// What it printed, where that was read.
    pub output: Option<String>,
    /// Which counters of the processor there are.
    pub counters: [bool; 4],
    /// Whether there is a quota of CPU time.
    pub has_quota: bool,
}
