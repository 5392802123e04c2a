//! A file of the kernel that is written and read: /sys, /proc/sys.

use super::{HERE, Knob, SettingTarget};
use crate::Error;
use crate::journal::Undo;
use crate::setting_file::{bytes, of_kernel, read, write};
use std::path::{Path, PathBuf};
use tickmark_wire::{Hello, Settings};

const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Such a file.
#[derive(Debug)]
pub(super) struct Kernel {
    path: PathBuf,
    /// The file that names the values that it takes, where one does.
    choices: Option<PathBuf>,
}

impl Kernel {
    pub(super) fn at(path: &Path) -> Result<Self, Error> {
        let path = of_kernel(path)?;
        let choices = path.with_file_name("available_clocksource");
        let is_source = path.file_name().is_some_and(|name| name == "current_clocksource");
        Ok(Self { path, choices: Some(choices).filter(|choices| is_source && choices.is_file()) })
    }

    /// The values that it takes; none where no file names them.
    pub(super) fn choices(&self) -> Result<Vec<String>, Error> {
        let Some(choices) = &self.choices else { return Ok(Vec::new()) };
        let text = std::fs::read_to_string(choices).map_err(Error::file("read", choices))?;
        Ok(text.split_whitespace().map(str::to_owned).collect())
    }

    pub(super) fn clock_source() -> Result<Self, Error> {
        Self::at(CLOCK_SOURCE.as_ref())
    }
}

impl Knob for Kernel {
    fn check(&self, setting: &str) -> Result<(), Error> {
        let choices = self.choices()?;
        match choices.is_empty() || choices.iter().any(|source| source == setting) {
            true => Ok(()),
            false => Err(Error::Usage(format!(
                "this machine has no clock source {setting}; it has {}",
                choices.join(", ")
            ))),
        }
    }

    fn targets(&self) -> Vec<String> {
        vec![self.path.display().to_string()]
    }

    fn undo(&self) -> Result<Vec<Undo>, Error> {
        Ok(vec![Undo::Write { path: self.path.clone(), value: bytes(&self.path)?.into() }])
    }

    fn undo_setting(&self, _: usize) -> Option<Undo> {
        None
    }

    fn set(&self, _: usize, setting: &str) -> Result<(), Error> {
        write(&self.path, setting.as_bytes())
    }

    fn leave(&self, _: usize, _: &str) -> Result<(), Error> {
        Ok(())
    }

    fn current_setting(&self, _: Option<&Hello>) -> Result<Option<String>, Error> {
        read(&self.path).map(Some)
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
        true
    }
}
