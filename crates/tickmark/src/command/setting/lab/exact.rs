//! One figure of one kernel of a series that is built one after the other: instructions of an operation, the same in each boot.

use super::explain::{OfBoot, explained, guest_of_one};
use super::{NO_FLOOR, guest_and_plan, guest_request, operation_boot};
use crate::cli::GuestArgs;
use crate::command::journal::{Journal, KeptFigure};
use crate::command::lab::gate;
use crate::command::run;
use crate::error::Error;
use crate::progress::Steps;
use std::path::PathBuf;
use tickmark_analysis::explain::{Change, Interrupt, difference};
use tickmark_drive::Control;
use tickmark_drive::Error as Drive;
use tickmark_drive::lab::{Bench, Measured, build_one};
use tickmark_drive::target::AgentKind;
use tickmark_lab::{Configuration, Series};
use tickmark_store::Store;
use tickmark_wire::names;

/// Says that another has the cache's lock.
pub(super) fn waits() {
    crate::notice!("waiting: another tickmark is building kernels");
}

/// An operation in a sentence: what is counted of a loop that does nothing is the tick.
pub(super) fn in_words(metric: &str) -> &str {
    if metric == names::SPIN { "a tick" } else { metric }
}

/// The heading of its functions: those of the tick are of all its kinds.
pub(super) fn changes_title(metric: &str, what: &str) -> String {
    let place = if metric == names::SPIN { "a tick, on average over all" } else { "the kernel" };
    format!("{what} changed in {place}")
}

/// The functions of an answer that stands without them: none, with the error to end with, where the work was interrupted.
pub(super) fn changes_or_interruption(
    control: &Control,
    changes: Result<Vec<Change>, Error>,
) -> Result<(Vec<Change>, Option<Error>), Error> {
    match changes {
        Err(why) if control.stopped() => Ok((Vec::new(), Some(why))),
        changes => Ok((changes?, None)),
    }
}

/// What is built and booted.
pub(super) struct Exact<'a> {
    pub(super) bench: Bench,
    pub(super) control: Control,
    pub(super) store: &'a Store,
    pub(super) builds: Series,
    pub(super) probe: &'a str,
    pub(super) metric: &'a str,
    pub(super) guest: &'a GuestArgs,
}

/// A kernel of a series.
#[derive(Clone, Copy)]
pub(super) struct Candidate<'a> {
    /// What tells it from the others, in files and in the journal.
    pub(super) name: &'a str,
    pub(super) configuration: Configuration<'a>,
    /// Makes the source ready: where it is.
    pub(super) tree: &'a dyn Fn() -> Result<PathBuf, Error>,
}

impl Exact<'_> {
    /// Refuses a guest that no kernel of the series could be booted in, before the first of them is built.
    ///
    /// # Errors
    /// There is no such agent for its processor, or it lacks the probe; there is no QEMU, or for the tick none that takes plugins.
    pub(super) fn check(&mut self, kernel: &str) -> Result<(), Error> {
        let boot = operation_boot(kernel, self.metric, self.guest);
        let (agent, _) = self.bench.check(&guest_request(&boot))?;
        if self.metric == names::SPIN {
            self.bench.check_plugin(&guest_request(&boot))?;
        }
        if agent == AgentKind::C && !tickmark_lab::small_agent_has(self.metric) {
            return Err(Error::Usage(format!("agent c has no probe {}", self.metric)));
        }
        Ok(())
    }

    /// What was measured of this work, which `key` tells from others beside the operation, the guest and the tools.
    pub(super) fn journal(&self, key: &str) -> Result<Journal, Error> {
        let (builds, guest) = (self.builds.key(), self.guest);
        // Another version of the agent measures in another way.
        let metric = in_words(self.metric);
        let key = format!("lab {key} {metric} {builds} {guest:?} {}", env!("CARGO_PKG_VERSION"));
        Journal::open(self.store, &key)
    }

    /// Says how many figures are of an earlier run.
    pub(super) fn taken_up(journal: &Journal, count: usize, steps: &mut Steps) {
        if count > 0 {
            let are = if count == 1 { "is" } else { "are" };
            let count = tickmark_render::count(count as u32, "measurement");
            let path = journal.path.display();
            steps.warn(&format!("{count} from before {are} taken up; to measure anew, delete {path}"));
        }
    }

    /// What is known of a kernel from before.
    pub(super) fn earlier(journal: &Journal, name: &str) -> Measured {
        let kept = journal.earlier.iter().rfind(|kept| kept.commit == name && kept.value.is_finite());
        kept.map_or(Measured::Open, |kept| Measured::Value(kept.value))
    }

    /// Measures a kernel and keeps the figure; or why it has none.
    ///
    /// # Errors
    /// What the system, the store or git refuses of any of them; the work was interrupted.
    pub(super) fn measure(
        &mut self,
        candidate: Candidate<'_>,
        recording: &str,
        journal: &mut Journal,
    ) -> Result<Measured, Error> {
        let measured = self.figure(candidate, recording);
        if self.control.stopped() {
            return Err(self.interrupted());
        }
        Ok(match measured? {
            Ok(value) => {
                journal.add(&KeptFigure { commit: candidate.name.to_owned(), value })?;
                Measured::Value(value)
            }
            Err(why) => Measured::Failed(why),
        })
    }

    /// Says how to go on where the work was interrupted, else what went wrong.
    pub(super) fn or_interrupted(&self, why: Error) -> Error {
        if self.control.stopped() { self.interrupted() } else { why }
    }

    pub(super) fn interrupted(&self) -> Error {
        let place = self.builds.folder().display();
        Error::Refused(format!(
            "interrupted: what was built is kept in {place}, what was measured in the store; the same command goes on"
        ))
    }

    fn image(&self, candidate: Candidate<'_>) -> Result<Result<String, String>, Error> {
        let Candidate { name, configuration, tree, .. } = candidate;
        let image = build_one(&self.builds, name, configuration, &tree()?, &self.control)?;
        Ok(image.map(|image| image.to_string_lossy().into_owned()))
    }

    fn figure(&mut self, candidate: Candidate<'_>, recording: &str) -> Result<Result<f64, String>, Error> {
        let image = match self.image(candidate)? {
            Ok(image) => image,
            Err(why) => return Ok(Err(why)),
        };
        match self.boot(&image, candidate.name, recording) {
            // What the store, a file or the machine refuses, it refuses of any kernel.
            Err(
                why @ (Error::Store { .. }
                | Error::File { .. }
                | Error::Path { .. }
                | Error::Drive(Drive::Lab(_))),
            ) => Err(why),
            booted => Ok(booted.map_err(|why| why.to_string())),
        }
    }

    fn boot(&mut self, image: &str, name: &str, title: &str) -> Result<f64, Error> {
        let boot = operation_boot(image, self.metric, self.guest);
        // The floor of a loop has no tick.
        if self.metric == names::SPIN {
            let guest = guest_of_one(&mut self.bench, boot)?;
            let of_boot = OfBoot { name: title, kernel: name, metric: self.metric };
            let (_, explanation) = explained(self.store, &self.bench, of_boot, guest, None)?;
            let tick = explanation.tick().map(Interrupt::median);
            return tick.ok_or_else(|| Error::Refused("no tick came".to_owned()));
        }
        let (guest, plan) = guest_and_plan(&mut self.bench, &boot)?;
        let recording = run::guest_recording(self.store, &self.control, &guest, &plan, title, name)?;
        let paths = gate::instructions(&recording)?;
        paths.get(self.metric).copied().ok_or_else(|| Error::Refused(format!("{}: {NO_FLOOR}", self.metric)))
    }

    /// What the functions of the operation have more in the second one of two kernels; nothing, with a warning, where that is not to be known.
    ///
    /// # Errors
    /// The work was interrupted.
    pub(super) fn changes(&mut self, both: [Candidate<'_>; 2]) -> Result<Vec<Change>, Error> {
        match self.functions(both) {
            Err(_) if self.control.stopped() => Err(self.interrupted()),
            Err(why) => {
                crate::notice!("tickmark: warning: its functions are not told: {why}");
                Ok(Vec::new())
            }
            changes => changes,
        }
    }

    fn functions(&mut self, both: [Candidate<'_>; 2]) -> Result<Vec<Change>, Error> {
        let mut functions = Vec::new();
        for candidate in both {
            let image = self.image(candidate)?.map_err(Error::Refused)?;
            let boot = operation_boot(&image, self.probe, self.guest);
            let guest = guest_of_one(&mut self.bench, boot)?;
            let (_, explanation) =
                explained(self.store, &self.bench, OfBoot::new(&image, self.metric), guest, None)?;
            functions.push(explanation.counted_functions().to_vec());
        }
        Ok(difference(&functions[0], &functions[1]))
    }
}
