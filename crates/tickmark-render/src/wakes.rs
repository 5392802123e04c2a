//! How late programs were woken, as text and as JSON.

use crate::fold::wrapped;
use crate::grid::lines;
use crate::late;
use crate::number::{percent, time};
use anstyle::Style;
use std::fmt::Write;
use tickmark_analysis::wakes::{Limit, Met, Refused, WaitMethodRow, WakeUpSummary, Wakes};

const HEADING: Style = Style::new().bold();
pub(crate) const QUANTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)];
/// Those of the text, which has to fit a terminal.
const SHOWN: [(&str, f64); 4] = [QUANTILES[0], QUANTILES[2], QUANTILES[3], QUANTILES[4]];

/// A table of the distributions, and one of what is certain of the tails.
#[must_use]
pub fn text(wakes: &Wakes) -> String {
    let observed: Vec<(&WaitMethodRow, &WakeUpSummary)> =
        wakes.ways.iter().filter_map(|way| Some((way, way.summary.as_ref().ok()?))).collect();
    let mut out = String::new();
    if let Some(answer) = answer(&observed, wakes) {
        let _ = writeln!(out, "{}\n", wrapped(&answer, 0).join("\n"));
    }
    for late in wakes.late.iter().flatten() {
        let _ = writeln!(out, "{}\n", wrapped(&late::summary(late), 0).join("\n"));
    }
    // Those that some way has enough wake-ups for.
    let known = |(_, q): &(&str, f64)| observed.iter().any(|(_, observed)| observed.quantile(*q).is_some());
    let shown: Vec<(&str, f64)> = SHOWN.into_iter().filter(known).collect();
    let any_early = observed.iter().any(|(_, observed)| observed.early > 0.0);
    let heading = std::iter::once("wake-up latency").chain(shown.iter().map(|(name, _)| *name));
    let heading = heading.chain(["max"]).chain(any_early.then_some("early")).chain(["CPU"]);
    let heading: Vec<String> = heading.map(str::to_owned).collect();
    let row = |(way, observed): &(&WaitMethodRow, &WakeUpSummary)| {
        let at = |(_, q): &(&str, f64)| observed.quantile(*q).map_or_else(|| "-".to_owned(), signed);
        let early = if observed.early > 0.0 { rarely(observed.early) } else { "0".to_owned() };
        let cells = std::iter::once(way.title.clone()).chain(shown.iter().map(at));
        let cells = cells.chain([signed(observed.worst())]).chain(any_early.then_some(early));
        cells.chain([observed.cpu.map_or_else(|| "-".to_owned(), time)]).collect()
    };
    let width = heading.len();
    table(&mut out, heading, observed.iter().map(row), width);
    if let Some((_, first)) = observed.first() {
        // What all have: the longest of each is its own.
        let lengths: Vec<f64> = first.limits.iter().map(|limit| limit.length).collect();
        let common = |length: &&f64| {
            let has = |(_, observed): &(&WaitMethodRow, &WakeUpSummary)| {
                observed.limits.iter().any(|limit| limit.length == **length)
            };
            observed.iter().all(has)
        };
        let lengths: Vec<f64> = lengths.iter().filter(common).copied().collect();
        let _ = writeln!(out);
        let heading = format!("later, at most ({} conf.)", percent(wakes.confidence));
        let heading = std::iter::once(heading).chain(lengths.iter().map(|length| time(*length)));
        let heading: Vec<String> = heading.chain(std::iter::once("its max".to_owned())).collect();
        let width = heading.len();
        let row = |(way, observed): &(&WaitMethodRow, &WakeUpSummary)| {
            let limit = |length: f64| {
                let known = observed.limits.iter().find(|limit| limit.length == length);
                known.map_or_else(String::new, |limit| rarely(limit.share))
            };
            let cells = std::iter::once(way.title.clone()).chain(lengths.iter().copied().map(limit));
            cells.chain(std::iter::once(limit(observed.worst()))).collect()
        };
        table(&mut out, heading, observed.iter().map(row), width);
        if let Some(bound) = wakes.bound {
            let recorded = if wakes.late.iter().any(Result::is_ok) {
                " (--duration; a third more, as the kernel's events are recorded in a quarter, of at most a minute a run)"
            } else {
                " (--duration)"
            };
            let about = format!(
                "How long to measure{recorded}, all ways of a CPU together, to show that at most {} are later; never where more are:",
                rarely(bound)
            );
            let _ = writeln!(out, "\n{}", wrapped(&about, 0).join("\n"));
            let heading = "later than".to_owned();
            let all = wakes.interval.map(|interval| interval * wakes.in_turns as f64);
            let heading =
                std::iter::once(heading).chain(lengths.iter().map(|length| time(*length))).collect();
            let row = |(way, observed): &(&WaitMethodRow, &WakeUpSummary)| {
                let until = |length: &f64| {
                    let limit = observed.limits.iter().find(|limit| limit.length == *length);
                    limit.map_or_else(String::new, |limit| how_long(limit, all))
                };
                std::iter::once(way.title.clone()).chain(lengths.iter().map(until)).collect()
            };
            table(&mut out, heading, observed.iter().map(row), lengths.len() + 1);
        }
        let _ = writeln!(out);
    }
    for late in wakes.late.iter().flatten() {
        let _ = writeln!(out, "{}", late::tables(late));
    }
    // Those of which nothing can be said, by the reason.
    let mut unsaid: Vec<(&str, Vec<&str>)> = Vec::new();
    for (way, observed) in &observed {
        match beyond(way, observed, wakes) {
            Ok(text) => {
                let _ = writeln!(out, "{}", wrapped(&text, 0).join("\n"));
            }
            Err(why) => match unsaid.iter_mut().find(|(known, _)| *known == why) {
                Some((_, titles)) => titles.push(&way.title),
                None => unsaid.push((why, vec![&way.title])),
            },
        }
    }
    for (why, titles) in unsaid {
        let titles = if titles.len() == observed.len() && titles.len() > 1 {
            "any of them".to_owned()
        } else {
            titles.join(", ")
        };
        let text = format!("No estimate beyond the longest latency observed, for {titles}: {why}.");
        let _ = writeln!(out, "{}", wrapped(&text, 0).join("\n"));
    }
    for way in &wakes.ways {
        if let Err(why) = &way.summary {
            let _ = writeln!(
                out,
                "\n{}",
                wrapped(&format!("{} was not measured: {why}", way.title), 0).join("\n")
            );
        }
    }
    let counts = || observed.iter().map(|(_, observed)| observed.late.as_slice().len());
    let counts = match (counts().min(), counts().max()) {
        (Some(least), Some(most)) if least < most => format!("{least} to {most} wake-ups each. "),
        (Some(count), _) => format!("{} each. ", crate::number::count(count as u32, "wake-up")),
        _ => String::new(),
    };
    let ahead = wakes.interval.map(time);
    let ahead = ahead.map_or_else(String::new, |ahead| format!("Times {ahead} ahead on average. "));
    let note = "CPU: CPU time of the process for each wake-up. Timer slack (50 us unless --slack or a real-time priority says otherwise) is in the sleeps \
        of clock_nanosleep, std, ppoll, epoll_pwait2 and futex; the Sleeper asks for 1 ns. Upper limits by Clopper and Pearson; late wake-ups come in clusters, so fewer independent \
        ones are counted. The limits hold for conditions such as these alone.";
    let _ = writeln!(out, "\n{}", wrapped(&format!("{ahead}{counts}{note}"), 0).join("\n"));
    let notes = wakes.late.iter().flat_map(|late| match late {
        Ok(late) => late::notes(late, wakes.confidence),
        Err(why) => vec![late::without_events(why)],
    });
    for note in notes {
        let _ = writeln!(out, "{}", wrapped(&note, 0).join("\n"));
    }
    out
}

/// The wake-up that ended a measurement, and what ran meanwhile.
#[must_use]
pub fn met(met: &Met) -> String {
    let place = met.cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
    let listed = |all: Vec<String>| {
        if all.is_empty() { "nothing that the kernel reports".to_owned() } else { all.join(", ") }
    };
    let counted = met.counted.iter().map(|(name, more)| format!("{name} {more}")).collect();
    format!(
        "woken {} late{place}, {:.6} s after the beginning\nran there since its time: {}\ncounted there since it began to wait: {}",
        time(met.late),
        met.at / 1e9,
        listed(met.tasks.clone()),
        listed(counted)
    )
}

fn table(out: &mut String, heading: Vec<String>, rows: impl Iterator<Item = Vec<String>>, columns: usize) {
    for (number, line) in lines(std::iter::once(heading).chain(rows), 1..columns).into_iter().enumerate() {
        let _ =
            if number == 0 { writeln!(out, "{HEADING}{line}{HEADING:#}") } else { writeln!(out, "{line}") };
    }
}

/// How long to measure, or how many wake-ups where their distance is not known.
fn how_long(limit: &Limit, interval: Option<f64>) -> String {
    match (limit.needs, interval) {
        (None, _) => "never".to_owned(),
        (Some(needs), Some(interval)) => time(needs * interval),
        (Some(needs), None) => format!("{needs:.0} wake-ups"),
    }
}

/// Three digits of a number, rounded up: an upper limit.
fn rounded_up(number: f64) -> f64 {
    let step = 10f64.powf(number.max(1.0).log10().floor() - 2.0).max(1.0);
    (number / step).ceil() * step
}

/// What a person who waits wants to know first: of the sleep that most programs use, and which way is the least and the most late.
fn answer(observed: &[(&WaitMethodRow, &WakeUpSummary)], wakes: &Wakes) -> Option<String> {
    // Of several CPUs the one with the latest.
    let sleeps = observed.iter().filter(|(way, _)| way.title.rsplit(": ").next() == Some("clock_nanosleep"));
    let usual = sleeps.max_by(|a, b| a.1.worst().total_cmp(&b.1.worst())).or(observed.first())?;
    let (way, of_usual) = usual;
    let known = [(0.5, "in the median"), (0.99, "at p99")]
        .into_iter()
        .filter_map(|(q, words)| Some(format!("{} {words}", signed(of_usual.quantile(q)?))));
    let worst = format!("{} at worst", signed(of_usual.worst()));
    let all = of_usual.late.as_slice().len();
    let late: Vec<String> = known.chain([worst]).collect();
    let mut text = format!("{}: wake-up latency {}, of {all} wake-ups", way.title, late.join(", "));
    // The limit of the largest length that is not its own longest.
    let limit = of_usual.limits.iter().filter(|limit| limit.length != of_usual.worst());
    if let Some(limit) = limit.max_by(|a, b| a.length.total_cmp(&b.length)) {
        let seen = if limit.count == 0 { "None".to_owned() } else { limit.count.to_string() };
        let (length, sure) = (time(limit.length), percent(wakes.confidence));
        let at_most = |wakes: f64| rounded_up((limit.share * wakes).ceil());
        text += &match wakes.interval {
            Some(interval) => format!(
                ". {seen} came later than {length}; in the next hour, with a wait each {}, expect at most {:.0} ({sure} confidence)",
                time(interval),
                at_most(3.6e12 / interval)
            ),
            None => {
                format!(
                    ". {seen} came later than {length}; of 10,000 more expect at most {:.0} ({sure} confidence)",
                    at_most(1e4)
                )
            }
        };
    }
    let medians =
        observed.iter().filter_map(|(way, observed)| Some((way, observed, observed.quantile(0.5)?)));
    let least = medians.min_by(|a, b| a.2.total_cmp(&b.2));
    let most = observed.iter().max_by(|a, b| a.1.worst().total_cmp(&b.1.worst()));
    if let (Some((first, own, median)), Some((last, worst)), true) = (least, most, observed.len() > 1) {
        text += &format!(
            ". Least late in the median: {} ({}{}); latest of all: {} ({})",
            first.title,
            signed(median),
            own.cpu.map_or_else(String::new, |cpu| format!(", for {} of CPU time each", time(cpu))),
            last.title,
            signed(worst.worst())
        );
    }
    Some(text + ".")
}

/// Estimate beyond the latest wake-up.
///
/// # Errors
/// Why there is none.
fn beyond(way: &WaitMethodRow, observed: &WakeUpSummary, wakes: &Wakes) -> Result<String, &'static str> {
    let title = &way.title;
    match &observed.beyond {
        Ok(extreme) => {
            let (value, limit) = (time(extreme.value), time(extreme.limit));
            let confidence = percent(wakes.confidence);
            Ok(format!(
                "{title}: of ten times as many wake-ups one is expected later than {value} (at most {limit}, {confidence} conf.)."
            ))
        }
        Err(why) => Err(refused(*why)),
    }
}

pub(crate) fn refused(why: Refused) -> &'static str {
    match why {
        Refused::TooFew => "too few late wake-ups",
        Refused::NotStationary => "late ones came more often or became later in some part of the time",
        Refused::NoFit => "late ones are not distributed as the fit has them",
    }
}

/// A time that may be negative: early.
fn signed(nanos: f64) -> String {
    if nanos < 0.0 { format!("-{}", time(-nanos)) } else { time(nanos) }
}

/// An upper limit of a share that may be very small, with three digits, rounded up.
fn rarely(share: f64) -> String {
    if share >= 0.001 {
        return percent(share);
    }
    let digits = 2i32.saturating_sub((share * 100.0).log10().floor() as i32).clamp(0, 15);
    let step = 10f64.powi(digits);
    let up = (share * 100.0 * step * (1.0 - 1e-12)).ceil() / step;
    format!("{up:.digits$} %", digits = digits as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickmark_analysis::wakes::Extreme;
    use tickmark_stats::Sorted;

    fn summary_of(late: &[f64], cpu: Option<f64>) -> WakeUpSummary {
        let late = Sorted::new(late.iter().copied());
        let limit = |length: f64| Limit {
            length,
            count: 2,
            share: 1e3 / (length + 1e4),
            needs: (length > 5e5).then_some(3e5),
        };
        let worst = *late.as_slice().last().unwrap();
        let beyond = match cpu {
            Some(_) => Ok(Extreme { value: 4.2e6, limit: 9e6, shape: 0.1 }),
            None => Err(Refused::TooFew),
        };
        WakeUpSummary {
            early: 0.002,
            cpu,
            runs: 2,
            limits: vec![limit(1e5), limit(1e6), limit(worst)],
            beyond,
            last: late.as_slice()[0],
            late,
        }
    }

    #[test]
    fn a_page_fits_a_terminal() {
        let way = |title: &str, observed: Result<WakeUpSummary, String>| WaitMethodRow {
            metric: "timer.wake.x".to_owned(),
            title: title.to_owned(),
            summary: observed,
        };
        let many: Vec<f64> = (0..12_000).map(|number| f64::from(number) * 321.0 - 7_000.0).collect();
        let ways = vec![
            way("Sleeper, tickmark-timer", Ok(summary_of(&many, Some(37_123.0)))),
            way("clock_nanosleep", Ok(summary_of(&[5e4, 6e4, 7.5e6], None))),
            way("io_uring timeout", Err("io_uring_setup: Operation not permitted".to_owned())),
        ];
        let page = text(&Wakes {
            ways,
            confidence: 0.95,
            bound: Some(0.01),
            in_turns: 3,
            interval: Some(500_000.0),
            late: Vec::new(),
        });
        assert!(page.lines().all(|line| line.chars().count() <= 92), "{page}");
        insta::assert_snapshot!(page);
    }

    #[test]
    fn several_cpus_begin_with_the_sleep_that_was_latest() {
        let on = |cpu: u32, title: &str, latest: f64| {
            let late: Vec<f64> = (0..2_000).map(|number| f64::from(number) * latest / 2_000.0).collect();
            let title = title.to_owned();
            let way = WaitMethodRow {
                metric: format!("timer.wake.{title}"),
                title,
                summary: Ok(summary_of(&late, None)),
            };
            let wakes = Wakes {
                ways: vec![way],
                confidence: 0.95,
                bound: Some(0.01),
                in_turns: 1,
                interval: Some(500_000.0),
                late: Vec::new(),
            };
            (Some(cpu), wakes)
        };
        let all = vec![
            on(0, "spinning", 900.0),
            on(1, "clock_nanosleep", 5e4),
            on(2, "clock_nanosleep", 7e6),
            on(3, "clock_nanosleep", 6e4),
        ];
        let wakes = Wakes::together(all).unwrap();
        assert!(text(&wakes).starts_with("CPU 2: clock_nanosleep: wake-up latency "), "{}", text(&wakes));
        assert_eq!(wakes.in_turns, 1, "they wait at the same time");
    }
}
