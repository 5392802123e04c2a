//! A kernel as it is asked for: an architecture and named settings.

use crate::Error;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// The architectures of the lab.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arch {
    /// A PC.
    X86_64,
    /// PowerPC e500v2: nearest to the board of 2005 that QEMU has.
    PowerPc,
    /// 64-bit ARM: QEMU's virt with a Cortex-A57.
    Arm64,
    /// 64-bit RISC-V: QEMU's virt.
    Riscv64,
}

/// When the kernel ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tick {
    /// Always.
    Periodic,
    /// Not while the processor is idle.
    Idle,
}

/// Where the kernel may be preempted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preempt {
    /// When it returns to a program, or sleeps.
    None,
    /// Also where it offers to.
    Voluntary,
    /// Everywhere but under a lock.
    Full,
}

/// The kernel's source, by the version in its package's name (linux-source-6.1): installing another moves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    /// 6 of 6.1.
    pub major: u16,
    /// 1 of 6.1.
    pub minor: u16,
}

impl Source {
    /// Where nothing is said.
    pub const USUAL: Self = Self { major: 6, minor: 1 };
    /// Those that kernels are tried with; others of the same kind may do.
    pub const KNOWN: [Self; 2] = [Self::USUAL, Self { major: 6, minor: 12 }];
}

impl Source {
    /// The version that a kernel's Makefile begins with.
    pub(crate) fn from_makefile(text: &str) -> Option<Self> {
        let number = |name: &str| {
            let line = text.lines().find(|line| line.split(['=', ' ']).next() == Some(name))?;
            line.split_once('=')?.1.trim().parse().ok()
        };
        Some(Self { major: number("VERSION")?, minor: number("PATCHLEVEL")? })
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A kernel: `ARCH[:hz=N][:tick=periodic|idle][:highres=on|off][:preempt=none|voluntary|full][:osnoise=on][:lockdep=on][:source=6.1]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kernel {
    /// For which processor.
    pub arch: Arch,
    /// Ticks a second.
    pub hz: u32,
    /// When.
    pub tick: Tick,
    /// True if timers are finer than a tick.
    pub highres: bool,
    /// The preemption model.
    pub preempt: Preempt,
    /// True if it has the osnoise tracer.
    pub osnoise: bool,
    /// True if it proves its locks (lockdep) and checks its memory (KASAN).
    pub lockdep: bool,
    /// Its source.
    pub source: Source,
}

impl Arch {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::X86_64, Self::PowerPc, Self::Arm64, Self::Riscv64];

    /// As it is typed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::PowerPc => "powerpc",
            Self::Arm64 => "arm64",
            Self::Riscv64 => "riscv64",
        }
    }

    /// The target of its cross-compiler and its name in Debian's packages; none for the processor that is here.
    pub(crate) const fn cross(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::X86_64 => None,
            Self::PowerPc => Some(("powerpc-linux-gnu", "powerpc")),
            Self::Arm64 => Some(("aarch64-linux-gnu", "arm64")),
            Self::Riscv64 => Some(("riscv64-linux-gnu", "riscv64")),
        }
    }

    /// What makes its image in the kernel's source, and where that is then.
    pub(crate) const fn image(self) -> (&'static str, &'static str) {
        match self {
            Self::X86_64 => ("bzImage", "arch/x86/boot/bzImage"),
            Self::PowerPc => ("vmlinux", "vmlinux"),
            Self::Arm64 => ("Image", "arch/arm64/boot/Image"),
            Self::Riscv64 => ("Image", "arch/riscv/boot/Image"),
        }
    }

    /// Its name in the kernel's source.
    #[must_use]
    pub const fn source_name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86",
            Self::PowerPc => "powerpc",
            Self::Arm64 => "arm64",
            Self::Riscv64 => "riscv",
        }
    }
}

impl FromStr for Kernel {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let Some(arch) = Arch::ALL.into_iter().find(|arch| arch.name() == name) else {
            if name.contains('/') {
                let why = if Path::new(text).exists() { "is no regular file" } else { "no such file" };
                return Err(Error::Usage(format!("{text}: {why}")));
            }
            let known = Arch::ALL.map(Arch::name).join(", ");
            return Err(Error::Usage(format!(
                "no kernels for {name:?} here, and no file of that name; give one of {known}, then settings as in x86_64:hz=1000:tick=idle"
            )));
        };
        let plain = Self {
            arch,
            hz: 100,
            tick: Tick::Periodic,
            highres: true,
            preempt: Preempt::None,
            osnoise: false,
            lockdep: false,
            source: Source::USUAL,
        };
        parts.try_fold(plain, Self::with)
    }
}

impl Kernel {
    /// The same with one setting as it is typed, such as `hz=1000`.
    ///
    /// # Errors
    /// No such setting, or no such value; the line has those that there are.
    pub fn with(mut self, setting: &str) -> Result<Self, Error> {
        let wrong = || {
            Error::Usage(format!(
                "kernels have no setting {setting:?}; there are hz=100, 250, 300, 1000; tick=periodic, idle; \
                 highres=on, off; preempt=none, voluntary, full; osnoise=on, off; lockdep=on, off; source=6.1, 6.12"
            ))
        };
        match setting.split_once('=').ok_or_else(wrong)? {
            ("hz", hz @ ("100" | "250" | "300" | "1000")) => self.hz = hz.parse().map_err(|_| wrong())?,
            ("tick", "periodic") => self.tick = Tick::Periodic,
            ("tick", "idle") => self.tick = Tick::Idle,
            ("highres", "on") => self.highres = true,
            ("highres", "off") => self.highres = false,
            ("preempt", "none") => self.preempt = Preempt::None,
            ("preempt", "voluntary") => self.preempt = Preempt::Voluntary,
            ("preempt", "full") => self.preempt = Preempt::Full,
            ("osnoise", "on") => self.osnoise = true,
            ("osnoise", "off") => self.osnoise = false,
            ("lockdep", "on") => self.lockdep = true,
            ("lockdep", "off") => self.lockdep = false,
            ("source", version) => {
                let (major, minor) = version.split_once('.').ok_or_else(wrong)?;
                let number = |text: &str| text.parse().map_err(|_| wrong());
                self.source = Source { major: number(major)?, minor: number(minor)? };
            }
            _ => return Err(wrong()),
        }
        Ok(self)
    }

    /// The settings of its configuration that every kernel has, as they are typed.
    #[must_use]
    pub fn settings(&self) -> [(&'static str, String); 4] {
        let tick = if self.tick == Tick::Periodic { "periodic" } else { "idle" };
        let preempt = match self.preempt {
            Preempt::None => "none",
            Preempt::Voluntary => "voluntary",
            Preempt::Full => "full",
        };
        [
            ("hz", self.hz.to_string()),
            ("tick", tick.to_owned()),
            ("highres", if self.highres { "on" } else { "off" }.to_owned()),
            ("preempt", preempt.to_owned()),
        ]
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.arch.name())?;
        self.settings().iter().try_for_each(|(name, value)| write!(f, ":{name}={value}"))?;
        if self.osnoise {
            f.write_str(":osnoise=on")?;
        }
        if self.lockdep {
            f.write_str(":lockdep=on")?;
        }
        if self.source == Source::USUAL { Ok(()) } else { write!(f, ":source={}", self.source) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_reads_what_it_prints() {
        for text in [
            "x86_64",
            "powerpc:hz=1000",
            "arm64",
            "riscv64:hz=250:source=6.12",
            "x86_64:source=6.12",
            "x86_64:osnoise=on:source=6.12",
            "x86_64:lockdep=on:source=6.12",
            "x86_64:tick=idle:highres=off:preempt=full:hz=250",
        ] {
            let kernel: Kernel = text.parse().unwrap();
            assert_eq!(kernel.to_string().parse::<Kernel>().unwrap(), kernel);
        }
        assert_eq!("x86_64:source=6.1".parse::<Kernel>().unwrap(), "x86_64".parse().unwrap());
        let makefile = "# SPDX\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 3\n";
        assert_eq!(Source::from_makefile(makefile), Some(Source { major: 6, minor: 12 }));
        assert_eq!(Source::from_makefile("bzImage:\n\tcp a b\n"), None);
        let missing = crate::tools::source(Source { major: 1, minor: 2 }).unwrap_err().to_string();
        assert!(missing.ends_with("apt-get install linux-source-1.2"), "{missing}");
        let kernel: Kernel = "powerpc:hz=1000".parse().unwrap();
        assert_eq!(kernel.to_string(), "powerpc:hz=1000:tick=periodic:highres=on:preempt=none");
        for text in [
            "",
            "arm",
            "x86_64:hz=123",
            "x86_64:hz",
            "powerpc:colour=red",
            "x86_64:hz=100:",
            "x86_64:source=6",
            "x86_64:source=a.b",
        ] {
            assert!(matches!(text.parse::<Kernel>(), Err(Error::Usage(_))), "{text}");
        }
    }
}
