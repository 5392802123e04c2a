//! The other side on another host.

use crate::cli::Comms;
use crate::error::{Code, Error};
use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use tickmark_drive::ThisMachine;
use tickmark_drive::target::Serving;
use tickmark_probe::session::{TOKEN, Token};
use tickmark_wire::text::printable;

/// Another host that answers.
pub(in crate::command) struct Elsewhere {
    address: String,
    /// The file with its token, where the environment does not have it.
    token: Option<String>,
    /// The server that was started over ssh; the token's file is ours.
    _own: Option<(Serving, tempfile::TempDir)>,
}

/// The address of HOST:PORT.
fn numbers(host: &str) -> Result<String, Error> {
    let none = |why: String| Error::Refused(format!("{host}: {why}"));
    let mut all: Vec<SocketAddr> = host.to_socket_addrs().map_err(|error| none(error.to_string()))?.collect();
    // It listens at all addresses of IPv4 where nothing else is said.
    all.sort_by_key(SocketAddr::is_ipv6);
    all.first().map(SocketAddr::to_string).ok_or_else(|| none("no address".to_owned()))
}

/// True if it names a host.
pub(in crate::command) fn is_host(peer: &str) -> bool {
    !["process", "thread"].contains(&peer)
}

impl Elsewhere {
    /// Starts it over ssh where no port says that it listens already.
    pub(in crate::command) fn find(
        host: &str,
        ssh: &[String],
        token_file: Option<&Path>,
    ) -> Result<Self, Error> {
        // What measures works in another folder.
        let whole = token_file.map(std::path::absolute).transpose();
        let whole = whole.map_err(|error| Error::Usage(format!("--token-file: {error}")))?;
        let file = whole.map(|file| file.display().to_string());
        let port = host.rsplit_once(':').filter(|(name, _)| name.starts_with('[') || !name.contains(':'));
        let is_listening = port.is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let found = if is_listening {
            Token::known(token_file).map_err(Error::Usage)?;
            Self { address: numbers(host)?, token: file, _own: None }
        } else {
            let serving = Serving::start(host, ssh, &crate::progress::control())?;
            let refused = |error: std::io::Error| Error::Refused(format!("a folder for the token: {error}"));
            // Nobody else may look into it.
            let folder = tempfile::tempdir().map_err(refused)?;
            let token = folder.path().join("token");
            std::fs::write(&token, serving.token.reveal()).map_err(refused)?;
            let (address, token) = (serving.address.clone(), Some(token.display().to_string()));
            Self { address, token, _own: Some((serving, folder)) }
        };
        match found.token.as_ref().is_some_and(|file| file.contains(',')) {
            true => Err(Error::Usage("--token-file: a name without commas".to_owned())),
            false => Ok(found),
        }
    }

    /// Where it is and the file with its token, as probes are told them.
    pub(in crate::command) fn arguments(&self) -> [(&'static str, String); 2] {
        [("at", self.address.clone()), ("token", self.token.clone().unwrap_or_default())]
    }
}

/// Answers until Ctrl-C.
pub(in crate::command) fn serve(options: &Comms) -> Result<Code, Error> {
    let given = options.token_file.is_some() || std::env::var_os(TOKEN).is_some();
    let token = match given {
        true => Token::known(options.token_file.as_deref()).map_err(Error::Usage)?,
        false => Token::make().map_err(|error| Error::Refused(format!("a new token: {error}")))?,
    };
    let [_, _, _, name] = tickmark_probe::sys::host::uname();
    let mut out = std::io::stdout();
    ThisMachine::serve(&options.listen.to_string(), options.settings.cpu, &token, &mut |line| {
        let line = match line.strip_prefix("listening ") {
            Some(at) => {
                let port = at.rsplit_once(':').map_or("", |(_, port)| port);
                let is_here = options.listen.ip().is_loopback();
                let to = match options.listen.ip() {
                    ip if ip.is_unspecified() => format!("{name}:{port}"),
                    _ => at.to_owned(),
                };
                let who = if is_here { "On this host" } else { "On the other host" };
                let own = if given { String::new() } else { format!("{TOKEN}={} ", token.reveal()) };
                let where_from = match options.listen.ip() {
                    _ if is_here => " (this host alone; --listen 0.0.0.0:7271 for others)",
                    ip if ip.is_unspecified() => " (every address of this host)",
                    _ => "",
                };
                format!(
                    "Listening at {at}{where_from} for who knows the token, until Ctrl-C. {who}:\n  {own}tickmark comms --peer {to}"
                )
            }
            None => printable(line, false).into_owned(),
        };
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    })?;
    Ok(Code::Done)
}
