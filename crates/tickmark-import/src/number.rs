//! Numbers and names as other programs print them.

use tickmark_wire::{Better, Printed, Unit, Word};

/// A name of a metric from a title: small letters, digits, dots and underscores.
pub(super) fn named(title: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c.to_ascii_lowercase() } else { '_' };
    title.trim().chars().map(plain).collect::<String>().trim_matches('_').to_owned()
}

/// The first number of a text. Commas between groups of three digits separate thousands; a single other one is the decimal
/// point of some languages; what is neither is no number.
pub(super) fn first_number(text: &str) -> Option<Printed> {
    let from = text.find(|c: char| c.is_ascii_digit())?;
    // A number may begin with its point.
    let from = if text[..from].ends_with('.') { from - 1 } else { from };
    let negative = text[..from].ends_with('-');
    let rest = &text[from..];
    let end = rest.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',')).unwrap_or(rest.len());
    let digits = rest[..end].trim_end_matches(['.', ',']);
    let signed = |number: Printed| if negative { number * -1.0 } else { number };
    let after = &rest[digits.len()..];
    if digits == "0" && after.starts_with(['x', 'X']) {
        let word = rest.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        return Printed::parse(word.as_bytes()).map(signed);
    }
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let groups: Vec<&str> = whole.split(',').collect();
    let thousands = groups.len() > 1
        && groups[0].len() <= 3
        && !groups[0].starts_with('0')
        && groups[1..].iter().all(|group| group.len() == 3);
    let plain = match (groups.len(), thousands) {
        (1, _) => digits.to_owned(),
        (_, true) if !part.contains(',') => digits.replace(',', ""),
        (2, false) if part.is_empty() => digits.replace(',', "."),
        _ => return None,
    };
    Printed::parse((plain + exponent(after)).as_bytes()).map(signed)
}

/// The power of ten that follows the digits of a number.
fn exponent(after: &str) -> &str {
    let Some(rest) = after.strip_prefix(['e', 'E']) else { return "" };
    let signs = usize::from(rest.starts_with(['+', '-']));
    let digits = rest[signs..].bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 { &after[..1 + signs + digits] } else { "" }
}

/// A part of a metric's name from another program's name: as it is, but for blanks and signs that have a meaning in patterns and lists.
pub(super) fn label(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "._-/=+:()@#".contains(c) { c } else { '_' };
    name.trim().chars().map(plain).take(200).collect()
}

/// A percentile's name in a metric: p99_9 of "99.900".
pub(super) fn percentile(percent: &str) -> String {
    let percent =
        if percent.contains('.') { percent.trim_end_matches('0').trim_end_matches('.') } else { percent };
    format!("p{}", percent.replace('.', "_"))
}

/// Units by their printed names: the unit of recordings (ns, B, B/s, 1/s, Hz, share), and the factor to it. KB and MB are powers of 1,000,
/// KiB and MiB of 1,024.
#[must_use]
pub fn unit(word: &str) -> Option<(Unit, f64)> {
    let times: &[(&[&str], f64)] = &[
        (&["ps"], 1e-3),
        (&["ns", "nsec", "nsecs", "nanosecond", "nanoseconds"], 1.0),
        (&["us", "\u{b5}s", "\u{3bc}s", "usec", "usecs", "microsecond", "microseconds"], 1e3),
        (&["ms", "msec", "msecs", "millisecond", "milliseconds"], 1e6),
        (&["s", "sec", "secs", "second", "seconds"], 1e9),
        (&["min", "minutes"], 60e9),
        (&["h", "hours"], 3600e9),
    ];
    let sizes = [("", 1.0), ("k", 1e3), ("K", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)];
    let binary = [("Ki", 1024.0), ("Mi", 1_048_576.0), ("Gi", 1_073_741_824.0), ("Ti", 1_099_511_627_776.0)];
    if let Some((_, factor)) = times.iter().find(|(names, _)| names.contains(&word)) {
        return Some((Unit::Time, *factor));
    }
    let prefixed = |rest: &str| {
        let known = |(prefix, factor): (&str, f64)| (prefix == rest).then_some(factor);
        sizes.into_iter().chain(binary).find_map(known)
    };
    let (head, a_second) = match word.split_once('/') {
        Some((head, "s" | "sec" | "second")) => (head, true),
        Some(_) => return None,
        None => (word.strip_suffix("ps").unwrap_or(word), word.ends_with("ps")),
    };
    let of = |size, throughput| if a_second { throughput } else { size };
    match head {
        "%" if !a_second => return Some((Unit::Share, 0.01)),
        "bytes" | "byte" => return Some((of(Unit::Bytes, Unit::Throughput), 1.0)),
        "ops" | "op" | "req" | "requests" | "events" | "transactions" | "msgs" | "messages" | ""
            if a_second =>
        {
            return Some((Unit::Rate, 1.0));
        }
        _ => {}
    }
    if let Some(factor) = head.strip_suffix("Hz").and_then(prefixed) {
        return Some((Unit::Frequency, factor));
    }
    if let Some(factor) = head.strip_suffix("bit").or(head.strip_suffix("bits")).and_then(prefixed) {
        return a_second.then_some((Unit::Throughput, factor / 8.0));
    }
    // Small letters are bits: Mbps, Mb/s.
    if let Some(factor) = head.strip_suffix('b').filter(|_| a_second).and_then(prefixed) {
        return Some((Unit::Throughput, factor / 8.0));
    }
    let factor = head.strip_suffix('B').and_then(prefixed)?;
    Some((of(Unit::Bytes, Unit::Throughput), factor))
}

/// A number with its unit behind it, apart or not, in the unit of recordings: "12.92ms", "3.4 MB/s".
pub(super) fn quantity(text: &str) -> Option<(Printed, Unit)> {
    let text = text.trim();
    let sign = usize::from(text.starts_with(['-', '+']));
    // A range and a date have a sign in the middle, and are no number.
    let end = sign + text[sign..].find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ','))?;
    let number = first_number(&text[..end])?;
    let (unit, factor) = unit(text[end..].split_whitespace().next()?)?;
    Some((number * factor, unit))
}

/// The same of a text that has nothing else in it: "1min 30.5s" and "12.1ms ok" are none.
pub(super) fn whole_quantity(text: &str) -> Option<(Printed, Unit)> {
    // How far it spreads is another number.
    let text = ["\u{b1}", "+-", "+/-"].iter().find_map(|mark| Some(text.split_once(mark)?.0)).unwrap_or(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_whole = match words[..] {
        [_] => true,
        [number, _] => number.bytes().all(|b| b.is_ascii_digit() || b"+-.,".contains(&b)),
        _ => false,
    };
    quantity(text).filter(|_| is_whole)
}

/// The unit that the heading of a column says, its factor, and which way is better: `latency (us)`, `latency [us]`, `time_ms`, `ms`,
/// `requests_per_sec`; none where it says none.
pub(super) fn heading_unit(name: &str) -> Option<(Unit, f64, Better)> {
    let in_brackets = name.rsplit_once(['(', '[']).map(|(_, word)| word.trim_end_matches([')', ']']));
    // "latency (min)" is a least one.
    if let Some(word) = in_brackets.filter(|word| *word != "min" && unit(word).is_some()) {
        return Some(unit_or_word(word));
    }
    let words: Vec<&str> = name.split('_').collect();
    match words[..] {
        [.., amount, "per", "s" | "sec" | "second"] => {
            let (unit, factor, better) = unit_or_word(&format!("{amount}/s"));
            // More of what nobody knows may be worse: errors.
            let better = if matches!(unit, Unit::Other(_)) { Better::Neither } else { better };
            Some((unit, factor, better))
        }
        // "ops_per_ms", "iters_ms" and "MB_sec" are no times.
        [.., before, "ns" | "us" | "ms" | "sec"] if is_amount(before) => None,
        [.., word @ ("ns" | "us" | "ms" | "sec")] => Some(unit_or_word(word)),
        _ => None,
    }
}

/// True of a word that is counted or weighed, so that what follows is a part of a rate.
fn is_amount(word: &str) -> bool {
    // "time_per_op_ms" is one operation's.
    if matches!(word, "op" | "req") {
        return false;
    }
    // In small letters, too: "mb_sec".
    let is_size = |word: &str| unit(word).is_some_and(|(unit, _)| matches!(unit, Unit::Bytes));
    is_size(word)
        || is_size(&word.to_uppercase())
        || matches!(word, "kib" | "mib" | "gib" | "mbit" | "gbit" | "bits")
        || matches!(word, "per" | "iters" | "iterations" | "calls" | "queries" | "rows" | "reqs" | "txns")
        || unit(&format!("{word}/s")).is_some_and(|(unit, _)| unit != Unit::Time)
}

/// The time in a text such as "12.92ms", in ns.
pub(super) fn time(text: &str) -> Option<Printed> {
    quantity(text).filter(|(_, unit)| *unit == Unit::Time).map(|(time, _)| time)
}

/// A unit as another program names it, with the factor to the unit of recordings, and which way is better: less of a time or of something an
/// operation takes, more of something a second.
pub(super) fn unit_or_word(word: &str) -> (Unit, f64, Better) {
    let base = word.strip_suffix("/op").or(word.strip_suffix("/iter")).unwrap_or(word);
    let (unit, factor) = unit(base).unwrap_or_else(|| (Unit::Other(Word::new(word)), 1.0));
    let better = match unit {
        Unit::Time | Unit::Bytes => Better::Lower,
        Unit::Rate | Unit::Throughput => Better::Higher,
        Unit::Other(_) if base != word => Better::Lower,
        Unit::Other(_) if word.ends_with("/s") || word.ends_with("/sec") => Better::Higher,
        _ => Better::Neither,
    };
    (unit, factor, better)
}

/// A duration as Go prints it, in ns: 1h2m3.5s, 1m2.5s, 12.3ms.
pub(super) fn go_duration(text: &str) -> Option<Printed> {
    if let Some(plain) =
        time(text).filter(|_| !text.trim_end_matches("ms").contains('m') && !text.contains('h'))
    {
        return Some(plain);
    }
    let (mut rest, mut sum, mut step) = (text.trim(), 0.0, 0.0);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number = Printed::parse(&rest.as_bytes()[..end])?;
        let unit_end = rest[end..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |at| end + at);
        let nanos = match &rest[end..unit_end] {
            "h" => 3600e9,
            "m" => 60e9,
            word => unit(word).filter(|(unit, _)| *unit == Unit::Time)?.1,
        };
        (sum, step) = (sum + number.value * nanos, number.step * nanos);
        rest = &rest[unit_end..];
    }
    (!text.trim().is_empty()).then_some(Printed { value: sum, step })
}

/// A number whose decimal mark is a comma, with a point: points may stand before groups of three digits alone. None of other texts.
pub fn with_point(text: &str) -> Option<String> {
    let (whole, fraction) = text.split_once(',').unwrap_or((text, ""));
    let (first, groups) =
        whole.split_once('.').map_or((whole, Vec::new()), |(first, rest)| (first, rest.split('.').collect()));
    let are_groups = groups.iter().all(|group| group.len() == 3 && group.bytes().all(|b| b.is_ascii_digit()));
    let is_plain = groups.is_empty() || first.trim_start_matches(['-', '+']).len() <= 3;
    // "0.123" has no thousands.
    let is_fraction = !groups.is_empty() && first.trim_start_matches(['-', '+']).starts_with('0');
    if !are_groups || !is_plain || is_fraction || fraction.contains(['.', ',']) {
        return None;
    }
    let whole = format!("{first}{}", groups.concat());
    Some(if fraction.is_empty() { whole } else { format!("{whole}.{fraction}") })
}

/// Orders names with numbers in them by these: size=2 before size=12.
#[must_use]
pub fn natural_order(a: &str, b: &str) -> std::cmp::Ordering {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    while let (Some(x), Some(y)) = (a.first(), b.first()) {
        let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (m, n) = (digits(a), digits(b));
        let order = if m > 0 && n > 0 {
            let (own, other) = (&a[..m], &b[..n]);
            (a, b) = (&a[m..], &b[n..]);
            m.cmp(&n).then_with(|| own.cmp(other))
        } else {
            (a, b) = (&a[1..], &b[1..]);
            x.cmp(y)
        };
        if order.is_ne() {
            return order;
        }
    }
    a.len().cmp(&b.len())
}
