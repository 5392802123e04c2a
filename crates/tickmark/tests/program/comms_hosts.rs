//! Messages with another host.

use crate::bench::{Bench, err, out, refused, signal};
use crate::machine::{Machine, within};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

const TOKEN: [&str; 2] = ["TICKMARK_TOKEN", "correct horse battery"];

/// `tickmark comms --serve`, ended with the test.
struct Server {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(mut command: Command) -> Self {
        let mut child =
            command.env(TOKEN[0], TOKEN[1]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut server = Self { child, lines };
        server.until("Listening at");
        server
    }

    /// Reads what it says until a line has this.
    fn until(&mut self, text: &str) -> String {
        let found = self.lines.by_ref().map_while(Result::ok).find(|line| line.contains(text));
        found.unwrap_or_else(|| panic!("it never said {text}"))
    }

    /// The process that answers now: the child of the agent.
    fn answering(&self) -> u32 {
        let child = |pid: u32| {
            let text =
                std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
            text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0)
        };
        child(child(self.child.id()))
    }
}

fn run_with_token(bench: &Bench, token: &str, arguments: &[&str]) -> std::process::Output {
    bench.command(arguments).env(TOKEN[0], token).output().unwrap()
}

#[test]
#[ignore = "second tier: root and sshd"]
fn two_hosts_measure_together_over_ssh_and_where_one_listens() {
    let _machine = crate::bench::machine();
    let (bench, machine) = (Bench::new(), Machine::new(5));
    let ssh = machine.options().iter().map(|option| format!("--ssh={option}")).collect::<Vec<_>>();
    let ssh: Vec<&str> = ssh.iter().map(String::as_str).collect();
    let own = ["comms", "--over", "tcp,udp", "--sizes", "1,1000,60000", "--duration", "4s", "--runs", "1"];
    // Two hosts that are one machine: each has a CPU, where there are two.
    let own = [&own[..], &["--cpu", "0"]].concat();
    let made = bench.json(&[&own[..], &["--peer", "root@10.213.5.2"], &ssh[..]].concat());
    let all = made["comms"].as_array().unwrap();
    assert_eq!(all.len(), 4, "{made}");
    for comms in all {
        assert_eq!(comms["rows"].as_array().unwrap().len(), 3, "{comms}");
        let cpus = comms["cpus"].as_array().unwrap();
        assert!(
            cpus.len() == 2 && cpus[0]["host"].is_null() && cpus[1]["host"]["kernel"].is_string(),
            "{comms}"
        );
        // Both hosts computed, and saw what the messages cost them, in windows that nobody else disturbed.
        for (number, cpu) in cpus.iter().enumerate().filter(|(_, cpu)| cpu["refused"] == 0) {
            let load = &comms["rows"][0]["loads"][number];
            let of = |meter: &str| load[meter].as_f64().unwrap_or(-1.0);
            assert!(of("gaps") > -0.05 && (of("gaps") - of("counter")).abs() < 0.2, "{cpu} {load}");
        }
    }
    // The token was in a file of its own, which is gone, and is in no recording.
    let meta = std::fs::read_to_string(bench.recording().join("meta.json")).unwrap();
    let meta: serde_json::Value = serde_json::from_str(&meta).unwrap();
    let arguments =
        meta["plan"]["runs"].as_array().unwrap().iter().find_map(|run| run["arguments"]["token"].as_str());
    let file = arguments.unwrap();
    assert!(file.ends_with("/token") && !std::path::Path::new(file).exists(), "{file}");
    let failed =
        bench.run(&[&own[..], &["--peer", "root@10.213.5.2", "--ssh=-oIdentitiesOnly=yes"]].concat());
    refused(&failed, 1, &["root@10.213.5.2"]);
    // One that listens there.
    let mut serves = machine.command(crate::bench::program());
    serves.args(["comms", "--serve", "--listen", "10.213.5.2:7271"]);
    let _server = Server::start(serves);
    let arguments = [&own[..], &["--peer", "10.213.5.2", "--name", "told"]].concat();
    refused(&bench.run(&arguments), 1, &["10.213.5.2"]);
    let arguments = [&own[..], &["--peer", "10.213.5.2:7271", "--name", "told"]].concat();
    let made = run_with_token(&bench, TOKEN[1], &arguments);
    assert_eq!(made.status.code(), Some(0), "{}", err(&made));
    let text = out(&made);
    assert!(
        text.contains("with another host") && text.contains("load there") && text.contains("(Linux "),
        "{text}"
    );
}

#[test]
#[ignore = "second tier: root and sshd"]
fn transactions_with_a_server_on_another_host() {
    let _machine = crate::bench::machine();
    let (bench, machine) = (Bench::new(), Machine::new(6));
    let ssh = machine.options().iter().map(|option| format!("--ssh={option}")).collect::<Vec<_>>();
    let ssh: Vec<&str> = ssh.iter().map(String::as_str).collect();
    let own =
        ["http", "--connection", "close,keep-alive", "--connections", "8", "--duration", "1s", "--runs", "1"];
    let own = [&own[..], &["--cpu", "0", "--workers", "8"]].concat();
    let both = [&own[..], &["--peer", "root@10.213.6.2"], &ssh[..]].concat();
    let made = bench.json(&both);
    let all = made["loads"].as_array().unwrap();
    assert_eq!(all.len(), 2, "{made}");
    for load in all {
        let observed = &load["summary"];
        let of = |value: &serde_json::Value| value.as_f64().unwrap_or_else(|| panic!("{load}"));
        // What the server used comes from there: microseconds for each, and not the client's own.
        assert!(of(&observed["cpu"]["server"]["median"]) > 500.0, "{load}");
        assert!(
            of(&observed["cpu"]["client"]["median"]) > 500.0 && of(&observed["switches"]) > 0.0,
            "{load}"
        );
        assert!(of(&observed["reached"]["median"]) > 50.0 && of(&observed["failed"]) == 0.0, "{load}");
        assert!(load["title"].as_str().unwrap().contains("another host"), "{load}");
    }
    // Latencies go to other programs as histograms, one a run and metric.
    let log = out(&bench.run(&["export", "last", "--format", "hdr"]));
    assert!(
        log.starts_with('#') && log.lines().filter(|line| line.contains("Tag=http.")).count() == 2,
        "{log}"
    );
    // One that listens there, and a token that it does not know.
    let mut serves = machine.command(crate::bench::program());
    serves.args(["comms", "--serve", "--listen", "10.213.6.2:7271"]);
    let _server = Server::start(serves);
    let arguments = [&own[..], &["--peer", "10.213.6.2:7271", "--rate", "200"]].concat();
    let made = run_with_token(&bench, TOKEN[1], &arguments);
    assert_eq!(made.status.code(), Some(0), "{}", err(&made));
    assert!(
        out(&made).contains("server on another host") && out(&made).contains("response"),
        "{}",
        out(&made)
    );
    refused(
        &run_with_token(&bench, "another horse battery", &arguments),
        1,
        &["nothing was measured", "the token is another one"],
    );
    refused(&bench.run(&["http", "--peer", "node7", "--url", "http://127.0.0.1/"]), 2, &["--peer"]);
}

#[test]
#[ignore = "second tier: ssh"]
fn a_host_that_refuses_or_is_gone_is_said_in_a_line() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    let listen = ["comms", "--serve", "--listen", "127.0.0.1:17271"];
    let mut server = Server::start(bench.command(&listen));
    let own =
        ["comms", "comms1", "--sizes", "1", "--duration", "2s", "--runs", "1", "--peer", "127.0.0.1:17271"];
    let wrong = run_with_token(&bench, "wrong horse battery", &own);
    assert!(
        wrong.status.code() == Some(1) && out(&wrong).contains("refused: the token is another one"),
        "{}",
        out(&wrong)
    );
    server.until("refused 127.0.0.1: the token is another one");
    let mut none = bench.command(&own);
    refused(&none.env_remove(TOKEN[0]).output().unwrap(), 2, &["no token", "--token-file"]);
    refused(&run_with_token(&bench, TOKEN[1], &listen), 1, &["127.0.0.1:17271", "in use"]);
    // A size that only the other side refuses would be found there; here it is this side that knows.
    refused(
        &run_with_token(&bench, TOKEN[1], &[&own[..], &["--over", "unix"]].concat()),
        2,
        &["another host takes tcp and udp"],
    );
    refused(&run_with_token(&bench, TOKEN[1], &[&own[..], &["--stream", "yes"]].concat()), 2, &["--stream"]);
    // What would be left out silently.
    let here = ["comms", "comms1", "--sizes", "1"];
    refused(&bench.run(&[&here[..], &["--ssh=-4"]].concat()), 2, &["--ssh", "--peer HOST"]);
    refused(
        &bench.run(&[&here[..], &["--token-file", "none"]].concat()),
        2,
        &["--token-file", "--peer HOST"],
    );
    refused(&run_with_token(&bench, TOKEN[1], &[&own[..], &["--place", "same"]].concat()), 2, &["--place"]);
    assert_eq!(bench.run(&["comms", "--serve", "--peer", "node7"]).status.code(), Some(2));
    // A token in a file of this folder: what measures works in another one.
    std::fs::create_dir_all(bench.store()).unwrap();
    std::fs::write(bench.store().join("token"), TOKEN[1]).unwrap();
    let asks = [&own[..], &["--token-file", "token"]].concat();
    let mut by_file = bench.command(&asks);
    let made = by_file.current_dir(bench.store()).env_remove(TOKEN[0]).output().unwrap();
    assert_eq!(made.status.code(), Some(0), "{}", err(&made));
    server.until("ended 127.0.0.1: done");
    // Gone in the middle of the second launch: what was measured is kept.
    let long = ["--duration", "6s", "--runs", "2", "--name", "gone"];
    let arguments = [&own[..3], &["1", "--peer", "127.0.0.1:17271"], &long].concat();
    let mut run = bench.command(&arguments);
    let run = run.env(TOKEN[0], TOKEN[1]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    server.until("ended 127.0.0.1: done");
    server.until("session of");
    let answers = std::cell::Cell::new(0);
    let answer = || {
        answers.set(server.answering());
        answers.get() > 0
    };
    within(60, "somebody answers", answer);
    std::thread::sleep(std::time::Duration::from_millis(800));
    // The kernel's list of children may leave one out while another ends (proc(5)).
    within(60, "somebody still answers", answer);
    assert!(signal("KILL", answers.get()));
    let made = run.wait_with_output().unwrap();
    assert_eq!(made.status.code(), Some(4), "{}", err(&made));
    server.until("by signal 9");
    let kept = bench.json(&["comms", "--of", "gone"]);
    assert_eq!(
        (&kept["comms"][0]["runs"], kept["comms"][0]["rows"].as_array().unwrap().len()),
        (&1.into(), 1),
        "{kept}"
    );
    let shown = out(&bench.run(&["show", "gone"]));
    assert!(shown.contains("the other side is gone"), "{shown}");
}
