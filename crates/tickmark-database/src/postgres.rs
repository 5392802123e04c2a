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
                    scram.update(body.data()).map_err(words)?;
                    frontend::sasl_response(scram.message(), &mut self.request).map_err(words)?;
                }
                Message::AuthenticationSaslFinal(body) => {
                    let scram = scram.as_mut().ok_or("it ends what was not begun")?;
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
            // The parser reserves as much as is announced.
            if let Some([a, b, c, d]) = self.stream.received.get(1..5)
                && u32::from_be_bytes([*a, *b, *c, *d]) > self.stream.limits.bytes
            {
                let most = self.stream.limits.bytes;
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
        let (mut rows, mut bytes, most) = (Vec::new(), 0, self.stream.limits.bytes as usize);
        self.answer(|data| {
            bytes += data.buffer().len();
            if bytes > most {
                return Err(format!("its answer has more than {most} bytes"));
            }
            rows.push(row(data)?);
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
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::time::Duration;

    fn message(kind: u8, payload: &[u8]) -> Vec<u8> {
        [&[kind], &(4 + payload.len() as u32).to_be_bytes()[..], payload].concat()
    }

    fn receive(client: &mut UnixStream) -> Vec<u8> {
        let mut bytes = [0; 4096];
        let count = client.read(&mut bytes).unwrap();
        bytes[..count].to_vec()
    }

    /// The rows of a query against a server that sends these bytes after the login, and then is silent; and the request.
    fn query(answer: &[u8], limits: Limits) -> (Result<Vec<Row>, String>, Vec<u8>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        std::thread::scope(|scope| {
            let server = scope.spawn(move || {
                let (mut client, _) = listener.accept().unwrap();
                receive(&mut client);
                client.write_all(&[message(b'R', &[0; 4]), message(b'Z', b"I")].concat()).unwrap();
                let request = receive(&mut client);
                client.write_all(answer).unwrap();
                // Until the client gives it up.
                let _ = client.read_to_end(&mut Vec::new());
                request
            });
            let login =
                Login { user: "me".to_owned(), password: None, database: "base".to_owned(), options: None };
            let connected = Postgres::connect(&Address::Socket(path), &login, limits);
            let parameters = [Parameter::Text("it's"), Parameter::Number(-7), Parameter::Bytes(&[0, 255])];
            let rows =
                connected.and_then(|mut connection| connection.query("select $1, $2, $3", &parameters));
            (rows, server.join().unwrap())
        })
    }

    const SHORT: Limits =
        Limits { silence: Duration::from_millis(300), answer: Duration::from_secs(2), reads: 1, bytes: 1000 };

    #[test]
    fn parameters_are_sent_beside_the_statement_and_columns_come_back() {
        let row =
            message(b'D', &[&[0, 3][..], &[0, 0, 0, 2], b"42", &[0xff; 4], &[0, 0, 0, 1], b"t"].concat());
        let (rows, request) = query(&[row, message(b'Z', b"I")].concat(), SHORT);
        let rows = rows.unwrap();
        assert_eq!((rows.len(), rows[0].number(0), rows[0].flag(2)), (1, Ok(42), Ok(true)));
        assert!(rows[0].text(1).is_err() && rows[0].text(3).is_err() && rows[0].number(2).is_err());
        // Three format codes and three values with their lengths.
        let bound = [&[0, 3, 0, 0, 0, 0, 0, 1, 0, 3, 0, 0, 0, 4][..], b"it's", &[0, 0, 0, 2], b"-7"].concat();
        assert!(request.windows(bound.len()).any(|part| part == bound), "{request:?}");
    }

    #[test]
    fn an_error_of_the_server_is_given_in_its_words() {
        let error = message(b'E', b"SERROR\0C42601\0Msyntax error\nand more\0\0");
        let (rows, _) = query(&[error, message(b'Z', b"I")].concat(), SHORT);
        assert_eq!(rows, Err("syntax error (42601)".to_owned()));
    }

    #[test]
    fn what_is_too_long_or_does_not_end_is_given_up() {
        for length in [0x7fff_ffffu32, u32::MAX, 1001] {
            let (rows, _) = query(&[b"D", &length.to_be_bytes()[..], b"x"].concat(), SHORT);
            assert!(rows.as_ref().unwrap_err().contains("more than 1000 bytes"), "{length}: {rows:?}");
        }
        for length in [0u32, 3] {
            assert!(query(&[b"D", &length.to_be_bytes()[..], b"x"].concat(), SHORT).0.is_err(), "{length}");
        }
        let row = message(b'D', &[&[0, 1, 0, 0, 1, 44][..], &[b'x'; 300]].concat());
        assert!(query(&row.repeat(4), SHORT).0.unwrap_err().contains("more than 1000 bytes"));
        let cut = [b"D", &800u32.to_be_bytes()[..], b"x"].concat();
        assert!(query(&cut, SHORT).0.unwrap_err().starts_with("no answer within"));
    }

    /// A server that sends a byte now and then is never silent.
    #[test]
    fn an_answer_that_drips_has_an_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let server = std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            receive(&mut client);
            client.write_all(&[message(b'R', &[0; 4]), message(b'Z', b"I")].concat()).unwrap();
            receive(&mut client);
            while client.write_all(&message(b'N', b"x")).is_ok() {
                std::thread::sleep(SHORT.silence / 6);
            }
        });
        let login =
            Login { user: "me".to_owned(), password: None, database: "base".to_owned(), options: None };
        let mut connection = Postgres::connect(&Address::Socket(path), &login, SHORT).unwrap();
        let error = connection.query("select 1", &[]).unwrap_err();
        assert!(error.starts_with("no whole answer within"), "{error}");
        drop(connection);
        server.join().unwrap();
    }
}
