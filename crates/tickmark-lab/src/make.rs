//! Builds kernels from Debian's source, so that the same request gives the same bytes.

use crate::built::{Built, Entry, KIND, Need, find_built};
use crate::cache::{Cache, hash, hash_file};
use crate::kernel::{Arch, Kernel, Source};
use crate::module::{Module, TREE};
use crate::series::Configuration;
use crate::{Error, compiled, config, tools};
use std::cell::RefCell;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use tickmark_process::{Child, End, Lines, Until};

/// Bytes of a line of a build's log that are kept.
const LINE: usize = 1 << 20;

/// Bytes of a Makefile in which its version is looked for.
const MAKEFILE: u64 = 4096;

/// How the names of variables begin that make or the kernel's build take from the environment (Documentation/kbuild/kbuild.rst).
const OF_MAKE: [&str; 14] = [
    "MAKE",
    "MFLAGS",
    "LLVM",
    "ARCH",
    "SRCARCH",
    "CROSS_COMPILE",
    "LOCALVERSION",
    "KBUILD_",
    "KCONFIG_",
    "KCFLAGS",
    "KAFLAGS",
    "KCPPFLAGS",
    "KRUSTFLAGS",
    "HOST",
];

/// Build date and host that every kernel reports, so that equal requests give equal bytes.
const BUILT_AT: &str = "2005-07-06 00:00:00 UTC";

/// How far a build is.
#[derive(Debug, Clone, Copy)]
pub enum Progress<'a> {
    /// So many kernels are to be built.
    Missing(usize),
    /// Another lab builds.
    Waiting,
    /// The source is unpacked.
    Unpacking,
    /// So many files of a kernel are compiled.
    Compiling(&'a str, usize),
    /// A module is compiled.
    Module(&'a Module),
}

/// Who builds.
pub(crate) struct Maker<'a> {
    pub(crate) cache: &'a Cache,
    pub(crate) stop: &'a dyn Fn() -> bool,
    pub(crate) on: &'a mut dyn FnMut(Progress<'_>),
}

impl Cache {
    /// Builds the kernels that are not there yet, or not with what is needed; all of them in the order asked. Where one
    /// that is there is built again and its bytes differ, that is said.
    ///
    /// # Errors
    /// What is missing with its package; a symbol that did not take effect; why the compiler failed; no space. Nothing
    /// is left of a kernel that was not finished.
    pub fn kernels(
        &self,
        kernels: &[Kernel],
        need: Need,
        stop: &dyn Fn() -> bool,
        on: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Vec<Built>, Error> {
        let mut built = Vec::new();
        // Images of one's own and machines over ssh need neither source nor compiler.
        if kernels.is_empty() {
            return Ok(built);
        }
        let mut maker = Maker { cache: self, stop, on };
        // All that is missing is told at once, and before the first minute is spent.
        let needs =
            |kernel: &Kernel| [tools::for_kernels(kernel.arch), tools::source(kernel.source).map(drop)];
        Error::together(kernels.iter().flat_map(needs))?;
        let sources =
            kernels.iter().map(|kernel| tools::source(kernel.source)).collect::<Result<Vec<_>, _>>()?;
        let mut keys = Vec::new();
        for (kernel, (_, source)) in kernels.iter().zip(&sources) {
            // The first line of what it says of itself.
            let said = compiled::version(&tools::compiler(kernel.arch)?)?;
            let compiler = said.lines().next().unwrap_or_default().to_owned();
            let key = hash(&[kernel.arch.name(), source, &config::fragment(kernel), &compiler, BUILT_AT]);
            keys.push((key, compiler));
        }
        let is_here = |(kernel, (key, _)): (&Kernel, &(String, String))| {
            find_built(self, kernel, key).is_some_and(|found| need.is_met(&found))
        };
        let missing = kernels.iter().zip(&keys).filter(|one| !is_here(*one)).count();
        if missing > 0 {
            (maker.on)(Progress::Missing(missing));
        }
        let mut lock = None;
        for ((kernel, (archive, source)), (key, compiler)) in kernels.iter().zip(&sources).zip(keys) {
            let found = find_built(self, kernel, &key);
            if let Some(found) = found.as_ref().filter(|found| need.is_met(found)) {
                built.push(found.clone());
                continue;
            }
            if lock.is_none() {
                let on = &mut maker.on;
                lock = Some(self.lock(KIND, &mut || on(Progress::Waiting), stop)?);
                // Whoever had the lock may have built it.
                if let Some(done) = find_built(self, kernel, &key).filter(|found| need.is_met(found)) {
                    built.push(done);
                    continue;
                }
            }
            let made = maker.make(kernel, &key, archive, source, compiler, found.as_ref());
            let made = made.inspect_err(|_| {
                let _ = std::fs::remove_dir_all(self.work(KIND));
            })?;
            if let Some(before) = found.filter(|before| before.sha256 != made.sha256) {
                return Err(Error::Build {
                    what: kernel.to_string(),
                    why: format!(
                        "built again it differs from before ({} and {})",
                        before.sha256, made.sha256
                    ),
                    log: self.root().join("logs"),
                });
            }
            built.push(made);
        }
        if lock.is_some() {
            let _ = std::fs::remove_dir_all(self.work(KIND));
        }
        Ok(built)
    }
}

/// The command that makes something of a kernel.
pub(crate) fn make(arch: Arch, tree: &Path) -> Command {
    let mut make = Command::new("make");
    make.arg("-C").arg(tree);
    match arch.cross() {
        None => make.arg("ARCH=x86_64"),
        Some((target, _)) => {
            make.args([format!("ARCH={}", arch.source_name()), format!("CROSS_COMPILE={target}-")])
        }
    };
    // What this process was given for another make is not for this one: the same request gives the same bytes.
    let is_of_make = |name: &std::ffi::OsString| {
        let name = name.to_string_lossy();
        OF_MAKE.iter().any(|begin| name.starts_with(begin))
    };
    for name in std::env::vars_os().map(|(name, _)| name).filter(is_of_make) {
        make.env_remove(name);
    }
    make.env("LC_ALL", "C");
    make
}

/// The command that makes something of a kernel in `objects`, the same bytes each time.
fn kbuild(arch: Arch, tree: &Path, objects: &Path, targets: &[&str]) -> Command {
    let mut make = make(arch, tree);
    make.arg(format!("O={}", objects.display())).args(targets);
    make.env("KBUILD_BUILD_TIMESTAMP", BUILT_AT).env("KBUILD_BUILD_VERSION", "1");
    make.env("KBUILD_BUILD_USER", "tickmark").env("KBUILD_BUILD_HOST", "lab");
    make
}

/// The version of a kernel's tree, where its Makefile says one.
fn version_of_tree(tree: &Path) -> Option<Source> {
    let mut text = String::new();
    std::fs::File::open(tree.join("Makefile")).ok()?.take(MAKEFILE).read_to_string(&mut text).ok()?;
    Source::from_makefile(&text)
}

impl Maker<'_> {
    fn make(
        &mut self,
        kernel: &Kernel,
        key: &str,
        archive: &Path,
        source: &str,
        compiler: String,
        before: Option<&Built>,
    ) -> Result<Built, Error> {
        let started = Instant::now();
        let work = self.cache.work(KIND);
        let (tree, objects, out) =
            (work.join(format!("source-{}", kernel.source)), work.join("objects"), work.join("out"));
        let what = kernel.to_string();
        self.unpack(archive, &tree, &what, key)?;
        let _ = std::fs::remove_dir_all(&objects);
        std::fs::create_dir_all(&objects).map_err(Error::file("make", &objects))?;
        // "modules" makes the checksums of what modules may call.
        let more = if kernel.arch == Arch::X86_64 { &["modules"][..] } else { &[] };
        self.configure(kernel.arch, Configuration::Lab(kernel), key, &tree, &objects)?;
        let image = self.compile(kernel.arch, &what, key, &tree, &objects, more)?;
        std::fs::create_dir_all(&out).map_err(Error::file("make", &out))?;
        let copy = |from: PathBuf, name: &str| {
            std::fs::copy(&from, out.join(name)).map(drop).map_err(Error::file("write", out.join(name)))
        };
        copy(image, "image")?;
        copy(objects.join(".config"), "config")?;
        let sha256 = hash_file(&out.join("image"))?;
        let takes_modules = kernel.arch == Arch::X86_64;
        if takes_modules {
            self.tree(&what, key, kernel.arch, [&tree, &objects, &out])?;
        }
        let seconds = started.elapsed().as_secs_f64();
        // What is there stays as it is: recordings name its hash.
        if let Some(before) = before {
            if before.sha256 == sha256 {
                if takes_modules {
                    let place = before.image.with_file_name(TREE);
                    std::fs::rename(out.join(TREE), &place).map_err(Error::file("write", &place))?;
                }
                return Ok(Built { seconds: Some(seconds), takes_modules, ..before.clone() });
            }
            return Err(Error::Guest(format!(
                "{kernel}: built again it differs from before (SHA-256 {sha256}, before {}); the one in the cache is kept",
                before.sha256
            )));
        }
        let entry =
            Entry { kernel: kernel.to_string(), source: source.to_owned(), compiler, seconds, sha256 };
        let text = serde_json::to_string_pretty(&entry).unwrap_or_default();
        std::fs::write(out.join("kernel.json"), text)
            .map_err(Error::file("write", out.join("kernel.json")))?;
        let folder = self.cache.entry(KIND, key);
        self.cache.install(&out, &folder)?;
        let (image, config, sha256) = (folder.join("image"), folder.join("config"), entry.sha256);
        Ok(Built {
            kernel: *kernel,
            image,
            config,
            key: key.to_owned(),
            seconds: Some(seconds),
            sha256,
            takes_modules,
        })
    }

    /// Unpacks a source where it is not yet.
    pub(crate) fn unpack(&mut self, archive: &Path, tree: &Path, what: &str, key: &str) -> Result<(), Error> {
        // Half of it is none.
        let done = tree.join(".unpacked");
        if done.exists() {
            return Ok(());
        }
        (self.on)(Progress::Unpacking);
        std::fs::create_dir_all(tree).map_err(Error::file("make", tree))?;
        let mut tar = Command::new("tar");
        tar.arg("-xf").arg(archive).args(["--strip-components=1", "-C"]).arg(tree);
        self.run(tar, what, key, false)?;
        std::fs::write(&done, "").map_err(Error::file("write", &done))
    }

    /// Makes the whole configuration of one, in `objects`; its text.
    pub(crate) fn configure(
        &mut self,
        arch: Arch,
        configuration: Configuration<'_>,
        key: &str,
        tree: &Path,
        objects: &Path,
    ) -> Result<String, Error> {
        let path = objects.join(".config");
        let what = &configuration.name();
        // What symbols are called depends on the version of the tree that is there.
        let of_tree;
        let configuration = match configuration {
            Configuration::Lab(kernel) => {
                let source = version_of_tree(tree).unwrap_or(kernel.source);
                of_tree = Kernel { source, ..*kernel };
                Configuration::Lab(&of_tree)
            }
            other => other,
        };
        match configuration {
            Configuration::Text { text, .. } => {
                std::fs::write(&path, text).map_err(Error::file("write", &path))?;
            }
            Configuration::Lab(kernel) => {
                self.run(kbuild(arch, tree, objects, &["tinyconfig"]), what, key, false)?;
                let file = std::fs::File::options().append(true).open(&path);
                let mut file = file.map_err(Error::file("open", &path))?;
                file.write_all(config::fragment(kernel).as_bytes()).map_err(Error::file("write", &path))?;
            }
        }
        self.run(kbuild(arch, tree, objects, &["olddefconfig"]), what, key, false)?;
        let text = std::fs::read_to_string(&path).map_err(Error::file("read", &path))?;
        if let Configuration::Lab(kernel) = configuration {
            config::verify(kernel, &text)?;
        }
        Ok(text)
    }

    /// Compiles the image of a source tree that is configured, and `more`, in `objects`; of what is there already, only what has changed.
    pub(crate) fn compile(
        &mut self,
        arch: Arch,
        what: &str,
        key: &str,
        tree: &Path,
        objects: &Path,
        more: &[&str],
    ) -> Result<PathBuf, Error> {
        let (target, image) = arch.image();
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        let mut compile = kbuild(arch, tree, objects, &[&[target], more].concat());
        compile.arg(format!("-j{jobs}"));
        self.run(compile, what, key, true)?;
        Ok(objects.join(image))
    }

    /// Runs a step of a build to its end; its output is kept in a log, which is told where it fails.
    /// Where it `counts`, compiled files are told.
    pub(crate) fn run(
        &mut self,
        mut command: Command,
        what: &str,
        key: &str,
        counts: bool,
    ) -> Result<(), Error> {
        let logs = self.cache.root().join("logs");
        std::fs::create_dir_all(&logs).map_err(Error::file("make", &logs))?;
        let path = logs.join(format!("{key}.log"));
        let mut log = std::fs::File::create(&path).map_err(Error::file("write", &path))?;
        let piped = std::io::pipe().and_then(|(read, write)| Ok((read, write.try_clone()?, write)));
        let (read, out, err) = piped.map_err(Error::file("make", "a pipe"))?;
        command.stdin(Stdio::null()).stdout(out).stderr(err);
        let name = command.get_program().to_owned();
        let mut child = Child::start(command).map_err(Error::file("start", &name))?;
        let compiled = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&compiled);
        let reader = std::thread::spawn(move || {
            let mut full = false;
            for line in Lines::new(read, LINE).map_while(Result::ok) {
                let line = line.into_bytes();
                if line.starts_with(b"  CC") || line.starts_with(b"  AS") {
                    count.fetch_add(1, Ordering::Relaxed);
                }
                let is_full = |part: &[u8]| line.windows(part.len()).any(|window| window == part);
                full |= is_full(b"No space left on device") || is_full(b"Disk quota exceeded");
                // A log that cannot be written must not keep the build from ending.
                full |= log.write_all(&line).and_then(|()| log.write_all(b"\n")).is_err();
            }
            full
        });
        let (on, is_stopped) = (RefCell::new(&mut *self.on), self.stop);
        let stop = || {
            if counts {
                on.borrow_mut()(Progress::Compiling(what, compiled.load(Ordering::Relaxed)));
            }
            is_stopped()
        };
        let end = child.wait(&Until { limit: None, stop: &stop }).map_err(Error::file("wait for", &name))?;
        let full = reader.join().unwrap_or(false);
        match end {
            End::Stopped | End::Late => Err(Error::Stopped),
            End::Exited(status, _) if status.success() => {
                let _ = std::fs::remove_file(&path);
                Ok(())
            }
            End::Exited(..) if full => Err(Error::Full(self.cache.root().to_owned())),
            End::Exited(status, _) => {
                let bytes = std::fs::read(&path).unwrap_or_default();
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let says =
                    |line: &&str| line.contains("error:") || line.contains("Error ") || line.contains("***");
                let why =
                    text.lines().find(says).map_or_else(|| status.to_string(), |line| line.trim().to_owned());
                Err(Error::Build { what: what.to_owned(), why, log: path })
            }
        }
    }
}
