//! Foreign inputs and outputs: outputs that are no files, stores with foreign content, files that never end, silent peers.

use crate::bench::{Bench, err, out, program, refused, words};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::process::{Command, Output, Stdio};

/// `tickmark ARGUMENTS` that has so many seconds, and 1 GiB of memory.
fn bounded(bench: &Bench, seconds: u32, arguments: &[&str]) -> Output {
    let shell = format!("ulimit -v 1048576; exec timeout -k 1 {seconds} \"$0\" \"$@\"");
    let mut command = Command::new("bash");
    command.args(["-c", &shell, program()]).args(arguments).env("TICKMARK_STORE", bench.store());
    command.stdin(Stdio::null()).output().unwrap()
}

fn imported(bench: &Bench, name: &str, values: &[f64]) -> String {
    fs::create_dir_all(bench.store()).unwrap();
    let path = bench.store().join(name);
    let text: String = values.iter().map(|value| format!("{value}\n")).collect();
    fs::write(&path, text).unwrap();
    let path = path.to_string_lossy().into_owned();
    let done = bench.run(&["import", &path, "--name", name, "--lines", "replicates"]);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    path
}

#[test]
fn an_output_is_written_into_what_is_there_and_nothing_is_put_in_its_place() {
    let bench = Bench::new();
    imported(&bench, "values", &[1.0, 2.0, 3.0]);
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name);
    let report = |to: &str| bench.run(&["report", "last", "-o", to]);
    // A device takes no more.
    let full = report("/dev/full");
    assert!(full.status.code() != Some(0) && err(&full).contains("/dev/full"), "{}", err(&full));
    assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device(), "it is a device still");
    assert_eq!(report("/dev/null").status.code(), Some(0));
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device(), "it is a device still");
    // A link stays one, and its target is written.
    fs::write(path("target"), "before").unwrap();
    symlink(path("target"), path("link")).unwrap();
    assert_eq!(report(path("link").to_str().unwrap()).status.code(), Some(0));
    assert!(fs::symlink_metadata(path("link")).unwrap().is_symlink());
    assert!(fs::read_to_string(path("target")).unwrap().starts_with("<!"), "the target has the page");
    // A descriptor, by its name.
    let done = report("/dev/stdout");
    assert!(done.status.code() == Some(0) && out(&done).contains("<html"), "{}", err(&done));
    assert!(fs::symlink_metadata("/dev/stdout").unwrap().is_symlink(), "it is a link still");
    // A pipe.
    let pipe = path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = Command::new("cat").arg(&pipe).stdout(Stdio::piped()).spawn().unwrap();
    assert_eq!(report(pipe.to_str().unwrap()).status.code(), Some(0));
    assert!(out(&reader.wait_with_output().unwrap()).contains("<html"));
    let folder = report(place.path().to_str().unwrap());
    assert!(folder.status.code() != Some(0) && place.path().is_dir(), "{}", err(&folder));
    assert!(err(&folder).contains("folder"), "{}", err(&folder));
}

#[test]
fn a_file_is_no_recording_and_an_export_is_written_where_it_was_told_to() {
    let bench = Bench::new();
    let values = imported(&bench, "values", &[1.0, 2.0, 3.0]);
    refused(
        &bench.run(&["compare", &values, &values]),
        1,
        &["is not a recording", "tickmark import", "tickmark stat"],
    );
    let to = bench.store().with_file_name("x.csv");
    let done = bench.run(&["export", "last", "-o", to.to_str().unwrap()]);
    assert!(done.status.code() == Some(0) && out(&done).is_empty(), "{}", out(&done));
    let (written, shown) = (fs::read_to_string(&to).unwrap(), bench.run(&["export", "last"]));
    assert!(written == out(&shown) && written.starts_with("recording,metric,"), "{written}");
    // One result that is given twice may be meant as two.
    let twice = bench.run(&["import", &values, &values]);
    assert!(err(&twice).contains("has the same content as"), "{}", err(&twice));
}

#[test]
fn a_gate_does_not_pass_what_moved_away_from_equal_values() {
    let bench = Bench::new();
    let folder = tempfile::tempdir().unwrap();
    let result = |name: &str, bytes: u32, allocations: u32| {
        let path = folder.path().join(name);
        let line =
            format!("BenchmarkSum-2 \t 100 \t 12.5 ns/op \t {bytes} B/op \t {allocations} allocs/op\n");
        fs::write(&path, format!("goos: linux\n{line}")).unwrap();
        path.to_str().unwrap().to_owned()
    };
    fs::create_dir(folder.path().join("main")).unwrap();
    (0..8).for_each(|number| drop(result(&format!("main/{number}.txt"), 64, 1)));
    let history = folder.path().join("main");
    let check = |new: &str| bench.run(&["check", "--new", new, "--history", history.to_str().unwrap()]);
    let same = check(&result("same.txt", 64, 1));
    assert_eq!(same.status.code(), Some(0), "{}{}", out(&same), err(&same));
    let larger = check(&result("larger.txt", 6400, 100));
    assert_eq!(larger.status.code(), Some(5), "{}{}", out(&larger), err(&larger));
    assert!(
        out(&larger).starts_with("not judged: ") && out(&larger).contains("never varied"),
        "{}",
        out(&larger)
    );
    assert_eq!(check(&result("smaller.txt", 32, 1)).status.code(), Some(0));
}

#[test]
fn a_variable_that_is_empty_is_not_set() {
    let place = tempfile::tempdir().unwrap();
    let done = Command::new(program())
        .args(["recordings"])
        .env("TICKMARK_STORE", "")
        .env("HOME", place.path())
        .env_remove("XDG_DATA_HOME")
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
}

#[test]
fn what_does_not_belong_into_a_store_hangs_nothing() {
    let bench = Bench::new();
    imported(&bench, "values", &[1.0, 2.0, 3.0]);
    let folder = bench.recording();
    let _ = bench.run(&["check"]);
    for name in ["index.sqlite-journal", "gates/lock"] {
        let path = bench.store().join(name);
        let _ = fs::create_dir_all(path.parent().unwrap());
        let _ = fs::remove_file(&path);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        for asked in [&["recordings"][..], &["show", "values"], &["check"]] {
            let done = bounded(&bench, 20, asked);
            assert!(done.status.code().is_some_and(|code| code < 100), "{name} {asked:?}: {}", err(&done));
        }
        fs::remove_file(&path).unwrap();
    }
    for name in ["events.jsonl", "meta.json"] {
        let (path, kept) = (folder.join(name), folder.join("kept"));
        fs::rename(&path, &kept).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        for asked in [&["recordings"][..], &["recordings", "--rebuild"], &["show", "values"], &["check"]] {
            let done = bounded(&bench, 20, asked);
            assert!(done.status.code().is_some_and(|code| code < 100), "{name} {asked:?}: {}", err(&done));
        }
        fs::remove_file(&path).unwrap();
        symlink("/dev/zero", &path).unwrap();
        let done = bounded(&bench, 20, &["show", "values"]);
        assert!(done.status.code().is_some_and(|code| code < 100), "{name}: {}", err(&done));
        fs::remove_file(&path).unwrap();
        fs::rename(&kept, &path).unwrap();
    }
    assert_eq!(bench.run(&["show", "values"]).status.code(), Some(0), "and all is as before");
}

#[test]
fn files_without_an_end_have_one() {
    let bench = Bench::new();
    let survey = bench.store().with_extension("survey");
    let survey = survey.to_str().unwrap();
    let begun =
        ["fleet", "run", survey, "syscall.null", "--budget", "50ms", "--nodes", "a,b", "--launcher", "true"];
    let begun = bench.run(&begun);
    assert!(out(&begun).contains("2 silent"), "{}{}", out(&begun), err(&begun));
    for asked in [
        &["stat", "/dev/zero"][..],
        &["import", "/dev/zero"],
        &["timers", "--rows-from", "/dev/zero"],
        &["experiment", "/dev/zero"],
        &["comms", "--serve", "--token-file", "/dev/zero"],
        &["fleet", "gather", survey, "/dev/zero"],
    ] {
        let done = bounded(&bench, 60, asked);
        let said = err(&done);
        assert!(done.status.code().is_some_and(|code| (1..100).contains(&code)), "{asked:?}: {said}");
        assert!(said.contains("/dev/zero") || said.contains("line"), "{asked:?}: {said}");
        assert!(!said.contains("memory"), "it was the limit that ended it: {asked:?}: {said}");
        assert!(said.len() < 1_000, "{asked:?}: {} bytes of complaint", said.len());
    }
}

#[test]
fn the_order_of_values_has_one_verdict_everywhere() {
    let bench = Bench::new();
    // One drift goes through both; the last is no drift.
    let noise = [0.3, -0.2, 0.1, -0.4, 0.2, 0.4, -0.3, 0.0, -0.1, 0.25];
    let line = |from: f64| -> Vec<f64> {
        noise.iter().enumerate().map(|(at, noise)| 100.0 + from + 0.2 * at as f64 + noise).collect()
    };
    let step: Vec<f64> = noise.iter().rev().map(|noise| 103.0 + noise).collect();
    let still: Vec<f64> = noise.iter().map(|noise| 100.0 + noise).collect();
    for (name, a, b, claimed) in [("drift", line(0.0), line(2.0), false), ("step", still, step, true)] {
        let files =
            [("a", a), ("b", b)].map(|(side, values)| imported(&bench, &format!("{name}-{side}"), &values));
        let stat = bench.json(&["stat", &files[0], &files[1]]);
        let compared = bench.json(&["compare", &format!("{name}-a"), &format!("{name}-b")]);
        let one = &compared["candidates"][0]["rows"][0];
        let is_change = |verdict: &serde_json::Value| {
            ["changed", "beyond_margin", "below_margin"].contains(&verdict.as_str().unwrap())
        };
        assert_eq!(is_change(&one["verdict"]), claimed, "{one:#}");
        let text = stat.to_string();
        assert!(text.contains(one["verdict"].as_str().unwrap()), "{name}: {one:#} {stat:#}");
        assert_eq!(
            ["drift", "order", "dependence"].contains(&one["why"].as_str().unwrap_or_default()),
            !claimed,
            "{one:#}"
        );
    }
    // Values with other units are not taken for numbers of one kind.
    let path = bench.store().join("units");
    fs::write(&path, "1 ms\n900 KB\n3 s\n").unwrap();
    let mixed = bench.run(&["stat", path.to_str().unwrap()]);
    assert!(mixed.status.code() == Some(2) && err(&mixed).contains("unit"), "{}", err(&mixed));
    // Two of six orders are as extreme as this one.
    let three = imported(&bench, "three", &[1.0, 2.0, 3.0]);
    let text = out(&bench.run(&["stat", &three]));
    assert!(!text.contains("drifts") && !text.contains("p = 0)"), "{text}");
}

#[test]
fn what_no_check_could_look_at_is_no_success() {
    let bench = Bench::new();
    imported(&bench, "values", &[1.0, 2.0, 3.0]);
    let done = bench.run(&["doctor", "--of", "values"]);
    assert!(!matches!(done.status.code(), Some(0 | 3)), "{}", out(&done));
    assert!(!out(&done).contains("Nothing found"), "{}", out(&done));
}

#[test]
fn who_says_nothing_keeps_nobody_from_being_served() {
    let _machine = crate::bench::machine();
    let bench = Bench::new();
    let mut serving = bench
        .command(&["comms", "--serve", "--listen", "127.0.0.1:0"])
        .env("TICKMARK_TOKEN", "correct horse battery")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(serving.stdout.take().unwrap()).lines().map_while(Result::ok);
    let line = lines.find(|line| line.contains("127.0.0.1:")).unwrap();
    let at = line
        .split_whitespace()
        .find(|word| word.starts_with("127.0.0.1:"))
        .unwrap()
        .trim_end_matches(['.', ','])
        .to_owned();
    let mut silent: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(&at).unwrap()).collect();
    silent[0].write_all(b"half a line").unwrap();
    let done = bench
        .command(&[
            "comms",
            "--peer",
            &at,
            "--over",
            "tcp",
            "--sizes",
            "1",
            "--runs",
            "1",
            "--duration",
            "2s",
        ])
        .env("TICKMARK_TOKEN", "correct horse battery")
        .output()
        .unwrap();
    let code = done.status.code();
    let _ = serving.kill();
    serving.wait().unwrap();
    assert!(matches!(code, Some(0 | 4)), "{}", err(&done));
    drop(silent);
}

/// What is said beside the output is folded as the output is, and a name that is none brings the nearest.
/// What needs a permission says so before anything is measured, or says what it would add.
#[test]
#[ignore = "second tier: root"]
fn what_needs_root_says_so() {
    let bench = Bench::new();
    let priority = bench.without_rights(&["experiment", "policy=other,fifo:50", "syscall.null"]);
    refused(&priority, 1, &["priority fifo:50 was refused", "run as root"]);
    assert!(!err(&priority).contains("pilot"), "{}", err(&priority));
    for arguments in [
        &["bill", "--runs", "1", "--", "sleep", "0.1"][..],
        &["doctor", "--only", "busy-cpu"],
        &["live", "--duration", "1s"],
        &["timers", "--methods", "nanosleep", "--duration", "500ms", "--timerlat"],
    ] {
        let done = bench.without_rights(arguments);
        let said = words(&(out(&done) + &err(&done)));
        assert!(said.contains("as root"), "{arguments:?}: {said}");
    }
    let made = bench.without_rights(&["run", "syscall.null", "--once"]);
    assert!(made.status.success(), "{}", err(&made));
    let closed = bench.store().with_file_name("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    let page = closed.join("page.html").display().to_string();
    let refusal = bench.without_rights(&["report", "last", "-o", &page]);
    refused(&refusal, 1, &[&page, "run as root, or name a place where this user may write"]);
}

#[test]
fn errors_fit_a_narrow_terminal_and_name_what_was_meant() {
    let bench = Bench::new();
    let said = |arguments: &[&str], columns: &str| {
        let done = bench.command(arguments).env("COLUMNS", columns).output().unwrap();
        assert_eq!(done.status.code(), Some(2), "{arguments:?}: {}", err(&done));
        err(&done)
    };
    let wrong: [(&[&str], &str); 8] = [
        (&["rnu"], "did you mean run?"),
        (&["lab", "docter"], "did you mean doctor?"),
        (&["run", "--bugdet", "1s"], "did you mean --budget?"),
        (&["run", "--onec"], "did you mean --once?"),
        (&["--budget", "1s", "run"], "'run --budget' exists"),
        (&["doctor", "--only", "slowclock"], "did you mean slow-clock?"),
        (&["http", "--connection", "keepalive"], "did you mean keep-alive?"),
        (&["experiment", "slak=50us,1ns", "syscall.null"], "did you mean slack?"),
    ];
    for (arguments, meant) in wrong {
        let whole = said(arguments, "300");
        assert!(whole.contains(meant), "{arguments:?}: {whole}");
        if arguments[0] == "run" {
            assert!(
                said(&[&["--store", "x"], arguments].concat(), "300").contains("see tickmark run --help")
            );
        }
        let narrow = said(arguments, "60");
        assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
        assert_eq!(words(&narrow), words(&whole), "folded between words");
    }
    let absent = bench.run(&["experiment", "sysctl:kernel.pid_mxa=1,2", "syscall.null", "--no-pilot"]);
    assert!(err(&absent).contains("did you mean kernel.pid_max?"), "{}", err(&absent));
}
