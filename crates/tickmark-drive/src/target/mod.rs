//! Where a plan is carried out.

mod guest;
mod here;
mod remote;
mod serving;

pub use guest::{AgentKind, Guest};
pub use here::ThisMachine;
pub use remote::Remote;
pub use serving::Serving;

pub(crate) use guest::{FILE, MODULE};
pub use guest::{explained_counts, static_program};
pub(crate) use remote::IDENTITY;

use crate::{Control, Error};
use std::io::Write;
use std::process::{ChildStdin, ChildStdout};
use tickmark_process::{Line, Lines};
use tickmark_wire::{Event, FORMAT, Hello, LineContent, Plan, Reason};

/// Bytes of an event at most: an agent's longest have some millions.
pub(crate) const LONGEST: usize = 256 << 20;

/// A machine that carries out plans. Several may be at work at once.
pub trait Target: Send {
    /// Carries out a plan and passes on each line as it comes; an error of the receiver stops the agent.
    ///
    /// # Errors
    /// The agent cannot be started, refuses, or is of a version that is not understood; what the receiver says.
    fn run(&mut self, plan: &Plan, on: &mut dyn FnMut(AgentLine) -> Result<(), Error>) -> Result<(), Error>;
}

/// A line of an agent: as it came, and what it says.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentLine {
    /// To be kept.
    pub line: Vec<u8>,
    /// To be acted on.
    pub said: LineContent,
}

impl AgentLine {
    /// A line that is made here, or changed on its way.
    #[must_use]
    pub fn from_event(event: Event) -> Self {
        Self { line: serde_json::to_vec(&event).unwrap_or_default(), said: LineContent::Event(event) }
    }

    /// The event, where it is not one of observations.
    #[must_use]
    pub fn event(&self) -> Option<&Event> {
        match &self.said {
            LineContent::Event(event) => Some(event),
            LineContent::Observed(_) => None,
        }
    }

    /// True if a run may end with it, so that it is to be on the disk.
    #[must_use]
    pub fn ends(&self) -> bool {
        self.event().is_some_and(|event| !matches!(event, Event::Started(_)))
    }
}

/// Refuses an agent whose events would be misunderstood.
///
/// # Errors
/// By name and version.
pub(crate) fn understood(hello: &Hello) -> Result<(), Error> {
    if hello.format.readable() {
        return Ok(());
    }
    let (agent, format, own) = (&hello.agent, hello.format, FORMAT.major);
    Err(Error::Refused(format!(
        "the agent is of version {agent} and writes format {format}; this tickmark reads {own}.x: use the agent that comes with it"
    )))
}

/// Gives an agent its plan and passes on what it says until it ends; an error of the receiver ends it.
pub(crate) fn follow(
    (stdin, stdout): (Option<ChildStdin>, Option<ChildStdout>),
    plan: &Plan,
    control: &Control,
    on: &mut dyn FnMut(AgentLine) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut lifeline = stdin.map(|mut stdin| {
        // An agent that refuses may end before it has read all; its events say why.
        let _ = serde_json::to_writer(&mut stdin, plan).map(|()| stdin.write_all(b"\n"));
        control.hold(stdin)
    });
    let mut result = Ok(());
    let Some(stdout) = stdout else { return result };
    let mut stream = Stream::default();
    for line in Lines::new(stdout, LONGEST).map_while(Result::ok) {
        let is_cut = matches!(line, Line::Cut(_));
        let taken = match line {
            Line::Whole(line) => stream.take(line),
            Line::Cut(_) => {
                Err(Error::Refused(format!("the agent wrote a line of more than {LONGEST} bytes")))
            }
        };
        match taken {
            Ok(Some(heard)) if result.is_ok() => {
                result = on(heard);
                if result.is_err() {
                    // This agent ends; others of the same work go on.
                    lifeline.take();
                }
            }
            Ok(_) => {}
            Err(error) => {
                result = result.and(Err(error));
                lifeline.take();
                if is_cut {
                    break;
                }
            }
        }
    }
    result
}

/// The lines of one agent, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    greeted: bool,
    running: bool,
    /// The error of a malformed line of the current run.
    spoilt: Option<String>,
}

impl Stream {
    /// The part of a line to pass on.
    pub(crate) fn take(&mut self, line: Vec<u8>) -> Result<Option<AgentLine>, Error> {
        // A shell on the way may have words of its own before the agent has.
        let words = !self.greeted && !line.starts_with(b"{");
        if words || line.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        self.greeted = true;
        let said = match LineContent::parse(&line) {
            Ok(said) => said,
            Err(why) if self.running => {
                self.spoilt = Some(why);
                return Ok(None);
            }
            Err(why) => return Err(Error::AgentEnded(format!("it wrote {why}"))),
        };
        match &said {
            LineContent::Event(Event::Hello(hello)) => understood(hello)?,
            LineContent::Event(Event::Started(_)) => (self.running, self.spoilt) = (true, None),
            LineContent::Event(Event::Finished(outcome)) => {
                // Without one of its lines a run would give another figure.
                if let Some(why) = self.spoilt.take() {
                    let why = Reason::new(format!("its agent wrote {why}"));
                    return Ok(Some(AgentLine::from_event(Event::Failed(outcome.run, why))));
                }
            }
            _ => {}
        }
        Ok(Some(AgentLine { line, said }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use tickmark_wire::{Format, RunId, Settings};

    fn hello(major: u32) -> Vec<u8> {
        let settled = r#"{"cpu":0,"cpu_because":"","priority":"other","allowed":[0]}"#;
        let settings = serde_json::to_string(&Settings::default()).unwrap();
        format!(
            r#"{{"hello":{{"format":{{"major":{major},"minor":7}},"agent":"9.9","agent_bytes":1,"asked":{settings},"settled":{settled},"environment":{{}}}}}}"#
        )
        .into_bytes()
    }

    #[test]
    fn an_agent_of_another_version_is_understood_or_refused_by_name() {
        let mut stream = Stream::default();
        assert!(stream.take(hello(FORMAT.major)).unwrap().is_some());
        let refused = stream.take(hello(FORMAT.major + 1)).unwrap_err().to_string();
        assert!(refused.contains("version 9.9") && refused.contains("format 2.7"), "{refused}");
        assert!(Format { major: 1, minor: 99 }.readable());
    }

    #[test]
    fn a_run_with_a_damaged_line_has_failed() {
        let mut stream = Stream::default();
        assert_eq!(stream.take(b"Welcome to host".to_vec()).unwrap(), None);
        stream.take(hello(1)).unwrap();
        let started = br#"{"started":{"run":3,"probe":"p","round":1,"at":0}}"#.to_vec();
        assert!(stream.take(started).unwrap().is_some());
        assert_eq!(stream.take(br#"{"observed":{"run":3,"metr"#.to_vec()).unwrap(), None);
        let instrument = r#"{"clock":"tsc","precision":1,"stamp":1,"empty_iteration":0,"frequency":1e9}"#;
        let finished =
            format!(r#"{{"finished":{{"run":3,"instrument":{instrument},"resident_kb":1}}}}"#).into_bytes();
        let last = stream.take(finished).unwrap().unwrap();
        assert!(
            matches!(last.event(), Some(Event::Failed(RunId(3), why)) if why.message.contains("half an event"))
        );
    }

    /// Says hello only when another is at work too.
    struct Waits<'a>(&'a Barrier);

    impl Target for Waits<'_> {
        fn run(&mut self, _: &Plan, on: &mut dyn FnMut(AgentLine) -> Result<(), Error>) -> Result<(), Error> {
            self.0.wait();
            on(AgentLine { line: hello(1), said: LineContent::parse(&hello(1)).unwrap() })
        }
    }

    #[test]
    fn targets_can_be_at_work_at_once() {
        let barrier = Barrier::new(2);
        let plan = Plan { settings: Settings::default(), metrics: Vec::new(), runs: Vec::new() };
        let mut both: Vec<Box<dyn Target + '_>> = vec![Box::new(Waits(&barrier)), Box::new(Waits(&barrier))];
        let heard: usize = std::thread::scope(|scope| {
            let one = |target: &'_ mut Box<dyn Target + '_>| -> usize {
                let mut heard = 0;
                let counted = target.run(&plan, &mut |_| {
                    heard += 1;
                    Ok(())
                });
                counted.map(|()| heard).unwrap()
            };
            let threads: Vec<_> = both.iter_mut().map(|target| scope.spawn(move || one(target))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(heard, 2);
    }

    #[test]
    fn one_stop_ends_every_agent_and_those_that_come_later() {
        let control = Control::default();
        let cat = || {
            let mut command = std::process::Command::new("cat");
            command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null()).spawn().unwrap()
        };
        let mut agents = [cat(), cat(), cat()];
        let [first, second, late] = &mut agents;
        let _lines = [first, second].map(|agent| control.hold(agent.stdin.take().unwrap()));
        control.stop();
        let _late = control.hold(late.stdin.take().unwrap());
        for agent in &mut agents {
            assert!(agent.wait().unwrap().success(), "its input has ended");
        }
    }
}
