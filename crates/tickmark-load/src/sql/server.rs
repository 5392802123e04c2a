//! Servers of our own: a database on a socket of the UNIX domain in a folder of the run's, which ends with it.

use super::super::started::{Scratch, Started};
use super::database::{At, DatabaseTarget, Kind};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tickmark_database::{Address, Login};
use tickmark_probe::ProbeError;

/// Everything needed to start one; its folder is removed with it.
#[derive(Debug)]
pub(crate) struct Planned {
    /// The program and its arguments.
    pub(crate) words: Vec<String>,
    /// As whom it runs, where that is not the user: number and group.
    pub(crate) user: Option<(u32, u32)>,
    /// Where it will be.
    pub(crate) place: DatabaseTarget,
    folder: Scratch,
}

/// It may take so long until it answers.
const BEGINS: Duration = Duration::from_secs(60);
/// Where Debian puts what is on nobody's path.
const FOLDERS: [&str; 4] = ["/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/bin"];

fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = std::env::split_paths(&path).chain(FOLDERS.map(PathBuf::from)).collect();
    let mut versions: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    // The latest first.
    versions.sort();
    all.extend(versions.into_iter().rev());
    all.into_iter().map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// The programs of a database: the one that makes its folder, and the server.
pub(crate) fn programs(kind: Kind) -> Result<[PathBuf; 2], String> {
    let (names, package): ([&str; 2], _) = match kind {
        Kind::Sqlite => return Err("SQLite has no server".to_owned()),
        Kind::Mariadb => (["mariadb-install-db", "mariadbd"], "mariadb-server"),
        Kind::Postgres => (["initdb", "postgres"], "postgresql"),
    };
    let found = |name: &str| find(name).ok_or_else(|| format!("{name} is not installed (Debian: {package})"));
    Ok([found(names[0])?, found(names[1])?])
}

/// The user of this name, else nobody.
fn account(name: &str) -> (u32, u32) {
    let text = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let of = |name: &str| {
        let line = text.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut numbers = line.split(':').skip(2).map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    };
    of(name).or_else(|| of("nobody")).unwrap_or((65_534, 65_534))
}

/// Lets programs that may be of another user work in this run's folder.
fn open_up(here: &Path) -> std::io::Result<()> {
    std::fs::set_permissions(here, std::fs::Permissions::from_mode(0o711))
}

impl Planned {
    /// Makes the folder of a database.
    ///
    /// # Errors
    /// A program is missing, or says that it cannot.
    pub(crate) fn new(kind: Kind) -> Result<Self, String> {
        let [install, server] = programs(kind)?;
        let words = |error: std::io::Error| format!("a folder for the database: {error}");
        let here = std::env::current_dir().map_err(words)?;
        let made = Scratch::make("database").map_err(words)?;
        let folder = made.0.clone();
        let path = |path: &Path| path.display().to_string();
        let (data, socket) = (folder.join("data"), folder.join("s"));
        let is_root = std::fs::metadata(&folder).map_err(words)?.uid() == 0;
        let mut user = None;
        let (arguments, started, place) = match kind {
            Kind::Postgres => {
                if is_root {
                    // It refuses to be root.
                    let (number, group) = account("postgres");
                    user = Some((number, group));
                    open_up(&here)
                        .and_then(|()| chown(&folder, user.map(|user| user.0), Some(group)))
                        .map_err(words)?;
                }
                let install = vec![
                    "-D".to_owned(),
                    path(&data),
                    "-U".to_owned(),
                    "tickmark".to_owned(),
                    "--auth=trust".to_owned(),
                    "--no-instructions".to_owned(),
                ];
                let socket = format!("unix_socket_directories={}", path(&folder));
                let start = vec![
                    "-D".to_owned(),
                    path(&data),
                    "-c".to_owned(),
                    "listen_addresses=".to_owned(),
                    "-c".to_owned(),
                    socket,
                    "-c".to_owned(),
                    "max_connections=80".to_owned(),
                    // In its folder, which goes with it however it ends.
                    "-c".to_owned(),
                    "dynamic_shared_memory_type=mmap".to_owned(),
                ];
                (install, start, (folder.join(".s.PGSQL.5432"), "tickmark", "postgres"))
            }
            Kind::Mariadb | Kind::Sqlite => {
                let user =
                    if is_root { "root".to_owned() } else { std::env::var("USER").unwrap_or_default() };
                let install = vec![
                    "--no-defaults".to_owned(),
                    format!("--datadir={}", path(&data)),
                    "--auth-root-authentication-method=normal".to_owned(),
                    "--skip-test-db".to_owned(),
                    format!("--user={user}"),
                ];
                let start = vec![
                    "--no-defaults".to_owned(),
                    format!("--datadir={}", path(&data)),
                    format!("--socket={}", path(&socket)),
                    format!("--pid-file={}", path(&folder.join("pid"))),
                    "--skip-networking".to_owned(),
                    "--max-connections=80".to_owned(),
                    format!("--user={user}"),
                ];
                (install, start, (socket, "root", "mysql"))
            }
        };
        let (at, name, database) = place;
        let place = DatabaseTarget {
            kind,
            at: At::Server(Address::Socket(at)),
            login: Login {
                user: name.to_owned(),
                password: None,
                database: database.to_owned(),
                options: None,
            },
        };
        let words = std::iter::once(path(&server)).chain(started).collect();
        let planned = Self { words, user, place, folder: made };
        let mut command = Command::new(&install);
        command.args(arguments).stdin(Stdio::null()).current_dir(&planned.folder.0);
        as_user(&mut command, user);
        let done = command.output().map_err(|error| format!("{}: {error}", install.display()))?;
        if !done.status.success() {
            let text =
                [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
            let last = text.trim().lines().next_back().unwrap_or_default().to_owned();
            return Err(format!("{} ended with {}: {last}", install.display(), done.status));
        }
        Ok(planned)
    }

    /// Starts it.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn start(&self, cpus: &[u32]) -> Result<Started, ProbeError> {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        as_user(command.current_dir(&self.folder.0), self.user);
        Started::start(&mut command, cpus)
    }

    /// Waits until it answers.
    ///
    /// # Errors
    /// It has ended, or does not.
    pub(crate) fn wait_for(&self, server: &mut Started) -> Result<(), ProbeError> {
        let until = Instant::now() + BEGINS;
        while let Err(why) = self.place.connect() {
            server.goes_on()?;
            if Instant::now() > until {
                return Err(server.wrong(&why));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

/// Has a command run as another user.
pub(crate) fn as_user(command: &mut Command, user: Option<(u32, u32)>) {
    use std::os::unix::process::CommandExt;
    if let Some((number, group)) = user {
        command.uid(number).gid(group);
    }
}
