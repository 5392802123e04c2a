//! Our own server for a client on another host, which asked for it in a session.

use super::super::costs::Interrupts;
use super::server::{Server, answer};
use std::net::SocketAddr;
use tickmark_probe::ProbeError;
use tickmark_probe::session::Session;
use tickmark_probe::sys::tasks::{self, Account};
use tickmark_timer::monotonic_ns;
use tickmark_wire::peer_request::{Answer, Books, Pages};

/// Workers and bytes at most.
const MOST: [usize; 2] = [2048, 16 << 20];

/// Whether that can be done.
pub(crate) fn can(ask: &Pages) -> Result<(), String> {
    match (1..=MOST[0]).contains(&ask.workers) && ask.bytes <= MOST[1] {
        true => Ok(()),
        false => Err(format!(
            "{} workers with {} bytes: at most {} and {}",
            ask.workers, ask.bytes, MOST[0], MOST[1]
        )),
    }
}

/// Serves at the address that was asked, and gives its books for each line that comes, until the session ends.
///
/// # Errors
/// It cannot listen; the session is over IPv6.
pub(crate) fn serve(session: &mut Session, ask: &Pages, cpu: u32) -> Result<(), ProbeError> {
    let wrong = |error: std::io::Error| ProbeError::Other(error.to_string());
    let SocketAddr::V4(here) = session.here().map_err(wrong)? else {
        return Err(ProbeError::Other("HTTP between hosts takes an IPv4 address".to_owned()));
    };
    let server =
        Server::start(*here.ip(), cpu, ask.workers, ask.threads, &answer(ask.bytes, ask.keep), ask.keep)?;
    let mut interrupts = Interrupts::start(&[cpu]);
    loop {
        let begun = monotonic_ns();
        let Account { cpu, waited, switches, ticks } =
            tasks::sum(server.workers.iter().map(|worker| Account::for_process(worker.pid())));
        let (port, interrupts) = (server.at.port(), interrupts.so_far());
        // To read the books of many workers takes a while: the middle of it.
        let at = begun.midpoint(monotonic_ns());
        let books = Books { port, cpu, waited, switches, ticks, interrupts, at };
        session.send(Answer::Books(Box::new(books)).line()).map_err(wrong)?;
        // Whoever asked is gone when there is no line more.
        if session.line().is_err() {
            return Ok(());
        }
    }
}
