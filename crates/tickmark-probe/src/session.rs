//! Two hosts that measure together: one listens, the other connects and asks. Both prove that they know a token, which is never sent: each
//! answers the other's number with a keyed hash of it (HMAC, RFC 2104, with SHA-256). What follows is in the clear.

mod token;

#[cfg(feature = "whole")]
use crate::ProbeError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};
#[cfg(feature = "whole")]
use tickmark_wire::asked::Answer;
use token::{fresh, unhex};

pub use token::{LEAST_TOKEN, TOKEN, Token};

/// Of the lines that both say; another one is refused.
pub const PROTOCOL: u32 = 1;
/// How long either may take to say who it is.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest line of who is not known yet, and of who is.
const GREETING: usize = 4 << 10;
const LONGEST: usize = 64 << 20;
/// How long one who comes in between may take to show the key.
const STRANGER: Duration = Duration::from_millis(500);
/// Length of the key of a second connection, in bytes.
const KEY: usize = 32;

/// Who listens begins.
#[derive(Debug, Serialize, Deserialize)]
struct Greeting {
    tickmark: String,
    protocol: u32,
    number: String,
}

/// Who connected answers; what it asks is the next line.
#[derive(Debug, Serialize, Deserialize)]
struct Reply {
    protocol: u32,
    number: String,
    proof: String,
}

/// And hears whether that will be done.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Proof(String),
    Refused(String),
}

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
    #[cfg(any(test, feature = "whole"))]
    pub fn ask<T: Serialize>(address: &str, token: &Token, ask: &T) -> Result<Self, String> {
        let wrong = |error: Error| format!("{address}: {}", words(&error));
        let found: SocketAddr = address.parse().map_err(|_| format!("{address:?} is no ADDRESS:PORT"))?;
        let stream = TcpStream::connect_timeout(&found, PATIENCE).map_err(wrong)?;
        let mut session = Self::of(stream).map_err(wrong)?;
        let greeting: Greeting = session.hear().map_err(|error| match error.kind() {
            ErrorKind::InvalidData | ErrorKind::InvalidInput => {
                format!("{address}: whoever listens there is no `tickmark comms --serve`")
            }
            _ => format!("{address}: {}; it answers one host at a time", words(&error)),
        })?;
        if greeting.protocol != PROTOCOL {
            return Err(format!(
                "{address}: tickmark {} there speaks protocol {}, this one {PROTOCOL}: use the same version on both hosts",
                greeting.tickmark, greeting.protocol
            ));
        }
        let number = fresh().map_err(wrong)?;
        let both = [greeting.number.as_str(), number.as_str()];
        let ask = serde_json::to_string(ask).map_err(|error| wrong(error.into()))?;
        let proof = token.prove(&["asks", both[0], both[1], &ask]);
        session.say(&Reply { protocol: PROTOCOL, number: number.clone(), proof }).map_err(wrong)?;
        session.send(ask.into_bytes()).map_err(wrong)?;
        match session.hear().map_err(wrong)? {
            Verdict::Refused(why) => return Err(format!("{address} refused: {why}")),
            Verdict::Proof(proof) if !token.is_proved(&["listens", both[0], both[1]], &proof) => {
                return Err(format!("{address}: whoever listens there does not know the token"));
            }
            Verdict::Proof(_) => {}
        }
        session.begin(token, both).map_err(wrong)?;
        Ok(session)
    }

    fn of(stream: TcpStream) -> std::io::Result<Self> {
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
    pub fn say<T: Serialize>(&mut self, what: &T) -> std::io::Result<()> {
        self.send(serde_json::to_vec(what)?)
    }

    /// Sends a line that is written already.
    ///
    /// # Errors
    /// The other end is gone.
    pub fn send(&self, mut line: Vec<u8>) -> std::io::Result<()> {
        line.push(b'\n');
        self.lines.get_ref().write_all(&line)
    }

    /// Waits for a line.
    ///
    /// # Errors
    /// The other end is gone, or says something else.
    pub fn hear<T: DeserializeOwned>(&mut self) -> std::io::Result<T> {
        Ok(serde_json::from_slice(&self.line()?)?)
    }

    /// What the host at this address says, which was to come in so long.
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

/// What is left of the time until then.
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

/// Listens for who asks.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    token: Token,
}

impl Server {
    /// At an address.
    ///
    /// # Errors
    /// Those of bind(2) and listen(2).
    pub fn listen(address: SocketAddr, token: Token) -> std::io::Result<Self> {
        TcpListener::bind(address).map(|listener| Self { listener, token })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// Those of getsockname(2).
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The listening socket.
    #[must_use]
    pub fn listener(&self) -> &TcpListener {
        &self.listener
    }

    /// Waits for who connects, hears what it asks, as `parse` reads it, and says whether `can` will do that.
    ///
    /// # Errors
    /// Who it was and why it was refused, in words.
    pub fn accept<T>(
        &self,
        parse: impl FnOnce(&[u8]) -> Result<T, String>,
        can: impl FnOnce(&T) -> Result<(), String>,
    ) -> Result<(Session, T), String> {
        let (stream, from) = self.listener.accept().map_err(|error| error.to_string())?;
        let from = from.ip();
        self.greet(stream, parse, can).map_err(|why| format!("{from}: {why}"))
    }

    fn greet<T>(
        &self,
        stream: TcpStream,
        parse: impl FnOnce(&[u8]) -> Result<T, String>,
        can: impl FnOnce(&T) -> Result<(), String>,
    ) -> Result<(Session, T), String> {
        let gone = |error: Error| words(&error);
        let mut session = Session::of(stream).map_err(gone)?;
        let number = fresh().map_err(gone)?;
        let tickmark = env!("CARGO_PKG_VERSION").to_owned();
        session.say(&Greeting { tickmark, protocol: PROTOCOL, number: number.clone() }).map_err(gone)?;
        let answer: Reply = session.hear().map_err(gone)?;
        let both = [number.as_str(), answer.number.as_str()];
        let refuse = |mut session: Session, why: String| {
            let _ = session.say(&Verdict::Refused(why.clone()));
            Err(why)
        };
        let ask = session.line().map_err(gone)?;
        let words = ["asks", both[0], both[1], &String::from_utf8_lossy(&ask)];
        if !self.token.is_proved(&words, &answer.proof) {
            return refuse(session, "the token is another one".to_owned());
        }
        // What it asks is looked at when it is known who asks.
        let ask = match parse(&ask) {
            Ok(ask) => ask,
            Err(error) => return refuse(session, format!("what it asks is not understood ({error})")),
        };
        if let Err(why) = can(&ask) {
            return refuse(session, why);
        }
        session.say(&Verdict::Proof(self.token.prove(&["listens", both[0], both[1]]))).map_err(gone)?;
        session.begin(&self.token, both).map_err(gone)?;
        Ok((session, ask))
    }

    /// The second connection of a session; others that come meanwhile are turned away.
    ///
    /// # Errors
    /// It does not come within five seconds.
    pub fn second(&self, session: &Session) -> std::io::Result<TcpStream> {
        let until = Instant::now() + PATIENCE;
        loop {
            crate::sys::hosts::somebody_within(&self.listener, left(until)?)?;
            let (mut stream, _) = self.listener.accept()?;
            stream.set_read_timeout(Some(left(until)?.min(STRANGER)))?;
            let mut key = [0; KEY];
            if stream.read(&mut key).is_ok_and(|length| length == KEY) && key == session.key {
                stream.set_read_timeout(None)?;
                return Ok(stream);
            }
        }
    }
}

#[cfg(test)]
mod tests;
