//! Figures of claims in words.

use super::PaperReport;
use crate::number;
use tickmark_analysis::paper::{Agreement, AnsweredClaim, ClaimUnit, Figure, Measure};

/// A figure of ours with its interval; why there is none.
#[must_use]
pub fn claim_figure(one: &AnsweredClaim) -> String {
    match &one.here {
        Ok(figure) => figure_text(figure, one.claim.unit, is_change(&one.claim.measure)),
        Err(why) => format!("not measured: {why}"),
    }
}

/// Whether a figure is a change, which has a sign.
fn is_change(measure: &Measure) -> bool {
    matches!(measure, Measure::Change(_) | Measure::Doses(_))
}

fn figure_text(figure: &Figure, unit: ClaimUnit, signed: bool) -> String {
    if let Some(words) = &figure.words {
        return words.clone();
    }
    let signed = signed && unit == ClaimUnit::Percent;
    let one = |value: f64| if signed { number::signed(value) } else { number::plain(value) };
    // A cycle of the guests is a nanosecond.
    let time =
        if unit == ClaimUnit::Cycles { format!(" = {}", number::time(figure.point)) } else { String::new() };
    let point = format!("{}{}{time}", one(figure.point), unit.text());
    match figure.interval {
        Some(ends) if one(ends.low) != one(ends.high) => {
            format!("{point} ({} to {})", one(ends.low), one(ends.high))
        }
        _ => point,
    }
}

/// What comes of a claim, in a word.
#[must_use]
pub const fn verdict(agreement: Agreement) -> &'static str {
    match agreement {
        Agreement::Agrees => "agrees",
        Agreement::Differs => "differs",
        Agreement::Undecided => "undecided",
        Agreement::NotMeasured => "-",
    }
}

/// The sentence on what was found here, with the figures in their places.
pub(super) fn found_here(report: &PaperReport<'_>) -> String {
    let named = |one: &&AnsweredClaim| !one.claim.id.is_empty();
    if report.claims.iter().all(|one| one.here.is_err()) {
        return "nothing was measured yet".to_owned();
    }
    report.claims.iter().filter(named).fold(report.paper.here.clone(), |text, one| {
        let figure = one.here.as_ref().map_or_else(|_| "(not measured)".to_owned(), |_| claim_figure(one));
        text.replace(&format!("{{{}}}", one.claim.id), &figure)
    })
}

/// How many claims agree, and which do not.
pub(super) fn agreement(report: &PaperReport<'_>) -> String {
    let count = |agreement| report.count(agreement);
    let measured = report.claims.len() - count(Agreement::NotMeasured);
    let mut parts = vec![format!("{} of {measured} claims agree", count(Agreement::Agrees))];
    let differing = || report.claims.iter().filter(|one| one.agreement == Agreement::Differs);
    if differing().next().is_some() {
        let mut places: Vec<&str> = differing().map(|one| one.claim.place.as_str()).collect();
        places.dedup();
        parts.push(format!("{} differ ({})", count(Agreement::Differs), places.join("; ")));
    }
    if count(Agreement::Undecided) > 0 {
        parts.push(format!("{} undecided", count(Agreement::Undecided)));
    }
    if count(Agreement::NotMeasured) > 0 {
        parts.push(format!("{} not measured", count(Agreement::NotMeasured)));
    }
    parts.join(", ")
}
