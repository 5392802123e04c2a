//! The handle of work that is under way: it ends it, and hears what it says.

use crate::Error;
use std::collections::BTreeMap;
use std::process::ChildStdin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tickmark_lab::StaticProgram;

/// Ends work from another thread: the standard input of its agents ends. Copies are handles of the same work.
#[derive(Clone, Default)]
pub struct Control {
    lifelines: Arc<Mutex<Lifelines>>,
    hear: Option<Arc<Hear>>,
}

type Hear = dyn Fn(ProgressEvent<'_>) + Send + Sync;

#[derive(Default)]
struct Lifelines {
    /// By number, of each agent that runs.
    stdins: BTreeMap<u64, ChildStdin>,
    next: u64,
    stopped: bool,
}

/// Progress of running work.
#[derive(Debug)]
pub enum ProgressEvent<'a> {
    /// A setting of a block begins.
    Block {
        /// `block`, or `pilot`.
        what: &'static str,
        /// Counted from 1.
        block: u32,
        /// How many there will be.
        of: u32,
        /// Which.
        setting: &'a str,
    },
    /// The kernels of the lab are being built.
    Kernel(tickmark_lab::Progress<'a>),
    /// A static program of tickmark's own is being built, which takes about a minute.
    Building(StaticProgram),
    /// The report of single steps is over.
    Over,
    /// A virtual machine that was to run at the host's speed runs slower: why.
    NoKvm(&'a str),
    /// The agent was killed by this signal: what it had not measured is missing.
    AgentKilled(i32),
    /// Something could not be put back.
    NotRestored(&'a Error),
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").field("stopped", &self.stopped()).finish_non_exhaustive()
    }
}

impl Control {
    /// A handle whose work tells `hear` what it does.
    pub fn hearing(hear: impl Fn(ProgressEvent<'_>) + Send + Sync + 'static) -> Self {
        Self { hear: Some(Arc::new(hear)), ..Self::default() }
    }

    /// Ends the work, now or as soon as it is started.
    pub fn stop(&self) {
        let mut lines = self.lines();
        lines.stopped = true;
        lines.stdins.clear();
    }

    /// True if it was told to stop.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.lines().stopped
    }

    pub(crate) fn tell(&self, event: ProgressEvent<'_>) {
        if let Some(hear) = &self.hear {
            hear(event);
        }
    }

    /// Holds an agent's standard input open until the work is stopped or the lifeline is dropped.
    pub(crate) fn hold(&self, stdin: ChildStdin) -> Lifeline<'_> {
        let mut lines = self.lines();
        let number = lines.next;
        lines.next += 1;
        if !lines.stopped {
            lines.stdins.insert(number, stdin);
        }
        Lifeline { control: self, number }
    }

    fn lines(&self) -> MutexGuard<'_, Lifelines> {
        self.lifelines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An agent's standard input; it ends when this is dropped.
pub(crate) struct Lifeline<'a> {
    control: &'a Control,
    number: u64,
}

impl Drop for Lifeline<'_> {
    fn drop(&mut self) {
        self.control.lines().stdins.remove(&self.number);
    }
}
