//! For programs: numbers as they are, and the words beside them.

use super::words::{self, Printed};
use crate::report;
use serde_json::{Value, json};
use tickmark_analysis::comparison::{
    Against, Doses, GroupLine, Line, Marked, Model, NoClaimReason, Party, TrendLine,
};
use tickmark_stats::Interval;
use tickmark_stats::permutation::Labels;
use tickmark_stats::verdict::{Comparison, Correction, Order, Test, Verdict};

/// The whole comparison.
#[must_use]
pub fn render(model: &Model) -> Value {
    json!({
        "baseline": party(&model.base),
        "margin": model.margin,
        "trend": model.doses.as_ref().map(doses),
        "claims_corrected": model.claims,
        "correction": match model.correction {
            Correction::FamilyWise => "family_wise",
            Correction::Discovery => "discovery",
        },
        "candidates": model.against.iter().map(|one| against(one, model.margin)).collect::<Vec<_>>(),
    })
}

fn party(party: &Party) -> Value {
    json!({ "label": words::label(party), "ids": party.ids, "runs": party.runs, "tool": party.tool, "created": words::created(party) })
}

fn against(against: &Against, margin: f64) -> Value {
    let differences = against.differences.iter();
    json!({
        "candidate": party(&against.party),
        "unit": against.basis.name(),
        "notes": words::notes(against),
        "environment": differences.map(|d| json!({ "name": d.name, "baseline": d.base, "candidate": d.other })).collect::<Vec<_>>(),
        "summary": against.counts().into_iter().map(|(word, count)| json!({ "verdict": word, "figures": count })).collect::<Vec<_>>(),
        "groups": against.groups.iter().map(group).collect::<Vec<_>>(),
        "rows": against.lines.iter().map(|one| line(one, against, margin)).collect::<Vec<_>>(),
        "without_a_pair": against.without,
        "would_decide": against.experiment.as_ref().map(words::command),
    })
}

fn ends(interval: Interval) -> [f64; 2] {
    [interval.low, interval.high]
}

fn line(line: &Line, against: &Against, margin: f64) -> Value {
    let Printed { means, change, interval, verdict: said } = words::printed(line, &against.basis, margin);
    let c = line.claim;
    let alone = line.alone.map(|alone: Comparison| {
        json!({
            "ratio": alone.ratio,
            "ratio_interval": alone.interval.map(ends),
            "p": alone.p,
            "verdict": verdict(alone.verdict),
        })
    });
    let needed = c.and_then(|c| match c.verdict {
        Verdict::Undecided { needed } => needed,
        _ => None,
    });
    json!({
        "metric": line.metric,
        "figure": line.figure,
        "unit": line.unit,
        "better": line.better,
        "over": line.over,
        "mean": line.means,
        "replicates": line.replicates,
        "ratio": line.ratio,
        "pace_ratio": line.by_pace,
        "change": line.ratio.map(|ratio| ratio - 1.0),
        "range_over_phases": line.exact.map(|exact| [1.0 + exact.least, 1.0 + exact.most]),
        "runs": line.made.map(|[with, _]| with),
        "runs_made": line.made.map(|[_, made]| made),
        "ratio_interval": c.and_then(|c| c.change().1).map(ends),
        "ratio_of_means": c.and_then(|c| c.ratio),
        "ratio_of_means_interval": c.and_then(|c| c.interval).map(ends),
        "ratio_of_middles": c.and_then(|c| c.middle).map(|(ratio, _)| ratio),
        "ratio_of_middles_interval": c.and_then(|c| c.middle).map(|(_, interval)| ends(interval)),
        "judged_by": c.and_then(|c| c.test).map(test),
        "p": c.and_then(|c| c.p),
        "p_corrected": c.and_then(|c| c.adjusted).filter(|_| line.why != Some(NoClaimReason::Secondary)),
        "verdict": line.word,
        "worse": line.worse(),
        "needed": needed,
        "why": line.why.map(NoClaimReason::code),
        "marks": line.marks.iter().map(mark).collect::<Vec<_>>(),
        "by_runs_alone": alone,
        "earlier_replicates": line.history.map(|h| json!({ "deviation": h.deviation, "df": h.df, "recordings": h.recordings })),
        "shift_by_ranks": line.checks.shift.map(|(point, ..)| point),
        "shift_by_ranks_interval": line.checks.shift.map(|(_, interval, _)| ends(interval)),
        "shift_by_ranks_confidence": line.checks.shift.map(|(.., sure)| sure),
        "share_between_recordings": line.between,
        "lag_1": line.checks.lag_1,
        "drift_p": line.checks.drift,
        "order": c.and_then(|c| c.order).map(|of| order(&of)),
        "shown": { "baseline": means[0], "candidate": means[1], "change": change, "interval": interval, "verdict": said },
    })
}

/// Result of the tests of the order of the values.
#[must_use]
pub fn order(of: &Order) -> Value {
    json!({ "lag_1": of.lag_1, "widening": of.widening, "drift": of.drift, "drift_error": of.drift_error, "sorted": of.sorted })
}

/// A mark with the sides that it is of: its kind for programs, its text for people.
fn mark(of: &Marked) -> Value {
    let mut value = report::mark(&of.mark);
    value["baseline"] = json!(of.sides[0]);
    value["candidate"] = json!(of.sides[1]);
    value["text"] = json!(words::marked(of));
    value
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

fn doses(of: &Doses) -> Value {
    let line = |line: &TrendLine| {
        json!({
            "metric": line.metric,
            "figure": line.figure,
            "unit": line.unit,
            "slope": line.trend.slope,
            "slope_interval": ends(line.trend.interval),
            "page_l": line.trend.l,
            "p": line.trend.p,
            "p_corrected": line.adjusted,
            "blocks": line.blocks,
            "trend": line.rises_or_falls,
        })
    };
    json!({
        "settings": of.settings,
        "doses": of.doses,
        "rows": of.lines.iter().map(line).collect::<Vec<_>>(),
        "text": words::doses(of),
    })
}

fn group(group: &GroupLine) -> Value {
    json!({
        "group": group.group,
        "by_call": group.by_call,
        "figure": group.figure,
        "pace_ratio": group.by_pace,
        "figures": group.figures,
        "lower": group.moved[0],
        "higher": group.moved[1],
        "rises": group.rises,
        "ratio": group.ratio,
        "p": group.p,
        "p_corrected": group.adjusted,
        "changed": group.changed,
        "worse": group.worse(),
        "text": words::group(group),
    })
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Beyond => "beyond_margin",
        Verdict::Changed => "changed",
        Verdict::BelowMargin => "below_margin",
        Verdict::Equivalent => "equivalent",
        Verdict::Undecided { .. } => "undecided",
    }
}
