//! Commands of the user that make a setting and take it back.

use super::{HERE, Knob, SettingTarget};
use crate::Error;
use crate::journal::Undo;
use crate::shell;
use tickmark_wire::{Hello, Settings};

/// One of each for each setting, in their order; empty where there is nothing to do.
#[derive(Debug, Clone, Default)]
pub struct Commands {
    /// Makes it.
    pub set: Vec<String>,
    /// Takes it back.
    pub reset: Vec<String>,
    /// Prints the setting in force.
    pub get: Option<String>,
}

impl Knob for Commands {
    fn check(&self, _: &str) -> Result<(), Error> {
        Ok(())
    }

    fn targets(&self) -> Vec<String> {
        self.set.iter().filter(|set| !set.is_empty()).cloned().collect()
    }

    fn undo(&self) -> Result<Vec<Undo>, Error> {
        // A setting is undone by its own reset, which the journal holds while it is in force.
        Ok(Vec::new())
    }

    fn undo_setting(&self, number: usize) -> Option<Undo> {
        let reset = self.reset.get(number).filter(|reset| !reset.is_empty())?;
        Some(Undo::Run { command: reset.clone() })
    }

    fn set(&self, number: usize, setting: &str) -> Result<(), Error> {
        run("set", setting, self.set.get(number))
    }

    fn leave(&self, number: usize, setting: &str) -> Result<(), Error> {
        run("reset", setting, self.reset.get(number))
    }

    fn current_setting(&self, _: Option<&Hello>) -> Result<Option<String>, Error> {
        let read = |command: &String| shell::setting(command).map(|text| text.trim().to_owned());
        self.get.as_ref().map(read).transpose()
    }

    fn is(&self, current: &str, setting: &str) -> bool {
        current == setting
    }

    fn settings(&self, _: &str, settings: &Settings) -> Settings {
        settings.clone()
    }

    fn place(&self, _: usize) -> SettingTarget<'_> {
        HERE
    }

    fn is_read_back(&self) -> bool {
        false
    }
}

fn run(what: &str, setting: &str, command: Option<&String>) -> Result<(), Error> {
    let Some(command) = command.filter(|command| !command.is_empty()) else { return Ok(()) };
    shell::setting(command)
        .map(drop)
        .map_err(|error| Error::Refused(format!("the {what} command of {setting} failed: {error}")))
}
