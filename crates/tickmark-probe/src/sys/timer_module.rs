//! The kernel module tickmark_timer, where it is loaded: rows of timers through its device (kernel/tickmark_timer/HOWTO.md).

use super::CallError;
use crate::{ProbeError, Unavailable};
use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};

const DEVICE: &str = "/dev/tickmark_timer";
const CORRECTION: &str = "/sys/module/tickmark_timer/parameters/correction";
/// Its properties, a line each: `name: value`.
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
    /// Its statistics at the start; newer events come from its trace.
    counted: Counted,
    traced: Cell<Counted>,
}

/// How many timers fired, and how late the latest was, in the module's unit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counted {
    fired: u64,
    latest: Option<i64>,
}

impl Counted {
    /// From what the module says of itself.
    fn parse(statistics: &str) -> Option<Self> {
        let fired = value(statistics, "fired")?.parse().ok()?;
        let latest = value(statistics, "error_max")?.parse().ok().filter(|_| fired > 0);
        Some(Self { fired, latest })
    }

    fn and(self, error: i64) -> Self {
        Self { fired: self.fired + 1, latest: self.latest.max(Some(error)) }
    }

    /// True if the statistics after `traced` can be these: timers of others may have fired beside.
    fn became(self, now: Self, traced: Self) -> bool {
        let latest = self.latest.max(traced.latest);
        match now.fired.checked_sub(self.fired + traced.fired) {
            None => false,
            Some(0) => now.latest == latest,
            Some(_) => now.latest >= latest,
        }
    }
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
        let statistics = read(STATISTICS)?;
        let known = per_nano(&statistics).zip(Counted::parse(&statistics));
        let (per_nano, counted) =
            known.ok_or_else(|| Unavailable::Missing(format!("{STATISTICS} names no unit that is known")))?;
        let traced = Cell::default();
        let module = Self { device, correction: correction.to_owned(), before, per_nano, counted, traced };
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
        let failed = |error: std::io::Error| CallError::from_io(DEVICE, &error);
        // Each row begins as the document's did: what the last error is, the first timer cannot know.
        if self.correction == "last" {
            self.forget().map_err(failed)?;
        }
        (&self.device).write_all(due.line().as_bytes()).map_err(failed)?;
        let mut text = String::new();
        (&self.device).read_to_string(&mut text).map_err(failed)?;
        let all: Vec<(usize, i64)> = text.lines().filter_map(fired).collect();
        self.traced.set(all.iter().fold(self.traced.get(), |traced, (_, error)| traced.and(*error)));
        let known = |number: usize| all.iter().filter(|(known, _)| *known == number).count() == 1;
        let count = due.count();
        match all.len() == count && (1..=count).all(known) {
            true => {
                let nanos = |error: i64| (error as f64 / self.per_nano).round() as i64;
                Ok(all.into_iter().map(|(number, error)| (number, nanos(error))).collect())
            }
            false => Err(ProbeError::Other(format!("of {count} timers {DEVICE} gives {}", all.len()))),
        }
    }

    /// Whether the module's statistics are those of its trace: as many timers, the latest as late.
    ///
    /// # Errors
    /// They are not.
    pub fn agrees(&self) -> Result<(), ProbeError> {
        let text =
            std::fs::read_to_string(STATISTICS).map_err(|error| CallError::from_io(STATISTICS, &error))?;
        let (traced, now) = (self.traced.get(), Counted::parse(&text));
        match now {
            Some(now) if self.counted.became(now, traced) => Ok(()),
            _ => Err(ProbeError::Other(format!(
                "{STATISTICS} was {:?}, the trace has {traced:?}, and now it is {now:?}",
                self.counted
            ))),
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

/// The value behind a name in its statistics.
fn value<'a>(statistics: &'a str, name: &str) -> Option<&'a str> {
    statistics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ").map(str::trim))
}

/// Of the module's unit a nanosecond has so many.
fn per_nano(statistics: &str) -> Option<f64> {
    match value(statistics, "unit")? {
        "ns" => Some(1.0),
        "cycles" => Some(value(statistics, "tsc_khz")?.parse::<f64>().ok()? / 1e6),
        _ => None,
    }
}

/// A line of the trace: number, expected, called, error, of which the first and the last; in the module's unit.
fn fired(line: &str) -> Option<(usize, i64)> {
    let mut words = line.split(' ');
    let number = words.next()?.parse().ok().filter(|number| *number > 0)?;
    Some((number, words.nth(2)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_module_says_is_read_in_its_unit() {
        assert_eq!(per_nano("backend: hrtimer\nunit: ns\n"), Some(1.0));
        assert_eq!(per_nano("unit: cycles\ntsc_khz: 2500000\n"), Some(2.5));
        assert!(per_nano("unit: cycles\n").is_none() && per_nano("unit: jiffies\n").is_none());
        assert_eq!(fired("3 30000 29000 -1000"), Some((3, -1000)));
        assert!(fired("0 1 2 1").is_none() && fired("3 30000").is_none() && fired("").is_none());
    }

    #[test]
    fn its_statistics_are_held_against_its_trace() {
        let said =
            |fired, max| Counted::parse(&format!("unit: ns\nfired: {fired}\nerror_max: {max}\n")).unwrap();
        let before = said(3, 500);
        assert_eq!(said(0, 0), Counted::default(), "the latest of none is no time");
        let traced = Counted::default().and(-20).and(700);
        assert_eq!(traced, Counted { fired: 2, latest: Some(700) });
        assert!(before.became(said(5, 700), traced) && said(0, 0).became(said(2, 700), traced));
        assert!(!before.became(said(5, 701), traced) && !before.became(said(5, 500), traced));
        assert!(!before.became(said(4, 700), traced), "one is missing");
        // Another's timer fired beside them.
        assert!(before.became(said(6, 900), traced) && !before.became(said(6, 600), traced));
        assert!(before.became(said(4, 500), Counted::default().and(100)), "earlier ones were later");
    }
}
