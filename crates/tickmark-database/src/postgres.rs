//! PostgreSQL: its protocol of version 3, without TLS. Source: PostgreSQL's documentation, Frontend/Backend Protocol.

use crate::stream::DatabaseStream;
use crate::{Address, Limits, Login};
use bytes::{BufMut, Bytes, BytesMut};
use fallible_iterator::FallibleIterator;
use postgres_protocol::IsNull;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{DataRowBody, ErrorResponseBody, Message};
use postgres_protocol::message::frontend;

/// The format codes of parameters and columns.
const TEXT: i16 = 0;
const BINARY: i16 = 1;
/// Rounds of hashing that a server may demand of a login (RFC 5802, `i=`): each costs both sides. PostgreSQL's default is 4096.
const MOST_ITERATIONS: u32 = 1_000_000;

/// One connection to PostgreSQL.
pub struct Postgres {
    stream: DatabaseStream,
    request: BytesMut,
}

/// The value of a parameter `$1`, `$2`, ... of a statement; its type is the statement's.
#[derive(Debug, Clone, Copy)]
pub enum Parameter<'a> {
    /// Any type that can be written as text.
    Text(&'a str),
    /// An integer.
    Number(i64),
    /// A boolean.
    Flag(bool),
    /// A bytea.
    Bytes(&'a [u8]),
}

impl Parameter<'_> {
    const fn format(self) -> i16 {
        match self {
            Self::Bytes(_) => BINARY,
            _ => TEXT,
        }
    }

    fn write(self, to: &mut BytesMut) {
        match self {
            Self::Text(text) => to.put_slice(text.as_bytes()),
            Self::Number(number) => to.put_slice(number.to_string().as_bytes()),
            Self::Flag(flag) => to.put_u8(if flag { b't' } else { b'f' }),
            Self::Bytes(bytes) => to.put_slice(bytes),
        }
    }
}

/// A row of an answer: its columns, none for null.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row(Vec<Option<Bytes>>);

impl Row {
    /// A column's bytes.
    ///
    /// # Errors
    /// There is none, or it is null.
    pub fn bytes(&self, column: usize) -> Result<&[u8], String> {
        self.0.get(column).and_then(Option::as_deref).ok_or_else(|| format!("it sent no column {column}"))
    }

    /// A column of text.
    ///
    /// # Errors
    /// There is none, it is null, or not UTF-8.
    pub fn text(&self, column: usize) -> Result<&str, String> {
        str::from_utf8(self.bytes(column)?).map_err(words)
    }

    /// A column that is an integer as text.
    ///
    /// # Errors
    /// There is none, it is null, or no integer.
    pub fn number(&self, column: usize) -> Result<i64, String> {
        let text = self.text(column)?;
        text.parse().map_err(|_| format!("it sent {text:.80} for a number"))
    }

    /// A column that is a boolean as text.
    ///
    /// # Errors
    /// There is none, or it is null.
    pub fn flag(&self, column: usize) -> Result<bool, String> {
        Ok(self.text(column)? == "t")
    }
}

fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// The server's message and its SQLSTATE.
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
    let line = text.lines().next().unwrap_or_default();
    format!("{line} ({code})")
}

/// Refuses a challenge of SCRAM (`r=NONCE,s=SALT,i=ITERATIONS`) that would keep this side hashing for hours.
fn check_iterations(challenge: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(challenge);
    let wanted = text.split(',').find_map(|part| part.strip_prefix("i=")).unwrap_or_default();
    match wanted.parse::<u32>() {
        Ok(count) if count <= MOST_ITERATIONS => Ok(()),
        _ => Err(format!(
            "it demands {wanted:.20} rounds of hashing the password; at most {MOST_ITERATIONS} are done"
        )),
    }
}

fn row(data: &DataRowBody) -> Result<Row, String> {
    let buffer = data.buffer_bytes();
    let columns = data.ranges().map(|range| Ok(range.map(|range| buffer.slice(range))));
    columns.collect().map(Row).map_err(words)
}

impl Postgres {
    /// Connects and logs in.
    ///
    /// # Errors
    /// Why there is no connection, in words.
    pub fn connect(address: &Address, login: &Login, limits: Limits) -> Result<Self, String> {
        let mut new = Self { stream: DatabaseStream::connect(address)?, request: BytesMut::new() };
        let parameters = [
            ("user", login.user.as_str()),
            ("database", &login.database),
            ("client_encoding", "UTF8"),
            ("application_name", "tickmark"),
        ];
        let parameters = parameters.into_iter().chain(login.options.map(|options| ("options", options)));
        frontend::startup_message(parameters, &mut new.request).map_err(words)?;
        new.flush()?;
        new.authenticate(login)?;
        new.stream.limit(limits)?;
        Ok(new)
    }

    fn authenticate(&mut self, login: &Login) -> Result<(), String> {
        let wanted = || format!("it asks for the password of {}", login.user);
        let password = || login.password.as_deref().ok_or_else(wanted);
        let mut scram = None;
        loop {
            match self.next()? {
                Message::ReadyForQuery(_) if scram.is_some() => {
                    return Err("it did not prove that it knows the password".to_owned());
                }
                Message::ReadyForQuery(_) => return Ok(()),
                Message::ErrorResponse(error) => return Err(complaint(&error)),
                Message::AuthenticationCleartextPassword => {
                    frontend::password_message(password()?.as_bytes(), &mut self.request).map_err(words)?;
                }
                Message::AuthenticationMd5Password(body) => {
                    let hash = md5_hash(login.user.as_bytes(), password()?.as_bytes(), body.salt());
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
                    check_iterations(body.data())?;
                    scram.update(body.data()).map_err(words)?;
                    frontend::sasl_response(scram.message(), &mut self.request).map_err(words)?;
                }
                Message::AuthenticationSaslFinal(body) => {
                    let mut scram = scram.take().ok_or("it ends what was not begun")?;
                    scram.finish(body.data()).map_err(words)?;
                }
                Message::AuthenticationGss | Message::AuthenticationSspi => {
                    return Err("it asks for Kerberos, which is not supported".to_owned());
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
            // The parser reserves as much as the message length that the server announces.
            if let Some([a, b, c, d]) = self.stream.received.get(1..5)
                && u32::from_be_bytes([*a, *b, *c, *d]) > self.stream.limits.max_message_bytes
            {
                let most = self.stream.limits.max_message_bytes;
                return Err(format!("it announces a message of more than {most} bytes: is it PostgreSQL?"));
            }
            if let Some(message) = Message::parse(&mut self.stream.received).map_err(words)? {
                return Ok(message);
            }
            self.stream.fill()?;
        }
    }

    /// Sends the request; what `on_row` makes of each row, up to the end of the answer.
    fn answer(&mut self, mut on_row: impl FnMut(&DataRowBody) -> Result<(), String>) -> Result<(), String> {
        self.stream.send(&self.request)?;
        self.request.clear();
        let mut outcome = Ok(());
        loop {
            match self.next()? {
                Message::DataRow(data) => on_row(&data)?,
                // What follows says that it is ready for more.
                Message::ErrorResponse(error) => outcome = Err(complaint(&error)),
                Message::ReadyForQuery(_) => return outcome,
                _ => {}
            }
        }
    }

    /// Carries out statements without parameters; the number of their rows.
    ///
    /// # Errors
    /// The server's error, in words.
    pub fn run(&mut self, statements: &str) -> Result<u64, String> {
        frontend::query(statements, &mut self.request).map_err(words)?;
        let mut rows = 0;
        self.answer(|_| {
            rows += 1;
            Ok(())
        })?;
        Ok(rows)
    }

    /// The rows of a statement, each column as text.
    ///
    /// # Errors
    /// The server's error in words, or an answer above its limit.
    pub fn query(&mut self, statement: &str, parameters: &[Parameter<'_>]) -> Result<Vec<Row>, String> {
        self.extended(statement, parameters, TEXT)
    }

    /// The rows of a statement, each column in its type's binary format: a bytea's bytes.
    ///
    /// # Errors
    /// The server's error in words, or an answer above its limit.
    pub fn query_binary(
        &mut self,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, String> {
        self.extended(statement, parameters, BINARY)
    }

    fn extended(
        &mut self,
        statement: &str,
        parameters: &[Parameter<'_>],
        format: i16,
    ) -> Result<Vec<Row>, String> {
        frontend::parse("", statement, [], &mut self.request).map_err(words)?;
        let formats = parameters.iter().map(|parameter| parameter.format());
        let write = |parameter: &Parameter<'_>, to: &mut BytesMut| {
            parameter.write(to);
            Ok(IsNull::No)
        };
        frontend::bind("", "", formats, parameters, write, [format], &mut self.request)
            .map_err(|_| "a parameter is too long".to_owned())?;
        frontend::execute("", 0, &mut self.request).map_err(words)?;
        frontend::sync(&mut self.request);
        let (mut rows, mut bytes, most) = (Vec::new(), 0, self.stream.limits.max_message_bytes as usize);
        self.answer(|data| {
            let row = row(data)?;
            // With what it takes in memory: a row without columns, or of nulls, has hardly a byte.
            bytes += data.buffer().len() + size_of::<Row>() + row.0.len() * size_of::<Option<Bytes>>();
            if bytes > most {
                return Err(format!("its answer has more than {most} bytes"));
            }
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Carries out work in a transaction: all of it comes to pass, or nothing.
    ///
    /// # Errors
    /// The error of the server or of the work, in words. The transaction ends with the connection, which is not to be used further.
    pub fn transaction<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, String>) -> Result<T, String> {
        self.run("begin")?;
        let done = work(self)?;
        self.run("commit")?;
        Ok(done)
    }
}

#[cfg(test)]
mod tests;
