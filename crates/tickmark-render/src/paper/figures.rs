//! Figures of claims in words.

use super::PaperReport;
use crate::number;
use tickmark_analysis::paper::{Agreement, AnsweredClaim, ClaimUnit, Figure, IntervalKind, Measure};

/// A figure of ours with its interval; why there is none.
#[must_use]
pub fn claim_figure(one: &AnsweredClaim) -> String {
    match &one.here {
        Ok(figure) => figure_text(figure, one.claim.unit, is_change(&one.claim.measure)) + &levels(figure),
        Err(why) => why.clone(),
    }
}

/// Whether a figure is a change, which has a sign.
fn is_change(measure: &Measure) -> bool {
    matches!(measure, Measure::Change(_) | Measure::Doses(_))
}

/// Where a change goes to, and from where.
fn levels(figure: &Figure) -> String {
    let level = |at: usize| {
        let value = figure.levels.as_ref().map(|levels| number::value(levels.values[at], None, levels.unit));
        let side = figure.sides.as_ref().map(|sides| sides[at].clone());
        side.into_iter().chain(value).collect::<Vec<_>>().join(" ")
    };
    let (from, to) = (level(0), level(1));
    if to.is_empty() { to } else { format!(", {to} against {from}") }
}

fn figure_text(figure: &Figure, unit: ClaimUnit, signed: bool) -> String {
    if let Some(words) = &figure.words {
        return words.clone();
    }
    let signed = signed && unit == ClaimUnit::Percent;
    let one = |value: f64| if signed { number::signed(value) } else { number::plain(value) };
    // Of 450 MHz, as the document's are.
    let time = match unit {
        ClaimUnit::Cycles => format!(" = {}", number::time(figure.point / unit.scale())),
        _ => String::new(),
    };
    let point = format!("{}{}{time}", one(figure.point), unit.text());
    match figure.interval {
        Some((ends, kind)) if one(ends.low) != one(ends.high) => {
            let kind = match kind {
                IntervalKind::Confidence => "95 %: ",
                IntervalKind::Phases => "phases: ",
                IntervalKind::Quantities => "range: ",
            };
            format!("{point} ({kind}{} to {})", one(ends.low), one(ends.high))
        }
        _ => point,
    }
}

/// What is compared, where the claim leaves that open.
fn sides(figure: &Figure) -> String {
    figure.sides.as_ref().map_or(String::new(), |[from, to]| format!(", {to} against {from}"))
}

/// What comes of a claim, in a word.
#[must_use]
pub const fn verdict(agreement: Agreement) -> &'static str {
    match agreement {
        Agreement::Agrees => "agrees",
        Agreement::Differs => "differs",
        Agreement::Undecided => "undecided",
        Agreement::NotClaimed => "ours alone",
        Agreement::NotMeasured => "not measured",
    }
}

/// The sentence on what was found here, with the figures in their places.
pub(super) fn found_here(report: &PaperReport<'_>) -> String {
    let named = |one: &&AnsweredClaim| !one.claim.id.is_empty();
    if report.claims.iter().all(|one| one.here.is_err()) {
        return "nothing was measured yet".to_owned();
    }
    report.claims.iter().filter(named).fold(report.paper.here.clone(), |text, one| {
        let signed = is_change(&one.claim.measure);
        let in_words = |figure: &Figure| figure_text(figure, one.claim.unit, signed) + &sides(figure);
        let figure = one.here.as_ref().map_or_else(|_| "(not measured)".to_owned(), in_words);
        text.replace(&format!("{{{}}}", one.claim.id), &figure)
    })
}

/// How many claims agree, and which do not.
pub(super) fn agreement(report: &PaperReport<'_>) -> String {
    let count = |agreement| report.count(agreement);
    let (agree, differ) = (count(Agreement::Agrees), count(Agreement::Differs));
    let measured = agree + differ + count(Agreement::Undecided);
    let mut parts = vec![format!("{agree} of {measured} claims {}", verb(agree, "agree"))];
    if differ > 0 {
        let differing = report.claims.iter().filter(|one| one.agreement == Agreement::Differs);
        let mut places: Vec<&str> = differing.map(|one| one.claim.place.as_str()).collect();
        places.dedup();
        parts.push(format!("{differ} {} ({})", verb(differ, "differ"), places.join("; ")));
    }
    for (agreement, word) in [(Agreement::Undecided, "undecided"), (Agreement::NotMeasured, "not measured")] {
        if count(agreement) > 0 {
            parts.push(format!("{} {word}", count(agreement)));
        }
    }
    parts.join(", ") + &most_frequent_reason(report.claims).filter(|_| measured == 0).unwrap_or_default()
}

/// Why most of the claims have no figure, and how many of them, where anything was to measure it.
fn most_frequent_reason(claims: &[AnsweredClaim]) -> Option<String> {
    let could = claims.iter().filter(|one| !matches!(one.claim.measure, Measure::Nothing(_)));
    let whys: Vec<&String> = could.filter_map(|one| one.here.as_ref().err()).collect();
    let count = |why: &String| whys.iter().filter(|own| **own == why).count();
    // The first of several.
    let why = whys.iter().rev().max_by_key(|why| count(why))?;
    Some(format!(" ({} of them: {why})", count(why)))
}

/// Why claims differ, where that is known: the first reasons.
pub(super) fn reasons(report: &PaperReport<'_>) -> Option<String> {
    let differing = report.claims.iter().filter(|one| one.agreement == Agreement::Differs);
    let mut all: Vec<&str> = differing.filter_map(|one| one.claim.differs.as_deref()).collect();
    all.dedup();
    all.truncate(REASONS);
    (!all.is_empty()).then(|| all.join("; "))
}

/// Reasons that stand in the answer.
const REASONS: usize = 2;

/// A verb behind a number.
fn verb(count: usize, verb: &str) -> String {
    if count == 1 { format!("{verb}s") } else { verb.to_owned() }
}
