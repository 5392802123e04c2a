//! One boot: starts QEMU, waits no longer than the limit, takes what the agent wrote.

use crate::plugin::Plugin;
use crate::qemu::{Files, Machine};
use crate::{Error, tools};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tickmark_process::{Child, End, Until};
use tickmark_wire::shared::{CONSOLE_BEGIN, CONSOLE_END};

/// The file of a boot's folder that its plugin writes.
pub const COUNTS: &str = "counts.txt";

/// Times of its limit that a guest without work may take on the wall: one that stands still, and one beside many others.
const STANDSTILL: u32 = 5;

/// How long a boot may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BootLimit {
    /// On the wall.
    Wall(Duration),
    /// Of processors: a guest whose instructions are counted takes them all the while, and longer on the wall beside other tasks.
    Processor(Duration),
}

/// A guest to boot.
#[derive(Debug)]
pub struct Boot<'a> {
    /// On what.
    pub machine: Machine,
    /// Which kernel.
    pub image: &'a Path,
    /// Its initial file system, with an agent as `init`.
    pub initramfs: &'a [u8],
    /// Arguments of the kernel in addition to those of every kernel; after `--` those of its process 1.
    pub append: &'a str,
    /// How long it may take.
    pub limit: BootLimit,
    /// How long until the agent's first event, where that is known to be soon.
    pub first: Option<Duration>,
    /// An empty folder for its transcript: what it printed, what it wrote, how QEMU was called.
    pub folder: &'a Path,
    /// What counts its instructions by function.
    pub plugin: Option<&'a Plugin>,
}

/// Result of a boot.
#[derive(Debug)]
pub struct Guest {
    /// The events, a line each, as they were written.
    pub events: String,
    /// Everything that it printed.
    pub console: String,
    /// How long it took on the wall.
    pub took: Duration,
}

impl Boot<'_> {
    /// Boots, and waits until the guest has restarted or its time is over.
    ///
    /// # Errors
    /// QEMU is missing or fails; the guest panics, hangs, ends without its events or in the middle of them: with
    /// the last thing that it printed and where its transcript is.
    pub fn run(&self, stop: &dyn Fn() -> bool) -> Result<Guest, Error> {
        let qemu = tools::require_qemu(self.machine.arch)?;
        let path = |name: &str| self.folder.join(name);
        let (initramfs, console, port) = (path("initramfs.cpio"), path("console.txt"), path("port.jsonl"));
        let plain = |what, path: &Path| {
            let path = path.to_owned();
            move |source| Error::File { what, path, source }
        };
        std::fs::create_dir_all(self.folder).map_err(plain("make", self.folder))?;
        std::fs::write(&initramfs, self.initramfs).map_err(plain("write", &initramfs))?;
        let files = Files { image: self.image, initramfs: &initramfs, console: &console, port: &port };
        let append = format!("{} {}", self.machine.command_line(), self.append);
        let (symbols, counts) = (path("symbols.txt"), path(COUNTS));
        let mut options = self.machine.options(&files, append.trim());
        if let Some(plugin) = self.plugin {
            std::fs::write(&symbols, plugin.symbols.list()).map_err(plain("write", &symbols))?;
            options.extend(plugin.options(&symbols, &counts));
        }
        let said = path("qemu.txt");
        let called = format!("{} {}\n", qemu.display(), quoted(&options));
        std::fs::write(&said, called).map_err(plain("write", &said))?;
        let log = std::fs::File::options().append(true).open(&said).map_err(Error::file("open", &said))?;
        let mut command = Command::new(&qemu);
        command.args(&options).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = Child::start(command).map_err(Error::file("start", &qemu))?;
        let ended = self.wait(child, stop, &[&port, &console]);
        let _ = std::fs::remove_file(&initramfs);
        let _ = std::fs::remove_file(&symbols);
        let console = String::from_utf8_lossy(&std::fs::read(&console).unwrap_or_default()).into_owned();
        let written = String::from_utf8_lossy(&std::fs::read(&port).unwrap_or_default()).into_owned();
        let ended = ended?;
        let wrong = |what: String| {
            let last =
                last_words(&console).map_or(String::new(), |line| format!("; it printed last: {line}"));
            Error::Guest(format!("{what}{last}; its transcript is {}", self.folder.display()))
        };
        let Some((status, took)) = ended else {
            let what = if written.is_empty() && !console.contains(CONSOLE_BEGIN) {
                "never began to measure"
            } else {
                "did not end"
            };
            let limit = match self.limit {
                BootLimit::Wall(limit) => format!("{} s", limit.as_secs()),
                BootLimit::Processor(limit) => {
                    format!(
                        "{} s of a processor ({} s on the wall)",
                        limit.as_secs(),
                        (limit * STANDSTILL).as_secs()
                    )
                }
            };
            return Err(wrong(format!("the guest {what} within its limit of {limit}")));
        };
        if !status.success() {
            let text = std::fs::read_to_string(&said).unwrap_or_default();
            let why =
                text.lines().skip(1).find(|line| !line.trim().is_empty()).unwrap_or("no word why").to_owned();
            return Err(wrong(format!("QEMU ended with {status}: {why}")));
        }
        if let Some(panic) = console.lines().find(|line| line.contains("Kernel panic")) {
            let panic = tickmark_wire::text::printable(panic.trim(), false);
            return Err(Error::Guest(format!(
                "the guest's {panic}; its transcript is {}",
                self.folder.display()
            )));
        }
        let events = if written.is_empty() { framed(&console) } else { whole(&written) };
        let events = events.map_err(|why| wrong(format!("the guest {why}")))?;
        Ok(Guest { events, console, took })
    }

    /// Its status and how long it took; none where the time was over.
    fn wait(
        &self,
        mut qemu: Child,
        stop: &dyn Fn() -> bool,
        grows: &[&PathBuf],
    ) -> Result<Option<(ExitStatus, Duration)>, Error> {
        let (started, began) = (Instant::now(), Cell::new(self.first.is_none()));
        let late = || {
            began.set(began.get() || grows.iter().any(|path| has_begun(path)));
            self.first.is_some_and(|first| !began.get() && started.elapsed() > first)
        };
        let (wall, processor) = match self.limit {
            BootLimit::Wall(limit) => (limit, None),
            BootLimit::Processor(limit) => (limit * STANDSTILL, Some(limit)),
        };
        let spent = qemu.processor_time();
        let is_over = || processor.is_some_and(|limit| spent().is_some_and(|spent| spent > limit));
        let until = Until { limit: Some(wall), stop: &|| stop() || late() || is_over() };
        match qemu.wait(&until).map_err(Error::file("wait for", "QEMU"))? {
            End::Exited(status, took) => Ok(Some((status, took))),
            End::Stopped if stop() => Err(Error::Stopped),
            End::Stopped | End::Late => Ok(None),
        }
    }
}

fn has_begun(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains("{\"hello\""))
}

/// The text between the marks of a console.
fn framed(console: &str) -> Result<String, String> {
    let mut events = String::new();
    let mut inside = false;
    for line in console.lines().map(|line| line.trim_end_matches('\r')) {
        match line {
            CONSOLE_BEGIN => inside = true,
            CONSOLE_END if inside => return whole(&events),
            _ if inside => events.extend([line, "\n"]),
            _ => {}
        }
    }
    Err(if inside { "stopped in the middle of its events" } else { "ended before its agent sent an event" }
        .to_owned())
}

/// The text written to the port, if it is complete.
fn whole(written: &str) -> Result<String, String> {
    let last = written.lines().next_back().unwrap_or_default();
    if last.starts_with("{\"goodbye\"") && written.ends_with('\n') {
        return Ok(written.to_owned());
    }
    // The agent says why it did not begin.
    if last.starts_with("{\"refused\"") {
        return Ok(written.to_owned());
    }
    Err("stopped in the middle of its events".to_owned())
}

/// The error of the agent, else the last informative line of the console: neither an event nor the restart.
fn last_words(console: &str) -> Option<String> {
    let says = |line: &&str| {
        let line = line.trim();
        !line.is_empty()
            && !line.starts_with('{')
            && line != CONSOLE_BEGIN
            && line != CONSOLE_END
            && !line.contains("reboot: ")
    };
    let complains = |line: &&str| line.starts_with("tickmark-agent: ");
    let line = console.lines().find(complains).or_else(|| console.lines().rev().find(says))?.trim();
    Some(line.chars().filter(|c| !c.is_control()).take(160).collect())
}

/// Options as a shell would take them.
fn quoted(options: &[String]) -> String {
    let plain = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || "-_=,./:".contains(c));
    let quote =
        |word: &String| if plain(word) { word.clone() } else { format!("'{}'", word.replace('\'', "'\\''")) };
    options.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_stand_between_marks() {
        let console = format!(
            "booting\r\n{CONSOLE_BEGIN}\r\n{{\"a\":1}}\r\n{{\"goodbye\":2}}\r\n{CONSOLE_END}\r\nreboot\r\n"
        );
        assert_eq!(framed(&console).unwrap(), "{\"a\":1}\n{\"goodbye\":2}\n");
        // An agent that was killed takes no leave, whatever process 1 says after it.
        assert!(framed(&console.replace("goodbye", "b")).unwrap_err().contains("middle"));
        assert!(framed(&console[..console.len() - 40]).unwrap_err().contains("middle"));
        assert!(framed("nothing but noise\n\u{fffd}\n").unwrap_err().contains("before its agent"));
        assert_eq!(
            last_words("one\r\ntwo\u{7}\r\n{\"c\"\r\n[ 1.0] reboot: Restarting system\r\n").unwrap(),
            "two"
        );
        assert_eq!(last_words("tickmark-agent: no\r\ntwo\r\n").unwrap(), "tickmark-agent: no");
        assert!(whole("{\"hello\":{}}\n{\"goodbye\":{}}\n").is_ok());
        assert!(whole("{\"hello\":{}}\n{\"goodbye\":{}").is_err());
    }
}
