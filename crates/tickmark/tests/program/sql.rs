//! Transactions of databases: SQLite, servers of our own, one that runs already, and what goes wrong with it.

use crate::bench::{Bench, err, out, page_of, refused, signal};
use crate::machine::within;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const SHORT: [&str; 4] = ["--runs", "1", "--duration", "400ms"];

fn median(value: &Value) -> f64 {
    value["median"].as_f64().unwrap_or_else(|| panic!("no median: {value}"))
}

/// Processes whose command line has this in it.
fn there(what: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.contains(what)).count()
}

#[test]
fn sqlite_says_what_a_transaction_costs() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    let arguments =
        ["sql", "--rows", "2000", "--load", "select-index,point-select,insert,read-write", "--name", "lite"];
    let page = bench.json(&[&arguments[..], &SHORT].concat());
    let loads = page["loads"].as_array().unwrap();
    assert_eq!(loads.len(), 4, "{page}");
    for load in loads {
        let observed = &load["summary"];
        assert!(median(&observed["reached"]) > 20.0 && median(&observed["cpu"]["client"]) > 500.0, "{load}");
        assert!(observed["cpu"]["server"].is_null() && observed["failed"].as_f64() == Some(0.0), "{load}");
        let latency = &observed["latency"]["service"];
        assert!(latency["count"].as_u64() > Some(5), "{load}");
        assert!(latency["quantiles"]["p50"].as_f64() <= latency["quantiles"]["p99"].as_f64(), "{load}");
    }
    let text = out(&bench.run(&["sql", "--of", "lite"]));
    assert!(text.contains("sqlite, read-write") && text.contains("service latency"), "{text}");
    // As many as are asked for, and then it ends.
    let page =
        bench.json(&["sql", "--rows", "2000", "--queries", "3000", "--runs", "2", "--connections", "2"]);
    let observed = &page["loads"][0]["summary"];
    assert!(observed["latency"]["service"]["count"].as_u64() >= Some(6000), "{page}");
}

#[test]
#[ignore = "second tier: MariaDB and PostgreSQL"]
fn servers_of_our_own_come_and_go_with_the_run() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    let arguments = [
        "sql",
        "--start",
        "mariadb,postgres",
        "--rows",
        "5000",
        "--connections",
        "4",
        "--load",
        "read-write",
    ];
    let page = bench.json(&[&arguments[..], &SHORT].concat());
    let loads = page["loads"].as_array().unwrap();
    assert_eq!(loads.len(), 2, "{page}");
    for load in loads {
        let observed = &load["summary"];
        assert!(
            median(&observed["cpu"]["server"]) > 5e3 && median(&observed["cpu"]["client"]) > 1e3,
            "{load}"
        );
        assert!(observed["failed"].as_f64() == Some(0.0) && median(&observed["reached"]) > 2.0, "{load}");
    }
    assert_eq!(there("/database-"), 0);
    // Ctrl-C in the middle leaves none either.
    let mut run = bench
        .command(&["sql", "--start", "postgres", "--duration", "60s", "--runs", "1"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    within(60, "the server runs", || there("/database-") > 0);
    assert!(signal("INT", run.id()));
    run.wait().unwrap();
    within(60, "the server ends with the run", || there("/database-") == 0);
}

/// The clock reads of a database, and what they cost.
#[test]
fn a_database_of_our_own_is_dosed() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    let arguments = [
        "dose",
        "--no-pilot",
        "--start",
        "postgres",
        "--doses",
        "0,5000,20000",
        "--blocks",
        "6",
        "--slice",
        "100ms",
    ];
    let page = bench.json(&arguments);
    // Four for each query, as others have counted them too.
    let reads = page["reads"].as_f64().unwrap();
    assert!((3.9..4.3).contains(&reads), "{page}");
    assert!(
        page["slope"]["interval"][1].as_f64() > Some(2.0) && page["doses"][1]["more"].as_f64() > Some(0.0),
        "{page}"
    );
}

/// A PostgreSQL server with a password, ended with this.
struct Server {
    child: Child,
    folder: tempfile::TempDir,
}

fn program(name: &str) -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").unwrap().flatten();
    versions.map(|version| version.path().join("bin").join(name)).find(|path| path.is_file()).unwrap()
}

/// As root, what PostgreSQL refuses to be.
fn unprivileged(program: &Path) -> Command {
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--"]).arg(program);
    command
}

impl Server {
    fn start(port: u16) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        std::fs::write(at("password"), "secret\n").unwrap();
        assert!(
            Command::new("chown").args(["-R", "postgres"]).arg(folder.path()).status().unwrap().success()
        );
        let mut install = unprivileged(&program("initdb"));
        install.args(["-D", &at("data"), "-U", "me", "--auth=scram-sha-256", "--pwfile", &at("password")]);
        let done = install.current_dir("/").output().unwrap();
        assert!(done.status.success(), "{}", err(&done));
        let mut server = unprivileged(&program("postgres"));
        server.args([
            "-D",
            &at("data"),
            "-p",
            &port.to_string(),
            "-c",
            &format!("unix_socket_directories={}", folder.path().display()),
        ]);
        let child = server.current_dir("/").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let new = Self { child, folder };
        within(60, "the server answers", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        new
    }

    /// None where it has ended.
    fn pid(&self) -> Option<u32> {
        let text = std::fs::read_to_string(self.folder.path().join("data/postmaster.pid")).ok()?;
        text.lines().next()?.parse().ok()
    }

    /// At once, as after a crash; it leaves no shared memory.
    fn kill(&self) {
        if let Some(pid) = self.pid() {
            signal("QUIT", pid);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}

/// True if somebody is connected to this port.
fn asked_at(port: u16) -> bool {
    let text = std::fs::read_to_string("/proc/net/tcp").unwrap();
    // Local address, the other one, and the state: established.
    let known = format!(":{port:04X}");
    let fields = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    text.lines().map(fields).any(|line| line.len() > 3 && line[1].ends_with(&known) && line[3] == "01")
}

#[test]
#[ignore = "second tier: MariaDB and PostgreSQL"]
fn a_server_that_runs_already_is_asked_and_what_is_wrong_is_said() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = Server::start(port);
    let url = format!("postgres://me@127.0.0.1:{port}/postgres");
    let run = |password: Option<&str>, more: &[&str]| {
        let mut command =
            bench.command(&[&["sql", "--url", &url, "--rows", "3000"], &SHORT[..], more].concat());
        command.env_remove("TICKMARK_SQL_PASSWORD");
        password.map(|password| command.env("TICKMARK_SQL_PASSWORD", password));
        command.output().unwrap()
    };
    refused(&run(None, &[]), 1, &["password of me"]);
    refused(&run(Some("guess"), &[]), 1, &["password authentication failed"]);
    refused(&run(Some("secret"), &[]), 1, &["http_auth", "--create"]);
    let pid = server.pid().unwrap().to_string();
    let done = run(Some("secret"), &["--create", "--pid", &pid, "--format", "json"]);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    let page = page_of(out(&done));
    assert!(median(&page["loads"][0]["summary"]["cpu"]["server"]) > 1e3, "{page}");
    // The tables are there now, and the password is nowhere.
    let file = bench.store().join("password");
    std::fs::write(&file, "secret\n").unwrap();
    let done = run(None, &["--password-file", file.to_str().unwrap(), "--create"]);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    std::fs::remove_file(&file).unwrap();
    let kept = Command::new("grep").args(["-rl", "secret"]).arg(bench.store()).output().unwrap();
    assert_eq!(out(&kept), "");
    // More rows than the table has; another database; a server that is gone, from the beginning and in the middle.
    refused(&run(Some("secret"), &["--rows", "4000000"]), 2, &["--rows"]);
    let mut command =
        bench.command(&["sql", "--url", &url, "--rows", "4000000", "--runs", "1", "--duration", "400ms"]);
    let done = command.env("TICKMARK_SQL_PASSWORD", "secret").output().unwrap();
    assert!((err(&done) + &out(&done)).contains("http_auth has 3000 rows"), "{}", err(&done));
    let mut command = bench.command(&[
        "sql",
        "--url",
        &url,
        "--rows",
        "3000",
        "--runs",
        "1",
        "--duration",
        "8s",
        "--format",
        "json",
    ]);
    command.env("TICKMARK_SQL_PASSWORD", "secret").stdout(Stdio::piped()).stderr(Stdio::piped());
    let killed = command.spawn().unwrap();
    // A client that stays: of its eight seconds the first tenth has passed, and most have not.
    within(60, "a client asks", || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        asked_at(port) && {
            std::thread::sleep(std::time::Duration::from_millis(1500));
            asked_at(port)
        }
    });
    server.kill();
    let done = killed.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    let page = page_of(out(&done));
    assert!(page["loads"][0]["summary"]["failed"].as_f64() > Some(0.0), "{page}");
    refused(&run(Some("secret"), &[]), 1, &["refused"]);
}

#[test]
fn what_cannot_be_asked_is_refused_without_a_word_of_the_password() {
    let bench = Bench::new();
    let run = |url: &str| bench.run(&["sql", "--url", url]);
    for (url, says) in [
        ("oracle://me@there/base", "mysql://USER@HOST"),
        ("postgres://me:secret@127.0.0.1/base", "--password-file"),
        ("postgres://me@127.0.0.1/base?password=secret", "--password-file"),
        ("postgres://127.0.0.1/base", "user"),
        ("mysql://me@127.0.0.1", "database"),
    ] {
        let done = run(url);
        refused(&done, 2, &[says]);
        assert!(!err(&done).contains("secret"), "{}", err(&done));
    }
    refused(&bench.run(&["sql", "--of", "last", "--runs", "2"]), 2, &["--of"]);
}
