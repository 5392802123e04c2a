//! A team's store: recordings of many machines in PostgreSQL, with a copy of each here.
//!
//! A command works on the copy, which is a store like any other, and [`Shared::sync`] makes copy and server alike, before and after it. So nothing is
//! measured over a network, and what is measured while the server is gone is kept here and sent the next time.
//!
//! A recording is only appended to, so the server has it as pieces of bytes by their offset: whoever sends takes the lock of its row, sends what lies
//! beyond what is there, and both come to pass in one transaction or neither does. What is deleted leaves a row behind that says so.
#![forbid(unsafe_code)]

mod password;
mod relay;
mod server;
mod sync;

pub use sync::Synced;

use std::path::PathBuf;

/// What an address of a shared store begins with.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// A server that says nothing for so long to a new connection does not answer.
const LIMIT: std::time::Duration = std::time::Duration::from_secs(10);

/// Why the server and the copy could not be made alike.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An address that cannot be used.
    #[error("--store: {0}")]
    Address(String),
    /// The server does not answer, or refuses.
    #[error("the shared store at {place}: {why}")]
    Server {
        /// Host and database; never more of the address.
        place: String,
        /// What it says.
        why: String,
    },
    /// The copy is of another server.
    #[error("the copy in {} is of another server or database than {place} is now: move it away to begin a new one", path.display())]
    Another {
        /// Host and database.
        place: String,
        /// The copy.
        path: PathBuf,
    },
    /// A file of the copy.
    #[error("cannot {what} {}: {source}", path.display())]
    File {
        /// What was tried: read, write, make, lock, remove.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
}

impl Error {
    fn file(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { what, path, source }
    }
}

/// A shared store: where it is, and where its copy lies.
pub struct Shared {
    configuration: postgres::Config,
    place: String,
    root: PathBuf,
}

impl Shared {
    /// The shared store at an address such as `postgres://user@host/database`; none where it is no such address.
    ///
    /// The password comes from the environment (PGPASSWORD) or from a file (PGPASSFILE, else ~/.pgpass), and is nowhere kept or shown; an address with
    /// one in it is refused, as the list of processes shows it.
    ///
    /// # Errors
    /// An address that cannot be used, or no folder for the copy.
    pub fn at(address: &str) -> Option<Result<Self, Error>> {
        SCHEMES.iter().any(|scheme| address.starts_with(scheme)).then(|| Self::parsed(address))
    }

    fn parsed(address: &str) -> Result<Self, Error> {
        // The parser's own words may have the address in them.
        let mut configuration: postgres::Config = address.parse().map_err(|_| {
            Error::Address(
                "give postgres://USER@HOST/DATABASE, or postgres:///DATABASE?host=/FOLDER for a socket"
                    .to_owned(),
            )
        })?;
        if configuration.get_password().is_some() {
            return Err(Error::Address(
                "no password in the address, which the list of processes shows: give it in PGPASSWORD, or in the file that PGPASSFILE names (~/.pgpass)".to_owned(),
            ));
        }
        if configuration.get_ssl_mode() == postgres::config::SslMode::Require {
            return Err(Error::Address(
                "sslmode=require: connections to a team's store are not encrypted; reach it by a socket, a tunnel (ssh -L) or a private network, and leave sslmode away".to_owned(),
            ));
        }
        if configuration.get_user().is_none() {
            let user = std::env::var("PGUSER")
                .or_else(|_| std::env::var("USER"))
                .unwrap_or_else(|_| "postgres".to_owned());
            configuration.user(&user);
        }
        let who = password::Who::from_configuration(&configuration);
        if let Some(password) = password::known(&who)? {
            configuration.password(password);
        }
        configuration.options("-c statement_timeout=60000 -c lock_timeout=20000");
        let place = format!("{}:{}/{}", who.host, who.port, who.database);
        let root = copies()?.join(name(&configuration, &who));
        Ok(Self { configuration, place, root })
    }

    /// Where its servers are, in the order in which they are tried.
    fn peers(&self) -> Vec<relay::Peer> {
        let (hosts, ports) = (self.configuration.get_hosts(), self.configuration.get_ports());
        let addresses = self.configuration.get_hostaddrs();
        let port = |at: usize| ports.get(at).or(ports.first()).copied().unwrap_or(5432);
        let one = |at: usize| match (addresses.get(at), hosts.get(at)) {
            (Some(address), _) => relay::Peer::Tcp(address.to_string(), port(at)),
            (None, Some(postgres::config::Host::Unix(folder))) => {
                relay::Peer::Unix(folder.join(format!(".s.PGSQL.{}", port(at))))
            }
            (None, Some(postgres::config::Host::Tcp(name))) => relay::Peer::Tcp(name.clone(), port(at)),
            (None, None) => relay::Peer::Tcp("localhost".to_owned(), port(at)),
        };
        (0..hosts.len().max(addresses.len()).max(1)).map(one).collect()
    }

    /// The configuration of a client that reaches its server through a relay's socket in this folder.
    fn relayed(&self, folder: &std::path::Path) -> postgres::Config {
        let own = &self.configuration;
        let mut told = postgres::Config::new();
        told.host_path(folder).port(5432).connect_timeout(LIMIT).application_name("tickmark");
        told.target_session_attrs(own.get_target_session_attrs()).channel_binding(own.get_channel_binding());
        if let Some(user) = own.get_user() {
            told.user(user);
        }
        if let Some(password) = own.get_password() {
            told.password(password);
        }
        if let Some(name) = own.get_dbname() {
            told.dbname(name);
        }
        if let Some(options) = own.get_options() {
            told.options(options);
        }
        told
    }

    /// The folder of the copy.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        self.root.clone()
    }

    /// Its host and database.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }
}

/// Where copies of shared stores lie: beside the user's own store, as they may hold what no server has yet.
fn copies() -> Result<PathBuf, Error> {
    let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || from("HOME").map(|home| home.join(".local/share"));
    let data = from("XDG_DATA_HOME").or_else(home);
    data.map(|data| data.join("tickmark-shared"))
        .ok_or_else(|| Error::Address("neither HOME nor XDG_DATA_HOME is set".to_owned()))
}

/// A folder's name for a server with all its addresses, a database and a user.
fn name(configuration: &postgres::Config, who: &password::Who) -> String {
    use sha2::Digest;
    use std::fmt::Write;
    let (hosts, addresses, ports) =
        (configuration.get_hosts(), configuration.get_hostaddrs(), configuration.get_ports());
    let text = format!("{hosts:?}\n{addresses:?}\n{ports:?}\n{}\n{}", who.database, who.user);
    sha2::Sha256::digest(text.as_bytes()).iter().take(8).fold(String::new(), |mut name, byte| {
        let _ = write!(name, "{byte:02x}");
        name
    })
}
