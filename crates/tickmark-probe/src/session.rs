//! Two hosts that measure together: one listens, the other connects and asks. Both prove that they know a token, which is never sent: each
//! answers the other's number with a keyed hash of it (HMAC, RFC 2104, with SHA-256). What follows is in the clear.
//!
//! A line of words each: who listens begins with `tickmark VERSION PROTOCOL NUMBER`; who connected says `NUMBER PROOF`, and in the next line what it
//! asks; it hears `proof PROOF`, or `refused` and why.

mod lobby;
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

use lobby::Guest;
pub use lobby::Lobby;
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

    /// Whether nothing is there to read now, not even the end.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        let looked = self.look(&mut [0]);
        self.lines.buffer().is_empty() && looked.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }

    /// What is there to read now, which stays there.
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

    /// Lets so many who connect wait to be greeted, where the kernel allows that many (net.core.somaxconn).
    ///
    /// # Errors
    /// Those of listen(2).
    pub fn queue(&self, connections: i32) -> std::io::Result<()> {
        Ok(rustix::net::listen(&self.listener, connections)?)
    }

    /// The listening socket.
    #[must_use]
    pub fn listener(&self) -> &TcpListener {
        &self.listener
    }

    /// Greets who connected, and leaves them in the lobby until they have answered.
    ///
    /// # Errors
    /// Those of accept(2), which are over when the next one comes: too many open files, a connection that is gone.
    pub fn admit(&self, lobby: &mut Lobby) -> std::io::Result<()> {
        let (stream, from) = self.listener.accept()?;
        if lobby.0.len() >= MOST_WAITING {
            lobby.0.remove(0);
        }
        // Who is gone already is nobody's.
        if let Ok(guest) = Guest::greet(stream, from) {
            lobby.0.push(guest);
        }
        Ok(())
    }

    /// Who of the lobby has answered, with what it asks, as `parse` reads it, if `can` will do that; none where nobody has.
    ///
    /// # Errors
    /// Who it was and why it was refused, in words.
    pub fn heard<T>(
        &self,
        lobby: &mut Lobby,
        parse: impl Fn(&[u8]) -> Result<T, String>,
        can: impl Fn(&T) -> Result<(), String>,
    ) -> Option<Result<(Session, T), String>> {
        let guest = lobby.answered()?;
        Some(self.hear(guest, parse, can))
    }

    /// Waits for who connects next, and for what it asks.
    #[cfg(test)]
    pub(crate) fn accept<T>(
        &self,
        parse: impl Fn(&[u8]) -> Result<T, String>,
        can: impl Fn(&T) -> Result<(), String>,
    ) -> Result<(Session, T), String> {
        let (stream, from) = self.listener.accept().map_err(|error| error.to_string())?;
        self.greet(stream, from, parse, can)
    }

    /// Greets a connection that was accepted from there, and waits for what it asks.
    ///
    /// # Errors
    /// Who it was and why it was refused, in words.
    pub fn greet<T>(
        &self,
        stream: TcpStream,
        from: SocketAddr,
        parse: impl Fn(&[u8]) -> Result<T, String>,
        can: impl Fn(&T) -> Result<(), String>,
    ) -> Result<(Session, T), String> {
        let guest =
            Guest::greet(stream, from).map_err(|error| format!("{}: {}", from.ip(), words(&error)))?;
        self.hear(guest, parse, can)
    }

    fn hear<T>(
        &self,
        guest: Guest,
        parse: impl Fn(&[u8]) -> Result<T, String>,
        can: impl Fn(&T) -> Result<(), String>,
    ) -> Result<(Session, T), String> {
        let mut heard = None;
        let from = guest.from;
        let session = self.proved(guest, &mut |line| {
            let ask = parse(line).map_err(|why| format!("what it asks is not understood ({why})"))?;
            can(&ask)?;
            heard = Some(ask);
            Ok(())
        });
        let wrong = |why: String| format!("{}: {why}", from.ip());
        Ok((session.map_err(wrong)?, heard.ok_or_else(|| wrong("it asks nothing".to_owned()))?))
    }

    fn proved(
        &self,
        Guest { mut session, number, .. }: Guest,
        can: &mut dyn FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<Session, String> {
        let gone = |error: Error| words(&error);
        let answer = session.text().map_err(gone)?;
        let (theirs, proof) = answer.split_once(' ').ok_or_else(|| "it is no tickmark".to_owned())?;
        let both = [number.as_str(), theirs];
        let refuse = |session: Session, why: String| {
            // A line, whatever it says.
            let _ = session.send(format!("refused {}", why.replace('\n', " ")).into_bytes());
            Err(why)
        };
        let ask = session.line().map_err(gone)?;
        let words = ["asks", both[0], both[1], &String::from_utf8_lossy(&ask)];
        if !self.token.is_proved(&words, proof) {
            return refuse(session, "the token is another one".to_owned());
        }
        // What it asks is looked at when it is known who asks.
        if let Err(why) = can(&ask) {
            return refuse(session, why);
        }
        let proof = self.token.prove(&["listens", both[0], both[1]]);
        session.send(format!("proof {proof}").into_bytes()).map_err(gone)?;
        session.begin(&self.token, both).map_err(gone)?;
        Ok(session)
    }

    /// The second connection of a session; others that come meanwhile are turned away.
    ///
    /// # Errors
    /// It does not come within five seconds.
    pub fn second(&self, session: &Session) -> std::io::Result<TcpStream> {
        let until = Instant::now() + PATIENCE;
        let mut waiting: Vec<TcpStream> = Vec::new();
        loop {
            if crate::sys::hosts::somebody_within(&self.listener, left(until)?.min(LOOK)).is_ok() {
                let (stream, _) = self.listener.accept()?;
                if waiting.len() >= MOST_WAITING {
                    waiting.remove(0);
                }
                stream.set_nonblocking(true)?;
                waiting.push(stream);
            }
            let mut key = [0; KEY];
            let at = waiting.iter().position(|stream| {
                stream.peek(&mut key).is_ok_and(|length| length == KEY) && key == session.key
            });
            if let Some(mut stream) = at.map(|at| waiting.remove(at)) {
                stream.set_nonblocking(false)?;
                stream.read_exact(&mut key)?;
                return Ok(stream);
            }
        }
    }
}

#[cfg(test)]
mod tests;
