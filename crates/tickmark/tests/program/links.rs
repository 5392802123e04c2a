//! Links between machines: namespaces with a bridge between them, of which two have a slow line of their own; and what goes wrong.

use crate::bench::{Bench, err, out, program, refused};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

/// Starts an agent for each name in this machine.
const HERE: &str = r#"for n in $(echo {nodes} | tr , " "); do TICKMARK_NODE=$n {command} & done; wait"#;

/// A survey of these machines, without its measurements.
fn survey(bench: &Bench, nodes: &str) -> PathBuf {
    let folder = bench.store().with_extension("survey");
    let begin =
        ["fleet", "run", folder.to_str().unwrap(), "syscall.null", "--budget", "50ms", "--nodes", nodes];
    let done = bench.run(&[&begin[..], &["--manifest", "image"]].concat());
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    folder
}

fn links(bench: &Bench, survey: &str, launcher: &str, more: &[&str]) -> Output {
    bench.run(&[&["fleet", "links", survey, "--time", "20ms", "--launcher", launcher], more].concat())
}

fn report(bench: &Bench, survey: &str) -> Value {
    bench.json(&["fleet", "report", survey])["report"]["links"].clone()
}

/// Six machines and a hub, which is where the surveys are made: namespaces, and all between them.
struct Site(String);

impl Site {
    fn new() -> Self {
        let site = Self(format!("tmlinks{}", std::process::id()));
        site.ip("netns add NAMEh");
        site.ip("-n NAMEh link add bridge type bridge");
        site.ip("-n NAMEh addr add 10.214.0.254/24 dev bridge");
        site.ip("-n NAMEh link set lo up");
        site.ip("-n NAMEh link set bridge up");
        for n in 1..=6 {
            site.ip(&format!("netns add NAME{n}"));
            site.ip(&format!("-n NAMEh link add port{n} type veth peer name out netns NAME{n}"));
            site.ip(&format!("-n NAMEh link set port{n} master bridge up"));
            site.ip(&format!("-n NAME{n} addr add 10.214.0.{n}/24 dev out"));
            site.ip(&format!("-n NAME{n} link set out up"));
        }
        // What the second sends to the fifth goes over a line of 50 Mbit a second.
        site.ip("-n NAME2 link add slow type veth peer name slow netns NAME5");
        for (own, other) in [(2, 5), (5, 2)] {
            site.ip(&format!("-n NAME{own} link set slow up"));
            site.ip(&format!("-n NAME{own} route add 10.214.0.{other}/32 dev slow src 10.214.0.{own}"));
        }
        let tbf = format!(
            "netns exec {}2 tc qdisc add dev slow root tbf rate 50mbit burst 64k latency 200ms",
            site.0
        );
        site.ip(&tbf);
        site
    }

    #[track_caller]
    fn ip(&self, words: &str) {
        let words = words.split(' ').map(|word| word.replace("NAME", &self.0));
        let done = Command::new("ip").args(words).output().unwrap();
        assert!(done.status.success(), "{}", err(&done));
    }

    /// A program in the hub.
    fn in_hub(&self, bench: &Bench, arguments: &[&str]) -> Output {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &format!("{}h", self.0), program()]).args(arguments);
        command.env("TICKMARK_STORE", bench.store()).output().unwrap()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        for name in ["h", "1", "2", "3", "4", "5", "6"] {
            let _ = Command::new("ip").args(["netns", "del", &format!("{}{name}", self.0)]).output();
        }
    }
}

#[test]
#[ignore = "second tier: root"]
fn a_slow_link_is_found_between_machines_that_are_not_slow() {
    let _machine = crate::bench::machine();
    let (bench, site) = (Bench::new(), Site::new());
    let folder = survey(&bench, "n[1-6]");
    let survey = folder.to_str().unwrap();
    let launcher = format!(
        r#"for n in $(echo {{nodes}} | tr , " "); do TICKMARK_NODE=$n ip netns exec {}${{n#n}} {{command}} & done; wait"#,
        site.0
    );
    let more = ["--rounds", "5", "--at-once", "1", "--network", "10.214.0.1"];
    let arguments =
        [&["fleet", "links", survey, "--time", "50ms", "--launcher", &launcher], &more[..]].concat();
    let done = site.in_hub(&bench, &arguments);
    assert_eq!(done.status.code(), Some(0), "{}{}", out(&done), err(&done));
    assert!(out(&done).contains("from n2 to n5: a stream has"), "{}", out(&done));
    let text = out(&done).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("any would be named in 5.0 % of surveys"), "{text}");
    let links = report(&bench, survey);
    let slow = &links["slow"][0];
    assert_eq!(
        (&slow["from"], &slow["to"], &slow["way"]),
        (&json!("n2"), &json!("n5"), &json!("stream")),
        "{links:#}"
    );
    let of = |name: &str| slow[name].as_f64().unwrap();
    let link_rate = of("value");
    // 6.25 MB a second, and what the bucket and the queue take at once.
    assert!(link_rate < 30e6 && of("usual") > 5.0 * link_rate && of("measured") == 3.0, "{slow:#}");
    // All pairs of a round at once: what looks slow is measured again beside the same others, which are not measured again.
    let arguments = ["fleet", "links", survey, "--time", "20ms", "--rounds", "5", "--launcher", &launcher];
    let done = site.in_hub(&bench, &arguments);
    assert_eq!(done.status.code(), Some(0), "{}{}", out(&done), err(&done));
    let together = report(&bench, survey);
    let slow = together["slow"].as_array().unwrap();
    assert!(
        slow.iter().any(|one| one["from"] == "n2" && one["to"] == "n5" && one["measured"] == 3),
        "{together:#}"
    );
    let page = bench.store().with_extension("html");
    assert_eq!(bench.run(&["fleet", "report", survey, "-o", page.to_str().unwrap()]).status.code(), Some(0));
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("Links: ") && page.contains("from n2 to n5: a stream has"), "{} bytes", page.len());
    let kept = fs::read_to_string(folder.join("links.jsonl")).unwrap();
    let lines: Vec<Value> = kept.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let begun = &lines.last().unwrap()["series"]["begun"];
    let own = lines.iter().filter(|line| &line["series"]["begun"] == begun);
    let (again, first): (Vec<&Value>, Vec<&Value>) = own.partition(|line| line["again"] == true);
    assert!(
        first.len() == 15 && again.len() >= 2 && again.len() % 2 == 0,
        "{} and {}",
        first.len(),
        again.len()
    );
    // Of a busy machine any may be named, in as many surveys as it says, and none for that link: it is as fast as it is on its others.
    let mut streams = links["machines"].as_array().unwrap().iter().filter(|one| one["part"] != "trips");
    assert!(streams.all(|one| one["value"].as_f64() > Some(5.0 * link_rate)), "{links:#}");
    assert_eq!(
        (&links["pairs"], &links["judged"], &links["how"]["network"]),
        (&json!(15), &json!(6), &json!("10.214.0.1"))
    );
}

#[test]
#[ignore = "second tier: 20 to 30 s"]
fn machines_that_do_not_come_or_go_are_named_and_the_others_measured() {
    let bench = Bench::new();
    let folder = survey(&bench, "n[1-8]");
    let survey = folder.to_str().unwrap();
    // n7 is never started, and n6 has another token; n8 comes and goes, n1 comes twice, and so does one that was not asked. A stranger says nothing.
    let launcher = r#"
        for n in n1 n2 n3 n4 n5 n1 other; do TICKMARK_NODE=$n {command} & done
        TICKMARK_NODE=n8 timeout -s KILL 6 {command} &
        set -- {command}; shift 2
        TICKMARK_NODE=n6 TICKMARK_TOKEN=incorrect-horse-battery "$@" &
        at=${4%%,*}; exec 9<>/dev/tcp/${at%:*}/${at##*:}
        wait"#;
    let launcher = format!("bash -c '{}'", launcher.replace('\'', "'\\''"));
    let done = links(&bench, survey, &launcher, &["--rounds", "7"]);
    let said = out(&done);
    assert_eq!(done.status.code(), Some(4), "{said}{}", err(&done));
    let links = report(&bench, survey);
    let missing = links["missing"].as_array().unwrap();
    let why = |node: &str| {
        missing.iter().find(|one| one["node"] == node && one["other"].is_null()).map(|one| &one["why"])
    };
    assert_eq!(why("n7"), Some(&json!("it did not come")), "{missing:#?}");
    assert!(
        why("n6").is_some_and(|why| why.as_str().unwrap().contains("the token is another one")),
        "{missing:#?}"
    );
    // Of the one that went nothing was measured, as nothing was yet; and the five others met each other.
    let gone = missing.iter().filter(|one| [&one["node"], &one["other"]].contains(&&json!("n8"))).count();
    assert_eq!((gone, &links["nodes"], &links["pairs"]), (5, &json!(5), &json!(10)), "{links:#}");
    let kept = fs::read_to_string(folder.join("links.jsonl")).unwrap();
    assert!(!kept.contains("other\"") && kept.contains("n8 is gone"), "{kept}");
    // All is kept, and a second command begins anew.
    let again = self::links(&bench, survey, HERE, &["--rounds", "1"]);
    assert_eq!(again.status.code(), Some(0), "{}{}", out(&again), err(&again));
    assert!(fs::read_to_string(folder.join("links.jsonl")).unwrap().starts_with(&kept));
    let links = report(&bench, survey);
    assert_eq!((&links["pairs"], &links["judged"]), (&json!(4), &json!(0)), "{links:#}");
    assert!(out(&again).contains("none judged: a machine needs 3 pairs"), "{}", out(&again));
}

#[test]
#[ignore = "second tier: 10 s"]
fn bad_input_of_links_is_told_in_a_line() {
    let bench = Bench::new();
    let folder = survey(&bench, "a,b");
    let survey = folder.to_str().unwrap();
    refused(&bench.run(&["fleet", "links", "nowhere"]), 2, &["is no survey"]);
    refused(
        &links(&bench, survey, "echo a: no such host >&2; exit 1", &[]),
        1,
        &["0 of 2 machines came", "no such host"],
    );
    let one = HERE.replace("$(echo {nodes} | tr , \" \")", "a");
    refused(&links(&bench, survey, &one, &["--patience", "10s"]), 1, &["1 of 2 machines came"]);
    refused(&links(&bench, survey, HERE, &["--listen", "203.0.113.1:0"]), 1, &["--listen 203.0.113.1:0"]);
    refused(
        &bench.run(&["fleet", "links", survey, "--time", "90s", "--launcher", HERE]),
        2,
        &["--time: from 1ms to 60s"],
    );
    refused(&bench.run(&["fleet", "links", survey, "--time", "0s", "--launcher", HERE]), 2, &["--time"]);
    refused(&links(&bench, survey, HERE, &["--network", "nowhere"]), 2, &["--network"]);
    // An agent that nobody coordinates, or without a token.
    let agent = |token: &str| {
        let mut agent = Command::new(program());
        agent
            .args(["agent", "links", "9", "127.0.0.1:1"])
            .env("TICKMARK_NODE", "a")
            .env("TICKMARK_TOKEN", token);
        err(&agent.output().unwrap())
    };
    assert!(agent("correct horse battery").contains("a: 127.0.0.1:1: Connection refused"));
    assert!(agent("short").contains("a token has 12 characters or more"));
}
