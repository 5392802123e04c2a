//! The side that listens: who connects, and whether they know the token.

use super::lobby::Guest;
use super::*;

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
