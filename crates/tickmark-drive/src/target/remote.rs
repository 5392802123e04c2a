//! A real machine over ssh: it boots another kernel for each setting, and each boot is measured once.

use super::{AgentLine, Target, follow};
use crate::Control;
use crate::Error;
use std::hash::{BuildHasher, RandomState};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tickmark_process::{Child, End, Until};
use tickmark_wire::{Event, Hello, Plan};

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
    /// The HZ that its kernel is to have; none where that is not said.
    pub(crate) hz: Option<u32>,
    /// Prints what tells its boots apart.
    pub(crate) identity: String,
    /// How long it may take to answer again.
    pub(crate) limit: Duration,
    pub(crate) agent: Arc<Vec<u8>>,
    pub(crate) control: Control,
}

impl Remote {
    pub(super) fn ssh(&self, command: &str) -> Command {
        let mut ssh = Command::new("ssh");
        // Nobody is there to be asked, and a machine that is down must not be waited for.
        ssh.args(["-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "-o", "ServerAliveInterval=5"]);
        ssh.args(&self.options).arg("--").arg(&self.host).arg(command);
        ssh
    }

    /// Output of a command on the other host, with this as its input.
    fn output(&self, command: &str, input: Vec<u8>) -> Result<Output, Error> {
        // Connecting has a limit of its own.
        let limit = Some(self.limit + Duration::from_secs(10));
        let until = Until { limit, stop: &|| self.control.stopped() };
        // What ssh leaves running is the user's (ControlPersist).
        let done = tickmark_process::output(self.ssh(command), input, false, &until).map_err(|error| {
            let missing = error.kind() == std::io::ErrorKind::NotFound;
            let hint = if missing { "; apt-get install openssh-client" } else { "" };
            Error::Refused(format!("{}: ssh: {error}{hint}", self.host))
        })?;
        match done.end {
            End::Exited(status, _) => Ok(Output { status, stdout: done.stdout, stderr: done.stderr }),
            End::Stopped => Err(Error::Refused("interrupted".to_owned())),
            End::Late => {
                let limit = self.limit.as_secs();
                Err(Error::Refused(format!("{}: `{command}` took longer than {limit} s", self.host)))
            }
        }
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
        let output = self.output(&self.identity, Vec::new())?;
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
        let output = self.output(&self.boot, Vec::new())?;
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
            "{} did not come up in a new boot within {} s after `{}`",
            self.host,
            self.limit.as_secs(),
            self.boot
        )))
    }

    /// Refuses a boot into another HZ than the setting's: it would pass for what was asked.
    fn check(&self, hello: &Hello) -> Result<(), Error> {
        let Some(hz) = self.hz else { return Ok(()) };
        let wrong =
            |is: &str| Err(Error::Refused(format!("{}: booted for HZ {hz}, and its kernel {is}", self.host)));
        match hello.environment.get("kernel.config.HZ") {
            Some(known) if known == hz.to_string() => Ok(()),
            Some(other) => wrong(&format!("has {other}")),
            None => wrong("does not say which it has (/boot/config-*, /proc/config.gz)"),
        }
    }

    /// Puts the agent there, whole and in one step: machines may share a home, and a connection may end.
    pub(super) fn install(&self) -> Result<(), Error> {
        let new = format!("{FOLDER}/agent.{:016x}", RandomState::new().hash_one(std::process::id()));
        let command = format!(
            "mkdir -p {FOLDER} && cat > {new} && [ $(wc -c < {new}) -eq {} ] && chmod 700 {new} && mv -f {new} {FOLDER}/agent \
             || (rm -f {new}; false)",
            self.agent.len()
        );
        let output = self.output(&command, self.agent.to_vec())?;
        if output.status.success() { Ok(()) } else { Err(self.failed("copying the agent", &output)) }
    }
}

impl Target for Remote {
    fn run(&mut self, plan: &Plan, on: &mut dyn FnMut(AgentLine) -> Result<(), Error>) -> Result<(), Error> {
        self.reboot()?;
        self.install()?;
        let mut ssh = self.ssh(&format!("exec {FOLDER}/agent run"));
        ssh.stdin(Stdio::piped()).stdout(Stdio::piped());
        // Ctrl-C is for this process alone; it ends the agent by ending its input.
        let mut agent = Child::start(ssh).map_err(Error::Agent)?;
        let pipes = (agent.stdin.take(), agent.stdout.take());
        let (mut greeted, mut complete) = (false, false);
        let followed = follow(pipes, plan, &self.control, &mut |heard| {
            greeted |= matches!(heard.event(), Some(Event::Hello(_) | Event::Refused(_)));
            complete |= matches!(heard.event(), Some(Event::Goodbye { .. } | Event::Refused(_)));
            if let Some(Event::Hello(hello)) = heard.event() {
                self.check(hello)?;
            }
            on(heard)
        });
        // Its output has ended, or nobody wants more of it.
        let until = Until { limit: Some(self.limit), stop: &|| false };
        let status = match agent.wait(&until).map_err(Error::Agent)? {
            End::Exited(status, _) => status.to_string(),
            End::Late | End::Stopped => "no word".to_owned(),
        };
        followed?;
        match () {
            () if complete || self.control.stopped() => Ok(()),
            () if greeted => {
                Err(Error::AgentEnded(format!("{} was lost in the middle of a boot ({status})", self.host)))
            }
            () => {
                Err(Error::AgentEnded(format!("ssh to {} ended before the agent did ({status})", self.host)))
            }
        }
    }
}
