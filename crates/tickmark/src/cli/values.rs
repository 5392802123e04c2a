//! Values of options: shares, system calls with their errors, times with their units.

use super::stat::ColumnName;
use tickmark_wire::Deny;
pub(super) use tickmark_wire::text::{duration, share};

/// One CPU by its number.
pub(super) fn cpu(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "give the number of one CPU, such as 3: a run measures on one".to_owned())
}

/// Some CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cpus {
    /// From one to another, both included.
    Range(u32, u32),
    /// Those that this program may use.
    All,
}

/// A CPU, a range of them, or all.
pub(super) fn cpus(text: &str) -> Result<Cpus, String> {
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|cpu| *cpu < 1 << 16);
    let range = match text.split_once('-') {
        Some((first, last)) => number(first).zip(number(last)).filter(|(first, last)| first <= last),
        None => number(text).map(|cpu| (cpu, cpu)),
    };
    let known = range.map(|(first, last)| Cpus::Range(first, last)).or((text == "all").then_some(Cpus::All));
    known.ok_or_else(|| "give numbers of CPUs, such as 3 or 0-3, or all".to_owned())
}

/// A quantile of a latency, and what it may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Goal {
    pub(crate) quantile: String,
    pub(crate) micros: i64,
}

/// Such as p99=5ms.
pub(super) fn goal(text: &str) -> Result<Goal, String> {
    let wrong = || {
        "give a quantile and its limit, such as p99=5ms; there are p50, p90, p95, p99 and p99.9".to_owned()
    };
    let (quantile, limit) = text.split_once('=').ok_or_else(wrong)?;
    if !["p50", "p90", "p95", "p99", "p99.9"].contains(&quantile) {
        return Err(wrong());
    }
    let micros = duration(limit)?.get() / 1000;
    if !(1..=60_000_000).contains(&micros) {
        return Err("give a limit from 1us to 60s".to_owned());
    }
    Ok(Goal { quantile: quantile.to_owned(), micros })
}

/// A rate above zero.
pub(super) fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate: &f64| *rate > 0.0 && *rate <= 1e9);
    rate.ok_or_else(|| "give a rate above 0, such as 100".to_owned())
}

/// A confidence such as 95% or 0.99.
pub(super) fn confidence(text: &str) -> Result<f64, String> {
    // As the older tool has it: 95 is 95 %.
    let bare = text.parse::<f64>().is_ok_and(|number| number >= 1.0);
    let share = share(&if bare { format!("{text}%") } else { text.to_owned() })?;
    if (0.5..=0.9999).contains(&share) {
        Ok(share)
    } else {
        Err("give a confidence of 50% to 99.99%".to_owned())
    }
}

/// A column, counted from 1.
pub(super) fn column(text: &str) -> Result<ColumnName, String> {
    match text.parse() {
        Ok(0) => Err("columns are counted from 1".to_owned()),
        Ok(number) => Ok(ColumnName::Number(number)),
        Err(_) if text.is_empty() || text.starts_with('-') => {
            Err("a column is a number from 1 on, or a heading".to_owned())
        }
        Err(_) => Ok(ColumnName::Heading(text.to_owned())),
    }
}

/// A system call, and an error by name.
pub(super) fn deny(text: &str) -> Result<Deny, String> {
    let (call, error) = text.split_once('=').unwrap_or((text, "EPERM"));
    let errno = match error {
        "EPERM" => 1,
        "EAGAIN" => 11,
        "ENOMEM" => 12,
        "EACCES" => 13,
        "EINVAL" => 22,
        "ENOSYS" => 38,
        _ => return Err("give EPERM, EACCES, EAGAIN, EINVAL, ENOMEM or ENOSYS".to_owned()),
    };
    Ok(Deny { call: call.to_owned(), errno })
}

/// A speed in million instructions a second, or the host's.
pub(super) fn speed(text: &str) -> Result<super::Speed, String> {
    if text == "host" {
        return Ok(super::Speed::Host);
    }
    let shift = text.parse().ok().and_then(tickmark_drive::lab::shift);
    shift.map(super::Speed::Mips).ok_or_else(|| format!("{}, or host", tickmark_drive::lab::SPEEDS))
}

/// A part of a tick such as 1/5.
pub(super) fn phase(text: &str) -> Result<(u32, u32), String> {
    let parts = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    parts
        .filter(|(k, n): &(u32, u32)| k < n && *n <= 1000)
        .ok_or_else(|| "give K/N with K below N, such as 1/5".to_owned())
}

/// A fact, and what its value is like.
pub(super) fn fact(text: &str) -> Result<(String, glob::Pattern), String> {
    let (name, pattern) = text.split_once('=').ok_or_else(|| "give NAME=PATTERN".to_owned())?;
    Ok((name.trim().to_owned(), glob::Pattern::new(pattern.trim()).map_err(|error| error.to_string())?))
}

/// A file and what is written to it.
pub(super) fn write_file(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(path, _)| path.starts_with('/'));
    parts
        .map(|(path, content)| (path.to_owned(), content.to_owned()))
        .ok_or_else(|| "give /PATH=CONTENT".to_owned())
}
/// A limit of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum LimitValue {
    /// In ns.
    Time(f64),
    /// A part of one.
    Share(f64),
    /// In the unit of the metric.
    Number(f64),
}

/// METRIC=VALUE.
pub(super) fn limit(text: &str) -> Result<(String, LimitValue), String> {
    let (name, value) = text.rsplit_once('=').ok_or("give METRIC=VALUE, such as syscall.null=200ns")?;
    let plain = || value.parse::<f64>().ok().filter(|number| number.is_finite()).map(LimitValue::Number);
    // Costs are parts of a ns, too.
    let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let time = || {
        let of = |(unit, ns): (&str, f64)| Some(ns * value.strip_suffix(unit)?.parse::<f64>().ok()?);
        let ns = units.into_iter().find_map(of).filter(|ns| ns.is_finite());
        ns.map(LimitValue::Time)
    };
    let part = || value.ends_with('%').then(|| share(value).ok().map(LimitValue::Share)).flatten();
    let number = plain().or_else(part).or_else(time);
    let number = number.ok_or_else(|| {
        format!("{value:?} is neither a time such as 200ns nor a share such as 5% nor a number")
    })?;
    let (LimitValue::Time(size) | LimitValue::Share(size) | LimitValue::Number(size)) = number;
    if size < 0.0 {
        return Err(format!("{value}: no metric is below zero; give a limit of zero or more"));
    }
    if name.is_empty() { Err("give METRIC=VALUE".to_owned()) } else { Ok((name.to_owned(), number)) }
}

/// A slowdown and how often it is to be found.
pub(super) fn detection(text: &str) -> Result<(f64, f64), String> {
    let (slowdown, often) = text.split_once('=').ok_or("give SLOWDOWN=SHARE, such as 5%=80%")?;
    let slowdown = share(slowdown)?;
    let planted = tickmark_analysis::gate::PLANTED;
    match planted.iter().find(|planted| (**planted - slowdown).abs() < 1e-9) {
        Some(planted) => Ok((*planted, share(often)?)),
        None => Err("slowdowns of 1%, 2% and 5% are planted".to_owned()),
    }
}
