//! A document as a page that one would send to its author.

use super::figures::{claim_figure, verdict};
use super::{Form, FormPlace, PaperReport, answer_lines};
use crate::page::frame::{self, Section};
use maud::{Markup, PreEscaped, html};
use tickmark_analysis::paper::{Agreement, AnsweredClaim};

/// The page, which stands alone.
#[must_use]
pub fn html(report: &PaperReport<'_>) -> String {
    let paper = report.paper;
    let top = html! {
        p { (paper.author) ", " (paper.year) "; measured by " code { "tickmark experiment " (report.name) } "." }
        dl class="answer" { @for (name, line) in answer_lines(report) { dt { (name) } dd { (line) } } }
    };
    let section = |id: String, title: String, body: Markup| Section { id, title, body };
    let mut sections = vec![section("claims".to_owned(), "Claim by claim".to_owned(), claims(report.claims))];
    let printed = paper.printed.iter().map(|one| ("The document: ", one));
    let printed = printed.chain(paper.note.iter().map(|one| ("", one))).enumerate();
    sections.extend(printed.map(|(number, (whose, one))| {
        let body = html! { pre { (one.text.trim_matches('\n')) } };
        section(format!("printed-{number}"), format!("{whose}{}", one.title), body)
    }));
    let forms = |is_detail: bool| {
        let own = report.forms.iter().enumerate();
        let own = own.filter(move |(_, form)| (form.place == FormPlace::Details) == is_detail);
        own.map(|(number, form)| section(format!("form-{number}"), form.title.clone(), body(form)))
    };
    sections.extend(forms(false));
    if !paper.lacks.is_empty() {
        let body = html! { ul { @for lack in &paper.lacks { li { (lack) } } } };
        sections.push(section("lacks".to_owned(), "What cannot be had here".to_owned(), body));
    }
    sections.extend(forms(true));
    let again = html! {
        ul { @for line in report.recordings { li { (line) } } }
    };
    sections.push(section("recordings".to_owned(), "Recordings".to_owned(), again));
    frame::page(&format!("{}, measured again", paper.title), &top, &sections, false)
}

fn body(form: &Form) -> Markup {
    let text = anstream::adapter::strip_str(&form.text).to_string();
    let text = text.trim_matches('\n');
    let inner = html! {
        @if !text.is_empty() { pre { (text) } }
        @for drawing in &form.drawings { figure { (PreEscaped(drawing.svg())) } }
    };
    html! {
        @if form.place == FormPlace::Details { details { summary { "Everything that was measured" } (inner) } } @else { (inner) }
    }
}

fn claims(all: &[AnsweredClaim]) -> Markup {
    let class = |one: &AnsweredClaim| match one.agreement {
        Agreement::Differs => "worse",
        Agreement::Agrees => "better",
        Agreement::Undecided | Agreement::NotClaimed | Agreement::NotMeasured => "",
    };
    html! {
        div class="wide" {
            table {
                thead { tr { th { "verdict" } th { "where" } th { "the document" } th { "here" } } }
                tbody {
                    @for one in all {
                        tr class=(class(one)) {
                            td { (verdict(one.agreement)) }
                            td { (one.claim.place) }
                            td { (one.claim.says) }
                            td {
                                (claim_figure(one))
                                @if let (Agreement::Differs, Some(why)) = (one.agreement, &one.claim.differs) { ": " (why) }
                            }
                        }
                    }
                }
            }
        }
    }
}
