//! Databases that answer the queries.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tickmark_database::{Address, Limits, Login, Mariadb};

/// How long a server may take to begin.
const BEGINS: Duration = Duration::from_secs(60);

/// One of them, with a connection.
pub(crate) enum Database {
    /// SQLite in this process.
    Sqlite(rusqlite::Connection),
    /// MariaDB over its socket.
    Mariadb { connection: Mariadb, _server: Server },
}

impl Database {
    /// SQLite in memory.
    ///
    /// # Errors
    /// Its own, in words.
    pub(crate) fn in_memory() -> Result<Self, String> {
        rusqlite::Connection::open_in_memory().map(Self::Sqlite).map_err(|error| error.to_string())
    }

    /// MariaDB, started for this.
    ///
    /// # Errors
    /// It does not start, or does not answer in time.
    pub(crate) fn start(program: &Path) -> Result<Self, String> {
        let mut server = Server::start(program)?;
        let address = Address::Socket(server.folder.join("socket"));
        let login =
            Login { user: "root".to_owned(), password: None, database: "test".to_owned(), options: None };
        let begun = Instant::now();
        loop {
            match Mariadb::connect(&address, &login, Limits::LOAD) {
                Ok(connection) => return Ok(Self::Mariadb { connection, _server: server }),
                Err(why) if begun.elapsed() > BEGINS => return Err(format!("{}: {why}", program.display())),
                Err(_) => server.check_alive(program)?,
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Carries out a statement; the number of its rows.
    ///
    /// # Errors
    /// The database's own, in words.
    pub(crate) fn run(&mut self, statement: &str) -> Result<u64, String> {
        match self {
            Self::Mariadb { connection, .. } => connection.run(statement),
            Self::Sqlite(connection) => {
                count_rows(connection, statement).map_err(|error| format!("{statement:.40}: {error}"))
            }
        }
    }
}

fn count_rows(connection: &rusqlite::Connection, statement: &str) -> rusqlite::Result<u64> {
    let mut prepared = connection.prepare(statement)?;
    let mut rows = prepared.query([])?;
    let mut count = 0;
    while rows.next()?.is_some() {
        count += 1;
    }
    Ok(count)
}

/// A server that ends with this value, with its folder.
pub(crate) struct Server {
    child: Child,
    folder: PathBuf,
}

/// Where the server of this process has its data.
pub(crate) fn folder() -> PathBuf {
    std::env::temp_dir().join(format!("tickmark-select-index-{}", std::process::id()))
}

impl Server {
    /// Without system tables, network and InnoDB: its tables are MyISAM's, as MySQL's were in 2006.
    fn start(program: &Path) -> Result<Self, String> {
        let folder = folder();
        let data = folder.join("data");
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        // Nobody else's, and for nobody else: the server asks for no password.
        DirBuilder::new().mode(0o700).create(&folder).map_err(failed)?;
        std::fs::create_dir_all(data.join("test")).map_err(failed)?;
        let log = File::create(folder.join("log")).map_err(failed)?;
        let child = Command::new(program)
            .arg("--no-defaults")
            .arg(format!("--datadir={}", data.display()))
            .arg(format!("--socket={}", folder.join("socket").display()))
            .args(["--user=root", "--skip-networking", "--skip-grant-tables", "--skip-innodb"])
            .args(["--default-storage-engine=MyISAM", "--performance-schema=OFF"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        match child {
            Ok(child) => Ok(Self { child, folder }),
            Err(error) => {
                let _ = std::fs::remove_dir_all(&folder);
                Err(format!("{}: {error}", program.display()))
            }
        }
    }

    fn check_alive(&mut self, program: &Path) -> Result<(), String> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => {
                let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                let last = log.lines().next_back().unwrap_or_default();
                Err(format!("{} ended with {status} {last}", program.display()).trim_end().to_owned())
            }
            Err(error) => Err(format!("{}: {error}", program.display())),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
