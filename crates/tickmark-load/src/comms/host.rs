//! The other side of messages that another host asks for.

use super::super::http::host as pages;
use super::accounts::Accounts;
use super::computing::{Beside, Computing, Tasks};
use super::sides::answer;
use super::{MOST, message, set_class};
use std::os::fd::AsFd;
use tickmark_probe::routine::Budget;
use tickmark_probe::session::{LOOK, Lobby, Server, Session};
use tickmark_probe::sys::message::End;
use tickmark_probe::sys::{CallError, hosts, limits, peer};
use tickmark_probe::{Gauge, ProbeError};
use tickmark_wire::peer_request::{Answer, Ask};
use tickmark_wire::{Host, Loads, Nanos};

/// Beyond the time that is measured: how long a session may take.
const BEYOND: i64 = 60_000_000_000;

/// Answers who knows the token, one after the other, until standard input ends. What happens is said in lines.
///
/// # Errors
/// Those of poll(2) and fork(2).
pub fn serve(server: &Server, cpu: u32, host: &Host, say: &dyn Fn(&str)) -> Result<(), CallError> {
    let stdin = std::io::stdin();
    let mut lobby = Lobby::default();
    loop {
        let fds = [server.listener().as_fd(), stdin.as_fd()];
        let wait = if lobby.is_empty() { Nanos::new(i64::MAX) } else { Nanos::from(LOOK) };
        let [request, ended] = limits::wait_readable(fds, wait)?;
        if ended {
            return Ok(());
        }
        // What refuses one connection is over with the next.
        if request && server.admit(&mut lobby).is_err() {
            std::thread::sleep(LOOK);
        }
        let Some(heard) = server.heard(&mut lobby, Ask::parse, can) else { continue };
        match heard {
            Err(why) => say(&format!("refused {why}")),
            Ok((session, ask)) => {
                let from =
                    session.peer().map_or_else(|_| "somebody".to_owned(), |peer| peer.ip().to_string());
                say(&format!("session of {from}: {}", ask.over));
                let parent = std::process::id();
                let limit = Nanos::new(4 * ask.time + BEYOND);
                // A process of its own: what it changes of itself ends with it, and so does what computes.
                let status = peer::apart(|| {
                    let ended = limits::end_after(limit, parent).map_err(ProbeError::from);
                    match ended.and_then(|()| session_of(server, session, &ask, cpu, host)) {
                        Ok(()) => say(&format!("ended {from}: done")),
                        Err(why) => say(&format!("ended {from}: {why}")),
                    }
                })?;
                if let Some(signal) = status {
                    say(&format!("ended {from}: by signal {signal}"));
                }
            }
        }
    }
}

fn can(ask: &Ask) -> Result<(), String> {
    let largest = if ask.over == "udp" { message::MOST_UDP } else { MOST };
    // A day.
    if !(0..=86_400_000_000_000).contains(&ask.time) {
        return Err(format!("{} ns are no time", ask.time));
    }
    if let Some(request) = &ask.pages {
        return pages::can(request);
    }
    match ask.over.as_str() {
        "tcp" | "udp" if ask.most <= largest => Ok(()),
        "tcp" | "udp" => {
            Err(format!("a message of {} bytes: {} takes at most {largest}", ask.most, ask.over))
        }
        other => Err(format!("{other} is not carried between hosts")),
    }
}

/// Answers, and says what this CPU did; or why not.
fn session_of(
    server: &Server,
    mut session: Session,
    ask: &Ask,
    cpu: u32,
    host: &Host,
) -> Result<(), ProbeError> {
    let said = match &ask.pages {
        Some(request) => pages::serve(&mut session, request, cpu).map(|()| None),
        None => answered(server, &mut session, ask, cpu, host).map(Some),
    };
    match said {
        Ok(None) => Ok(()),
        Ok(Some(loads)) => session
            .send(Answer::Loads(Box::new(loads)).line())
            .map_err(|error| ProbeError::Other(error.to_string())),
        Err(why) => {
            let _ = session.send(Answer::Failed(why.to_string()).line());
            Err(why)
        }
    }
}

fn answered(
    server: &Server,
    session: &mut Session,
    ask: &Ask,
    cpu: u32,
    host: &Host,
) -> Result<Loads, ProbeError> {
    let wrong = |error: std::io::Error| ProbeError::Other(error.to_string());
    limits::pin(&[cpu])?;
    set_class(&ask.class).map_err(ProbeError::Other)?;
    let gauge = Gauge::choose(false);
    let mut computing =
        Computing::processes(Beside::from_parameters(&ask.load, &ask.step), vec![cpu], gauge)?;
    let mut end = match ask.over.as_str() {
        "udp" => {
            let mut at = session.here().map_err(wrong)?;
            at.set_port(server.address().map_err(wrong)?.port());
            End::Datagrams(hosts::udp_answer(at, session.key()).map_err(wrong)?)
        }
        _ => End::Stream(hosts::tcp_answer(server.second(session).map_err(wrong)?).map_err(wrong)?),
    };
    computing.go()?;
    let budget = Budget { time: Nanos::new(ask.time), batch: Nanos::ZERO, gauge, phase: None, stop: None };
    let tasks = Tasks { watchers: computing.watchers(), there: None };
    let mut accounts = Accounts::begin(tasks, cpu, cpu, &budget);
    session.send(Answer::Ready.line()).map_err(wrong)?;
    answer(&mut end, ask.both, ask.most, true, &mut |begins, size, trips| match begins {
        true => accounts.open(tasks),
        false => accounts.close(tasks, size, trips),
    })?;
    let loads = accounts.loads().pop();
    computing.stop();
    computing.end();
    let loads = loads.ok_or_else(|| ProbeError::Other("no window was seen".to_owned()))?;
    Ok(Loads { host: Some(Box::new(host.clone())), ..loads })
}
