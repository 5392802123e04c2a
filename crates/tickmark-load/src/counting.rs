//! A user's count: requests, rows, any work of a command.

use std::process::{Command, Stdio};
use tickmark_probe::{Params, ProbeError};

/// How often what is counted was done meanwhile.
pub(super) struct Count<'a> {
    by: &'a str,
    first: Option<(f64, bool)>,
}

impl<'a> Count<'a> {
    /// Looks for the first time.
    pub(super) fn begin(params: &'a Params) -> Result<Self, ProbeError> {
        let by = params.argument("count");
        Ok(Self { by, first: count(by)? })
    }

    /// And for the second; none where nothing is counted.
    pub(super) fn end(self) -> Result<Option<f64>, ProbeError> {
        let counted = match (self.first, count(self.by)?) {
            // A number that was given is what it does in a window.
            (Some((known, true)), _) => Some(known),
            (Some((before, false)), Some((now, _))) => Some(now - before),
            _ => None,
        };
        match counted.filter(|count| *count < 0.0) {
            Some(less) => Err(ProbeError::Other(format!("what is counted went down by {}", -less))),
            None => Ok(counted),
        }
    }
}

/// Current count: a number that was given (then true), or one that a command prints.
fn count(by: &str) -> Result<Option<(f64, bool)>, ProbeError> {
    if by.is_empty() {
        return Ok(None);
    }
    if let Ok(number) = by.parse() {
        return Ok(Some((number, true)));
    }
    let wrong = |why: String| ProbeError::Other(format!("`{by}`: {why}"));
    let done = Command::new("sh").args(["-c", by]).stdin(Stdio::null()).stderr(Stdio::null()).output();
    let done = done.map_err(|error| wrong(error.to_string()))?;
    let text = String::from_utf8_lossy(&done.stdout).trim().to_owned();
    match text.parse() {
        Ok(number) if done.status.success() => Ok(Some((number, false))),
        _ => Err(wrong(format!("ended with {}, and printed no number", done.status))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_given_or_printed() {
        assert_eq!(count("").unwrap(), None);
        assert_eq!(count("1000").unwrap(), Some((1000.0, true)));
        assert_eq!(count("echo 7").unwrap(), Some((7.0, false)));
        for wrong in ["echo seven", "exit 1", "echo 7; exit 1"] {
            assert!(count(wrong).is_err(), "{wrong}");
        }
    }
}
