//! MariaDB and MySQL: the client/server protocol of version 10, text queries without TLS.
//!
//! Source: "Client/Server Protocol" in MariaDB's knowledge base. The passwords of `mysql_native_password` and of the fast path of
//! `caching_sha2_password` are supported; the full path of the latter needs TLS or RSA over TCP and is refused there.

use crate::stream::DatabaseStream;
use crate::{Address, Limits, Login};
use bytes::{Buf, BytesMut};
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// Capabilities that the client requests: long password, a database to begin with, protocol 4.1, transactions, its authentication, plugins.
const CAPABILITIES: u32 = 0x0001 | 0x0008 | 0x0200 | 0x2000 | 0x8000 | 0x0008_0000;
/// Connections without a database do not ask for one.
const WITH_DATABASE: u32 = 0x0008;
/// utf8mb4_general_ci.
const CHARSET: u8 = 45;
/// A packet of this length continues in the next one.
const MAX_PACKET: usize = 0xff_ffff;

const OK: u8 = 0x00;
const MORE_AUTHENTICATION: u8 = 0x01;
const LOCAL_FILE: u8 = 0xfb;
/// The end of columns or rows; while authenticating, the request for another plugin.
const END: u8 = 0xfe;
const ERROR: u8 = 0xff;

/// One connection to MariaDB or MySQL.
pub struct Mariadb {
    stream: DatabaseStream,
    /// The number of the next packet of this exchange.
    sequence: u8,
}

impl Mariadb {
    /// Connects and logs in.
    ///
    /// # Errors
    /// Why there is no connection, in words.
    pub fn connect(address: &Address, login: &Login, limits: Limits) -> Result<Self, String> {
        let mut new = Self { stream: DatabaseStream::connect(address)?, sequence: 0 };
        let greeting = Greeting::parse(new.receive()?)?;
        let password = login.password.as_deref().unwrap_or_default();
        new.send(&login_packet(login, &greeting, password))?;
        new.authenticate(address, login)?;
        new.stream.limit(limits)?;
        Ok(new)
    }

    fn authenticate(&mut self, address: &Address, login: &Login) -> Result<(), String> {
        let password = login.password.as_deref().unwrap_or_default();
        loop {
            let mut packet = self.receive()?;
            let kind = packet.first().copied().ok_or_else(malformed)?;
            packet.advance(1);
            match (kind, packet.first()) {
                (OK, _) => return Ok(()),
                (ERROR, _) => return Err(complaint(&packet)),
                (END, _) => {
                    let plugin = text(&mut packet)?;
                    self.send(&response(&Greeting { plugin, salt: salt(&packet) }, password)?)?;
                }
                // The server knows the hash already.
                (MORE_AUTHENTICATION, Some(3)) => {}
                (MORE_AUTHENTICATION, Some(4)) if matches!(address, Address::Socket(_)) => {
                    self.send(&[password.as_bytes(), &[0]].concat())?;
                }
                (MORE_AUTHENTICATION, Some(4)) => {
                    return Err(format!(
                        "the first login of {} needs TLS or RSA over TCP, which tickmark does not speak: use the server's UNIX socket, or log in once with the mysql client",
                        login.user
                    ));
                }
                _ => return Err(malformed()),
            }
        }
    }

    /// Sends a packet that continues an exchange.
    fn send(&mut self, payload: &[u8]) -> Result<(), String> {
        let packet = self.packet(payload)?;
        self.stream.write(&packet)
    }

    fn packet(&mut self, payload: &[u8]) -> Result<Vec<u8>, String> {
        let length = u32::try_from(payload.len()).ok().filter(|length| (*length as usize) < MAX_PACKET);
        let length = length.ok_or("the statement has more than 16 MiB")?;
        let header = length.to_le_bytes();
        let packet = [&[header[0], header[1], header[2], self.sequence], payload].concat();
        self.sequence = self.sequence.wrapping_add(1);
        Ok(packet)
    }

    /// The payload of the next packet.
    fn receive(&mut self) -> Result<BytesMut, String> {
        loop {
            if let [a, b, c, sequence, ..] = self.stream.received[..] {
                let length = u32::from_le_bytes([a, b, c, 0]) as usize;
                if length >= MAX_PACKET {
                    return Err("it announces a packet of more than 16 MiB: is it MariaDB?".to_owned());
                }
                if self.stream.received.len() >= 4 + length {
                    self.stream.received.advance(4);
                    self.sequence = sequence.wrapping_add(1);
                    return Ok(self.stream.received.split_to(length));
                }
            }
            self.stream.fill()?;
        }
    }

    /// Skips or counts packets up to the one that ends them.
    fn count_to_end(&mut self) -> Result<u64, String> {
        let mut count = 0;
        loop {
            let packet = self.receive()?;
            match packet.first() {
                // A row may begin with this byte, too: then it is longer.
                Some(&END) if packet.len() < 9 => return Ok(count),
                Some(&ERROR) => return Err(complaint(&packet[1..])),
                Some(_) => count += 1,
                None => return Err(malformed()),
            }
        }
    }

    /// Carries out a statement; the number of its rows.
    ///
    /// # Errors
    /// The server's error, in words.
    pub fn run(&mut self, statement: &str) -> Result<u64, String> {
        self.sequence = 0;
        let query = self.packet(&[b"\x03", statement.as_bytes()].concat())?;
        self.stream.send(&query)?;
        let first = self.receive()?;
        match first.first() {
            Some(&OK) => Ok(0),
            Some(&ERROR) => Err(complaint(&first[1..])),
            Some(&LOCAL_FILE) => Err("it asks for a file of this machine".to_owned()),
            Some(_) => {
                let _columns = self.count_to_end()?;
                self.count_to_end()
            }
            None => Err(malformed()),
        }
    }
}

/// How the server wants to authenticate clients.
struct Greeting {
    plugin: String,
    salt: Vec<u8>,
}

impl Greeting {
    fn parse(mut packet: BytesMut) -> Result<Self, String> {
        match packet.first() {
            Some(10) => packet.advance(1),
            Some(&ERROR) => return Err(complaint(&packet[1..])),
            _ => return Err(malformed()),
        }
        let _version = text(&mut packet)?;
        // Thread 4, salt 8, filler 1, capabilities 2, charset 1, status 2, capabilities 2, length of the salt 1, reserved 10.
        let (fixed, rest) = packet.split_at_checked(31).ok_or_else(malformed)?;
        let mut salt = fixed[4..12].to_vec();
        let second = usize::from(fixed[20]).saturating_sub(8).max(13).min(rest.len());
        salt.extend(self::salt(&rest[..second]));
        let mut rest = BytesMut::from(&rest[second..]);
        let plugin = text(&mut rest).unwrap_or_else(|_| "mysql_native_password".to_owned());
        Ok(Self { plugin, salt })
    }
}

/// The first answer of the client: who it is, and the response to the salt.
fn login_packet(login: &Login, greeting: &Greeting, password: &str) -> Vec<u8> {
    // A plugin that is not spoken gets no response; the server then asks for another one.
    let response = response(greeting, password).unwrap_or_default();
    let capabilities = if login.database.is_empty() { CAPABILITIES & !WITH_DATABASE } else { CAPABILITIES };
    let mut packet = capabilities.to_le_bytes().to_vec();
    packet.extend((MAX_PACKET as u32).to_le_bytes());
    packet.push(CHARSET);
    packet.extend([0; 23]);
    packet.extend([login.user.as_bytes(), &[0]].concat());
    packet.push(u8::try_from(response.len()).unwrap_or_default());
    packet.extend(response);
    if !login.database.is_empty() {
        packet.extend([login.database.as_bytes(), &[0]].concat());
    }
    packet.extend([greeting.plugin.as_bytes(), &[0]].concat());
    packet
}

/// The response of a plugin to its salt.
fn response(greeting: &Greeting, password: &str) -> Result<Vec<u8>, String> {
    match greeting.plugin.as_str() {
        _ if password.is_empty() => Ok(Vec::new()),
        "mysql_native_password" => {
            let hash = Sha1::digest(password);
            Ok(xor(&hash, &Sha1::digest([&greeting.salt[..], &Sha1::digest(hash)].concat())))
        }
        "caching_sha2_password" => {
            let hash = Sha256::digest(password);
            let twice = Sha256::digest(hash);
            Ok(xor(&hash, &Sha256::digest([&Sha256::digest(twice)[..], &greeting.salt].concat())))
        }
        // The server asks the kernel who is at the other end.
        "unix_socket" | "auth_socket" => Ok(Vec::new()),
        other => Err(format!("it asks for authentication by {other:.80}, which is not supported")),
    }
}

fn xor(one: &[u8], other: &[u8]) -> Vec<u8> {
    one.iter().zip(other).map(|(one, other)| one ^ other).collect()
}

/// A salt without the byte 0 that ends it.
fn salt(bytes: &[u8]) -> Vec<u8> {
    bytes.strip_suffix(&[0]).unwrap_or(bytes).to_vec()
}

/// A text up to its byte 0, which are both taken from the packet.
fn text(packet: &mut BytesMut) -> Result<String, String> {
    let length = packet.iter().position(|byte| *byte == 0).ok_or_else(malformed)?;
    let text = String::from_utf8_lossy(&packet[..length]).into_owned();
    packet.advance(length + 1);
    Ok(text)
}

/// The server's message and error code, without the marker `#` and SQL state between them.
fn complaint(packet: &[u8]) -> String {
    let Some((code, message)) = packet.split_at_checked(2) else { return malformed() };
    let message = if message.first() == Some(&b'#') { message.get(6..).unwrap_or_default() } else { message };
    let code = u16::from_le_bytes([code[0], code[1]]);
    format!("{:.300} ({code})", String::from_utf8_lossy(message))
}

fn malformed() -> String {
    "it sent what is no answer: is it MariaDB?".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;

    /// A greeting of version 10 with the salt 1 to 20 and a plugin.
    fn greeting(plugin: &str) -> Vec<u8> {
        let mut payload = [&[10][..], b"11.8\0", &[7, 0, 0, 0]].concat();
        payload.extend(1..=8);
        payload.extend([0, 0xff, 0xf7, 45, 2, 0, 0xff, 0x81, 21]);
        payload.extend([0; 10]);
        payload.extend(9..=20);
        payload.extend([&[0], plugin.as_bytes(), &[0]].concat());
        payload
    }

    /// A payload as a packet.
    fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
        [&[u8::try_from(payload.len()).unwrap(), 0, 0, sequence], payload].concat()
    }

    /// The result of a query against a server that sends these bytes, each after a message of the client, and the client's login.
    fn query(server_sends: &[Vec<u8>], password: Option<&str>) -> (Result<u64, String>, Vec<u8>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        std::thread::scope(|scope| {
            let server = scope.spawn(move || {
                let (mut client, _) = listener.accept().unwrap();
                let mut login = Vec::new();
                for (number, bytes) in server_sends.iter().enumerate() {
                    if number > 0 {
                        let mut message = [0; 4096];
                        let count = client.read(&mut message).unwrap();
                        login.extend(message[..count].iter().filter(|_| number == 1));
                    }
                    client.write_all(bytes).unwrap();
                }
                login
            });
            let own = Login {
                user: "me".to_owned(),
                password: password.map(str::to_owned),
                database: "base".to_owned(),
                options: None,
            };
            let connected = Mariadb::connect(&Address::Socket(path), &own, Limits::LOAD);
            let done = connected.and_then(|mut connection| connection.run("select 1"));
            (done, server.join().unwrap())
        })
    }

    #[test]
    fn the_salt_is_answered_as_each_plugin_defines() {
        // Computed with another implementation of SHA-1 and SHA-256.
        for (plugin, expected) in [
            ("mysql_native_password", "b32bb3a583e1340c0a1108d58b1be49781ad8c2f"),
            ("caching_sha2_password", "33f3676ed12f11181e3898714922b5fc3aea77f11729a61eaf781b56a306b82b"),
        ] {
            let greeting = Greeting::parse(BytesMut::from(&greeting(plugin)[..])).unwrap();
            assert_eq!(greeting.salt, (1..=20).collect::<Vec<u8>>());
            let response = response(&greeting, "secret").unwrap();
            let hex: String = response.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, expected, "{plugin}");
        }
    }

    #[test]
    fn an_error_of_the_server_is_given_in_its_words() {
        let error = [&[ERROR, 0x15, 0x04][..], b"#28000Access denied"].concat();
        let greeting = packet(0, &greeting("mysql_native_password"));
        let (done, login) = query(&[greeting, packet(2, &error)], Some("secret"));
        assert_eq!(done, Err("Access denied (1045)".to_owned()));
        assert!(login.windows(6).any(|part| part == b"me\0\x14\xb3\x2b"), "{login:?}");
        assert!(login.ends_with(b"base\0mysql_native_password\0"), "{login:?}");
        assert_eq!(query(&[packet(0, &error)], None).0, Err("Access denied (1045)".to_owned()));
    }

    #[test]
    fn answers_that_are_none_are_refused() {
        for payload in [&[][..], &[10], b"SSH-2.0-OpenSSH", &[10; 30]] {
            assert_eq!(query(&[packet(0, payload)], None).0, Err(malformed()));
        }
        assert!(query(&[vec![0xff; 40]], None).0.unwrap_err().contains("more than 16 MiB"));
        let hello = packet(0, &greeting("mysql_native_password"));
        let ok = packet(2, &[OK, 0, 0, 2, 0]);
        let after = |payload: &[u8]| query(&[hello.clone(), ok.clone(), packet(1, payload)], None).0;
        assert_eq!(after(&[]), Err(malformed()));
        assert_eq!(after(&[LOCAL_FILE, b'x']), Err("it asks for a file of this machine".to_owned()));
        assert!(after(&[1]).is_err(), "columns that do not come");
        let other = packet(2, &[&[END][..], b"mysql_old_password\0salt"].concat());
        let refused = query(&[hello.clone(), other], Some("secret")).0.unwrap_err();
        assert!(refused.contains("mysql_old_password"), "{refused}");
    }

    #[test]
    fn rows_are_counted_up_to_the_end() {
        let hello = packet(0, &greeting("unix_socket"));
        let ok = packet(2, &[OK, 0, 0, 2, 0]);
        let end = [END, 0, 0, 2, 0];
        // A row whose first field has 2^24 bytes or more begins like the end, and is longer.
        let long = [END, 1, 2, 3, 4, 5, 6, 7, 8, 9];
        let answer = [&[1][..], b"column", &end, b"\x011", &long, &end];
        let answer: Vec<u8> =
            answer.iter().zip(1..).flat_map(|(payload, sequence)| packet(sequence, payload)).collect();
        assert_eq!(query(&[hello, ok, answer], None).0, Ok(2));
    }
}
