//! One of many that measure the links between them: it says that it is there to the program that coordinates them, and does what that tells it.

use crate::survey::node;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::ExitCode;
use std::time::Duration;
use tickmark_probe::links::{answer, ask};
use tickmark_probe::session::{Server, Session, TOKEN, Token};
use tickmark_probe::sys::limits;
use tickmark_wire::links::{Here, Order, Reply};

/// Beyond its time: how long the other side may take to come.
const BEYOND: Duration = Duration::from_secs(10);

/// As `links SECONDS ADDRESS:PORT,... [NETWORK]`, with the token in the environment.
pub(crate) fn run(words: &[String]) -> ExitCode {
    match obey(words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // A launcher mixes the words of many.
            eprintln!("tickmark-agent: {}: {why}", node());
            ExitCode::FAILURE
        }
    }
}

fn obey(words: &[String]) -> Result<(), String> {
    let [seconds, coordinators, network @ ..] = words else {
        return Err("give SECONDS and ADDRESS:PORT,...".to_owned());
    };
    let seconds: u32 = seconds.parse().map_err(|_| format!("{seconds:?} are no seconds"))?;
    let token = std::env::var(TOKEN)
        .map_err(|_| format!("no {TOKEN}: does the launcher pass the environment on?"))?;
    let token = Token::new(&token)?;
    // Whatever becomes of the others.
    limits::alarm(seconds);
    // Always the same one: where the scheduler has it makes a difference.
    let cpu = limits::allowed_cpus().ok().and_then(|all| all.last().copied());
    cpu.map_or(Ok(()), |cpu| limits::pin(&[cpu])).map_err(|error| error.to_string())?;
    let server = Server::listen((Ipv4Addr::UNSPECIFIED, 0).into(), token.clone())
        .map_err(|error| error.to_string())?;
    let port = server.address().map_err(|error| error.to_string())?.port();
    let address = network.first().map(|network| address_in(network)).transpose()?;
    let here = Here { node: node(), agent: env!("CARGO_PKG_VERSION").to_owned(), port, address };
    let mut why = "no address of a coordinator".to_owned();
    let found = coordinators.split(',').find_map(|address| {
        Session::ask_line(address, &token, &here.line()).map_err(|error| why = error).ok()
    });
    let mut coordinator = found.ok_or(why)?;
    coordinator.keep_alive().map_err(|error| error.to_string())?;
    // Its end is the end of the work.
    while let Some(order) = coordinator.text().ok().and_then(|line| Order::parse(&line)) {
        let times = order.times;
        let reply = match &order.ask {
            Some(address) => ask(address, &token, times).map(Reply::AskingSide),
            None => {
                // It says nothing more until it has the reply: what can be read is its end.
                answer(&server, times.all() + BEYOND, &|| !coordinator.is_silent()).map(Reply::Answered)
            }
        };
        let _ = coordinator.send(reply.unwrap_or_else(Reply::Failed).line().into_bytes());
    }
    Ok(())
}

/// The address from which the kernel would reach an address of this network. Nothing is sent.
fn address_in(network: &str) -> Result<String, String> {
    let wrong = |error: std::io::Error| format!("network {network}: {error}");
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(wrong)?;
    let there: SocketAddr =
        format!("{network}:9").parse().map_err(|_| format!("{network:?} is no address"))?;
    socket.connect(there).map_err(wrong)?;
    socket.local_addr().map(|address| address.ip().to_string()).map_err(wrong)
}
