use super::*;
use std::net::Ipv4Addr;

fn server(token: &str) -> (Server, String) {
    let server = Server::listen((Ipv4Addr::LOCALHOST, 0).into(), Token::new(token).unwrap()).unwrap();
    let address = server.address().unwrap().to_string();
    (server, address)
}

fn number(line: &[u8]) -> Result<i32, String> {
    serde_json::from_slice(line).map_err(|error| error.to_string())
}

fn ask(address: &str, token: &str) -> Result<Session, String> {
    Session::ask(address, &Token::new(token).unwrap(), &7)
}

#[test]
fn who_knows_the_token_is_served_and_has_the_key() {
    let (server, address) = server("correct horse battery");
    let client = std::thread::spawn(move || {
        let mut session = ask(&address, "correct horse battery").unwrap();
        // Somebody else is turned away.
        TcpStream::connect(&address).unwrap().write_all(&[0; KEY]).unwrap();
        let mut second = TcpStream::connect(&address).unwrap();
        second.write_all(session.key()).unwrap();
        session.text().unwrap()
    });
    let (session, what) = server.accept(number, |_| Ok(())).unwrap();
    server.second(&session).unwrap();
    session.send(b"done".to_vec()).unwrap();
    assert_eq!((what, client.join().unwrap().as_str()), (7, "done"));
}

#[test]
fn who_does_not_is_refused_in_a_line() {
    let (server, address) = server("correct horse battery");
    let other = std::thread::spawn({
        let address = address.clone();
        move || ask(&address, "wrong horse battery")
    });
    let error = server.accept(number, |_| Ok(())).unwrap_err();
    assert!(error.contains("127.0.0.1") && error.contains("token"), "{error}");
    let refused = other.join().unwrap().unwrap_err();
    assert!(refused.contains("refused: the token is another one"), "{refused}");
    // Who listens must know it, too: it repeats what it heard.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let there = listener.local_addr().unwrap().to_string();
    let liar = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut session = Session::from_stream(stream).unwrap();
        session.send(format!("tickmark 0 {PROTOCOL} 00").into_bytes()).unwrap();
        let answer = session.text().unwrap();
        session.line().unwrap();
        session.send(format!("proof {}", answer.split_once(' ').unwrap().1).into_bytes()).unwrap();
    });
    assert!(ask(&there, "correct horse battery").unwrap_err().contains("does not know the token"));
    liar.join().unwrap();
    assert!(Token::new(" short ").is_err());
    // What it asks may be refused, too.
    let other = std::thread::spawn(move || ask(&address, "correct horse battery"));
    assert!(server.accept(number, |_| Err("too much".to_owned())).is_err());
    assert!(other.join().unwrap().unwrap_err().contains("refused: too much"));
}

#[test]
fn other_programs_and_versions_are_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let there = listener.local_addr().unwrap().to_string();
    let server = std::thread::spawn(move || {
        for line in ["SSH-2.0-OpenSSH\n", "tickmark 9.0 9 00\n"] {
            listener.accept().unwrap().0.write_all(line.as_bytes()).unwrap();
        }
    });
    assert!(ask(&there, "correct horse battery").unwrap_err().contains("is no tickmark"));
    let other = ask(&there, "correct horse battery").unwrap_err();
    assert!(other.contains("9.0") && other.contains("same version"), "{other}");
    server.join().unwrap();
    // Where nobody listens; a port that was given back may be somebody else's by now.
    let nobody = ask("127.0.0.1:1", "correct horse battery").unwrap_err();
    assert!(nobody.contains("refused"), "{nobody}");
    assert!(ask("nowhere", "correct horse battery").unwrap_err().contains("no ADDRESS:PORT"));
}

/// Nineteen who say nothing, one who says half, one who drips, and one whose line never ends: who knows the token is heard all the same, at once.
#[test]
fn strangers_keep_nobody_waiting() {
    let (server, address) = server("correct horse battery");
    let mut strangers: Vec<TcpStream> = (0..22).map(|_| TcpStream::connect(&address).unwrap()).collect();
    // A line, and the beginning of another that fills what a greeting may have.
    strangers[19].write_all(&[b"a\n", &[b'a'; GREETING - 2][..]].concat()).unwrap();
    strangers[20].write_all(b"a").unwrap();
    strangers[21].write_all(&[b'a'; GREETING + 1]).unwrap();
    let (asks, to) = (address.clone(), "correct horse battery");
    let client = std::thread::spawn(move || ask(&asks, to).map(drop));
    let mut lobby = Lobby::default();
    let since = Instant::now();
    let mut refused = 0;
    let what = loop {
        assert!(since.elapsed() < PATIENCE, "nobody was heard");
        if crate::sys::hosts::somebody_within(server.listener(), LOOK).is_ok() {
            server.admit(&mut lobby).unwrap();
        }
        match server.heard(&mut lobby, number, |_| Ok(())) {
            Some(Ok((_session, what))) => break what,
            Some(Err(_)) => refused += 1,
            None => {}
        }
    };
    assert!(what == 7 && refused <= 1 && !lobby.is_empty(), "{refused}");
    client.join().unwrap().unwrap();
    // There is room for so many; the one who waits longest goes.
    for _ in 0..MOST_WAITING {
        drop(TcpStream::connect(&address).unwrap());
        server.admit(&mut lobby).unwrap();
    }
    assert!(lobby.0.len() <= MOST_WAITING);
}

#[test]
fn who_is_not_known_has_neither_room_nor_time() {
    let (server, address) = server("correct horse battery");
    let floods = std::thread::spawn({
        let address = address.clone();
        move || {
            let mut stream = TcpStream::connect(address).unwrap();
            // More than a greeting, and no end of line.
            let _ = stream.write_all(&[b'a'; 64 << 10]);
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest);
        }
    });
    assert!(server.accept(number, |_| Ok(())).is_err());
    floods.join().unwrap();
    let mut session = Session::from_stream(TcpStream::connect(&address).unwrap()).unwrap();
    session.until = Some(Instant::now());
    assert_eq!(session.line().unwrap_err().kind(), ErrorKind::TimedOut);
}
