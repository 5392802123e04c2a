//! The other side on another host: who asks there.

use std::path::Path;
use std::time::Duration;
use tickmark_probe::routine::Budget;
use tickmark_probe::session::{Session, Token};
use tickmark_probe::sys::hosts;
use tickmark_probe::sys::message::End;
use tickmark_probe::{Params, ProbeError};
use tickmark_wire::Loads;
use tickmark_wire::peer_request::{Answer, Ask};

/// How long the other host may take to begin, and to say what its CPU did.
const BEGINS: Duration = Duration::from_secs(10);

/// The other host.
pub(super) struct Elsewhere {
    address: String,
    session: Session,
}

impl Elsewhere {
    /// Asks it to answer, and connects to it.
    pub(super) fn ask(
        params: &Params,
        both: bool,
        most: usize,
        budget: &Budget,
    ) -> Result<(Self, End), ProbeError> {
        let argument = |name: &str| params.argument(name).to_owned();
        let file = Some(argument("token")).filter(|file| !file.is_empty());
        let token = Token::known(file.as_ref().map(Path::new)).map_err(ProbeError::Other)?;
        let (address, over) = (argument("at"), argument("over"));
        let (load, step, class) = (argument("load"), argument("step"), argument("class"));
        let ask = Ask { over, both, most, load, step, class, time: budget.time.get(), pages: None };
        let session = Session::ask(&address, &token, &ask).map_err(ProbeError::Other)?;
        let wrong = |error: std::io::Error| ProbeError::Other(format!("{address}: {error}"));
        session.wait_at_most(BEGINS).map_err(wrong)?;
        let there = session.peer().map_err(wrong)?;
        let end = match ask.over.as_str() {
            "udp" => End::Datagrams(hosts::udp_ask(there, session.key()).map_err(wrong)?),
            _ => End::Stream(hosts::tcp_ask(there, session.key()).map_err(wrong)?),
        };
        Ok((Self { address, session }, end))
    }

    fn hear(&mut self) -> Result<Answer, ProbeError> {
        self.session.answer(&self.address, BEGINS)
    }

    fn strange(&self) -> ProbeError {
        ProbeError::Other(format!("{}: it says something else than what was asked", self.address))
    }

    /// Until it computes.
    pub(super) fn wait(&mut self) -> Result<(), ProbeError> {
        if matches!(self.hear()?, Answer::Ready) { Ok(()) } else { Err(self.strange()) }
    }

    /// Load of its CPU, after the last message.
    pub(super) fn loads(&mut self) -> Result<Loads, ProbeError> {
        match self.hear()? {
            Answer::Loads(loads) => Ok(*loads),
            _ => Err(self.strange()),
        }
    }

    /// Why a call failed on this side, by what the other one says of itself.
    pub(super) fn peer_reason(&mut self, error: &ProbeError) -> ProbeError {
        let _ = self.session.wait_at_most(Duration::from_secs(1));
        match self.hear() {
            Err(why @ ProbeError::Other(_)) if !why.to_string().contains("no answer") => why,
            _ => ProbeError::Other(format!("{}: {error}", self.address)),
        }
    }
}
