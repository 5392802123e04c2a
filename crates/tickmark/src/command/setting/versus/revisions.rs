//! Revisions of a git repository, each in a worktree of its own.

use crate::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Worktrees, which are removed with this.
pub(super) struct Revisions {
    /// As they were named.
    pub(super) names: Vec<String>,
    /// Where they are.
    pub(super) folders: Vec<PathBuf>,
    /// Where this folder is in the repository.
    below: PathBuf,
    made: usize,
    _folder: tempfile::TempDir,
}

impl Revisions {
    /// Checks both revisions of OLD..NEW out.
    pub(super) fn check_out(range: &str) -> Result<Self, Error> {
        let form = || Error::Usage(format!("--rev {range}: give OLD..NEW, such as main..HEAD"));
        let (old, new) = range.split_once("..").ok_or_else(form)?;
        if old.is_empty() || new.starts_with('.') {
            return Err(form());
        }
        let names: Vec<String> = [old, if new.is_empty() { "HEAD" } else { new }].map(str::to_owned).into();
        let commits: Vec<String> = names.iter().map(|name| commit(name)).collect::<Result<_, _>>()?;
        if commits[0] == commits[1] {
            return Err(Error::Usage(format!("--rev {range}: both are commit {}", short(&commits[0]))));
        }
        // A name says another commit tomorrow.
        let names =
            names.iter().zip(&commits).map(|(name, commit)| format!("{name} {}", short(commit))).collect();
        let top = git(&["rev-parse", "--show-prefix"])?;
        let folder = tempfile::tempdir()
            .map_err(|error| Error::Refused(format!("no folder for worktrees: {error}")))?;
        let folders = ["old", "new"].map(|name| folder.path().join(name)).into();
        let mut revisions = Self { names, folders, below: PathBuf::from(top), made: 0, _folder: folder };
        for (folder, commit) in revisions.folders.clone().iter().zip(&commits) {
            // One that was made in part is removed as well.
            revisions.made += 1;
            git(&["worktree", "add", "--quiet", "--detach", &folder.to_string_lossy(), commit])?;
        }
        Ok(revisions)
    }

    /// Where commands run: where this folder is in each worktree.
    pub(super) fn places(&self) -> Vec<PathBuf> {
        self.folders.iter().map(|folder| folder.join(&self.below)).collect()
    }
}

impl Drop for Revisions {
    fn drop(&mut self) {
        for folder in self.folders.iter().take(self.made) {
            let _ = git(&["worktree", "remove", "--force", &folder.to_string_lossy()]);
        }
    }
}

fn commit(name: &str) -> Result<String, Error> {
    git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{name}^{{commit}}")])
        .map_err(|_| Error::Usage(format!("--rev: no revision {name} in the git repository here")))
}

fn short(commit: &str) -> &str {
    &commit[..10.min(commit.len())]
}

fn git(arguments: &[&str]) -> Result<String, Error> {
    let failed = |why: String| Error::Refused(format!("git {}: {why}", arguments[0]));
    let output = Command::new("git").args(arguments).output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(failed(said.lines().last().unwrap_or("failed").to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The command that builds in a worktree, with a seed that each build has for itself.
pub(super) fn build_command(folder: &Path, build: &str) -> String {
    let folder = folder.to_string_lossy();
    let place = tickmark_wire::text::quoted(&folder).into_owned();
    let seed = "TICKMARK_LINK_SEED=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')";
    format!("cd {place} && export {seed} && {{ {build}\n}}")
}
