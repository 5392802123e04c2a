//! Cost of a slower clock for a server, as text.

use crate::fold::wrapped;
use crate::grid::{fitting_table, table};
use crate::number::{count as count_of, percent, time};
use anstyle::Style;
use std::fmt::Write;
use tickmark_analysis::dose::{CONFIDENCE, Dosed, KNOWN, Verdict};
use tickmark_stats::Interval;

const HEADING: Style = Style::new().bold();
/// Additional time of a query with the slower clock in timecounter-cost.txt, ns: 1/13710.22 s less 1/15160.35 s.
const DOCUMENT_GAP: f64 = 6980.0;

/// A table of doses, the slope beside the count, and what other clocks would cost.
#[must_use]
pub fn text(dosed: &Dosed) -> String {
    let mut out = format!("{HEADING}{}{HEADING:#}\n", dosed.server);
    let what = if dosed.is_number { "a transaction" } else { "CPU, a transaction" };
    let dose = if dosed.operation.is_some() { "operations a read" } else { "read longer by" };
    let counted = if dosed.in_kernel { "" } else { "by count" };
    let heading = [dose, "delivered", "reads", what, "more", "95 %", counted];
    let number = |asked: f64| if dosed.operation.is_some() { format!("{asked:.0}") } else { time(asked) };
    let first = [&number(0.0), &time(dosed.none), &reads(dosed.reads), &time(dosed.cost), "", "", ""]
        .map(str::to_owned)
        .to_vec();
    let rows = dosed.rows.iter().map(|row| {
        let half = row
            .interval
            .map_or_else(String::new, |interval| format!("±{}", time((interval.high - interval.low) / 2.0)));
        vec![
            row.nominal.map_or_else(|| "system call".to_owned(), number),
            time(row.delivered),
            reads(row.reads),
            time(dosed.cost + row.more),
            signed(row.more),
            half,
            if dosed.in_kernel { String::new() } else { signed(row.predicted) },
        ]
    });
    let rows: Vec<Vec<String>> =
        [heading.map(str::to_owned).to_vec(), first].into_iter().chain(rows).collect();
    for line in wrapped(&verdict(dosed), 2) {
        let _ = writeln!(out, "{line}");
    }
    out.push('\n');
    fitting_table(&mut out, &rows, &[1, 2, 3, 4, 5, 6], &[1, 2]);
    out.push('\n');
    predictions(&mut out, dosed);
    let untold = untold(dosed, number);
    for text in [untold, notes(dosed)].iter().filter(|text| !text.is_empty()) {
        for line in wrapped(text, 0) {
            let _ = writeln!(out, "{line}");
        }
    }
    out
}

/// Doses that are each not distinguished from no change, where the slope over all of them is above 0.
fn untold(dosed: &Dosed, number: impl Fn(f64) -> String) -> String {
    let holds_zero = |interval: &Interval| interval.low <= 0.0 && interval.high >= 0.0;
    let alone = dosed.rows.iter().filter(|row| row.interval.as_ref().is_some_and(holds_zero));
    let doses: Vec<String> = alone.filter_map(|row| row.nominal).map(number).collect();
    let is_told = dosed.slope.is_some_and(|slope| slope.interval(CONFIDENCE).low > 0.0);
    if doses.is_empty() || !is_told {
        return String::new();
    }
    let unit = if dosed.operation.is_some() { " operations" } else { "" };
    let (which, are) = if doses.len() == 1 { ("dose", "is") } else { ("doses", "are each") };
    format!(
        "The {which} of {}{unit} {are} not distinguished from no change; the slope over all doses gives what such a dose costs.",
        doses.join(", ")
    )
}

fn signed(nanos: f64) -> String {
    if nanos < 0.0 { format!("-{}", time(-nanos)) } else { format!("+{}", time(nanos)) }
}

fn ends(interval: Interval, text: fn(f64) -> String) -> String {
    format!("{} to {}", text(interval.low), text(interval.high))
}

/// A number of reads.
fn reads(number: f64) -> String {
    match number.abs() {
        size if size < 1.0 => format!("{number:.3}"),
        size if size < 100.0 => format!("{number:.2}"),
        _ => format!("{number:.0}"),
    }
}

/// The mechanism that prevents scheduling, where that was not requested.
fn keeps_out(dosed: &Dosed) -> &'static str {
    let is = |name: &str, value: &str| dosed.arguments.get(name).is_some_and(|argument| argument == value);
    if is("place", "same") && is("connections", "1") && is("connection", "keep-alive") {
        "."
    } else {
        " (--place same --connections 1 --connection keep-alive keeps that out)."
    }
}

fn verdict(dosed: &Dosed) -> String {
    let counted = reads(dosed.reads);
    let (Some(slope), Some(verdict)) = (dosed.slope, dosed.verdict()) else {
        return format!(
            "Clock reads for each transaction: {counted} counted. No slope: give two blocks or more, and doses that differ."
        );
    };
    let said = match verdict {
        Verdict::Agree if dosed.reads == 0.0 => {
            "The interval holds 0, as it has to: no read was seen, and nothing was made longer."
        }
        Verdict::Agree if dosed.is_calibrated => {
            "They agree: the interval holds 1, as where each counted read is waited for."
        }
        Verdict::Agree => {
            "They agree: the interval holds 1 to 10 %, to which it is known here what a ns of a longer read is charged with, as where each counted read is waited for."
        }
        Verdict::Undecided => {
            "The interval is too wide to say whether they agree: more blocks or larger doses narrow it."
        }
        Verdict::More => {
            "They disagree: a slower clock costs more than the counted reads: some were not seen, others wait for a reader, or a busier server sleeps and wakes otherwise"
        }
        Verdict::Scheduling => "",
        Verdict::Less if dosed.in_kernel => {
            "The others are the client's, interrupts' and those of the rest of the machine."
        }
        Verdict::Less => {
            "They disagree: a slower clock costs less than the counted reads: some hide where the server waits, or a busier server sleeps and wakes less often"
        }
    };
    let said = match dosed.scheduling().filter(|_| verdict == Verdict::Scheduling) {
        Some(more) => format!(
            "The slope is no number of reads: how often the server slept or was preempted changed with the dose, which may make {} ns of it for each ns that a read takes longer. \
             It is what a slower clock costs in this arrangement{}",
            reads(more),
            keeps_out(dosed)
        ),
        None if matches!(verdict, Verdict::More) || verdict == Verdict::Less && !dosed.in_kernel => {
            format!("{said}{}", keeps_out(dosed))
        }
        None => said.to_owned(),
    };
    let each = dosed.each.filter(|_| dosed.reads > 0.0).map_or_else(String::new, |each| {
        let ends = ends(each.interval(CONFIDENCE), reads);
        format!(" Each ns that the counted reads took longer cost {} ns ({ends}).", reads(each.point))
    });
    format!(
        "Clock reads for each transaction: {counted} counted, {} by the slope ({}, {}).{each} {said}",
        reads(slope.point),
        ends(slope.interval(CONFIDENCE), reads),
        percent(CONFIDENCE),
    )
}

/// Predictions for other clocks: a label, and the additional time of a read, ns.
pub(crate) fn clocks(dosed: &Dosed) -> Vec<(String, f64)> {
    if let Some((_, each)) = &dosed.operation {
        let more = |count: f64| (format!("{} more", count_of(count as u32, "operation")), count * each);
        return [1.0, 10.0, 100.0, 1000.0].map(more).to_vec();
    }
    let known = KNOWN.iter().map(|(name, longer)| ((*name).to_owned(), *longer));
    let [plain, call] = dosed.read;
    // Of the module's clock source each read is one already.
    let call = (!dosed.in_kernel)
        .then(|| (format!("by a system call ({}; without vDSO more)", time(call)), call - plain));
    let source =
        |(name, cost): &(String, f64)| (format!("by {name} ({}, measured here)", time(*cost)), cost - plain);
    known.chain(call).chain(dosed.sources.iter().map(source)).collect()
}

fn predictions(out: &mut String, dosed: &Dosed) {
    // Of reads that were not seen nothing can be said.
    if dosed.reads == 0.0 {
        return;
    }
    let share = |share: f64| {
        // Losses are below 0.
        let text = percent(share.abs());
        if share > 0.0 { format!("-{text}") } else { format!("+{text}") }
    };
    let row = |(name, longer): &(String, f64)| {
        let by_slope = dosed
            .lost(*longer)
            .map_or_else(String::new, |lost| format!("{} to {}", share(lost.low), share(lost.high)));
        vec![name.clone(), dosed.lost_by_count(*longer).map_or_else(String::new, share), by_slope]
    };
    let heading = ["transactions/s, each clock read", "by count", "by slope (95 %)"];
    let clocks = clocks(dosed);
    table(out, std::iter::once(heading.map(str::to_owned).to_vec()).chain(clocks.iter().map(row)), 1..3);
}

fn notes(dosed: &Dosed) -> String {
    let mut text = format!(
        "\nMeans of {} blocks; in each every dose once, in random order, while the server served {:.0} transactions a second without a dose. ",
        dosed.blocks, dosed.rate
    );
    text += if dosed.is_number {
        "The time is the number that the command printed, the median of each slice. "
    } else {
        "CPU time is that of all processes of the server that were there at a slice's end; what those that ended in it used is missing. "
    };
    if dosed.is_calibrated {
        text += "The slope is divided by what a ns of a longer read is charged with, by the thread's own clock (one read in 32). ";
    }
    if dosed.arguments.get("place").is_some_and(|place| place != "same") {
        text += "The CPUs were kept from idling meanwhile: rates and losses are those beside busy CPUs. ";
    }
    if let Some((name, each)) = &dosed.operation {
        let gap = DOCUMENT_GAP / each;
        let _ = write!(
            text,
            "One operation ({name}) took {}. The {} a query that the document found between two clocks would take {gap:.0} of them{}. How many a transaction makes itself is not \
             counted here, as compilers put them into what calls them (`tickmark clock-reads --calls NAME` counts those that are functions with a name): that a slower clock has more of them done stays untested. ",
            time(*each),
            time(DOCUMENT_GAP),
            if dosed.reads > 0.0 {
                format!(", {:.0} for each of the counted reads", gap / dosed.reads)
            } else {
                String::new()
            },
        );
    }
    text += "A dose of 0 takes the same code path as the others, and what that takes is no part of what is predicted. What a second loses is predicted for a server whose CPUs are all in use; one with idle CPUs loses less. ";
    text += if dosed.in_kernel {
        "Every read of the clock source of the whole machine was made longer and counted: this server's, those that the kernel makes for it (timers, TCP), and all others meanwhile, ticks and the \
         client's among them. What the slope tells is the server's alone, so that it may be below the count."
    } else {
        "Reads are those of the clock source by clock_gettime and gettimeofday through the C library; those of the kernel (timers, TCP) are not dosed."
    };
    for why in &dosed.blind {
        let _ = write!(text, " This program {why}: such reads were neither counted nor made longer.");
    }
    for (name, count) in &dosed.faults {
        let _ = write!(text, " Failed: {count} {name}.");
    }
    text
}
