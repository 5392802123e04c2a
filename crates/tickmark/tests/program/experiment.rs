//! `tickmark experiment`: settings by turns, and everything put back, however it ends.

use crate::bench::{Bench, err, machine, out, page_of, refused, row};
use crate::machine::within;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file of the kernel that holds a number, of a process of our own: nobody else's knob.
struct Knob {
    path: PathBuf,
    process: std::process::Child,
}

impl Knob {
    fn new() -> Self {
        let process = Command::new("sleep").arg("600").spawn().unwrap();
        let path = PathBuf::from(format!("/proc/{}/oom_score_adj", process.id()));
        std::fs::write(&path, "7").unwrap();
        Self { path, process }
    }
}

impl Drop for Knob {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn held(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap().trim().to_owned()
}

fn recordings(bench: &Bench) -> Vec<Value> {
    bench.recordings().as_array().unwrap().clone()
}

#[test]
fn settings_come_by_turns_and_go_back() {
    let (bench, knob) = (Bench::new(), Knob::new());
    let path = &knob.path;
    let turned = format!("{}=100,200", path.display());
    let output = bench.run(&[
        "experiment",
        &turned,
        "selftest.work.1000",
        "--blocks",
        "4",
        "--name",
        "t",
        "--format",
        "json",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!(held(path), "7");
    assert!(err(&output).contains("smallest change that 4 blocks detect"), "{}", err(&output));
    let model = page_of(&output.stdout);
    let other = &model["candidates"][0];
    assert_eq!(other["unit"], "block");
    assert_eq!(row(other, "selftest.work.1000")["replicates"], serde_json::json!([4, 4]));
    let all = recordings(&bench);
    let names: Vec<&str> = all.iter().map(|r| r["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["t:pilot", "t:100", "t:200"]);
    // The same is said again at any time, and the order of the blocks is not always the same.
    let again = bench.json(&["compare", "t:100", "t:200"]);
    assert_eq!(again["candidates"][0]["rows"], other["rows"]);
    let first = |id: &Value| {
        let path = bench.store().join("recordings").join(id.as_str().unwrap()).join("events.jsonl");
        let text = std::fs::read_to_string(path).unwrap();
        let at = |line: &str| serde_json::from_str::<Value>(line).unwrap()["started"]["at"].as_i64();
        text.lines().filter_map(at).collect::<Vec<i64>>()
    };
    let (one, two) = (first(&all[1]["id"]), first(&all[2]["id"]));
    assert_eq!((one.len(), two.len()), (4, 4));
    for block in 0..3 {
        assert!(one[block].max(two[block]) < one[block + 1].min(two[block + 1]), "blocks follow each other");
    }
    let resumed = bench.run(&["run", "--resume", "t:100"]);
    refused(&resumed, 2, &["in an experiment"]);
}

#[test]
fn a_known_slowdown_is_found_and_nothing_is_not() {
    // The setting is what the command costs: 5 % more, in a fraction of the noise that is added.
    let (bench, knob) = (Bench::new(), Knob::new());
    let path = &knob.path;
    let noise = "$(od -An -N1 -tu1 /dev/urandom)";
    let command =
        |base: &str| format!("v=$(cat {}); echo $(( (v {base}) * 1000 + {noise} ))", path.display());
    let run = |base: &str| {
        let turned = format!("{}=100,105", path.display());
        let command = command(base);
        bench.json(&["experiment", &turned, "--command", &command, "--blocks", "8", "--no-pilot"])
    };
    let found = run("");
    let line = &found["candidates"][0]["rows"][0];
    assert_eq!(
        (&line["verdict"], &line["worse"], &line["metric"]),
        (&"beyond_margin".into(), &true.into(), &"command".into())
    );
    let ratio = line["ratio"].as_f64().unwrap();
    assert!((1.045..1.055).contains(&ratio), "{line}");
    let nothing = run("* 0 + 100");
    // One in twenty of such experiments sees a difference by chance; none sees one of the margin.
    let verdict = nothing["candidates"][0]["rows"][0]["verdict"].as_str().unwrap();
    assert!(["equivalent", "below_margin"].contains(&verdict), "{nothing}");
}

#[test]
fn what_goes_wrong_is_one_line_and_everything_is_put_back() {
    let (bench, folder) = (Bench::new(), tempfile::tempdir().unwrap());
    let (knob, path) = (Knob::new(), folder.path().join("file"));
    std::fs::write(&path, "before\n").unwrap();
    let run = |arguments: &[&str]| bench.run(&[&["experiment"], arguments].concat());
    refused(&run(&["/dev/null=a,b", "syscall.null"]), 2, &["no file of the kernel"]);
    let configuration = format!("{}=a,b", path.display());
    refused(&run(&[&configuration, "syscall.null"]), 2, &["no file of the kernel"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "before\n");
    let padded = format!("{}=007,8", knob.path.display());
    refused(&run(&[&padded, "syscall.null"]), 1, &["does not stay 007"]);
    assert_eq!(held(&knob.path), "7");
    refused(&run(&["colour=red,blue"]), 2, &["no knob is called colour"]);
    let mut elsewhere =
        bench.command(&["experiment", "slack=1ns,2ns", "syscall.null", "--blocks", "2", "--no-pilot"]);
    refused(
        &elsewhere.env("TICKMARK_STORE", "/proc/nosuch").output().unwrap(),
        1,
        &["/proc/nosuch", "--store DIR"],
    );
    refused(&run(&["slack=1ns"]), 2, &["one setting"]);
    refused(&run(&["slack=1ns,2parsecs"]), 2, &["unit"]);
    refused(&run(&["slack=1ns,50us", "syscall.nul"]), 2, &["syscall.null"]);
    refused(&run(&["missing.toml"]), 1, &["missing.toml"]);
    refused(&run(&["/nowhere/at/all=1,2", "syscall.null"]), 1, &["/nowhere/at/all"]);
    refused(&run(&[]), 2, &["KNOB=A,B"]);

    // A set command that does half of its work and fails.
    let toml = folder.path().join("half.toml");
    let write = |set: &str, get: &str| {
        let path = path.display();
        let text = format!(
            "probes = [\"syscall.null\"]\nknob = \"half\"\nget = \"{get}\"\n\
             [[setting]]\nname = \"a\"\nset = \"echo a > {path}\"\nreset = \"echo before > {path}\"\n\
             [[setting]]\nname = \"b\"\nset = \"echo b > {path}; {set}\"\nreset = \"echo before > {path}\"\n"
        );
        std::fs::write(&toml, text).unwrap();
    };
    let file = toml.to_string_lossy().into_owned();
    write("echo no luck >&2; exit 7", &format!("cat {}", path.display()));
    refused(&run(&[&file]), 1, &["the set command of b failed", "no luck"]);
    assert_eq!(held(&path), "before");
    write("true", "echo a");
    refused(&run(&[&file]), 1, &["half does not stay b: it is a"]);
    assert_eq!(held(&path), "before");
    write("true", &format!("cat {}", path.display()));
    let output = run(&[&file, "--blocks", "2", "--no-pilot"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!(held(&path), "before");
    std::fs::write(&toml, "knob = \"slack=1ns,50us\"\nprobe = []\n").unwrap();
    refused(&run(&[&file]), 2, &["line 2", "probe"]);

    // What a command prints is no number, in every block.
    let turned = format!("{}=1,2", knob.path.display());
    let output = run(&[&turned, "--command", "echo none", "--blocks", "2", "--no-pilot"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        err(&output).lines().last().unwrap().contains("`echo none` printed no number"),
        "{}",
        err(&output)
    );
    assert_eq!(held(&knob.path), "7");
}

#[test]
fn a_signal_puts_back_and_a_kill_is_put_back_by_hand() {
    let _machine = machine();
    for signal in ["INT", "TERM", "KILL"] {
        let (bench, knob) = (Bench::new(), Knob::new());
        let path = &knob.path;
        // One file has two spellings here: it is the file that is locked.
        let turned = format!("{}=100,200", path.display());
        let respelt = turned.replace("/oom_score_adj", "/./oom_score_adj");
        let arguments = ["experiment", &turned, "syscall.null", "--blocks", "500", "--no-pilot"];
        let mut child = bench
            .command(&arguments)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // In the middle of the blocks, and not while settings are tried.
        let made = || {
            let folders = std::fs::read_dir(bench.store().join("recordings")).into_iter().flatten().flatten();
            let texts =
                folders.filter_map(|folder| std::fs::read_to_string(folder.path().join("events.jsonl")).ok());
            texts.map(|text| text.matches("{\"finished\"").count()).collect::<Vec<_>>()
        };
        within(60, "three blocks", || made().len() == 2 && made().iter().all(|blocks| *blocks > 2));
        within(60, "a setting", || held(path) == "200");
        let elsewhere = Bench::new();
        let second = elsewhere.run(&["experiment", &respelt, "syscall.null", "--blocks", "2"]);
        refused(&second, 1, &["another experiment is changing"]);
        within(60, "a setting", || held(path) == "200");
        assert!(crate::bench::signal(signal, child.id()));
        if signal == "KILL" {
            child.wait().unwrap();
            assert_ne!(held(path), "7", "nothing was left changed");
            let second = elsewhere.run(&["experiment", &respelt, "syscall.null", "--blocks", "2"]);
            refused(&second, 1, &["--restore --store", &bench.store().to_string_lossy()]);
            let second = bench.run(&["experiment", &turned, "syscall.null", "--blocks", "2"]);
            refused(&second, 1, &["--restore"]);
            // The machine is asked, not the store alone.
            let restored = elsewhere.run(&["experiment", "--restore"]);
            assert!(out(&restored).contains("is 7 again"), "{}", out(&restored));
            assert!(out(&bench.run(&["experiment", "--restore"])).contains("no killed experiment"));
        } else {
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(4), "{}", err(&output));
            assert!(out(&output).contains("interrupted; "), "{}", out(&output));
        }
        assert_eq!(held(path), "7", "{signal}");
        // What was measured until then is there.
        for recording in recordings(&bench) {
            let id = recording["id"].as_str().unwrap();
            assert!(row(&bench.json(&["show", id]), "syscall.null")["value"].is_f64(), "{signal}");
        }
    }
}

/// A command that makes a setting ends with the program: none runs after `--restore` took the setting back.
#[test]
fn a_command_of_a_setting_ends_with_a_killed_program() {
    let _machine = machine();
    let (bench, folder) = (Bench::new(), tempfile::tempdir().unwrap());
    let (file, log) = (folder.path().join("late.toml"), folder.path().join("log"));
    let log_as = log.display();
    let text = format!(
        "probes = [\"syscall.null\"]\nblocks = 4\nknob = \"late\"\n[[setting]]\nname = \"a\"\n\
         set = \"echo $$ > {log_as}; sleep 20; echo late > {log_as}\"\nreset = \"echo back >> {log_as}\"\n\
         [[setting]]\nname = \"b\"\n"
    );
    std::fs::write(&file, text).unwrap();
    let mut child = bench.command(&["experiment", &file.to_string_lossy()]).spawn().unwrap();
    within(60, "a command", || std::fs::read_to_string(&log).is_ok_and(|text| text.ends_with('\n')));
    let shell = PathBuf::from(format!("/proc/{}", held(&log)));
    assert!(shell.exists());
    child.kill().unwrap();
    child.wait().unwrap();
    within(60, "the end of the command", || {
        // One that nobody waits for is over all the same.
        std::fs::read_to_string(shell.join("stat")).map_or(true, |stat| stat.contains(") Z "))
    });
    let restored = bench.run(&["experiment", "--restore"]);
    assert_eq!(restored.status.code(), Some(0), "{}", err(&restored));
    assert!(held(&log).ends_with("back") && !held(&log).contains("late"), "{}", held(&log));
}

#[test]
fn it_ends_by_width_and_by_time() {
    let bench = Bench::new();
    let by = |arguments: &[&str]| {
        let command = ["experiment", "slack=50us,1ns", "selftest.work.1000", "--no-pilot"];
        let output = bench.run(&[&command, arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        let text = out(&output);
        let lines: Vec<&str> = text.lines().collect();
        let page = lines.iter().position(|line| line.starts_with("as a page: tickmark report "));
        let end = page.and_then(|page| lines.get(page - 1)).unwrap_or_else(|| panic!("{text}"));
        (*end).to_owned()
    };
    let narrow = by(&["--width", "90%"]);
    // Ten, or as many more as others make it take.
    let blocks =
        narrow.split_once(" blocks, as the intervals are narrow enough").map(|(count, _)| count.parse());
    assert!(matches!(blocks, Some(Ok(10..100))), "{narrow}");
    // Two blocks are the fewest that can be compared: a busy machine has made one in a second.
    let short = by(&["--budget", "5s", "--blocks", "500"]);
    assert!(short.contains("as the time is over"), "{short}");
}

/// Knobs of the machine are turned where it has them; as root on a virtual machine they work.
#[test]
#[ignore = "second tier: root"]
fn knobs_of_the_machine() {
    let _alone = machine();
    let bench = Bench::new();
    let sources = "/sys/devices/system/clocksource/clocksource0";
    let available = std::fs::read_to_string(format!("{sources}/available_clocksource")).unwrap_or_default();
    let now = || std::fs::read_to_string(format!("{sources}/current_clocksource")).unwrap_or_default();
    let writable =
        || std::fs::OpenOptions::new().write(true).open(format!("{sources}/current_clocksource")).is_ok();
    let few = ["--blocks", "2", "--no-pilot"];
    let run = |what: &str, probe: &str| {
        let output = bench.run(&[&["experiment", what, probe, "--format", "json"][..], &few].concat());
        assert_eq!(output.status.code(), Some(0), "{what}: {}", err(&output));
        page_of(&output.stdout)["candidates"][0].clone()
    };
    let facts = |other: &Value| -> Vec<String> {
        other["environment"]
            .as_array()
            .unwrap()
            .iter()
            .map(|d| d["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let names: Vec<&str> = available.split_whitespace().collect();
    match names[..] {
        [first, second, ..] if writable() => {
            let before = now();
            let other = run(&format!("clocksource={first},{second}"), "clock.monotonic.read");
            assert_eq!(facts(&other), ["clock.source"]);
            assert_eq!(now(), before);
        }
        _ => println!("SKIPPED: one clock source, or no right to choose: {available}"),
    }
    assert!(
        facts(&run("slack=50us,1ns", "timer.clock_nanosleep.late")).contains(&"clock.slack_ns".to_owned())
    );
    assert!(facts(&run("policy=other,fifo:50", "syscall.null")).contains(&"settings.priority".to_owned()));
    let allowed = Command::new("nproc").output().unwrap();
    if out(&allowed).trim() != "1" {
        assert!(facts(&run("cpu=0,1", "syscall.null")).contains(&"cpu.measured".to_owned()));
    }
    let output = bench.run(&[&["experiment", "quota=none,50%", "syscall.null"][..], &few].concat());
    match output.status.code() {
        Some(0) => {}
        _ => refused(&output, 1, &["quota"]),
    }
    let left = std::fs::read_to_string("/proc/mounts").unwrap();
    let groups =
        left.lines().filter(|line| line.contains(" cgroup")).filter_map(|line| line.split(' ').nth(1));
    for group in groups {
        let own = std::fs::read_dir(group).into_iter().flatten().flatten();
        let ours = own.filter(|entry| entry.file_name().to_string_lossy().starts_with("tickmark-"));
        for group in ours {
            // Another test's has its process at the end, too.
            let name = group.file_name().to_string_lossy().into_owned();
            let id = name.rsplit('-').next().unwrap_or_default();
            assert!(Path::new("/proc").join(id).exists(), "{} was left", group.path().display());
        }
    }
}
