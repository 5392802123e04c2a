//! PostgreSQL over a socket that blocks: its protocol of version 3, simple queries.

use super::database::{Connection, LONGEST, Place};
use super::stream::DatabaseStream;
use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{ErrorResponseBody, Message};
use postgres_protocol::message::frontend;

/// One connection.
pub(super) struct Postgres {
    stream: DatabaseStream,
    request: BytesMut,
}

fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
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
        let mut new = Self { stream: DatabaseStream::connect(&place.at)?, request: BytesMut::new() };
        let parameters = [("user", place.user.as_str()), ("database", place.database.as_str())];
        frontend::startup_message(parameters, &mut new.request).map_err(words)?;
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
                    frontend::password_message(password()?.as_bytes(), &mut self.request).map_err(words)?;
                }
                Message::AuthenticationMd5Password(body) => {
                    let hash = md5_hash(place.user.as_bytes(), password()?.as_bytes(), body.salt());
                    frontend::password_message(hash.as_bytes(), &mut self.request).map_err(words)?;
                }
                Message::AuthenticationSasl(_) => {
                    let new = ScramSha256::new(password()?.as_bytes(), ChannelBinding::unsupported());
                    frontend::sasl_initial_response(SCRAM_SHA_256, new.message(), &mut self.request)
                        .map_err(words)?;
                    scram = Some(new);
                }
                Message::AuthenticationSaslContinue(body) => {
                    let scram = scram.as_mut().ok_or("it goes on with what was not begun")?;
                    scram.update(body.data()).map_err(words)?;
                    frontend::sasl_response(scram.message(), &mut self.request).map_err(words)?;
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
        self.stream.write(&self.request)?;
        self.request.clear();
        Ok(())
    }

    fn next(&mut self) -> Result<Message, String> {
        loop {
            // Its parser makes room for as much as is announced.
            if let Some([a, b, c, d]) = self.stream.received.get(1..5)
                && u32::from_be_bytes([*a, *b, *c, *d]) > LONGEST
            {
                return Err(format!(
                    "it announces a message of more than {LONGEST} bytes: is it PostgreSQL?"
                ));
            }
            if let Some(message) = Message::parse(&mut self.stream.received).map_err(words)? {
                return Ok(message);
            }
            self.stream.fill()?;
        }
    }
}

impl Connection for Postgres {
    fn run(&mut self, statement: &str) -> Result<u64, String> {
        frontend::query(statement, &mut self.request).map_err(words)?;
        self.stream.send(&self.request)?;
        self.request.clear();
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
