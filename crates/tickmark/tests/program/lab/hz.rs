//! Effect of HZ on a command: three loads whose answer is known.

use crate::bench::{Bench, err, out, page_of, refused};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Spins, and nothing else.
const SPIN: &str = "
int main(void) {
    for (volatile long i = 0; i < 6000000; i++) ;
    return 0;
}";

/// Starts one short process after the other beside four that never give the processor up: a new one waits for the end of a slice, and a
/// slice ends at a tick (Linux 6.1, kernel/sched/fair.c: task_fork_fair places it behind, entity_tick ends slices).
const SHARES: &str = "
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    pid_t hogs[4];
    for (int i = 0; i < 4; i++)
        if ((hogs[i] = fork()) == 0)
            for (;;) ;
    int bursts = 0;
    for (; bursts < 12; bursts++) {
        pid_t burst = fork();
        if (burst == 0) {
            for (volatile int i = 0; i < 2000; i++) ;
            _exit(0);
        }
        waitpid(burst, 0, 0);
    }
    for (int i = 0; i < 4; i++) kill(hogs[i], SIGKILL);
    printf(\"bursts: %d\\n\", bursts);
    return 0;
}";

/// Sleeps, and wakes up by timers that are finer than the tick.
const IDLES: &str = "
#include <time.h>
int main(void) {
    struct timespec rest = { 0, 20000000 };
    for (int i = 0; i < 10; i++) nanosleep(&rest, 0);
    return 0;
}";

/// Waits for what never comes, for a millisecond each time: this limit is counted in ticks (socket(7), SO_RCVTIMEO).
const WAITS: &str = "
#include <sys/socket.h>
#include <sys/time.h>
int main(void) {
    int pair[2];
    char byte;
    struct timeval limit = { 0, 1000 };
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair)) return 1;
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    for (int i = 0; i < 10; i++) recv(pair[0], &byte, 1, 0);
    return 0;
}";

/// A statically linked program of a C source.
pub(super) fn load(folder: &Path, name: &str, source: &str) -> PathBuf {
    let (from, to) = (folder.join(format!("{name}.c")), folder.join(name));
    std::fs::write(&from, source).unwrap();
    let gcc = Command::new("gcc").args(["-O1", "-static", "-o"]).arg(&to).arg(&from).output().unwrap();
    assert!(gcc.status.success(), "{}", err(&gcc));
    to
}

fn hz(bench: &Bench, more: &[&str], program: &Path) -> Value {
    let program = program.display().to_string();
    let begin = ["hz", "--format", "json", "--hz", "100,1000", "--blocks", "4", "--speed", "62.5"];
    let output = bench.run(&[&begin, more, &["--", &program]].concat());
    let ahead = err(&output);
    assert!(ahead.contains("this takes 10 boots; ") && ahead.contains("this takes about "), "{ahead}");
    page_of(&output.stdout)
}

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn each_load_has_the_hz_that_suits_it() {
    let (bench, folder) = (Bench::new(), tempfile::tempdir().unwrap());
    let means = |model: &Value| [0, 1].map(|at| model["levels"][at]["cost"].as_f64().unwrap());
    let spin = hz(&bench, &[], &load(folder.path(), "spin", SPIN));
    assert_eq!((&spin["prefers"], spin["best_hz"].as_f64()), (&Value::from("rate"), Some(100.0)), "{spin:#}");
    // What ticks take of this guest: .41 and 3.74 % (reference: 3.3 points).
    let [few, many] = means(&spin);
    assert!((0.028..0.042).contains(&(many / few - 1.0)), "{few} {many}");
    // Measured: 1.29, and 9.9 at 1000 MIPS.
    for (name, source, least) in [("shares", SHARES, 1.1), ("waits", WAITS, 5.0)] {
        let finer = hz(&bench, &[], &load(folder.path(), name, source));
        assert_eq!(finer["best_hz"].as_f64(), Some(1000.0), "{finer:#}");
        let [coarse, fine] = means(&finer);
        assert!(coarse / fine > least, "{name}: {coarse} {fine}");
    }
    let idles = hz(&bench, &["--margin", "1%"], &load(folder.path(), "idles", IDLES));
    assert_eq!(idles["prefers"], "neither", "{idles:#}");
}

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn a_number_is_judged_as_its_time_is_and_what_cannot_be_run_is_said() {
    let (bench, folder) = (Bench::new(), tempfile::tempdir().unwrap());
    let shares = load(folder.path(), "shares", SHARES);
    let number = hz(&bench, &["--number", "after:bursts:", "--higher"], &shares);
    assert_eq!(
        (&number["is_number"], number["levels"][0]["boots"][0].as_f64()),
        (&Value::from(true), Some(12.0))
    );
    assert_eq!(number["prefers"], "neither", "it prints the same: {number:#}");
    let spin = load(folder.path(), "spin", SPIN).display().to_string();
    // A program whose libraries cannot be found is refused before anything is built or booted.
    let musl = folder.path().join("musl");
    let bytes = std::fs::read("/bin/true").unwrap();
    let loader = b"/lib64/ld-linux-x86-64.so.2";
    let at = bytes.windows(loader.len()).position(|window| window == loader).unwrap();
    std::fs::write(
        &musl,
        [&bytes[..at], b"/lib64/ld-musl-x86_64.so.1\0", &bytes[at + loader.len()..]].concat(),
    )
    .unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&musl, mode).unwrap();
    let musl = musl.display().to_string();
    refused(
        &bench.run(&["hz", "--", &musl]),
        2,
        &["linked dynamically", "ld-musl-x86_64.so.1", "gcc -static"],
    );
    refused(&bench.run(&["hz", "--", "nowhere-to-be-found"]), 2, &["no program nowhere-to-be-found"]);
    refused(&bench.run(&["hz", "--hz", "100,200", "--", &spin]), 2, &["hz"]);
    refused(&bench.run(&["hz", "--hz", "100", "--", &spin]), 2, &["two rates or more"]);
    refused(&bench.run(&["hz", "--kernel", "powerpc", "--", &spin]), 2, &["agent c runs no command"]);
    refused(&bench.run(&["hz", "--number", "last", "--", &spin]), 2, &["only or after:TEXT"]);
    let script = folder.path().join("load.sh");
    std::fs::write(&script, "#!/bin/sh\ntrue\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    refused(&bench.run(&["hz", "--", &script.display().to_string()]), 2, &["no interpreter"]);
    let twice = folder.path().join("twice");
    std::fs::create_dir(&twice).unwrap();
    let twice = load(&twice, "spin", IDLES).display().to_string();
    refused(&bench.run(&["hz", "--file", &twice, "--", &spin]), 2, &["something else at /bin/spin"]);
    // One that fails has no figure, and says why.
    let fails =
        load(folder.path(), "fails", "#include <stdio.h>\nint main(void) { puts(\"no luck\"); return 3; }");
    let fails = fails.display().to_string();
    let failed = bench.run(&["hz", "--hz", "100,1000", "--blocks", "2", "--speed", "62.5", "--", &fails]);
    assert_ne!(failed.status.code(), Some(0), "{}", out(&failed));
    assert!(err(&failed).contains("no luck"), "{}", err(&failed));
}
