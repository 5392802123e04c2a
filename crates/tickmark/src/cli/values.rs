//! Values of options: shares, system calls with their errors, times with their units.

use std::time::Duration;
use tickmark_wire::{Deny, Nanos};

/// One CPU by its number.
pub(super) fn cpu(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "give the number of one CPU, such as 3: a run measures on one".to_owned())
}

/// A share such as 1% or 0.01.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let (number, factor) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 0.01));
    let share = number.trim().parse::<f64>().map_err(|_| format!("{number} is no number"))? * factor;
    if share > 0.0 && share < 1.0 { Ok(share) } else { Err("give a share such as 1% or 0.01".to_owned()) }
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
pub(super) fn column(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "columns are counted from 1".to_owned())
}

/// A system call that a probe names, and an error by name.
pub(super) fn deny(text: &str) -> Result<Deny, String> {
    let (call, error) = text.split_once('=').unwrap_or((text, "EPERM"));
    let known = tickmark_probe::Syscall::ALL.iter().any(|known| known.name() == call);
    if !known {
        return Err(format!("no probe names {call}; `tickmark list --syscalls` has them all"));
    }
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
    let shift = text.parse().ok().and_then(crate::lab::shift);
    shift.map(super::Speed::Mips).ok_or_else(|| format!("{}, or host", crate::lab::SPEEDS))
}

/// A part of a tick such as 1/5.
pub(super) fn phase(text: &str) -> Result<(u32, u32), String> {
    let parts = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    parts
        .filter(|(k, n): &(u32, u32)| k < n && *n <= 1000)
        .ok_or_else(|| "give K/N with K below N, such as 1/5".to_owned())
}

/// A file and what is written to it.
pub(super) fn write_file(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(path, _)| path.starts_with('/'));
    parts
        .map(|(path, content)| (path.to_owned(), content.to_owned()))
        .ok_or_else(|| "give /PATH=CONTENT".to_owned())
}

/// A time with its unit: 60s, 1.5s, 500ms, 50us, 1ns, 2min.
pub(crate) fn duration(text: &str) -> Result<Nanos, String> {
    let digits = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "min" => 60e9,
        _ => return Err("give a time with its unit, such as 60s, 500ms, 50us, 1ns".to_owned()),
    };
    let number: f64 = number.trim().parse().map_err(|_| format!("{number} is no number"))?;
    let nanos = number * factor;
    if !(1.0..=86_400e9).contains(&nanos) {
        return Err("give a time from 1ns to 24 hours".to_owned());
    }
    Ok(Nanos::from(Duration::from_nanos(nanos as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_between_none_and_all() {
        assert_eq!((share("1%"), share("0.01"), share("2.5 %")), (Ok(0.01), Ok(0.01), Ok(0.025)));
        for wrong in ["", "%", "0", "100%", "-1%", "NaN", "one"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_need_their_unit() {
        assert_eq!(duration("1.5s"), Ok(Nanos::new(1_500_000_000)));
        assert_eq!(duration("50us"), Ok(Nanos::new(50_000)));
        for wrong in ["60", "", "s", "-1s", "0s", "1e99s", "NaNs", "5 parsecs"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
