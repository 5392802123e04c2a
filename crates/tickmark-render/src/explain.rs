//! Which functions an operation's instructions are in, and what made it dearer.

mod caches;
mod html;
mod summary;
mod tables;

pub use caches::{DocumentChange, cache_effects};
pub(crate) use html::sections;
pub use html::{flames, html};
pub use summary::summary;

use crate::fold::hanging;
use crate::number::percent;
use std::fmt::Write;
use tables::{FunctionTable, kinds_text};
use tickmark_analysis::explain::{Change, Explanation, Interrupt, difference};
use tickmark_wire::Part;

/// An interrupt with fewer instructions than this share of all is named only.
const MATTERS: f64 = 0.001;

/// Instructions that are no row.
const NOTHING: f64 = 0.05;

/// An explanation, and the kernel that it is of, as it was typed.
pub type Explained<'a> = (&'a str, &'a Explanation);

/// Instructions.
#[must_use]
pub fn instructions(value: f64) -> String {
    let places = if value.abs() < 1000.0 { 1 } else { 0 };
    // No instructions have no sign.
    let text = format!("{:.places$}", if value.abs() < 0.05 { 0.0 } else { value });
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("-", digits));
    let (whole, part) = digits.split_once('.').map_or((digits, None), |(whole, part)| (whole, Some(part)));
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}{}", part.map_or(String::new(), |part| format!(".{part}")))
}

/// The same with its sign.
#[must_use]
pub fn more(value: f64) -> String {
    if value >= NOTHING { format!("+{}", instructions(value)) } else { instructions(value) }
}

/// The interrupts that are worth a table: those that take a part of the time.
pub(crate) fn that_matter(of: &Explanation) -> impl Iterator<Item = &Interrupt> {
    let all = of.agreement.instructions as f64;
    of.interrupts.iter().filter(move |interrupt| interrupt.mean * interrupt.count as f64 > all * MATTERS)
}

/// Where the instructions of an operation are.
#[must_use]
pub fn text((kernel, of): Explained<'_>) -> String {
    let mut text = String::new();
    for sentence in answer((kernel, of)) {
        let _ = writeln!(text, "{}", hanging(&sentence));
    }
    for (table, interrupt) in tables((kernel, of)) {
        table.text(&mut text);
        if let Some(interrupt) = interrupt {
            kinds_text(&mut text, interrupt);
        }
    }
    text
}

/// The tables of an explanation: of the operation, and of each interrupt.
fn tables<'a>((_, of): Explained<'a>) -> Vec<(FunctionTable, Option<&'a Interrupt>)> {
    let operation = FunctionTable::of_functions("The operation in the kernel", &of.functions, of.kernel);
    let interrupts = that_matter(of).map(|interrupt| {
        let title = spoken(&interrupt.name);
        (FunctionTable::of_functions(&title, &interrupt.functions, interrupt.mean), Some(interrupt))
    });
    let all = std::iter::once((operation, None)).chain(interrupts);
    all.filter(|(table, _)| !table.is_empty()).collect()
}

/// A way into the kernel, for who does not know its name.
fn spoken(name: &str) -> String {
    match name {
        "asm_sysvec_apic_timer_interrupt" | "Decrementer" => format!("The timer interrupt ({name})"),
        "interrupt" => "An interrupt".to_owned(),
        other => format!("The interrupt {other}"),
    }
}

/// The sentences that say it, the most important first.
#[must_use]
pub fn answer((kernel, of): Explained<'_>) -> Vec<String> {
    let operation = format!(
        "{} on {kernel} executes {} instructions: {} in the kernel, {} in programs, without what interrupts it.",
        of.metric,
        instructions(of.kernel + of.program),
        instructions(of.kernel),
        instructions(of.program),
    );
    let mut all = Vec::new();
    let total = of.agreement.instructions.max(1) as f64;
    for interrupt in that_matter(of) {
        let Interrupt { name, count, mean, .. } = interrupt;
        let share = percent(mean * *count as f64 / total);
        let name = spoken(name);
        all.push(format!(
            "{name} came {count} times: {} instructions each, {share} of all.",
            instructions(*mean)
        ));
    }
    // Of what never enters the kernel by itself, its interrupts are the answer.
    all.insert(if of.kernel < NOTHING { all.len() } else { 0 }, operation);
    let resumed: f64 = of.resumed.iter().map(|function| function.own).sum();
    if let Some(first) = of.resumed.first().filter(|_| resumed > total * MATTERS) {
        all.push(format!(
            "Threads that slept when the counting began, the kernel's own first of all, took {} instructions, {} of all, the most in {}.",
            instructions(resumed),
            percent(resumed / total),
            first.name
        ));
    }
    if of.calls.refills.is_some() {
        all.extend(caches(of));
    }
    let (less, plus) = (of.other_parts.contains(&Part::Less), of.other_parts.contains(&Part::Plus));
    let other = match (less, plus) {
        (false, false) => None,
        (true, false) => Some("takes off"),
        (false, true) => Some("adds"),
        (true, true) => Some("takes off and adds"),
    };
    if let Some(other) = other {
        all.push(format!(
            "The figure that `lab boot` shows {other} what is measured beside this and not explained."
        ));
    }
    all.push(believed(of));
    all
}

/// Why the counts can be believed.
fn believed(of: &Explanation) -> String {
    let agreement = &of.agreement;
    let whole = |number: f64| instructions(number).trim_end_matches(".0").to_owned();
    let counted = format!(
        "{} instructions of {} operations were counted",
        whole(agreement.instructions as f64),
        whole(of.operations as f64)
    );
    let than = if agreement.beside < 0 { "fewer than" } else { "more than" };
    let says = match (agreement.windows, agreement.interrupted) {
        (1, _) => {
            format!("{} {than} the guest's clock says, those beside its stamps", agreement.beside.abs())
        }
        (windows, 0) => format!(
            "in each of {} windows {} {than} the guest's clock says, those beside its stamps",
            whole(windows as f64),
            agreement.beside.abs()
        ),
        (windows, interrupted) => format!(
            "in {} of {} windows {} {than} the guest's clock says, those beside its stamps, and in {interrupted} an interrupt too",
            whole((windows - interrupted) as f64),
            whole(windows as f64),
            agreement.beside.abs()
        ),
    };
    format!("{counted}, {says}. A boot without the plugin gave the same output.")
}

/// Misses of an operation in the kernel, where caches were simulated.
fn misses_in_kernel(of: &Explanation) -> Option<[f64; 2]> {
    of.calls.refills.as_ref()?;
    Some([0, 1].map(|at| of.functions.iter().map(|function| function.misses[at]).sum()))
}

/// What simulated caches missed.
fn caches(of: &Explanation) -> Vec<String> {
    let in_kernel = misses_in_kernel(of).unwrap_or_default();
    let mut all = vec![format!(
        "Misses of the simulated caches, an operation: {} of instructions and {} of data in the kernel, {} and {} in programs.",
        instructions(in_kernel[0]),
        instructions(in_kernel[1]),
        instructions(of.program_misses[0]),
        instructions(of.program_misses[1])
    )];
    for interrupt in that_matter(of) {
        let misses = |at: usize| interrupt.functions.iter().map(|function| function.misses[at]).sum::<f64>();
        let lines = interrupt.lines.map(|lines| format!("{} lines of code, ", instructions(lines)));
        all.push(format!(
            "{}, each: {}{} and {} misses; programs then fetch {} and {} lines again that it had put out.",
            spoken(&interrupt.name),
            lines.unwrap_or_default(),
            instructions(misses(0)),
            instructions(misses(1)),
            instructions(interrupt.refills[0]),
            instructions(interrupt.refills[1])
        ));
    }
    all
}

/// What makes the operation of the second kernel dearer or cheaper.
#[must_use]
pub fn compared([before, after]: [Explained<'_>; 2]) -> String {
    let mut text = String::new();
    for sentence in compared_answer([before, after]) {
        let _ = writeln!(text, "{}", hanging(&sentence));
    }
    compared_tables([before, after]).iter().for_each(|table| table.text(&mut text));
    text
}

/// The tables of what differs: of the operation, and of each interrupt.
fn compared_tables([before, after]: [Explained<'_>; 2]) -> Vec<FunctionTable> {
    let changes = difference(&before.1.functions, &after.1.functions);
    let mut all = vec![FunctionTable::of_changes("The operation in the kernel", &changes)];
    for interrupt in that_matter(after.1) {
        if let Some(same) = after.1.counterpart(interrupt, before.1) {
            let changes = difference(&same.functions, &interrupt.functions);
            all.push(FunctionTable::of_changes(&spoken(&interrupt.name), &changes));
        }
    }
    all.retain(|table| !table.is_empty());
    all
}

/// The sentences of one, or of the others against the first: of several their first ones.
#[must_use]
pub fn answers(all: &[Explained<'_>]) -> Vec<String> {
    match all {
        [] => Vec::new(),
        [one] => answer(*one),
        [before, after] => compared_answer([*before, *after]),
        [first, others @ ..] => {
            others.iter().filter_map(|other| compared_answer([*first, *other]).into_iter().next()).collect()
        }
    }
}

/// The sentences of a comparison.
#[must_use]
pub fn compared_answer([(one, before), (other, after)]: [Explained<'_>; 2]) -> Vec<String> {
    let whole = |of: &Explanation| of.kernel + of.program;
    let (from, to) = (whole(before), whole(after));
    let by = to - from;
    let verdict = match () {
        () if by.abs() < NOTHING => "executes the same number of instructions".to_owned(),
        () if by > 0.0 => format!("executes {} instructions more", instructions(by)),
        () => format!("executes {} instructions fewer", instructions(-by)),
    };
    let mut all = vec![format!(
        "{} {verdict} on {other} {} on {one}: {} against {}; {} in the kernel, {} in programs.",
        after.metric,
        if by.abs() < NOTHING { "as" } else { "than" },
        instructions(to),
        instructions(from),
        more(after.kernel - before.kernel),
        more(after.program - before.program),
    )];
    // Of a loop that never enters the kernel by itself, its interrupts are the answer.
    let operation = if after.kernel < NOTHING && before.kernel < NOTHING { all.pop() } else { None };
    for interrupt in that_matter(after) {
        if let Some(same) = after.counterpart(interrupt, before) {
            let other = if same.name == interrupt.name {
                String::new()
            } else {
                format!(" of {}", spoken(&same.name))
            };
            all.push(format!(
                "{}: {} instructions each against {}{other}, {} times against {}.",
                spoken(&interrupt.name),
                instructions(interrupt.mean),
                instructions(same.mean),
                interrupt.count,
                same.count
            ));
        }
    }
    all.extend(operation);
    if let [Some(from), Some(to)] = [before, after].map(misses_in_kernel) {
        all.push(format!(
            "Misses of the simulated caches in the kernel, an operation: {} of instructions and {} of data against {} and {}.",
            instructions(to[0]),
            instructions(to[1]),
            instructions(from[0]),
            instructions(from[1])
        ));
    }
    all.extend([(one, before), (other, after)].map(|(kernel, of)| format!("{kernel}: {}", believed(of))));
    all
}

/// A table of functions that differ; nothing where none does.
pub fn changes_by_function(text: &mut String, title: &str, changes: &[Change]) {
    let table = FunctionTable::of_changes(title, changes);
    if !table.is_empty() {
        table.text(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_grouped() {
        assert_eq!(
            [0.04, 204.25, 999.0, 2454.4, 62_500_000.0].map(instructions),
            ["0.0", "204.2", "999.0", "2,454", "62,500,000"]
        );
        assert_eq!([more(-2300.0), more(1.0), more(0.0)], ["-2,300", "+1.0", "0.0"]);
    }
}
