//! A document as text for a person: five lines of answer, its claims, its tables, what cannot be had, details.

use super::figures::{agreement, claim_figure, found_here, reasons, verdict};
use super::{Form, FormPlace, PaperReport};
use crate::fold::wrapped;
use crate::grid::{definitions, wrapped_table};
use crate::number::rough_time;
use crate::suggest::command;
use anstyle::Style;
use std::fmt::Write;
use tickmark_analysis::paper::{Agreement, AnsweredClaim};

const HEADING: Style = Style::new().bold();
/// Below this width claims are no table.
const NARROW: usize = 60;
/// Where texts begin behind their names.
const INDENT: usize = 12;

/// Question, the document's answer, ours, whether they agree, and why not where that is known.
#[must_use]
pub fn answer_lines(report: &PaperReport<'_>) -> Vec<(&'static str, String)> {
    let paper = report.paper;
    let lines = vec![
        ("asks", paper.question.clone()),
        ("found", format!("{} ({}, {})", paper.answer, paper.author, paper.year)),
        ("here", found_here(report)),
        ("agrees", agreement(report)),
    ];
    let why = reasons(report).map(|reasons| ("why", reasons));
    let short = || {
        format!(
            "--quick, with fewer runs than the document; the whole takes {}",
            rough_time(60.0 * paper.minutes[1])
        )
    };
    lines.into_iter().chain(why).chain(report.is_quick.then(|| ("form", short()))).collect()
}

/// What the last column of the claims means.
const JUDGED: &str = "agrees: our figure is in the range that the claim allows, usually half to twice its own; undecided: its interval reaches beyond; of a table of lmbench half of the differences that exceed the document's own noise have the same sign here and half to twice the size; phases: the range over boots at other phases of the tick, and range: over several quantities or few runs, have no confidence.";

/// Everything that is known of it.
#[must_use]
pub fn text(report: &PaperReport<'_>) -> String {
    let paper = report.paper;
    let mut out = String::new();
    for line in wrapped(&format!("{}: {}", report.name, paper.title), 0) {
        let _ = writeln!(out, "{HEADING}{line}{HEADING:#}");
    }
    definitions(&mut out, answer_lines(report), INDENT);
    out.push('\n');
    claims(&mut out, report.claims);
    out.push('\n');
    for line in wrapped(JUDGED, 0) {
        let _ = writeln!(out, "{line}");
    }
    let printed = paper.printed.iter().map(|one| ("The document: ", one));
    for (whose, one) in printed.chain(paper.note.iter().map(|one| ("", one))) {
        let text = one.text.trim_matches('\n');
        let _ = writeln!(out, "\n{HEADING}{whose}{}{HEADING:#}\n{text}", one.title);
    }
    let shown = report.forms.iter().filter(|form| form.place == FormPlace::Shown);
    shown.for_each(|form| write_form(&mut out, form));
    if !paper.lacks.is_empty() {
        let _ = writeln!(out, "\n{HEADING}What cannot be had here{HEADING:#}");
        for lack in &paper.lacks {
            let _ = writeln!(out, "- {}", wrapped(lack, 2).join("\n").trim_start());
        }
    }
    if !report.recordings.is_empty() {
        let _ = writeln!(out, "\n{HEADING}Recordings{HEADING:#}");
        report.recordings.iter().for_each(|line| {
            let _ = writeln!(out, "{}", wrapped(line, 2).join("\n"));
        });
    }
    let name = report.name;
    let _ = writeln!(
        out,
        "\nThe page, with all figures and plots:\n  {}",
        command(&format!("experiments {name} -o {name}.html"))
    );
    out
}

/// Every document with its question, what it takes, and what was found here.
#[must_use]
pub fn list(reports: &[PaperReport<'_>]) -> String {
    let mut out = String::new();
    for report in reports {
        let (paper, name) = (report.paper, report.name);
        let _ = writeln!(out, "{HEADING}{name}{HEADING:#}: {}, {}", paper.author, paper.year);
        let [quick, whole] = paper.minutes;
        let mut lines = vec![
            ("asks", paper.question.clone()),
            (
                "takes",
                format!(
                    "{}, {} with --quick (two CPUs, kernels in the cache)",
                    rough_time(60.0 * whole),
                    rough_time(60.0 * quick)
                ),
            ),
            ("needs", paper.needs.clone()),
        ];
        let is_measured = report.count(Agreement::NotMeasured) < report.claims.len();
        if is_measured {
            lines.extend(answer_lines(report).split_off(2));
        } else {
            lines.push(("next", command(&format!("experiment {name} --quick"))));
        }
        definitions(&mut out, lines, INDENT);
        out.push('\n');
    }
    out
}

fn write_form(out: &mut String, form: &Form) {
    let _ = writeln!(out, "\n{HEADING}{}{HEADING:#}", form.title);
    let text = form.text.trim_matches('\n');
    if !text.is_empty() {
        let _ = writeln!(out, "{text}");
    }
    for drawing in &form.drawings {
        let _ = writeln!(out, "\n{}", drawing.text(crate::width()).trim_end());
    }
}

/// Each claim with our figure; the reason of a disagreement behind it. Columns where there is room for four.
fn claims(out: &mut String, all: &[AnsweredClaim]) {
    let here = |one: &AnsweredClaim| match (one.agreement, &one.claim.differs) {
        (Agreement::Differs, Some(why)) => format!("{}: {why}", claim_figure(one)),
        _ => claim_figure(one),
    };
    if crate::width() < NARROW {
        for one in all {
            let (claim, verdict) = (&one.claim, verdict(one.agreement));
            let text = format!("{}: {}. Here ({verdict}): {}", claim.place, claim.says, here(one));
            let _ = writeln!(out, "- {}", wrapped(&text, 2).join("\n").trim_start());
        }
        return;
    }
    let heading = ["where", "the document", "here", ""].map(str::to_owned).to_vec();
    let row = |one: &AnsweredClaim| {
        vec![one.claim.place.clone(), one.claim.says.clone(), here(one), verdict(one.agreement).to_owned()]
    };
    wrapped_table(out, std::iter::once(heading).chain(all.iter().map(row)));
}
