//! Where the agents of a survey come, and stay while they are told what to do.

use super::super::launch::{LOOK, Line};
use crate::{Control, Error};
use std::collections::{BTreeMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};
use tickmark_probe::session::{Server, Session, Token};
use tickmark_probe::sys::{hosts, limits};
use tickmark_wire::links::{Here, Reply};

/// When one has come, the next may take so long.
const LATE: Duration = Duration::from_secs(10);
/// So many may come at once.
const ALL_AT_ONCE: i32 = 4096;
/// Beside those that are asked so many may be greeted at a time.
const STRANGERS: usize = 256;
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
    /// The message of the machine, unless the user ends the meeting first.
    pub(super) fn hear(&mut self, deadline: Instant, stop: &dyn Fn() -> bool) -> Result<Reply, String> {
        let gone = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => "is gone".to_owned(),
            std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => "says nothing more".to_owned(),
            _ => format!("is gone: {error}"),
        };
        while !self.session.has_more(LOOK).map_err(gone)? {
            if stop() {
                return Err("was not heard to the end: interrupted".to_owned());
            }
            if Instant::now() > deadline {
                return Err("says nothing".to_owned());
            }
        }
        let line = self.session.text_until(deadline.max(Instant::now() + LOOK)).map_err(gone)?;
        Reply::parse(&line).ok_or_else(|| "says something that is no answer".to_owned())
    }
}

/// Who knows the token may come.
pub(super) struct Meeting {
    server: Arc<Server>,
    /// Machines that were turned away, and why.
    pub(super) refused: BTreeMap<String, String>,
    elsewhere: bool,
}

/// Who came, or was turned away.
type Came = Result<(Here, Session), (String, String)>;

impl Meeting {
    /// Listens there; `elsewhere`: machines say at which address others find them.
    pub(super) fn listen(at: SocketAddrV4, token: &Token, elsewhere: bool) -> Result<Self, Error> {
        // A connection of each machine is open, and all may come at once.
        limits::many_files();
        let listening = Server::listen(at.into(), token.clone())
            .and_then(|server| server.queue(ALL_AT_ONCE).map(|()| server));
        let server = listening.map_err(|error| Error::Refused(format!("--listen {at}: {error}")))?;
        Ok(Self { server: Arc::new(server), refused: BTreeMap::new(), elsewhere })
    }

    /// Where agents may find it, the likeliest first: ADDRESS:PORT with commas.
    pub(super) fn addresses(&self) -> Result<String, Error> {
        let at = self.server.address().map_err(|error| Error::Refused(error.to_string()))?;
        let all: Vec<IpAddr> = if at.ip().is_unspecified() {
            hosts::addresses().into_iter().chain([Ipv4Addr::LOCALHOST]).map(IpAddr::from).collect()
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
        let wanted: HashSet<&String> = nodes.iter().collect();
        let mut over = false;
        while came.len() + self.refused.len() < nodes.len() && !control.stopped() && Instant::now() < deadline
        {
            match hosts::somebody_within(self.server.listener(), LOOK) {
                Ok(()) => greet(&self.server, nodes.len() + STRANGERS, &send),
                // Whoever was there is told of; then nobody comes any more.
                Err(_) if over => break,
                Err(_) => {}
            }
            while let Ok(one) = comes.try_recv() {
                deadline = Instant::now() + LATE;
                match one {
                    Ok((here, session)) if wanted.contains(&here.node) => {
                        let Some(at) = self.address(&here, &session) else { continue };
                        // A second one of the same name is turned away by its connection's end.
                        came.entry(here.node).or_insert(Member { session, at });
                    }
                    Ok((Here { node, .. }, _)) => {
                        complaints.push(format!("{node} came, which is none of the survey's machines"));
                    }
                    Err((node, why)) if wanted.contains(&node) => drop(self.refused.insert(node, why)),
                    Err((node, why)) => complaints.push(format!("{node} came: {why}")),
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

    /// Where others find it: by its address in the network that was asked for, else by the one that it came from.
    fn address(&self, here: &Here, session: &Session) -> Option<String> {
        session.keep_alive().ok()?;
        let ip = match here.address.as_ref().filter(|_| self.elsewhere) {
            Some(address) => address.parse().ok()?,
            None => session.peer().ok()?.ip(),
        };
        Some(SocketAddr::new(ip, here.port).to_string())
    }
}

/// Greets who comes, in a thread: one that says nothing keeps no other from coming. Beyond so many at a time they are turned away.
fn greet(server: &Arc<Server>, most: usize, send: &Sender<Came>) {
    let Ok((stream, from)) = server.listener().accept() else { return };
    if Arc::strong_count(server) > most {
        return;
    }
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
        let addresses = match (greeted, other.into_inner()) {
            (Ok(came), _) => Ok(came),
            (Err(_), Ok(Some(refused))) => Err(refused),
            // A stranger is none of the machines.
            (Err(_), _) => return,
        };
        let _ = send.send(addresses);
    };
    // One that cannot be greeted comes to nothing, as one that is gone.
    let _ = std::thread::Builder::new().stack_size(256 << 10).spawn(greets);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of another version, one that was not asked, one that is whole, a second one of its name, and a stranger.
    #[test]
    fn who_may_not_take_part_is_named_and_keeps_nobody() {
        let token = Token::make().unwrap();
        let any = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
        let mut meeting = Meeting::listen(any, &token, false).unwrap();
        let at = meeting.addresses().unwrap();
        let (send, lines) = channel();
        let comes = std::thread::spawn(move || {
            let _stranger = std::net::TcpStream::connect(&at).unwrap();
            let come = |node: &str, agent: &str| {
                let address = Some("203.0.113.9".to_owned());
                let here = Here { node: node.to_owned(), agent: agent.to_owned(), port: 7, address };
                Session::ask_line(&at, &token, &here.line())
            };
            let own = env!("CARGO_PKG_VERSION");
            let old = come("old", "0.0.1").unwrap_err();
            let stay = ["n1", "n1", "other"].map(|node| come(node, own).unwrap());
            send.send(Line::Complaint("n2: no route to host".to_owned())).unwrap();
            std::thread::sleep(Duration::from_millis(500));
            drop(send);
            (old, stay)
        });
        let nodes = ["n1", "n2", "old"].map(str::to_owned);
        let mut complaints = Vec::new();
        let came =
            meeting.gather(&nodes, &lines, &mut complaints, Duration::from_secs(60), &Control::default());
        let (old, _stay) = comes.join().unwrap();
        let why = "its agent is of version 0.0.1";
        assert!(old.contains(why) && meeting.refused["old"].contains(why), "{old} {:?}", meeting.refused);
        // Found where it came from: what it says of other addresses was not asked for.
        assert_eq!(
            came.into_iter().map(|(node, member)| (node, member.at)).collect::<Vec<_>>(),
            [("n1".to_owned(), "127.0.0.1:7".to_owned())]
        );
        assert!(complaints.iter().any(|line| line.contains("other came")), "{complaints:?}");
        assert!(complaints.iter().any(|line| line.contains("no route to host")), "{complaints:?}");
    }
}
