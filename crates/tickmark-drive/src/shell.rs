//! Commands of the user, bounded in time.

use crate::Control;
use crate::Error;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use tickmark_probe::sys::limits;

/// How a command is run.
pub(crate) struct Run<'a> {
    pub(crate) command: &'a str,
    pub(crate) limit: Duration,
    /// Ends it.
    pub(crate) stop: Option<&'a Control>,
    /// Whether what it started and left running ends with it.
    pub(crate) alone: bool,
}

/// What came of it.
pub(crate) struct Done {
    pub(crate) text: String,
    /// From its start to its end.
    pub(crate) time: Duration,
}

/// What a program says of itself is no longer; the rest is read, so that it does not wait, and left out.
const MOST: u64 = 16 << 20;
/// How long what a command left running may hold its output open.
const PATIENCE: Duration = Duration::from_millis(300);

impl Run<'_> {
    /// Runs `sh -c COMMAND` in a process group of its own, which ends with this program, also where that is killed. `before` is
    /// called in the thread that starts it, whose CPU, slack and priority it inherits.
    ///
    /// # Errors
    /// It cannot be started, ends with another code than 0, takes longer than the limit, or is stopped.
    pub(crate) fn run(
        &self,
        before: impl FnOnce() -> Result<(), Error> + Send + 'static,
    ) -> Result<Done, Error> {
        let failed = |what: String| Error::Refused(format!("`{}` {what}", self.command));
        let mut shell = Command::new("sh");
        shell.args(["-c", self.command]).process_group(0);
        shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        limits::end_with_this(&mut shell);
        let (say, spawned) = channel();
        let (over, until_over) = channel::<()>();
        std::thread::spawn(move || {
            let child = before().map(|()| {
                let started = Instant::now();
                shell.spawn().map(|child| (child, started))
            });
            let _ = say.send(child);
            // The kernel ends the shell with the thread that started it, which therefore stays.
            let _ = until_over.recv();
        });
        let spawned = spawned.recv().map_err(|_| failed("cannot be started".to_owned()))??;
        let (mut child, started) = spawned.map_err(|error| failed(format!("cannot be started: {error}")))?;
        let group = child.id();
        let (out, err) = (drain(child.stdout.take()), drain(child.stderr.take()));
        // A thread that sleeps until it ends: its end is stamped at once.
        let (send, ended) = channel();
        std::thread::spawn(move || {
            let status = child.wait();
            let _ = send.send((status, started.elapsed()));
            drop(over);
        });
        let waited = self.wait(&ended);
        if self.alone || waited.is_err() {
            limits::kill_group(group);
        }
        let (status, time) = waited.map_err(failed)?;
        let until = Instant::now() + PATIENCE;
        let text = |pipe: &Receiver<Vec<u8>>| {
            let mut bytes = Vec::new();
            while let Ok(piece) = pipe.recv_timeout(until.saturating_duration_since(Instant::now())) {
                bytes.extend(piece);
            }
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let (text, err) = (text(&out), text(&err));
        if status.success() {
            return Ok(Done { text, time });
        }
        let said = err.lines().find(|line| !line.trim().is_empty());
        Err(failed(format!(
            "ended with {status}{}",
            said.map_or(String::new(), |line| format!(": {}", line.trim()))
        )))
    }

    fn wait(
        &self,
        ended: &Receiver<(std::io::Result<ExitStatus>, Duration)>,
    ) -> Result<(ExitStatus, Duration), String> {
        let end = Instant::now() + self.limit;
        loop {
            match ended.recv_timeout(Duration::from_millis(50)) {
                Ok((status, time)) => {
                    return status.map(|status| (status, time)).map_err(|error| format!("is lost: {error}"));
                }
                Err(RecvTimeoutError::Disconnected) => return Err("is lost".to_owned()),
                Err(RecvTimeoutError::Timeout) if self.stop.is_some_and(Control::stopped) => {
                    return Err("was interrupted".to_owned());
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() > end => {
                    return Err(format!("took longer than {} s", self.limit.as_secs_f64()));
                }
                Err(RecvTimeoutError::Timeout) => {}
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

/// Reads a pipe to its end in a thread of its own, and hands on what comes as it comes: a child that was left behind may hold it
/// open.
fn drain<P: Read + Send + 'static>(pipe: Option<P>) -> Receiver<Vec<u8>> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let Some(mut pipe) = pipe else { return };
        let (mut piece, mut sent) = ([0; 1 << 14], 0);
        while let Ok(got @ 1..) = pipe.read(&mut piece) {
            if sent < MOST {
                // Read also when nobody listens any more: who writes must not be ended by that.
                let _ = send.send(piece[..got].to_vec());
                sent += got as u64;
            }
        }
    });
    receive
}

#[cfg(test)]
mod tests {
    use super::*;

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
