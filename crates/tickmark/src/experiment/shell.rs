//! Commands of the user, bounded in time.

use crate::error::Error;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Runs `sh -c COMMAND` in a process group of its own; what it prints. `before` is called in the thread that starts it, whose
/// CPU, slack and priority it inherits.
///
/// # Errors
/// It cannot be started, ends with another code than 0, or takes longer than the limit; then its group is ended.
pub(super) fn run(
    command: &str,
    limit: Duration,
    before: impl FnOnce(&mut Command) + Send,
) -> Result<String, Error> {
    let failed = |what: String| Error::Refused(format!("`{command}` {what}"));
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let started = std::thread::scope(|scope| {
        let spawn = || {
            before(&mut shell);
            shell.spawn()
        };
        scope.spawn(spawn).join().unwrap_or_else(|_| Err(std::io::Error::other("a thread ended")))
    });
    let mut child = started.map_err(|error| failed(format!("cannot be started: {error}")))?;
    let (out, err) = (drain(child.stdout.take()), drain(child.stderr.take()));
    let end = Instant::now() + limit;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(2)),
            Ok(None) => {
                end_group(&mut child);
                return Err(failed(format!("took longer than {} s", limit.as_secs())));
            }
            Err(error) => return Err(failed(format!("is lost: {error}"))),
        }
    };
    // What it left running would hold the pipes open, and has no business here.
    tickmark_probe::sys::limits::kill_group(child.id());
    let text = |pipe: std::thread::JoinHandle<Vec<u8>>| {
        String::from_utf8_lossy(&pipe.join().unwrap_or_default()).into_owned()
    };
    let (out, err) = (text(out), text(err));
    if status.success() {
        return Ok(out);
    }
    let said = err
        .lines()
        .find(|line| !line.trim().is_empty())
        .map_or(String::new(), |line| format!(": {}", line.trim()));
    Err(failed(format!("ended with {status}{said}")))
}

fn drain<P: Read + Send + 'static>(pipe: Option<P>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What is more than a program says of itself is left out, and read on so that it does not wait.
            let _ = (&mut pipe).take(16 << 20).read_to_end(&mut bytes);
            let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        }
        bytes
    })
}

fn end_group(child: &mut Child) {
    tickmark_probe::sys::limits::kill_group(child.id());
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_says_and_how_it_ends() {
        let run = |command: &str| run(command, Duration::from_secs(5), |_| {});
        assert_eq!(run("echo 42; echo 43 >&2").unwrap(), "42\n");
        assert!(run("echo no such thing >&2; exit 3").unwrap_err().to_string().contains("no such thing"));
        // A child that is left behind does not hold the command.
        assert_eq!(run("sleep 30 & echo done").unwrap(), "done\n");
        let slow = super::run("sleep 30", Duration::from_millis(50), |_| {}).unwrap_err();
        assert!(slow.to_string().contains("took longer"));
    }
}
