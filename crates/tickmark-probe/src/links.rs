//! A link between two machines, measured from both ends of a TCP connection: trips of a byte, then a stream each way. Who asks leads.

use crate::session::{Server, Session, Token};
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
/// What who asks has the other do.
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
    let mut stream = Session::ask_line(address, token, &times.line())?.into_stream();
    measure(&mut stream, times).map_err(|error| format!("{address}: {error}"))
}

fn measure(stream: &mut TcpStream, times: Times) -> std::io::Result<Link> {
    patient(stream)?;
    let watch = Watch::begin();
    let mut trip = || -> std::io::Result<u32> {
        let before = monotonic_ns();
        let mut byte = [TRIP];
        stream.write_all(&byte)?;
        stream.read_exact(&mut byte)?;
        Ok(u32::try_from(monotonic_ns() - before).unwrap_or(u32::MAX))
    };
    for _ in 0..FIRST {
        trip()?;
    }
    let (until, mut trips) = (monotonic_ns() + times.trips.get() as u64, Vec::new());
    while trips.is_empty() || monotonic_ns() < until {
        trips.push(trip()?);
    }
    let made = trips.len() as u64;
    let trips = trips.iter().step_by(trips.len().div_ceil(KEPT)).copied().collect();
    stream.write_all(&[TAKE])?;
    let begun = monotonic_ns();
    let bytes = give(stream, times.stream)?;
    // It says so when it has everything.
    stream.read_exact(&mut [0])?;
    let there = Flow { bytes, time: Nanos::new((monotonic_ns() - begun) as i64) };
    stream.write_all(&[GIVE])?;
    let back = take(stream)?;
    Ok(Link { trips, made, there, back, side: watch.end(stream) })
}

/// Answers one who knows the token and comes within this time.
///
/// # Errors
/// Nobody does; the other side ends in the middle.
pub fn answer(server: &Server, within: Duration) -> Result<Side, String> {
    let until = Instant::now() + within;
    let (mut stream, times) = loop {
        let left = until.saturating_duration_since(Instant::now());
        hosts::somebody_within(server.listener(), left).map_err(|_| "nobody came".to_owned())?;
        // Strangers are none of it.
        if let Ok((session, times)) = server.accept(asked, |_| Ok(())) {
            break (session.into_stream(), times);
        }
    };
    answered(&mut stream, times).map_err(|error| error.to_string())
}

fn asked(line: &[u8]) -> Result<Times, String> {
    Times::parse(&String::from_utf8_lossy(line)).ok_or_else(|| "no times of a link".to_owned())
}

fn answered(stream: &mut TcpStream, times: Times) -> std::io::Result<Side> {
    patient(stream)?;
    let watch = Watch::begin();
    let mut byte = [0];
    while stream.read(&mut byte)? > 0 {
        match byte[0] {
            TRIP => stream.write_all(&byte)?,
            TAKE => {
                take(stream)?;
                stream.write_all(&byte)?;
            }
            GIVE => {
                give(stream, times.stream)?;
            }
            _ => return Err(ErrorKind::InvalidData.into()),
        }
    }
    Ok(watch.end(stream))
}

/// Small messages go at once, and who is gone is not waited for.
fn patient(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(SILENT))?;
    stream.set_write_timeout(Some(SILENT))
}

/// Sends blocks for so long; how many bytes.
fn give(stream: &mut TcpStream, time: Nanos) -> std::io::Result<u64> {
    let (until, mut block, mut bytes) = (monotonic_ns() + time.get() as u64, vec![0; BLOCK], 0);
    while block[0] != LAST {
        block[0] = if monotonic_ns() < until { 0 } else { LAST };
        stream.write_all(&block)?;
        bytes += BLOCK as u64;
    }
    Ok(bytes)
}

/// Takes blocks up to the last one. The time is from the first one on, which is not counted.
fn take(stream: &mut TcpStream) -> std::io::Result<Flow> {
    let (mut block, mut flow, mut begun) = (vec![0; BLOCK], Flow::default(), None);
    loop {
        stream.read_exact(&mut block).map_err(|error| match error.kind() {
            ErrorKind::WouldBlock => Error::new(ErrorKind::TimedOut, "the other side says nothing more"),
            _ => error,
        })?;
        let now = monotonic_ns();
        match begun {
            None => begun = Some(now),
            Some(begun) => {
                flow = Flow { bytes: flow.bytes + BLOCK as u64, time: Nanos::new((now - begun) as i64) }
            }
        }
        if block[0] == LAST {
            return Ok(flow);
        }
    }
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
        let answers = std::thread::spawn(move || answer(&server, Duration::from_secs(20)));
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

    #[test]
    fn nobody_and_who_goes_in_the_middle_are_told() {
        let (server, address) = listening();
        assert_eq!(answer(&server, Duration::from_millis(20)), Err("nobody came".to_owned()));
        let ends = std::thread::spawn(move || {
            drop(server.accept(asked, |_| Ok(())).unwrap());
        });
        let why = ask(&address, &token("correct horse battery"), TIMES).unwrap_err();
        assert!(why.starts_with(&address), "{why}");
        ends.join().unwrap();
        let (server, address) = listening();
        drop(server);
        assert!(ask(&address, &token("correct horse battery"), TIMES).unwrap_err().contains("refused"));
    }
}
