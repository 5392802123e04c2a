//! Commands side by side: which is faster, by how much, how sure.

use crate::comparison::words;
use crate::fold::hanging;
use crate::grid::fitting_table;
use crate::number::{count, percent, value};
use anstyle::Style;
use std::fmt::Write;
use tickmark_analysis::comparison::{Against, Line, NoClaimReason, Word};
use tickmark_analysis::report::Unit;
use tickmark_analysis::versus::{Subject, Versus};
use tickmark_stats::Interval;
use tickmark_wire::names;

/// A share of steal time, and of the processor's pace, that is worth a line.
const STEAL: f64 = 0.005;
const SLOWER: f64 = 0.05;
/// From here on a change is a factor.
const FACTOR: f64 = 2.0;

/// Of an interval without a width.
const EXACT: &str = "exactly";

const HEADING: Style = Style::new().bold();

/// The verdicts as sentences, one for each command but the first and each metric that carries one; of a single command what it takes.
#[must_use]
pub fn answer(versus: &Versus) -> Vec<String> {
    let Some(first) = versus.subjects.first() else { return Vec::new() };
    let Some(model) = &versus.comparison else {
        return versus.primary.iter().map(|metric| alone(first, metric)).collect();
    };
    let mut sentences = Vec::new();
    for (against, subject) in model.against.iter().zip(&versus.subjects[1..]) {
        let lines: Vec<&Line> = versus.verdicts(against).collect();
        sentences.extend(
            lines.iter().map(|line| verdict(line, against, [first.letter, subject.letter], model.margin)),
        );
        if lines.is_empty() {
            sentences.push(format!("{} and {} have no figure in common", first.letter, subject.letter));
        }
    }
    sentences
}

/// What a single command takes.
fn alone(subject: &Subject, metric: &str) -> String {
    let Some((mean, interval)) = subject.mean(metric) else {
        return format!("{}: no figure of {metric}", subject.label);
    };
    let half = interval.map(half_of);
    let shown = |figure: f64| value(figure, half, subject.unit(metric).into());
    let (takes, of) = if metric == names::COMMAND_TIME {
        ("takes", String::new())
    } else {
        ("has", format!(" of {metric}"))
    };
    let between = interval.map_or(String::new(), |interval| {
        format!("95 %: between {} and {}; ", shown(interval.low), shown(interval.high))
    });
    format!(
        "{} {takes} {}{of} ({between}{})",
        subject.label,
        shown(mean),
        count(subject.all(metric).len() as u32, "run")
    )
}

fn half_of(interval: Interval) -> f64 {
    (interval.high - interval.low) / 2.0
}

/// A verdict in words.
fn verdict(line: &Line, against: &Against, [base, other]: [char; 2], margin: f64) -> String {
    let is_time = is_time(&line.metric);
    let about = if is_time { String::new() } else { format!("{}: ", line.metric) };
    let pairs = count(line.replicates[0] as u32, "pair");
    let (ratio, interval) = line.claim.map_or((line.ratio, None), |claim| claim.change());
    let ratio = ratio.filter(|ratio| *ratio > 0.0);
    let nothing_left = line.metric == names::COMMAND_NET && line.means.iter().any(|mean| *mean <= 0.0);
    if nothing_left {
        return format!(
            "{base} or {other} takes no longer than starting an empty process: nothing is left to compare"
        );
    }
    // As `compare` marks it.
    let middle = if line.claim.is_some_and(|claim| claim.by_middle) {
        "; by the trimmed mean, as a few runs are far off"
    } else {
        ""
    };
    let range = ratio.zip(interval).map_or(String::new(), |(ratio, interval)| {
        let range = range(ratio, interval, is_time);
        if range == EXACT { format!("{range}; ") } else { format!("95 %: {range}; ") }
    });
    let by = ratio.map_or_else(|| "different".to_owned(), |ratio| change(ratio, is_time));
    let limit = percent(margin);
    match line.word {
        Word::Beyond | Word::Changed => {
            format!("{about}{other} is {by} than {base} ({range}{pairs}{middle})")
        }
        Word::BelowMargin => {
            format!("{about}{other} is {by} than {base}, by less than the margin of {limit} ({range}{pairs})")
        }
        Word::Equivalent => format!("{about}{other} is the same as {base}, to {limit} ({range}{pairs})"),
        Word::Undecided | Word::NotCompared => {
            let more = match line.why {
                Some(NoClaimReason::Needs(needed)) => {
                    format!("needs about {} in all (--budget, --runs)", count(needed as u32, "pair"))
                }
                _ => words::open(line, &against.basis, margin),
            };
            let seems = interval.is_some_and(|i| i.low > 1.0 || i.high < 1.0);
            match ratio {
                Some(_) if seems => {
                    format!(
                        "{about}{other} seems {by} than {base} ({range}{pairs}), which so few cannot show; {more}"
                    )
                }
                _ => format!("{about}{base} and {other} cannot be told apart yet ({range}{pairs}); {more}"),
            }
        }
    }
}

fn is_time(metric: &str) -> bool {
    [names::COMMAND_TIME, names::COMMAND_NET].contains(&metric)
}

/// True if a change is told as a factor and not in per cent.
fn is_factor(ratio: f64) -> bool {
    ratio >= FACTOR || ratio <= 1.0 / FACTOR
}

/// A ratio to the base, as faster or slower, higher or lower.
fn change(ratio: f64, is_time: bool) -> String {
    let word = word(ratio, is_time);
    if is_factor(ratio) {
        format!("{} times {word}", factor(ratio.max(1.0 / ratio)))
    } else {
        format!("{} {word}", percent((ratio - 1.0).abs()))
    }
}

fn factor(ratio: f64) -> String {
    if ratio < 99.5 { format!("{ratio:.2}") } else { format!("{ratio:.0}") }
}

fn word(ratio: f64, is_time: bool) -> &'static str {
    match (ratio < 1.0, is_time) {
        (true, true) => "faster",
        (false, true) => "slower",
        (true, false) => "lower",
        (false, false) => "higher",
    }
}

/// Where a ratio lies, in the form in which it is told itself.
fn range(ratio: f64, Interval { low, high }: Interval, is_time: bool) -> String {
    if (high - low).abs() < 1e-9 {
        return EXACT.to_owned();
    }
    let is_same_way = (low < 1.0) == (high < 1.0);
    if is_factor(ratio) && is_same_way {
        let times = |ratio: f64| factor(ratio.max(1.0 / ratio));
        return match (ratio < 1.0, low > 0.0) {
            (true, true) => format!("between {} and {} times", times(high), times(low)),
            (true, false) => format!("at least {} times", times(high)),
            (false, _) => format!("between {} and {} times", times(low), times(high)),
        };
    }
    let part = |ratio: f64| percent((ratio.max(0.0) - 1.0).abs());
    if is_same_way {
        let (near, far) = if low < 1.0 { (high, low) } else { (low, high) };
        return format!("between {} and {}", part(near), part(far));
    }
    format!("between {} {} and {} {}", part(low), word(low, is_time), part(high), word(high, is_time))
}

/// All of it for a terminal: the answer, the commands, what else differs, what it rests on.
#[must_use]
pub fn text(versus: &Versus, notes: &[String], all: bool) -> String {
    let mut out = String::new();
    for sentence in answer(versus) {
        let _ = writeln!(out, "{}", hanging(&sentence));
    }
    out.push('\n');
    for line in commands(versus) {
        let _ = writeln!(out, "{}", hanging(&line));
    }
    out.push('\n');
    fitting_table(&mut out, &table(versus), &[1, 2, 3, 4, 5, 6, 7], &[3, 4, 7]);
    let others = versus.comparison.iter().flat_map(|model| model.against.iter().zip(&versus.subjects[1..]));
    for (against, subject) in others {
        beside(&mut out, versus, against, subject, all);
    }
    if versus.comparison.is_none() && all {
        every(&mut out, versus);
    }
    out.push('\n');
    for note in self::notes(versus).iter().chain(notes) {
        let _ = writeln!(out, "{}", hanging(note));
    }
    out
}

/// The commands by their letters; what all of them share is said once.
fn commands(versus: &Versus) -> Vec<String> {
    let command = |subject: &Subject| subject.command.split_whitespace().collect::<Vec<_>>().join(" ");
    let first = versus.subjects.first().map(command).unwrap_or_default();
    let is_shared =
        versus.subjects.len() > 1 && versus.subjects.iter().all(|subject| command(subject) == first);
    let own = |subject: &Subject| {
        let (letter, command) = (subject.letter.to_string(), command(subject));
        // What tells the same command from the one beside it stands behind a comma: at least its letter.
        let of_same = subject.label.strip_prefix(&format!("{command}, "));
        let named = if subject.label == command || of_same == Some(&letter) {
            (!is_shared).then_some(command)
        } else if is_shared {
            Some(of_same.unwrap_or(&subject.label).to_owned())
        } else {
            Some(format!("{}: {command}", of_same.unwrap_or(&subject.label)))
        };
        let named = named.map_or(String::new(), |named| format!("  {named}"));
        format!("{HEADING}{letter}{HEADING:#}{named}")
    };
    let own: Vec<String> = versus.subjects.iter().map(own).collect();
    if !is_shared {
        return own;
    }
    let all = if own.iter().all(|line| !line.contains("  ")) { vec![own.join(", ")] } else { own };
    std::iter::once(format!("of {first}:")).chain(all).collect()
}

/// The times of the commands: means of the blocks.
fn table(versus: &Versus) -> Vec<Vec<String>> {
    let heading = ["", "time", "95 % between", "fastest", "slowest", "user", "system", "memory", "runs"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    let none = || "-".to_owned();
    for subject in &versus.subjects {
        let times = subject.all(names::COMMAND_TIME);
        let found = subject.mean(names::COMMAND_TIME);
        let interval = found.and_then(|(_, interval)| interval);
        let time =
            |figure: f64| value(figure, interval.map(half_of).filter(|half| *half > 0.0), Unit::Nanoseconds);
        let mean = |metric: &str| {
            subject.mean(metric).map_or_else(none, |(mean, _)| value(mean, None, subject.unit(metric).into()))
        };
        rows.push(vec![
            subject.letter.to_string(),
            found.map_or_else(none, |(mean, _)| time(mean)),
            interval.map_or_else(none, |i| format!("{} and {}", time(i.low), time(i.high))),
            times.iter().copied().reduce(f64::min).map_or_else(none, time),
            times.iter().copied().reduce(f64::max).map_or_else(none, time),
            mean("command.user"),
            mean("command.system"),
            mean("command.resident"),
            times.len().to_string(),
        ]);
    }
    rows
}

/// What else differs between a command and the first; what the verdict is about in any case.
fn beside(out: &mut String, versus: &Versus, against: &Against, subject: &Subject, all: bool) {
    let base = versus.subjects[0].letter;
    let is_shown = |line: &&Line| {
        let is_primary = versus.primary.contains(&line.metric);
        let differs = line.claim.is_some_and(|claim| {
            claim.interval.is_some_and(|i| i.low > 1.0 || i.high < 1.0) && claim.p.is_some_and(|p| p < 0.05)
        });
        line.figure == "value" && line.metric != names::COMMAND_TIME && (all || differs || is_primary)
    };
    let mut lines: Vec<&Line> = against.lines.iter().filter(is_shown).collect();
    lines.sort_by_key(|line| !versus.primary.contains(&line.metric));
    if lines.is_empty() {
        return;
    }
    let letter = subject.letter;
    let heading = ["metric", &base.to_string(), &letter.to_string(), &format!("{letter} against {base}"), ""];
    let row = |line: &&Line| {
        let [a, b] = line.means.map(|mean| value(mean, None, line.unit));
        let is_time = is_time(&line.metric);
        let shown = match line.claim.map(|claim| claim.change()) {
            Some((Some(ratio), Some(interval))) if ratio > 0.0 => {
                [change(ratio, is_time), range(ratio, interval, is_time)]
            }
            _ => ["-", ""].map(str::to_owned),
        };
        [vec![line.metric.clone(), a, b], shown.to_vec()].concat()
    };
    out.push('\n');
    let heading = heading.map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> = std::iter::once(heading).chain(lines.iter().map(row)).collect();
    fitting_table(out, &rows, &[1, 2], &[4]);
    if lines.iter().any(|line| !versus.primary.contains(&line.metric)) {
        let rule = format!(
            "metrics without a verdict are judged each for itself: of {:.0} that are the same one is listed by chance",
            1.0 / subject.level
        );
        let _ = writeln!(out, "{}", hanging(&rule));
    }
}

/// Every metric of a single command.
fn every(out: &mut String, versus: &Versus) {
    let mut rows = vec![["metric", "mean", "95 % between"].map(str::to_owned).to_vec()];
    for subject in &versus.subjects {
        for metric in &subject.metrics {
            let Some((mean, interval)) = subject.mean(metric.name.as_str()) else { continue };
            let shown = |figure: f64| value(figure, None, metric.unit.into());
            let between = interval
                .map_or_else(|| "-".to_owned(), |i| format!("{} and {}", shown(i.low), shown(i.high)));
            rows.push(vec![metric.name.as_str().to_owned(), shown(mean), between]);
        }
    }
    out.push('\n');
    fitting_table(out, &rows, &[1, 2], &[]);
}

/// What is to be known of the figures.
#[must_use]
pub fn notes(versus: &Versus) -> Vec<String> {
    let mut notes: Vec<String> = versus.subjects.iter().flat_map(disturbed).collect();
    notes.extend(start(versus));
    for subject in &versus.subjects {
        let codes = subject.other_codes();
        if !codes.is_empty() {
            let (failed, all) = (codes.values().sum::<usize>(), subject.all(names::COMMAND_CODE).len());
            let codes: Vec<String> = codes.keys().map(ToString::to_string).collect();
            notes.push(format!(
                "{}: {failed} of {all} runs failed, with exit code {}",
                subject.letter,
                codes.join(", ")
            ));
        }
        if let Some(first) = subject.failed.first() {
            notes.push(format!(
                "{}: {} gave no figure: {first}",
                subject.letter,
                count(subject.failed.len() as u32, "run")
            ));
        }
    }
    let mut of_sides: Vec<String> = Vec::new();
    for note in versus.comparison.iter().flat_map(|model| model.against.iter().flat_map(words::notes)) {
        if !of_sides.contains(&note) {
            of_sides.push(note);
        }
    }
    notes.extend(of_sides);
    notes
}

/// What starting a process takes of the times.
fn start(versus: &Versus) -> Option<String> {
    let first = versus.subjects.first()?;
    let (mean, interval) = first.mean(names::COMMAND_START)?;
    let (own, _) = first.mean(names::COMMAND_TIME)?;
    let shown = |figure: f64| value(figure, interval.map(half_of), Unit::Nanoseconds);
    let between = interval
        .map_or(String::new(), |i| format!(" (95 %: between {} and {})", shown(i.low), shown(i.high)));
    let rest = if versus.primary.iter().any(|metric| metric == names::COMMAND_NET) {
        "taken off in command.net"
    } else {
        "part of every time; --subtract-start takes it off"
    };
    let (mean, share) = (shown(mean), percent(mean / own));
    Some(format!(
        "starting an empty process takes {mean}{between} beside {}, {share} of its time: {rest}",
        first.letter
    ))
}

/// What disturbed a command.
fn disturbed(subject: &Subject) -> Vec<String> {
    let found = subject.disturbed;
    let mut lines = Vec::new();
    if found.contended > 0 {
        let blocks = format!("in {} of {} blocks", found.contended, found.blocks);
        let when = if found.blocks == 1 { "meanwhile" } else { &blocks };
        lines.push(format!("{}: other tasks were running {when}", subject.letter));
    }
    if found.steal > STEAL {
        lines.push(format!(
            "{}: the hypervisor took {} of the time (steal)",
            subject.letter,
            percent(found.steal)
        ));
    }
    if found.slower > SLOWER {
        lines.push(format!(
            "{}: the processor's pace varied: in the middle {} slower than at its fastest",
            subject.letter,
            percent(found.slower)
        ));
    }
    lines
}
