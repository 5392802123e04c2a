//! A link between two machines, measured from both ends of a TCP connection: trips of a byte, then a stream each way. Who asks leads.

use crate::session::{LOOK, Lobby, Server, Session, Token};
use crate::sys::usage::Accounts;
use crate::sys::{hosts, net};
use std::io::{Error, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};
use tickmark_timer::monotonic_ns;
use tickmark_wire::Nanos;
use tickmark_wire::links::{Flow, Link, Side, Times};

/// A stream goes in blocks of so many bytes, of which the first says whether another follows.
const BLOCK: usize = 64 << 10;
const LAST: u8 = 1;
/// Trips that are kept, and first ones that are not.
const KEPT: usize = 200;
const FIRST: usize = 20;
/// Request of the client for trips.
const TRIP: u8 = b't';
const TAKE: u8 = b'<';
const GIVE: u8 = b'>';
/// Who says nothing for so long is gone.
const SILENT: Duration = Duration::from_secs(5);

/// Counts what disturbs this side from now on.
struct Watch {
    accounts: Accounts,
    waited: Option<Nanos>,
    begun: u64,
}

impl Watch {
    fn begin() -> Self {
        let mut accounts = Accounts::open(&[]);
        let waited = accounts.run_delay();
        Self { accounts, waited, begun: monotonic_ns() }
    }

    fn end(mut self, stream: &TcpStream) -> Side {
        let now = self.accounts.run_delay();
        let waited = now.zip(self.waited).map(|(now, before)| Nanos::new(now.get() - before.get()));
        let took = Nanos::new((monotonic_ns() - self.begun) as i64);
        Side { resent: net::sent_again(stream.as_fd()) as u64, waited, took }
    }
}

/// Measures the link to the agent that listens there.
///
/// # Errors
/// Why there is nothing to measure, in words.
pub fn ask(address: &str, token: &Token, times: Times) -> Result<Link, String> {
    let stream = Session::ask_line(address, token, &times.line())?.into_stream();
    Line::from_stream(stream, times).and_then(measure).map_err(|error| format!("{address}: {error}"))
}

/// One end of a connection. Neither end is kept for long by the other.
struct Line {
    stream: TcpStream,
    times: Times,
    until: Instant,
}

impl Line {
    /// Small messages go at once.
    fn from_stream(stream: TcpStream, times: Times) -> std::io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENT))?;
        stream.set_write_timeout(Some(SILENT))?;
        Ok(Self { stream, times, until: Instant::now() + times.all() + SILENT })
    }

    fn check(&self) -> std::io::Result<()> {
        if Instant::now() < self.until { Ok(()) } else { Err(nothing_more()) }
    }

    fn take(&mut self, bytes: &mut [u8]) -> std::io::Result<()> {
        self.check()?;
        self.stream.read_exact(bytes).map_err(in_words)
    }

    fn give(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.check()?;
        self.stream.write_all(bytes).map_err(in_words)
    }

    /// Sends blocks for the time of a stream.
    fn give_stream(&mut self) -> std::io::Result<()> {
        let (until, mut block) = (monotonic_ns() + self.times.stream.get() as u64, vec![0; BLOCK]);
        while block[0] != LAST {
            block[0] = if monotonic_ns() < until { 0 } else { LAST };
            self.give(&block)?;
        }
        Ok(())
    }

    /// Takes blocks up to the last one. The time is from when the first one was there, which is not counted.
    fn take_stream(&mut self) -> std::io::Result<Flow> {
        let (mut block, mut flow, mut begun) = (vec![0; BLOCK], Flow::default(), None);
        while block[0] != LAST {
            self.take(&mut block)?;
            let now = monotonic_ns();
            match begun {
                None => begun = Some(now),
                Some(begun) => {
                    flow = Flow { bytes: flow.bytes + BLOCK as u64, time: Nanos::new((now - begun) as i64) }
                }
            }
        }
        Ok(flow)
    }
}

fn nothing_more() -> Error {
    Error::new(ErrorKind::TimedOut, "nothing more comes through")
}

/// Of a time that is over the system says something else.
fn in_words(error: Error) -> Error {
    if error.kind() == ErrorKind::WouldBlock { nothing_more() } else { error }
}

fn measure(mut line: Line) -> std::io::Result<Link> {
    let watch = Watch::begin();
    let trip = |line: &mut Line| -> std::io::Result<u32> {
        // Nothing else is in the time of a trip.
        line.check()?;
        let mut byte = [TRIP];
        let before = monotonic_ns();
        line.stream.write_all(&byte).map_err(in_words)?;
        line.stream.read_exact(&mut byte).map_err(in_words)?;
        Ok(u32::try_from(monotonic_ns() - before).unwrap_or(u32::MAX))
    };
    for _ in 0..FIRST {
        trip(&mut line)?;
    }
    let (until, mut trips) = (monotonic_ns() + line.times.trips.get() as u64, Vec::new());
    while trips.is_empty() || monotonic_ns() < until {
        trips.push(trip(&mut line)?);
    }
    let made = trips.len() as u64;
    let trips = trips.iter().step_by(trips.len().div_ceil(KEPT)).copied().collect();
    line.give(&[TAKE])?;
    line.give_stream()?;
    // Either stream is seen by who takes it.
    let mut observed = [0; 16];
    line.take(&mut observed)?;
    let number = |at: usize| observed[at..at + 8].iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
    let there = Flow { bytes: number(0), time: Nanos::new(number(8) as i64) };
    line.give(&[GIVE])?;
    let back = line.take_stream()?;
    Ok(Link { trips, made, there, back, side: watch.end(&line.stream) })
}

/// Answers one who knows the token and comes within this time, unless it is to `stop`.
///
/// # Errors
/// Nobody does; the other side ends in the middle.
pub fn answer(server: &Server, within: Duration, stop: &dyn Fn() -> bool) -> Result<Side, String> {
    let until = Instant::now() + within;
    let mut lobby = Lobby::default();
    let (stream, times) = loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || stop() {
            return Err("nobody came".to_owned());
        }
        if hosts::somebody_within(server.listener(), left.min(LOOK)).is_ok() {
            let _ = server.admit(&mut lobby);
        }
        // Strangers are none of it.
        if let Some(Ok((session, times))) = server.heard(&mut lobby, parse_request, |_| Ok(())) {
            break (session.into_stream(), times);
        }
    };
    Line::from_stream(stream, times).and_then(answered).map_err(|error| error.to_string())
}

fn parse_request(line: &[u8]) -> Result<Times, String> {
    Times::parse(&String::from_utf8_lossy(line)).ok_or_else(|| "no times of a link".to_owned())
}

fn answered(mut line: Line) -> std::io::Result<Side> {
    let watch = Watch::begin();
    let mut byte = [0];
    while line.stream.read(&mut byte).map_err(in_words)? > 0 {
        match byte[0] {
            TRIP => line.give(&byte)?,
            TAKE => {
                let flow = line.take_stream()?;
                let mut observed = [0; 16];
                observed[..8].copy_from_slice(&flow.bytes.to_be_bytes());
                observed[8..].copy_from_slice(&flow.time.get().to_be_bytes());
                line.give(&observed)?;
            }
            GIVE => line.give_stream()?,
            _ => return Err(ErrorKind::InvalidData.into()),
        }
    }
    Ok(watch.end(&line.stream))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: Times = Times { trips: Nanos::from_millis(20), stream: Nanos::from_millis(20) };

    fn token(text: &str) -> Token {
        Token::new(text).unwrap()
    }

    fn listening() -> (Server, String) {
        let server = Server::listen(([127, 0, 0, 1], 0).into(), token("correct horse battery")).unwrap();
        let address = server.address().unwrap().to_string();
        (server, address)
    }

    #[test]
    fn both_ends_measure_and_strangers_do_not_count() {
        let (server, address) = listening();
        let answers = std::thread::spawn(move || answer(&server, Duration::from_secs(20), &|| false));
        assert!(
            ask(&address, &token("incorrect horse battery"), TIMES)
                .unwrap_err()
                .contains("the token is another one")
        );
        drop(TcpStream::connect(&address).unwrap());
        let link = ask(&address, &token("correct horse battery"), TIMES).unwrap();
        let side = answers.join().unwrap().unwrap();
        assert!(!link.trips.is_empty() && link.trips.len() <= KEPT && link.made >= link.trips.len() as u64);
        assert!(link.trips.iter().all(|trip| *trip > 1_000), "{link:?}");
        for flow in [link.there, link.back] {
            // Some blocks at least, and the time is that of the stream.
            assert!(flow.rate().is_some_and(|rate| rate > 1e6), "{link:?}");
        }
        let least = Nanos::new(TIMES.trips.get() + TIMES.stream.get());
        assert!(link.side.took >= least && side.took >= least, "{link:?} {side:?}");
    }

    /// One that knows the token, and would keep who answers for ever.
    #[test]
    fn nobody_is_kept() {
        let (server, address) = listening();
        let times = Times { trips: Nanos::ZERO, stream: Nanos::from_millis(1) };
        let keeps = std::thread::spawn(move || {
            let token = token("correct horse battery");
            let mut stream = Session::ask_line(&address, &token, &times.line()).unwrap().into_stream();
            stream.write_all(&[TAKE]).unwrap();
            while stream.write_all(&[0; BLOCK]).is_ok() {}
        });
        assert_eq!(
            answer(&server, Duration::from_secs(20), &|| false),
            Err("nothing more comes through".to_owned())
        );
        keeps.join().unwrap();
    }

    #[test]
    fn nobody_and_who_goes_in_the_middle_are_told() {
        let (server, address) = listening();
        assert_eq!(answer(&server, Duration::from_millis(20), &|| false), Err("nobody came".to_owned()));
        let ends = std::thread::spawn(move || {
            drop(server.accept(parse_request, |_| Ok(())).unwrap());
        });
        let why = ask(&address, &token("correct horse battery"), TIMES).unwrap_err();
        assert!(why.starts_with(&address), "{why}");
        ends.join().unwrap();
        let (server, address) = listening();
        drop(server);
        assert!(ask(&address, &token("correct horse battery"), TIMES).unwrap_err().contains("refused"));
    }
}
