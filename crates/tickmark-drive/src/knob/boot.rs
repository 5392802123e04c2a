//! Machines to boot, one for each setting: nothing on this machine is changed.

use super::{Knob, SettingTarget};
use crate::Error;
use crate::journal::Undo;
use crate::lab::BootTarget;
use tickmark_wire::{Hello, Settings};

/// Where each setting is booted, in their order; never empty.
#[derive(Debug)]
pub struct Boot(Vec<BootTarget>);

impl Boot {
    /// The places of the settings.
    ///
    /// # Errors
    /// There are none.
    pub fn new(places: Vec<BootTarget>) -> Result<Self, Error> {
        if places.is_empty() { Err(Error::Usage("no setting to boot".to_owned())) } else { Ok(Self(places)) }
    }
}

impl Knob for Boot {
    fn check(&self, _: &str) -> Result<(), Error> {
        Ok(())
    }

    fn targets(&self) -> Vec<String> {
        Vec::new()
    }

    fn undo(&self) -> Result<Vec<Undo>, Error> {
        Ok(Vec::new())
    }

    fn undo_setting(&self, _: usize) -> Option<Undo> {
        None
    }

    fn set(&self, _: usize, _: &str) -> Result<(), Error> {
        Ok(())
    }

    fn leave(&self, _: usize, _: &str) -> Result<(), Error> {
        Ok(())
    }

    fn current_setting(&self, _: Option<&Hello>) -> Result<Option<String>, Error> {
        // Which kernel was booted is looked at in what the agent says of it.
        Ok(None)
    }

    fn is(&self, current: &str, setting: &str) -> bool {
        current == setting
    }

    fn settings(&self, _: &str, settings: &Settings) -> Settings {
        settings.clone()
    }

    fn place(&self, number: usize) -> SettingTarget<'_> {
        SettingTarget::Booted(&self.0[number.min(self.0.len() - 1)])
    }

    fn is_read_back(&self) -> bool {
        true
    }
}
