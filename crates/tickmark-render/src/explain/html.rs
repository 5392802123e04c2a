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
    let mut sections = Vec::new();
    if let [before, after] = all {
        let changed = compared_tables([*before, *after]);
        let body = html! { @for table in &changed { (table.html()) } };
        sections.push(Section { id: "differs".to_owned(), title: "What differs".to_owned(), body });
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
        sections.push(Section { id: format!("kernel-{number}"), title: format!("On {}", one.0), body });
    }
    let top = html! { @for sentence in sentences { p { (sentence) } } };
    frame::page(&format!("{metric} by kernel function"), &top, &sections, false)
}
