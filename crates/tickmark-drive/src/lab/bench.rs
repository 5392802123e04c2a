//! Requirements of guests: kernels and agents, built or from the cache.

use super::carried::{files, modules_of};
use super::{BootTarget, Machine, Setting};
use crate::control::ProgressEvent;
use crate::target::{AgentKind, Guest, Remote, static_program};
use crate::{Control, Error};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tickmark_lab::{
    Accel, Arch, Built, Cache, Configuration, Kernel, Module, Need, Plugin, Series, Source, StaticProgram,
    arch_of,
};

/// Memory of a guest where nothing is said, in MiB.
const MEMORY: u32 = 256;
const MEMORY_POWERPC: u32 = 128;
/// The least with which our own kernels came up and measured, in MiB; with 32 the one for x86-64 found no process 1.
const LEAST: u32 = 36;
const LEAST_POWERPC: u32 = 8;

/// Builds what is not in the cache; its progress is told to the control.
///
/// # Errors
/// A kernel cannot be built.
pub fn build(cache: &Cache, kernels: &[Kernel], need: Need, control: &Control) -> Result<Vec<Built>, Error> {
    let built = cache.kernels(kernels, need, &|| control.stopped(), &mut |progress| {
        control.tell(ProgressEvent::Kernel(progress));
    });
    control.tell(ProgressEvent::Over);
    Ok(built?)
}

/// The image of one of a series, built where it is not there, or why it cannot be; its progress is told to the control.
///
/// # Errors
/// The system refuses, whatever is built.
pub fn build_one(
    builds: &Series,
    name: &str,
    configuration: Configuration<'_>,
    tree: &Path,
    control: &Control,
) -> Result<Result<PathBuf, String>, Error> {
    let stop = || control.stopped();
    let built = builds.build(name, configuration, tree, &stop, &mut |progress| {
        control.tell(ProgressEvent::Kernel(progress));
    });
    control.tell(ProgressEvent::Over);
    match built {
        Err(why @ (tickmark_lab::Error::Build { .. } | tickmark_lab::Error::Symbol { .. })) => {
            Ok(Err(why.to_string()))
        }
        built => Ok(Ok(built?)),
    }
}

/// How long a boot with a command may take, where nothing is said.
const COMMAND: Duration = Duration::from_secs(600);

/// Requirements of guests.
pub struct Bench {
    cache: Cache,
    built: BTreeMap<String, Built>,
    agents: BTreeMap<(bool, Arch), Arc<Vec<u8>>>,
    /// Ends what is built or booted, and hears of it.
    pub control: Control,
}

/// A guest before its kernel is built.
pub struct GuestRequest<'a> {
    /// As it was typed: settings, or an image.
    pub kernel: String,
    /// Who measures; none takes what the architecture has.
    pub agent: Option<AgentKind>,
    /// In MiB; none takes what the architecture needs.
    pub memory: Option<u32>,
    /// How many CPUs it has.
    pub cpus: u32,
    /// Arguments of the kernel.
    pub append: [&'a str; 2],
    /// Files that are written before anything is measured: path, content.
    pub writes: Vec<(String, String)>,
    /// True if it is to run a command.
    pub runs_command: bool,
    /// Files of this machine that it has.
    pub files: &'a [PathBuf],
    /// Modules that its kernel loads before anything is written or measured.
    pub modules: Vec<Module>,
    /// How fast it runs.
    pub accel: Accel,
    /// Stamp with the clock of the kernel.
    pub kernel_stamps: bool,
    /// HZ of an image.
    pub hz: Option<u32>,
    /// In how many parts of the tick it is to begin; more than one needs to know the tick.
    pub phases: u32,
    /// How long a boot may take on the wall; none is by its plan.
    pub limit: Option<Duration>,
}

impl<'a> GuestRequest<'a> {
    /// The guest of a setting on a machine that counts instructions of 2^`shift` ns.
    ///
    /// # Errors
    /// There is no such module.
    pub fn for_setting(
        machine: &'a Machine,
        setting: &'a Setting,
        shift: u8,
        limit: Option<Duration>,
    ) -> Result<Self, Error> {
        Ok(Self {
            kernel: kernel_of(machine, setting),
            agent: machine.agent,
            memory: machine.memory,
            cpus: machine.cpus.unwrap_or(1),
            append: [&machine.append, &setting.append],
            writes: setting.write.clone().into_iter().collect(),
            runs_command: !machine.command.is_empty(),
            files: &machine.files,
            modules: modules_of(machine, setting)?,
            accel: Accel::Icount { shift },
            kernel_stamps: machine.kernel_stamps,
            hz: setting.hz,
            phases: machine.blocks.unwrap_or(1),
            limit: limit.or(Some(COMMAND).filter(|_| !machine.command.is_empty())),
        })
    }
}

impl Bench {
    /// One whose work is ended and heard by `control`.
    ///
    /// # Errors
    /// There is no place for a cache.
    pub fn new(control: Control) -> Result<Self, Error> {
        Ok(Self { cache: Cache::at(None)?, built: BTreeMap::new(), agents: BTreeMap::new(), control })
    }

    /// Builds all kernels that are no images, with what modules are built from where that is needed.
    ///
    /// # Errors
    /// One cannot be built, or could not be booted.
    pub fn kernels<'a>(&mut self, names: impl Iterator<Item = &'a String>, need: Need) -> Result<(), Error> {
        let mut names: Vec<&String> = names.filter(|name| !Path::new(name).is_file()).collect();
        names.sort();
        names.dedup();
        let wanted = names.iter().map(|name| name.parse()).collect::<Result<Vec<Kernel>, _>>()?;
        // Before minutes of building: what they are to be booted with.
        for kernel in &wanted {
            tickmark_lab::require_qemu(kernel.arch)?;
        }
        let built = build(&self.cache, &wanted, need, &self.control)?;
        self.built.extend(names.into_iter().cloned().zip(built));
        Ok(())
    }

    fn agent(&mut self, small: bool, arch: Arch) -> Result<Arc<Vec<u8>>, Error> {
        if let Some(known) = self.agents.get(&(small, arch)) {
            return Ok(Arc::clone(known));
        }
        let path = match small {
            true => tickmark_lab::small_agent(&self.cache, arch, &|| self.control.stopped())?,
            false => static_program(StaticProgram::Agent, &self.control)?,
        };
        if !tickmark_lab::is_for(&path, arch) {
            let place = path.display();
            let hint = match arch {
                Arch::Arm64 => "; build one with `cargo xtask agent arm64` and name it in TICKMARK_AGENT",
                _ => "",
            };
            return Err(Error::Refused(format!(
                "the agent {place} is not a program for {}, as the guest needs{hint}",
                arch.name()
            )));
        }
        let bytes = Arc::new(std::fs::read(&path).map_err(Error::file("read", &path))?);
        self.agents.insert((small, arch), Arc::clone(&bytes));
        Ok(bytes)
    }

    /// Refuses a guest that could not be made, as far as that is known before its kernel is built; the kind and processor of its agent.
    ///
    /// # Errors
    /// Why it could not.
    pub fn check(&mut self, wanted: &GuestRequest<'_>) -> Result<(AgentKind, Arch), Error> {
        let look = GuestOutline::at(wanted)?;
        tickmark_lab::require_qemu(look.arch)?;
        files(wanted.files, look.arch, &self.control)?;
        self.agent(look.kind == AgentKind::C, look.arch)?;
        Ok((look.kind, look.arch))
    }

    /// Refuses a guest whose instructions could not be counted by function, before its kernel is built.
    ///
    /// # Errors
    /// There is no compiler, or the QEMU takes no plugins.
    pub fn check_plugin(&self, wanted: &GuestRequest<'_>) -> Result<(), Error> {
        let arch = GuestOutline::at(wanted)?.arch;
        Ok(tickmark_lab::plugin(&self.cache, arch, &|| self.control.stopped()).map(drop)?)
    }

    /// A guest whose kernel is an image or has been built.
    ///
    /// # Errors
    /// It cannot be what is wanted, or its agent is not there.
    pub fn guest(&mut self, wanted: GuestRequest<'_>) -> Result<Guest, Error> {
        let GuestOutline { arch, kind, hz, accel, memory } = GuestOutline::at(&wanted)?;
        let built = self.built.get(&wanted.kernel).cloned();
        let image = built.as_ref().map_or_else(|| PathBuf::from(&wanted.kernel), |built| built.image.clone());
        let agent = self.agent(kind == AgentKind::C, arch)?;
        // Where there is no compiler for it, the guest has no shell, and its probe says so.
        let shell = if kind == AgentKind::Rust { self.agent(true, arch).ok() } else { None };
        // QEMU makes PowerPC machines of multiples of 64 MiB, and has no place for an initial file system in 64.
        let whole = if arch == Arch::PowerPc { memory.next_multiple_of(64).max(128) } else { memory };
        Ok(Guest {
            machine: tickmark_lab::Machine { arch, memory: whole, cpus: wanted.cpus, accel },
            ballast: whole - memory,
            image,
            built: built.clone(),
            hz,
            append: wanted.append.join(" ").trim().to_owned(),
            writes: wanted.writes,
            files: Arc::new(files(wanted.files, arch, &self.control)?),
            modules: Arc::new(self.modules(&wanted.modules, built.as_ref(), whole)?),
            kind,
            agent,
            shell,
            kernel_stamps: wanted.kernel_stamps,
            transcripts: PathBuf::new(),
            twice: false,
            plugin: None,
            limit: wanted.limit,
            control: self.control.clone(),
        })
    }
}

/// Description of a guest from the command line alone.
struct GuestOutline {
    arch: Arch,
    kind: AgentKind,
    hz: Option<u32>,
    accel: Accel,
    /// In MiB.
    memory: u32,
}

impl GuestOutline {
    fn at(wanted: &GuestRequest<'_>) -> Result<Self, Error> {
        let path = Path::new(&wanted.kernel);
        let (arch, hz) = if path.is_file() {
            (arch_of(path)?, wanted.hz)
        } else {
            let kernel = wanted.kernel.parse::<Kernel>()?;
            if kernel.arch == Arch::X86_64
                && wanted.cpus > 1
                && wanted.accel.mips().is_some()
                && kernel.source == Source::USUAL
            {
                return Err(Error::Usage(
                    "Linux 6.1 does not start a second CPU where instructions are counted; take source=6.12, or --speed host"
                        .to_owned(),
                ));
            }
            (kernel.arch, Some(kernel.hz))
        };
        let is_powerpc = arch == Arch::PowerPc;
        if is_powerpc && wanted.cpus > 1 {
            return Err(Error::Usage("a guest of powerpc has one CPU".to_owned()));
        }
        let is_host = arch == Arch::X86_64;
        let kind = wanted.agent.unwrap_or(if is_host { AgentKind::Rust } else { AgentKind::C });
        if kind == AgentKind::Rust && !matches!(arch, Arch::X86_64 | Arch::Arm64) {
            return Err(Error::Usage(format!(
                "give agent c on {}: tickmark's own agent is not available there",
                arch.name()
            )));
        }
        if kind == AgentKind::C && wanted.runs_command {
            return Err(Error::Usage("agent c runs no command: take a kernel of x86_64".to_owned()));
        }
        if kind == AgentKind::C && !wanted.modules.is_empty() {
            return Err(Error::Usage("agent c loads no modules: take a kernel of x86_64".to_owned()));
        }
        let needs = wanted.modules.iter().find(|module| module.is_built());
        if let Some(module) = needs.filter(|_| path.is_file()) {
            return Err(Error::Usage(format!(
                "module {} is built for kernels of the lab, and {} is an image; give a .ko file that was built for it",
                module.name(),
                wanted.kernel
            )));
        }
        if kind == AgentKind::C && !wanted.writes.is_empty() {
            return Err(Error::Usage("agent c writes no files; tell the kernel with append".to_owned()));
        }
        let hz = hz.filter(|hz| *hz > 0);
        if hz.is_none() && wanted.phases > 1 && wanted.accel.mips().is_some() {
            return Err(Error::Usage(format!(
                "the HZ of {} is unknown, and phases are parts of its tick; give hz = N in its setting (lab run FILE.toml)",
                wanted.kernel
            )));
        }
        let (usual, least) = if is_powerpc { (MEMORY_POWERPC, LEAST_POWERPC) } else { (MEMORY, LEAST) };
        let memory = wanted.memory.unwrap_or(usual);
        // What another's kernel needs is not known.
        if memory < least && !path.is_file() {
            return Err(Error::Usage(format!(
                "{memory} MiB is too little for a guest of {}: its kernel and its agent take {least}",
                arch.name()
            )));
        }
        // KVM is for the processor that is here.
        let accel = if !is_host && wanted.accel == Accel::Kvm { Accel::Tcg } else { wanted.accel };
        Ok(Self { arch, kind, hz, accel, memory })
    }
}

impl Bench {
    /// What counts a guest's instructions by function, with first-level caches if they are given.
    ///
    /// # Errors
    /// There is no compiler, the QEMU takes no plugins, the kernel's functions have no names.
    pub fn plugin(&self, guest: &Guest, caches: Option<String>) -> Result<Plugin, Error> {
        let stop = || self.control.stopped();
        let library = tickmark_lab::plugin(&self.cache, guest.machine.arch, &stop)?;
        let symbols = tickmark_lab::symbols(&self.cache, guest.machine, &guest.image, &guest.append, &stop)?;
        Ok(Plugin { library, symbols: Arc::new(symbols), caches })
    }

    /// The bytes of modules for a kernel.
    fn modules(
        &mut self,
        modules: &[Module],
        kernel: Option<&Built>,
        memory: u32,
    ) -> Result<Vec<(Module, Vec<u8>)>, Error> {
        let one = |module: &Module| {
            let control = &self.control;
            let bytes = self.cache.module(module, kernel, &|| control.stopped(), &mut |progress| {
                control.tell(ProgressEvent::Kernel(progress));
            });
            control.tell(ProgressEvent::Over);
            Ok((module.clone(), bytes?))
        };
        let all = modules.iter().map(one).collect::<Result<Vec<_>, Error>>()?;
        // In the initial file system, in the agent that loads it, and loaded.
        let room: usize = all.iter().map(|(_, bytes)| bytes.len() * 3).sum();
        let free = (memory.saturating_sub(LEAST) as usize) << 20;
        if room > free {
            return Err(Error::Usage(format!(
                "{memory} MiB is too little for a guest with these modules: they take {} MiB beside the {LEAST} of its kernel and its agent",
                (room >> 20) + 1
            )));
        }
        Ok(all)
    }

    /// Where a setting of a machine is booted: a guest within `limit`, a real machine (x86-64, arm64 with an agent for it) within its own.
    ///
    /// # Errors
    /// The guest cannot be made.
    pub fn place(
        &mut self,
        machine: &Machine,
        setting: &Setting,
        shift: u8,
        limit: Option<Duration>,
    ) -> Result<BootTarget, Error> {
        if let Some(host) = machine.host() {
            let (identity, usual) = machine.boots();
            return Ok(BootTarget::Remote(Remote {
                host: host.to_owned(),
                options: machine.ssh.clone(),
                boot: setting.boot.clone(),
                hz: setting.hz,
                identity,
                limit: usual,
                agent: self
                    .agent(false, Arch::X86_64)
                    .or_else(|why| self.agent(false, Arch::Arm64).map_err(|_| why))?,
                control: self.control.clone(),
            }));
        }
        let guest = self.guest(GuestRequest::for_setting(machine, setting, shift, limit)?)?;
        Ok(BootTarget::Guest(Box::new(guest)))
    }
}

/// The kernel of a setting on a machine: an image, or the machine's with the setting's own words.
pub fn kernel_of(machine: &Machine, setting: &Setting) -> String {
    let both = [machine.kernel.as_str(), setting.kernel.as_str()];
    if Path::new(&setting.kernel).is_file() {
        return setting.kernel.clone();
    }
    both.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(":")
}
