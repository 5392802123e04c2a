//! Commands of the documents, run as they stand there.

use crate::bench::{Bench, err, out, program};
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

/// The pages for each kind of user; what needs root, hosts or minutes stands in blocks that are only parsed.
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
