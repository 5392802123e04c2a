//! Commands of the user, bounded in time.

use crate::Control;
use crate::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use tickmark_process::{Child, End, Until, finish};

/// How a command is run.
pub(crate) struct Run<'a> {
    pub(crate) command: &'a str,
    pub(crate) limit: Duration,
    /// Ends it.
    pub(crate) stop: Option<&'a Control>,
    /// True if what it started and left running ends with it.
    pub(crate) alone: bool,
}

/// Result of a command.
pub(crate) struct CommandResult {
    pub(crate) text: String,
    /// From its start to its end.
    pub(crate) time: Duration,
}

impl Run<'_> {
    /// Runs `sh -c COMMAND`. `before` is called in the thread that starts it, whose CPU, slack and priority it inherits.
    ///
    /// # Errors
    /// It cannot be started, ends with another code than 0, takes longer than the limit, or is stopped.
    pub(crate) fn run(
        &self,
        before: impl FnOnce() -> Result<(), Error> + Send + 'static,
    ) -> Result<CommandResult, Error> {
        self.run_in(None, before)
    }

    /// The same in a folder.
    pub(crate) fn run_in(
        &self,
        folder: Option<&Path>,
        before: impl FnOnce() -> Result<(), Error> + Send + 'static,
    ) -> Result<CommandResult, Error> {
        let failed = |what: String| Error::Refused(format!("`{}` {what}", self.command));
        let mut shell = Command::new("sh");
        shell.args(["-c", self.command]);
        folder.iter().for_each(|folder| {
            shell.current_dir(folder);
        });
        shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = Child::start_after(shell, before)?
            .map_err(|error| failed(format!("cannot be started: {error}")))?;
        let stop = || self.stop.is_some_and(Control::stopped);
        let until = Until { limit: Some(self.limit), stop: &stop };
        let done = finish(child, Vec::new(), self.alone, &until)
            .map_err(|error| failed(format!("is lost: {error}")))?;
        match done.end {
            End::Stopped => Err(failed("was interrupted".to_owned())),
            End::Late => Err(failed(format!("took longer than {} s", self.limit.as_secs_f64()))),
            End::Exited(status, time) if status.success() => {
                Ok(CommandResult { text: String::from_utf8_lossy(&done.stdout).into_owned(), time })
            }
            End::Exited(status, _) => {
                let said = String::from_utf8_lossy(&done.stderr);
                let why = said.lines().find(|line| !line.trim().is_empty());
                let why = why.map_or(String::new(), |line| format!(": {}", line.trim()));
                Err(failed(format!("ended with {status}{why}")))
            }
        }
    }
}

/// No command of a knob takes longer.
const LIMIT: Duration = Duration::from_secs(300);

/// Runs a command that makes or takes back a setting; what it leaves running is meant to run.
pub(crate) fn setting(command: &str) -> Result<String, Error> {
    let run = Run { command, limit: LIMIT, stop: None, alone: false };
    run.run(|| Ok(())).map(|done| done.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn run(command: &str, limit: Duration, alone: bool) -> Result<String, String> {
        let run = Run { command, limit, stop: None, alone };
        run.run(|| Ok(())).map(|done| done.text).map_err(|error| error.to_string())
    }

    #[test]
    fn what_it_says_and_how_it_ends() {
        let limit = Duration::from_secs(5);
        assert_eq!(run("echo 42; echo 43 >&2", limit, true).unwrap(), "42\n");
        assert!(run("echo no such thing >&2; exit 3", limit, true).unwrap_err().contains("no such thing"));
        // A child that is left behind ends with it, or is left alone; nobody waits for it.
        let started = Instant::now();
        assert_eq!(run("sleep 30 & echo done", limit, true).unwrap(), "done\n");
        assert_eq!(run("setsid sleep 2 & echo done", limit, false).unwrap(), "done\n");
        assert!(run("sleep 30", Duration::from_millis(50), true).unwrap_err().contains("took longer"));
        assert!(started.elapsed() < limit, "nobody waits");
    }

    #[test]
    fn it_can_be_stopped() {
        let stop = Control::default();
        stop.stop();
        let run = Run { command: "sleep 30", limit: Duration::from_secs(30), stop: Some(&stop), alone: true };
        assert!(run.run(|| Ok(())).map(|done| done.text).unwrap_err().to_string().contains("interrupted"));
    }
}
