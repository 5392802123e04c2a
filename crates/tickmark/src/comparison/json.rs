//! For programs: numbers as they are, and the words beside them.

use super::line::Line;
use super::model::{Against, Model, Party};
use serde_json::{Value, json};
use tickmark_stats::Interval;
use tickmark_stats::verdict::{Comparison, Verdict};

pub(crate) fn render(model: &Model) -> Value {
    json!({
        "base": party(&model.base),
        "margin": model.margin,
        "claims_corrected": model.claims,
        "candidates": model.against.iter().map(against).collect::<Vec<_>>(),
    })
}

fn party(party: &Party) -> Value {
    json!({ "label": party.label, "ids": party.ids, "runs": party.runs, "tool": party.tool, "created": party.created })
}

fn against(against: &Against) -> Value {
    let differences = against.differences.iter();
    json!({
        "candidate": party(&against.party),
        "unit": against.basis.name(),
        "notes": against.notes,
        "environment": differences.map(|d| json!({ "name": d.name, "base": d.base, "candidate": d.other })).collect::<Vec<_>>(),
        "summary": against.counts().into_iter().map(|(word, count)| json!({ "verdict": word, "figures": count })).collect::<Vec<_>>(),
        "rows": against.lines.iter().map(line).collect::<Vec<_>>(),
        "without_a_pair": against.without,
        "would_decide": against.experiment,
    })
}

fn ends(interval: Interval) -> [f64; 2] {
    [interval.low, interval.high]
}

fn line(line: &Line) -> Value {
    let c = line.claim;
    let alone = line.alone.map(|alone: Comparison| {
        json!({
            "ratio": alone.ratio,
            "ratio_interval": alone.interval.map(ends),
            "p": alone.p,
            "verdict": verdict(alone.verdict),
        })
    });
    let exact = line.exact.map(|exact| 1.0 + exact.change);
    let ratio = exact.or_else(|| c.or(line.alone).and_then(|c| c.ratio));
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
        "occasions": line.values,
        "ratio": ratio,
        "change": ratio.map(|ratio| ratio - 1.0),
        "range_over_phases": line.exact.map(|exact| [1.0 + exact.least, 1.0 + exact.most]),
        "ratio_interval": c.and_then(|c| c.interval).map(ends),
        "p": c.and_then(|c| c.p),
        "p_holm": c.and_then(|c| c.adjusted),
        "verdict": line.word,
        "worse": line.worse(),
        "needed": needed,
        "why": why(line),
        "marks": line.marks,
        "by_runs_alone": alone,
        "earlier_occasions": line.history.map(|h| json!({ "deviation": h.deviation, "df": h.df, "recordings": h.recordings })),
        "shift_by_ranks": line.checks.shift.map(|(point, ..)| point),
        "shift_by_ranks_interval": line.checks.shift.map(|(_, interval, _)| ends(interval)),
        "shift_by_ranks_confidence": line.checks.shift.map(|(.., sure)| sure),
        "share_between_recordings": line.between,
        "lag_1": line.checks.lag_1,
        "drift_p": line.checks.drift,
        "shown": { "base": line.shown[0], "candidate": line.shown[1], "change": line.change, "interval": line.interval, "verdict": line.words },
    })
}

/// Why there is no claim at all.
fn why(line: &Line) -> Option<&str> {
    let words = line.words.strip_prefix("undecided: ").or(line.words.strip_prefix("not compared: "))?;
    words.split([';', '[']).next().map(str::trim_end).filter(|_| line.claim.is_none())
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Changed => "changed",
        Verdict::BelowMargin => "below_margin",
        Verdict::Equivalent => "equivalent",
        Verdict::Undecided { .. } => "undecided",
    }
}
