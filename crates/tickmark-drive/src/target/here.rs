//! This machine: the agent is this program, started again.

use super::{AgentLine, Target, follow};
use crate::control::ProgressEvent;
use crate::{Control, Error};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use tickmark_probe::session::Token;
use tickmark_probe::sys::{host, limits, maps};
use tickmark_probe::wake_up_table::SEEN;
use tickmark_wire::{Catalogue, Event, Plan};

/// This machine.
#[derive(Default)]
pub struct ThisMachine {
    /// Ends its agent.
    pub control: Control,
    /// A cgroup's list of processes, which the agent is to join.
    pub joins: Option<PathBuf>,
    /// Where its runs show their wake-ups as they come.
    pub wake_ups: Option<PathBuf>,
}

/// This program, to be started as the agent.
fn agent(does: &str) -> std::io::Result<Command> {
    // /proc/self/exe would do, but /proc may be missing.
    let program = std::env::current_exe().or_else(|e| host::executed_as().map(Into::into).ok_or(e))?;
    let mut agent = Command::new(program);
    agent.args(["agent", does]).stdout(Stdio::piped());
    Ok(agent)
}

impl ThisMachine {
    /// The catalogue of its agent: everything that suites run, or the named cases (PROBE:PARAMETER=VALUE,...).
    ///
    /// # Errors
    /// It cannot be started, has no such case, or says nothing that can be read.
    pub fn catalogue(cases: &[String]) -> Result<Catalogue, Error> {
        let settings =
            |mut agent: Command| agent.args(cases).stdin(Stdio::piped()).stderr(Stdio::piped()).output();
        let done = agent("catalogue").and_then(settings).map_err(Error::Agent)?;
        if done.status.code() == Some(2) {
            let said = String::from_utf8_lossy(&done.stderr);
            let why = said.trim().trim_start_matches("tickmark-agent: ");
            return Err(Error::Usage(why.split("; see").next().unwrap_or(why).to_owned()));
        }
        let unread = |error| format!("its catalogue cannot be read ({error}; {})", done.status);
        serde_json::from_slice(&done.stdout).map_err(|error| Error::AgentEnded(unread(error)))
    }

    /// Listens at an address for other hosts that know the token, until it is ended, and passes on each line that it says.
    ///
    /// # Errors
    /// It cannot be started, or cannot listen there.
    pub fn serve(at: &str, cpu: Option<u32>, token: &Token, on: &mut dyn FnMut(&str)) -> Result<(), Error> {
        let mut command = agent("serve").map_err(Error::Agent)?;
        command.arg(at).args(cpu.map(|cpu| cpu.to_string()));
        limits::end_with_this(&mut command);
        // Ctrl-C is for both.
        let command = command.stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut agent = command.spawn().map_err(Error::Agent)?;
        let mut stdin = agent.stdin.take();
        if let Some(stdin) = &mut stdin {
            writeln!(stdin, "{}", token.reveal()).map_err(Error::Agent)?;
        }
        let lines = agent.stdout.take().map(|out| BufReader::new(out).lines().map_while(Result::ok));
        lines.into_iter().flatten().for_each(|line| on(&line));
        drop(stdin);
        let done = agent.wait_with_output().map_err(Error::Agent)?;
        let said = String::from_utf8_lossy(&done.stderr);
        match said.trim().trim_start_matches("tickmark-agent: ") {
            "" => Ok(()),
            why => Err(Error::Refused(why.to_owned())),
        }
    }

    fn start(&self) -> std::io::Result<Child> {
        // Ctrl-C is for this process alone; it tells the agent by ending its standard input.
        let mut agent = agent("run")?;
        agent.env_remove(SEEN).envs(self.wake_ups.as_ref().map(|file| (SEEN, file)));
        let mut agent = agent.stdin(Stdio::piped()).process_group(0).spawn()?;
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

/// Keeping and showing is work too: not on the CPU that is measured, where there is another.
fn leave(measured: u32, allowed: &[u32]) {
    let others: Vec<u32> = allowed.iter().copied().filter(|cpu| *cpu != measured).collect();
    if !others.is_empty() {
        // Where it is refused, the disturbance is seen in the batches.
        let _ = limits::pin(&others);
    }
}

impl Target for ThisMachine {
    fn run(&mut self, plan: &Plan, on: &mut dyn FnMut(AgentLine) -> Result<(), Error>) -> Result<(), Error> {
        // The agent may have every CPU that this program had, before it left the one that is measured.
        let allowed = limits::allowed_cpus();
        let mut agent = self.start().map_err(Error::Agent)?;
        let pipes = (agent.stdin.take(), agent.stdout.take());
        let result = follow(pipes, plan, &self.control, &mut |heard| {
            if let Some(Event::Hello(hello)) = heard.event() {
                leave(hello.settled.cpu, &hello.settled.allowed);
                maps::read_sparingly();
            }
            on(heard)
        });
        let ended = agent.wait();
        if let Ok(status) = ended
            && let Some(signal) = status.signal()
            && !self.control.stopped()
        {
            self.control.tell(ProgressEvent::AgentKilled(signal));
        }
        let _ = allowed.map(|allowed| limits::pin(&allowed));
        result
    }
}
