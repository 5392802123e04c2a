//! The interface between the agent and a probe.

use crate::clock::{Clock, Counter};
use crate::sys::exec::TINY_PATH;
use crate::sys::{CallError, clock, file};
use crate::{Gauge, ProbeError, Spec, Unavailable};
use std::cell::Cell;
use std::ffi::{CStr, CString};
use tickmark_wire::{Arguments, Nanos, Observations, Part, Phase, Segment, Sending};

/// A probe: what it is, and how to make it ready.
#[derive(Debug, Clone, Copy)]
pub struct Probe {
    /// Its definition.
    pub spec: Spec,
    /// Sets everything up outside the timed region; an error skips the run.
    pub prepare: Prepare,
}

/// Makes a probe ready.
pub type Prepare = fn(&Spec, &Params) -> Result<Box<dyn Routine>, Unavailable>;

/// Facts about the place where a probe runs.
#[derive(Debug, Clone)]
pub struct Params {
    /// The CPU that is measured; this process is pinned to it.
    pub cpu: u32,
    /// Every CPU that the process might use.
    pub allowed: Vec<u32>,
    /// How much memory and how large files to work on.
    pub sizes: Sizes,
    /// True if the working directory holds the tiny program at [`TINY_PATH`].
    pub has_files: bool,
    /// How streams send; none is by write(2).
    pub send: Option<Sending>,
    /// Arguments of the probe; every parameter of its spec has a value.
    pub arguments: Arguments,
}

/// How much memory and how large files probes work on, and what the caches are, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Memory for bandwidths and latencies; files that are read again.
    pub memory: u64,
    /// The file that is mapped whole.
    pub mapped: u64,
    /// Data cache of the first level.
    pub l1: u64,
    /// Cache of the second level.
    pub l2: u64,
    /// Cache of the last level; 0 where it is not known.
    pub last: u64,
    /// A cache line.
    pub line: u64,
    /// True if memory is so short that processes which ended are felt.
    pub short: bool,
}

impl Params {
    /// The number that the probe is told for a parameter; 0 where that is none.
    #[must_use]
    pub fn number(&self, parameter: &str) -> usize {
        self.argument(parameter).parse().unwrap_or(0)
    }

    /// Argument of a parameter.
    #[must_use]
    pub fn argument(&self, parameter: &str) -> &str {
        self.arguments.get(parameter).map_or("", String::as_str)
    }

    /// The CPU that the parameter `place` means: another one for `across`, else that which is measured.
    ///
    /// # Errors
    /// There is no other.
    pub fn place(&self) -> Result<u32, Unavailable> {
        let none = || Unavailable::Missing("only one CPU is allowed".to_owned());
        match self.argument("place") {
            "across" => self.allowed.iter().copied().find(|cpu| *cpu != self.cpu).ok_or_else(none),
            _ => Ok(self.cpu),
        }
    }

    /// The path of a small file that can be opened and, where the file system allows it, executed.
    ///
    /// # Errors
    /// Where no place to write was found.
    pub fn tiny(&self) -> Result<&'static CStr, Unavailable> {
        let none = || Unavailable::Missing("no directory to write a file into".to_owned());
        self.has_files.then_some(TINY_PATH).ok_or_else(none)
    }

    /// A folder of this run's own, empty, in the working directory.
    ///
    /// # Errors
    /// Where no place to write was found, or it cannot be made.
    pub fn folder(&self) -> Result<Folder, Unavailable> {
        self.tiny()?;
        Ok(Folder::make()?)
    }
}

/// The gap length that ends a watching loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    /// How long.
    pub above: Nanos,
    /// True if the kernel's tracer is stopped at that moment, so that its buffer ends there.
    pub tracing: bool,
}

/// A folder that is removed with what is in it when it is dropped.
#[derive(Debug)]
pub struct Folder {
    path: CString,
    files: Cell<usize>,
}

impl Folder {
    fn make() -> Result<Self, CallError> {
        let path = format!("run-{}", std::process::id());
        std::fs::create_dir(&path).map_err(|e| CallError::from_io("mkdir", &e))?;
        Ok(Self { path: CString::new(path).unwrap_or_default(), files: Cell::new(0) })
    }

    /// The path of the file with this number: all are of one length.
    #[must_use]
    pub fn path(&self, number: usize) -> CString {
        self.files.set(self.files.get().max(number + 1));
        self.file(number)
    }
}

impl Folder {
    fn file(&self, number: usize) -> CString {
        CString::new(format!("{}/{number:04}", self.path.to_string_lossy())).unwrap_or_default()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left goes with the working directory, at the end.
        for number in 0..self.files.get() {
            let _ = file::unlink(&self.file(number));
        }
        let _ = file::remove_directory(&self.path);
    }
}

/// How much a probe may measure.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// How long, in ns; a probe that is kept off its CPU may take four times that.
    pub time: Nanos,
    /// The longest batch, in ns: at most .1 ms and a tenth of a tick.
    pub batch: Nanos,
    /// The instrument to measure with.
    pub gauge: Gauge,
    /// Where in the tick a stream begins; none is anywhere.
    pub phase: Option<Phase>,
    /// Where a watching loop ends early.
    pub stop: Option<Stop>,
}

impl Budget {
    /// The same time in batches of a part of the length, so that little time holds enough of them.
    #[must_use]
    pub fn finer(&self, parts: i64) -> Self {
        Self { batch: Nanos::new((self.batch.get() / parts.max(1)).max(1)), ..*self }
    }

    /// Waits for a tick and then for the asked part of one. The coarse clock steps with the tick; where it does not, no
    /// more than ten ticks are waited for.
    pub fn align(&self) {
        let Some(Phase { number, of, tick }) = self.phase else { return };
        // Streams are aligned in guests alone that count instructions; there the TSC counts nanoseconds, whatever clock the
        // kernel has.
        let now = || Counter.now() as i64;
        let coarse = || clock::read(libc::CLOCK_MONOTONIC_COARSE).ok();
        let (begun, first) = (now(), coarse());
        while coarse() == first && now() - begun < 10 * tick.get() {}
        let stepped = now();
        let part = tick.get() * i64::from(number) / i64::from(of.max(1));
        while now() - stepped < part {}
    }

    /// The same budget, cut to `part` of `parts`.
    #[must_use]
    pub fn share(&self, part: i64, parts: i64) -> Self {
        Self { time: Nanos::new(self.time.get() / parts.max(1) * part), ..*self }
    }
}

/// A probe that is ready to measure.
pub trait Routine {
    /// Measures within the budget and gives raw observations to the sink.
    ///
    /// # Errors
    /// When what is timed fails, or did not happen.
    fn measure(&mut self, budget: &Budget, sink: &mut dyn Sink) -> Result<(), ProbeError>;
}

/// Where observations go.
pub trait Sink: Send {
    /// Takes the observations of one part of a metric, with the conditions meanwhile: of the first, or of the one with this number
    /// (counted from 1) among those that the spec has beside it.
    fn take(&mut self, metric: usize, part: Part, observations: Observations, segments: Vec<Segment>);

    /// The same for the metric that the probe stands for.
    fn observe(&mut self, part: Part, observations: Observations, segments: Vec<Segment>) {
        self.take(0, part, observations, segments);
    }
}

/// A routine after which something is looked at that would make its observations those of another thing.
pub(crate) fn checked<F>(mut inner: Box<dyn Routine>, check: F) -> Box<dyn Routine>
where
    F: Fn() -> Result<(), ProbeError> + 'static,
{
    routine(move |budget, sink| {
        inner.measure(budget, sink)?;
        check()
    })
}

/// A routine of its own making, for probes that are no stream of batches.
pub fn routine<F>(measure: F) -> Box<dyn Routine>
where
    F: FnMut(&Budget, &mut dyn Sink) -> Result<(), ProbeError> + 'static,
{
    struct Closure<F>(F);
    impl<F> Routine for Closure<F>
    where
        F: FnMut(&Budget, &mut dyn Sink) -> Result<(), ProbeError>,
    {
        fn measure(&mut self, budget: &Budget, sink: &mut dyn Sink) -> Result<(), ProbeError> {
            (self.0)(budget, sink)
        }
    }
    Box::new(Closure(measure))
}
