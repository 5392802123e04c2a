//! A guest as a target: the plan goes into its initial file system, its events come back.

use super::{AgentLine, Target, understood};
use crate::Control;
use crate::Error;
use crate::control::ProgressEvent;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tickmark_lab::{Accel, Arch, Archive, Boot, BootLimit, Built, Machine, Module, Plugin, StaticProgram};
use tickmark_wire::shared::{MOST_RUNS_C, longest_batch};
use tickmark_wire::{Environment, Event, Hello, LineContent, Nanos, Phase, Plan};

/// How long KVM may take until its guest measures: stock kernels may hang in it.
const KVM_BEGINS: Duration = Duration::from_secs(10);
/// Longest time of a boot beside its runs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Prefixes of the facts about its files and its modules.
pub(crate) const FILE: &str = "guest.file.";
pub(crate) const MODULE: &str = "guest.module.";

/// The folder of the second boot in that of the first.
const AGAIN: &str = "again";
/// Longest counts that are read.
const MOST_COUNTS: u64 = 64 << 20;

/// How long a content is, and what tells it from others as long.
fn size(content: &[u8]) -> String {
    format!("{} bytes, SHA-256 {}", content.len(), &tickmark_lab::digest(content)[..12])
}

/// Who measures in the guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentKind {
    /// tickmark's own agent.
    Rust,
    /// The small one in C.
    C,
}

/// A machine with a kernel, ready to be booted.
#[derive(Debug, Clone)]
pub struct Guest {
    /// The emulated machine.
    pub machine: Machine,
    /// Memory of the machine that a file takes before anything is measured, in MiB.
    pub(crate) ballast: u32,
    pub(crate) image: PathBuf,
    /// The kernel's build, where it was built here.
    pub(crate) built: Option<Built>,
    /// Its HZ, where that is known.
    pub(crate) hz: Option<u32>,
    /// Beside what every kernel is told.
    pub(crate) append: String,
    /// Files that process 1 writes before it measures: path, content.
    pub(crate) writes: Vec<(String, String)>,
    /// Files that it has beside its agent: path without the slash before it, content.
    pub(crate) files: Arc<Vec<(String, Vec<u8>)>>,
    /// Modules that process 1 loads before it does anything else.
    pub(crate) modules: Arc<Vec<(Module, Vec<u8>)>>,
    pub(crate) kind: AgentKind,
    pub(crate) agent: Arc<Vec<u8>>,
    /// Where /bin/sh of the guest comes from: the small agent.
    pub(crate) shell: Option<Arc<Vec<u8>>>,
    /// Stamp with the clock that the kernel gives programs, and not with the TSC.
    pub(crate) kernel_stamps: bool,
    /// Where each boot's transcript is kept.
    pub(crate) transcripts: PathBuf,
    /// Boots it twice and compares every byte.
    pub(crate) twice: bool,
    /// What counts the instructions of its second boot by function.
    pub(crate) plugin: Option<Plugin>,
    /// How long a boot may take on the wall; none is by its plan.
    pub limit: Option<Duration>,
    pub(crate) control: Control,
}

/// The path of a static program, built first where it is not installed.
///
/// # Errors
/// It cannot be built.
pub fn static_program(program: StaticProgram, control: &Control) -> Result<PathBuf, Error> {
    let cache = tickmark_lab::Cache::at(None)?;
    let mut building = || control.tell(ProgressEvent::Building(program));
    Ok(program.path(&cache, &mut building, &|| control.stopped())?)
}

/// What the plugin wrote in a boot with this transcript; none where there was no plugin.
///
/// # Errors
/// It cannot be read.
pub fn explained_counts(transcript: &Path) -> Result<Option<String>, Error> {
    let path = transcript.join(AGAIN).join(tickmark_lab::COUNTS);
    match tickmark_store::files::read_regular(&path, MOST_COUNTS) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::file("read", &path)(error)),
    }
}

impl Guest {
    /// The next boot: its transcript's folder, and where in the tick its streams begin.
    pub fn boot(&self, transcript: &Path, control: &Control, twice: bool) -> Self {
        Self { transcripts: transcript.to_owned(), control: control.clone(), twice, ..self.clone() }
    }

    /// The same, whose second boot counts its instructions by function.
    #[must_use]
    pub fn with_plugin(mut self, plugin: Plugin) -> Self {
        self.plugin = Some(plugin);
        self
    }

    /// The initial file system with everything that process 1 needs.
    fn archive(&self, plan: &Plan) -> Result<Vec<u8>, Error> {
        let mut archive = Archive::new();
        archive.file("init", &self.agent);
        match self.kind {
            AgentKind::Rust => {
                let text = serde_json::to_vec(plan).unwrap_or_default();
                archive.file("plan.json", &text);
                if let Some(shell) = &self.shell {
                    archive.file("bin/sh", shell);
                }
            }
            AgentKind::C if plan.runs.len() > MOST_RUNS_C => {
                let runs = plan.runs.len();
                return Err(Error::Usage(format!(
                    "agent c makes up to {MOST_RUNS_C} runs in a boot, and not {runs}"
                )));
            }
            AgentKind::C => {
                archive.link("bin/sh", "/init");
                archive.link("nothing", "/init");
                let mut lines = String::new();
                for run in &plan.runs {
                    // It knows each case of a probe by the metric that it gives.
                    let Some(metric) = run.metrics().next() else { continue };
                    let _ = writeln!(lines, "{} {} {} {metric}", run.id.0, run.round, run.budget.get());
                }
                archive.file("plan", lines.as_bytes());
            }
        }
        let writes: String =
            self.writes.iter().map(|(path, content)| format!("{path}={content}\n")).collect();
        archive.file("settings", writes.as_bytes());
        self.files.iter().for_each(|(path, content)| archive.file(path, content));
        let mut modules = String::new();
        for (number, (module, bytes)) in self.modules.iter().enumerate() {
            let path = format!("module-{number}.ko");
            archive.file(&path, bytes);
            let _ = writeln!(modules, "/{path} {} {}", module.name(), module.parameters);
        }
        archive.file("modules", modules.as_bytes());
        archive.ballast(self.ballast);
        Ok(archive.finish())
    }

    /// The kernel's command line: its own words, then those of the small agent.
    fn append(&self, plan: &Plan) -> String {
        let mut append = self.append.clone();
        if self.kind == AgentKind::C {
            let hz = self.hz.unwrap_or(1000);
            let batch = longest_batch(i64::from(hz)).get();
            let memory = if self.machine.memory - self.ballast < 64 { 512 } else { 1024 };
            append += &format!(" -- --plan /plan --batch {batch} --memory {memory}");
            if let Some(Phase { number, of, tick }) = plan.settings.phase {
                append += &format!(" --tick {} --phase {number}/{of}", tick.get());
            }
        }
        append.trim().to_owned()
    }

    fn once(
        &self,
        machine: Machine,
        plan: &Plan,
        folder: &Path,
        plugin: Option<&Plugin>,
    ) -> Result<String, Error> {
        let (archive, append) = (self.archive(plan)?, self.append(plan));
        let measured: i64 = plan.runs.iter().map(|run| run.budget.get()).sum();
        let usual = PATIENCE + Duration::from_nanos(measured.max(0) as u64) * 10;
        let limit = match (self.limit, machine.accel) {
            (Some(limit), _) => BootLimit::Wall(limit),
            (None, Accel::Icount { .. }) => BootLimit::Processor(usual),
            (None, _) => BootLimit::Wall(usual),
        };
        let boot = Boot {
            machine,
            image: &self.image,
            initramfs: &archive,
            append: &append,
            limit,
            first: (machine.accel == Accel::Kvm).then_some(KVM_BEGINS),
            folder,
            plugin,
        };
        Ok(boot.run(&|| self.control.stopped())?.events)
    }

    /// KVM where it works, else what QEMU does by itself.
    fn events(&self, plan: &Plan) -> Result<(String, Machine), Error> {
        if self.machine.accel == Accel::Kvm {
            let tried = if Path::new("/dev/kvm").exists() {
                self.once(self.machine, plan, &self.transcripts.join("kvm"), None)
                    .map_err(|error| error.to_string())
            } else {
                Err("there is no /dev/kvm".to_owned())
            };
            match tried {
                Ok(events) => return Ok((events, self.machine)),
                Err(why) if self.control.stopped() => return Err(Error::Refused(why)),
                Err(why) => self.control.tell(ProgressEvent::NoKvm(&why)),
            }
            let machine = Machine { accel: Accel::Tcg, ..self.machine };
            return Ok((self.once(machine, plan, &self.transcripts, None)?, machine));
        }
        let events = self.once(self.machine, plan, &self.transcripts, None)?;
        if self.twice || self.plugin.is_some() {
            // Later, and not beside it: what comes from the host's clock differs.
            let again = self.once(self.machine, plan, &self.transcripts.join(AGAIN), self.plugin.as_ref())?;
            if let Some(at) = events.bytes().zip(again.bytes()).position(|(a, b)| a != b) {
                let folder = self.transcripts.display();
                return Err(Error::Refused(format!(
                    "two boots of the same setting and phase differ from byte {at} of their events on: this is no count of instructions; \
                     the transcripts are in {folder}"
                )));
            }
            if events.len() != again.len() {
                return Err(Error::Refused(
                    "two boots of the same setting and phase differ in length".to_owned(),
                ));
            }
        }
        Ok((events, self.machine))
    }

    /// Facts about the guest that only the host knows.
    fn facts(&self, machine: Machine, facts: &mut Environment) {
        let source = "tickmark lab";
        facts.know("guest.machine", source, machine.to_string());
        let left = machine.memory - self.ballast;
        let taken = format!("{left} MiB ({} MiB, of which a file takes {})", machine.memory, self.ballast);
        let memory = if self.ballast > 0 { taken } else { format!("{left} MiB") };
        facts.know("guest.memory", source, memory);
        if let Accel::Icount { shift } = machine.accel {
            facts.know(tickmark_wire::shared::INSTRUCTION, source, (1u32 << shift).to_string());
            let cpus = if machine.cpus == 1 {
                "one CPU".to_owned()
            } else {
                format!("{} CPUs in turns", machine.cpus)
            };
            facts.know(
                "guest.model",
                source,
                format!("instruction counts, no cache and no device latency, {cpus}"),
            );
            if self.twice || self.plugin.is_some() {
                facts.know("guest.repeated", source, "a second boot gave the same bytes");
            }
        }
        if let Some(built) = &self.built {
            facts.know("guest.kernel", source, built.kernel.to_string());
            facts.know("guest.image", "SHA-256", built.sha256.clone());
            let config = std::fs::read_to_string(&built.config).unwrap_or_default();
            for name in ["HZ", "NO_HZ_IDLE", "HZ_PERIODIC", "HIGH_RES_TIMERS", "PREEMPT_NONE", "PREEMPT"] {
                let fact = format!("kernel.config.{name}");
                let value = config.lines().find_map(|line| line.strip_prefix(&format!("CONFIG_{name}=")));
                if let (None, Some(value)) = (facts.get(&fact), value) {
                    facts.know(&fact, "the configuration that it was built with", value);
                }
            }
        } else {
            facts.know("guest.kernel", source, self.image.display().to_string());
            // It may be another one under the same name the next time.
            match std::fs::read(&self.image) {
                Ok(bytes) => facts.know("guest.image", "SHA-256", tickmark_lab::digest(&bytes)),
                Err(error) => facts.miss("guest.image", "SHA-256", error.to_string()),
            }
        }
        let appended = self.append.trim();
        facts.know("guest.append", source, if appended.is_empty() { "nothing" } else { appended });
        for (path, content) in self.files.iter() {
            facts.know(&format!("{FILE}{path}"), source, size(content));
        }
        for (module, bytes) in self.modules.iter() {
            let appended = if module.parameters.is_empty() { "no parameters" } else { &module.parameters };
            facts.know(&format!("{MODULE}{}", module.name()), source, format!("{appended}; {}", size(bytes)));
        }
        for (path, content) in &self.writes {
            facts.know(&format!("guest.write.{path}"), source, content);
        }
    }

    /// Refuses a guest whose timers are not what its kernel was built for. At the host's speed the kernel may distrust the
    /// TSC for a while; that guest says what it has.
    fn check(&self, hello: &Hello) -> Result<(), Error> {
        if self.machine.accel.mips().is_none() {
            return Ok(());
        }
        let (Some(built), Some(active)) = (&self.built, hello.environment.get("clock.hres_active")) else {
            return Ok(());
        };
        // A clock that is no finer than the tick has no timers that are.
        let coarse = hello.environment.get("clock.source").is_some_and(|clock| clock == "jiffies");
        let want = built.kernel.highres && !coarse;
        if (active == "1") == want {
            return Ok(());
        }
        let is = if active == "1" { "on" } else { "off" };
        Err(Error::Refused(format!(
            "high resolution of timers is {is} in the guest of {}: /proc/timer_list has .hres_active {active}; the transcript is {}",
            built.kernel,
            self.transcripts.display()
        )))
    }
}

impl Target for Guest {
    fn run(&mut self, plan: &Plan, on: &mut dyn FnMut(AgentLine) -> Result<(), Error>) -> Result<(), Error> {
        let mut plan = plan.clone();
        plan.settings.small = true;
        // QEMU's TSC counts nanoseconds then; arm64's counter has a rate of its own.
        plan.settings.tsc_is_nanoseconds = matches!(self.machine.accel, Accel::Icount { .. })
            && self.machine.arch == Arch::X86_64
            && self.kind == AgentKind::Rust
            && !self.kernel_stamps;
        let (text, machine) = self.events(&plan)?;
        for (number, line) in text.lines().enumerate() {
            let garbage = |why: String| {
                let folder = self.transcripts.display();
                let begin: String = line.chars().take(60).collect();
                Error::Refused(format!(
                    "line {} of the guest's events is garbage ({begin}...: {why}); its transcript is {folder}",
                    number + 1
                ))
            };
            on(match LineContent::parse(line.as_bytes()).map_err(garbage)? {
                LineContent::Event(Event::Hello(mut hello)) => {
                    understood(&hello)?;
                    self.facts(machine, &mut hello.environment);
                    self.check(&hello)?;
                    hello.settings = plan.settings.clone();
                    AgentLine::from_event(Event::Hello(hello))
                }
                said => AgentLine { line: line.as_bytes().to_vec(), said },
            })?;
        }
        Ok(())
    }
}

impl Guest {
    /// A plan's settings for the boot with this number, counted from 0.
    pub fn phase(&self, number: u32, of: u32) -> Option<Phase> {
        let exact = matches!(self.machine.accel, Accel::Icount { .. });
        let hz = self.hz?;
        let tick = Nanos::new(1_000_000_000 / i64::from(hz.max(1)));
        exact.then_some(Phase { number, of, tick })
    }
}
