//! Commands side by side: which is faster, by how much, how sure.

use crate::comparison::words;
use crate::grid::{fitting_table, hanging};
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
    let unit = Unit::from(subject.unit(metric));
    let Some(found) = subject.estimate(metric) else {
        return format!("{}: no figure of {metric}", subject.label);
    };
    let shown = |figure: f64| value(figure, Some((found.interval.high - found.interval.low) / 2.0), unit);
    let (takes, of) = if metric == names::COMMAND_TIME {
        ("takes", String::new())
    } else {
        ("has", format!(" of {metric}"))
    };
    format!(
        "{} {takes} {}{of} ({:.0} %: between {} and {}; {})",
        subject.label,
        shown(found.point),
        found.confidence * 100.0,
        shown(found.interval.low),
        shown(found.interval.high),
        count(subject.all(metric).len() as u32, "run")
    )
}

/// A verdict in words.
fn verdict(line: &Line, against: &Against, [base, other]: [char; 2], margin: f64) -> String {
    let is_time = [names::COMMAND_TIME, names::COMMAND_NET].contains(&line.metric.as_str());
    let about = if is_time { String::new() } else { format!("{}: ", line.metric) };
    let pairs = count(line.replicates[0] as u32, "pair");
    let (ratio, interval) = line.claim.map_or((line.ratio, None), |claim| claim.change());
    let range = interval.map_or(String::new(), |interval| format!("95 %: {}; ", range(interval, is_time)));
    let by = ratio.map_or(String::new(), |ratio| change(ratio, is_time));
    let limit = percent(margin);
    match line.word {
        Word::Beyond | Word::Changed => format!("{about}{other} is {by} than {base} ({range}{pairs})"),
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
            format!("{about}{base} and {other} cannot be told apart yet ({range}{pairs}); {more}")
        }
    }
}

/// A ratio to the base, as faster or slower, higher or lower; a factor where it is large.
fn change(ratio: f64, is_time: bool) -> String {
    let word = word(ratio, is_time);
    if ratio >= FACTOR {
        return format!("{ratio:.2} times {}", if is_time { "slower" } else { "higher" });
    }
    if ratio > 0.0 && ratio <= 1.0 / FACTOR {
        return format!("{:.2} times {}", 1.0 / ratio, if is_time { "faster" } else { "lower" });
    }
    format!("{} {word}", percent((ratio - 1.0).abs()))
}

fn word(ratio: f64, is_time: bool) -> &'static str {
    match (ratio < 1.0, is_time) {
        (true, true) => "faster",
        (false, true) => "slower",
        (true, false) => "lower",
        (false, false) => "higher",
    }
}

/// Where a ratio lies.
fn range(Interval { low, high }: Interval, is_time: bool) -> String {
    let outside = |ratio: f64| ratio >= FACTOR || ratio <= 1.0 / FACTOR;
    if outside(low) || outside(high) {
        return format!("between {low:.2} and {high:.2} of it");
    }
    let part = |ratio: f64| percent((ratio - 1.0).abs());
    if (low < 1.0) == (high < 1.0) {
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
    let first = versus.subjects.first().map_or("", |subject| subject.command.as_str());
    let shared = versus.subjects.len() > 1 && versus.subjects.iter().all(|subject| subject.command == first);
    let own = |subject: &Subject| {
        let letter = format!("{HEADING}{}{HEADING:#}", subject.letter);
        let label = subject
            .label
            .strip_prefix(&subject.command)
            .map_or(subject.label.as_str(), |rest| rest.trim_start_matches(", "));
        match (shared, label) {
            (true, label) if label.len() == 1 => letter,
            (true, label) => format!("{letter}  {label}"),
            (false, "") => format!("{letter}  {}", subject.command),
            (false, label) => format!("{letter}  {label}: {}", subject.command),
        }
    };
    let own: Vec<String> = versus.subjects.iter().map(own).collect();
    if !shared {
        return own;
    }
    let all = if own.iter().all(|line| !line.contains("  ")) { vec![own.join(", ")] } else { own };
    std::iter::once(format!("of {first}:")).chain(all).collect()
}

/// The times of the commands.
fn table(versus: &Versus) -> Vec<Vec<String>> {
    let heading = ["", "time", "95 % between", "fastest", "slowest", "user", "system", "memory", "runs"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for subject in &versus.subjects {
        let times = subject.all(names::COMMAND_TIME);
        let deviation =
            subject.estimate(names::COMMAND_TIME).map(|e| (e.interval.high - e.interval.low) / 2.0);
        let time = |figure: f64| value(figure, deviation.filter(|d| *d > 0.0), Unit::Nanoseconds);
        let middle = |metric: &str| {
            let unit = Unit::from(subject.unit(metric));
            subject.estimate(metric).map_or("-".to_owned(), |found| value(found.point, None, unit))
        };
        let estimate = subject.estimate(names::COMMAND_TIME);
        rows.push(vec![
            subject.letter.to_string(),
            estimate.map_or("-".to_owned(), |found| time(found.point)),
            estimate.map_or("-".to_owned(), |found| {
                format!("{} and {}", time(found.interval.low), time(found.interval.high))
            }),
            times.iter().copied().reduce(f64::min).map_or("-".to_owned(), time),
            times.iter().copied().reduce(f64::max).map_or("-".to_owned(), time),
            middle("command.user"),
            middle("command.system"),
            middle("command.resident"),
            times.len().to_string(),
        ]);
    }
    rows
}

/// What else differs between a command and the first.
fn beside(out: &mut String, versus: &Versus, against: &Against, subject: &Subject, all: bool) {
    let base = versus.subjects[0].letter;
    let other = |line: &&Line| {
        let is_own = line.figure == "value" && !versus.primary.contains(&line.metric);
        let differs = line.claim.is_some_and(|claim| {
            claim.interval.is_some_and(|i| i.low > 1.0 || i.high < 1.0) && claim.p.is_some_and(|p| p < 0.05)
        });
        is_own && (all || differs) && line.means.iter().any(|mean| *mean != 0.0)
    };
    let lines: Vec<&Line> = against.lines.iter().filter(other).collect();
    if lines.is_empty() {
        return;
    }
    let heading = [
        "beside".to_owned(),
        base.to_string(),
        subject.letter.to_string(),
        format!("{} against {base}", subject.letter),
    ];
    let mut rows = vec![heading.to_vec()];
    rows.extend(lines.iter().map(|line| {
        let [a, b] = line.means.map(|mean| value(mean, None, line.unit));
        let shown = match line.claim.map(|claim| claim.change()) {
            Some((Some(ratio), Some(interval))) => {
                format!("{} ({})", change(ratio, false), range(interval, false))
            }
            _ => "-".to_owned(),
        };
        vec![line.metric.clone(), a, b, shown]
    }));
    out.push('\n');
    fitting_table(out, &rows, &[1, 2], &[]);
    let _ = writeln!(
        out,
        "{}",
        hanging("each judged for itself, at 95 %: of twenty that are the same one is listed by chance")
    );
}

/// Every metric of a single command.
fn every(out: &mut String, versus: &Versus) {
    let mut rows = vec![["metric", "median", "95 % between"].map(str::to_owned).to_vec()];
    for subject in &versus.subjects {
        for metric in &subject.metrics {
            let Some(found) = subject.estimate(metric.name.as_str()) else { continue };
            let shown = |figure: f64| value(figure, None, metric.unit.into());
            let between = format!("{} and {}", shown(found.interval.low), shown(found.interval.high));
            rows.push(vec![metric.name.as_str().to_owned(), shown(found.point), between]);
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
    let all: Vec<f64> =
        versus.subjects.iter().flat_map(|subject| subject.blocks(names::COMMAND_START)).collect();
    let found = tickmark_stats::median_of_runs(&all)?;
    let own = first.estimate(names::COMMAND_TIME)?.point;
    let shown = |figure: f64| value(figure, None, Unit::Nanoseconds);
    let rest = if versus.primary.iter().any(|metric| metric == names::COMMAND_NET) {
        "taken off in command.net"
    } else {
        "part of every time; --subtract-start takes it off"
    };
    Some(format!(
        "starting an empty process takes {} (95 %: between {} and {}), {} of {}'s time: {rest}",
        shown(found.point),
        shown(found.interval.low),
        shown(found.interval.high),
        percent(found.point / own),
        first.letter
    ))
}

/// What disturbed a command.
fn disturbed(subject: &Subject) -> Vec<String> {
    let found = subject.disturbed;
    let mut lines = Vec::new();
    if found.contended > 0 {
        lines.push(format!(
            "{}: other tasks had CPUs in {} of {} blocks",
            subject.letter, found.contended, found.blocks
        ));
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
