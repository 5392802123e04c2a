//! Two hosts that measure together: one listens, the other connects and asks. Both prove that they know a token, which is never sent: each
//! answers the other's number with a keyed hash of it (HMAC, RFC 2104, with SHA-256). What follows is in the clear.
//!
//! A line of words each: who listens begins with `tickmark VERSION PROTOCOL NUMBER`; who connected says `NUMBER PROOF`, and in the next line what it
//! asks; it hears `proof PROOF`, or `refused` and why.

mod lobby;
mod server;
mod token;

#[cfg(feature = "whole")]
use crate::ProbeError;
use serde::Serialize;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};
#[cfg(feature = "whole")]
use tickmark_wire::peer_request::Answer;
use token::{fresh, unhex};

pub use lobby::Lobby;
pub use server::Server;
pub use token::{LEAST_TOKEN, TOKEN, Token};

/// Of the lines that both say; another one is refused.
pub const PROTOCOL: u32 = 2;
/// How long either may take to say who it is.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest line of who is not known yet, and of who is.
const GREETING: usize = 4 << 10;
const LONGEST: usize = 1 << 20;
/// How often it is looked whether somebody who waits has answered.
pub const LOOK: Duration = Duration::from_millis(20);
/// So many may wait at once; the one who waits longest goes for another.
const MOST_WAITING: usize = 256;
/// Length of the key of a second connection, in bytes.
const KEY: usize = 32;

/// A connection on which both said who they are.
#[derive(Debug)]
pub struct Session {
    /// For lines.
    lines: BufReader<TcpStream>,
    /// Until when both must know who the other is; none when they do.
    until: Option<Instant>,
    /// Who opens a second connection for this session has it first.
    key: [u8; KEY],
}

impl Session {
    /// Asks who listens at an address: numbers, as names are looked up by who has them.
    ///
    /// # Errors
    /// Nobody listens there, or another program, or one of another version; what it refuses.
    pub fn ask<T: Serialize>(address: &str, token: &Token, ask: &T) -> Result<Self, String> {
        let ask = serde_json::to_string(ask).map_err(|error| error.to_string())?;
        Self::ask_line(address, token, &ask)
    }

    /// The same with what is asked as a line.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn ask_line(address: &str, token: &Token, ask: &str) -> Result<Self, String> {
        let wrong = |error: Error| format!("{address}: {}", words(&error));
        let found: SocketAddr = address.parse().map_err(|_| format!("{address:?} is no ADDRESS:PORT"))?;
        let stream = TcpStream::connect_timeout(&found, PATIENCE).map_err(wrong)?;
        let mut session = Self::from_stream(stream).map_err(wrong)?;
        let greeting = session
            .text()
            .map_err(|error| format!("{address}: {}; `--serve` answers one host at a time", words(&error)))?;
        let said: Vec<&str> = greeting.split(' ').collect();
        let ["tickmark", version, protocol, theirs] = said[..] else {
            return Err(format!("{address}: whoever listens there is no tickmark, or an older one"));
        };
        if protocol.parse() != Ok(PROTOCOL) {
            return Err(format!(
                "{address}: tickmark {version} there speaks protocol {protocol}, this one {PROTOCOL}: use the same version on both hosts"
            ));
        }
        let number = fresh().map_err(wrong)?;
        let both = [theirs, number.as_str()];
        let proof = token.prove(&["asks", both[0], both[1], ask]);
        session.send(format!("{number} {proof}\n{ask}").into_bytes()).map_err(wrong)?;
        let verdict = session.text().map_err(wrong)?;
        match verdict.split_once(' ') {
            Some(("proof", proof)) if token.is_proved(&["listens", both[0], both[1]], proof) => {}
            Some(("refused", why)) => return Err(format!("{address} refused: {why}")),
            _ => return Err(format!("{address}: whoever listens there does not know the token")),
        }
        session.begin(token, both).map_err(wrong)?;
        Ok(session)
    }

    fn from_stream(stream: TcpStream) -> std::io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self { lines: BufReader::new(stream), until: Some(Instant::now() + PATIENCE), key: [0; KEY] })
    }

    /// Both know who the other is.
    fn begin(&mut self, token: &Token, both: [&str; 2]) -> std::io::Result<()> {
        let key = unhex(&token.prove(&["session", both[0], both[1]])).and_then(|key| key.try_into().ok());
        self.key = key.ok_or(ErrorKind::InvalidData)?;
        self.until = None;
        self.lines.get_ref().set_read_timeout(None)
    }

    /// The connection, for other things than lines.
    #[must_use]
    pub fn into_stream(self) -> TcpStream {
        self.lines.into_inner()
    }

    /// The key of a second connection.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Where the other end is.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn peer(&self) -> std::io::Result<SocketAddr> {
        self.lines.get_ref().peer_addr()
    }

    /// The address of this end.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn here(&self) -> std::io::Result<SocketAddr> {
        self.lines.get_ref().local_addr()
    }

    /// Ends each wait for a line after this time.
    ///
    /// # Errors
    /// Those of setsockopt(2).
    pub fn wait_at_most(&self, time: Duration) -> std::io::Result<()> {
        self.lines.get_ref().set_read_timeout(Some(time))
    }

    /// Sends a line.
    ///
    /// # Errors
    /// The other end is gone.
    pub fn send(&self, mut line: Vec<u8>) -> std::io::Result<()> {
        line.push(b'\n');
        self.lines.get_ref().write_all(&line)
    }

    /// Waits for a line, whatever it says: what is no text in it is replaced.
    ///
    /// # Errors
    /// As [`Self::line`].
    pub fn text(&mut self) -> std::io::Result<String> {
        self.line().map(|line| String::from_utf8_lossy(&line).into_owned())
    }

    /// Waits for the answer of the host at this address, for a limited time.
    ///
    /// # Errors
    /// It failed, is gone, or says something else, in words.
    #[cfg(feature = "whole")]
    pub fn answer(&mut self, address: &str, within: Duration) -> Result<Answer, ProbeError> {
        let wrong = |why: &str| Err(ProbeError::Other(format!("{address}: {why}")));
        match self.line() {
            Ok(line) => match Answer::parse(&line) {
                Ok(Answer::Failed(why)) => wrong(&why),
                Ok(answer) => Ok(answer),
                Err(why) => wrong(&why),
            },
            Err(error) => match error.kind() {
                ErrorKind::UnexpectedEof => wrong("the other side is gone"),
                ErrorKind::WouldBlock => wrong(&format!("no answer within {} s", within.as_secs())),
                _ => wrong(&error.to_string()),
            },
        }
    }

    /// The same of who may be no friend: not longer than a greeting, and there by then.
    ///
    /// # Errors
    /// As [`Self::line`].
    pub fn text_until(&mut self, until: Instant) -> std::io::Result<String> {
        self.until = Some(until);
        self.text()
    }

    /// Whether something to read, or the end, is there within this time.
    ///
    /// # Errors
    /// Those of recv(2) and setsockopt(2).
    pub fn has_more(&self, within: Duration) -> std::io::Result<bool> {
        if !self.lines.buffer().is_empty() {
            return Ok(true);
        }
        self.wait_at_most(within)?;
        match self.lines.get_ref().peek(&mut [0]) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// True if nothing is there to read now, not even the end.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        let looked = self.look(&mut [0]);
        self.lines.buffer().is_empty() && looked.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }

    /// Reads available bytes without consuming them.
    fn look(&self, to: &mut [u8]) -> std::io::Result<usize> {
        let stream = self.lines.get_ref();
        let looked = stream.set_nonblocking(true).and_then(|()| stream.peek(to));
        let _ = stream.set_nonblocking(false);
        looked
    }

    /// Has the kernel ask whether the other end is there while nothing is said: of one that is not, the session ends.
    ///
    /// # Errors
    /// Those of setsockopt(2).
    pub fn keep_alive(&self) -> std::io::Result<()> {
        crate::sys::hosts::keep_alive(self.lines.get_ref())
    }

    /// Waits for a line, whatever it says.
    ///
    /// # Errors
    /// The other end is gone, or sends no end of line.
    pub fn line(&mut self) -> std::io::Result<Vec<u8>> {
        let most = if self.until.is_some() { GREETING } else { LONGEST };
        let mut line = Vec::new();
        loop {
            // Who sends a byte now and then is as late as who sends none.
            if let Some(until) = self.until {
                self.lines.get_ref().set_read_timeout(Some(left(until)?))?;
            }
            let part = self.lines.fill_buf()?;
            let end = part.iter().position(|byte| *byte == b'\n');
            let took = end.unwrap_or(part.len());
            line.extend_from_slice(&part[..took]);
            let is_over = part.is_empty() || line.len() > most;
            self.lines.consume(took + usize::from(end.is_some()));
            match end {
                Some(_) => return Ok(line),
                None if is_over => return Err(ErrorKind::UnexpectedEof.into()),
                None => {}
            }
        }
    }
}

/// The time remaining until then.
fn left(until: Instant) -> std::io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// An error in words: of a time that is over the system says something else.
fn words(error: &Error) -> String {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => format!("no answer within {} s", PATIENCE.as_secs()),
        ErrorKind::UnexpectedEof => "it closed the connection".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
