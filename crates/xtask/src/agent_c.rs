//! The agent in C, and the plugin of QEMU.

use crate::{Result, shell};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Lines: 1,800 before the network, which took 300.
const MOST: usize = 2_150;

/// The agent in C: standard, without a warning, and no longer than it says.
pub(crate) fn check() -> Result<()> {
    let sources = c_files("agent-c", &["c", "h"])?;
    let text = sources.iter().map(std::fs::read_to_string).collect::<std::io::Result<String>>();
    let lines = text.map_err(|e| e.to_string())?.lines().count();
    println!("agent-c: {lines} lines of at most {MOST} in {} files", sources.len());
    if lines > MOST {
        return Err(format!("agent-c has {lines} lines"));
    }
    for compiler in ["gcc", "powerpc-linux-gnu-gcc", "aarch64-linux-gnu-gcc", "riscv64-linux-gnu-gcc"] {
        compile(compiler, Path::new("/dev/null"))?;
    }
    // A compiler that has nothing of GNU's.
    // It would put a file in the place of /dev/null.
    let place = tempfile::tempdir().map_err(|e| e.to_string())?;
    let mut tcc = Command::new("tcc");
    tcc.arg("-o").arg(place.path().join("agent-c"));
    tcc.args(sources.iter().filter(|path| path.extension().is_some_and(|kind| kind == "c")));
    shell::output(&mut tcc).map(drop)?;
    let mut plugin = Command::new("gcc");
    plugin.args(["-std=c11", "-O2", "-shared", "-fPIC", "-fvisibility=hidden"]).args(STRICT);
    plugin.arg(place.path().join("explain.so")).args(c_files("tcg-plugin", &["c"])?);
    shell::output(&mut plugin).map(drop)
}

/// As strictly as GNU's compiler can.
const STRICT: [&str; 5] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-o"];

/// The files of a folder with these endings.
fn c_files(folder: &str, endings: &[&str]) -> Result<Vec<PathBuf>> {
    let files = std::fs::read_dir(shell::root().join(folder)).map_err(|e| e.to_string())?;
    let files = files.flatten().map(|entry| entry.path());
    let is_one =
        |path: &PathBuf| path.extension().is_some_and(|kind| endings.iter().any(|ending| kind == *ending));
    Ok(files.filter(is_one).collect())
}

/// Compiles the agent in C strictly.
pub(crate) fn compile(compiler: &str, program: &Path) -> Result<()> {
    let mut cc = Command::new(compiler);
    cc.args(["-std=c99", "-pedantic", "-O2", "-static"]);
    cc.args(STRICT).arg(program).args(c_files("agent-c", &["c"])?);
    shell::output(&mut cc).map(drop)
}
