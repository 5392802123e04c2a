//! Servers that are none, or do harm.

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

fn login(password: Option<&str>) -> Login {
    let (user, database) = ("me".to_owned(), "base".to_owned());
    Login { user, password: password.map(str::to_owned), database, options: None }
}

/// Connects to a server that sends each of these after a message of the client, and then is silent until the client goes; and the
/// last message of the client.
fn connected<T>(
    password: Option<&str>,
    sends: &[Vec<u8>],
    work: impl FnOnce(Postgres) -> Result<T, String>,
) -> (Result<T, String>, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::scope(|scope| {
        let server = scope.spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            for bytes in sends {
                request = receive(&mut client);
                client.write_all(bytes).unwrap();
            }
            let _ = client.read_to_end(&mut Vec::new());
            request
        });
        let done = Postgres::connect(&Address::Socket(path), &login(password), SHORT).and_then(work);
        (done, server.join().unwrap())
    })
}

/// A login without a password.
fn welcome() -> Vec<u8> {
    [message(b'R', &[0; 4]), message(b'Z', b"I")].concat()
}

/// The rows of a query against a server that sends these bytes; and the request.
fn query(answer: &[u8]) -> (Result<Vec<Row>, String>, Vec<u8>) {
    let parameters = [Parameter::Text("it's"), Parameter::Number(-7), Parameter::Bytes(&[0, 255])];
    connected(None, &[welcome(), answer.to_vec()], |mut connection| {
        connection.query("select $1, $2, $3", &parameters)
    })
}

const SHORT: Limits = Limits {
    silence: Duration::from_millis(300),
    answer: Duration::from_secs(2),
    reads: 1,
    max_message_bytes: 1000,
};

#[test]
fn parameters_are_sent_beside_the_statement_and_columns_come_back() {
    let row = message(b'D', &[&[0, 3][..], &[0, 0, 0, 2], b"42", &[0xff; 4], &[0, 0, 0, 1], b"t"].concat());
    let (rows, request) = query(&[row, message(b'Z', b"I")].concat());
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
    let (rows, _) = query(&[error, message(b'Z', b"I")].concat());
    assert_eq!(rows, Err("syntax error (42601)".to_owned()));
}

#[test]
fn what_is_too_long_or_does_not_end_is_given_up() {
    for length in [0x7fff_ffffu32, u32::MAX, 1001] {
        let (rows, _) = query(&[b"D", &length.to_be_bytes()[..], b"x"].concat());
        assert!(rows.as_ref().unwrap_err().contains("more than 1000 bytes"), "{length}: {rows:?}");
    }
    for length in [0u32, 3] {
        assert!(query(&[b"D", &length.to_be_bytes()[..], b"x"].concat()).0.is_err(), "{length}");
    }
    let row = message(b'D', &[&[0, 1, 0, 0, 1, 44][..], &[b'x'; 300]].concat());
    for rows in [row.repeat(4), message(b'D', &[0, 0]).repeat(60)] {
        assert!(query(&rows).0.unwrap_err().contains("more than 1000 bytes"));
    }
    let cut = [b"D", &800u32.to_be_bytes()[..], b"x"].concat();
    assert!(query(&cut).0.unwrap_err().starts_with("no answer within"));
}

#[test]
fn a_login_by_scram_has_bounds_and_ends_with_the_servers_proof() {
    let asks = message(b'R', &[&[0, 0, 0, 10][..], b"SCRAM-SHA-256\0\0"].concat());
    let demands = |rounds: &str| {
        let challenge = format!("r=nonce,s=c2FsdA==,i={rounds}");
        message(b'R', &[&[0, 0, 0, 11][..], challenge.as_bytes()].concat())
    };
    for rounds in ["4294967295", "1000001", "-1", ""] {
        let (done, _) = connected(Some("secret"), &[asks.clone(), demands(rounds)], |_| Ok(()));
        assert!(done.as_ref().unwrap_err().contains("rounds of hashing"), "{rounds}: {done:?}");
    }
    let (done, _) = connected(Some("secret"), &[asks, welcome()], |_| Ok(()));
    assert!(done.unwrap_err().contains("did not prove"));
    let (done, _) = connected(None, &[message(b'R', &[0, 0, 0, 3])], |_| Ok(()));
    assert!(done.unwrap_err().contains("asks for the password of me"));
}

/// A server that sends a message now and then is never silent.
#[test]
fn an_answer_that_drips_has_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let server = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        receive(&mut client);
        client.write_all(&welcome()).unwrap();
        receive(&mut client);
        while client.write_all(&message(b'N', b"x")).is_ok() {
            std::thread::sleep(SHORT.silence / 6);
        }
    });
    let mut connection = Postgres::connect(&Address::Socket(path), &login(None), SHORT).unwrap();
    let error = connection.query("select 1", &[]).unwrap_err();
    assert!(error.starts_with("no whole answer within"), "{error}");
    drop(connection);
    server.join().unwrap();
}
