//! Commands of the documents, run as they stand there.

use crate::bench::{Bench, err, machine, out, program};
use std::path::Path;
use std::process::{Command, Output};

/// The blocks of a page that are in a language, in their order with those of another.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let parts = page.split("\n```").skip(1).step_by(2);
    parts.filter_map(|part| part.split_once('\n')).collect()
}

fn shell(bench: &Bench, folder: &Path, script: &str) -> Output {
    let path = Path::new(program()).parent().unwrap().display().to_string();
    let path = format!("{path}:{}", std::env::var("PATH").unwrap());
    let mut shell = Command::new("bash");
    shell.args(["-e", "-o", "pipefail", "-c", script]).current_dir(folder).env("PATH", path);
    shell.env("TICKMARK_STORE", bench.store()).output().unwrap()
}

#[test]
#[ignore = "second tier: jq, DuckDB"]
fn recipes_for_the_json_do_what_the_page_says() {
    let page = include_str!("../../../../docs/JSON.md");
    let (bench, folder) = (Bench::new(), tempfile::tempdir().unwrap());
    for name in ["before", "after"] {
        let done = bench.run(&[
            "run",
            "syscall.null",
            "syscall.read",
            "--runs",
            "3",
            "--budget",
            "1s",
            "--name",
            name,
        ]);
        assert!(done.status.success(), "{}", err(&done));
    }
    assert!(matches!(bench.run(&["doctor", "--only", "timer-slack"]).status.code(), Some(0 | 3)));
    let python = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/python");
    let mut ran = [0, 0];
    for (language, text) in blocks(page) {
        match language {
            "sh" => {
                let done = shell(&bench, folder.path(), text);
                assert!(done.status.success(), "{text}\n{}", err(&done));
                if text.contains(".rows[] | [.metric") {
                    assert!(out(&done).contains("syscall.null\t"), "{text}\n{}", out(&done));
                }
                ran[0] += 1;
            }
            "sql" => {
                let query =
                    "import duckdb, sys; rows = duckdb.sql(sys.argv[1]).fetchall(); print(rows); assert rows";
                let mut command = Command::new("python3");
                command.args(["-c", query, text]).env("PYTHONPATH", python).current_dir(folder.path());
                let done = command.output().unwrap();
                assert!(
                    done.status.success() && out(&done).contains("syscall.null"),
                    "{text}\n{}",
                    err(&done)
                );
                ran[1] += 1;
            }
            _ => {}
        }
    }
    assert_eq!(ran, [7, 3], "blocks of the page");
}

/// The pages for each kind of user: the blocks that are scripts.
#[test]
#[ignore = "second tier: a minute"]
fn pages_for_users_do_what_they_say() {
    let pages = [
        include_str!("../../../../docs/howto/kernel.md"),
        include_str!("../../../../docs/howto/server.md"),
        include_str!("../../../../docs/howto/realtime.md"),
        include_str!("../../../../docs/howto/hpc.md"),
        include_str!("../../../../docs/howto/library.md"),
    ];
    for page in pages {
        let (bench, folder) = (Bench::new(), tempfile::tempdir().unwrap());
        let scripts: Vec<&str> =
            blocks(page).into_iter().filter(|(is, _)| *is == "sh").map(|(_, text)| text).collect();
        assert!(!scripts.is_empty(), "{page}");
        for script in scripts {
            let done = shell(&bench, folder.path(), script);
            assert!(done.status.success() && !out(&done).is_empty(), "{script}\n{}", err(&done));
        }
    }
}

/// What a block has, and what stands in its place here: settings that every machine has, a library that is there, shorter times.
const SUBSTITUTIONS: &[(&str, &str)] = &[
    ("clocksource=tsc,hpet", "slack=50us,1ns"),
    ("clocksource=tsc,kvm-clock", "slack=50us,1ns"),
    ("libjemalloc.so.2", "libm.so.6"),
    ("/mnt/", ""),
    ("--pid 1234", "--pid $server"),
    ("--duration 1h", "--duration 300ms"),
    ("--duration 60s", "--duration 300ms"),
    ("--duration 10s", "--duration 300ms"),
    ("--blocks 20", "--blocks 2"),
    ("memory --width 1%", "memory.latency.random --blocks 2"),
    ("switch process", "switch.2p.0k"),
    ("clock syscall", "syscall.null"),
    ("--width 0.3%", "--runs 3"),
    ("--cpu 3", "--cpu 0"),
    ("--cpu 1", "--cpu 0"),
    ("--cpu B:1", "--cpu B:0"),
    ("sudo ", ""),
];

/// What makes a command short, where it does not say it itself.
const SHORTER: &[(&str, &[&str])] = &[
    ("versus", &["--runs 3"]),
    ("experiment", &["--blocks 2", "--no-pilot"]),
    ("timers", &["--methods nanosleep", "--duration 300ms"]),
    ("tick", &["--duration 300ms"]),
    ("http", &["--runs 1", "--duration 200ms"]),
    ("dose", &["--quick", "--slice 200ms", "--doses 0,2000"]),
    ("doctor", &["--only timer-slack"]),
    ("run", &["syscall.null"]),
];

/// What needs guests, other hosts or the kernel's tracer, and the test that runs it.
const TESTED_ELSEWHERE: &[(&str, &str)] = &[
    ("tickmark lab doctor", "what_is_missing_is_named_with_its_package"),
    ("--speed host", "at_the_hosts_speed_a_guest_measures_too_and_its_figures_are_not_called_exact"),
    ("tickmark lab boot", "two_kernels_are_compared_by_the_instructions_of_each_path"),
    ("tickmark lab run", "the_document_again_exact_to_the_instruction"),
    ("tickmark lab explain", "a_system_call_is_told_by_function"),
    ("experiment kernel=", "kernels_are_a_knob_of_experiment"),
    ("experiment clock-tick-100-vs-1000", "the_document_on_the_tick_is_answered_by_one_command"),
    ("experiment processor-load", "a_file_of_messages_is_launched_and_shows_the_documents_tables"),
    ("tickmark hz", "each_load_has_the_hz_that_suits_it"),
    (
        "tickmark fleet run survey --nodes",
        "a_cluster_is_surveyed_while_a_node_dies_and_its_tables_are_queried",
    ),
    ("tickmark fleet", "every_command_of_the_tutorial_runs"),
    ("--peer node7", "two_hosts_measure_together_over_ssh_and_where_one_listens"),
    ("--find-capacity", "the_capacity_of_a_server_that_is_known_is_found_and_what_cannot_be_found_is_said"),
    ("500us trace", "the_first_long_gap_ends_the_loop_and_runs_a_command"),
];

/// The commands of a page's blocks that have no language, without what is explained behind each.
fn lines(page: &str) -> Vec<String> {
    let plain = blocks(page).into_iter().filter(|(language, _)| language.is_empty());
    let all = plain.flat_map(|(_, text)| text.lines());
    let all = all.map(|line| line.replace("cargo run --release -- ", "tickmark "));
    let own = all.filter(|line| line.starts_with("tickmark ") || line.starts_with("sudo tickmark "));
    own.map(|line| line.split(" # ").next().unwrap_or(&line).trim().to_owned()).collect()
}

/// The command as it runs here.
fn shortened_command(line: &str) -> String {
    let line = SUBSTITUTIONS.iter().fold(line.to_owned(), |line, (stands, here)| line.replace(stands, here));
    let (command, rest) =
        line["tickmark ".len()..].split_once(' ').unwrap_or((&line["tickmark ".len()..], ""));
    let shorter = SHORTER.iter().filter(|(own, _)| *own == command).flat_map(|(_, options)| *options);
    let lacks = |option: &&&str| option.split(' ').next().is_some_and(|name| !rest.contains(name));
    let options: Vec<&str> = shorter.filter(lacks).copied().collect();
    format!("tickmark {command} {} {rest}", options.join(" "))
}

/// Programs, results, recordings and a repository of the names that the pages have, in the folder where it runs.
const FIXTURE: &str = r#"
cat > prog.c <<'C'
#include <stdio.h>
#include <string.h>
int main(int n, char **a) {
    volatile unsigned x = 0;
    for (unsigned i = 0; i < 1000000; i++) x += i;
    puts(n > 1 && !strcmp(a[1], "--json") ? "{\"latency\": {\"p99\": 1.25}}" : "rate: 100");
}
C
gcc -O1 -o old prog.c
for name in new bench load client server-bench server_test; do cp old $name; done
printf '#!/bin/sh\necho 1.5\n' > bench.sh
printf '#!/bin/sh\nexec python3 -m http.server 8080 --bind 127.0.0.1 2> /dev/null\n' > server
chmod +x bench.sh server
mkdir -p main results ext4 xfs src
head -c 100000 /dev/urandom > data
cp data ext4 && cp data xfs
printf '{"results": [{"command": "x", "times": [1.0, 1.1, 1.2, 1.05]}]}' > results.json
for copy in new.json results/1.json results/2.json main/1.json main/2.json; do cp results.json $copy; done
printf 'size,latency\n1,2.0\n2,3.0\n' > table.csv
printf 'T: 0 ( 100) P:80 I:1000 C: 100 Min: 1 Act: 2 Avg: 2 Max: 9\n' > cyclictest.txt
printf '[package]\nname = "prog"\nversion = "0.1.0"\nedition = "2021"\n' > Cargo.toml
echo 'fn main() { println!("rate: 100"); }' > src/main.rs
git init -q -b main . && git config user.email a@example.org && git config user.name a
git add Cargo.toml src && git commit -qm one && git checkout -qb work && git commit -q --allow-empty -m two
for name in before1 before2 before3 after1 after2 after3 old new; do
    tickmark run syscall.null --once --name $name > /dev/null
done
ip link set lo up
serve() {
    ./server & server=$!
    until (echo > /dev/tcp/127.0.0.1/8080) 2> /dev/null; do sleep 0.1; done
}
"#;

/// Every command of the blocks of the README and of the pages for each kind of user does its work, with shorter times; what cannot be run
/// in a minute on one machine has a test of its own.
#[test]
#[ignore = "second tier: root, a minute"]
fn every_command_of_the_readme_and_of_the_pages_runs() {
    let _machine = machine();
    let pages = [
        include_str!("../../../../README.md"),
        include_str!("../../../../docs/howto/commands.md"),
        include_str!("../../../../docs/howto/hpc.md"),
        include_str!("../../../../docs/howto/kernel.md"),
        include_str!("../../../../docs/howto/library.md"),
        include_str!("../../../../docs/howto/realtime.md"),
        include_str!("../../../../docs/howto/server.md"),
    ];
    // In the order of the pages: what is exported was measured by the line before.
    let mut all: Vec<String> = Vec::new();
    for line in pages.iter().flat_map(|page| lines(page)) {
        if !all.contains(&line) {
            all.push(line);
        }
    }
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/**/*.rs");
    let tests = glob::glob(tests.to_str().unwrap())
        .unwrap()
        .map(|path| std::fs::read_to_string(path.unwrap()).unwrap());
    let tests: String = tests.collect();
    let other = |line: &String| TESTED_ELSEWHERE.iter().find(|(part, _)| line.contains(part));
    for (line, (_, test)) in all.iter().filter_map(|line| Some((line, other(line)?))) {
        assert!(tests.contains(&format!("fn {test}()")), "{line}: there is no test {test}");
    }
    let run: Vec<String> =
        all.iter().filter(|line| other(line).is_none()).map(|line| shortened_command(line)).collect();
    assert!(run.len() > 40, "{run:#?}");
    let (bench, folder) = (Bench::new(), tempfile::tempdir().unwrap());
    let mut script = format!("set -e{FIXTURE}set +e\n");
    for (number, line) in run.iter().enumerate() {
        // A server of its own for each that asks one; `dose` starts it itself.
        let (start, stop) = match () {
            () if line.contains("-- ./server ") || line.ends_with("-- ./server") => ("", ""),
            () if line.contains(":8080") || line.contains("$server") => {
                ("serve\n", "kill $server; wait $server 2> /dev/null\n")
            }
            () => ("", ""),
        };
        script += &format!("{start}{line} > out.{number} 2> err.{number}; echo $? > code.{number}\n{stop}");
    }
    script += "true\n";
    let inside = ["unshare", "--net", "bash", "-c"];
    let path = Path::new(program()).parent().unwrap().display().to_string();
    let path = format!("{path}:{}", std::env::var("PATH").unwrap());
    let mut command = Command::new(inside[0]);
    command.args(&inside[1..]).arg(&script).current_dir(folder.path()).env("PATH", path);
    let done = command.env("TICKMARK_STORE", bench.store()).output().unwrap();
    assert!(done.status.success(), "{}", err(&done));
    let read = |name: String| std::fs::read_to_string(folder.path().join(name)).unwrap();
    for (number, line) in run.iter().enumerate() {
        let code = read(format!("code.{number}"));
        let (text, said) = (read(format!("out.{number}")), read(format!("err.{number}")));
        // Differences, and what cannot be judged yet, are answers; a kernel may lack its own instrument.
        let expected: &[&str] = if line.contains("--timerlat") { &["0", "4"] } else { &["0", "3", "5"] };
        assert!(expected.contains(&code.trim()), "{line}: {code}{said}");
        let is_silent = line.contains(" > ") || code.trim() == "5";
        assert!(!text.is_empty() || is_silent, "{line}: {said}");
    }
}
