//! Two hosts that measure together: one listens, the other connects and asks. Both prove that they know a token, which is never sent: each
//! answers the other's number with a keyed hash of it (HMAC, RFC 2104, with SHA-256). What follows is in the clear.

use hmac::{Hmac, Mac};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

/// Of the lines that both say; another one is refused.
pub const PROTOCOL: u32 = 1;
/// Shorter tokens are refused: they could be guessed.
pub const LEAST_TOKEN: usize = 12;
/// The environment has it under this name.
pub const TOKEN: &str = "TICKMARK_TOKEN";
/// How long either may take to say who it is.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest line.
const LONGEST: u64 = 64 << 20;
/// Length of the key of a second connection, in bytes.
const KEY: usize = 32;

/// A token.
#[derive(Clone)]
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// Without the blanks around it.
    ///
    /// # Errors
    /// One that is too short, in words.
    pub fn new(text: &str) -> Result<Self, String> {
        let text = text.trim();
        match text.len() >= LEAST_TOKEN {
            true => Ok(Self(text.to_owned())),
            false => Err(format!("a token has {LEAST_TOKEN} characters or more")),
        }
    }

    /// A new one.
    ///
    /// # Errors
    /// Those of reading /dev/urandom.
    pub fn make() -> std::io::Result<Self> {
        fresh().map(Self)
    }

    /// That of a file; of the environment where none is named.
    ///
    /// # Errors
    /// None there, or one that is too short, in words.
    pub fn known(file: Option<&Path>) -> Result<Self, String> {
        let (place, text) = match file {
            Some(path) => {
                let text =
                    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
                (path.display().to_string(), text)
            }
            None => {
                let unset =
                    |_| format!("no token: give --token-file, or set {TOKEN}, as the other host has it");
                (TOKEN.to_owned(), std::env::var(TOKEN).map_err(unset)?)
            }
        };
        Self::new(&text).map_err(|why| format!("{place}: {why}"))
    }

    /// For the other side's hands.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    fn hash(&self, words: &[&str]) -> Option<Hmac<Sha256>> {
        let mut hash = Hmac::<Sha256>::new_from_slice(self.0.as_bytes()).ok()?;
        for word in words {
            hash.update(word.as_bytes());
            hash.update(b"\n");
        }
        Some(hash)
    }

    fn prove(&self, words: &[&str]) -> String {
        self.hash(words).map_or_else(String::new, |hash| hex(&hash.finalize().into_bytes()))
    }

    /// In a time that does not tell how much of it was right.
    fn is_proved(&self, words: &[&str], proof: &str) -> bool {
        let bytes = unhex(proof);
        self.hash(words).zip(bytes).is_some_and(|(hash, bytes)| hash.verify_slice(&bytes).is_ok())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

/// A number that was never used before.
fn fresh() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(hex(&bytes))
}

/// Who listens begins.
#[derive(Debug, Serialize, Deserialize)]
struct Greeting {
    tickmark: String,
    protocol: u32,
    number: String,
}

/// Who connected answers; what it asks is the next line.
#[derive(Debug, Serialize, Deserialize)]
struct Answer {
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
    /// Who opens a second connection for this session has it first.
    key: [u8; KEY],
}

impl Session {
    /// Asks who listens at an address: numbers, as names are looked up by who has them.
    ///
    /// # Errors
    /// Nobody listens there, or another program, or one of another version; what it refuses.
    #[cfg(feature = "whole")]
    pub fn ask<T: Serialize>(address: &str, token: &Token, ask: &T) -> Result<Self, String> {
        let wrong = |error: Error| format!("{address}: {}", words(&error));
        let found: SocketAddr = address.parse().map_err(|_| format!("{address:?} is no ADDRESS:PORT"))?;
        let stream = TcpStream::connect_timeout(&found, PATIENCE).map_err(wrong)?;
        let mut session = Self::of(stream).map_err(wrong)?;
        let greeting: Greeting = session.hear().map_err(|error| {
            format!("{address}: whoever listens there is no `tickmark comms --serve` ({})", words(&error))
        })?;
        if greeting.protocol != PROTOCOL {
            return Err(format!(
                "{address}: tickmark {} there speaks protocol {}, this one {PROTOCOL}: use the same version on both hosts",
                greeting.tickmark, greeting.protocol
            ));
        }
        let number = fresh().map_err(wrong)?;
        let both = [greeting.number.as_str(), number.as_str()];
        let proof = token.prove(&["whole", both[0], both[1]]);
        session.say(&Answer { protocol: PROTOCOL, number: number.clone(), proof }).map_err(wrong)?;
        session.say(ask).map_err(wrong)?;
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
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { lines: BufReader::new(stream), key: [0; KEY] })
    }

    /// Both know who the other is.
    fn begin(&mut self, token: &Token, both: [&str; 2]) -> std::io::Result<()> {
        let key = unhex(&token.prove(&["session", both[0], both[1]])).and_then(|key| key.try_into().ok());
        self.key = key.ok_or(ErrorKind::InvalidData)?;
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
    pub fn here(&self) -> std::io::Result<IpAddr> {
        Ok(self.lines.get_ref().local_addr()?.ip())
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
        let mut line = serde_json::to_vec(what)?;
        line.push(b'\n');
        self.lines.get_ref().write_all(&line)
    }

    /// Waits for a line.
    ///
    /// # Errors
    /// The other end is gone, or says something else.
    pub fn hear<T: DeserializeOwned>(&mut self) -> std::io::Result<T> {
        let mut line = Vec::new();
        self.lines.by_ref().take(LONGEST).read_until(b'\n', &mut line)?;
        match line.last() {
            Some(b'\n') => Ok(serde_json::from_slice(&line)?),
            _ => Err(ErrorKind::UnexpectedEof.into()),
        }
    }
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

    /// Waits for who connects, hears what it asks, and says whether `can` will do that.
    ///
    /// # Errors
    /// Who it was and why it was refused, in words.
    pub fn accept<T: DeserializeOwned>(
        &self,
        can: impl FnOnce(&T) -> Result<(), String>,
    ) -> Result<(Session, T), String> {
        let (stream, from) = self.listener.accept().map_err(|error| error.to_string())?;
        let from = from.ip();
        self.greet(stream, can).map_err(|why| format!("{from}: {why}"))
    }

    fn greet<T: DeserializeOwned>(
        &self,
        stream: TcpStream,
        can: impl FnOnce(&T) -> Result<(), String>,
    ) -> Result<(Session, T), String> {
        let gone = |error: Error| words(&error);
        let mut session = Session::of(stream).map_err(gone)?;
        let number = fresh().map_err(gone)?;
        let tickmark = env!("CARGO_PKG_VERSION").to_owned();
        session.say(&Greeting { tickmark, protocol: PROTOCOL, number: number.clone() }).map_err(gone)?;
        let answer: Answer = session.hear().map_err(gone)?;
        let both = [number.as_str(), answer.number.as_str()];
        let refuse = |mut session: Session, why: String| {
            let _ = session.say(&Verdict::Refused(why.clone()));
            Err(why)
        };
        if !self.token.is_proved(&["whole", both[0], both[1]], &answer.proof) {
            return refuse(session, "the token is another one".to_owned());
        }
        // What it asks is looked at when it is known who asks.
        let ask = match session.hear() {
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

    /// The second connection of a session.
    ///
    /// # Errors
    /// It does not come within five seconds, or somebody else came.
    pub fn second(&self, session: &Session) -> std::io::Result<TcpStream> {
        crate::sys::hosts::somebody_within(&self.listener, PATIENCE)?;
        let (mut stream, _) = self.listener.accept()?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut key = [0; KEY];
        stream.read_exact(&mut key)?;
        if key != session.key {
            return Err(ErrorKind::PermissionDenied.into());
        }
        stream.set_read_timeout(None)?;
        Ok(stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn server(token: &str) -> (Server, String) {
        let server = Server::listen((Ipv4Addr::LOCALHOST, 0).into(), Token::new(token).unwrap()).unwrap();
        let address = server.address().unwrap().to_string();
        (server, address)
    }

    fn ask(address: &str, token: &str) -> Result<Session, String> {
        Session::ask(address, &Token::new(token).unwrap(), &7)
    }

    #[test]
    fn who_knows_the_token_is_served_and_has_the_key() {
        let (server, address) = server("correct horse battery");
        let asked = std::thread::spawn(move || {
            let mut session = ask(&address, "correct horse battery").unwrap();
            let mut second = TcpStream::connect(&address).unwrap();
            second.write_all(session.key()).unwrap();
            session.hear::<String>().unwrap()
        });
        let (mut session, what) = server.accept(|_: &i32| Ok(())).unwrap();
        server.second(&session).unwrap();
        session.say(&"done").unwrap();
        assert_eq!((what, asked.join().unwrap().as_str()), (7, "done"));
    }

    #[test]
    fn who_does_not_is_refused_in_a_line() {
        let (server, address) = server("correct horse battery");
        let other = std::thread::spawn({
            let address = address.clone();
            move || ask(&address, "wrong horse battery")
        });
        let told = server.accept(|_: &i32| Ok(())).unwrap_err();
        assert!(told.contains("127.0.0.1") && told.contains("token"), "{told}");
        let refused = other.join().unwrap().unwrap_err();
        assert!(refused.contains("refused: the token is another one"), "{refused}");
        // Who listens must know it, too: it repeats what it heard.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = listener.local_addr().unwrap().to_string();
        let liar = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut session = Session::of(stream).unwrap();
            session.say(&Greeting { tickmark: "0".into(), protocol: PROTOCOL, number: "00".into() }).unwrap();
            let answer: Answer = session.hear().unwrap();
            let _ask: i32 = session.hear().unwrap();
            session.say(&Verdict::Proof(answer.proof)).unwrap();
        });
        assert!(ask(&there, "correct horse battery").unwrap_err().contains("does not know the token"));
        liar.join().unwrap();
        assert!(Token::new(" short ").is_err());
        // What it asks may be refused, too.
        let other = std::thread::spawn(move || ask(&address, "correct horse battery"));
        assert!(server.accept(|_: &i32| Err("too much".to_owned())).is_err());
        assert!(other.join().unwrap().unwrap_err().contains("refused: too much"));
    }

    #[test]
    fn other_programs_and_versions_are_named() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = listener.local_addr().unwrap().to_string();
        let server = std::thread::spawn(move || {
            for line in ["SSH-2.0-OpenSSH\n", "{\"tickmark\":\"9.0\",\"protocol\":9,\"number\":\"\"}\n"] {
                listener.accept().unwrap().0.write_all(line.as_bytes()).unwrap();
            }
        });
        assert!(ask(&there, "correct horse battery").unwrap_err().contains("is no `tickmark comms --serve`"));
        let other = ask(&there, "correct horse battery").unwrap_err();
        assert!(other.contains("9.0") && other.contains("same version"), "{other}");
        server.join().unwrap();
        assert!(ask(&there, "correct horse battery").unwrap_err().contains("refused"), "nobody listens");
    }
}
