//! A team's store: recordings of many machines in PostgreSQL, with a copy of each here.
//!
//! A command works on the copy, which is a store like any other, and [`Shared::sync`] makes copy and server alike, before and after it. So nothing is
//! measured over a network, and what is measured while the server is gone is kept here and sent the next time.
//!
//! A recording is only appended to, so the server has it as pieces of bytes by their offset: whoever sends takes the lock of its row, sends what lies
//! beyond what is there, and both come to pass in one transaction or neither does. What is deleted leaves a row behind that says so.
#![forbid(unsafe_code)]

mod address;
mod password;
mod server;
mod sync;

pub use sync::Synced;

use address::Url;
use std::path::PathBuf;
use tickmark_database::{Address, Login};

/// Beginnings of a shared store's address.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

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
        /// Its error.
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
        /// The operation that failed: read, write, make, lock, remove.
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
    server: Address,
    login: Login,
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
        SCHEMES.iter().any(|scheme| address.starts_with(scheme)).then(|| Self::parse(address))
    }

    fn parse(address: &str) -> Result<Self, Error> {
        let url = Url::parse(address)?;
        let known_user = || std::env::var("PGUSER").or_else(|_| std::env::var("USER")).ok();
        let user = url.user.clone().or_else(known_user).unwrap_or_else(|| "postgres".to_owned());
        let database = url.database.clone().unwrap_or_else(|| user.clone());
        let entry = password::Entry { host: url.host(), port: url.port(), database: &database, user: &user };
        let password = password::find(&entry)?;
        let place = format!("{}:{}/{database}", url.host(), url.port());
        let root = copies()?.join(folder_name(&url.identity(&database, &user)));
        let options = Some("-c statement_timeout=60000 -c lock_timeout=20000");
        Ok(Self { server: url.server(), login: Login { user, password, database, options }, place, root })
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

/// The name of a copy's folder: the beginning of a hash of its server, database and user.
fn folder_name(identity: &str) -> String {
    server::digest(identity.as_bytes())[..16].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Copies may hold recordings that no server has yet: a newer version has to find them.
    #[test]
    fn folders_of_copies_keep_their_names() {
        let name = |address: &str| folder_name(&Url::parse(address).unwrap().identity("ticks", "ci"));
        assert_eq!(name("postgres://ci@db.invalid/ticks"), "020d83f6fdc82dd6");
        assert_eq!(name("postgres://ci@/ticks?host=/run/none"), "6f70c49eed2d0417");
    }
}
