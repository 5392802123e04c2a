//! Recordings compared: numbers as they are, and the words beside them.

use super::{Balance, Page, ends};
use crate::comparison::words::{self, Printed};
use crate::json_object;
use tickmark_analysis::comparison::{
    Against, Difference, Doses, GroupLine, Line, Marked, Model, NoClaimReason, Occasions, Party, TrendLine,
    Word,
};
use tickmark_analysis::report::Unit;
use tickmark_stats::permutation::Labels;
use tickmark_stats::states::{ComparedStates, compare_states};
use tickmark_stats::verdict::{Comparison, Correction, Order, Test, Verdict};
use tickmark_wire::Better;

json_object! {
    /// A baseline and its candidates, figure by figure.
    pub struct ComparisonPage(model: &Model, break_even: Option<Balance>) {
        baseline: PartyPage = PartyPage::new(&model.base),
        /// Changes below this share do not matter.
        margin: f64 = model.margin,
        /// Over ordered settings, such as doses.
        trend: Option<TrendPage> = model.doses.as_ref().map(TrendPage::new),
        /// Claims that share the 5 %.
        claims_corrected: usize = model.claims,
        /// `family_wise` or `discovery`.
        correction: &'static str = match model.correction {
            Correction::FamilyWise => "family_wise",
            Correction::Discovery => "discovery",
        },
        /// What HZ is to the command that was measured.
        #[serde(skip_serializing_if = "Option::is_none")]
        break_even: Option<Balance> = break_even,
        candidates: Vec<AgainstPage> = model.against.iter().map(|one| AgainstPage::new(one, model.margin)).collect(),
    }

    struct PartyPage(party: &Party) {
        label: String = words::label(party),
        ids: Vec<String> = party.ids.iter().map(ToString::to_string).collect(),
        runs: usize = party.runs,
        /// The program that measured.
        tool: String = party.tool.clone(),
        created: String = words::created(party),
    }

    struct AgainstPage(against: &Against, margin: f64) {
        candidate: PartyPage = PartyPage::new(&against.party),
        /// What counts as one replicate.
        unit: String = against.basis.name().to_owned(),
        notes: Vec<String> = words::notes(against),
        /// Facts of the machines that differ.
        environment: Vec<DifferencePage> = against.differences.iter().map(DifferencePage::new).collect(),
        summary: Vec<VerdictCount> = against.counts().into_iter().map(|(word, count)| VerdictCount::new(word, count)).collect(),
        groups: Vec<GroupPage> = against.groups.iter().map(GroupPage::new).collect(),
        rows: Vec<LinePage> = against.lines.iter().map(|one| LinePage::new(one, against, margin)).collect(),
        /// Metrics that the baseline, then the candidate, has alone.
        without_a_pair: [Vec<String>; 2] = against.without.clone(),
        /// The command that would decide what is undecided.
        would_decide: Option<String> = against.experiment.as_ref().map(words::command),
    }

    struct DifferencePage(of: &Difference) {
        name: String = of.name.clone(),
        baseline: String = of.base.clone(),
        candidate: String = of.other.clone(),
    }

    struct VerdictCount(verdict: Word, figures: usize) {
        verdict: Word = verdict,
        figures: usize = figures,
    }

    /// A figure of both sides. Ratios are candidate by baseline.
    struct LinePage(line: &Line, against: &Against, margin: f64) {
        metric: String = line.metric.clone(),
        /// `value`, `floor`, `mean`, `p99`.
        figure: &'static str = line.figure,
        unit: Unit = line.unit,
        better: Better = line.better,
        /// Bytes that each side worked on, where it matters.
        over: [u64; 2] = line.over,
        mean: [f64; 2] = line.means,
        replicates: [usize; 2] = line.replicates,
        ratio: Option<f64> = line.ratio,
        /// The ratio that differing CPU speeds leave.
        pace_ratio: Option<f64> = line.by_pace,
        change: Option<f64> = line.ratio.map(|ratio| ratio - 1.0),
        /// Over the phases of the tick, of counted instructions.
        range_over_phases: Option<[f64; 2]> = line.exact.map(|exact| [1.0 + exact.least, 1.0 + exact.most]),
        /// Runs with a figure on each side.
        runs: [usize; 2] = line.made.map(|[with, _]| with),
        runs_made: [usize; 2] = line.made.map(|[_, made]| made),
        /// Not below 0 where the ratio is above it.
        ratio_interval: Option<[f64; 2]> = line.claim.and_then(words::interval_of).map(ends),
        ratio_of_means: Option<f64> = line.claim.and_then(|c| c.ratio),
        ratio_of_means_interval: Option<[f64; 2]> = line.claim.and_then(|c| c.interval).map(ends),
        ratio_of_middles: Option<f64> = line.claim.and_then(|c| c.middle).map(|(ratio, _)| ratio),
        ratio_of_middles_interval: Option<[f64; 2]> = line.claim.and_then(|c| c.middle).map(|(_, interval)| ends(interval)),
        /// `sign_flips`, `permutations`, `t`, `t_by_earlier_replicates`.
        judged_by: Option<&'static str> = line.claim.and_then(|c| c.test).map(test),
        p: Option<f64> = line.claim.and_then(|c| c.p),
        p_corrected: Option<f64> = line.claim.and_then(|c| c.adjusted).filter(|_| line.why != Some(NoClaimReason::Secondary)),
        verdict: Word = line.word,
        worse: bool = line.worse(),
        /// Replicates a side that would decide.
        needed: Option<usize> = line.claim.and_then(|c| match c.verdict {
            Verdict::Undecided { needed } => needed,
            _ => None,
        }),
        /// Why nothing is claimed.
        why: Option<&'static str> = line.why.map(NoClaimReason::code),
        marks: Vec<SidedMark> = line.marks.iter().map(SidedMark::new).collect(),
        by_runs_alone: Option<AlonePage> = line.alone.map(AlonePage::new),
        earlier_replicates: Option<Earlier> = line.history.map(Earlier::new),
        shift_by_ranks: Option<f64> = line.checks.shift.map(|(point, ..)| point),
        shift_by_ranks_interval: Option<[f64; 2]> = line.checks.shift.map(|(_, interval, _)| ends(interval)),
        shift_by_ranks_confidence: Option<f64> = line.checks.shift.map(|(.., sure)| sure),
        share_between_recordings: Option<f64> = line.between,
        lag_1: Option<f64> = line.checks.lag_1,
        drift_p: Option<f64> = line.checks.drift,
        order: Option<OrderTests> = line.claim.and_then(|c| c.order).map(|of| OrderTests::new(&of)),
        /// Where the values of both sides are in two states, and one side in both.
        states: Option<StatesPage> = compare_states(&line.values[0], &line.values[1]).as_ref().map(StatesPage::new),
        /// As the text has them.
        shown: Shown = Shown::new(words::printed(line, &against.basis, margin)),
    }

    /// Two states of both sides together: how often each side is in the higher one, and whether the states differ.
    pub struct StatesPage(of: &ComparedStates) {
        /// The middles of the lower and the higher state.
        centres: [f64; 2] = of.centres,
        /// Of each side, the share of values in the higher state, and its limits (95 %).
        higher_share: [f64; 2] = of.shares().map(|(share, _)| share),
        higher_share_interval: [[f64; 2]; 2] = of.shares().map(|(_, interval)| ends(interval)),
        /// The chance of shares as different where they are the same.
        p_shares: f64 = of.p,
        /// In the lower and the higher state, the candidate's mean over the baseline's, and its limits.
        ratios: [Option<f64>; 2] = of.within.map(|one| one.map(|(ratio, _)| ratio)),
        ratio_intervals: [Option<[f64; 2]>; 2] = of.within.map(|one| one.map(|(_, interval)| ends(interval))),
    }

    struct Shown(of: Printed) {
        baseline: String = of.means[0].clone(),
        candidate: String = of.means[1].clone(),
        change: String = of.change,
        interval: String = of.interval,
        verdict: String = of.verdict,
    }

    /// By the runs of these recordings alone, without what earlier ones say.
    struct AlonePage(alone: Comparison) {
        ratio: Option<f64> = alone.ratio,
        ratio_interval: Option<[f64; 2]> = alone.interval.map(ends),
        p: Option<f64> = alone.p,
        verdict: &'static str = verdict(alone.verdict),
    }

    /// What earlier recordings say of the spread between recordings.
    struct Earlier(of: Occasions) {
        deviation: f64 = of.deviation,
        df: f64 = of.df,
        recordings: usize = of.recordings,
    }

    /// Tests of the order of the values.
    pub struct OrderTests(of: &Order) {
        /// Autocorrelation of neighbours.
        lag_1: f64 = of.lag_1,
        /// Factor by which it widens the interval.
        widening: f64 = of.widening,
        drift: f64 = of.drift,
        drift_error: f64 = of.drift_error,
        sorted: bool = of.sorted,
    }

    /// A reservation about a figure, and the sides that it is of.
    struct SidedMark(of: &Marked) {
        mark: &'static str = of.mark.code(),
        text: String = words::marked(of),
        baseline: bool = of.sides[0],
        candidate: bool = of.sides[1],
    }

    struct TrendPage(of: &Doses) {
        settings: Vec<String> = of.settings.clone(),
        doses: Vec<f64> = of.doses.clone(),
        rows: Vec<TrendRow> = of.lines.iter().map(TrendRow::new).collect(),
        text: Vec<String> = words::doses(of),
    }

    struct TrendRow(line: &TrendLine) {
        metric: String = line.metric.clone(),
        figure: &'static str = line.figure,
        unit: Unit = line.unit,
        /// Theil and Sen's, a unit of the dose.
        slope: f64 = line.trend.slope,
        slope_interval: [f64; 2] = ends(line.trend.interval),
        /// Page's L.
        page_l: f64 = line.trend.l,
        p: f64 = line.trend.p,
        p_corrected: f64 = line.adjusted,
        blocks: usize = line.blocks,
        /// True if it rises or falls.
        trend: bool = line.rises_or_falls,
    }

    /// Figures of one suite or call together.
    struct GroupPage(group: &GroupLine) {
        group: tickmark_wire::Group = group.group,
        by_call: bool = group.by_call,
        figure: &'static str = group.figure,
        pace_ratio: Option<f64> = group.by_pace,
        figures: usize = group.figures,
        lower: usize = group.moved[0],
        higher: usize = group.moved[1],
        rises: bool = group.rises,
        ratio: f64 = group.ratio,
        p: f64 = group.p,
        p_corrected: f64 = group.adjusted,
        changed: bool = group.changed,
        worse: bool = group.worse(),
        text: String = words::group(group),
    }
}

impl Page for ComparisonPage {
    const NAME: &'static str = "comparison";
}

/// By what a difference was told from chance.
const fn test(test: Test) -> &'static str {
    match test {
        Test::Labels(Labels::Blocks(_)) => "sign_flips",
        Test::Labels(Labels::Groups(..)) => "permutations",
        Test::Means => "t",
        Test::Earlier => "t_by_earlier_replicates",
    }
}

const fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Beyond => "beyond_margin",
        Verdict::Changed => "changed",
        Verdict::BelowMargin => "below_margin",
        Verdict::Equivalent => "equivalent",
        Verdict::Undecided { .. } => "undecided",
    }
}
