//! A real machine over ssh: it boots another kernel for each setting, and each boot is measured once.

use super::{Heard, Target, follow};
use crate::Control;
use crate::Error;
use std::hash::{BuildHasher, RandomState};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tickmark_wire::{Event, Plan};

/// Tells one boot from another.
pub(crate) const IDENTITY: &str = "cat /proc/sys/kernel/random/boot_id";
/// Where the agent is put, as the shell there reads it.
const FOLDER: &str = "\"$HOME\"/.cache/tickmark";

/// A machine with what boots it into a setting.
#[derive(Debug, Clone)]
pub struct Remote {
    /// As ssh has it.
    pub(crate) host: String,
    /// Options of ssh.
    pub(crate) options: Vec<String>,
    /// Run on the machine to boot it into the setting; empty leaves it as it is.
    pub(crate) boot: String,
    /// Prints what tells its boots apart.
    pub(crate) identity: String,
    /// How long it may take to answer again.
    pub(crate) limit: Duration,
    pub(crate) agent: Arc<Vec<u8>>,
    pub(crate) control: Control,
}

impl Remote {
    fn ssh(&self, command: &str) -> Command {
        let mut ssh = Command::new("ssh");
        // Nobody is there to be asked, and a machine that is down must not be waited for.
        ssh.args(["-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "-o", "ServerAliveInterval=5"]);
        ssh.args(&self.options).arg("--").arg(&self.host).arg(command);
        tickmark_probe::sys::limits::end_with_this(&mut ssh);
        // Ctrl-C is for this process alone; it ends the agent by ending its input.
        ssh.process_group(0);
        ssh
    }

    fn output(&self, command: &str) -> Result<Output, Error> {
        let mut ssh = self.ssh(command);
        ssh.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = ssh.spawn().map_err(|error| {
            Error::Refused(format!("cannot start ssh: {error}; apt-get install openssh-client"))
        })?;
        // Read all the while: a full pipe would stop what runs there.
        let (out, err) = (drained(child.stdout.take()), drained(child.stderr.take()));
        let since = Instant::now();
        while child.try_wait().map_err(Error::Agent)?.is_none() {
            // Connecting has a limit of its own.
            if self.control.stopped() || since.elapsed() > self.limit + Duration::from_secs(10) {
                let _ = child.kill();
                let _ = child.wait();
                let why = if self.control.stopped() {
                    "interrupted".to_owned()
                } else {
                    format!("{}: `{command}` took longer than {} s", self.host, self.limit.as_secs())
                };
                return Err(Error::Refused(why));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let status = child.wait().map_err(Error::Agent)?;
        let [stdout, stderr] = [out, err].map(|reader| reader.join().unwrap_or_default());
        Ok(Output { status, stdout, stderr })
    }

    fn failed(&self, what: &str, output: &Output) -> Error {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let why = said
            .lines()
            .rev()
            .find(|line| !line.trim().is_empty())
            .unwrap_or("it printed nothing")
            .to_owned();
        Error::Refused(format!("{}: {what} failed ({}): {why}", self.host, output.status))
    }

    /// Which boot the machine is in.
    fn identity(&self) -> Result<String, Error> {
        let output = self.output(&self.identity)?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
            false => Err(self.failed("asking which boot it is in", &output)),
        }
    }

    /// Boots it into the setting and waits until it answers from another boot.
    fn reboot(&self) -> Result<(), Error> {
        if self.boot.is_empty() {
            return Ok(());
        }
        let before = self.identity()?;
        let output = self.output(&self.boot)?;
        // ssh says 255 where the connection ends, as it may while a machine goes down.
        if !output.status.success() && output.status.code() != Some(255) {
            return Err(self.failed(&format!("`{}`", self.boot), &output));
        }
        let since = Instant::now();
        while since.elapsed() < self.limit {
            if self.control.stopped() {
                return Err(Error::Refused("interrupted while the machine was booting".to_owned()));
            }
            if self.identity().is_ok_and(|now| now != before) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(500));
        }
        Err(Error::Refused(format!(
            "{} did not answer from another boot within {} s after `{}`",
            self.host,
            self.limit.as_secs(),
            self.boot
        )))
    }

    /// Puts the agent there, in one step: machines may share a home.
    fn install(&self) -> Result<(), Error> {
        let new = format!("{FOLDER}/agent.{:016x}", RandomState::new().hash_one(std::process::id()));
        let command = format!(
            "mkdir -p {FOLDER} && cat > {new} && chmod 700 {new} && mv -f {new} {FOLDER}/agent || (rm -f {new}; false)"
        );
        let mut ssh = self.ssh(&command);
        let mut child = ssh
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(Error::Agent)?;
        let sent = child.stdin.take().map(|mut stdin| stdin.write_all(&self.agent));
        let output = child.wait_with_output().map_err(Error::Agent)?;
        match (output.status.success(), sent) {
            (true, Some(Ok(()))) => Ok(()),
            _ if self.control.stopped() => Err(Error::Refused("interrupted".to_owned())),
            _ => Err(self.failed("copying the agent", &output)),
        }
    }
}

/// Reads a pipe to its end in a thread of its own.
fn drained(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        bytes
    })
}

impl Target for Remote {
    fn run(&mut self, plan: &Plan, on: &mut dyn FnMut(Heard) -> Result<(), Error>) -> Result<(), Error> {
        self.reboot()?;
        self.install()?;
        let mut agent = self
            .ssh(&format!("exec {FOLDER}/agent run"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(Error::Agent)?;
        let (mut greeted, mut complete) = (false, false);
        let followed = follow(&mut agent, plan, &self.control, &mut |heard| {
            greeted |= matches!(heard.event(), Some(Event::Hello(_) | Event::Refused(_)));
            complete |= matches!(heard.event(), Some(Event::Goodbye { .. } | Event::Refused(_)));
            on(heard)
        });
        let status = agent.wait().map_err(Error::Agent)?;
        followed?;
        match () {
            () if complete || self.control.stopped() => Ok(()),
            () if greeted => {
                Err(Error::AgentEnded(format!("{} was lost in the middle of a boot ({status})", self.host)))
            }
            () => Err(Error::AgentEnded(format!("{} ended ssh with {status}", self.host))),
        }
    }
}
