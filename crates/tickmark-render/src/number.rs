//! Numbers with as many digits as their spread allows, in the unit that suits their size.

use tickmark_analysis::report::Unit;

/// Most significant digits that are ever shown (a batch of .1 ms is stamped to about one part in 10,000),
/// and those of a value without a spread.
const MOST: i32 = 4;
const PLAIN: i32 = 3;

/// A value in its unit; `deviation` says how many digits mean anything.
pub(crate) fn value(value: f64, deviation: Option<f64>, unit: Unit) -> String {
    match unit {
        Unit::Nanoseconds => {
            let (factor, name) = scale(value);
            format!("{} {name}", digits(value / factor, deviation.map(|d| d / factor)))
        }
        Unit::Hz if value > 1e6 => format!("{} MHz", digits(value / 1e6, deviation.map(|d| d / 1e6))),
        Unit::Hz if value > 1e5 => format!("{} kHz", digits(value / 1e3, deviation.map(|d| d / 1e3))),
        Unit::Hz => format!("{value:.3} Hz"),
        Unit::Rate => {
            let (factor, prefix) = if value >= 1e6 {
                (1e6, "M")
            } else if value >= 1e4 {
                (1e3, "k")
            } else {
                (1.0, "")
            };
            format!("{} {prefix}/s", digits(value / factor, deviation.map(|d| d / factor)))
        }
        Unit::Throughput => format!("{} MB/s", digits(value / 1e6, deviation.map(|d| d / 1e6))),
        Unit::Bytes => bytes(value),
        Unit::Ratio => digits(value, deviation),
        Unit::Share => format!("{} %", digits(value * 100.0, deviation.map(|d| d * 100.0))),
        Unit::Count if value.fract() == 0.0 => format!("{value:.0}"),
        Unit::Count => digits(value, deviation),
        Unit::Other(word) => format!("{} {}", digits(value, deviation), word.as_str()),
    }
}

/// A single figure of a metric with its unit.
#[must_use]
pub fn figure(value: f64, unit: tickmark_wire::Unit) -> String {
    self::value(value, None, unit.into())
}

/// Bytes in the unit that divides them best: 64 B, 32 KiB, 128 MiB. (MB/s are 10^6 bytes a second.)
pub(crate) fn bytes(value: f64) -> String {
    let (kilo, mega) = (1024.0, 1_048_576.0);
    match value {
        v if v >= mega => format!("{} MiB", digits(v / mega, Some(0.0))),
        v if v >= kilo => format!("{} KiB", digits(v / kilo, Some(0.0))),
        v => format!("{v:.0} B"),
    }
}

/// A count with its noun.
#[must_use]
pub fn count(count: u32, noun: &str) -> String {
    let plural = if noun.ends_with("ch") { "es" } else { "s" };
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}{plural}") }
}

/// A time with three digits.
#[must_use]
pub fn time(nanos: f64) -> String {
    value(nanos, None, Unit::Nanoseconds)
}

/// How long work takes, as far as that is known before: seconds, or minutes where they are many.
#[must_use]
pub fn rough_time(seconds: f64) -> String {
    if seconds < 90.0 { format!("{seconds:.0} s") } else { format!("{:.0} min", seconds / 60.0) }
}

/// A share in per cent: two digits, none below 0.1 %.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        p if !p.is_finite() => "unknown".to_owned(),
        0.0 => "0 %".to_owned(),
        p if p < 0.1 => "<0.1 %".to_owned(),
        p if p < 9.95 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

/// By how much something changed, of what it is now over what it was; none of what was zero.
pub(crate) fn change(ratio: f64, places: usize) -> String {
    if !ratio.is_finite() {
        return "from zero".to_owned();
    }
    let text = format!("{:+.places$}", (ratio - 1.0) * 100.0);
    // No change has no sign.
    let is_none = text.bytes().all(|byte| matches!(byte, b'0' | b'.' | b'-' | b'+'));
    format!("{} %", if is_none { &text[1..] } else { &text })
}

/// The unit of a time by its size: ns in it, and its name.
fn scale(nanos: f64) -> (f64, &'static str) {
    match nanos.abs() {
        n if n < 999.5 => (1.0, "ns"),
        n if n < 999.5e3 => (1e3, "us"),
        n if n < 999.5e6 => (1e6, "ms"),
        _ => (1e9, "s"),
    }
}

/// A number of three digits.
pub(crate) fn plain(value: f64) -> String {
    digits(value, None)
}

/// The same with its sign.
pub(crate) fn signed(value: f64) -> String {
    if value > 0.0 { format!("+{}", plain(value)) } else { plain(value) }
}

/// A number down to the first digit of its deviation: 20.66 with 0.4 is 20.7, with 4 it is 21. A
/// deviation of zero leaves what is exact, up to four digits.
fn digits(value: f64, deviation: Option<f64>) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let order = value.abs().log10().floor() as i32;
    let most = (MOST - 1 - order).max(0);
    let places = match deviation {
        None => PLAIN - 1 - order,
        Some(d) if d <= 0.0 => most,
        // At least two digits of the value itself.
        Some(d) => (-(d.log10().floor() as i32)).max(1 - order),
    };
    let text = format!("{value:.*}", places.clamp(0, most.min(6)) as usize);
    let exact = deviation.is_some_and(|d| d <= 0.0) && text.contains('.');
    if exact { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_from_zero_is_no_share() {
        assert_eq!([change(1.125, 1), change(0.5, 0)], ["+12.5 %", "-50 %"]);
        assert_eq!([change(f64::INFINITY, 2), change(f64::NAN, 2)], ["from zero", "from zero"]);
    }

    #[test]
    fn the_spread_gives_the_digits() {
        let ns = |v, d| value(v, d, Unit::Nanoseconds);
        assert_eq!(ns(20.6612, Some(0.04)), "20.66 ns");
        assert_eq!(ns(20.6612, Some(0.4)), "20.7 ns");
        assert_eq!(ns(20.6612, Some(4.0)), "21 ns");
        assert_eq!(ns(20.6612, Some(40.0)), "21 ns");
        assert_eq!(ns(0.2709, Some(0.0001)), "0.2709 ns");
        assert_eq!(ns(14_560.0, Some(900.0)), "14.6 us");
        assert_eq!(ns(1_373_000.0, Some(12_000.0)), "1.37 ms");
        assert_eq!(ns(4_000_000.0, Some(0.0)), "4 ms");
        assert_eq!(ns(20.0, Some(0.0)), "20 ns");
        assert_eq!(ns(1.0, None), "1.00 ns");
        assert_eq!(ns(0.0, None), "0 ns");
        assert_eq!(ns(999.9, Some(1.0)), "1.000 us");
        assert_eq!(ns(-350.0, Some(20.0)), "-350 ns");
        assert_eq!(value(250.0002, Some(1.0), Unit::Hz), "250.000 Hz");
        assert_eq!(value(789_587.001, Some(9_000.0), Unit::Hz), "790 kHz");
        assert_eq!(value(83_226.6, Some(300.0), Unit::Rate), "83.2 k/s");
        assert_eq!(value(499.97, Some(2.0), Unit::Rate), "500 /s");
        assert_eq!(value(0.003_71, Some(0.0001), Unit::Share), "0.37 %");
        assert_eq!(value(3.0, None, Unit::Count), "3");
    }

    #[test]
    fn small_shares_are_not_rounded_to_nothing() {
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.0004), "<0.1 %");
        assert_eq!(percent(0.012), "1.2 %");
        assert_eq!(percent(0.89), "89 %");
    }
}
