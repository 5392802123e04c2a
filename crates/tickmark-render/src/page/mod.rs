//! Recordings as one page that stands alone, as drawings in files, and as drawings for a terminal.

mod accounts;
pub(crate) mod compared;
mod dense;
pub(crate) mod frame;
mod kinds;
mod rows;
mod spread;

use crate::comparison::words;
use crate::explain::{self, Explained};
use crate::plot::Drawing;
use crate::report::text::fact;
use crate::{bill, capacity, clock_reads, comms, dose, finding, http, noise, report, scenario, wakes};
use frame::Section;
use maud::{Markup, PreEscaped, html};
use tickmark_analysis::comparison::Model;
use tickmark_analysis::page::Page;
use tickmark_wire::Offer;

/// A recording of more groups is of a machine, and not of one command's.
const MANY: usize = 4;
/// Findings that are shown at once.
const FIRST: usize = 5;

/// Content of a page.
pub struct Report<'a> {
    /// One or several, the baseline first.
    pub pages: &'a [Page],
    /// The recordings side by side, where there are several.
    pub comparison: Option<&'a Model>,
    /// Answers of a matrix or an experiment, and the content of its document: a title and a text in columns each. The first is the answer.
    pub answers: &'a [(String, String)],
    /// Operations that were explained, each in one or more settings.
    pub explained: &'a [Vec<Explained<'a>>],
    /// Available probes, with the way in which each is timed.
    pub offers: &'a [Offer],
}

/// The id of an element: letters, digits and hyphens.
fn plain(text: &str) -> String {
    let one = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    text.chars().map(one).collect()
}

/// A title that says that only one of so many is shown.
fn sampled(title: &str, every: usize) -> String {
    if every > 1 { format!("{title} (one of {every})") } else { title.to_owned() }
}

fn figure(drawing: &Drawing) -> Markup {
    html! { figure { (PreEscaped(drawing.svg())) } }
}

/// Text in columns, without colours.
fn text(of: &str) -> Markup {
    html! { pre { (anstream::adapter::strip_str(of).to_string().trim_matches('\n')) } }
}

/// The whole page.
#[must_use]
pub fn html(report: &Report<'_>) -> String {
    let several = report.pages.len() > 1;
    let mut sections = Vec::new();
    for (number, (title, answer)) in report.answers.iter().enumerate().skip(1) {
        sections.push(Section { id: format!("answer-{number}"), title: title.clone(), body: text(answer) });
    }
    if let Some(model) = report.comparison {
        sections.extend(compared::sections(model));
        sections.extend(spread::compared(report.pages));
    }
    for (number, settings) in report.explained.iter().enumerate() {
        sections.extend(explain::sections(settings, &format!("explained-{number}-")));
    }
    let parts: Vec<_> = report.pages.iter().map(kinds::parts).collect();
    let dense: usize = parts.iter().flatten().map(|part| part.dense.len()).sum();
    for (number, (page, parts)) in report.pages.iter().zip(&parts).enumerate() {
        let prefix = if several { format!("r{number}-") } else { String::new() };
        let mut own = of_one(page, parts, report.offers, &prefix, dense);
        if several {
            own.iter_mut()
                .for_each(|section| section.title = format!("{}: {}", page.model.header.name, section.title));
            // Each in a fold, behind what was asked.
            sections.push(folded(page, own, &prefix));
        } else {
            sections.extend(own);
        }
    }
    let title = match (report.comparison, report.pages) {
        (Some(model), _) => {
            let others: Vec<String> =
                model.against.iter().map(|against| words::label(&against.party)).collect();
            format!("tickmark: {} against {}", others.join(", "), words::label(&model.base))
        }
        (None, [page, ..]) => format!("tickmark: {}", page.model.header.name),
        (None, []) => "tickmark".to_owned(),
    };
    frame::page(&title, &top(report), &sections, dense > 0)
}

/// The beginning of the page: the answer, and in folds what it rests on.
fn top(report: &Report<'_>) -> Markup {
    html! {
        @if let Some((title, answer)) = report.answers.first() {
            h2 { (title) }
            pre class="wrapped" { (anstream::adapter::strip_str(answer).to_string().trim()) }
        }
        @if let Some(model) = report.comparison { (compared::summary(model)) }
        @for page in report.pages.iter().take(if report.comparison.is_some() { 1 } else { 8 }) { (facts(page)) }
        @if let (None, [page]) = (report.comparison, report.pages) { (answer(page)) (notable(page)) }
    }
}

/// The machine in a line, which opens.
fn facts(page: &Page) -> Markup {
    let h = &page.model.header;
    let created = h.created.split('.').next().unwrap_or_default().replace('T', " ");
    let machine = report::machine(h);
    let machine: Vec<&str> = machine.lines().filter(|line| !line.starts_with("changed while")).collect();
    html! {
        details class="facts" {
            summary { (machine.join(" \u{b7} ")) }
            @for line in report::instrument(h).lines() { p { (line) } }
            p { "recording " code { (h.id) } " of " (created) " UTC" }
        }
        @for line in report::changed(h) { p class="note" { (line) } }
    }
}

/// What the rows of a whole machine say, in a few lines.
fn answer(page: &Page) -> Markup {
    html! {
        @if report::answer::is_given(&page.model) {
            dl class="answer" { @for (name, line) in report::answer::lines(&page.model) { dt { (name) } dd { (line) } } }
        }
    }
}

/// Notable findings: the first of them, and the others in a fold.
fn notable(page: &Page) -> Markup {
    let (first, rest) = page.model.findings.split_at(page.model.findings.len().min(FIRST));
    html! {
        div class="lead" {
            @if first.is_empty() { p { "Nothing notable was found." } }
            @else { p { strong { "Notes" } } ul { @for one in first { li { (finding::text(one)) } } } }
            @if !rest.is_empty() {
                details { summary { (rest.len()) " more" } ul { @for one in rest { li { (finding::text(one)) } } } }
            }
        }
    }
}

/// A recording of several: a section that opens.
fn folded(page: &Page, own: Vec<Section>, prefix: &str) -> Section {
    let name = &page.model.header.name;
    let body = html! {
        details {
            summary { "Everything of this recording" }
            (facts(page))
            (notable(page))
            @for section in own { section id=(section.id) { h3 { (section.title) } (section.body) } }
        }
    };
    Section { id: format!("{prefix}recording"), title: format!("{name} {}", page.model.header.id), body }
}

/// The parts of one recording.
fn of_one(
    page: &Page,
    parts: &[kinds::PagePart],
    offers: &[Offer],
    prefix: &str,
    dense: usize,
) -> Vec<Section> {
    let (mut kinds, rows) =
        (kinds::sections(parts, prefix, dense), rows::sections(&page.model, offers, prefix));
    // What every recording begins with stands behind what was asked for.
    let begun = (page.noise.is_some() && !page.noise_asked).then(|| kinds.pop()).flatten();
    // What a command measured stands before its rows; of a whole machine the rows come first, in the order of the summary.
    let mut all: Vec<Section> = if rows.len() > MANY {
        rows.into_iter().chain(kinds).collect()
    } else {
        kinds.into_iter().chain(rows).collect()
    };
    all.extend(spread::sections(page, prefix));
    all.extend(begun);
    all.push(environment(page, prefix));
    all
}

/// Where the machine's facts come from, and how to get at every value.
fn environment(page: &Page, prefix: &str) -> Section {
    let id = &page.model.header.id;
    let body = html! {
        p { "Every batch and value: " code { "tickmark export " (id) " --raw" } "; the figures of each run: " code { "tickmark export " (id) } "; how figures are made: docs/METHODOLOGY.md." }
        details {
            summary { (page.model.environment.len()) " facts of the machine" }
            div class="wide" {
                table class="sort filtered" data-name="facts" {
                    thead { tr { th { "fact" } th { "value" } th { "where it was read" } } }
                    tbody { @for known in &page.model.environment { (line(known)) } }
                }
            }
        }
    };
    Section { id: format!("{prefix}environment"), title: "Machine and raw values".to_owned(), body }
}

fn line(known: &tickmark_analysis::report::FactLine) -> Markup {
    let (name, value, source) = fact(known);
    html! { "\n" tr { td { (name) } td { (value) } td { (source) } } }
}

/// Every drawing that the page has.
#[must_use]
pub fn drawings(report: &Report<'_>) -> Vec<Drawing> {
    let mut all = Vec::new();
    if let Some(model) = report.comparison {
        all.extend(compared::drawings(model));
        all.extend(spread::drawings_of_both(report.pages));
    }
    let flames = report.explained.iter().flat_map(|settings| explain::flames(settings));
    all.extend(flames.map(Drawing::Flame));
    for page in report.pages {
        all.extend(kinds::drawings(page));
        all.extend(page.model.groups.iter().flat_map(|(group, rows)| rows::drawings(group.title(), rows)));
        all.extend(spread::drawings(page));
    }
    all
}

#[cfg(test)]
mod tests;
