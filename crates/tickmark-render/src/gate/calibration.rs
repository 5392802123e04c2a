//! How well a gate sees, in words and as JSON.

use crate::number::{count, percent};
use crate::suggest::command;
use tickmark_analysis::gate::{CONFIDENCE, Calibrated, DetectionCounts, Name, PLANTED};
use tickmark_stats::Interval;

/// Figures that a sentence names at most.
const NAMED: usize = 4;

/// A gate that was measured.
pub struct Calibration {
    /// When its last trial was made.
    pub at: String,
    /// The kernel then.
    pub kernel: String,
    /// Share of false alarms that is accepted.
    pub false_alarm: f64,
    /// Slowdown of a figure that must be found, and the share of trials in which it must.
    pub detect: (f64, f64),
    /// So many recordings judged together found it as often in these trials, and the minutes that they take; none where no number that was tried did.
    pub enough: Option<(usize, f64)>,
    /// The calibration of the gate.
    pub calibrated: Calibrated,
}

pub(super) fn named(name: &Name) -> String {
    format!("{} {}", name.0, name.1)
}

fn ends((rate, interval): (f64, Interval)) -> String {
    let exact = |share: f64| if share == 0.0 { "0 %".to_owned() } else { percent(share) };
    format!("{} ({} to {})", exact(rate), exact(interval.low), exact(interval.high))
}

impl Calibration {
    fn blind(&self) -> Vec<&DetectionCounts> {
        self.calibrated.blind(self.detect.0, self.detect.1)
    }

    /// True if it holds what is asked.
    #[must_use]
    pub fn is_armed(&self) -> bool {
        self.calibrated.is_quiet(self.false_alarm) && self.blind().is_empty()
    }

    /// Why it is not armed; nothing where it is.
    pub(super) fn unarmed_reason(&self) -> Option<String> {
        let (slowdown, often) = self.detect;
        if !self.calibrated.is_quiet(self.false_alarm) {
            return Some(format!(
                "false alarms may be more often than {}; more trials tell ({})",
                percent(self.false_alarm),
                command("check --calibrate")
            ));
        }
        let blind = self.blind();
        let names: Vec<String> = blind.iter().take(NAMED).map(|found| named(&found.name)).collect();
        let more = blind.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!blind.is_empty()).then(|| {
            format!(
                "a slowdown of {} may be found in fewer than {} of cases in {}{more}; leave them out with --only, or ask for less with --detect",
                percent(slowdown),
                percent(often),
                names.join(", ")
            )
        })
    }

    /// What the wanted power costs.
    fn price(&self) -> String {
        let wanted = format!("{} in {} of cases", percent(self.detect.0), percent(self.detect.1));
        match self.enough {
            Some((together, minutes)) => format!(
                "In these trials {} judged together (--last {together}; {} a check) found {wanted}.",
                count(together as u32, "recording"),
                crate::number::time(minutes * 60e9)
            ),
            None => format!("No number of recordings that was tried finds {wanted} in every figure."),
        }
    }

    /// In a paragraph.
    pub(super) fn words(&self) -> String {
        let observed = &self.calibrated;
        let rarest = observed.rarest();
        let found = |at: usize| {
            let found = rarest[at]?;
            Some(format!(
                "{} in {} of cases ({})",
                percent(PLANTED[at]),
                ends(observed.rate(found.counts[at])),
                named(&found.name)
            ))
        };
        let found: Vec<String> = (0..PLANTED.len()).filter_map(found).collect();
        format!(
            "Calibration: {}, the last of {} with Linux {}, judged by the same {} earlier recordings. False alarms: {}. Found, in the figure in which it is found most rarely, where that alone is slower: {}. Each end of an interval holds with {}. {} {}.",
            count(observed.trials as u32, "trial"),
            self.at,
            self.kernel,
            observed.earlier,
            ends(observed.rate(observed.alarms)),
            found.join(", "),
            percent(CONFIDENCE),
            self.price(),
            self.unarmed_reason().map_or_else(
                || "The gate is armed".to_owned(),
                |why| format!("The gate is not armed: {why}")
            ),
        )
    }
}
