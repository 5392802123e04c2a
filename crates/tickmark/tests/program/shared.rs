//! A team's store in a real PostgreSQL: many writers, some of them killed; a server that goes and comes back; passwords.

use crate::bench::{err, out, page_of, program, refused, signal};
use crate::machine::within;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const PASSWORD: &str = "a:secret";

/// A server of PostgreSQL on a socket, with a password.
struct Server {
    folder: tempfile::TempDir,
    process: Option<Child>,
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let password = folder.path().join("password");
        fs::write(&password, PASSWORD).unwrap();
        fs::set_permissions(&password, fs::Permissions::from_mode(0o644)).unwrap();
        let mut server = Self { folder, process: None };
        let data = server.folder.path().join("data");
        let mut make = server.as_nobody("initdb");
        make.arg("-D")
            .arg(&data)
            .args(["-U", "tickmark", "--auth=scram-sha-256", "--no-instructions", "--pwfile"])
            .arg(&password);
        let made = make.output().unwrap();
        assert!(made.status.success(), "{}{}", out(&made), err(&made));
        server.up();
        server
    }

    /// A program of PostgreSQL, which refuses to be root.
    fn as_nobody(&self, name: &str) -> Command {
        let versions = fs::read_dir("/usr/lib/postgresql").unwrap();
        let program = versions
            .flatten()
            .map(|version| version.path().join("bin").join(name))
            .find(|path| path.exists());
        let program = program.unwrap();
        let root = out(&Command::new("id").arg("-u").output().unwrap()).trim() == "0";
        let mut command = Command::new(if root { Path::new("runuser") } else { &program });
        if root {
            command.args(["-u", "postgres", "--"]).arg(program);
        }
        command.current_dir(self.folder.path());
        command
    }

    fn up(&mut self) {
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        let mut start = self.as_nobody("postgres");
        start.args([
            "-D",
            &path("data"),
            "-c",
            "listen_addresses=",
            "-c",
            "dynamic_shared_memory_type=mmap",
            "-c",
            "max_connections=60",
        ]);
        start.args(["-c", &format!("unix_socket_directories={}", self.folder.path().display())]);
        self.process = Some(start.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let ready = || {
            let mut asks = self.as_nobody("pg_isready");
            asks.arg("-q").arg("-h").arg(self.folder.path()).status().unwrap().success()
        };
        within(60, "the server answers", ready);
    }

    fn down(&mut self) {
        if let Some(mut process) = self.process.take() {
            // runuser passes it on; "fast" is SIGINT.
            let text = fs::read_to_string(self.folder.path().join("data/postmaster.pid")).unwrap_or_default();
            let server = text.lines().next().and_then(|line| line.parse().ok());
            signal("INT", server.unwrap_or_else(|| process.id()));
            let _ = process.wait();
        }
    }

    fn address(&self) -> String {
        format!("postgres://tickmark@/postgres?host={}", self.folder.path().display())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.down();
    }
}

/// Somebody with a copy of their own.
struct User<'a> {
    server: &'a str,
    home: PathBuf,
}

impl User<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command
            .args(arguments)
            .env("TICKMARK_STORE", self.server)
            .env("XDG_DATA_HOME", &self.home)
            .env("PGPASSWORD", PASSWORD);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    #[track_caller]
    fn done(&self, arguments: &[&str]) -> String {
        let done = self.run(arguments);
        assert_eq!((done.status.code(), err(&done).as_str()), (Some(0), ""), "{arguments:?}");
        out(&done)
    }

    fn names(&self) -> Vec<String> {
        let page = page_of(self.done(&["recordings", "--format", "json"]));
        page["recordings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["name"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Every recording of the copy: its id, and its events.
    fn recordings(&self) -> BTreeMap<String, Vec<u8>> {
        let copies = fs::read_dir(self.home.join("tickmark-shared")).unwrap();
        let folders =
            copies.flatten().flat_map(|copy| fs::read_dir(copy.path().join("recordings")).unwrap().flatten());
        let whole = folders.filter(|folder| folder.path().join("meta.json").exists());
        whole
            .map(|folder| {
                let events = fs::read(folder.path().join("events.jsonl")).unwrap_or_default();
                (folder.file_name().to_string_lossy().into_owned(), events)
            })
            .collect()
    }
}

/// The events of a recording in somebody's copy.
fn events(user: &User<'_>, name: &str) -> PathBuf {
    let page = page_of(user.done(&["recordings", "--format", "json"]));
    let id = page["recordings"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let copy = fs::read_dir(user.home.join("tickmark-shared")).unwrap().next().unwrap().unwrap().path();
    copy.join("recordings").join(id).join("events.jsonl")
}

const ONCE: [&str; 3] = ["run", "op.int64.add", "--once"];

#[test]
#[ignore = "second tier: PostgreSQL"]
fn a_team_shares_recordings_and_what_is_measured_without_the_server_comes_later() {
    let (mut server, homes) = (Server::start(), tempfile::tempdir().unwrap());
    let address = server.address();
    let user = |name: &str| User { server: &address, home: homes.path().join(name) };
    let (ann, bob) = (user("ann"), user("bob"));
    ann.done(&[&ONCE[..], &["--name", "first"]].concat());
    assert_eq!(bob.names(), ["first"]);
    assert!(bob.done(&["show", "first", "--format", "json"]).contains("op.int64.add"));
    assert_eq!(ann.recordings(), bob.recordings());
    bob.done(&["recordings", "rename", "first", "renamed"]);
    assert_eq!(ann.names(), ["renamed"]);
    // What somebody loses comes back; what somebody deletes is deleted for all.
    let copy = fs::read_dir(ann.home.join("tickmark-shared")).unwrap().next().unwrap().unwrap().path();
    fs::remove_dir_all(&copy).unwrap();
    assert_eq!(ann.names(), ["renamed"]);
    server.down();
    let kept = bob.run(&[&ONCE[..], &["--name", "offline"]].concat());
    assert_eq!(kept.status.code(), Some(4), "{}", err(&kept));
    assert!(
        out(&kept).contains("saved as") && err(&kept).contains("kept here, and sent with the next command"),
        "{}",
        err(&kept)
    );
    assert!(!err(&kept).contains("secret"));
    server.up();
    assert_eq!(bob.names(), ["renamed", "offline"]);
    assert_eq!(ann.names(), ["renamed", "offline"]);
    ann.done(&["recordings", "delete", "renamed"]);
    assert_eq!(bob.names(), ["offline"]);
    assert_eq!(ann.names(), ["offline"]);
    // Of a recording that went on in two ways nothing is lost, and nothing is mixed.
    let (own, other) = (events(&ann, "offline"), events(&bob, "offline"));
    let go_on = |path: &Path, line: &str| fs::write(path, fs::read_to_string(path).unwrap() + line).unwrap();
    go_on(&own, "{\"one\":1}\n");
    go_on(&other, "{\"another\":2}\n");
    let _ = ann.run(&["recordings"]);
    let done = bob.run(&["recordings"]);
    assert!(done.status.code() == Some(4) && err(&done).contains("in two ways"), "{}", err(&done));
    assert!(fs::read_to_string(&own).unwrap().ends_with("{\"one\":1}\n"));
    assert!(fs::read_to_string(&other).unwrap().ends_with("{\"another\":2}\n"));
    // A copy that is lost in the middle of a command deletes nothing.
    fs::remove_dir_all(&bob.home).unwrap();
    let lost = format!("shell:rm -r {}", ann.home.display());
    let _ = ann.run(&["tick", "--duration", "1s", "--on-threshold", "400ns", &lost]);
    assert_eq!(bob.names(), ["offline"]);
    fs::remove_dir_all(&bob.home).unwrap();
    assert_eq!(bob.names()[0], "offline");
    // Another server under the same address is not taken for it.
    let copy = fs::read_dir(bob.home.join("tickmark-shared")).unwrap().next().unwrap().unwrap().path();
    fs::write(copy.join("server"), "another").unwrap();
    let done = bob.run(&["recordings"]);
    assert!(done.status.code() == Some(4) && err(&done).contains("is of another server"), "{}", err(&done));
    // Passwords: none in the address, a wrong one, a file that others may read.
    let with = address.replace("tickmark@", "tickmark:secret@");
    let done = User { server: &with, home: homes.path().join("eve") }.run(&["recordings"]);
    refused(&done, 2, &["no password in the address", "PGPASSWORD"]);
    let wrong = ann.command(&["recordings"]).env("PGPASSWORD", "guessed").output().unwrap();
    assert!(
        err(&wrong).contains("password authentication failed") && !err(&wrong).contains("guessed"),
        "{}",
        err(&wrong)
    );
    let file = homes.path().join("passwords");
    fs::write(&file, "*:*:*:tickmark:a\\:secret\n").unwrap();
    let by_file =
        || ann.command(&["recordings"]).env_remove("PGPASSWORD").env("PGPASSFILE", &file).output().unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    refused(&by_file(), 2, &["others may read", "chmod 600"]);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!((by_file().status.code(), err(&by_file())), (Some(0), String::new()));
    assert!(!fs::read_to_string(&file).unwrap().is_empty());
}

#[test]
#[ignore = "second tier: PostgreSQL"]
fn twenty_writers_of_which_some_are_killed_lose_nothing_and_write_nothing_twice() {
    let (server, homes) = (Server::start(), tempfile::tempdir().unwrap());
    let address = server.address();
    // Two at once have the same copy.
    let users: Vec<User<'_>> =
        (0..20).map(|i| User { server: &address, home: homes.path().join(format!("{}", i / 2)) }).collect();
    let mut writers: Vec<Child> = Vec::new();
    for round in 0..3 {
        let begin = |user: &User<'_>| {
            user.command(&ONCE).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        };
        writers.extend(users.iter().map(begin));
        // Some of each round are killed, at a moment of their own.
        for (number, writer) in writers.iter_mut().enumerate() {
            if number % 3 == round {
                std::thread::sleep(std::time::Duration::from_millis(40 + 15 * number as u64));
                let _ = writer.kill();
            }
        }
        for mut writer in writers.drain(..) {
            writer.wait().unwrap();
        }
    }
    let mut all: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for user in &users {
        user.done(&["recordings"]);
        all.extend(user.recordings());
    }
    assert!(all.len() >= 30, "{} recordings", all.len());
    let fresh = User { server: &address, home: homes.path().join("fresh") };
    fresh.done(&["recordings"]);
    assert_eq!(fresh.recordings(), all, "each once, byte by byte");
    for user in &users {
        user.done(&["recordings"]);
        assert_eq!(user.recordings(), all);
    }
}
