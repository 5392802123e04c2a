//! Where who connects waits until it has shown what it knows.

use super::{GREETING, PROTOCOL, Session, fresh};
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

/// Those who connected and did not answer yet: whoever says nothing keeps nobody else waiting.
#[derive(Debug, Default)]
pub struct Lobby(pub(super) Vec<Guest>);

impl Lobby {
    /// True if nobody waits in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One whose first line is there; those whose time is over leave.
    pub(super) fn answered(&mut self) -> Option<Guest> {
        self.0.retain(|guest| guest.session.until.is_some_and(|until| until > Instant::now()));
        let at = self.0.iter().position(Guest::has_answered)?;
        Some(self.0.remove(at))
    }
}

/// One who connected and was greeted.
#[derive(Debug)]
pub(super) struct Guest {
    pub(super) session: Session,
    pub(super) number: String,
    pub(super) from: SocketAddr,
}

impl Guest {
    pub(super) fn greet(stream: TcpStream, from: SocketAddr) -> std::io::Result<Self> {
        let session = Session::from_stream(stream)?;
        let number = fresh()?;
        let tickmark = env!("CARGO_PKG_VERSION").to_owned();
        session.send(format!("tickmark {tickmark} {PROTOCOL} {number}").into_bytes())?;
        Ok(Self { session, number, from })
    }

    /// True if both of its lines are there, or it is gone; what is there stays there.
    fn has_answered(&self) -> bool {
        // Two lines as long as they may be: what fills it can be read without waiting, to their end or to where one is too long.
        let mut text = [0; 2 * (GREETING + 1)];
        match self.session.look(&mut text) {
            Ok(length) => {
                let lines = text[..length].iter().filter(|byte| **byte == b'\n').count();
                length == 0 || length == text.len() || lines > 1
            }
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        }
    }
}
