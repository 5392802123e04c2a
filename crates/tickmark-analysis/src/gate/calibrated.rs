//! How often a gate claims what is not there, and finds what is: by recordings in which nothing was changed, and slowdowns that are planted in them.

use super::{Figures, LEVEL, Line, Name, check, worse_side};
use tickmark_stats::Interval;
use tickmark_stats::gate::{Side, share_interval, would_claim};
use tickmark_wire::Better;

/// Slowdowns that are planted, in one figure at a time.
pub const PLANTED: [f64; 3] = [0.01, 0.02, 0.05];
/// That a rate is no higher than the upper end of its interval, and no lower than the lower one, each.
pub const CONFIDENCE: f64 = 0.95;

/// A figure, and in how many trials each of [`PLANTED`] was found in it.
#[derive(Debug, Clone, PartialEq)]
pub struct DetectionCounts {
    /// Which.
    pub name: Name,
    /// Of each slowdown.
    pub counts: [usize; PLANTED.len()],
}

/// Error rates of a gate on this machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibrated {
    /// Number of trials, each of as many recordings as are judged together.
    pub trials: usize,
    /// Number of earlier recordings by which each trial was judged.
    pub earlier: usize,
    /// In how many of them a change that fails was claimed where nothing had been changed.
    pub alarms: usize,
    /// Detections of a slowdown that was planted in one figure.
    pub found: Vec<DetectionCounts>,
}

impl Calibrated {
    /// Recordings in the order in which they were made, `together` at a time, against the earlier ones: the figures of these lines as they are, and each made worse by itself. None where no
    /// trial has all of them, or too few earlier ones can tell anything. `fails` says which claim is an alarm.
    #[must_use]
    pub fn from_recordings(
        earlier: &[Figures],
        trials: &[Figures],
        together: usize,
        lines: &[Line],
        fails: &dyn Fn(&Line) -> bool,
    ) -> Option<Self> {
        let names: Vec<Name> = lines.iter().map(|line| (line.metric.clone(), line.figure.clone())).collect();
        let whole = |figures: &&Figures| names.iter().all(|name| figures.contains_key(name));
        let only = |figures: &Figures| -> Figures {
            names.iter().map(|name| (name.clone(), figures[name])).collect()
        };
        let earlier: Vec<Figures> = earlier.iter().filter(whole).map(only).collect();
        let usable: Vec<Figures> = trials.iter().filter(whole).map(only).collect();
        // Lines are in the order of their names, as rows are.
        let more =
            |line: &Line, by: f64| if line.better == Better::Higher { -by.ln_1p() } else { by.ln_1p() };
        let worse = |by: f64| -> Vec<f64> { lines.iter().map(|line| more(line, by)).collect() };
        let planted = PLANTED.map(worse);
        let sides: Vec<Side> = lines.iter().map(|line| worse_side(line.better)).collect();
        let rows = |side: &[Figures]| -> Vec<Vec<f64>> {
            side.iter().map(|figures| figures.values().map(|figure| figure.value.ln()).collect()).collect()
        };
        let before = rows(&earlier);
        let mut all = Self {
            trials: 0,
            earlier: earlier.len(),
            alarms: 0,
            found: names
                .iter()
                .map(|name| DetectionCounts { name: name.clone(), counts: [0; PLANTED.len()] })
                .collect(),
        };
        for trial in usable.chunks_exact(together.max(1)) {
            let checked = check(&earlier, trial, None);
            if !checked.can_tell() || !checked.by_labels() {
                return None;
            }
            all.trials += 1;
            all.alarms += usize::from(checked.lines.iter().any(|line| fails(line) && !line.contended));
            let after = rows(trial);
            for (at, more) in planted.iter().enumerate() {
                let claims = would_claim(&before, &after, more, &sides, LEVEL)?;
                for (found, claimed) in all.found.iter_mut().zip(claims) {
                    found.counts[at] += usize::from(claimed);
                }
            }
        }
        (all.trials > 0).then_some(all)
    }

    /// A count of the trials as a rate, with its interval.
    #[must_use]
    pub fn rate(&self, summary: usize) -> (f64, Interval) {
        let both = 2.0 * CONFIDENCE - 1.0;
        (summary as f64 / self.trials.max(1) as f64, share_interval(summary, self.trials, both))
    }

    /// True if it is certain that false alarms are no more often than this.
    #[must_use]
    pub fn is_quiet(&self, most: f64) -> bool {
        self.rate(self.alarms).1.high <= most
    }

    /// The figures in which it is not certain that a slowdown, one of [`PLANTED`], is found so often.
    #[must_use]
    pub fn blind(&self, slowdown: f64, often: f64) -> Vec<&DetectionCounts> {
        let at = PLANTED.iter().position(|planted| (planted - slowdown).abs() < 1e-9);
        let sees = |found: &&DetectionCounts| at.is_some_and(|at| self.rate(found.counts[at]).1.low >= often);
        self.found.iter().filter(|found| !sees(found)).collect()
    }

    /// True if a slowdown was found so often in the figure in which it was found most rarely.
    #[must_use]
    pub fn found_often(&self, slowdown: f64, often: f64) -> bool {
        let at = PLANTED.iter().position(|planted| (planted - slowdown).abs() < 1e-9);
        at.and_then(|at| Some(self.rate(self.rarest()[at]?.counts[at]).0 >= often)).unwrap_or(false)
    }

    /// For each slowdown the figure in which it is found most rarely.
    #[must_use]
    pub fn rarest(&self) -> [Option<&DetectionCounts>; PLANTED.len()] {
        std::array::from_fn(|at| self.found.iter().min_by_key(|found| found.counts[at]))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{figure, many};
    use super::*;

    #[test]
    fn a_calibration_counts_alarms_and_what_it_finds_of_each_figure() {
        let (earlier, trials) = (many(24, 0), many(20, 4));
        let lines = check(&earlier, &trials[..1], None).lines;
        let calibrated = Calibrated::from_recordings(&earlier, &trials, 1, &lines, &Line::changed).unwrap();
        assert_eq!((calibrated.trials, calibrated.earlier, calibrated.alarms), (20, 24, 0));
        // Values lie within 1 %, so that 5 % is far outside and 1 % may not be.
        assert!(calibrated.found.iter().all(|found| found.counts[2] == 20), "{calibrated:?}");
        assert!(calibrated.found.iter().all(|found| found.counts[0] < 20), "{calibrated:?}");
        let (rate, interval) = calibrated.rate(calibrated.alarms);
        assert!(rate == 0.0 && interval.high > 0.1 && interval.high < 0.16, "{interval:?}");
        assert!(calibrated.blind(0.05, 0.8).is_empty() && calibrated.blind(0.01, 0.8).len() == 2);
        assert!(calibrated.is_quiet(0.15) && !calibrated.is_quiet(0.1));
        let pairs = Calibrated::from_recordings(&earlier, &trials, 2, &lines, &Line::changed).unwrap();
        assert_eq!(pairs.trials, 10);
        assert!(Calibrated::from_recordings(&earlier[..5], &trials, 1, &lines, &Line::changed).is_none());
    }

    #[test]
    fn a_noisy_figure_is_no_part_of_what_the_gate_sees() {
        let noisy = |mut all: Vec<Figures>| {
            for (number, figures) in all.iter_mut().enumerate() {
                let value = 100.0 * (1.0 + 0.1 * ((number * 5 % 13) as f64));
                figures.insert(("noisy".to_owned(), "floor".to_owned()), figure(value, Better::Lower));
            }
            all
        };
        let (earlier, trials) = (noisy(many(30, 0)), noisy(many(40, 4)));
        let lines = check(&earlier, &trials[..1], None).lines;
        let calibrated = Calibrated::from_recordings(&earlier, &trials, 1, &lines, &Line::changed).unwrap();
        let blind = calibrated.blind(0.05, 0.8);
        assert!(blind.len() == 1 && blind[0].name.0 == "noisy", "{calibrated:?}");
        assert_eq!(calibrated.rarest()[2].map(|found| found.name.0.as_str()), Some("noisy"));
    }
}
