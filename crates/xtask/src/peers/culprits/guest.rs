//! Guests with kernels of Debian's and of the lab, in which culprits are planted.

use super::{MODULES, SOFT_DIRTY};
use crate::peers::Tickmark;
use crate::{Result, shell};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Longer than all of them take in a guest.
const LIMIT: Duration = Duration::from_secs(900);

/// A kernel, and what of it is known.
pub(super) struct Guest {
    pub(super) name: String,
    image: PathBuf,
    /// Where its files are unpacked, and what is for it alone.
    place: PathBuf,
    /// A module that takes time, where it could be built.
    module: Option<PathBuf>,
    lacks: &'static [&'static str],
}

/// What came out for a kind.
pub(super) struct Shown {
    pub(super) kind: String,
    /// What the culprit said.
    pub(super) said: String,
    /// What the kernel's tracer osnoise said, where there is one.
    pub(super) osnoise: Value,
    pub(super) page: Value,
}

impl Guest {
    /// A kernel of Debian's, unpacked.
    pub(super) fn stock(pattern: &str, folder: &Path) -> Result<Self> {
        let (known, _) = shell::output(Command::new("apt-cache").args([
            "search",
            "--names-only",
            &format!("^{pattern}"),
        ]))?;
        let mut names: Vec<&str> = known.lines().filter_map(|line| line.split_whitespace().next()).collect();
        names.sort_by_key(|name| {
            name.split(|c: char| !c.is_ascii_digit())
                .filter_map(|part| part.parse().ok())
                .collect::<Vec<u32>>()
        });
        let package = *names.last().ok_or(format!("no package is called {pattern}"))?;
        let place = folder.join(package);
        std::fs::create_dir_all(&place).map_err(|error| error.to_string())?;
        unpack(&[package, "busybox-static"], &place)?;
        let release = package.trim_start_matches("linux-image-").to_owned();
        let image = place.join(format!("boot/vmlinuz-{release}"));
        let module = Some(build_module(&release, &place)?);
        Ok(Self { name: release, image, place, module, lacks: &[] })
    }

    /// A kernel of the lab.
    pub(super) fn traced(tickmark: &Tickmark, kernel: &str, folder: &Path) -> Result<Self> {
        let (page, _) =
            shell::output(&mut tickmark.command(&["lab", "kernels", kernel, "--format", "json"]))?;
        let page: Value = serde_json::from_str(&page).map_err(|error| error.to_string())?;
        let image = page["kernels"][0]["image"].as_str().ok_or("no kernel was built")?.into();
        let place = folder.join("lab");
        std::fs::create_dir_all(&place).map_err(|error| error.to_string())?;
        unpack(&["busybox-static"], &place)?;
        Ok(Self { name: "lab, osnoise".to_owned(), image, place, module: None, lacks: &SOFT_DIRTY })
    }

    /// Whether a kind can be planted in it.
    pub(super) fn can(&self, kind: &str) -> bool {
        !self.lacks.contains(&kind) && (self.module.is_some() || !MODULES.contains(&kind))
    }

    /// Boots it with the program, and gives what came out for each kind.
    pub(super) fn boot(
        &self,
        tickmark: &Tickmark,
        culprit: &Path,
        kinds: &[&str],
        length: &str,
    ) -> Result<Vec<Shown>> {
        let place = &self.place;
        let root = place.join("root");
        let program = tickmark.command(&[]).get_program().to_owned();
        let (libraries, _) = shell::output(Command::new("ldd").arg(&program))?;
        let libraries = libraries.split_whitespace().filter(|word| word.starts_with('/'));
        let copy = |from: &Path, to: &str| -> Result<()> {
            let to = root.join(to.trim_start_matches('/'));
            std::fs::create_dir_all(to.parent().ok_or("no folder")?).map_err(|error| error.to_string())?;
            std::fs::copy(from, &to).map(drop).map_err(|error| format!("{}: {error}", from.display()))
        };
        for library in libraries {
            copy(Path::new(library), library)?;
        }
        copy(Path::new(&program), "bin/tickmark")?;
        copy(culprit, "bin/culprit")?;
        copy(&place.join("bin/busybox"), "bin/busybox")?;
        copy(&shell::root().join("crates/xtask/src/peers/culprits.sh"), "init")?;
        for empty in ["proc", "sys", "dev", "tmp"] {
            std::fs::create_dir_all(root.join(empty)).map_err(|error| error.to_string())?;
        }
        if let Some(module) = &self.module {
            copy(module, "lib/tmculprit.ko")?;
        }
        let (archive, results) = (place.join("initrd"), place.join("results"));
        let script =
            format!("cd {} && find . | cpio --quiet -o -H newc > {}", root.display(), archive.display());
        shell::output(Command::new("sh").args(["-c", &script]))?;
        // A write to clear_refs has the addresses of each huge page forgotten by themselves, and then all of them.
        let line = format!(
            "console=ttyS0 quiet panic=-1 transparent_hugepage=never tickmark.length={length} tickmark.kinds={}",
            kinds.join(",")
        );
        let mut qemu = Command::new("timeout");
        qemu.arg(LIMIT.as_secs().to_string()).arg("qemu-system-x86_64");
        // With a thread for each CPU a kernel that changes its own code while both run it may meet a breakpoint of its own (6.12.117 did).
        qemu.args(["-accel", "tcg,thread=single", "-cpu", "max"]);
        qemu.args(["-smp", "2", "-m", "1G", "-display", "none", "-no-reboot", "-append", &line]);
        qemu.arg("-kernel").arg(&self.image).arg("-initrd").arg(&archive);
        qemu.arg("-serial").arg(format!("file:{}", place.join("console").display()));
        qemu.arg("-serial").arg(format!("file:{}", results.display()));
        shell::output(&mut qemu)?;
        let text = std::fs::read_to_string(&results).map_err(|error| error.to_string())?;
        let read = |part: &str| {
            let mut lines = part.lines();
            let (kind, said) = (lines.next()?.trim().to_owned(), lines.next()?.to_owned());
            let osnoise = serde_json::from_str(lines.next()?).unwrap_or_default();
            let page: Value = serde_json::from_str(&lines.collect::<String>()).ok()?;
            Some(Shown { kind, said, osnoise, page: page["cpus"][0].clone() })
        };
        let all: Vec<Shown> = text.split("== ").skip(1).filter_map(read).collect();
        if all.is_empty() {
            let console = std::fs::read_to_string(place.join("console")).unwrap_or_default();
            return Err(format!("no result came out of the guest: {console} {text}"));
        }
        Ok(all)
    }
}

/// Packages of Debian's, in a folder.
fn unpack(packages: &[&str], place: &Path) -> Result<()> {
    shell::output(Command::new("apt-get").args(["download", "-q"]).args(packages).current_dir(place))?;
    for file in std::fs::read_dir(place).map_err(|error| error.to_string())?.flatten() {
        if file.path().extension().is_some_and(|end| end == "deb") {
            shell::output(Command::new("dpkg-deb").arg("-x").arg(file.path()).arg(place))?;
        }
    }
    Ok(())
}

/// A module for a kernel of Debian's, whose headers are installed.
fn build_module(release: &str, place: &Path) -> Result<PathBuf> {
    let headers = format!("linux-headers-{release}");
    let folder = Path::new("/usr/src").join(&headers);
    if !folder.exists() {
        shell::install(&[("no program", &headers)])?;
    }
    let own = place.join("module");
    std::fs::create_dir_all(&own).map_err(|error| error.to_string())?;
    let source = shell::root().join("crates/xtask/src/peers/culprit_module.c");
    std::fs::copy(source, own.join("tmculprit.c")).map_err(|error| error.to_string())?;
    std::fs::write(own.join("Makefile"), "obj-m := tmculprit.o\n").map_err(|error| error.to_string())?;
    let mut make = Command::new("make");
    shell::output(make.arg("-C").arg(folder).arg(format!("M={}", own.display())).arg("modules"))?;
    Ok(own.join("tmculprit.ko"))
}
