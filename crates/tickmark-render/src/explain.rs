//! Which functions an operation's instructions are in, and what made it dearer.

use crate::grid::{fitting_table, hanging};
use crate::number::percent;
use std::fmt::Write;
use tickmark_analysis::explain::{Change, Explanation, Function, Interrupt, difference};
use tickmark_wire::Part;

/// Rows of a table of functions.
const ROWS: usize = 16;
/// Kinds of an interrupt.
const KINDS: usize = 8;
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
fn that_matter(of: &Explanation) -> impl Iterator<Item = &Interrupt> {
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
    if of.kernel >= NOTHING {
        table_of(&mut text, "The operation in the kernel", &of.functions, of.kernel);
    }
    for interrupt in that_matter(of) {
        table_of(&mut text, &spoken(&interrupt.name), &interrupt.functions, interrupt.mean);
        kinds(&mut text, interrupt);
    }
    text
}

/// A way into the kernel, for who does not know its name.
fn spoken(name: &str) -> String {
    match name {
        "asm_sysvec_apic_timer_interrupt" | "Decrementer" => format!("The timer interrupt ({name})"),
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
            "Threads that slept when the counting began, the kernel's own first of all, took {} instructions, {} of all, most of them in {}.",
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
    let says = match (agreement.windows, agreement.interrupted) {
        (1, _) => format!("the guest's clock says {} fewer, those beside its stamps", agreement.beside),
        (windows, 0) => format!(
            "in each of {} windows {} more than the guest's clock says, those beside its stamps",
            whole(windows as f64),
            agreement.beside
        ),
        (windows, interrupted) => format!(
            "in {} of {} windows {} more than the guest's clock says, those beside its stamps, and in {interrupted} an interrupt too",
            whole((windows - interrupted) as f64),
            whole(windows as f64),
            agreement.beside
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
        all.push(format!(
            "{}, each: {} and {} misses; programs then fetch {} and {} lines again that it had put out.",
            spoken(&interrupt.name),
            instructions(misses(0)),
            instructions(misses(1)),
            instructions(interrupt.refills[0]),
            instructions(interrupt.refills[1])
        ));
    }
    all
}

fn table_of(text: &mut String, title: &str, functions: &[Function], whole: f64) {
    let _ = writeln!(text, "\n{title}, {} instructions each, by function:", instructions(whole));
    let shown = functions.iter().take(ROWS).take_while(|function| function.own >= NOTHING).count();
    let has_misses = functions.iter().any(|function| function.misses != [0.0; 2]);
    let mut heading = vec!["function", "calls", "own", "share", "inclusive"];
    if has_misses {
        heading.extend(["I-misses", "D-misses"]);
    }
    let mut rows = vec![heading.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    rows.extend(functions[..shown].iter().map(|function| {
        let mut row = vec![
            function.name.clone(),
            format!("{:.2}", function.calls),
            instructions(function.own),
            percent(function.own / whole),
            instructions(function.inclusive),
        ];
        if has_misses {
            row.extend(function.misses.map(instructions));
        }
        row
    }));
    fitting_table(text, &rows, &[1, 2, 3, 4, 5, 6], &[1, 3]);
    rest(text, functions[shown..].iter().map(|function| function.own), "with");
}

/// What a table leaves out.
fn rest(text: &mut String, left: impl ExactSizeIterator<Item = f64>, with: &str) {
    let functions = left.len();
    let sum: f64 = left.sum();
    if functions > 0 && sum.abs() >= NOTHING {
        let _ = writeln!(text, "and {functions} more {with} {} (--format json has all)", instructions(sum));
    }
}

fn kinds(text: &mut String, interrupt: &Interrupt) {
    if interrupt.kinds.len() < 2 {
        return;
    }
    let _ = writeln!(text, "\nIts kinds, and what makes each:");
    for kind in interrupt.kinds.iter().take(KINDS) {
        let each = kind.instructions.map_or("others".to_owned(), |each| instructions(each as f64));
        let each = each.strip_suffix(".0").unwrap_or(&each);
        // A number stays with its name.
        let by =
            kind.differs_by.iter().map(|(name, by)| format!("{}\u{a0}{name}", more(*by).replace(".0", "")));
        let place = if kind.is_nested { " from the kernel" } else { " from programs  " };
        let by = if kind.is_usual { "the usual one".to_owned() } else { by.collect::<Vec<_>>().join(", ") };
        let line = format!("{:>5} x {each:>6}{place}  {by}", kind.count);
        let _ = writeln!(text, "{}", hanging(line.trim_end()).replace('\u{a0}', " "));
    }
    let left = interrupt.kinds.len().saturating_sub(KINDS);
    if left > 0 {
        let count: u64 = interrupt.kinds[KINDS..].iter().map(|kind| kind.count).sum();
        let _ = writeln!(text, "and {count} more, of {left} kinds");
    }
}

/// What makes the operation of the second kernel dearer or cheaper.
#[must_use]
pub fn compared([before, after]: [Explained<'_>; 2]) -> String {
    let mut text = String::new();
    for sentence in compared_answer([before, after]) {
        let _ = writeln!(text, "{}", hanging(&sentence));
    }
    changes_by_function(
        &mut text,
        "The operation in the kernel",
        &difference(&before.1.functions, &after.1.functions),
    );
    for interrupt in that_matter(after.1) {
        let Some(same) = before.1.interrupts.iter().find(|other| other.name == interrupt.name) else {
            continue;
        };
        let title = spoken(&interrupt.name);
        changes_by_function(&mut text, &title, &difference(&same.functions, &interrupt.functions));
    }
    text
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
    for interrupt in that_matter(after) {
        if let Some(same) = before.interrupts.iter().find(|other| other.name == interrupt.name) {
            all.push(format!(
                "{}: {} instructions each against {}, {} times against {}.",
                spoken(&interrupt.name),
                instructions(interrupt.mean),
                instructions(same.mean),
                interrupt.count,
                same.count
            ));
        }
    }
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
    if changes.is_empty() {
        return;
    }
    let sum: f64 = changes.iter().map(Change::difference).sum();
    let _ = writeln!(text, "\n{title}, by function: {} instructions", more(sum));
    let mut rows = vec![["function", "difference", "before", "after", "calls"].map(str::to_owned).to_vec()];
    rows.extend(changes.iter().take(ROWS).map(|change| {
        let [before, after] = change.own.map(instructions);
        let calls = format!("{:.2} to {:.2}", change.calls[0], change.calls[1]);
        vec![change.name.clone(), more(change.difference()), before, after, calls]
    }));
    fitting_table(text, &rows, &[1, 2, 3, 4], &[4]);
    rest(text, changes.get(ROWS..).unwrap_or_default().iter().map(Change::difference), "with together");
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
