//! Finding probes by their names.

use crate::{Case, Probe};
use tickmark_wire::Arguments;

/// Probes by the file that has them, in the order of the summary.
#[derive(Debug)]
pub struct Registry(pub &'static [&'static [&'static [Probe]]]);

impl Registry {
    /// Every probe.
    pub fn all(&self) -> impl Iterator<Item = &'static Probe> + use<> {
        self.0.iter().flat_map(|files| files.iter()).flat_map(|probes| probes.iter())
    }

    /// Everything that suites run.
    pub fn cases(&self) -> impl Iterator<Item = Case> + use<> {
        self.all().flat_map(Probe::cases)
    }

    /// The case that a run measures. Plans of formats before 1.5 have the metric's name in place of a probe with arguments.
    ///
    /// # Errors
    /// There is no such probe, or it does not take these arguments.
    pub fn case(&self, probe: &str, arguments: &Arguments) -> Result<Case, String> {
        let none = || format!("this agent has no probe {probe}");
        match self.find(probe) {
            Some(probe) => probe.case(arguments),
            None if arguments.is_empty() => self.cases().find(|case| case.name() == probe).ok_or_else(none),
            None => Err(none()),
        }
    }

    /// The probe of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&'static Probe> {
        self.all().find(|probe| probe.spec.name == name)
    }
}

/// The probes of this crate alone, for its tests.
#[cfg(test)]
pub(crate) static PROBES: Registry = Registry(&[crate::FILES]);
