//! Where the agents of a survey come, and stay while they are told what to do.

use super::super::launch::{LOOK, Line};
use crate::{Control, Error};
use std::collections::{BTreeMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};
use tickmark_probe::session::{Server, Session, Token};
use tickmark_probe::sys::{hosts, limits};
use tickmark_wire::links::{Here, Reply};

/// When one has come, the next may take so long.
const LATE: Duration = Duration::from_secs(10);
/// Complaints that are kept.
const MOST: usize = 10_000;

/// An agent that came.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) session: Session,
    /// Where others find it.
    pub(super) at: String,
}

impl Member {
    /// What it says, until then.
    pub(super) fn hear(&mut self, deadline: Instant) -> Result<Reply, String> {
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        self.session.wait_at_most(left).map_err(|error| error.to_string())?;
        let line = self.session.text().map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => "is gone".to_owned(),
            std::io::ErrorKind::WouldBlock => "says nothing".to_owned(),
            _ => format!("is gone: {error}"),
        })?;
        Reply::parse(&line).ok_or_else(|| "says something that is no answer".to_owned())
    }
}

/// Who knows the token may come.
pub(super) struct Meeting {
    server: Arc<Server>,
    /// Machines that were turned away, and why.
    pub(super) refused: BTreeMap<String, String>,
}

/// Who came, or was turned away.
type Came = Result<(Here, Session), (String, String)>;

impl Meeting {
    pub(super) fn listen(at: SocketAddr, token: &Token) -> Result<Self, Error> {
        // A connection of each machine is open.
        limits::many_files();
        let server = Server::listen(at, token.clone())
            .map_err(|error| Error::Refused(format!("--listen {at}: {error}")))?;
        Ok(Self { server: Arc::new(server), refused: BTreeMap::new() })
    }

    /// Where agents may find it, the likeliest first: ADDRESS:PORT with commas.
    pub(super) fn addresses(&self) -> Result<String, Error> {
        let at = self.server.address().map_err(|error| Error::Refused(error.to_string()))?;
        let all = if at.ip().is_unspecified() {
            let own = if at.is_ipv6() {
                IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1])
            } else {
                IpAddr::from([127, 0, 0, 1])
            };
            // An address of the other version is not listened at.
            let others = hosts::addresses().into_iter().filter(|address| address.is_ipv6() == at.is_ipv6());
            others.chain([own]).collect()
        } else {
            vec![at.ip()]
        };
        Ok(all.iter().map(|ip| SocketAddr::new(*ip, at.port()).to_string()).collect::<Vec<_>>().join(","))
    }

    /// Waits until all of these have come, no more come, or the launcher ends. The first may take as long as `patience`.
    pub(super) fn gather(
        &mut self,
        nodes: &[String],
        lines: &Receiver<Line>,
        complaints: &mut Vec<String>,
        patience: Duration,
        control: &Control,
    ) -> BTreeMap<String, Member> {
        let (send, comes) = channel();
        let mut came: BTreeMap<String, Member> = BTreeMap::new();
        let mut deadline = Instant::now() + patience;
        let asked: HashSet<&String> = nodes.iter().collect();
        let mut over = false;
        while came.len() + self.refused.len() < nodes.len() && !control.stopped() && Instant::now() < deadline
        {
            match hosts::somebody_within(self.server.listener(), LOOK) {
                Ok(()) => greet(&self.server, &send),
                // Whoever was there is told of; then nobody comes any more.
                Err(_) if over => break,
                Err(_) => {}
            }
            while let Ok(one) = comes.try_recv() {
                deadline = Instant::now() + LATE;
                match one {
                    Ok((here, session)) if asked.contains(&here.node) => {
                        let Some(at) = address(&here, &session) else { continue };
                        // A second one of the same name is turned away by its connection's end.
                        came.entry(here.node).or_insert(Member { session, at });
                    }
                    Ok(_) => {}
                    Err((node, why)) => drop(self.refused.insert(node, why)),
                }
            }
            loop {
                match lines.try_recv() {
                    Ok(Line::Output(line) | Line::Complaint(line)) if complaints.len() < MOST => {
                        complaints.push(line);
                    }
                    // Complaints may come behind it.
                    Ok(Line::End) => over = true,
                    Ok(_) => {}
                    Err(TryRecvError::Disconnected) => {
                        over = true;
                        break;
                    }
                    Err(TryRecvError::Empty) => break,
                }
            }
        }
        came
    }
}

/// Greets who comes, in a thread: one that says nothing keeps no other from coming.
fn greet(server: &Arc<Server>, send: &Sender<Came>) {
    let Ok((stream, from)) = server.listener().accept() else { return };
    let (server, send) = (server.clone(), send.clone());
    let greets = move || {
        let other = std::sync::Mutex::new(None);
        let parse =
            |line: &[u8]| Here::parse(&String::from_utf8_lossy(line)).ok_or_else(|| "no machine".to_owned());
        let can = |here: &Here| {
            let own = env!("CARGO_PKG_VERSION");
            if here.agent == own {
                return Ok(());
            }
            let why = format!("its agent is of version {}, and this program of {own}", here.agent);
            if let Ok(mut other) = other.lock() {
                *other = Some((here.node.clone(), why.clone()));
            }
            Err(why)
        };
        let greeted = server.greet(stream, from, parse, can).map(|(session, here)| (here, session));
        let told = match (greeted, other.into_inner()) {
            (Ok(came), _) => Ok(came),
            (Err(_), Ok(Some(refused))) => Err(refused),
            // A stranger is none of the machines.
            (Err(_), _) => return,
        };
        let _ = send.send(told);
    };
    // One that cannot be greeted comes to nothing, as one that is gone.
    let _ = std::thread::Builder::new().stack_size(256 << 10).spawn(greets);
}

/// Where others find it: by its address in the network that was asked for, else by the one that it came from.
fn address(here: &Here, session: &Session) -> Option<String> {
    let ip = match &here.address {
        Some(address) => address.parse().ok()?,
        None => session.peer().ok()?.ip(),
    };
    Some(SocketAddr::new(ip, here.port).to_string())
}
