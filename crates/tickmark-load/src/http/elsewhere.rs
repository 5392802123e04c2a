//! Our own server on another host: who asks there.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use tickmark_probe::routine::Budget;
use tickmark_probe::session::{Session, Token};
use tickmark_probe::{Params, ProbeError};
use tickmark_wire::peer_request::{Answer, Ask, Books, Pages};

/// How long the other host may take to say something.
const PATIENCE: Duration = Duration::from_secs(10);

/// The other host.
pub(super) struct Elsewhere {
    address: String,
    session: Session,
    first: Books,
}

impl Elsewhere {
    /// Asks it to serve.
    ///
    /// # Errors
    /// What it refuses, or that nobody answers.
    pub(super) fn ask(params: &Params, budget: &Budget) -> Result<Self, ProbeError> {
        let (address, file) = (params.argument("at").to_owned(), params.argument("token"));
        let token = Token::known((!file.is_empty()).then_some(Path::new(file))).map_err(ProbeError::Other)?;
        let pages = Pages {
            workers: params.number("workers"),
            threads: params.argument("by") == "threads",
            bytes: params.number("bytes"),
            keep: params.argument("connection") == "keep-alive",
        };
        let ask =
            Ask { over: "http".to_owned(), time: budget.time.get(), pages: Some(pages), ..Ask::default() };
        let mut session = Session::ask(&address, &token, &ask).map_err(ProbeError::Other)?;
        let waits = session.wait_at_most(PATIENCE);
        waits.map_err(|error| ProbeError::Other(format!("{address}: {error}")))?;
        let first = hear(&address, &mut session)?;
        Ok(Self { address, session, first })
    }

    /// Where it serves.
    ///
    /// # Errors
    /// It is gone.
    pub(super) fn at(&self) -> Result<SocketAddr, ProbeError> {
        let peer =
            self.session.peer().map_err(|error| ProbeError::Other(format!("{}: {error}", self.address)))?;
        Ok(SocketAddr::new(peer.ip(), self.first.port))
    }

    /// Its books as they are now.
    ///
    /// # Errors
    /// It is gone.
    pub(super) fn look(&mut self) -> Result<Books, ProbeError> {
        let gone = |error: std::io::Error| ProbeError::Other(format!("{}: {error}", self.address));
        self.session.send(b"look".to_vec()).map_err(gone)?;
        hear(&self.address, &mut self.session)
    }
}

fn hear(address: &str, session: &mut Session) -> Result<Books, ProbeError> {
    match session.answer(address, PATIENCE)? {
        Answer::Books(books) => Ok(*books),
        _ => Err(ProbeError::Other(format!("{address}: it says something else than what was asked"))),
    }
}
