//! The process that runs commands of the user: this program, started again, which stays small. It is asked a line and answers a line.

use crate::{Control, Error};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use tickmark_probe::sys::{execution, limits};
use tickmark_wire::{Execution, ExecutionReply, ExecutionRequest, Nanos};

/// The word that makes this program the runner.
pub const NAME: &str = "runner";
/// How often it is asked whether a command is still wanted.
const LOOK: Nanos = Nanos::from_millis(50);

/// Runs what standard input asks for, until that ends.
#[must_use]
pub fn serve() -> ExitCode {
    limits::wait_for_children();
    let mut runner = execution::Runner::new();
    let mut line = String::new();
    loop {
        line.clear();
        if !std::io::stdin().lock().read_line(&mut line).is_ok_and(|length| length > 0) {
            return ExitCode::SUCCESS;
        }
        // While a command runs, nothing but the end of standard input comes.
        let reply: ExecutionReply = serde_json::from_slice(line.as_bytes())
            .map_err(|error| error.to_string())
            .and_then(|request| runner.carry_out(&request, std::io::stdin().as_fd()));
        let Ok(reply) = serde_json::to_string(&reply) else { return ExitCode::FAILURE };
        if writeln!(std::io::stdout(), "{reply}").is_err() {
            return ExitCode::FAILURE;
        }
    }
}

/// The other end of it.
pub(crate) struct Runner {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Runner {
    pub(crate) fn start() -> Result<Self, Error> {
        let program = std::env::current_exe().map_err(Error::Agent)?;
        let mut command = Command::new(program);
        // Ctrl-C is for this process alone; it ends the command by ending the runner's standard input.
        command.arg(NAME).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(Error::Agent)?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().ok_or_else(|| Error::AgentEnded("it has no output".to_owned()))?;
        Ok(Self { child, stdin, stdout: BufReader::new(stdout) })
    }

    /// Carries a request out.
    ///
    /// # Errors
    /// The command cannot be started; the runner is gone.
    pub(crate) fn run(
        &mut self,
        request: &ExecutionRequest,
        control: &Control,
    ) -> Result<Vec<Execution>, Error> {
        let gone = || Error::Refused("the process that runs the commands has ended".to_owned());
        let text = serde_json::to_string(request).map_err(|error| Error::Refused(error.to_string()))?;
        let stdin = self.stdin.as_mut().ok_or_else(gone)?;
        writeln!(stdin, "{text}").map_err(|_| gone())?;
        loop {
            let ready = limits::readable(&[self.stdout.get_ref().as_fd()], LOOK);
            if ready.is_ok_and(|ready| ready[0]) {
                break;
            }
            if control.stopped() {
                self.stdin = None;
            }
        }
        let mut line = String::new();
        self.stdout.read_line(&mut line).map_err(|_| gone())?;
        let reply: ExecutionReply = serde_json::from_slice(line.as_bytes()).map_err(|_| gone())?;
        reply.map_err(Error::Refused)
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = self.child.wait();
    }
}
