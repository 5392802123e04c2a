//! What each symbol by which two configurations of a kernel differ costs. Between them lie others, each of which has one symbol more of the
//! second: what follows from it (make olddefconfig) comes with it, and one whose dependencies come later has its effect with the last of them.

use super::exact_bisection::Measured;
use std::collections::BTreeMap;

/// A symbol that has another value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolChange {
    /// Without CONFIG_.
    pub name: String,
    /// Its line in the first one; none where it is hidden there.
    pub before: Option<String>,
    /// And in the second one.
    pub after: Option<String>,
}

/// The symbol of a line of a configuration.
fn symbol(line: &str) -> Option<&str> {
    let name = line.strip_prefix("# ").unwrap_or(line).strip_prefix("CONFIG_")?;
    let end = name.find(['=', ' '])?;
    Some(&name[..end])
}

fn lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| Some((symbol(line)?, line)))
}

/// The symbols by which two configurations differ: what the second one sets in its order, where a menu's symbol is before what it holds; then what
/// it turns off, and what it hides. Where one of several is chosen, it so takes the place of the other, and not of the default.
#[must_use]
pub fn differing(first: &str, second: &str) -> Vec<SymbolChange> {
    let before: BTreeMap<&str, &str> = lines(first).collect();
    let after: BTreeMap<&str, &str> = lines(second).collect();
    let hidden = lines(first).filter(|(name, _)| !after.contains_key(name));
    let differs = |(name, _): &(&str, &str)| before.get(name) != after.get(name);
    let change = |(name, _): (&str, &str)| SymbolChange {
        name: name.to_owned(),
        before: before.get(name).map(|line| (*line).to_owned()),
        after: after.get(name).map(|line| (*line).to_owned()),
    };
    let (set, off): (Vec<_>, Vec<_>) =
        lines(second).filter(differs).partition(|(_, line)| !line.starts_with('#'));
    set.into_iter().chain(off).chain(hidden).map(change).collect()
}

/// A configuration with some symbols as they are in the second one; what is hidden there is left out, and becomes its default.
#[must_use]
pub fn with(first: &str, changes: &[SymbolChange]) -> String {
    let changed: BTreeMap<&str, &SymbolChange> =
        changes.iter().map(|change| (change.name.as_str(), change)).collect();
    let kept = first.lines().filter(|line| symbol(line).is_none_or(|name| !changed.contains_key(name)));
    let set = changes.iter().filter_map(|change| change.after.as_deref());
    kept.chain(set).flat_map(|line| [line, "\n"]).collect()
}

impl SymbolChange {
    /// True if it becomes a module, or was one.
    #[must_use]
    pub fn is_module(&self) -> bool {
        [&self.before, &self.after].into_iter().flatten().any(|line| line.ends_with("=m"))
    }

    /// As one reads it: `NAME=y`, `NAME=1000 (was 100)`, `NAME off`.
    #[must_use]
    pub fn text(&self) -> String {
        let value = |line: &Option<String>| {
            let value = line.as_deref().and_then(|line| line.split_once('=')).map(|(_, value)| value);
            // A text of a configuration may have what a terminal obeys.
            value.map(|value| tickmark_wire::text::printable(value, false).into_owned())
        };
        match (value(&self.before), value(&self.after)) {
            (_, None) => format!("{} off", self.name),
            (None, Some(after)) => format!("{}={after}", self.name),
            (Some(before), Some(after)) => format!("{}={after} (was {before})", self.name),
        }
    }
}

/// The next configuration to measure, by its place between the first and the last one; none where all is known, or an end has no figure.
/// Between two that give the same figure, by `margin`, nothing is measured but where `each` is.
#[must_use]
pub fn next_place(all: &[Measured], margin: f64, each: bool) -> Option<usize> {
    let last = all.len().checked_sub(1)?;
    for end in [0, last] {
        match all[end] {
            Measured::Open => return Some(end),
            Measured::Failed(_) => return None,
            Measured::Value(_) => {}
        }
    }
    let open = |(from, to): (usize, usize)| {
        let between = (from + 1..to).filter(|at| all[*at] == Measured::Open);
        between.min_by_key(|at| at.abs_diff(usize::midpoint(from, to)))
    };
    neighbours(all).filter(|step| each || differs(all, *step, margin)).find_map(open)
}

/// The steps that cost something, each from a place to another: the largest first.
#[must_use]
pub fn costs(all: &[Measured], margin: f64) -> Vec<(usize, usize)> {
    let mut steps: Vec<(usize, usize)> = neighbours(all).filter(|step| differs(all, *step, margin)).collect();
    steps.sort_by(|a, b| cost(all, *b).abs().total_cmp(&cost(all, *a).abs()));
    steps
}

/// What a step costs.
#[must_use]
pub fn cost(all: &[Measured], (from, to): (usize, usize)) -> f64 {
    let value = |at: usize| all[at].value().unwrap_or(0.0);
    value(to) - value(from)
}

fn differs(all: &[Measured], step: (usize, usize), margin: f64) -> bool {
    cost(all, step).abs() > margin
}

/// Places with a figure, each with the next one.
fn neighbours(all: &[Measured]) -> impl Iterator<Item = (usize, usize)> {
    let known = || (0..all.len()).filter(|at| all[*at].value().is_some());
    known().zip(known().skip(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "# Linux/x86 6.1.192 Kernel Configuration\nCONFIG_HZ=100\n# CONFIG_AUDIT is not set\nCONFIG_OLD=y\nCONFIG_SAME=y\nCONFIG_HZ_100=y\n# CONFIG_HZ_1000 is not set\n";
    const SECOND: &str = "#\n# General\n#\nCONFIG_AUDIT=y\nCONFIG_AUDITSYSCALL=y\nCONFIG_SAME=y\nCONFIG_HZ=1000\n# CONFIG_HZ_100 is not set\nCONFIG_HZ_1000=y\n";

    #[test]
    fn symbols_differ_in_the_order_of_the_second_one() {
        let all = differing(FIRST, SECOND);
        let text: Vec<String> = all.iter().map(SymbolChange::text).collect();
        assert_eq!(
            text,
            ["AUDIT=y", "AUDITSYSCALL=y", "HZ=1000 (was 100)", "HZ_1000=y", "HZ_100 off", "OLD off"]
        );
        let between = with(FIRST, &all[..1]);
        assert_eq!(
            between,
            "# Linux/x86 6.1.192 Kernel Configuration\nCONFIG_HZ=100\nCONFIG_OLD=y\nCONFIG_SAME=y\nCONFIG_HZ_100=y\n# CONFIG_HZ_1000 is not set\nCONFIG_AUDIT=y\n"
        );
        assert_eq!(differing(&with(FIRST, &all), SECOND), []);
        assert_eq!(differing(FIRST, FIRST), []);
    }

    /// The steps that are found, and how many measurements that takes.
    fn found(figures: &[Option<f64>], each: bool) -> (Vec<(usize, usize)>, usize) {
        let mut all = vec![Measured::Open; figures.len()];
        let mut measured = 0;
        while let Some(at) = next_place(&all, 0.5, each) {
            assert_eq!(all[at], Measured::Open);
            all[at] = figures[at].map_or(Measured::Failed("no".to_owned()), Measured::Value);
            measured += 1;
        }
        (costs(&all, 0.5), measured)
    }

    #[test]
    fn every_step_is_found_that_does_not_hide_another() {
        // Thirteen configurations of twelve symbols, one of which is dear.
        let one: Vec<Option<f64>> = (0..13).map(|at| Some(if at < 5 { 180.0 } else { 200.0 })).collect();
        assert_eq!(found(&one, false), (vec![(4, 5)], 6));
        let two: Vec<Option<f64>> =
            (0..13).map(|at| Some(180.0 + f64::from(at > 3) + 40.0 * f64::from(at > 9))).collect();
        assert_eq!(found(&two, false).0, [(9, 10), (3, 4)]);
        // What takes and what gives as much: seen where each is measured.
        let hidden: Vec<Option<f64>> =
            (0..13).map(|at| Some(if (4..8).contains(&at) { 200.0 } else { 180.0 })).collect();
        assert_eq!(found(&hidden, false), (vec![], 2));
        assert_eq!(found(&hidden, true), (vec![(3, 4), (7, 8)], 13));
        // One that cannot be built.
        let mut failing = one.clone();
        failing[4] = None;
        assert_eq!(found(&failing, false).0, [(3, 5)]);
        failing[0] = None;
        assert_eq!(found(&failing, false), (vec![], 1));
    }
}
