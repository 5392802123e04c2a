//! The kernel module tickmark_timer, where it is loaded: rows of timers through its device (kernel/tickmark_timer/HOWTO.md).

use super::CallError;
use crate::{ProbeError, Unavailable};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};

const DEVICE: &str = "/dev/tickmark_timer";
const CORRECTION: &str = "/sys/module/tickmark_timer/parameters/correction";
/// What it says of itself, a line each: `name: value`.
pub const STATISTICS: &str = "/proc/tickmark_timer";

/// When the timers of a row are due, from its beginning.
pub enum Due {
    /// Cycles of the TSC.
    Cycles(Vec<u64>),
    /// Nanoseconds.
    Nanos(Vec<u64>),
}

impl Due {
    /// How many they are.
    #[must_use]
    pub fn count(&self) -> usize {
        let (Self::Cycles(due) | Self::Nanos(due)) = self;
        due.len()
    }

    /// As the device takes it.
    fn line(&self) -> String {
        let (unit, due) = match self {
            Self::Cycles(due) => ("cycles", due),
            Self::Nanos(due) => ("ns", due),
        };
        due.iter().fold(unit.to_owned(), |line, due| format!("{line} {due}"))
    }
}

/// The module with a correction; put back when this is dropped.
pub struct Module {
    device: File,
    correction: String,
    before: String,
    /// Of its unit a nanosecond has so many: cycles, or ns.
    per_nano: f64,
}

impl Module {
    /// Opens its device, which one at a time may have, and sets what it learns by: none, last or quantile.
    ///
    /// # Errors
    /// It is not loaded, not ours, or taken.
    pub fn opened(correction: &str) -> Result<Self, Unavailable> {
        let opened = OpenOptions::new().read(true).write(true).open(DEVICE);
        let device = opened.map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Unavailable::Missing(
                "the kernel module tickmark_timer is not loaded (kernel/tickmark_timer/HOWTO.md says how)"
                    .to_owned(),
            ),
            _ => denied(DEVICE, &error),
        })?;
        let read = |place: &str| std::fs::read_to_string(place).map_err(|error| denied(place, &error));
        let before = read(CORRECTION)?.trim().to_owned();
        let per_nano = per_nano(&read(STATISTICS)?)
            .ok_or_else(|| Unavailable::Missing(format!("{STATISTICS} names no unit that is known")))?;
        let module = Self { device, correction: correction.to_owned(), before, per_nano };
        module.forget().map_err(|error| denied(CORRECTION, &error))?;
        Ok(module)
    }

    /// Sets the correction anew: what it learned is forgotten.
    fn forget(&self) -> std::io::Result<()> {
        std::fs::write(CORRECTION, &self.correction)
    }

    /// Lets a row of timers fire: the number of each, from 1, and how late it was in ns, in the order in which they fired.
    ///
    /// # Errors
    /// Those of its device.
    pub fn row(&self, due: &Due) -> Result<Vec<(usize, i64)>, ProbeError> {
        let failed = |error: std::io::Error| CallError::of(DEVICE, &error);
        // Each row begins as the document's did: what the last error is, the first timer cannot know.
        if self.correction == "last" {
            self.forget().map_err(failed)?;
        }
        (&self.device).write_all(due.line().as_bytes()).map_err(failed)?;
        let mut text = String::new();
        (&self.device).read_to_string(&mut text).map_err(failed)?;
        let all: Vec<(usize, i64)> = text.lines().filter_map(|line| fired(line, self.per_nano)).collect();
        let known = |number: usize| all.iter().filter(|(known, _)| *known == number).count() == 1;
        let count = due.count();
        match all.len() == count && (1..=count).all(known) {
            true => Ok(all),
            false => Err(ProbeError::Other(format!("of {count} timers {DEVICE} gives {}", all.len()))),
        }
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // Nothing is left to be done where it is not taken.
        let _ = std::fs::write(CORRECTION, &self.before);
    }
}

fn denied(place: &str, error: &std::io::Error) -> Unavailable {
    Unavailable::Missing(format!("{place}: {error}"))
}

/// Of the module's unit a nanosecond has so many.
fn per_nano(statistics: &str) -> Option<f64> {
    let value = |name: &str| {
        statistics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ").map(str::trim))
    };
    match value("unit")? {
        "ns" => Some(1.0),
        "cycles" => Some(value("tsc_khz")?.parse::<f64>().ok()? / 1e6),
        _ => None,
    }
}

/// A line of the trace: number, expected, called, error.
fn fired(line: &str, per_nano: f64) -> Option<(usize, i64)> {
    let mut words = line.split(' ');
    let number = words.next()?.parse().ok().filter(|number| *number > 0)?;
    let error: f64 = words.nth(2)?.parse().ok()?;
    Some((number, (error / per_nano).round() as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_module_says_is_read_in_its_unit() {
        assert_eq!(per_nano("backend: hrtimer\nunit: ns\n"), Some(1.0));
        assert_eq!(per_nano("unit: cycles\ntsc_khz: 2500000\n"), Some(2.5));
        assert!(per_nano("unit: cycles\n").is_none() && per_nano("unit: jiffies\n").is_none());
        assert_eq!(fired("3 30000 29000 -1000", 2.5), Some((3, -400)));
        assert!(
            fired("0 1 2 1", 1.0).is_none() && fired("3 30000", 1.0).is_none() && fired("", 1.0).is_none()
        );
    }
}
