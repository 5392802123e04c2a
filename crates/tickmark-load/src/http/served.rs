//! The servers that can be asked.

use super::server::Server;
use super::whole;
use std::net::{Ipv4Addr, SocketAddr};
use tickmark_probe::routine::Budget;
use tickmark_probe::sys::peer::Peer;
use tickmark_probe::sys::tasks::Account;
use tickmark_probe::{Params, ProbeError};
use tickmark_wire::peer_request::Books;

/// Who is asked.
pub(super) enum Served {
    /// Our own, here.
    Own(Server),
    /// Our own, on another host.
    Host(Box<whole::Elsewhere>),
    /// One that runs already, with its process where that is known.
    Another(SocketAddr, Option<u32>),
}

impl Served {
    /// Starts our own server where no other is the target.
    pub(super) fn begin(
        params: &Params,
        place: u32,
        target: Option<(SocketAddr, Option<u32>)>,
        answer: &[u8],
        budget: &Budget,
    ) -> Result<Self, ProbeError> {
        if let Some((at, pid)) = target {
            return Ok(Self::Another(at, pid));
        }
        if params.argument("whose") == "host" {
            return whole::Elsewhere::ask(params, budget).map(Box::new).map(Self::Host);
        }
        let (keep, threads) =
            (params.argument("connection") == "keep-alive", params.argument("by") == "threads");
        let workers = params.number("workers");
        Ok(Self::Own(Server::start(Ipv4Addr::LOCALHOST, place, workers, threads, answer, keep)?))
    }

    /// Where it listens.
    pub(super) fn at(&self) -> Result<SocketAddr, ProbeError> {
        match self {
            Self::Own(server) => Ok(server.at),
            Self::Host(there) => there.at(),
            Self::Another(at, _) => Ok(*at),
        }
    }

    /// Those on this machine, as they are now.
    pub(super) fn processes(&self) -> Vec<u32> {
        match self {
            Self::Own(server) => server.workers.iter().map(Peer::pid).collect(),
            Self::Another(_, Some(pid)) => whole::processes(*pid),
            Self::Another(_, None) | Self::Host(_) => Vec::new(),
        }
    }

    /// The accounts of a server on another host so far.
    pub(super) fn books(&mut self) -> Result<Option<Books>, ProbeError> {
        match self {
            Self::Host(there) => there.look().map(Some),
            Self::Own(_) | Self::Another(..) => Ok(None),
        }
    }
}

/// CPU time that a server on another host used between two readings of its accounts, scaled to the time that was measured here, ns: the
/// readings are further apart, as they travel.
pub(super) fn between(before: &Books, after: &Books, wall: u64) -> (Account, Option<u64>) {
    let apart = after.at.saturating_sub(before.at);
    let part = if before.at > 0 && apart > 0 { wall as f64 / apart as f64 } else { 1.0 };
    let of = |number: u64| (number as f64 * part).round() as u64;
    let account = |books: &Books| Account {
        cpu: books.cpu,
        waited: books.waited,
        switches: books.switches,
        ticks: books.ticks,
    };
    let more = account(after).less(&account(before));
    let interrupts = after.interrupts.zip(before.interrupts).map(|(after, before)| of(after - before));
    let account = Account {
        cpu: of(more.cpu as u64) as i64,
        waited: of(more.waited as u64) as i64,
        switches: of(more.switches),
        ticks: more.ticks,
    };
    (account, interrupts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn books_that_were_looked_at_further_apart_are_of_that_time() {
        let books = |at: u64, cpu: i64| Books {
            port: 80,
            cpu,
            waited: cpu / 10,
            switches: cpu as u64 / 1000,
            ticks: [0, 1],
            interrupts: Some(at / 1000),
            at,
        };
        let (account, interrupts) = between(&books(1_000_000, 0), &books(2_250_000, 1_000_000), 1_000_000);
        assert_eq!((account.cpu, account.waited, account.switches), (800_000, 80_000, 800));
        assert_eq!(interrupts, Some(1000));
        // One that does not say when is taken at its word.
        assert_eq!(between(&books(0, 0), &books(0, 7_000), 1_000_000).0.cpu, 7_000);
    }
}
