//! Where a plan is carried out.

use crate::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use tickmark_store::parse_line;
use tickmark_wire::{Event, Plan, Reason};

/// A machine that carries out plans.
pub(crate) trait Target {
    /// Carries out a plan and passes on each event; an error of the receiver stops the agent.
    fn run(&mut self, plan: &Plan, on: &mut dyn FnMut(Event) -> Result<(), Error>) -> Result<(), Error>;
}

/// Stops the agent from another thread: its standard input ends.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop(Arc<Mutex<Lifeline>>);

#[derive(Debug, Default)]
struct Lifeline {
    stdin: Option<ChildStdin>,
    stopped: bool,
}

impl Stop {
    /// Ends the agent, now or as soon as it is started.
    pub(crate) fn stop(&self) {
        let mut line = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        line.stopped = true;
        line.stdin = None;
    }

    /// Whether it was told to stop.
    pub(crate) fn stopped(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).stopped
    }

    fn hold(&self, stdin: ChildStdin) {
        let mut line = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !line.stopped {
            line.stdin = Some(stdin);
        }
    }
}

/// This machine: the agent is this program, started again.
#[derive(Default)]
pub(crate) struct ThisMachine {
    pub(crate) stop: Stop,
    /// A cgroup's list of processes, which the agent is to join.
    pub(crate) joins: Option<PathBuf>,
}

impl ThisMachine {
    fn start(&self) -> std::io::Result<Child> {
        use std::os::unix::process::CommandExt;
        // /proc/self/exe would do, but /proc may be missing.
        let program = std::env::current_exe()
            .or_else(|e| tickmark_probe::sys::host::executed_as().map(Into::into).ok_or(e))?;
        let mut agent = Command::new(program)
            .args(["agent", "run"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Ctrl-C is for this process alone; it tells the agent by ending its standard input.
            .process_group(0)
            .spawn()?;
        if let Some(stdin) = agent.stdin.take() {
            // It waits for its plan, so it has done nothing yet.
            if let Some(procs) = &self.joins
                && let Err(error) = std::fs::write(procs, agent.id().to_string())
            {
                drop(stdin);
                let _ = agent.wait();
                return Err(error);
            }
            agent.stdin = Some(stdin);
        }
        Ok(agent)
    }
}

/// Gives an agent its plan and passes on what it says until it ends; an error of the receiver ends it.
pub(crate) fn follow(
    agent: &mut Child,
    plan: &Plan,
    stop: &Stop,
    on: &mut dyn FnMut(Event) -> Result<(), Error>,
) -> Result<(), Error> {
    if let Some(mut stdin) = agent.stdin.take() {
        // An agent that refuses may end before it has read all; its events say why.
        let _ = serde_json::to_writer(&mut stdin, plan).map(|()| stdin.write_all(b"\n"));
        stop.hold(stdin);
    }
    let mut result = Ok(());
    if let Some(stdout) = agent.stdout.take() {
        let (mut running, mut spoilt) = (None, None);
        let mut greeted = false;
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            // A shell on the way may have words of its own before the agent has.
            let words = !greeted && !line.starts_with(b"{");
            if words || line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            greeted = true;
            let event = match parse_line(&line) {
                Ok(Event::Started(started)) => {
                    (running, spoilt) = (Some(started.run), None);
                    Event::Started(started)
                }
                // Without one of its lines a run would give another figure.
                Ok(Event::Finished(outcome)) if spoilt.is_some() => {
                    let why: String = spoilt.take().unwrap_or_default();
                    Event::Failed(outcome.run, Reason::new(format!("its agent wrote {why}")))
                }
                Ok(event) => event,
                Err(why) if running.is_some() => {
                    spoilt = Some(why);
                    continue;
                }
                Err(why) => {
                    result = result.and(Err(Error::AgentEnded(format!("it wrote {why}"))));
                    stop.stop();
                    continue;
                }
            };
            if result.is_ok() {
                result = on(event);
                if result.is_err() {
                    stop.stop();
                }
            }
        }
    }
    result
}

/// Keeping and showing is work too: not on the CPU that is measured, where there is another.
fn leave(measured: u32, allowed: &[u32]) {
    let others: Vec<u32> = allowed.iter().copied().filter(|cpu| *cpu != measured).collect();
    if !others.is_empty() {
        // Where it is refused, the disturbance is seen in the batches.
        let _ = tickmark_probe::sys::limits::pin(&others);
    }
}

impl Target for ThisMachine {
    fn run(&mut self, plan: &Plan, on: &mut dyn FnMut(Event) -> Result<(), Error>) -> Result<(), Error> {
        // The agent may have every CPU that this program had, before it left the one that is measured.
        let allowed = tickmark_probe::sys::limits::allowed_cpus();
        let mut agent = self.start().map_err(Error::Agent)?;
        let result = follow(&mut agent, plan, &self.stop, &mut |event| {
            if let Event::Hello(hello) = &event {
                leave(hello.settled.cpu, &hello.settled.allowed);
            }
            on(event)
        });
        let ended = agent.wait();
        if let Ok(status) = ended
            && let Some(signal) = status.signal()
            && !self.stop.stopped()
        {
            anstream::eprintln!(
                "tickmark: the agent was killed by signal {signal}: what it had not measured is missing"
            );
        }
        let _ = allowed.map(|allowed| tickmark_probe::sys::limits::pin(&allowed));
        result
    }
}
