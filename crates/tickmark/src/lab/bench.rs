//! What is needed to make guests: kernels and agents, built or from the cache.

use super::file::{Machine, Setting};
use super::guest::{AgentKind, Guest, agent_program};
use super::{Place, Remote};
use crate::error::Error;
use crate::progress::Steps;
use crate::target::Stop;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tickmark_lab::{Accel, Arch, Built, Cache, Kernel, Progress};

const MEMORY: u32 = 256;
const MEMORY_POWERPC: u32 = 128;

/// Builds what is not in the cache, with progress.
pub(crate) fn build(
    cache: &Cache,
    kernels: &[Kernel],
    again: bool,
    stop: &Stop,
) -> Result<Vec<Built>, Error> {
    let steps = Steps::new();
    let built = cache.kernels(kernels, again, &|| stop.stopped(), &mut |progress| match progress {
        Progress::Waiting => anstream::eprintln!("another lab is building kernels; waiting for it"),
        Progress::Unpacking => steps.at("unpacking the kernel's source"),
        Progress::Compiling(kernel, files) => steps.at(&format!("{kernel}: {files} files compiled")),
    });
    steps.finish();
    Ok(built?)
}

/// An image that is not ours: which processor it is for stands in it.
fn arch_of(image: &Path) -> Result<Arch, Error> {
    let bytes = std::fs::read(image).map_err(Error::file("read", image))?;
    // ELF with the machine EM_PPC; a bzImage has its signature at 0x202 (Documentation/x86/boot.rst).
    if bytes.starts_with(b"\x7fELF") && bytes.get(18..20) == Some(&[0, 20]) {
        return Ok(Arch::PowerPc);
    }
    if bytes.get(0x202..0x206) == Some(b"HdrS") || bytes.starts_with(b"\x7fELF\x02\x01") {
        return Ok(Arch::X86_64);
    }
    Err(Error::Usage(format!(
        "{} is no kernel image that the lab can boot: a bzImage for x86-64, or a vmlinux for PowerPC",
        image.display()
    )))
}

/// What is needed to make guests.
pub(crate) struct Bench {
    cache: Cache,
    built: BTreeMap<String, Built>,
    agents: BTreeMap<(bool, Arch), Arc<Vec<u8>>>,
    pub(crate) stop: Stop,
}

/// A guest before its kernel is built.
pub(crate) struct Wanted<'a> {
    pub(crate) kernel: String,
    pub(crate) agent: Option<AgentKind>,
    pub(crate) memory: Option<u32>,
    pub(crate) append: [&'a str; 2],
    pub(crate) writes: Vec<(String, String)>,
    pub(crate) accel: Accel,
    pub(crate) kernel_stamps: bool,
    /// HZ of an image.
    pub(crate) hz: Option<u32>,
    /// In how many parts of the tick it is to begin; more than one needs to know the tick.
    pub(crate) phases: u32,
}

impl Bench {
    pub(crate) fn new(stop: Stop) -> Result<Self, Error> {
        Ok(Self { cache: Cache::at(None)?, built: BTreeMap::new(), agents: BTreeMap::new(), stop })
    }

    /// Builds all kernels that are no images.
    pub(crate) fn kernels<'a>(&mut self, names: impl Iterator<Item = &'a String>) -> Result<(), Error> {
        let mut names: Vec<&String> = names.filter(|name| !Path::new(name).is_file()).collect();
        names.sort();
        names.dedup();
        let wanted = names.iter().map(|name| name.parse()).collect::<Result<Vec<Kernel>, _>>()?;
        // Before minutes of building: what they are to be booted with.
        for kernel in &wanted {
            tickmark_lab::require_qemu(kernel.arch)?;
        }
        let built = build(&self.cache, &wanted, false, &self.stop)?;
        self.built.extend(names.into_iter().cloned().zip(built));
        Ok(())
    }

    fn agent(&mut self, small: bool, arch: Arch) -> Result<Arc<Vec<u8>>, Error> {
        if let Some(known) = self.agents.get(&(small, arch)) {
            return Ok(Arc::clone(known));
        }
        let path = match small {
            true => tickmark_lab::small_agent(&self.cache, arch, &|| self.stop.stopped())?,
            false => agent_program()?,
        };
        let bytes = Arc::new(std::fs::read(&path).map_err(Error::file("read", &path))?);
        self.agents.insert((small, arch), Arc::clone(&bytes));
        Ok(bytes)
    }

    pub(crate) fn guest(&mut self, wanted: Wanted<'_>) -> Result<Guest, Error> {
        let built = self.built.get(&wanted.kernel).cloned();
        let image = built.as_ref().map_or_else(|| PathBuf::from(&wanted.kernel), |built| built.image.clone());
        let arch = built.as_ref().map_or_else(|| arch_of(&image), |built| Ok(built.kernel.arch))?;
        let kind = wanted.agent.unwrap_or(if arch == Arch::PowerPc { AgentKind::C } else { AgentKind::Rust });
        if kind == AgentKind::Rust && arch == Arch::PowerPc {
            return Err(Error::Usage(
                "on PowerPC the agent is c: Rust's standard library is not there".to_owned(),
            ));
        }
        if kind == AgentKind::C && !wanted.writes.is_empty() {
            return Err(Error::Usage("agent c writes no files; tell the kernel with append".to_owned()));
        }
        let hz = built.as_ref().map(|built| built.kernel.hz).or(wanted.hz).filter(|hz| *hz > 0);
        if hz.is_none() && wanted.phases > 1 && wanted.accel.mips().is_some() {
            return Err(Error::Usage(format!(
                "{} does not say its HZ, and phases are parts of its tick; give hz = N in its setting (lab run FILE.toml)",
                image.display()
            )));
        }
        // KVM is for the processor that is here.
        let accel =
            if arch == Arch::PowerPc && wanted.accel == Accel::Kvm { Accel::Tcg } else { wanted.accel };
        let memory = wanted.memory.unwrap_or(if arch == Arch::PowerPc { MEMORY_POWERPC } else { MEMORY });
        let agent = self.agent(kind == AgentKind::C, arch)?;
        // Where there is no compiler for it, the guest has no shell, and its probe says so.
        let shell = if kind == AgentKind::Rust { self.agent(true, arch).ok() } else { None };
        // QEMU makes PowerPC machines of multiples of 64 MiB, and has no place for an initial file system in 64.
        let whole = if arch == Arch::PowerPc { memory.next_multiple_of(64).max(128) } else { memory };
        Ok(Guest {
            machine: tickmark_lab::Machine { arch, memory: whole, accel },
            ballast: whole - memory,
            image,
            built,
            hz,
            append: wanted.append.join(" ").trim().to_owned(),
            writes: wanted.writes,
            kind,
            agent,
            shell,
            kernel_stamps: wanted.kernel_stamps,
            transcripts: PathBuf::new(),
            twice: false,
            limit: None,
            stop: self.stop.clone(),
        })
    }
}

impl Bench {
    /// Where a setting of a machine is booted.
    pub(crate) fn place(&mut self, machine: &Machine, setting: &Setting, shift: u8) -> Result<Place, Error> {
        if let Some(host) = machine.host() {
            let (identity, limit) = machine.boots();
            return Ok(Place::Remote(Remote {
                host: host.to_owned(),
                options: machine.ssh.clone(),
                boot: setting.boot.clone(),
                identity,
                limit,
                agent: self.agent(false, Arch::X86_64)?,
                stop: self.stop.clone(),
            }));
        }
        let guest = self.guest(Wanted {
            kernel: kernel_of(machine, setting),
            agent: machine.agent,
            memory: machine.memory,
            append: [&machine.append, &setting.append],
            writes: setting.write.clone().into_iter().collect(),
            accel: Accel::Icount { shift },
            kernel_stamps: machine.kernel_stamps,
            hz: setting.hz,
            phases: machine.phases.unwrap_or(1),
        })?;
        Ok(Place::Guest(Box::new(guest)))
    }
}

/// The kernel of a setting on a machine: an image, or the machine's with the setting's own words.
pub(crate) fn kernel_of(machine: &Machine, setting: &Setting) -> String {
    let both = [machine.kernel.as_str(), setting.kernel.as_str()];
    if Path::new(&setting.kernel).is_file() {
        return setting.kernel.clone();
    }
    both.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(":")
}
