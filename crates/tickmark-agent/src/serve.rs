//! Answers other hosts that know a token, which is the first line of standard input; until that ends.

use crate::environment;
use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;
use tickmark_probe::session::{Server, Token};
use tickmark_probe::sys::limits;
use tickmark_wire::Host;

/// As `serve ADDRESS:PORT [CPU]`. Writes a line `listening ADDRESS:PORT` when it does, and one for each thing that happens.
pub(crate) fn run(words: &[String]) -> ExitCode {
    match listen(words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("tickmark-agent: {why}");
            ExitCode::FAILURE
        }
    }
}

fn listen(words: &[String]) -> Result<(), String> {
    let mut token = String::new();
    std::io::stdin().read_line(&mut token).map_err(|error| error.to_string())?;
    let token = Token::new(&token)?;
    let at = words.first().map_or("", String::as_str);
    let address: SocketAddr = at.parse().map_err(|_| format!("{at:?} is no ADDRESS:PORT"))?;
    let allowed = limits::allowed_cpus().map_err(|error| error.to_string())?;
    let cpu = match words.get(1) {
        Some(given) => {
            let cpu = given.parse().ok().filter(|cpu| allowed.contains(cpu));
            cpu.ok_or_else(|| format!("CPU {given} is not one that this process may use"))?
        }
        None => allowed.last().copied().unwrap_or_default(),
    };
    // Standard input is only waited for from here on.
    let server = Server::listen(address, token).map_err(|error| format!("{address}: {error}"))?;
    let facts = environment::of_host();
    let own = |name: &str| facts.get(name).unwrap_or_default().to_owned();
    let interrupts_apart = facts.get("kernel.config.IRQ_TIME_ACCOUNTING").map(|is| is == "y");
    let host = Host { name: own("host.name"), kernel: own("kernel.release"), interrupts_apart };
    let say = |line: &str| {
        let mut out = std::io::stdout();
        // Who reads this may have gone.
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    };
    let at = server.address().map_err(|error| error.to_string())?;
    say(&format!("listening {at}"));
    tickmark_load::serve(&server, cpu, &host, &say).map_err(|error| error.to_string())
}
