//! Documents and what was measured for them.

use super::{Page, ends};
use crate::json_object;
use crate::paper::{PaperReport, answer_lines, claim_figure, verdict};
use tickmark_analysis::paper::{Agreement, AnsweredClaim, IntervalKind};
use tickmark_analysis::report::Unit;

json_object! {
    /// A document, its claims, and our figure for each.
    pub struct PaperPage(report: &PaperReport<'_>) {
        /// Of its main experiment.
        experiment: String = report.name.to_owned(),
        title: String = report.paper.title.clone(),
        author: String = report.paper.author.clone(),
        year: u16 = report.paper.year,
        question: String = report.paper.question.clone(),
        /// What the document found.
        answer: String = report.paper.answer.clone(),
        /// What was found here, and how many claims agree.
        here: String = answer_lines(report)[2].1.clone(),
        agreement: String = answer_lines(report)[3].1.clone(),
        claims: Vec<ClaimPage> = report.claims.iter().map(ClaimPage::new).collect(),
        /// What cannot be had on this machine.
        lacks: Vec<String> = report.paper.lacks.clone(),
        /// Recordings behind the figures, with their ids.
        recordings: Vec<String> = report.recordings.to_vec(),
    }

    /// A claim of the document.
    struct ClaimPage(one: &AnsweredClaim) {
        /// Where it stands in the document.
        place: String = one.claim.place.clone(),
        says: String = one.claim.says.clone(),
        /// Our figure as text, with its interval; or why there is none.
        here: String = claim_figure(one),
        /// Our figure, in `unit`.
        figure: Option<f64> = one.here.as_ref().ok().map(|figure| figure.point).filter(|point| point.is_finite()),
        interval: Option<[f64; 2]> = one.here.as_ref().ok().and_then(|figure| Some(ends(figure.interval?.0))),
        /// What the interval is: `confidence` (95 %), `phases` of the tick, or `quantities` of which the claim is said alike.
        interval_of: Option<&'static str> = one.here.as_ref().ok().and_then(|figure| Some(match figure.interval?.1 {
            IntervalKind::Confidence => "confidence",
            IntervalKind::Phases => "phases",
            IntervalKind::Quantities => "quantities",
        })),
        unit: &'static str = one.claim.unit.text().trim(),
        /// Of a change: what it goes from and to, in `levels_unit`.
        levels: Option<[f64; 2]> = one.here.as_ref().ok().and_then(|figure| Some(figure.levels.as_ref()?.values)),
        levels_unit: Option<Unit> = one.here.as_ref().ok().and_then(|figure| Some(figure.levels.as_ref()?.unit)),
        /// Ours agrees between these.
        agrees_between: Option<[f64; 2]> = one.claim.agrees,
        /// `agrees`, `differs`, `undecided`, `not_claimed` where the document claims no value, `not_measured`.
        agreement: String = verdict(one.agreement).replace("ours alone", "not_claimed").replace(' ', "_"),
        /// Known reason of a disagreement.
        reason: Option<String> = one.claim.differs.clone().filter(|_| one.agreement == Agreement::Differs),
    }

    /// Every document that comes with tickmark.
    pub struct PapersPage(all: &[PaperReport<'_>]) {
        papers: Vec<PaperLine> = all.iter().map(PaperLine::new).collect(),
    }

    struct PaperLine(report: &PaperReport<'_>) {
        experiment: String = report.name.to_owned(),
        title: String = report.paper.title.clone(),
        question: String = report.paper.question.clone(),
        needs: String = report.paper.needs.clone(),
        /// On two CPUs, with kernels in the cache.
        minutes_quick: f64 = report.paper.minutes[0],
        minutes: f64 = report.paper.minutes[1],
        /// What was found here.
        here: String = answer_lines(report)[2].1.clone(),
        agreement: String = answer_lines(report)[3].1.clone(),
    }
}

impl Page for PaperPage {
    const NAME: &'static str = "paper";
}

impl Page for PapersPage {
    const NAME: &'static str = "papers";
}
