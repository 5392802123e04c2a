//! A matrix of boots: settings, machines, speeds, probes.

use crate::Error;
use crate::target::AgentKind;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use tickmark_wire::{Better, Nanos, Offer, names};

/// A report beside the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Report {
    /// lmbench's ten tables.
    Lmbench,
    /// Prediction of another HZ from the cost of one tick.
    Prediction,
    /// The per cent rows of the document of 2005, and what it got from noise.
    Document,
    /// Cost of a command beside ticks of each rate, and the rate at which it is least.
    #[serde(rename = "break-even")]
    BreakEven,
    /// How far off the timers of rows are, in each setting.
    Scenarios,
    /// Messages by their sizes, and what they cost the processor.
    Messages,
    /// A server whose clock reads take longer by doses.
    Doses,
    /// ministat's page of each value that is measured whole, such as transactions a second.
    Ministat,
    /// How often the kernel reads its clock source in each operation: of two settings, in the second of which a read takes longer.
    #[serde(rename = "clock-reads")]
    ClockReads,
}

/// A side of the comparison.
#[derive(Debug, Clone, Default)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Settings of the kernel such as `hz=100:tick=idle`, or an image's path.
    pub kernel: String,
    /// HZ of an image, which does not say it: phases are parts of its tick. Of a real machine, what it is to be booted into.
    pub hz: Option<u32>,
    /// Arguments of the kernel.
    pub append: String,
    /// Files that are written before anything is measured.
    pub write: BTreeMap<String, String>,
    /// Modules that are loaded before: `NAME PARAMETER=VALUE...`; none takes the machine's.
    pub modules: Vec<String>,
    /// Run on a real machine to boot it into the setting.
    pub boot: String,
}

/// A machine on which all settings are measured.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// The architecture and settings that all of its kernels have.
    #[serde(default)]
    pub kernel: String,
    /// A real machine: ssh:HOST.
    pub target: Option<String>,
    /// Options of ssh.
    #[serde(default)]
    pub ssh: Vec<String>,
    /// Run on a real machine, prints what tells its boots apart.
    pub identity: Option<String>,
    /// How long a real machine may take to boot.
    pub boot_limit: Option<String>,
    /// Who measures in a guest.
    pub agent: Option<AgentKind>,
    /// In MiB.
    pub memory: Option<u32>,
    /// How many CPUs a guest has.
    pub cpus: Option<u32>,
    /// Kernel command line of every kernel.
    #[serde(default)]
    pub append: String,
    /// The probes; none takes those of the file.
    #[serde(default)]
    pub probes: Vec<String>,
    /// Command that each boot runs once and times: a program and its arguments.
    #[serde(default)]
    pub command: Vec<String>,
    /// Which number of what it prints counts: only, or after:TEXT.
    #[serde(default)]
    pub number: String,
    /// Which way that number is good; none is lower.
    pub better: Option<Better>,
    /// Files that a guest has beside its agent: programs in /bin, with their libraries, others in /.
    #[serde(default)]
    pub files: Vec<PathBuf>,
    /// Modules that guests load, where a setting does not say: `NAME PARAMETER=VALUE...`.
    #[serde(default)]
    pub modules: Vec<String>,
    /// In million instructions a second.
    #[serde(default)]
    pub speeds: Vec<f64>,
    /// Boots of each setting.
    pub blocks: Option<u32>,
    /// Stamp with the clock of the kernel, which may be a setting.
    #[serde(default)]
    pub kernel_stamps: bool,
    /// Operations that are explained by kernel function, in a guest, at the first of its speeds.
    #[serde(default)]
    pub explain: Vec<String>,
    /// First-level caches that are simulated meanwhile, as `lab explain --cache` takes them.
    pub caches: Option<String>,
}

impl Machine {
    /// The host of a real machine.
    pub fn host(&self) -> Option<&str> {
        self.target.as_deref().and_then(|target| target.strip_prefix("ssh:"))
    }

    /// Its command as what is measured; none where it has none.
    ///
    /// # Errors
    /// It cannot be told so.
    pub fn offer(&self) -> Result<Option<Offer>, Error> {
        if self.command.is_empty() {
            return Ok(None);
        }
        let arguments = [("words", self.command.join("\0")), ("number", self.number.clone())];
        let arguments = arguments.map(|(name, value)| (name.to_owned(), value)).into();
        let case = tickmark_load::REGISTRY.case("command", &arguments).map_err(Error::Usage)?;
        let mut offer = case.offer();
        let number = offer.metrics.iter_mut().find(|metric| metric.name.as_str() == names::COMMAND_NUMBER);
        if let Some(number) = number {
            number.better = self.better.unwrap_or(number.better);
            // What stands before the number says what it is.
            let text = self.number.strip_prefix("after:").unwrap_or_default();
            let text = text.trim_matches(|c: char| c.is_whitespace() || ":=".contains(c));
            if text.chars().any(char::is_alphabetic) && !text.chars().any(char::is_control) {
                number.title = text.to_owned();
            }
        }
        Ok(Some(offer))
    }

    /// Description of the boot, and its time limit.
    pub fn boots(&self) -> (String, Duration) {
        let limit = self.boot_limit.as_deref().and_then(|limit| tickmark_wire::text::duration(limit).ok());
        let identity = self.identity.clone().unwrap_or_else(|| crate::target::IDENTITY.to_owned());
        (identity, limit.map_or(Duration::from_secs(300), Nanos::to_duration))
    }
}

/// A matrix as it was asked for.
#[derive(Debug)]
pub struct MatrixRequest {
    /// Its name.
    pub name: String,
    /// The document that it answers.
    pub answers: Option<String>,
    /// Boots of each setting, where a machine does not say.
    pub blocks: u32,
    /// Measuring time of a probe of ordinary weight in each boot, in the guest's time.
    pub slice: Nanos,
    /// Below which changes do not matter.
    pub margin: f64,
    /// Reports beside the comparison.
    pub report: Vec<Report>,
    /// The sides.
    pub settings: Vec<Setting>,
    /// Where they are measured.
    pub machines: Vec<Machine>,
}

/// CPUs of a guest at most: what our kernels are built for.
pub const MOST_CPUS: u32 = 4;
/// How fast a guest is where nothing is said.
const SPEED: f64 = 62.5;

impl MatrixRequest {
    /// Gives each machine what the matrix says for all, and refuses what cannot be.
    ///
    /// # Errors
    /// What cannot, and why.
    pub fn complete(mut self, probes: &[String], speeds: &[f64]) -> Result<Self, String> {
        if self.settings.len() < 2 {
            return Err("a matrix compares two [[setting]] or more".to_owned());
        }
        once("machine", self.machines.iter().map(|machine| machine.name.as_str()))?;
        for machine in &mut self.machines {
            let blocks = machine.blocks.unwrap_or(self.blocks);
            if !(2..=1000).contains(&blocks) {
                return Err("blocks: give 2 to 1000".to_owned());
            }
            machine.blocks = Some(blocks);
            if machine.probes.is_empty() && machine.command.is_empty() {
                machine.probes = probes.to_vec();
            }
            if machine.speeds.is_empty() {
                machine.speeds = if speeds.is_empty() { vec![SPEED] } else { speeds.to_vec() };
            }
            if machine.target.is_some() {
                machine.speeds.truncate(1);
            }
            check(machine, &self.settings).map_err(|why| format!("{}: {why}", machine.name))?;
            if self.report.contains(&Report::BreakEven) && machine.command.is_empty() {
                return Err(format!(
                    "{}: the report break-even is of a command, and there is none",
                    machine.name
                ));
            }
        }
        Ok(self)
    }
}

/// Refuses a name that stands twice.
pub(crate) fn once<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut known = Vec::new();
    for name in names {
        if known.contains(&name) {
            return Err(format!("{what} {name:?} stands twice"));
        }
        known.push(name);
    }
    Ok(())
}

/// Refuses a machine that cannot be what it says, or cannot have these settings.
fn check(machine: &Machine, settings: &[Setting]) -> Result<(), String> {
    let speeds = &machine.speeds;
    if let Some(twice) = (1..speeds.len()).find(|at| speeds[..*at].contains(&speeds[*at])) {
        return Err(format!("speed {} stands twice", speeds[twice]));
    }
    if let Some(speed) = speeds.iter().find(|speed| shift(**speed).is_none()) {
        return Err(format!("no speed {speed}; {SPEEDS}"));
    }
    if let Some(target) = &machine.target
        && machine.host().is_none_or(str::is_empty)
    {
        return Err(format!("target is ssh:HOST, and not {target:?}"));
    }
    // A host that begins with a dash would be an option of ssh.
    let host = |c: char| c.is_ascii_alphanumeric() || "._-@:[]%".contains(c);
    if let Some(name) = machine.host()
        && (name.starts_with('-') || !name.chars().all(host))
    {
        return Err(format!("{name:?} is no host's name"));
    }
    if machine.target.is_some() {
        real(machine, settings)?;
    }
    if machine.memory.is_some_and(|memory| !(8..=65_536).contains(&memory)) {
        return Err("memory: give 8 to 65536 MiB".to_owned());
    }
    if machine.cpus.is_some_and(|cpus| !(1..=MOST_CPUS).contains(&cpus)) {
        return Err(format!("cpus: give 1 to {MOST_CPUS}"));
    }
    if machine.cpus.is_some_and(|cpus| cpus > 1) && !machine.explain.is_empty() {
        return Err("explain: instructions of one CPU are counted by function, and cpus says more".to_owned());
    }
    if machine.target.is_none() && settings.iter().any(|setting| !setting.boot.is_empty()) {
        return Err("boot commands are for a machine with a target".to_owned());
    }
    if let Some(limit) = &machine.boot_limit {
        tickmark_wire::text::duration(limit).map_err(|why| format!("boot_limit: {why}"))?;
    }
    if settings.iter().any(|setting| !setting.write.is_empty()) && machine.agent == Some(AgentKind::C) {
        return Err("agent c writes no files; use append".to_owned());
    }
    if machine.command.is_empty() && !(machine.number.is_empty() && machine.files.is_empty()) {
        return Err("number and files are for a command, and there is none".to_owned());
    }
    if machine.better.is_some() && machine.number.is_empty() {
        return Err("better is of a number, and none is asked for".to_owned());
    }
    if matches!(machine.better, Some(Better::Other(_) | Better::Neither)) {
        return Err("better is lower or higher".to_owned());
    }
    if !["", "only"].contains(&machine.number.as_str()) && !machine.number.starts_with("after:") {
        return Err(format!("number is only or after:TEXT, and not {:?}", machine.number));
    }
    Ok(())
}

/// Refuses settings that a real machine cannot have: it would be measured unchanged under their name.
fn real(machine: &Machine, settings: &[Setting]) -> Result<(), String> {
    let guests = [
        (!machine.kernel.is_empty(), "kernel"),
        (!machine.append.is_empty(), "append"),
        (machine.memory.is_some(), "memory"),
        (machine.cpus.is_some(), "cpus"),
        (machine.agent == Some(AgentKind::C), "agent c"),
        (machine.kernel_stamps, "kernel_stamps"),
        (!machine.files.is_empty(), "files"),
        (!machine.modules.is_empty(), "modules"),
        (!machine.explain.is_empty(), "explain"),
        (machine.caches.is_some(), "caches"),
    ];
    if let Some((_, key)) = guests.iter().find(|(is, _)| *is) {
        return Err(format!("{key} is for guests; a machine with a target is booted by its settings' boot"));
    }
    for setting in settings {
        if setting.boot.is_empty() {
            return Err(format!(
                "setting {:?} has no boot, the command that boots the machine into it",
                setting.name
            ));
        }
        let guests = [&setting.kernel, &setting.append].into_iter().any(|text| !text.is_empty());
        if guests || !setting.write.is_empty() || !setting.modules.is_empty() {
            return Err(format!(
                "setting {:?} has a kernel, append, write or modules, which are for guests",
                setting.name
            ));
        }
    }
    Ok(())
}

/// The speeds that there are, for people.
pub const SPEEDS: &str = "instructions take 2^n ns: give 1000, 500, 250, 125, 62.5, 31.25 (million a second)";

/// The shift that gives so many million instructions a second.
pub fn shift(mips: f64) -> Option<u8> {
    (0..=5u8).find(|shift| (1000.0 / f64::from(1u32 << shift) - mips).abs() < 1e-9)
}
