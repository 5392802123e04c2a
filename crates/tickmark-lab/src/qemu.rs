//! The machines that QEMU makes, and the options with which a boot is the same each time.

use crate::kernel::Arch;
use std::path::Path;

/// The way in which the guest's instructions are executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accel {
    /// QEMU itself, where an instruction takes 2^shift ns: the same in each boot.
    Icount {
        /// 0 to 10.
        shift: u8,
    },
    /// The processor.
    Kvm,
    /// QEMU itself, as fast as it goes: its times are the host's and no figures.
    Tcg,
}

/// A machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    /// Its processor.
    pub arch: Arch,
    /// Its memory in MiB.
    pub memory: u32,
    /// How many CPUs it has; where instructions are counted, QEMU carries them out in turns.
    pub cpus: u32,
    /// The way in which instructions are executed.
    pub accel: Accel,
}

impl Accel {
    /// Instructions in a second of the guest, in millions; none where they are not counted.
    #[must_use]
    pub fn mips(self) -> Option<f64> {
        match self {
            Self::Icount { shift } => Some(1000.0 / f64::from(1u32 << shift)),
            Self::Kvm | Self::Tcg => None,
        }
    }
}

/// Name of the emulated machine in a recording.
impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let machine = match self.arch {
            Arch::X86_64 => "q35",
            Arch::PowerPc => "ppce500",
            Arch::Arm64 => "virt with cortex-a57",
            // Its timer needs no firmware: QEMU's processor has Sstc.
            Arch::Riscv64 => "virt with rv64 and Sstc",
        };
        write!(f, "{machine}, ")?;
        if self.cpus > 1 {
            write!(f, "{} CPUs, ", self.cpus)?;
        }
        match self.accel {
            Accel::Icount { shift } => write!(f, "instructions of {} ns", 1u32 << shift),
            Accel::Kvm => write!(f, "KVM"),
            Accel::Tcg => write!(f, "TCG without icount: no figures"),
        }
    }
}

impl Machine {
    /// The program and its options; `port` is where what the guest writes to the virtio port goes.
    pub(crate) fn options(&self, files: &Files<'_>, append: &str) -> Vec<String> {
        let mut options: Vec<String> = Vec::new();
        let mut add = |words: &[&str]| options.extend(words.iter().map(|word| (*word).to_owned()));
        match self.arch {
            Arch::X86_64 => add(&["-M", "q35"]),
            Arch::PowerPc => add(&["-M", "ppce500", "-cpu", "e500v2_v30"]),
            // A tree without random numbers of the host.
            Arch::Arm64 => add(&["-M", "virt,gic-version=2,dtb-randomness=off", "-cpu", "cortex-a57"]),
            Arch::Riscv64 => add(&["-M", "virt", "-cpu", "rv64", "-bios", "default"]),
        }
        if self.arch == Arch::X86_64 {
            // Nothing that comes from the host: neither its random numbers nor its processor's features.
            add(match self.accel {
                Accel::Kvm => &["-cpu", "host", "-accel", "kvm"],
                Accel::Tcg | Accel::Icount { .. } => &["-cpu", "qemu64,-rdrand,-rdseed", "-accel", "tcg"],
            });
        }
        // What a virtio device does, it does when the host gets to it: a count of instructions has the console alone.
        if self.arch == Arch::X86_64 && self.accel.mips().is_none() {
            add(&["-device", "virtio-serial-pci", "-device", "virtserialport,chardev=port"]);
            add(&["-chardev", &format!("file,id=port,path={}", path(files.port))]);
        }
        add(&[
            "-m",
            &format!("{}M", self.memory),
            "-smp",
            &self.cpus.to_string(),
            "-display",
            "none",
            "-nodefaults",
            "-no-reboot",
        ]);
        add(&[
            "-chardev",
            &format!("file,id=console,path={}", path(files.console)),
            "-serial",
            "chardev:console",
        ]);
        if let Accel::Icount { shift } = self.accel {
            add(&["-icount", &format!("shift={shift},sleep=off"), "-seed", "1"]);
            add(&["-rtc", "base=2005-07-06T00:00:00,clock=vm"]);
        }
        // These two take a path as it is: only options of several parts have commas between them.
        let [image, initramfs] = [files.image, files.initramfs].map(|path| path.display().to_string());
        add(&["-kernel", &image, "-initrd", &initramfs, "-append", append]);
        options
    }

    /// Kernel command line of every kernel.
    pub(crate) fn command_line(&self) -> &'static str {
        match (self.arch, self.accel) {
            // Without tsc=reliable timers have no high resolution yet when process 1 starts. An idle processor polls: when
            // one that waits goes on is decided between two threads of QEMU, and not by the count of instructions.
            (Arch::X86_64, Accel::Icount { .. }) => {
                "console=ttyS0 quiet panic=-1 reboot=t nokaslr random.trust_cpu=off tsc=reliable idle=poll"
            }
            (Arch::PowerPc, Accel::Icount { .. }) => "console=ttyS0 quiet panic=-1 powersave=off",
            // Their name of idle=poll.
            (Arch::Arm64, Accel::Icount { .. }) => "console=ttyAMA0 quiet panic=-1 nohlt",
            (Arch::Riscv64, Accel::Icount { .. }) => "console=ttyS0 quiet panic=-1 nohlt",
            (Arch::X86_64, _) => "console=ttyS0 quiet panic=-1 reboot=t tsc=reliable",
            (Arch::Arm64, _) => "console=ttyAMA0 quiet panic=-1",
            (Arch::PowerPc | Arch::Riscv64, _) => "console=ttyS0 quiet panic=-1",
        }
    }
}

/// A path within an option of several parts: a comma stands for itself where there are two.
pub(crate) fn path(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

/// Where everything is.
pub(crate) struct Files<'a> {
    pub(crate) image: &'a Path,
    pub(crate) initramfs: &'a Path,
    pub(crate) console: &'a Path,
    pub(crate) port: &'a Path,
}
