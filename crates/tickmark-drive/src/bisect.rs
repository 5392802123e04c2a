//! Commits of a git tree, each measured in a copy of its own: the tree itself is left alone.

use crate::shell::Run;
use crate::{Control, Error};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its whole name.
    pub id: String,
    /// The first line of its message.
    pub subject: String,
}

/// How a commit is measured: commands of a shell in its folder.
#[derive(Debug, Clone)]
pub struct CommitCommand {
    /// What makes it ready, once; nothing where there is nothing to build.
    pub prepare: Option<String>,
    /// What is measured, again and again.
    pub command: String,
    /// True if the figure is the last number that it prints, else its time in ns.
    pub printed: bool,
    /// Neither may take longer.
    pub limit: Duration,
}

/// A git tree with copies of its commits.
pub struct Tree {
    /// Where git keeps what it knows of it.
    own: String,
    copy: PathBuf,
    scratch: PathBuf,
    ready: BTreeSet<String>,
}

impl Tree {
    /// Of the tree that this folder is in; copies are made in `scratch`, which is the caller's to remove, or found there.
    ///
    /// # Errors
    /// There is no git, or no tree of its.
    pub fn open(folder: &Path, scratch: &Path) -> Result<Self, Error> {
        let own = git_folder(folder)?;
        let made =
            Self { own, copy: scratch.join("tree"), scratch: scratch.to_owned(), ready: BTreeSet::new() };
        if made.copy.exists() {
            // Whoever was killed there is gone.
            let _ = std::fs::remove_file(made.copy.join(".git/index.lock"));
        } else {
            made.copy_tree()?;
        }
        Ok(made)
    }

    fn copy_tree(&self) -> Result<(), Error> {
        let to = self.copy.to_string_lossy();
        git(&self.scratch, &["clone", "--quiet", "--shared", "--no-checkout", "--", &self.own, &to]).map(drop)
    }

    /// The commits of `GOOD..BAD` in the tree that a folder is in, along first parents, the good one first; of those before a merge that
    /// brought the good one, none.
    ///
    /// # Errors
    /// There is no git, or no tree of its; one of them is none of the tree, or the good one is no ancestor of the bad one.
    pub fn commits(folder: &Path, range: &str) -> Result<Vec<Commit>, Error> {
        let tree = git_folder(folder)?;
        let tree = Path::new(&tree);
        let wrong = || Error::Usage(format!("{range:?} is no range of commits, such as v1.0..main"));
        let (good, bad) = range.split_once("..").ok_or_else(wrong)?;
        // In the tree itself, whose names the copy does not have.
        let commit = |name: &str| -> Result<String, Error> {
            let whole = format!("{}^{{commit}}", if name.is_empty() { "HEAD" } else { name });
            let found = git(tree, &["rev-parse", "--verify", "--quiet", "--end-of-options", &whole]);
            let id = found.map_err(|_| Error::Usage(format!("no commit {name:?} in this tree")))?;
            Ok(id.trim().to_owned())
        };
        let (first, last) = (commit(good)?, commit(bad)?);
        git(tree, &["merge-base", "--is-ancestor", &first, &last]).map_err(|_| {
            Error::Usage(format!("{range}: the first is no ancestor of the second; {bad}..{good}?"))
        })?;
        let between = format!("{first}..{last}");
        let list = |arguments: &[&str]| -> Result<Vec<Commit>, Error> {
            let text = git(tree, &[&["rev-list", "--format=%H %s"], arguments].concat())?;
            // Before each comes a line of its own.
            let lines = text.lines().filter(|line| !line.starts_with("commit "));
            let one = |line: &str| {
                let (id, subject) = line.split_once(' ').unwrap_or((line, ""));
                Commit {
                    id: id.to_owned(),
                    subject: tickmark_wire::text::printable(subject, false).into_owned(),
                }
            };
            Ok(lines.map(one).collect())
        };
        Ok([list(&["-1", &first])?, list(&["--first-parent", "--ancestry-path", "--reverse", &between])?]
            .concat())
    }

    /// The copy with the files of a commit: those that differ from the one before are written.
    ///
    /// # Errors
    /// Git cannot.
    pub fn check_out(&self, commit: &Commit) -> Result<&Path, Error> {
        // The copy of a tree that is shallow has its own objects, from when it was made.
        if git(&self.copy, &["cat-file", "-e", &commit.id]).is_err() {
            std::fs::remove_dir_all(&self.copy).map_err(Error::file("remove", &self.copy))?;
            self.copy_tree()?;
        }
        git(&self.copy, &["checkout", "--quiet", "--force", "--detach", &commit.id])?;
        Ok(&self.copy)
    }

    /// A figure of a commit.
    ///
    /// # Errors
    /// It cannot be made ready, its command fails, or prints no number; or the work was interrupted.
    pub fn measure(&mut self, commit: &Commit, how: &CommitCommand, control: &Control) -> Result<f64, Error> {
        let folder = self.scratch.join(&commit.id);
        let run = |command: &str| {
            let run = Run { command, limit: how.limit, stop: Some(control), alone: true };
            run.run_in(Some(&folder), || Ok(()))
        };
        if !self.ready.contains(&commit.id) {
            if !folder.exists() {
                let to = folder.to_string_lossy();
                git(&self.copy, &["worktree", "add", "--quiet", "--detach", &to, &commit.id])?;
            }
            how.prepare.iter().try_for_each(|prepare| run(prepare).map(drop))?;
            self.ready.insert(commit.id.clone());
        }
        let done = run(&how.command)?;
        if !how.printed {
            return Ok(done.time.as_nanos() as f64);
        }
        let number = |word: &str| word.parse::<f64>().ok().filter(|number| number.is_finite());
        let found = done.text.split_whitespace().rev().find_map(number);
        found.ok_or_else(|| Error::Refused(format!("`{}` prints no number", how.command)))
    }
}

/// Where git keeps what it knows of the tree that a folder is in.
fn git_folder(folder: &Path) -> Result<String, Error> {
    let none =
        |why: Error| Error::Refused(format!("{} is in no git tree (--tree DIR): {why}", folder.display()));
    Ok(git(folder, &["rev-parse", "--absolute-git-dir"]).map_err(none)?.trim().to_owned())
}

/// What git says.
fn git(folder: &Path, arguments: &[&str]) -> Result<String, Error> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(arguments).stdin(Stdio::null());
    // Hooks and `rebase --exec` name the user's own tree by these.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY"] {
        command.env_remove(name);
    }
    let output = command
        .output()
        .map_err(|error| Error::Refused(format!("git cannot be started: {error} (apt-get install git)")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let why = said.lines().last().unwrap_or("it says nothing").to_owned();
    Err(Error::Refused(format!("git {}: {why}", arguments.first().unwrap_or(&""))))
}
