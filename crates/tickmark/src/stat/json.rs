//! The same for programs.

use super::model::{Against, Model, Set};
use serde_json::{Value, json};
use tickmark_stats::Interval;
use tickmark_stats::permutation::Labels;
use tickmark_stats::verdict::{Test, Verdict, Withheld};

pub(crate) fn render(model: &Model) -> Value {
    json!({
        "margin": model.manner.rule.margin,
        "confidence": 1.0 - model.manner.rule.level,
        "paired": model.manner.paired,
        "sets": model.sets.iter().map(set).collect::<Vec<_>>(),
        "comparisons": model.against.iter().map(|one| against(model, one)).collect::<Vec<_>>(),
        "left_out": model.left_out,
    })
}

fn ends(interval: Interval) -> [f64; 2] {
    [interval.low, interval.high]
}

fn set(set: &Set) -> Value {
    let s = &set.summary;
    // An integer that is no f64 is written with all of its digits.
    let number = |distance: f64| match set.origin {
        0 => json!(distance),
        origin => i64::try_from(origin + distance as i128)
            .ok()
            .filter(|_| distance.fract() == 0.0)
            .map_or_else(|| json!(origin as f64 + distance), |integer| json!(integer)),
    };
    json!({
        "name": set.name,
        "count": s.count,
        "min": number(s.least),
        "max": number(s.most),
        "median": number(s.median),
        "median_interval": set.median.map(|interval| ends(interval).map(number)),
        "quartiles": s.quartiles.map(number),
        "mean": number(s.mean),
        "std_dev": s.deviation,
        "outliers": { "count": set.outliers.count, "farthest": set.outliers.listed, "dropped": set.outliers.dropped },
        "sorted": set.sorted,
        "lag_1": set.lag_1.map(|(observed, _)| observed),
        "lag_1_beyond_chance": set.lag_1.map(|(_, beyond)| beyond),
        "drift": set.drift.map(|drift| json!({ "over": drift.over, "p": drift.p })),
    })
}

fn against(model: &Model, against: &Against) -> Value {
    let c = &against.comparison;
    let level = model.manner.rule.level;
    let (verdict, needed) = match c.verdict {
        Verdict::Beyond => ("beyond_margin", None),
        Verdict::Changed => ("changed", None),
        Verdict::BelowMargin => ("below_margin", None),
        Verdict::Equivalent => ("equivalent", None),
        Verdict::Undecided { needed } => ("undecided", needed),
    };
    let d = &against.difference;
    json!({
        "base": model.sets.first().map(|set| set.name.as_str()),
        "candidate": model.sets.get(against.set).map(|set| set.name.as_str()),
        "means": c.means,
        "difference": c.means[1] - c.means[0],
        "difference_interval": d.map(|d| ends(d.interval(1.0 - level))),
        "t": d.map(|d| d.t()),
        "df": d.map(|d| d.df),
        "p_t": d.map(|d| d.p()),
        "p": c.p,
        "p_corrected": c.adjusted,
        "judged_by": match c.test {
            Some(Test::Labels(Labels::Blocks(_))) => Some("sign_flips"),
            Some(Test::Labels(Labels::Groups(..))) => Some("permutations"),
            Some(_) => Some("t"),
            None => None,
        },
        "ratio_of_middles": c.middle.map(|(ratio, _)| ratio),
        "ratio_of_middles_interval": c.middle.map(|(_, interval)| ends(interval)),
        "ratio": c.ratio,
        "ratio_interval": c.interval.map(ends),
        "verdict": verdict,
        "values_needed": needed,
        "withheld": c.withheld.map(|why| match why {
            Withheld::Drift => "drift",
            Withheld::Sorted => "sorted",
            Withheld::Dependence => "dependence",
        }),
        "order": c.order.as_ref().map(tickmark_render::comparison::order_json),
        "shift": against.shift.map(|(point, ..)| point),
        "shift_interval": against.shift.map(|(_, interval, _)| ends(interval)),
        "shift_confidence": against.shift.map(|(.., sure)| sure),
        "p_mann_whitney": against.ranks.map(|ranks| ranks.p),
        "medians_difference": against.medians.map(|(point, _)| point),
        "medians_interval": against.medians.map(|(_, interval)| ends(interval)),
    })
}
