//! An explanation of several settings in a few lines: the tables stand on the page of its recordings.

use super::{Explained, NOTHING, answer, compared_answer, instructions, more, spoken, that_matter};
use crate::fold::hanging;
use std::fmt::Write;
use tickmark_analysis::explain::{Explanation, Function, difference};

/// Functions that are named.
const NAMED: usize = 5;

/// The first setting, then each other against it.
#[must_use]
pub fn summary(all: &[Explained<'_>]) -> String {
    let [first, others @ ..] = all else { return String::new() };
    let mut sentences = answer(*first);
    // Why the counts can be believed comes last.
    sentences.pop();
    sentences.extend(largest(first.1));
    for other in others {
        let mut compared = compared_answer([*first, *other]);
        compared.truncate(compared.len().saturating_sub(2));
        sentences.extend(compared);
        sentences.extend(changed(first.1, other.1));
    }
    let mut text = String::new();
    for sentence in sentences {
        let _ = writeln!(text, "{}", hanging(&sentence));
    }
    text
}

/// Where most instructions are: of the operation, or of what interrupts one that never enters the kernel.
fn largest(of: &Explanation) -> Option<String> {
    let (whose, functions) = functions(of)?;
    let named = functions.iter().filter(|function| function.own >= NOTHING).take(NAMED);
    let named: Vec<String> =
        named.map(|function| format!("{} {}", function.name, instructions(function.own))).collect();
    (!named.is_empty()).then(|| format!("{whose}, most of its instructions: {}.", named.join(", ")))
}

/// What differs most.
fn changed(before: &Explanation, after: &Explanation) -> Option<String> {
    let ((whose, after), (_, before)) = (functions(after)?, functions(before)?);
    let changes = difference(before, after);
    let named = changes.iter().take(NAMED);
    let named: Vec<String> =
        named.map(|change| format!("{} {}", change.name, more(change.difference()))).collect();
    (!named.is_empty()).then(|| format!("{whose}, what differs most: {}.", named.join(", ")))
}

fn functions(of: &Explanation) -> Option<(String, &[Function])> {
    match of.kernel < NOTHING {
        true => that_matter(of).next().map(|interrupt| (spoken(&interrupt.name), &interrupt.functions[..])),
        false => Some((of.metric.clone(), &of.functions)),
    }
}
