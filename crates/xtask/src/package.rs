//! Packages for users: a Debian package, an archive with the static programs, and the list of their components. The same source gives the
//! same bytes: times are those of the last commit, names of folders are taken out of the programs, and everything is sorted.

use crate::{Result, agent, book, shell};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program's package, as Debian has it.
const CONTROL: &str = "\
Package: tickmark
Version: VERSION
Section: utils
Priority: optional
Architecture: amd64
Depends: libc6 (>= 2.34)
Suggests: qemu-system-x86, qemu-system-ppc, qemu-system-arm, qemu-system-misc, linux-source-6.1, gcc, libc6-dev, gcc-powerpc-linux-gnu, gcc-aarch64-linux-gnu, gcc-riscv64-linux-gnu, make, flex, bison, bc, xz-utils, lz4, libelf-dev, openssh-client
Maintainer: tickmark's developers
Description: measures what timekeeping and communication cost on Linux
 Clock ticks, clock reads, timers, system calls, context switches, messages,
 transactions; says with statistics whether a change mattered, and can boot
 kernels to prove it.
";

/// The largest program, in bytes: it goes to many machines.
const LARGEST: u64 = 12_000_000;

/// The shells, and where Debian has their completions.
const SHELLS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/tickmark"),
    ("zsh", "usr/share/zsh/vendor-completions/_tickmark"),
    ("fish", "usr/share/fish/vendor_completions.d/tickmark.fish"),
];

/// Builds everything from the source and packs it.
pub(crate) fn build() -> Result<()> {
    let folder = agent::target_folder().join("package");
    let program = program(&folder.join("build"))?;
    for path in pack(&program, &folder)? {
        println!("{}", path.display());
    }
    Ok(())
}

/// Packs the program as the other steps have built it, twice, and tries what is in it.
pub(crate) fn check() -> Result<()> {
    shell::run("cargo", &["build", "--quiet", "--release", "--package", "tickmark"])?;
    let program = agent::target_folder().join("release/tickmark");
    let bytes = std::fs::metadata(&program).map_err(|e| format!("{}: {e}", program.display()))?.len();
    println!("the program has {bytes} bytes");
    if bytes > LARGEST {
        return Err(format!("the program has {bytes} bytes, {LARGEST} are allowed"));
    }
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let pack = |name: &str| pack(&program, &folder.path().join(name));
    let (first, second) = (pack("first")?, pack("second")?);
    for (one, other) in first.iter().zip(&second) {
        if read(one)? != read(other)? {
            return Err(format!("{} differs when it is made again", one.display()));
        }
    }
    let root = folder.path().join("root");
    let package = first.first().ok_or("no package")?;
    shell::output(Command::new("dpkg-deb").arg("-x").arg(package).arg(&root))?;
    let installed = root.join("usr/bin/tickmark");
    let (version, _) = shell::output(Command::new(&installed).arg("--version"))?;
    if !version.starts_with("tickmark ") {
        return Err(format!("the packed program says {version:?}"));
    }
    // Unlike that of the tests it cannot make one.
    let (schema, _) = shell::output(Command::new(&installed).args(["schema", "compare"]))?;
    if !schema.contains("tickmark comparison, version 1") {
        return Err(format!("the packed program has no schema: {schema}"));
    }
    for path in
        ["usr/share/man/man1/tickmark-run.1.gz", "usr/share/man/man1/tickmark-fleet-report.1.gz", SHELLS[0].1]
    {
        if !root.join(path).is_file() {
            return Err(format!("the package has no {path}"));
        }
    }
    // The agent is found where the package has it.
    let (command, survey) = (folder.path().join("command"), folder.path().join("survey"));
    let launcher = format!("echo '{{command}}' > {}; exit 1", command.display());
    let mut fleet = Command::new(&installed);
    fleet.args(["fleet", "run"]).arg(&survey).args(["syscall.null", "--nodes", "a", "--launcher", &launcher]);
    let _ = shell::output(&mut fleet);
    let manual = std::fs::read_to_string(&command).unwrap_or_default();
    if manual.contains("usr/lib/tickmark/tickmark-agent survey") {
        return Ok(());
    }
    Err(format!("the packed program does not find its agent: {}", manual.get(..100).unwrap_or(&manual)))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// The program, without the names of this machine's folders in it.
fn program(folder: &Path) -> Result<PathBuf> {
    let home = std::env::var("CARGO_HOME").or_else(|_| std::env::var("HOME").map(|home| home + "/.cargo"));
    let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    let flags = [remap(&shell::root(), "tickmark"), remap(Path::new(&home.unwrap_or_default()), "cargo")];
    let mut cargo = Command::new("cargo");
    cargo
        .args(["build", "--quiet", "--release", "--locked", "--package", "tickmark", "--target-dir"])
        .arg(folder);
    shell::output(cargo.env("RUSTFLAGS", flags.join(" ")).current_dir(shell::root()))?;
    Ok(folder.join("release/tickmark"))
}

/// Packs a program and what belongs to it; the package, the archive, the list of components.
fn pack(program: &Path, folder: &Path) -> Result<Vec<PathBuf>> {
    let version = env!("CARGO_PKG_VERSION");
    let (when, _) =
        shell::output(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(shell::root()))?;
    let when = when.trim();
    let stage = folder.join("stage");
    // Whatever mask of permissions the user has.
    let readable =
        |folder: &Path| shell::output(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(folder));
    let _ = std::fs::remove_dir_all(&stage);
    let put = |path: &str, bytes: &[u8]| -> Result<()> {
        let path = stage.join(path);
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.and_then(|()| std::fs::write(&path, bytes)).map_err(|e| format!("{}: {e}", path.display()))
    };
    put("usr/bin/tickmark", &read(program)?)?;
    put("usr/lib/tickmark/tickmark-agent", &read(&agent::build()?)?)?;
    put("usr/lib/tickmark/tickmark-select-index", &read(&agent::select_index()?)?)?;
    let own = stage.join("usr/bin/tickmark");
    shell::output(Command::new("strip").arg(&own))?;
    shell::output(Command::new("chmod").arg("755").arg(&own).args(
        ["tickmark-agent", "tickmark-select-index"].map(|name| stage.join("usr/lib/tickmark").join(name)),
    ))?;
    for (name, path) in SHELLS {
        put(path, shell::output(Command::new(&own).args(["completions", name]))?.0.as_bytes())?;
    }
    let pages = stage.join("usr/share/man/man1");
    shell::output(Command::new(&own).arg("man").arg(&pages))?;
    shell::output(Command::new("sh").args(["-c", "gzip -9n \"$0\"/*.1"]).arg(&pages))?;
    let mut pages = book::pages(&shell::root().join("docs"))?;
    pages.push(shell::root().join("README.md"));
    for page in pages.iter().filter(|page| !page.ends_with("SUMMARY.md")) {
        let name = page.strip_prefix(shell::root()).unwrap_or(page).display();
        put(&format!("usr/share/doc/tickmark/{name}"), &read(page)?)?;
    }
    put(
        "usr/share/doc/tickmark/copyright",
        b"MIT or Apache-2.0, as you like; sbom.cdx.json lists what it is built from.\n",
    )?;
    let components = components()?;
    put("usr/share/doc/tickmark/sbom.cdx.json", components.as_bytes())?;
    readable(&stage)?;
    // Before DEBIAN is there: the archive is what is installed.
    let archive = folder.join(format!("tickmark-{version}-x86_64.tar.gz"));
    let pack = "tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@\"$1\" -C \"$0\" -cf - usr | gzip -9n > \"$2\"";
    shell::output(Command::new("sh").args(["-c", pack]).arg(&stage).arg(when).arg(&archive))?;
    put("DEBIAN/control", CONTROL.replace("VERSION", version).as_bytes())?;
    readable(&stage)?;
    let package = folder.join(format!("tickmark_{version}_amd64.deb"));
    let mut deb = Command::new("dpkg-deb");
    deb.args(["--root-owner-group", "-Zgzip", "--build"])
        .arg(&stage)
        .arg(&package)
        .env("SOURCE_DATE_EPOCH", when);
    shell::output(&mut deb)?;
    let list = folder.join(format!("tickmark-{version}.cdx.json"));
    std::fs::write(&list, components).map_err(|e| format!("{}: {e}", list.display()))?;
    Ok(vec![package, archive, list])
}

/// Components as CycloneDX 1.5 (ECMA-424): each package of Cargo.lock that it links, with version and licence.
fn components() -> Result<String> {
    let mut tree = Command::new("cargo");
    tree.args([
        "tree",
        "--package",
        "tickmark",
        "--package",
        "tickmark-agent",
        "--locked",
        "--prefix",
        "none",
        "--no-dedupe",
    ]);
    tree.args(["--edges", "normal", "--format", "{p}\t{l}"]).current_dir(shell::root());
    let (text, _) = shell::output(&mut tree)?;
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    let component = |line: &&str| {
        let (package, licence) = line.split_once('\t')?;
        let mut words = package.split(' ');
        let (name, version) = (words.next()?, words.next()?.trim_start_matches('v'));
        let own = name.starts_with("tickmark");
        Some(serde_json::json!({
            "type": if own { "application" } else { "library" },
            "name": name,
            "version": version,
            "licenses": [{ "expression": licence.replace('/', " OR ") }],
            "purl": format!("pkg:cargo/{name}@{version}"),
        }))
    };
    let all: Vec<_> = lines.iter().filter_map(component).collect();
    let list = serde_json::json!({ "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": all });
    serde_json::to_string_pretty(&list).map(|text| text + "\n").map_err(|e| e.to_string())
}
