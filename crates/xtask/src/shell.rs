//! Other programs.

use crate::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new(".")).to_owned()
}

/// Runs a command in the workspace; its output is seen.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Result<()> {
    println!("+ {program} {}", arguments.join(" "));
    let status = Command::new(program).args(arguments).current_dir(root()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program} {} ended with {status}", arguments.join(" "))),
        Err(error) => Err(format!("cannot run {program}: {error}")),
    }
}

/// Runs a command and gives what it printed, output and errors apart.
pub(crate) fn output(command: &mut Command) -> Result<(String, String)> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| format!("cannot run {name}: {e}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        return Ok((text(&output.stdout), text(&output.stderr)));
    }
    Err(format!("{name} ended with {}: {}", output.status, text(&output.stderr).trim()))
}

/// Installs those of Debian's packages whose program is missing.
pub(crate) fn install(needed: &[(&str, &str)]) -> Result<()> {
    let there = |program: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(program).exists())
    };
    let missing: Vec<&str> = needed.iter().filter(|(program, _)| !there(program)).map(|(_, p)| *p).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let root = output(Command::new("id").arg("-u"))?.0.trim() == "0";
    let apt: &[&str] = if root { &["apt-get"] } else { &["sudo", "apt-get"] };
    let apt_get = |arguments: &[&str]| run(apt[0], &[&apt[1..], arguments].concat());
    apt_get(&["update", "-q"])?;
    apt_get(&[&["install", "-y", "-q", "--no-install-recommends"], &missing[..]].concat())
}
