//! The kernel module tickmark_timer in guests: both its back ends, under interrupts at random, and with the kernel proving its locks.

use super::image;
use crate::bench::{Bench, err, refused};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const LOCKDEP: &str = "x86_64:lockdep=on:source=6.12";

/// A boot of a kernel with the module, at 500 MIPS: options, then rows.
fn boot(bench: &Bench, kernel: &str, more: &[&str], rows: &[(&str, &str)]) -> Vec<Value> {
    let rows: Vec<String> = rows
        .iter()
        .map(|(row, correction)| format!("timer.scenario:row={row},strategy=kernel-{correction},repeats=20"))
        .collect();
    let begin = ["lab", "boot", "--kernel", kernel, "--speed", "500", "--slice", "200ms", "--limit", "5min"];
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let made = bench.run(&[&begin, more, &rows].concat());
    assert_eq!(made.status.code(), Some(0), "{}", err(&made));
    bench.json(&["timers", "--of", "last"])["scenarios"].as_array().unwrap().clone()
}

fn number(of: &Value, name: &str) -> f64 {
    of[name].as_f64().unwrap_or_else(|| panic!("no {name} in {of}"))
}

/// How late the first timer of a row is, its median in ns.
fn first(of: &Value) -> f64 {
    number(&of["timers"][0], "p50")
}

/// Console output of the last boot.
fn console(bench: &Bench) -> String {
    let shown = bench.json(&["show", "last"]);
    let boots = bench.store().join("boots").join(shown["recording"]["id"].as_str().unwrap());
    let find = |folder: &Path| folder.join("console.txt").is_file().then(|| folder.join("console.txt"));
    let folders = std::fs::read_dir(&boots).unwrap().flatten().map(|entry| entry.path());
    let place = find(&boots).or_else(|| folders.filter_map(|folder| find(&folder)).next()).unwrap();
    let text = String::from_utf8_lossy(&std::fs::read(place).unwrap()).into_owned();
    // Of the kernel alone: its lines begin with the time.
    text.lines().filter(|line| line.starts_with('[')).fold(String::new(), |all, line| all + line + "\n")
}

const ALL: [(&str, &str); 6] = [
    ("simple", "none"),
    ("simple", "last"),
    ("simple", "quantile"),
    ("many", "none"),
    ("many", "last"),
    ("many", "quantile"),
];

/// The document: uncorrected late by some 2000 cycles; the first of a row as late, the others within 400 on average.
#[track_caller]
fn as_the_document_has_it(rows: &[Value]) {
    for rows in rows.chunks(3) {
        let [none, last, quantile] = rows else { panic!("{rows:?}") };
        // 2 ns an instruction, and a TSC of 1 GHz: 930 cycles from the local APIC timer, 1500 from the kernel's.
        assert!((500.0..3_000.0).contains(&first(none)), "{none}");
        assert!((first(last) / first(none) - 1.0).abs() < 0.1, "the bad start: {last}");
        assert!(first(quantile) < 400.0, "no bad start: {quantile}");
        for row in [last, quantile] {
            // What is learned is worth it under interrupts, too.
            assert!(
                number(row, "mean_absolute_after_first") < number(none, "mean_absolute_after_first"),
                "{row}"
            );
        }
        assert!(number(quantile, "mean_absolute_after_first") < 400.0, "{quantile}");
        for row in rows {
            assert!(number(row, "min") >= -400.0, "too early: {row}");
        }
    }
}

const LOAD: [&str; 2] = ["--module", "tickmark_timer_test load=1"];

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn the_local_apic_timer_under_interrupts_at_random() {
    let bench = Bench::new();
    let module = ["--append", "nolapic_timer", "--module", "tickmark_timer backend=apic divider=4"];
    as_the_document_has_it(&boot(&bench, "x86_64", &[&module[..], &LOAD].concat(), &ALL));
    let facts = bench.json(&["show", "last"])["environment"].clone();
    assert_eq!(facts["tickmark_timer.backend"]["value"], "apic");
    assert_eq!(facts["tickmark_timer.bus_ratio"]["value"], "1.000");
    assert!(facts["guest.module.tickmark_timer"]["value"].as_str().unwrap().contains("divider=4"));
}

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn the_kernels_timers_under_interrupts_at_random() {
    let module = ["--module", "tickmark_timer backend=hrtimer"];
    as_the_document_has_it(&boot(&Bench::new(), "x86_64", &[&module[..], &LOAD].concat(), &ALL));
}

/// The kernel found nothing wrong with itself.
#[track_caller]
fn is_sound(console: &str) {
    let wrong = ["WARNING", "BUG", "circular", "inconsistent lock", "suspicious", "Call Trace"];
    assert!(!wrong.iter().any(|word| console.contains(word)), "{console}");
}

/// Timers on one of two CPUs, added and cancelled from both: none is lost; and that CPU stays while they are there.
#[test]
#[ignore = "second tier: QEMU and kernels"]
fn timers_of_one_of_two_cpus() {
    let bench = Bench::new();
    let begin = ["lab", "boot", "--kernel", LOCKDEP, "--speed", "500", "--cpus", "2"];
    let offline = ["--write", "/sys/devices/system/cpu/cpu1/online=0", "syscall.null"];
    // Without the local APIC timer the kernel has none for the second CPU: its own back end is the one here.
    let two = ["--append", "loglevel=7", "--module", "tickmark_timer backend=hrtimer cpu=1"];
    let load = [
        ["--module", "tickmark_timer_test load=7 load_cpu=1 seconds=2"],
        ["--write", "/sys/module/tickmark_timer_test/parameters/run=4 0"],
    ];
    let more = [&["--cpus", "2"][..], &two, &load.concat()].concat();
    boot(&bench, LOCKDEP, &more, &[("many", "quantile")]);
    let console = console(&bench);
    is_sound(&console);
    // The write fails where one that was added neither fired nor was cancelled.
    assert!(console.contains("cancelled, ") && console.contains(", 0 refused"), "{console}");
    let facts = bench.json(&["show", "last"])["environment"].clone();
    assert!(facts["guest.model"]["value"].as_str().unwrap().contains("2 CPUs"), "{facts}");
    refused(&bench.run(&[&begin[..], &two, &offline].concat()), 1, &["cpu1/online", "busy"]);
    // Without the module it goes.
    let made = bench.run(&[&begin[..], &offline].concat());
    assert_eq!(made.status.code(), Some(0), "{}", err(&made));
    refused(&bench.run(&["lab", "boot", "--kernel", "powerpc", "--cpus", "2"]), 2, &["powerpc has one CPU"]);
    refused(&bench.run(&["lab", "boot", "--cpus", "2"]), 2, &["Linux 6.1", "source=6.12"]);
}

/// Threads that add, change and cancel, beside interrupts at random; then too many timers for a kernel that checks each lock.
#[test]
#[ignore = "second tier: QEMU and kernels"]
fn no_lock_is_taken_wrongly_and_no_timer_is_lost() {
    for (module, append) in [
        ("tickmark_timer backend=apic", "nolapic_timer loglevel=7"),
        ("tickmark_timer backend=hrtimer", "loglevel=7"),
    ] {
        let bench = Bench::new();
        let more = [
            ["--append", append],
            ["--module", module],
            ["--module", "tickmark_timer_test load=7 seconds=3"],
            ["--write", "/sys/module/tickmark_timer_test/parameters/run=4 0"],
            ["--write", "/sys/module/tickmark_timer/parameters/correction=quantile"],
            ["--write", "/sys/module/tickmark_timer_test/parameters/run=4 0"],
            ["--write", "/sys/module/tickmark_timer_test/parameters/run=2 2"],
        ];
        boot(&bench, LOCKDEP, &more.concat(), &[("too-many", "last")]);
        let facts = bench.json(&["show", "last"])["environment"].clone();
        assert_eq!(facts["kernel.config.PROVE_LOCKING"]["value"], "y");
        let console = console(&bench);
        is_sound(&console);
        // It says itself whether each that was added fired or was cancelled, and fails the write else.
        let stressed: Vec<&str> = console.lines().filter(|line| line.contains("cancelled, ")).collect();
        assert!(stressed.len() == 2 && stressed.iter().all(|line| line.contains(", 0 refused")), "{console}");
        assert_eq!(
            console.lines().filter(|line| line.contains("tickmark_timer_test: 2 29 ")).count(),
            1,
            "{console}"
        );
    }
}

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn what_the_module_cannot_do_is_refused_in_a_line() {
    let bench = Bench::new();
    let boot = |more: &[&str]| {
        let begin = ["lab", "boot", "--kernel", "x86_64", "--speed", "500", "--slice", "20ms"];
        bench.run(&[&begin[..], more, &["clock.monotonic.read"]].concat())
    };
    let says = |more: &[&str], words: &[&str]| refused(&boot(more), 1, words);
    // The tick is the local APIC timer's here.
    says(
        &["--module", "tickmark_timer backend=apic"],
        &["does not take module tickmark_timer", "resource busy"],
    );
    says(
        &["--module", "tickmark_timer backend=pit"],
        &["does not take module tickmark_timer", "Invalid argument"],
    );
    let device = |line| ["--module", "tickmark_timer backend=hrtimer most_timers=2", "--write", line];
    says(
        &device("/dev/tickmark_timer=ns 1 2 3"),
        &["/dev/tickmark_timer does not take ns 1 2 3", "No space"],
    );
    says(&device("/dev/tickmark_timer=ns 1 x"), &["does not take ns 1 x", "Invalid argument"]);
    says(&device("/dev/tickmark_timer=hours 1"), &["does not take hours 1", "Invalid argument"]);
    // What has passed and what never comes are timers all the same; closing the device takes them out.
    let ends = boot(&device("/dev/tickmark_timer=ns 0 18446744073709551615"));
    assert_eq!(ends.status.code(), Some(0), "{}", err(&ends));
    refused(&bench.run(&["lab", "boot", "--module", "tickmark_clocks"]), 2, &["no module", "tickmark_timer"]);
    refused(&bench.run(&["lab", "boot", "--module", "./nowhere.ko", "clock"]), 1, &["nowhere.ko"]);
    let small = ["lab", "boot", "--kernel", "powerpc", "--module", "tickmark_timer", "syscall"];
    refused(&bench.run(&small), 2, &["agent c loads no modules"]);
    // Where it is not loaded, rows of it are refused, and the others are measured.
    let here = bench.run(&[
        "timers",
        "many",
        "--in-kernel",
        "--strategy",
        "spin",
        "--unit",
        "time",
        "--duration",
        "1s",
        "--runs",
        "1",
    ]);
    assert_eq!(here.status.code(), Some(4), "{}", err(&here));
    assert!(
        crate::bench::out(&here).contains("tickmark_timer is not loaded"),
        "{}",
        crate::bench::out(&here)
    );
}

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn a_module_of_ones_own_is_compiled_where_its_kbuild_lies() {
    let (bench, folder) = (Bench::new(), tempfile::tempdir().unwrap());
    let source = "#include <linux/module.h>\nstatic int debug;\nmodule_param(debug, int, 0444);\n\
        static int __init begin(void)\n{\n\tpr_info(\"mine: debug %d\\n\", debug);\n\treturn 0;\n}\nmodule_init(begin);\nMODULE_LICENSE(\"GPL\");\n";
    let write = |name: &str, text: &[u8]| std::fs::write(folder.path().join(name), text).unwrap();
    let boot = |module: &str| {
        let module = format!("{}/{module}", folder.path().display());
        let begin = [
            "lab",
            "boot",
            "--kernel",
            "x86_64",
            "--speed",
            "500",
            "--slice",
            "20ms",
            "--append",
            "loglevel=7",
        ];
        bench.run(&[&begin[..], &["--module", &module, "clock.monotonic.read"]].concat())
    };
    // Without a Kbuild it is taken as it is, and the kernel decides.
    write("mine.ko", b"no module at all");
    refused(&boot("mine.ko"), 1, &["does not take module mine", "Exec format error"]);
    write("Kbuild", b"obj-m := mine.o\n");
    write("mine.c", source.as_bytes());
    let made = boot("mine.ko debug=7");
    assert_eq!(made.status.code(), Some(0), "{}", err(&made));
    assert!(console(&bench).contains("mine: debug 7"), "{}", console(&bench));
    refused(&boot("mine.ko debug=x"), 1, &["does not take module mine (debug=x)"]);
    refused(&boot("other.ko"), 2, &["its Kbuild makes no other.ko"]);
    write("mine.c", source.replace("pr_info", "pr_nonsense").as_bytes());
    refused(&boot("mine.ko"), 1, &["module mine was not built", "pr_nonsense", "the whole log is"]);
}

/// As a watchdog does where the TSC is found wrong: the clock source that reads it goes with it, and another one is selected. That is over when
/// the write ends: what the kernel prints afterwards would stand among the events.
#[test]
#[ignore = "second tier: QEMU and kernels"]
fn a_tsc_that_is_given_up_takes_the_modules_clock_with_it() {
    let (bench, folder) = (Bench::new(), tempfile::tempdir().unwrap());
    let source = "#include <linux/delay.h>\n#include <linux/module.h>\n#include <asm/tsc.h>\n\
        static int give_up(const char *text, const struct kernel_param *kp)\n{\n\tmark_tsc_unstable(\"a test\");\n\tmsleep(2000);\n\treturn 0;\n}\n\
        static const struct kernel_param_ops ops = { .set = give_up };\nmodule_param_cb(now, &ops, NULL, 0200);\nMODULE_LICENSE(\"GPL\");\n";
    std::fs::write(folder.path().join("Kbuild"), b"obj-m := distrust.o\n").unwrap();
    std::fs::write(folder.path().join("distrust.c"), source).unwrap();
    let own = format!("{}/distrust.ko", folder.path().display());
    let begin = [
        "lab",
        "boot",
        "--kernel",
        LOCKDEP,
        "--speed",
        "500",
        "--append",
        "loglevel=7",
        "--module",
        "tickmark_clock",
    ];
    let writes = [
        "/sys/devices/system/clocksource/clocksource0/current_clocksource=tickmark",
        "/sys/module/tickmark_clock/parameters/extra_ns=5000",
        "/sys/module/distrust/parameters/now=1",
    ];
    let writes = writes.map(|line| ["--write", line]).concat();
    let made = bench.run(
        &[
            &begin[..],
            &["--module", &own],
            &writes,
            &["clock.monotonic.read", "--slice", "100ms", "--limit", "5min"],
        ]
        .concat(),
    );
    assert_eq!(made.status.code(), Some(0), "{}", err(&made));
    let console = console(&bench);
    is_sound(&console);
    let (before, after) =
        console.split_once("the kernel has given the TSC up").unwrap_or_else(|| panic!("{console}"));
    assert!(before.contains("Switched to clocksource tickmark"), "{console}");
    assert!(
        after.contains("Switched to clocksource ") && !after.contains("clocksource tickmark"),
        "{console}"
    );
}

/// The kernel's own checks of the source, and its compiler's of more than usual.
#[test]
#[ignore = "second tier: kernels"]
fn the_source_has_no_warning() {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel/tickmark_timer");
    for (name, kernel) in [("usual", "x86_64"), ("lockdep", LOCKDEP)] {
        // make takes no other characters.
        let tree = folder.path().join(name);
        let module = tree.with_extension("module");
        std::fs::create_dir(&tree).unwrap();
        std::fs::create_dir(&module).unwrap();
        let archive = image(kernel).with_file_name("tree.tar.gz");
        let run = |command: &mut Command| {
            let done = command.env_remove("MAKEFLAGS").env_remove("MAKELEVEL").output().unwrap();
            let said =
                [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
            assert!(done.status.success(), "{command:?}: {said}");
            said
        };
        run(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&tree));
        let files = std::fs::read_dir(&source).unwrap().flatten().map(|entry| entry.path());
        let files: Vec<_> =
            files.filter(|path| path.extension().is_none_or(|end| end == "c" || end == "h")).collect();
        assert!(files.len() >= 10, "{files:?}");
        for file in &files {
            std::fs::copy(file, module.join(file.file_name().unwrap())).unwrap();
        }
        let place = format!("M={}", module.display());
        run(Command::new("make").arg("-C").arg(&tree).args([
            "ARCH=x86_64",
            "W=1",
            "KCFLAGS=-Werror",
            &place,
            "modules",
        ]));
        let options = ["--no-tree", "--terse", "--no-summary", "--max-line-length=120", "-f"];
        let said =
            run(Command::new("perl").arg(tree.join("scripts/checkpatch.pl")).args(options).args(&files));
        assert_eq!(said.trim(), "");
    }
}
