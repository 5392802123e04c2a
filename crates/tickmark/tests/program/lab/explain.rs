//! Instructions by function: held against the guest's clock by the program itself, and here against what kernels are known to do.

use crate::bench::{Bench, err, out, refused, row};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

fn file(bench: &Bench, name: &str) -> PathBuf {
    bench.store().with_file_name(name)
}

/// A function of an operation, or of an interrupt.
pub(super) fn function<'a>(of: &'a Value, name: &str) -> &'a Value {
    let all = of["functions"].as_array().unwrap();
    all.iter().find(|function| function["name"] == name).unwrap_or_else(|| panic!("no {name} in {all:?}"))
}

fn sum(of: &Value, field: &str) -> f64 {
    of["functions"].as_array().unwrap().iter().map(|function| function[field].as_f64().unwrap()).sum()
}

pub(super) fn number(of: &Value, field: &str) -> f64 {
    of[field].as_f64().unwrap_or_else(|| panic!("no {field} in {of}"))
}

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn a_system_call_is_told_by_function() {
    let bench = Bench::new();
    let (svg, folded) = (file(&bench, "null.svg"), file(&bench, "null.folded"));
    let model = bench.json(&["lab", "explain", "syscall.null", "--stacks", svg.to_str().unwrap()]);
    let of = &model["kernels"][0];
    let kernel = number(of, "kernel_instructions");
    assert!((150.0..260.0).contains(&kernel), "{kernel}");
    assert!((sum(of, "own") - kernel).abs() < 1e-6);
    // Everything is below the entry but what a resumed thread does, and it is entered once by each.
    let entry = function(of, "entry_SYSCALL_64");
    assert!(
        (number(entry, "calls") - 1.0).abs() < 0.01 && number(entry, "inclusive") / kernel > 0.99,
        "{entry}"
    );
    assert!((number(function(of, "__do_sys_getppid"), "calls") - 1.0).abs() < 0.01);
    // The floor of the plain boot is the operation and its share of the stamps.
    let shown = bench.json(&["show", "last"]);
    let floor = number(row(&shown, "syscall.null"), "instructions");
    assert!((kernel + number(of, "program") - floor).abs() < 2.0, "{floor}");
    // Nothing is left over: the operation, what interrupts it, and threads that slept are all that was counted.
    let interrupts = of["interrupts"].as_array().unwrap().iter();
    let interrupts: f64 = interrupts.map(|one| number(one, "mean") * number(one, "count")).sum();
    let operations = number(of, "operations") * (kernel + number(of, "program"));
    let counted = number(&of["agreement"], "instructions");
    let resumed: f64 = of["resumed"].as_array().unwrap().iter().map(|one| number(one, "own")).sum();
    assert!((operations + interrupts + resumed - counted).abs() < 1.0, "{operations} {interrupts} {resumed}");
    assert_eq!(shown["environment"]["guest.repeated"]["value"], "a second boot gave the same bytes");
    let agreement = &of["agreement"];
    assert!(number(agreement, "windows") > 1000.0 && number(agreement, "beside") < 20.0, "{agreement}");
    // A hundred ticks a second, of one kind mostly.
    let tick = of["interrupts"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["name"] == "asm_sysvec_apic_timer_interrupt");
    let tick = tick.unwrap_or_else(|| panic!("no tick in {}", of["interrupts"]));
    assert!(
        (60.0..=110.0).contains(&number(tick, "count")) && (2000.0..3200.0).contains(&number(tick, "mean"))
    );
    let kinds = tick["kinds"].as_array().unwrap();
    assert_eq!(kinds.iter().map(|kind| number(kind, "count")).sum::<f64>(), number(tick, "count"));
    assert!(kinds.iter().any(|kind| kind["differs_by"].to_string().contains("update_vsyscall")), "{kinds:?}");
    let drawn = fs::read_to_string(&svg).unwrap();
    assert!(drawn.starts_with("<svg") && drawn.contains("<title>entry_SYSCALL_64: "), "{drawn}");
    // It stays with its recording: also where it was damaged since, a page of the rest is written.
    let page = file(&bench, "report.html");
    let report = || {
        let done = bench.run(&["report", "last", "-o", page.to_str().unwrap()]);
        assert_eq!(done.status.code(), Some(0), "{}", err(&done));
        (fs::read_to_string(&page).unwrap(), err(&done).to_owned())
    };
    let (html, _) = report();
    assert!(html.contains("syscall.null by kernel function") && html.contains("<title>entry_SYSCALL_64: "));
    assert!(html.contains("Its kinds, and what makes each"), "{html}");
    let id = shown["recording"]["id"].as_str().unwrap();
    let counts = bench.store().join("boots").join(id).join("1/again/counts.txt");
    fs::write(&counts, "node\tx\n").unwrap();
    let (html, said) = report();
    assert!(
        said.contains("line 1 of the counts is garbage") && !html.contains("by kernel function"),
        "{said}"
    );
    bench.json(&["lab", "explain", "syscall.null", "--stacks", folded.to_str().unwrap()]);
    let lines = fs::read_to_string(&folded).unwrap();
    let all: f64 = lines.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum();
    assert_eq!(
        all,
        number(agreement, "instructions"),
        "the stacks have what was counted, in another boot too"
    );
}

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn the_tick_of_the_documents_processor_and_its_caches() {
    let bench = Bench::new();
    let model =
        bench.json(&["lab", "explain", "tick.spin", "--kernel", "powerpc:hz=100", "--cache", "mpc860"]);
    let of = &model["kernels"][0];
    let tick = &of["interrupts"][0];
    assert_eq!((&tick["name"], &of["agreement"]["windows"]), (&Value::from("Decrementer"), &Value::from(1)));
    assert!((2600.0..3200.0).contains(&number(tick, "mean")), "{}", tick["mean"]);
    let [hrtimer, memcpy] = ["hrtimer_interrupt", "memcpy"].map(|name| function(tick, name));
    assert!((number(memcpy, "calls") - 5.0).abs() < 0.2 && number(hrtimer, "inclusive") > 2400.0);
    // reference: 688 misses for instructions and 76 to 150 for data; 53 and 15 lines that a program fetches again.
    let misses = |at: usize| {
        let of = |function: &Value| function["misses"][at].as_f64().unwrap();
        tick["functions"].as_array().unwrap().iter().map(of).sum::<f64>()
    };
    assert!(
        (600.0..760.0).contains(&misses(0)) && (60.0..250.0).contains(&misses(1)),
        "{} {}",
        misses(0),
        misses(1)
    );
    // reference: 670 lines of 16 bytes.
    assert!((600.0..740.0).contains(&number(tick, "lines")), "{}", tick["lines"]);
    let refills = tick["refills"][0].as_f64().unwrap();
    assert!((30.0..80.0).contains(&refills), "{refills}");
    // Faults are carried out twice, and counted once; programs that end, and threads on stacks that others had.
    for kernel in ["powerpc:hz=100", "x86_64:hz=100"] {
        let forked = bench.json(&["lab", "explain", "process.fork", "--agent", "c", "--kernel", kernel]);
        let of = &forked["kernels"][0];
        let copied = function(of, "copy_process");
        assert!((number(copied, "calls") - 1.0).abs() < 0.02, "{copied}");
        assert!(number(copied, "inclusive") < number(of, "kernel_instructions"));
    }
}

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn what_makes_a_path_dearer_is_named() {
    let bench = Bench::new();
    let [one, other] = ["x86_64:hz=1000", "x86_64:hz=1000:osnoise=on"];
    let explain = ["lab", "explain", "syscall.signal.handle", "--kernel", one, "--against"];
    let page = file(&bench, "page.html");
    let svg = file(&bench, "differs.svg");
    let written = ["-o", page.to_str().unwrap(), "--stacks", svg.to_str().unwrap()];
    let model = bench.json(&[&explain[..], &[other], &written].concat());
    let svg = fs::read_to_string(&svg).unwrap();
    let grown = svg.lines().find(|line| line.contains("<title>uprobe_deny_signal: ")).unwrap();
    assert!(grown.contains(" of its own") && grown.contains("fill=\"#d55e00\""), "{grown}");
    let page = fs::read_to_string(&page).unwrap();
    assert!(page.matches("<svg").count() == 2 && page.contains("<td>uprobe_deny_signal</td>"), "{page}");
    assert!(page.contains("Its kinds, and what makes each") && !page.contains("<script src"), "{page}");
    let kernels = &model["kernels"];
    let [before, after] = [0, 1].map(|side| number(&kernels[side], "kernel_instructions"));
    let changes = model["difference"].as_array().unwrap();
    let all: f64 = changes.iter().map(|change| number(change, "difference")).sum();
    assert!((40.0..90.0).contains(&all) && (all - (after - before)).abs() < 2.0, "{all} {before} {after}");
    // Uprobes come with what osnoise needs.
    let denied = changes.iter().find(|change| change["name"] == "uprobe_deny_signal").unwrap();
    assert!(
        number(denied, "calls_before") == 0.0 && (number(denied, "calls_after") - 1.0).abs() < 0.01,
        "{denied}"
    );
    let same = out(&bench.run(&[&explain[..], &[one]].concat()));
    assert!(same.starts_with("syscall.signal.handle executes the same number of instructions"), "{same}");
    assert!(same.lines().filter(|line| line.contains("difference")).count() == 0, "{same}");
}

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn what_cannot_be_explained_is_said_in_a_line() {
    let bench = Bench::new();
    let refuses = |arguments: &[&str], code: i32, why: &str| {
        refused(&bench.run(&[&["lab", "explain"], arguments].concat()), code, &[why]);
    };
    refuses(&["tick"], 2, "name one, such as tick.spin");
    refuses(&["syscall.nul"], 2, "did you mean");
    refuses(&["syscall.null", "--cache", "5:1"], 2, "give mpc860");
    refuses(&["memory.latency.random"], 1, "measured in no batches");
    refuses(&["syscall.null", "--against", "powerpc:hz=100"], 2, "two architectures");
    refuses(&["syscall.null", "--kernel", "/tmp"], 2, "no regular file");
    refuses(&["process.fork"], 1, "take the other one (--agent)");
    refuses(&["syscall.epoll.tcp", "--kernel", "powerpc:hz=100"], 1, "agent-c has no such probe");
    refuses(&["syscall.null", "--kernel", "./nosuch"], 2, "no such file");
    refuses(&["syscall.null", "--stacks", "/nosuch/a.svg"], 1, "--stacks: /nosuch/a.svg");
    refuses(&["syscall.null", "--against", "x86_64:hz=100", "--stacks", "a.folded"], 2, "give FILE.svg");
    // An image without names.
    let image = super::image("powerpc:hz=100");
    let stripped = file(&bench, "stripped");
    let done = Command::new("powerpc-linux-gnu-strip").arg("-o").arg(&stripped).arg(&image).status().unwrap();
    assert!(done.success());
    refuses(&["syscall.null", "--kernel", stripped.to_str().unwrap()], 2, "CONFIG_KALLSYMS");
    // One that does not boot: what is known of the other one is shown.
    let image = super::image("x86_64:hz=100");
    let broken = file(&bench, "broken");
    fs::write(&broken, super::bisect::that_does_not_boot(&image)).unwrap();
    let beside = ["lab", "explain", "syscall.null", "--kernel", "x86_64:hz=100", "--against"];
    let done = bench.run(&[&beside[..], &[broken.to_str().unwrap()]].concat());
    assert!(done.status.code() == Some(1) && out(&done).contains("__do_sys_getppid"), "{done:?}");
    assert!(err(&done).contains("the guest ended before its agent sent an event"), "{}", err(&done));
    // No compiler, then a QEMU from before there were plugins.
    let tools = file(&bench, "tools");
    fs::create_dir(&tools).unwrap();
    let qemu = tools.join("qemu-system-x86_64");
    let script = |path: &Path, text: &str| {
        fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    };
    // Whose version is part of the name of tickmark's own agent in the cache.
    script(&tools.join("cargo"), &format!("exec {} \"$@\"", env!("CARGO")));
    let with_tools = || {
        let mut tickmark =
            bench.command(&["lab", "explain", "syscall.null", "--kernel", image.to_str().unwrap()]);
        let done = tickmark.env("PATH", &tools).output().unwrap();
        assert!(!done.status.success());
        err(&done)
    };
    std::os::unix::fs::symlink("/usr/bin/qemu-system-x86_64", &qemu).unwrap();
    let said = with_tools();
    assert!(said.contains("gcc is missing; apt-get install gcc libc6-dev"), "{said}");
    fs::remove_file(&qemu).unwrap();
    script(&qemu, "echo QEMU emulator version 5.2.0");
    let said = with_tools();
    assert!(said.contains("a plugin of QEMU 6.1 or later") && said.contains("5.2.0"), "{said}");
    // One that was built without them.
    let refusal = "plugin interface not enabled in this build";
    let real = "exec /usr/bin/qemu-system-x86_64 \"$@\"";
    script(&qemu, &format!("case \"$*\" in *-plugin*) echo '{refusal}' >&2; exit 1;; esac\n{real}"));
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    let mut tickmark = bench.command(&["lab", "explain", "syscall.null", "--kernel", "x86_64:hz=100"]);
    refused(&tickmark.env("PATH", path).output().unwrap(), 1, &[refusal]);
}
