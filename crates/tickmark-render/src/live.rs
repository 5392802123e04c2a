//! Live view of each CPU, for a terminal and as JSON.

use crate::number::{percent, time};
use tickmark_analysis::live::{History, LiveQuantity};

/// Heights of a bar, from nothing on.
const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Lengths from a microsecond to ten milliseconds, by their logarithm; those of clock reads from 10 ns to 10 us.
const LENGTHS: (f64, f64) = (1e3, 1e7);
const READS: (f64, f64) = (1e1, 1e4);
/// Timer interrupts a second.
const TIMERS: (f64, f64) = (1.0, 1e4);

/// The heads of [`cells`].
pub const HEADS: [&str; 12] = [
    "CPU",
    "busy",
    "interrupts",
    "steal",
    "timer/s",
    "wake p50",
    "wake max",
    "worst wake",
    "gap max",
    "worst gap",
    "lost",
    "clock read",
];

/// The last second of a CPU, in words.
#[must_use]
pub fn cells(history: &History) -> [String; 12] {
    let of = history.last();
    let share = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), percent);
    let nanos = |nanos: Option<f64>| nanos.map_or_else(|| "-".to_owned(), time);
    [
        history.cpu.to_string(),
        share(of.busy),
        share(of.interrupts),
        share(of.steal),
        of.timer_interrupts.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}")),
        nanos(of.late.map(|late| late.0)),
        nanos(of.late.map(|late| late.1)),
        nanos(Some(history.worst.0).filter(|worst| *worst > 0.0)),
        nanos(of.gaps.map(|gaps| gaps.1)),
        nanos(Some(history.worst.1).filter(|worst| *worst > 0.0)),
        share(of.gaps.map(|gaps| gaps.0)),
        nanos(of.clock),
    ]
}

/// Who had a CPU lately, in a line; none where it was not recorded.
#[must_use]
pub fn occupants(history: &History) -> Option<String> {
    let all = history.occupants.as_ref()?;
    let one = |(who, share): &(String, f64)| format!("{who} {}", percent(*share));
    let words: Vec<String> = all.iter().map(one).collect();
    Some(if words.is_empty() { "nobody".to_owned() } else { words.join(", ") })
}

/// Legend of the bars, with their ends.
#[must_use]
pub const fn shown(what: LiveQuantity) -> &'static str {
    match what {
        LiveQuantity::WakeUp => "the latest wake-up, 1 us to 10 ms",
        LiveQuantity::Gap => "the longest gap, 1 us to 10 ms",
        LiveQuantity::Lost => "share lost to others, 0 to 100 %",
        LiveQuantity::Busy => "share in use, 0 to 100 %",
        LiveQuantity::Timer => "timer interrupts, 1 to 10000 a second",
        LiveQuantity::Clock => "a clock read, 10 ns to 10 us",
    }
}

/// One thing as bars, oldest first: lengths and rates by their logarithm.
#[must_use]
pub fn bars(history: &History, what: LiveQuantity, minutes: bool, width: usize) -> String {
    let all = history.latest(what, minutes, width);
    let range = match what {
        LiveQuantity::WakeUp | LiveQuantity::Gap => Some(LENGTHS),
        LiveQuantity::Timer => Some(TIMERS),
        LiveQuantity::Clock => Some(READS),
        LiveQuantity::Lost | LiveQuantity::Busy => None,
    };
    let level = |value: &f64| {
        let share = match range {
            Some((low, high)) => (value.max(low).ln() - low.ln()) / (high.ln() - low.ln()),
            None => *value,
        };
        LEVELS[if *value > 0.0 { 1 + (share * 7.0).round().clamp(0.0, 7.0) as usize } else { 0 }]
    };
    let bars: String = all.iter().map(level).collect();
    format!("{}{bars}", " ".repeat(width - all.len()))
}

/// Its own cost, in a line.
#[must_use]
pub fn cost(own: f64) -> String {
    format!("this view takes {} of one CPU", percent(own))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickmark_analysis::live::Point;

    #[test]
    fn a_cpu_is_a_row_and_its_latencies_are_bars() {
        let mut history = History::new(5);
        for late in [800, 60_000, 20_000_000] {
            let counted = Point {
                busy: Some(0.25),
                timer_interrupts: Some(250.4),
                clock: Some(22.0),
                ..Point::default()
            };
            history.add(Point::from_counts(&[late], &[3_000], [0, 100_000], counted));
        }
        let row = cells(&history);
        assert_eq!(row[..2], ["5".to_owned(), "25 %".to_owned()]);
        assert_eq!((row[3].as_str(), row[4].as_str(), row[7].as_str()), ("-", "250", "20.0 ms"));
        assert_eq!(bars(&history, LiveQuantity::WakeUp, false, 6), "   ▁▄█");
        assert_eq!(bars(&history, LiveQuantity::WakeUp, true, 4), "    ");
        assert_eq!(bars(&history, LiveQuantity::Busy, false, 4), " ▃▃▃");
        assert!(LiveQuantity::ALL.iter().all(|what| bars(&history, *what, false, 3).chars().count() == 3));
        let line =
            crate::json::value(&crate::json::LiveLine::new(jiff::Timestamp::UNIX_EPOCH, &[history], 0.012));
        assert_eq!(
            (&line["cpus"][0]["wake_up"]["max"], &line["own_share_of_a_cpu"]),
            (&2e7.into(), &0.012.into())
        );
        assert!(cost(0.012).contains("1.2 %"));
    }
}
