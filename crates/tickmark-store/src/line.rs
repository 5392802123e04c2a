//! One line of an event stream.

use tickmark_wire::Event;

/// The kinds that this version knows.
const KINDS: [&str; 10] = [
    "hello",
    "refused",
    "imported",
    "started",
    "observed",
    "finished",
    "skipped",
    "failed",
    "timed_out",
    "goodbye",
];

/// The event of a line, or the line itself where it is an event of a kind that a newer minor version may have.
///
/// # Errors
/// What is wrong with it, in words.
pub fn parse(line: &[u8]) -> Result<Event, String> {
    let error = match serde_json::from_slice::<Event>(line) {
        Ok(event) => return Ok(event),
        Err(error) => error,
    };
    match kind(line) {
        Some(kind) if !KINDS.contains(&kind.as_str()) => {
            Ok(Event::Unknown(String::from_utf8_lossy(line).trim_end().to_owned()))
        }
        Some(kind) => Err(format!("a damaged line of kind {kind} ({error})")),
        None if error.is_eof() => Err("half an event, as a killed run leaves it".to_owned()),
        None => Err("not an event".to_owned()),
    }
}

/// The one key of a line that is an object.
pub(super) fn kind(line: &[u8]) -> Option<String> {
    let map = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(line).ok()?;
    map.keys().next().filter(|_| map.len() == 1).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_is_kept_and_what_is_damaged_is_told() {
        let new = br#"{"sang":{"song":7}}"#;
        assert_eq!(parse(new).unwrap(), Event::Unknown(String::from_utf8_lossy(new).into_owned()));
        assert!(parse(br#"{"observed":{"run":1}}"#).unwrap_err().contains("damaged line of kind observed"));
        assert!(parse(br#"{"observed":{"ru"#).unwrap_err().contains("half an event"));
        assert!(parse(br#"{"a":1,"b":2}"#).unwrap_err().contains("not an event"));
        // The list of kinds is the wire's own: a run of its lines comes back.
        for kind in KINDS {
            let known = parse(format!("{{\"{kind}\":0}}").as_bytes());
            assert!(known.is_err_and(|why| why.contains(kind)), "{kind}");
        }
    }
}
