//! Words of a comparison that all formats share.

mod notes;
mod together;

pub(crate) use notes::notes;
pub(crate) use together::{doses, group, groups};

use crate::number::{bytes, change, count, value};
use crate::reason;
use tickmark_analysis::comparison::{
    Against, Basis, Deciding, Difference, Line, Marked, Model, NoClaimReason, Party, Word,
};
use tickmark_stats::Interval;
use tickmark_stats::verdict::{Comparison, Correction, Order, Verdict, Withheld};
use tickmark_store::Id;
use tickmark_wire::Better;
use tickmark_wire::text::quoted;

/// Shown length of a long value, characters.
const SHOWN: usize = 48;

/// A line as it is printed.
pub(crate) struct Printed {
    /// The means of both sides.
    pub(crate) means: [String; 2],
    pub(crate) change: String,
    pub(crate) interval: String,
    pub(crate) verdict: String,
}

/// The head of the column beside the change: what the range is.
pub(crate) const fn range(basis: &Basis) -> &'static str {
    if matches!(basis, Basis::Phases { .. }) { "over phases" } else { "95 %" }
}

/// Replicates of a basis.
pub(super) const fn replicates(basis: &Basis) -> &'static str {
    match basis {
        Basis::Blocks { .. } => "blocks",
        Basis::Phases { .. } => "phases",
        Basis::Few { imported: true, .. } => "files a side",
        Basis::Recordings { .. } | Basis::Few { .. } => "recordings a side",
        Basis::Apart | Basis::RequestedRuns => "runs a side",
    }
}

/// Where the change of a figure lies: of one that is above zero on both sides at -100 % or above.
pub(crate) fn interval_of(comparison: Comparison) -> Option<Interval> {
    let (ratio, interval) = comparison.change();
    let interval = interval?;
    let low = if ratio.is_some_and(|ratio| ratio > 0.0) { interval.low.max(0.0) } else { interval.low };
    Some(Interval { low, ..interval })
}

pub(crate) fn printed(line: &Line, basis: &Basis, margin: f64) -> Printed {
    let unlike = line.over[0] != line.over[1] && matches!(line.why, Some(NoClaimReason::OtherSizes));
    let means = [0, 1].map(|side| {
        // Neither more digits than the runs agree on nor fewer than show a change of a per mille.
        let fine = line.means[side].abs() * 1e-3;
        let shown = value(line.means[side], Some(line.deviation.map_or(fine, |d| d.min(fine))), line.unit);
        if unlike { format!("{shown} over {}", bytes(line.over[side] as f64)) } else { shown }
    });
    let ends = |c: Comparison| interval_of(c).map(|i| format!("{} to {}", percent(i.low), percent(i.high)));
    let none = || "-".to_owned();
    let interval = match (line.exact, line.claim, line.alone) {
        (Some(exact), ..) => format!("{} to {}", percent(1.0 + exact.least), percent(1.0 + exact.most)),
        (None, Some(claim), _) => ends(claim).unwrap_or_else(none),
        (None, None, Some(alone)) => ends(alone).map_or_else(none, |ends| format!("({ends})")),
        (None, None, None) => none(),
    };
    let verdict = verdict(line, basis, margin);
    let middle = line.claim.is_some_and(|claim| claim.by_middle && line.why.is_none());
    let middle = middle.then(|| "change of the trimmed mean, as a few values are far off".to_owned());
    let pace = line.by_pace.map(by_pace);
    let values = line.values.iter().map(Vec::len).sum();
    let shown = |drift: f64| value(drift, None, line.unit);
    let order = line.claim.or(line.alone).and_then(|claim| claim.order);
    let share = |order: Order| order.most_by_drift() / line.means[0].abs();
    let drift = order.filter(|_| line.claim.is_none());
    let drift =
        drift.map(|order| format!("a drift as within the sets makes at most {}", per_cent(share(order))));
    let order = order.map(|order| self::order(&order, values, &shown)).unwrap_or_default();
    let marks: Vec<String> = middle
        .into_iter()
        .chain(pace)
        .chain(drift)
        .chain(order)
        .chain(line.marks.iter().map(marked))
        .collect();
    let verdict = if marks.is_empty() { verdict } else { format!("{verdict} [{}]", marks.join("; ")) };
    Printed { means, change: line.ratio.map_or_else(none, percent), interval, verdict }
}

/// Against what something changed that did not for itself.
fn by_pace(ratio: f64) -> String {
    format!("against what runs in user space alone, which went {}", percent(ratio))
}

fn percent(ratio: f64) -> String {
    change(ratio, 2)
}

pub(crate) fn marked(of: &Marked) -> String {
    let whose = match of.sides {
        [true, true] => "both",
        [true, false] => "baseline",
        _ => "candidate",
    };
    format!("{whose}: {}", reason::mark(&of.mark))
}

pub(crate) const fn word(word: Word) -> &'static str {
    match word {
        Word::Beyond => "changed beyond the margin",
        Word::Changed => "changed",
        Word::BelowMargin => "changed below the margin",
        Word::Equivalent => "equivalent",
        Word::Undecided => "undecided",
        Word::NotCompared => "not compared",
    }
}

fn verdict(line: &Line, basis: &Basis, margin: f64) -> String {
    let way = match (line.better, line.is_up()) {
        (Better::Neither | Better::Other(_), true) => ", up",
        (Better::Neither | Better::Other(_), false) => ", down",
        (Better::Lower, true) | (Better::Higher, false) => ", worse",
        (Better::Lower, false) | (Better::Higher, true) => ", better",
    };
    let by = line.history.filter(|_| line.claim.is_some()).map_or(String::new(), |history| {
        format!(
            " (replicates differ by {:.1} %, standard deviation of {} earlier ones)",
            history.deviation * 100.0,
            history.recordings
        )
    });
    match (line.word, line.why) {
        _ if line.same_centre => {
            format!("changed{way}: same centre, {} tail{by}", if line.is_up() { "longer" } else { "shorter" })
        }
        (Word::Beyond, _) => format!("changed{way}, beyond {}{by}", per_cent(margin)),
        (Word::Changed, _) => format!("changed{way}{by}"),
        (Word::BelowMargin, _) => format!("changed{way}, below {}{by}", per_cent(margin)),
        (Word::Equivalent, _) => format!("equivalent{by}"),
        (Word::Undecided | Word::NotCompared, Some(why)) => {
            let by = if matches!(why, NoClaimReason::Needs(_) | NoClaimReason::SeenBefore) {
                by
            } else {
                String::new()
            };
            format!("{}: {}{by}", word(line.word), open_reason(why, line, basis))
        }
        (open, None) => word(open).to_owned(),
    }
}

/// Why nothing is claimed.
pub(super) fn open_reason(why: NoClaimReason, line: &Line, basis: &Basis) -> String {
    match why {
        NoClaimReason::OtherUnits => "different units".to_owned(),
        NoClaimReason::OtherSizes => "different sizes".to_owned(),
        NoClaimReason::NoFloor(why) => reason::no_floor(why).to_owned(),
        NoClaimReason::NoPhase => "no phase has a figure on both sides".to_owned(),
        NoClaimReason::NoRatio => "no ratio, as the baseline is not above zero".to_owned(),
        NoClaimReason::ByPhase => "it depends on the phase".to_owned(),
        NoClaimReason::NoBlock => "no block has a figure on both sides".to_owned(),
        NoClaimReason::NotInterleaved => {
            let runs = line.alone.map(|alone| match alone.verdict {
                Verdict::Beyond | Verdict::Changed => "; by runs alone changed",
                Verdict::BelowMargin => "; by runs alone changed below the margin",
                Verdict::Equivalent => "; by runs alone equivalent",
                Verdict::Undecided { .. } => "",
            });
            let what = if matches!(basis, Basis::Few { imported: true, .. }) {
                "too few files a side"
            } else {
                "not interleaved"
            };
            format!("{what}{}", runs.unwrap_or_default())
        }
        NoClaimReason::Missing => {
            let [base, other] = line.made.map(|[with, made]| format!("{with} of {made}"));
            format!(
                "runs missing not at random: {base} runs of the baseline have a figure, {other} of the candidate"
            )
        }
        NoClaimReason::Secondary => {
            let p = p_alone(line).map_or(String::new(), |p| format!(": p = {p}, uncorrected"));
            format!("not a primary metric{p}")
        }
        NoClaimReason::SeenBefore => "earlier recordings were as far from each other".to_owned(),
        NoClaimReason::AmongMany => {
            let p = p_alone(line).map_or(String::new(), |p| format!("p = {p} is "));
            format!("{p}not enough among so many figures, or of its group")
        }
        NoClaimReason::Needs(needed) => {
            format!("{needed} {} would decide in 4 of 5 cases", replicates(basis))
        }
        NoClaimReason::TooFew => format!("too few {}", replicates(basis)),
        NoClaimReason::NoVariation => format!("the {} do not vary", replicates(basis)),
        NoClaimReason::Order(why) => withheld(why).to_owned(),
    }
}

/// Why a difference is not claimed that independent values would show.
#[must_use]
pub const fn withheld(why: Withheld) -> &'static str {
    match why {
        Withheld::Drift => {
            "withheld: a drift that the values leave open would make a difference like this; measure them interleaved"
        }
        Withheld::Sorted => {
            "withheld: both sides are sorted, and one goes on where the other ends, as in a drift; give the values in the order in which they were measured"
        }
        Withheld::Dependence => {
            "withheld: neighbouring values may resemble each other, and so few show no difference; measure more, or interleaved"
        }
    }
}

/// Sentences on the time order of two sides of so many values in all.
#[must_use]
pub fn order(order: &Order, values: usize, shown: &dyn Fn(f64) -> String) -> Vec<String> {
    if order.sorted {
        return vec!["sorted values: whether they drift or resemble each other cannot be checked".to_owned()];
    }
    let resembles = order.resembles(values).then(|| {
        format!(
            "neighbouring values resemble each other (lag-1 correlation {:.2}): intervals may be {:.1} times too narrow",
            order.lag_1, order.widening
        )
    });
    let drifts = order
        .drifts()
        .then(|| format!("the values drift: going on makes a difference of {}", shown(order.drift.abs())));
    resembles.into_iter().chain(drifts).collect()
}

/// The chance of a line for itself.
fn p_alone(line: &Line) -> Option<String> {
    line.claim.and_then(|claim| claim.p).map(chance)
}

/// Why a line cannot be judged: its verdict, or that no direction is better.
#[must_use]
pub fn open(line: &Line, basis: &Basis, margin: f64) -> String {
    let said = printed(line, basis, margin).verdict;
    if line.decided() { format!("{said}, and neither direction is better") } else { said }
}

/// A share in per cent, to a hundredth.
pub(crate) fn per_cent(share: f64) -> String {
    format!("{} %", (share * 1e4).round() / 100.0)
}

/// How many lines have each verdict.
pub(crate) fn summary(against: &Against) -> String {
    let counts = against.counts().into_iter();
    let counts: Vec<String> = counts.map(|(word, count)| format!("{count} {}", self::word(word))).collect();
    format!("{} of {} figures", counts.join(", "), against.lines.len())
}

/// Head of a column: name and id.
pub(crate) fn label(party: &Party) -> String {
    match &party.ids[..] {
        [] => party.name.clone(),
        [id] => format!("{} {id}", party.name),
        [id, rest @ ..] => format!("{} {id} and {} more", party.name, rest.len()),
    }
}

/// When the first recording of a side was begun.
pub(crate) fn created(party: &Party) -> String {
    party.created.map_or_else(String::new, |at| at.strftime("%Y-%m-%d %H:%M").to_string())
}

/// Both sides, each in a line.
pub(crate) fn parties(model: &Model, against: &Against) -> [String; 2] {
    let text = |party: &Party| {
        let more = if party.ids.len() > 1 { format!(" ({})", Id::all(&party.ids)) } else { String::new() };
        let runs = count(party.runs as u32, "run");
        format!("{}{more}, {runs}, {}, {}", label(party), party.tool, created(party))
    };
    [format!("baseline: {}", text(&model.base)), format!("candidate: {}", text(&against.party))]
}

/// Lines with the differences of the environments, at most so many.
pub(crate) fn environment(model: &Model, against: &Against, listed: usize) -> Vec<String> {
    let all = &against.differences;
    let mut lines = Vec::new();
    if model.base.tool != against.party.tool {
        let (base, other) = (&model.base.tool, &against.party.tool);
        lines.push(format!("measured by {base} and by {other}: their definitions differ"));
    }
    match all.len() {
        0 => lines.push("no recorded fact of the environment differs".to_owned()),
        1 => {}
        count => lines.push(format!("{count} facts of the environment differ: any of them may be the cause")),
    }
    lines.extend(all.iter().take(listed).map(difference));
    if all.len() > listed {
        lines.push(format!("and {} more; --format json has all", all.len() - listed));
    }
    lines
}

/// Metrics that one side alone has.
pub(crate) fn without(model: &Model, against: &Against) -> Vec<String> {
    let sides = [&model.base, &against.party].into_iter().zip(&against.without);
    let named = sides.filter(|(_, metrics)| !metrics.is_empty());
    let line = |(party, metrics): (&Party, &Vec<String>)| {
        format!("only {} has a figure of: {}", label(party), metrics.join(", "))
    };
    named.map(line).collect()
}

/// Explanation of the columns.
pub(crate) fn legend(model: &Model) -> String {
    let mut legend =
        format!("floor and mean cost, each as the mean over replicates; margin {}", per_cent(model.margin));
    let judged = |line: &Line| line.claim.is_some();
    let recordings = |against: &&Against| {
        matches!(against.basis, Basis::Recordings { .. } | Basis::Few { .. })
            && against.lines.iter().any(judged)
    };
    if model.against.iter().any(|against| recordings(&against)) {
        legend += "; a recording's figure is the median of its runs";
    }
    let by_history =
        |against: &Against| against.lines.iter().any(|line| line.history.is_some() && judged(line));
    if model.claims > 1 {
        legend += &match model.correction {
            Correction::FamilyWise if model.against.iter().any(by_history) => {
                "; 5 % is the chance of any wrong change in each group of figures, and of any group"
                    .to_owned()
            }
            Correction::FamilyWise => {
                format!("; 5 % is the chance of any wrong change among the {} figures", model.claims)
            }
            Correction::Discovery => {
                format!("; of the changes among the {} figures 5 % are expected to be wrong", model.claims)
            }
        };
    }
    legend
}

/// A chance, to two digits.
pub(crate) fn chance(p: f64) -> String {
    if p < 1e-4 {
        "below .0001".to_owned()
    } else {
        format!("{:.1$}", p, (1.0 - p.log10().floor()).max(2.0) as usize)
    }
}

/// The command that would decide.
#[must_use]
pub fn command(of: &Deciding) -> String {
    let probes: String = of.probes.iter().map(|probe| format!(" {probe}")).collect();
    crate::command(&format!("experiment {}{probes}", quoted(&of.knob)))
}

/// A fact that differs, in one line.
pub(crate) fn difference(d: &Difference) -> String {
    format!("{}: {} -> {}", d.name, short(&d.base, &d.other), short(&d.other, &d.base))
}

/// A long value from shortly before where it begins to differ.
fn short(value: &str, other: &str) -> String {
    if value.chars().count() <= SHOWN {
        return value.to_owned();
    }
    let same = value.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let skip = same.saturating_sub(12);
    let shown: String = value.chars().skip(skip).take(SHOWN).collect();
    let rest = if value.chars().count() > skip + SHOWN { "..." } else { "" };
    format!("{}{shown}{rest}", if skip > 0 { "..." } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_shown_where_they_differ() {
        let (a, b) = (format!("{}hpet", "x".repeat(100)), format!("{}tsc", "x".repeat(100)));
        assert_eq!(short(&a, &b), "...xxxxxxxxxxxxhpet");
        assert_eq!(short("tsc", "hpet"), "tsc");
    }
}
