//! Another host over ssh whose agent answers messages of this one.

use super::{Remote, static_program};
use crate::{Control, Error};
use std::io::Write;
use std::process::{ChildStdin, Stdio};
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};
use tickmark_lab::StaticProgram;
use tickmark_probe::session::Token;
use tickmark_process::{Child, Drained, Lines};

/// How long the other host may take to answer.
const LIMIT: Duration = Duration::from_secs(30);
/// How long what ssh said last is waited for.
const SAID: Duration = Duration::from_secs(2);
/// Bytes of a line that are read.
const LINE: usize = 64 << 10;
/// Where it listens: at the address that this connection came to, and at no other.
const LISTEN: &str = r#"set -- $SSH_CONNECTION; case "$3" in "") exit 9;; *:*) at="[$3]";; *) at="$3";; esac; exec "$HOME"/.cache/tickmark/agent serve "$at:0""#;

/// It listens until this is dropped.
pub struct Serving {
    /// Where, as ADDRESS:PORT.
    pub address: String,
    /// Who knows it is answered.
    pub token: Token,
    _stdin: ChildStdin,
    _ssh: Child,
}

impl Serving {
    /// Starts the agent on a host, as ssh has it, with options of ssh.
    ///
    /// # Errors
    /// The static agent cannot be built, the host does not answer, or its agent cannot listen.
    pub fn start(host: &str, options: &[String], control: &Control) -> Result<Self, Error> {
        let agent = std::fs::read(static_program(StaticProgram::Agent, control)?).map_err(Error::Agent)?;
        let remote = Remote {
            host: host.to_owned(),
            options: options.to_vec(),
            boot: String::new(),
            hz: None,
            identity: String::new(),
            limit: LIMIT,
            agent: Arc::new(agent),
            control: control.clone(),
        };
        remote.install()?;
        let token = Token::make().map_err(Error::Agent)?;
        let mut ssh = remote.ssh(&format!("exec sh -c '{LISTEN}'"));
        ssh.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut ssh = Child::start(ssh).map_err(Error::Agent)?;
        let refused = |why: String| Error::Refused(format!("{host}: {why}"));
        let none = || refused("ssh has no pipes".to_owned());
        let (mut stdin, stdout) = (ssh.stdin.take().ok_or_else(none)?, ssh.stdout.take().ok_or_else(none)?);
        // Read all the while: a full pipe would stop ssh.
        let stderr = Drained::start(ssh.stderr.take());
        let _ = writeln!(stdin, "{}", token.reveal());
        // Read elsewhere: one that says nothing is not waited for, and one that says much does not wait for a reader.
        let (tell, answers) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            // A shell on the way may have words of its own before the agent has.
            for line in Lines::new(stdout, LINE).map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line.into_bytes()).into_owned();
                if let Some(address) = line.strip_prefix("listening ") {
                    let _ = tell.send(address.to_owned());
                }
            }
        });
        let found = match answers.recv_timeout(LIMIT) {
            Ok(address) => Some(address),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                return Err(refused(format!("its agent does not listen within {} s", LIMIT.as_secs())));
            }
        };
        let Some(address) = found else {
            drop(stdin);
            let said = stderr.until(Instant::now() + SAID);
            let said = String::from_utf8_lossy(&said);
            let last = said.lines().rev().find(|line| !line.trim().is_empty());
            return Err(refused(format!(
                "its agent does not listen: {}",
                last.unwrap_or("it printed nothing")
            )));
        };
        Ok(Self { address, token, _stdin: stdin, _ssh: ssh })
    }
}
