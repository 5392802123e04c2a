//! One line of an event stream: looked at on its way, parsed once where a figure is made of it.

use crate::{Event, Name, Observations, Observed, RunId, Segment};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;

/// What a line says, without its observations.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// Observations, which nobody needs to read on the way.
    Observed(Glance),
    /// Anything else.
    Event(Event),
}

/// Whose observations a line holds, and under which conditions they were made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glance {
    /// Which run.
    pub run: RunId,
    /// Which metric.
    pub metric: Name,
    /// Of which kind they are.
    pub kind: String,
    /// The conditions meanwhile.
    pub segments: Vec<Segment>,
}

/// The kinds of events that this version knows.
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
/// The kinds of observations that it knows.
const OBSERVATIONS: [&str; 8] =
    ["batches", "latencies", "gaps", "exchanges", "curve", "values", "histogram", "windows"];

impl Said {
    /// Looks at a line. That its observations can be parsed is not looked at: whoever parses them says so.
    ///
    /// # Errors
    /// What is wrong with the line, in words.
    pub fn of(line: &[u8]) -> Result<Self, String> {
        match Glance::quick(line.trim_ascii_end()).or_else(|| Glance::slow(line)) {
            Some(glance) => Ok(Self::Observed(glance)),
            None => Event::parse(line).map(Self::Event),
        }
    }
}

impl Glance {
    /// The beginning and the end of a line as every agent of this project writes it.
    fn quick(line: &[u8]) -> Option<Self> {
        const SEGMENTS: &[u8] = br#"},"segments":["#;
        let rest = line.strip_prefix(br#"{"observed":{"run":"#)?;
        let digits = rest.iter().position(|byte| !byte.is_ascii_digit())?;
        let run = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
        let (metric, rest) = word(rest[digits..].strip_prefix(br#","metric":""#)?)?;
        let rest = match rest.strip_prefix(br#","part":""#) {
            Some(part) => word(part)?.1,
            None => rest,
        };
        let (kind, _) = word(rest.strip_prefix(br#","observations":{""#)?)?;
        let segments = if rest.ends_with(b"}]}}") {
            let at = rest.windows(SEGMENTS.len()).rposition(|window| window == SEGMENTS)?;
            serde_json::from_slice(&rest[at + SEGMENTS.len() - 1..rest.len() - 2]).ok()?
        } else {
            // A line that was cut off is no whole one.
            rest.ends_with(b"}}}").then(Vec::new)?
        };
        Some(Self { run: RunId(run), metric: Name::new(metric), kind: kind.to_owned(), segments })
    }

    /// The same of any line of observations, by reading all of it.
    fn slow(line: &[u8]) -> Option<Self> {
        let Whole { run, metric, observations, segments, .. } = Whole::of(line)?;
        let kind = observations.into_keys().next()?;
        Some(Self { run, metric, kind, segments })
    }
}

/// The text before the next quotation mark, where it holds nothing that JSON would write otherwise; and what follows the mark.
fn word(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'"')?;
    let plain = |byte: &u8| (b' '..=b'~').contains(byte) && *byte != b'\\';
    let text = bytes[..end].iter().all(plain).then(|| std::str::from_utf8(&bytes[..end]).ok())??;
    Some((text, &bytes[end + 1..]))
}

/// A line of observations but for these.
#[derive(Deserialize)]
struct Whole {
    run: RunId,
    metric: Name,
    #[serde(default)]
    part: crate::Part,
    observations: BTreeMap<String, IgnoredAny>,
    #[serde(default)]
    segments: Vec<Segment>,
}

impl Whole {
    fn of(line: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Line {
            observed: Whole,
        }
        let line = serde_json::from_slice::<Line>(line).ok()?.observed;
        (line.observations.len() == 1).then_some(line)
    }

    /// Observations of a kind that a later minor version has.
    fn unknown(self) -> Option<Observed> {
        let Self { run, metric, part, observations, segments } = self;
        let kind = observations.into_keys().next().filter(|kind| !OBSERVATIONS.contains(&kind.as_str()))?;
        Some(Observed { run, metric, part, observations: Observations::Unknown(kind), segments })
    }
}

impl Event {
    /// The event of a line, or the line itself where it is an event of a kind that a newer minor version may have.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        let error = match serde_json::from_slice::<Self>(line) {
            Ok(event) => return Ok(event),
            Err(error) => error,
        };
        if let Some(observed) = Whole::of(line).and_then(Whole::unknown) {
            return Ok(Self::Observed(observed));
        }
        match Self::kind(line) {
            Some(kind) if !KINDS.contains(&kind.as_str()) => {
                Ok(Self::Unknown(String::from_utf8_lossy(line).trim_end().to_owned()))
            }
            Some(kind) => Err(format!("a damaged line of kind {kind} ({error})")),
            None if error.is_eof() => Err("half an event, as a killed run leaves it".to_owned()),
            None => Err("not an event".to_owned()),
        }
    }

    /// The one key of a line that is an object.
    #[must_use]
    pub fn kind(line: &[u8]) -> Option<String> {
        let map = serde_json::from_slice::<BTreeMap<String, IgnoredAny>>(line).ok()?;
        let single = map.len() == 1;
        map.into_keys().next().filter(|_| single)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Nanos, Part};

    #[test]
    fn what_is_new_is_kept_and_what_is_damaged_is_told() {
        let new = br#"{"sang":{"song":7}}"#;
        assert_eq!(Event::parse(new).unwrap(), Event::Unknown(String::from_utf8_lossy(new).into_owned()));
        let damaged = Event::parse(br#"{"observed":{"run":1}}"#).unwrap_err();
        assert!(damaged.contains("damaged line of kind observed"));
        assert!(Event::parse(br#"{"observed":{"ru"#).unwrap_err().contains("half an event"));
        assert!(Event::parse(br#"{"a":1,"b":2}"#).unwrap_err().contains("not an event"));
        // The list of kinds is the wire's own: a run of its lines comes back.
        for kind in KINDS {
            let known = Event::parse(format!("{{\"{kind}\":0}}").as_bytes());
            assert!(known.is_err_and(|why| why.contains(kind)), "{kind}");
        }
    }

    #[test]
    fn observations_of_a_new_kind_are_named_and_of_a_known_kind_damaged() {
        let line = |kind: &str| {
            format!(r#"{{"observed":{{"run":1,"metric":"m","observations":{{"{kind}":[true]}}}}}}"#)
        };
        let Ok(Event::Observed(observed)) = Event::parse(line("spectrum").as_bytes()) else { panic!() };
        assert_eq!(observed.observations, Observations::Unknown("spectrum".to_owned()));
        for kind in OBSERVATIONS {
            assert!(Event::parse(line(kind).as_bytes()).is_err(), "{kind}");
        }
    }

    #[test]
    fn a_glance_says_the_same_of_a_line_as_reading_it() {
        let segment = Segment {
            start: Nanos::ZERO,
            wall: Nanos::new(7),
            cpu: Nanos::new(6),
            others_cpu: Nanos::ZERO,
            run_delay: None,
            steal: None,
            runnable: Some(2),
            multiply: crate::Picos::new(900),
        };
        let with = |metric: &str, part, observations, segments: &[Segment]| {
            let (run, metric, segments) = (RunId(17), Name::new(metric), segments.to_vec());
            serde_json::to_vec(&Event::Observed(Observed { run, metric, part, observations, segments }))
                .unwrap()
        };
        let late = || Observations::Latencies(vec![Nanos::new(5)]);
        let observed = |metric: &str, part| with(metric, part, late(), &[segment]);
        let batches = Observations::Curve(vec![crate::Point { at: 8, observations: late() }]);
        let histogram = Observations::Histogram(crate::Histogram::new(7));
        for part in [Part::Whole, Part::Less] {
            for (observations, kind) in
                [(late(), "latencies"), (batches.clone(), "curve"), (histogram.clone(), "histogram")]
            {
                for segments in [&[][..], &[segment], &[segment, segment]] {
                    let line = with("timer.late", part, observations.clone(), segments);
                    let text = String::from_utf8_lossy(&line).into_owned();
                    let quick = Glance::quick(&line);
                    assert!(quick.is_some() && quick == Glance::slow(&line), "{text}");
                    let Ok(Said::Observed(glance)) = Said::of(&line) else { panic!("{text}") };
                    assert_eq!((glance.kind.as_str(), &glance.segments[..]), (kind, segments), "{text}");
                }
            }
        }
        // What JSON writes otherwise is read as JSON.
        let odd = observed("a\"b", Part::Whole);
        assert_eq!((Glance::quick(&odd), Glance::slow(&odd).unwrap().metric.as_str()), (None, "a\"b"));
        let half = &observed("timer.late", Part::Whole)[..70];
        assert!(Said::of(half).unwrap_err().contains("half an event"));
        let spaced = br#"{ "observed": {"metric":"m", "run": 2, "observations": {"latencies": [1]}} }"#;
        assert!(matches!(Said::of(spaced), Ok(Said::Observed(Glance { run: RunId(2), .. }))));
    }
}
