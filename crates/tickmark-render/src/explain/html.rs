//! The same as a page: the answer, flame graphs, all functions and kinds.

use super::tables::kinds;
use super::{Explained, answer, compared_answer, compared_tables, tables};
use crate::page::frame::{self, Section};
use crate::plot::Flame;
use maud::{PreEscaped, html};
use tickmark_analysis::explain::Interrupt;

/// The call tree as a flame graph.
#[must_use]
pub fn flame((kernel, of): Explained<'_>) -> Flame {
    Flame {
        title: format!("{} on {kernel}, instructions by function", of.metric),
        unit: "instructions".to_owned(),
        stacks: of.calls.stacks().into_iter().map(|(names, own)| (names, own as f64)).collect(),
    }
}

/// A page of one explanation, or of two that are compared.
#[must_use]
pub fn html(all: &[Explained<'_>]) -> String {
    let metric = all.first().map_or("", |(_, of)| of.metric.as_str());
    let sentences = match all {
        [before, after] => compared_answer([*before, *after]),
        _ => all.iter().flat_map(|one| answer(*one)).collect(),
    };
    let top = html! { @for sentence in sentences { p { (sentence) } } };
    frame::page(&format!("{metric} by kernel function"), &top, &sections(all, ""), false)
}

/// What differs of the others against the first, then each with its flame graph, its functions and the kinds of its interrupts.
pub(crate) fn sections(all: &[Explained<'_>], prefix: &str) -> Vec<Section> {
    let mut sections = Vec::new();
    let [first, others @ ..] = all else { return sections };
    for (number, other) in others.iter().enumerate() {
        let changed = compared_tables([*first, *other]);
        let body = html! { @for table in &changed { (table.html()) } };
        let title = format!("{}: {} against {}", other.1.metric, other.0, first.0);
        sections.push(Section { id: format!("{prefix}differs-{number}"), title, body });
    }
    for (number, one) in all.iter().enumerate() {
        let kinds_of = |interrupt: &Interrupt| kinds(interrupt, usize::MAX).join("\n");
        let body = html! {
            figure { (PreEscaped(flame(*one).svg())) }
            @for (table, interrupt) in tables(*one) {
                (table.html())
                @if let Some(lines) = interrupt.map(kinds_of).filter(|lines| !lines.is_empty()) {
                    h3 { "Its kinds, and what makes each" }
                    pre { (lines) }
                }
            }
        };
        let title = format!("{} by kernel function, {}", one.1.metric, one.0);
        sections.push(Section { id: format!("{prefix}kernel-{number}"), title, body });
    }
    sections
}
