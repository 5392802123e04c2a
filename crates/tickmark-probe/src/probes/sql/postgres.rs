//! PostgreSQL over a socket that blocks: its protocol of version 3, simple queries.

use super::database::{At, Connection, LONGEST, PATIENCE, Place, WHOLE};
use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{ErrorResponseBody, Message};
use postgres_protocol::message::frontend;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::Instant;

trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// One connection.
pub(super) struct Postgres {
    stream: Box<dyn Stream>,
    sent: BytesMut,
    got: BytesMut,
    piece: Vec<u8>,
    /// An answer has come to its end by then.
    until: Instant,
    reads: u64,
}

fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// An error of the connection; a time that is over is called so.
#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn late(error: std::io::Error) -> String {
    super::database::late(&error)
}

/// What it complains of, without where.
fn complaint(error: &ErrorResponseBody) -> String {
    let (mut text, mut code) = (String::new(), String::new());
    let mut fields = error.fields();
    while let Ok(Some(field)) = fields.next() {
        let value = String::from_utf8_lossy(field.value_bytes()).into_owned();
        match field.type_() {
            b'M' => text = format!("{value:.300}"),
            b'C' => code = value,
            _ => {}
        }
    }
    format!("{text} ({code})")
}

impl Postgres {
    pub(super) fn connect(place: &Place) -> Result<Self, String> {
        let stream: Box<dyn Stream> = match &place.at {
            At::Path(path) => {
                let stream = UnixStream::connect(path).map_err(words)?;
                stream.set_read_timeout(Some(PATIENCE)).map_err(words)?;
                stream.set_write_timeout(Some(PATIENCE)).map_err(words)?;
                Box::new(stream)
            }
            At::Host(host, port) => {
                let addresses = (host.as_str(), *port).to_socket_addrs().map_err(words)?;
                let mut last = "it has no address".to_owned();
                let found = addresses
                    .filter_map(|address| {
                        TcpStream::connect_timeout(&address, PATIENCE)
                            .map_err(|error| last = late(error))
                            .ok()
                    })
                    .next();
                let stream = found.ok_or(last)?;
                stream.set_write_timeout(Some(PATIENCE)).map_err(words)?;
                stream.set_nodelay(true).map_err(words)?;
                stream.set_read_timeout(Some(PATIENCE)).map_err(words)?;
                Box::new(stream)
            }
        };
        let mut new = Self {
            stream,
            sent: BytesMut::new(),
            got: BytesMut::new(),
            piece: vec![0; 16 << 10],
            until: Instant::now() + WHOLE,
            reads: 0,
        };
        let told = [("user", place.user.as_str()), ("database", place.database.as_str())];
        frontend::startup_message(told, &mut new.sent).map_err(words)?;
        new.flush()?;
        new.authenticate(place)?;
        Ok(new)
    }

    fn authenticate(&mut self, place: &Place) -> Result<(), String> {
        let wanted = || format!("it asks for the password of {}", place.user);
        let password = || place.password.as_deref().ok_or_else(wanted);
        let mut scram = None;
        loop {
            match self.next()? {
                Message::ReadyForQuery(_) => return Ok(()),
                Message::ErrorResponse(error) => return Err(complaint(&error)),
                Message::AuthenticationCleartextPassword => {
                    frontend::password_message(password()?.as_bytes(), &mut self.sent).map_err(words)?;
                }
                Message::AuthenticationMd5Password(body) => {
                    let hash = md5_hash(place.user.as_bytes(), password()?.as_bytes(), body.salt());
                    frontend::password_message(hash.as_bytes(), &mut self.sent).map_err(words)?;
                }
                Message::AuthenticationSasl(_) => {
                    let new = ScramSha256::new(password()?.as_bytes(), ChannelBinding::unsupported());
                    frontend::sasl_initial_response(SCRAM_SHA_256, new.message(), &mut self.sent)
                        .map_err(words)?;
                    scram = Some(new);
                }
                Message::AuthenticationSaslContinue(body) => {
                    let scram = scram.as_mut().ok_or("it goes on with what was not begun")?;
                    scram.update(body.data()).map_err(words)?;
                    frontend::sasl_response(scram.message(), &mut self.sent).map_err(words)?;
                }
                Message::AuthenticationSaslFinal(body) => {
                    let scram = scram.as_mut().ok_or("it ends what was not begun")?;
                    scram.finish(body.data()).map_err(words)?;
                }
                Message::AuthenticationGss | Message::AuthenticationSspi => {
                    return Err("it asks for Kerberos, which is not spoken here".to_owned());
                }
                _ => {}
            }
            self.flush()?;
        }
    }

    fn flush(&mut self) -> Result<(), String> {
        if !self.sent.is_empty() {
            self.stream.write_all(&self.sent).map_err(late)?;
            self.sent.clear();
        }
        Ok(())
    }

    fn next(&mut self) -> Result<Message, String> {
        loop {
            // Its parser makes room for as much as is announced.
            if let Some([a, b, c, d]) = self.got.get(1..5)
                && u32::from_be_bytes([*a, *b, *c, *d]) > LONGEST
            {
                return Err(format!(
                    "it announces a message of more than {LONGEST} bytes: is it PostgreSQL?"
                ));
            }
            if let Some(message) = Message::parse(&mut self.got).map_err(words)? {
                return Ok(message);
            }
            // Seldom: what is timed here is not the clock.
            self.reads += 1;
            if self.reads.is_multiple_of(16) && Instant::now() > self.until {
                return Err(format!("no whole answer within {} s", WHOLE.as_secs()));
            }
            match self.stream.read(&mut self.piece).map_err(late)? {
                0 => return Err("it closed the connection".to_owned()),
                got => self.got.extend_from_slice(&self.piece[..got]),
            }
        }
    }
}

impl Connection for Postgres {
    fn run(&mut self, statement: &str) -> Result<u64, String> {
        self.until = Instant::now() + WHOLE;
        frontend::query(statement, &mut self.sent).map_err(words)?;
        self.flush()?;
        let (mut rows, mut wrong) = (0, None);
        loop {
            match self.next()? {
                Message::DataRow(_) => rows += 1,
                // What follows says that it is ready for more.
                Message::ErrorResponse(error) => wrong = Some(complaint(&error)),
                Message::ReadyForQuery(_) => return wrong.map_or(Ok(rows), Err),
                _ => {}
            }
        }
    }
}
