//! Judgements of the gate.

use super::{Page, finite};
use crate::gate::{self, Calibration, Limit, Limits};
use crate::json_object;
use tickmark_analysis::comparison::Difference;
use tickmark_analysis::gate::{CONFIDENCE, Calibrated, DetectionCounts, FEWEST, Lack, Line, PLANTED};
use tickmark_analysis::report::Unit;
use tickmark_stats::states::TwoStates;
use tickmark_wire::Better;

json_object! {
    /// New recordings against earlier ones.
    pub struct CheckPage(page: &gate::Page<'_>) {
        recording: String = page.id.clone(),
        name: String = page.name.clone(),
        /// For a person.
        verdict: String = page.verdict(),
        exit_code: u8 = page.code,
        earlier: usize = page.checked.counts[0],
        new: usize = page.checked.counts[1],
        /// Earlier recordings that a claim at 5 % takes.
        needed: usize = FEWEST,
        /// `permutations`, or `t` where there are few earlier recordings.
        judged_by: &'static str = if page.checked.by_labels() { "permutations" } else { "t" },
        /// How many earlier ones are left out, as a figure had another level then.
        of_an_older_level: usize = page.older.as_ref().map_or(0, |(count, _)| *count),
        /// True if the earlier ones were chosen.
        baseline: bool = page.is_baseline,
        figures: Vec<LinePage> = page.checked.lines.iter().map(|line| LinePage::new(line, (page.fails)(line) && !line.contended)).collect(),
        /// Figures that not all have.
        without: Vec<LackPage> = page.checked.without.iter().map(LackPage::new).collect(),
        /// How well the gate sees, where that was measured.
        calibration: Option<CalibrationPage> = page.calibration.as_ref().map(CalibrationPage::new),
        /// Facts of the machine that differ.
        environment: Vec<FactChange> = page.checked.differences.iter().map(FactChange::new).collect(),
    }

    /// Results of files, or a recording with nothing to be judged by.
    pub struct ChecksPage(results: Vec<CheckPage>, unjudged: &[(String, String)]) {
        results: Vec<CheckPage> = results,
        /// Those that have nothing to be judged by.
        unjudged: Vec<UnjudgedPage> = unjudged.iter().map(|(name, why)| UnjudgedPage::new(name, why)).collect(),
    }

    struct UnjudgedPage(name: &str, why: &str) {
        name: String = name.to_owned(),
        why: String = why.to_owned(),
    }

    struct LinePage(line: &Line, fails: bool) {
        metric: String = line.metric.clone(),
        figure: String = line.figure.clone(),
        unit: Unit = line.unit,
        better: Better = line.better,
        earlier: f64 = line.earlier,
        new: f64 = line.new,
        contended: bool = line.contended,
        /// True if some of its runs gave nothing.
        partly: bool = line.partly,
        ratio: Option<f64> = finite(line.judged.ratio),
        /// Distance from the earlier ones, in their standard deviations.
        deviations: Option<f64> = finite(line.judged.far),
        /// Earlier ones that are as far or farther.
        as_far: usize = line.beyond,
        p: f64 = line.p(),
        /// By `t`: the change for the worse that would be seen in four of five cases, a share.
        visible: Option<f64> = line.visible.and_then(finite),
        /// By `t`: true if earlier ones are all the same. One that moves to its worse side is not judged then.
        never_varied: bool = line.never_varied,
        p_worse: Option<f64> = line.has_direction().then_some(line.judged.p),
        /// The two levels between which the earlier ones alternate.
        states: Option<[StatePage; 2]> = line.states.map(StatePage::both),
        changed: bool = line.changed(),
        worse: bool = line.worse(),
        fails: bool = fails,
    }

    struct StatePage(centre: f64, count: usize) {
        centre: f64 = centre,
        count: usize = count,
    }

    struct LackPage(of: &Lack) {
        metric: String = of.name.0.clone(),
        figure: String = of.name.1.clone(),
        /// True if the new recordings lack it.
        by_new: bool = of.by_new,
    }

    struct FactChange(of: &Difference) {
        name: String = of.name.clone(),
        earlier: String = of.base.clone(),
        new: String = of.other.clone(),
    }

    struct CalibrationPage(of: &Calibration) {
        at: String = of.at.clone(),
        kernel: String = of.kernel.clone(),
        armed: bool = of.is_armed(),
        trials: usize = of.calibrated.trials,
        earlier: usize = of.calibrated.earlier,
        false_alarms: RatePage = RatePage::new(&of.calibrated, of.calibrated.alarms),
        confidence_of_each_end: f64 = CONFIDENCE,
        /// Recordings that judged together (--last) found what is required in these trials, and the minutes that they take.
        enough: Option<(usize, f64)> = of.enough,
        figures: Vec<DetectionPage> = of.calibrated.found.iter().map(|found| DetectionPage::new(&of.calibrated, found)).collect(),
        required: Required = Required::new(of),
    }

    struct Required(of: &Calibration) {
        false_alarm: f64 = of.false_alarm,
        slowdown: f64 = of.detect.0,
        detection: f64 = of.detect.1,
    }

    struct RatePage(of: &Calibrated, count: usize) {
        rate: f64 = of.rate(count).0,
        interval: [f64; 2] = super::ends(of.rate(count).1),
    }

    struct DetectionPage(of: &Calibrated, found: &DetectionCounts) {
        metric: String = found.name.0.clone(),
        figure: String = found.name.1.clone(),
        detection: Vec<PlantedPage> = PLANTED.iter().zip(found.counts).map(|(by, count)| PlantedPage::new(of, *by, count)).collect(),
    }

    struct PlantedPage(of: &Calibrated, slowdown: f64, count: usize) {
        slowdown: f64 = slowdown,
        found: RatePage = RatePage::new(of, count),
    }

    /// Figures against limits that were given.
    pub struct LimitsPage(page: &Limits<'_>) {
        recording: String = page.id.clone(),
        name: String = page.name.clone(),
        exit_code: u8 = page.code,
        limits: Vec<LimitPage> = page.limits.iter().map(LimitPage::new).collect(),
    }

    struct LimitPage(of: &Limit) {
        metric: String = of.row.metric.clone(),
        unit: Unit = of.row.unit,
        limit: f64 = of.limit,
        /// `most` or `least`.
        is: &'static str = if of.is_most { "most" } else { "least" },
        value: Option<f64> = of.row.value.map(|value| value.point),
        /// None where the interval reaches across, or there is no value.
        holds: Option<bool> = of.holds(),
    }
}

impl StatePage {
    fn both(states: TwoStates) -> [Self; 2] {
        [states.low, states.high].map(|state| Self::new(state.centre, state.count))
    }
}

impl Page for ChecksPage {
    const NAME: &'static str = "checks";
}

impl Page for CheckPage {
    const NAME: &'static str = "check";
}

impl Page for LimitsPage {
    const NAME: &'static str = "limits";
}
