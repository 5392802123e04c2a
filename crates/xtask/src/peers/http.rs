//! The client of `tickmark http` beside wrk, ab and h2load, all against the same nginx: transactions a second, and CPU time of the client for each.

use super::{ROUNDS, Tickmark};
use crate::{Result, shell};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tickmark_stats::median;

const SECONDS: u32 = 2;
const CONNECTIONS: &str = "32";
/// Where nginx listens.
pub(super) const PORT: &str = "18080";
/// The configuration of nginx, without its folder.
const CONFIGURATION: &str = "daemon off; master_process off; worker_processes 1; pid P/pid; error_log P/errors;
events { worker_connections 2048; }
http { access_log off; keepalive_requests 1000000000; client_body_temp_path P/a; proxy_temp_path P/b; fastcgi_temp_path P/c; uwsgi_temp_path P/d; scgi_temp_path P/e;
  server { listen 127.0.0.1:18080; root P; } }";

/// Ended with the comparison.
pub(super) struct Server(Child);

impl Server {
    pub(super) fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn run() -> Result<()> {
    shell::install(&[
        ("nginx", "nginx-light"),
        ("wrk", "wrk"),
        ("ab", "apache2-utils"),
        ("h2load", "nghttp2-client"),
    ])?;
    let tickmark = Tickmark::build()?;
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let _server = nginx(folder.path())?;
    println!(
        "nginx, one worker on CPU 0, a page of 100 bytes; clients on CPU {}, {CONNECTIONS} connections, {ROUNDS} interleaved rounds of {SECONDS} s; medians",
        tickmark.cpu
    );
    for keep in [true, false] {
        let mut all: Vec<(&str, Vec<[f64; 2]>)> =
            ["tickmark", "tickmark, counts alone", "wrk", "ab", "h2load"]
                .map(|name| (name, Vec::new()))
                .into();
        // h2load keeps its connections.
        all.truncate(if keep { 5 } else { 4 });
        for _ in 0..ROUNDS {
            for (name, observed) in &mut all {
                observed.push(match *name {
                    "tickmark" => ours(&tickmark, keep, &[])?,
                    "tickmark, counts alone" => ours(&tickmark, keep, &["--count-only"])?,
                    name => theirs(&tickmark.cpu, name, keep)?,
                });
            }
        }
        println!("{}", if keep { "keep-alive" } else { "a connection for each request" });
        for (name, observed) in &all {
            let middle = |at: usize| median(observed.iter().map(|one| one[at])).unwrap_or(f64::NAN);
            let ratio = |at: usize| {
                median(observed.iter().zip(&all[0].1).map(|(theirs, ours)| ours[at] / theirs[at]))
            };
            println!(
                "  {name:24} {:9.0} /s  client's CPU {:6.2} us for each; tickmark over it: {:.3} and {:.3}",
                middle(0),
                middle(1),
                ratio(0).unwrap_or(f64::NAN),
                ratio(1).unwrap_or(f64::NAN)
            );
        }
    }
    Ok(())
}

pub(super) fn nginx(folder: &Path) -> Result<Server> {
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).map_err(|e| e.to_string());
    write("index.html", &"x".repeat(100))?;
    let place = folder.to_string_lossy();
    write(
        "nginx.conf",
        &CONFIGURATION.replace("P/", &format!("{place}/")).replace("root P;", &format!("root {place};")),
    )?;
    // The folder is this user's alone, and nginx would change its own.
    shell::output(Command::new("chmod").args(["755", &place]))?;
    let mut command = Command::new("taskset");
    command.args(["-c", "0", "nginx", "-g", "user root;", "-c"]).arg(folder.join("nginx.conf"));
    let server = Server(command.stdin(Stdio::null()).spawn().map_err(|e| format!("nginx: {e}"))?);
    for _ in 0..50 {
        if std::net::TcpStream::connect(format!("127.0.0.1:{PORT}")).is_ok() {
            return Ok(server);
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    Err("nginx did not listen within 5 s".to_owned())
}

/// Transactions a second, and CPU time of the client for each, in us.
fn ours(tickmark: &Tickmark, keep: bool, more: &[&str]) -> Result<[f64; 2]> {
    let (url, time) = (format!("http://127.0.0.1:{PORT}/index.html"), format!("{SECONDS}s"));
    let connection = if keep { "keep-alive" } else { "close" };
    let arguments = [
        "http",
        "--url",
        &url,
        "--connection",
        connection,
        "--connections",
        CONNECTIONS,
        "--cpu",
        &tickmark.cpu,
        "--runs",
        "1",
        "--duration",
        &time,
        "--format",
        "json",
    ];
    let (text, _) = shell::output(tickmark.command(&arguments).args(more))?;
    let page: serde_json::Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let observed = &page["loads"][0]["summary"];
    let both = observed["reached"]["median"].as_f64().zip(observed["cpu"]["client"]["median"].as_f64());
    both.map(|(rate, cpu)| [rate, cpu / 1e3]).ok_or_else(|| format!("no figure of ours: {text}"))
}

fn theirs(cpu: &str, name: &str, keep: bool) -> Result<[f64; 2]> {
    let url = format!("http://127.0.0.1:{PORT}/index.html");
    let command = match (name, keep) {
        ("wrk", true) => format!("wrk -t1 -c{CONNECTIONS} -d{SECONDS}s {url}"),
        ("wrk", false) => format!("wrk -t1 -c{CONNECTIONS} -d{SECONDS}s -H 'Connection: close' {url}"),
        ("ab", true) => format!("ab -q -k -t {SECONDS} -n 10000000 -c{CONNECTIONS} {url}"),
        ("ab", false) => format!("ab -q -t {SECONDS} -n 10000000 -c{CONNECTIONS} {url}"),
        _ => format!("h2load --h1 -t1 -c{CONNECTIONS} -D{SECONDS} {url}"),
    };
    let script = format!("TIMEFORMAT='cpu %U %S'; time taskset -c {cpu} {command}");
    let (text, errors) = shell::output(Command::new("bash").args(["-c", &script]))?;
    let number =
        |line: &str| line.split_whitespace().find_map(|word| word.trim_end_matches(',').parse::<f64>().ok());
    let of = |begin: &str| text.lines().find(|line| line.trim_start().starts_with(begin)).and_then(number);
    let none = || format!("no figure of {name}: {text}");
    let (count, rate) = match name {
        // "  108823 requests in 2.00s, 35.18MB read"
        "wrk" => {
            let count = text.lines().find(|line| line.contains("requests in")).and_then(number);
            (count, of("Requests/sec:"))
        }
        "ab" => (of("Complete requests:"), of("Requests per second:")),
        // "finished in 2.00s, 55000.00 req/s, 20.00MB/s", "requests: 110000 total, ..."
        _ => {
            let line = text.lines().find(|line| line.starts_with("finished in")).unwrap_or_default();
            (of("requests:"), line.split(", ").nth(1).and_then(number))
        }
    };
    let used: f64 = errors
        .lines()
        .filter_map(|line| line.strip_prefix("cpu "))
        .flat_map(str::split_whitespace)
        .filter_map(|word| word.parse::<f64>().ok())
        .sum();
    let (count, rate) = count.zip(rate).filter(|(count, _)| *count > 0.0).ok_or_else(none)?;
    Ok([rate, used * 1e6 / count])
}
