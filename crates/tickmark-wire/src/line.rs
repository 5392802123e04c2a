//! One line of an event stream: looked at on its way, parsed once where a figure is made of it.

use crate::{Event, Name, Observations, Observed, RunId, Segment};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;

/// Content of a line, without its observations.
#[derive(Debug, Clone, PartialEq)]
pub enum LineContent {
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
const OBSERVATIONS: [&str; 10] = [
    "batches",
    "latencies",
    "gaps",
    "exchanges",
    "curve",
    "values",
    "histogram",
    "windows",
    "loads",
    "tally",
];

impl LineContent {
    /// Looks at a line. What its observations say is left to whoever makes a figure of them; that they are whole JSON is looked at
    /// here.
    ///
    /// # Errors
    /// What is wrong with the line, in words.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        match ObservationLine::parse(line) {
            Some(ObservationLine { run, metric, observations, segments, .. }) => {
                let kind = observations.into_keys().next().unwrap_or_default();
                Ok(Self::Observed(Glance { run, metric, kind, segments }))
            }
            None => Event::parse(line).map(Self::Event),
        }
    }
}

/// A line of observations but for these.
#[derive(Deserialize)]
struct ObservationLine {
    run: RunId,
    metric: Name,
    #[serde(default)]
    part: crate::Part,
    observations: BTreeMap<String, IgnoredAny>,
    #[serde(default)]
    segments: Vec<Segment>,
}

impl ObservationLine {
    fn parse(line: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Line {
            observed: ObservationLine,
        }
        let line = serde_json::from_slice::<Line>(line).ok()?.observed;
        (line.observations.len() == 1).then_some(line)
    }

    /// Observations of a kind that a later minor version has, also those of a curve's points.
    fn unknown(self, line: &[u8]) -> Option<Observed> {
        let Self { run, metric, part, observations, segments } = self;
        let is_new = |kind: &String| !OBSERVATIONS.contains(&kind.as_str());
        let own = observations.into_keys().next()?;
        let kind = if is_new(&own) { own } else { kinds_of_points(line)?.into_iter().find(is_new)? };
        Some(Observed { run, metric, part, observations: Observations::Unknown(kind), segments })
    }
}

/// The kinds of the observations at the points of a curve.
fn kinds_of_points(line: &[u8]) -> Option<Vec<String>> {
    #[derive(Deserialize)]
    struct Point {
        observations: BTreeMap<String, IgnoredAny>,
    }
    #[derive(Deserialize)]
    struct Curve {
        curve: Vec<Point>,
    }
    #[derive(Deserialize)]
    struct Observed {
        observations: Curve,
    }
    #[derive(Deserialize)]
    struct Line {
        observed: Observed,
    }
    let points = serde_json::from_slice::<Line>(line).ok()?.observed.observations.curve;
    Some(points.into_iter().flat_map(|point| point.observations.into_keys()).collect())
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
        if let Some(observed) = ObservationLine::parse(line).and_then(|whole| whole.unknown(line)) {
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
        let curve = r#"{"observed":{"run":1,"metric":"m","observations":{"curve":[{"at":8,"observations":{"haze":1}}]}}}"#;
        let Ok(Event::Observed(observed)) = Event::parse(curve.as_bytes()) else { panic!() };
        assert_eq!(observed.observations, Observations::Unknown("haze".to_owned()));
        for kind in OBSERVATIONS {
            assert!(Event::parse(line(kind).as_bytes()).is_err(), "{kind}");
        }
    }

    #[test]
    fn a_glance_says_whose_observations_a_line_holds_and_that_they_are_whole() {
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
        let point = crate::Point { at: 8, observations: Observations::Latencies(vec![Nanos::new(5)]) };
        let observed = Observed {
            run: RunId(17),
            metric: Name::new("a\"b"),
            part: Part::Less,
            observations: Observations::Curve(vec![point]),
            segments: vec![segment],
        };
        let line = serde_json::to_string(&Event::Observed(observed)).unwrap();
        let glance = |line: &str| match LineContent::parse(line.as_bytes()) {
            Ok(LineContent::Observed(glance)) => {
                Ok((glance.run.0, glance.metric.to_string(), glance.kind, glance.segments.len()))
            }
            Ok(LineContent::Event(event)) => Err(format!("{event:?}")),
            Err(why) => Err(why),
        };
        assert_eq!(glance(&line), Ok((17, "a\"b".to_owned(), "curve".to_owned(), 1)));
        // Of a later minor version, and with its keys in another order.
        let later = line.replace("]}}", "],\"extra\":{\"x\":1}}}");
        assert_eq!(glance(&later), glance(&line));
        let spaced = r#"{ "observed": {"metric":"m", "run": 2, "observations": {"latencies": [1]}} }"#;
        assert_eq!(glance(spaced).unwrap().0, 2);
        // One byte in the middle, and a cut that ends as a whole line does.
        assert!(glance(&line.replace("[5]", "[x]")).unwrap_err().contains("not an event"));
        assert!(glance(&line[..line.find("]},\"segments").unwrap()]).unwrap_err().contains("half an event"));
    }
}
