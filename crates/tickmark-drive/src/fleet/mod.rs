//! A survey: one plan on many machines at once. A launcher starts an agent on each; what they all write comes back over its one output, in pieces
//! that say whose they are. A survey is a folder: `survey.json` (what was asked of whom), `nodes.jsonl` (what came of each), and a recording for each
//! machine that answered, so that it is a store as well.

mod gather;
mod hosts;
mod launch;
pub mod links;
mod slurm;

pub use gather::Gathering;
pub use hosts::expand;
pub use launch::{LINE, LaunchMethod, Launcher, launch};
pub use slurm::{down, members};

use crate::Error;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use tickmark_store::files::{open_regular, read_regular};
use tickmark_store::{Id, Store};
use tickmark_wire::Plan;
use tickmark_wire::text::printable;

/// Bytes of a file of a survey that are read at most: of 200,000 machines there are some forty million.
const MOST: u64 = 256 << 20;

/// The request and its machines: written once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SurveyRequest {
    /// Version of this file.
    pub format: u32,
    /// The survey's id.
    pub id: Id,
    /// When it was begun.
    pub created: jiff::Timestamp,
    /// The program that made it.
    pub program: String,
    /// The machines.
    pub nodes: Vec<String>,
    /// The selection: suites, names, patterns.
    pub select: Vec<String>,
    /// Seconds that a machine has.
    pub limit_s: u64,
    /// The plan for each machine.
    pub plan: Plan,
}

/// Result of a machine: a line of `nodes.jsonl`, of which the last one counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answer {
    /// Which.
    pub node: String,
    /// The result.
    pub outcome: Outcome,
    /// Why no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The saved recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<Id>,
}

impl Answer {
    /// Takes out what a terminal would obey: what a machine or a launcher says is a stranger's text.
    fn clean(&mut self) {
        self.node = printable(&self.node, false).into_owned();
        self.why = self.why.take().map(|why| printable(&why, false).into_owned());
    }
}

/// Result of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Everything.
    Complete,
    /// A part: what was measured until then is kept.
    Partly,
    /// Its agent refused.
    Refused,
    /// Nothing.
    Silent,
}

/// The file that makes a folder a survey.
const FILE: &str = "survey.json";
const ANSWERS: &str = "nodes.jsonl";
/// The version of both.
const FORMAT: u32 = 1;

/// A survey's folder.
#[derive(Debug)]
pub struct Survey {
    folder: PathBuf,
    /// The request.
    pub request: SurveyRequest,
}

impl Survey {
    /// Begins one in a new folder.
    ///
    /// # Errors
    /// There is something already, or it cannot be written.
    pub fn create(folder: &Path, mut request: SurveyRequest) -> Result<Self, Error> {
        request.format = FORMAT;
        if folder.join(FILE).exists() {
            let folder = folder.display();
            return Err(Error::Usage(format!(
                "{folder} is a survey already; --resume {folder} asks those that are missing"
            )));
        }
        if std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(Error::Usage(format!("{} is a folder with other things in it", folder.display())));
        }
        std::fs::create_dir_all(folder).map_err(Error::file("make", folder))?;
        let path = folder.join(FILE);
        let text = serde_json::to_vec_pretty(&request).unwrap_or_default();
        std::fs::write(&path, text).map_err(Error::file("write", path))?;
        Ok(Self { folder: folder.to_owned(), request })
    }

    /// Opens one.
    ///
    /// # Errors
    /// It is none, or one of another version.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(FILE);
        let text = read_regular(&path, MOST).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                Error::Usage(format!("{} is no survey: it has no {FILE}", folder.display()))
            }
            _ => Error::file("read", &path)(error),
        })?;
        let request: SurveyRequest = serde_json::from_slice(&text)
            .map_err(|error| Error::Usage(format!("{} cannot be read: {error}", path.display())))?;
        if request.format != FORMAT {
            return Err(Error::Usage(format!(
                "{} is of version {}; this tickmark reads {FORMAT}",
                path.display(),
                request.format
            )));
        }
        // Their names reach a shell.
        if let Some(node) = request.nodes.iter().find(|node| !hosts::is_plain(node)) {
            return Err(Error::Usage(format!("{}: {node:?} is no name of a machine", path.display())));
        }
        Ok(Self { folder: folder.to_owned(), request })
    }

    /// Holds the survey for one program that asks its machines, until what this gives is dropped.
    ///
    /// # Errors
    /// Another has it.
    pub fn lock(&self) -> Result<std::fs::File, Error> {
        let path = self.folder.join(FILE);
        let file =
            open_regular(&path, std::fs::File::options().read(true)).map_err(Error::file("open", &path))?;
        file.try_lock().map_err(|_| {
            Error::Refused(format!("{}: another tickmark is asking its machines", self.folder.display()))
        })?;
        Ok(file)
    }

    /// When what came of its machines and their links changed last; none where nothing did.
    #[must_use]
    pub fn changed(&self) -> Option<std::time::SystemTime> {
        let of = |name| std::fs::metadata(self.folder.join(name)).and_then(|file| file.modified()).ok();
        [ANSWERS, links::FILE].into_iter().filter_map(of).max()
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The recordings.
    ///
    /// # Errors
    /// As [`Store::at`].
    pub fn store(&self) -> Result<Store, Error> {
        Ok(Store::at(Some(self.folder.clone()), |_| {})?)
    }

    /// Results of each machine so far. One that was asked for and of which nothing is known was silent.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn answers(&self) -> Result<Vec<Answer>, Error> {
        let path = self.folder.join(ANSWERS);
        let text = match read_regular(&path, MOST) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::file("read", path)(error));
            }
            text => String::from_utf8_lossy(&text.unwrap_or_default()).into_owned(),
        };
        let mut known: BTreeMap<String, Answer> = BTreeMap::new();
        // Half a line is what a kill leaves.
        for mut answer in
            text.lines().filter_map(|line| serde_json::from_slice::<Answer>(line.as_bytes()).ok())
        {
            answer.clean();
            let better = known.get(&answer.node).is_none_or(|old| answer.outcome <= old.outcome);
            if better {
                known.insert(answer.node.clone(), answer);
            }
        }
        let silent = |node: &String| Answer {
            node: node.clone(),
            outcome: Outcome::Silent,
            why: None,
            recording: None,
        };
        let answers =
            self.request.nodes.iter().map(|node| known.remove(node).unwrap_or_else(|| silent(node)));
        let mut all: Vec<Answer> = answers.collect();
        all.extend(known.into_values());
        Ok(all)
    }

    /// Keeps what came of some machines, on the disk when this returns.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(&self, answers: &[Answer]) -> Result<(), Error> {
        self.append(answers, true)
    }

    /// Keeps that a machine has begun, whatever ends this program before it has: one of thousands, so that nothing is waited for.
    fn begun(&self, node: &str, recording: &Id) -> Result<(), Error> {
        let mut answer = Answer {
            node: node.to_owned(),
            outcome: Outcome::Partly,
            why: Some("the program that gathered it ended in the middle".to_owned()),
            recording: Some(recording.clone()),
        };
        answer.clean();
        self.append(&[answer], false)
    }

    fn append(&self, answers: &[Answer], sync: bool) -> Result<(), Error> {
        append(&self.folder.join(ANSWERS), answers, sync)
    }
}

/// Adds a line for each to a file.
fn append<T: Serialize>(path: &Path, all: &[T], sync: bool) -> Result<(), Error> {
    let lines: String =
        all.iter().filter_map(|one| serde_json::to_string(one).ok()).map(|line| line + "\n").collect();
    let written = open_regular(path, std::fs::File::options().create(true).read(true).append(true)).and_then(
        |mut file| {
            // Half a line is what a kill leaves: the next one is no part of it.
            let (length, mut last) = (file.metadata()?.len(), [b'\n']);
            if length > 0 {
                file.read_exact_at(&mut last, length - 1)?;
            }
            if last != [b'\n'] {
                file.write_all(b"\n")?;
            }
            file.write_all(lines.as_bytes())?;
            if sync { file.sync_data() } else { Ok(()) }
        },
    );
    written.map_err(Error::file("write", path))
}
