//! Links between machines: what agents say to the program that has them measure each other in pairs, and what it tells them. A line of words each,
//! as the small agent has no room for more.

use crate::Nanos;
use std::time::Duration;

/// An agent that is ready: the first thing that it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Here {
    /// Its machine, as the launcher calls it.
    pub node: String,
    /// Its version.
    pub agent: String,
    /// The port at which it listens for others.
    pub port: u16,
    /// Its address in the network that was asked for; none is the one that it comes from.
    pub address: Option<String>,
}

/// Stands for none.
const NONE: &str = "-";

impl Here {
    /// As a line.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{} {} {} {}", self.agent, self.port, self.address.as_deref().unwrap_or(NONE), self.node)
    }

    /// Parses a line; none where it is of another kind.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let (agent, port) = (words.next()?.to_owned(), words.next()?.parse().ok()?);
        let (address, node) = (known_word(words.next()?), words.next()?.to_owned());
        Some(Self { node, agent, port, address })
    }
}

fn known_word(word: &str) -> Option<String> {
    Some(word).filter(|word| *word != NONE).map(str::to_owned)
}

/// The next word as a number.
fn number(words: &mut std::str::Split<'_, char>) -> Option<i64> {
    words.next()?.parse().ok()
}

/// Nothing takes longer.
const MOST: Nanos = Nanos::new(60_000_000_000);

/// For how long each is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Trips of a byte.
    pub trips: Nanos,
    /// A stream, each way.
    pub stream: Nanos,
}

impl Times {
    /// As a line.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{} {}", self.trips.get(), self.stream.get())
    }

    /// Parses a line; none where it is of another kind, or has no time.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        Self::parse_words(&mut line.split(' '))
    }

    fn parse_words(words: &mut std::str::Split<'_, char>) -> Option<Self> {
        let times = Self { trips: Nanos::new(number(words)?), stream: Nanos::new(number(words)?) };
        let is_time = |time: Nanos| (Nanos::ZERO..=MOST).contains(&time);
        (is_time(times.trips) && is_time(times.stream)).then_some(times)
    }

    /// Duration of all of it.
    #[must_use]
    pub fn all(&self) -> Duration {
        self.trips.to_duration() + 2 * self.stream.to_duration()
    }
}

/// An order to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Ask who listens there; none is to answer who asks.
    pub ask: Option<String>,
    /// How long.
    pub times: Times,
}

impl Order {
    /// As a line.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{} {}", self.times.line(), self.ask.as_deref().unwrap_or(NONE))
    }

    /// Parses a line; none where it is of another kind.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        Some(Self { times: Times::parse_words(&mut words)?, ask: known_word(words.next()?) })
    }
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Of who asked.
    AskingSide(Link),
    /// Of who answered.
    Answered(Side),
    /// It could not, and why.
    Failed(String),
}

impl Reply {
    /// As a line.
    #[must_use]
    pub fn line(&self) -> String {
        match self {
            Self::AskingSide(link) => {
                let mut numbers = vec![link.made as i64];
                for flow in [link.there, link.back] {
                    numbers.extend([flow.bytes as i64, flow.time.get()]);
                }
                numbers.extend(link.side.numbers());
                numbers.extend(link.trips.iter().map(|trip| i64::from(*trip)));
                words("asked", &numbers)
            }
            Self::Answered(side) => words("answered", &side.numbers()),
            // In one line, whatever it says.
            Self::Failed(why) => format!("failed {}", why.replace('\n', " ")),
        }
    }

    /// Parses a line; none where it is of another kind.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let (kind, rest) = line.split_once(' ')?;
        if kind == "failed" {
            return Some(Self::Failed(rest.to_owned()));
        }
        let numbers: Option<Vec<i64>> = rest.split(' ').map(|word| word.parse().ok()).collect();
        match (kind, &numbers?[..]) {
            ("answered", side) => Side::from_numbers(side).map(Self::Answered),
            ("asked", [made, bytes, time, bytes_back, time_back, rest @ ..]) if rest.len() > SIDE => {
                let flow = |bytes: i64, time| {
                    Some(Flow { bytes: u64::try_from(bytes).ok()?, time: Nanos::new(time) })
                };
                let (side, trips) = rest.split_at(SIDE);
                Some(Self::AskingSide(Link {
                    trips: trips.iter().map(|trip| u32::try_from(*trip).ok()).collect::<Option<_>>()?,
                    made: u64::try_from(*made).ok()?,
                    there: flow(*bytes, *time)?,
                    back: flow(*bytes_back, *time_back)?,
                    side: Side::from_numbers(side)?,
                }))
            }
            _ => None,
        }
    }
}

fn words(kind: &str, numbers: &[i64]) -> String {
    numbers.iter().fold(kind.to_owned(), |line, number| line + " " + &number.to_string())
}

/// Observations of the requesting side.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Link {
    /// Ns that a byte was on its way there and back, evenly taken from all.
    pub trips: Vec<u32>,
    /// How many trips there were.
    pub made: u64,
    /// The stream to the other machine.
    pub there: Flow,
    /// The stream from it.
    pub back: Flow,
    /// This side.
    pub side: Side,
}

/// A stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flow {
    /// Received bytes.
    pub bytes: u64,
    /// In this time.
    pub time: Nanos,
}

impl Flow {
    /// Bytes a second.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        (self.time > Nanos::ZERO).then(|| self.bytes as f64 / (self.time.get() as f64 / 1e9))
    }
}

/// Disturbance of one side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Side {
    /// Segments that its kernel sent again (tcp(7), TCP_INFO).
    pub resent: u64,
    /// How long its task stood runnable without a CPU; none where the kernel does not say.
    pub waited: Option<Nanos>,
    /// How long it took in all.
    pub took: Nanos,
}

/// Numbers of a side.
const SIDE: usize = 3;

impl Side {
    fn numbers(&self) -> [i64; SIDE] {
        [self.resent as i64, self.waited.map_or(-1, Nanos::get), self.took.get()]
    }

    fn from_numbers(numbers: &[i64]) -> Option<Self> {
        let [resent, waited, took] = *numbers else { return None };
        let waited = (waited >= 0).then(|| Nanos::new(waited));
        Some(Self { resent: u64::try_from(resent).ok()?, waited, took: Nanos::new(took) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn side() -> impl Strategy<Value = Side> {
        (0u64..1 << 60, proptest::option::of(0i64..1 << 60), 0i64..1 << 60).prop_map(
            |(resent, waited, took)| Side { resent, waited: waited.map(Nanos::new), took: Nanos::new(took) },
        )
    }

    fn flow() -> impl Strategy<Value = Flow> {
        (0u64..1 << 60, 0i64..1 << 60).prop_map(|(bytes, time)| Flow { bytes, time: Nanos::new(time) })
    }

    proptest! {
        #[test]
        fn what_is_said_is_heard(
            trips in proptest::collection::vec(any::<u32>(), 1..300), made in 0u64..1 << 60,
            there in flow(), back in flow(), side in side(), why in "[^\n]{1,80}", trip in 0i64..60_000_000_000,
        ) {
            for reply in [Reply::AskingSide(Link { trips, made, there, back, side }), Reply::Answered(side), Reply::Failed(why)] {
                prop_assert_eq!(Reply::parse(&reply.line()), Some(reply));
            }
            let times = Times { trips: Nanos::new(trip), stream: Nanos::ZERO };
            for order in [Order { ask: None, times }, Order { ask: Some("[::1]:80".to_owned()), times }] {
                prop_assert_eq!(Order::parse(&order.line()), Some(order));
            }
            let here = Here { node: "n\u{1b}1".to_owned(), agent: "1.2".to_owned(), port: 7, address: None };
            prop_assert_eq!(Here::parse(&here.line()), Some(here));
        }

        #[test]
        fn any_line_is_refused_or_understood(line in ".{0,80}") {
            let _ = (Here::parse(&line), Order::parse(&line), Reply::parse(&line));
        }
    }

    #[test]
    fn no_time_is_endless_or_before_it_begins() {
        assert!(
            Times::parse("1 -1").is_none()
                && Times::parse("60000000001 0").is_none()
                && Times::parse("1").is_none()
        );
        assert!(Reply::parse("asked 1 2 3 4 5 6 7 8").is_none(), "without a trip there is nothing");
    }
}
