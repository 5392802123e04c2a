//! The same as a page: the answer, flame graphs, all functions and kinds.

use super::tables::kinds;
use super::{Explained, NOTHING, answers, compared_tables, tables};
use crate::page::frame::{self, Section};
use crate::plot::Flame;
use maud::{PreEscaped, html};
use tickmark_analysis::explain::{Explanation, Interrupt};

/// The call tree as a flame graph, of an operation; where there is another to compare with, coloured by what differs from it.
fn flame((kernel, of): Explained<'_>, before: Option<Explained<'_>>) -> Flame {
    // Of as many operations of the other one.
    let stacks = |other: &Explanation| -> Vec<_> {
        let scale = of.operations as f64 / other.operations.max(1) as f64;
        // Where nothing enters the kernel by itself, what interrupts it is shown alone.
        let all = other.stacks_beside(of).into_iter().skip(usize::from(of.kernel < NOTHING));
        all.map(|(names, own)| (names, own as f64 * scale)).collect()
    };
    let against = before.map_or_else(String::new, |(other, _)| format!(", against {other}"));
    Flame {
        title: format!("{} on {kernel}, instructions by function{against}", of.metric),
        unit: format!("instructions of {} operations", of.operations),
        stacks: stacks(of),
        before: before.map_or_else(Vec::new, |(_, before)| stacks(before)),
    }
}

/// The first as a flame graph, then each other coloured by what differs from it.
#[must_use]
pub fn flames(all: &[Explained<'_>]) -> Vec<Flame> {
    let first = all.first().copied();
    all.iter().enumerate().map(|(number, one)| flame(*one, first.filter(|_| number > 0))).collect()
}

/// A page of one explanation, or of two that are compared.
#[must_use]
pub fn html(all: &[Explained<'_>]) -> String {
    let metric = all.first().map_or("", |(_, of)| of.metric.as_str());
    let top = html! { @for sentence in answers(all) { p { (sentence) } } };
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
    for (number, (one, flame)) in all.iter().zip(flames(all)).enumerate() {
        let kinds_of = |interrupt: &Interrupt| kinds(interrupt, usize::MAX).join("\n");
        let body = html! {
            figure { (PreEscaped(flame.svg())) }
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
