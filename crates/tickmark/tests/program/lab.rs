//! Kernels in QEMU. `cargo xtask test` has built those that are booted here; a missing one is built first.

mod bisect;
mod clock;
mod config_cost;
mod explain;
mod hz;
mod module;
mod papers;
mod processors;
mod tcp;
mod tick;

use crate::bench::{Bench, err, out, page_of, program, refused, row, signal};
use crate::machine::within;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const TICK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/clock-tick-100-vs-1000.toml");

/// The document's experiment without lines that begin so: tests of their own have the caches and what is explained beside them.
fn document_without(bench: &Bench, keys: &[&str]) -> String {
    let whole = fs::read_to_string(TICK).unwrap();
    let kept = whole.lines().filter(|line| !keys.iter().any(|key| line.starts_with(key)));
    let file = bench.store().with_file_name(format!("without-{}.toml", keys.join("-")));
    fs::write(&file, kept.collect::<Vec<_>>().join("\n")).unwrap();
    file.display().to_string()
}

/// The image of a kernel of the lab.
fn image(kernel: &str) -> PathBuf {
    let model = Bench::new().json(&["lab", "kernels", kernel]);
    PathBuf::from(model["kernels"][0]["image"].as_str().unwrap())
}

/// QEMUs whose files lie in the store of this bench.
fn guests(bench: &Bench) -> usize {
    let store = bench.store().display().to_string().into_bytes();
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path().join("cmdline"));
    let ours = processes.filter_map(|path| fs::read(path).ok());
    let is_guest = |line: &Vec<u8>| line.starts_with(b"/usr/bin/qemu") || line.starts_with(b"qemu");
    ours.filter(|line| is_guest(line) && line.windows(store.len()).any(|part| part == store)).count()
}

pub(crate) fn line<'a>(model: &'a Value, metric: &str, figure: &str) -> &'a Value {
    let rows = model["machines"][0]["candidates"][0]["rows"].as_array().unwrap();
    let found = rows.iter().find(|row| row["metric"] == metric && row["figure"] == figure);
    found.unwrap_or_else(|| panic!("no {metric} {figure} in {rows:?}"))
}

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn the_document_again_exact_to_the_instruction() {
    let bench = Bench::new();
    let [plain, explained] =
        [&["caches", "explain"][..], &["caches"]].map(|keys| document_without(&bench, keys));
    let model = bench.json(&[
        "lab",
        "run",
        &plain,
        "--machine",
        "powerpc",
        "--blocks",
        "2",
        "tick",
        "tick.spin",
        "syscall.null",
        "timer.*",
    ]);
    // Without ticks nothing differs; with them everything does, in every phase, and no chance is spoken of.
    let floor = line(&model, "syscall.null", "floor");
    assert_eq!((floor["ratio"].as_f64(), &floor["verdict"]), (Some(1.0), &Value::from("equivalent")));
    let mean = line(&model, "syscall.null", "mean");
    assert_eq!(mean["verdict"], "beyond_margin");
    assert_eq!(model["machines"][0]["candidates"][0]["unit"], "phase");
    assert!(mean["p"].is_null() && mean["ratio_interval"].is_null(), "{mean}");
    assert_eq!(mean["range_over_phases"].as_array().unwrap().len(), 2);
    // reference: .455 and 4.516 % of the processor, 3.5 to 4.6 points between them.
    let lost = &line(&model, "tick.spin.lost", "value")["mean"];
    let [few, many] = [0, 1].map(|side| lost[side].as_f64().unwrap() * 100.0);
    assert!((0.40..0.52).contains(&few) && (4.2..4.8).contains(&many), "{few} {many}");
    assert!((3.5..4.6).contains(&(many - few)));
    // What one tick costs at HZ=100 predicts what a thousand cost, within 10 %.
    assert!((few * 10.0 / many - 1.0).abs() < 0.1, "{few} {many}");
    // Instructions of a tick: about 2840, and a reading of the clock.
    let shown = bench.json(&["show", "last"]);
    let tick = row(&shown, "tick.cost")["instructions"].as_f64().unwrap();
    assert!((2500.0..3400.0).contains(&tick), "{tick}");
    assert!(
        shown["recording"]["guest"]["model"].as_str().unwrap().contains("no cache and no device latency")
    );
    assert_eq!(shown["environment"]["guest.repeated"]["value"], "a second boot gave the same bytes");
    assert_eq!(shown["environment"]["clock.hres_active"]["value"], "1");
    // What is explained is said in a few lines, with the command that has the rest.
    let matrix =
        ["lab", "run", &explained, "--machine", "powerpc", "--blocks", "2", "--slice", "20ms", "tick.spin"];
    let text = out(&bench.run(&matrix)).to_owned();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("(Decrementer), most of its instructions: ") && !text.contains("Its kinds"),
        "{text}"
    );
    let command = text.lines().find_map(|line| line.split_once(": tickmark report ")).unwrap().1;
    let ids: Vec<&str> = command.split(' ').take_while(|word| *word != "-o").collect();
    let page = bench.store().with_file_name("explained.html");
    let done = bench.run(&[&["report"], &ids[..], &["-o", page.to_str().unwrap()]].concat());
    assert_eq!((ids.len(), done.status.code()), (2, Some(0)), "{}", err(&done));
    assert!(fs::read_to_string(&page).unwrap().contains("By path of calls"), "no difference is drawn");
    // Every boot has its transcript.
    let transcripts = bench.store().join("boots").join(shown["recording"]["id"].as_str().unwrap());
    for boot in ["1", "1/again", "2"] {
        let console = fs::read_to_string(transcripts.join(boot).join("console.txt")).unwrap();
        assert!(console.contains("events begin") && console.contains("events end"), "{boot}");
    }
    assert_eq!(guests(&bench), 0);
}

/// Two kernels by their instructions: a tick more often adds none to a path, another kernel many, and each boot says the same.
#[test]
#[ignore = "second tier: QEMU and kernels"]
fn two_kernels_are_compared_by_the_instructions_of_each_path() {
    let bench = Bench::new();
    let gate = |new: &str, more: &[&str]| {
        let own = ["lab", "gate", "x86_64:hz=100", new, "syscall.null", "syscall.read"];
        bench.run(&[&own, more].concat())
    };
    let same = gate("x86_64:hz=1000", &["--format", "json"]);
    let page = page_of(&same.stdout);
    let paths = page["paths"].as_array().unwrap();
    assert!(same.status.code() == Some(0) && paths.len() == 2, "{page:#}{}", err(&same));
    for path in paths {
        assert!(path["difference"] == 0.0 && path["verdict"] == "same", "{page:#}");
        assert!((100.0..1000.0).contains(&path["base"].as_f64().unwrap()), "{page:#}");
    }
    let above = gate("x86_64:hz=1000", &["--max", "syscall.null=150"]);
    assert!(
        above.status.code() == Some(3) && out(&above).contains("1 above --max"),
        "{}{}",
        out(&above),
        err(&above)
    );
    let larger = gate("x86_64:hz=100:lockdep=on:source=6.12", &[]);
    assert!(
        larger.status.code() == Some(3) && out(&larger).starts_with("2 of 2 paths grew"),
        "{}{}",
        out(&larger),
        err(&larger)
    );
    assert!(out(&larger).contains("which functions: tickmark lab explain syscall."), "{}", out(&larger));
    refused(&gate("powerpc:hz=100", &[]), 2, &["two architectures"]);
    refused(&gate("x86_64:hz=1000", &["--max", "syscall.nul=150"]), 2, &["did you mean syscall.null"]);
    refused(&gate("x86_64:hz=1000", &["--margin", "x"]), 2, &["number of instructions"]);
    // What neither kernel has a count of is no pass where it was named.
    let fork = ["lab", "gate", "x86_64:hz=1000", "x86_64:hz=1000", "syscall.null", "process.f*"];
    let uncounted = bench.run(&fork);
    assert_eq!(uncounted.status.code(), Some(5), "{}{}", out(&uncounted), err(&uncounted));
    assert!(out(&uncounted).contains("neither gave a count: process.fork"), "{}", out(&uncounted));
    let tick = bench.run(&["lab", "gate", "x86_64:hz=100", "x86_64:hz=1000", "tick.spin"]);
    refused(&tick, 2, &["has no tick in it", "lab boot --max tick.spin"]);
    // What a change costs on the machine of a recording, before any boot there; a guest's counts are no price.
    let here = bench.run(&["run", "syscall", "--budget", "2s", "--name", "here"]);
    assert!([Some(0), Some(4)].contains(&here.status.code()), "{}", err(&here));
    // Of too few paths there is no price, and the comparison stands without it.
    let unpriced = gate("x86_64:hz=1000:osnoise=on", &["switch.2p.0k", "--price", "here"]);
    assert!(unpriced.status.code() == Some(3) && out(&unpriced).contains("of 3 paths grew"), "{unpriced:?}");
    assert!(err(&unpriced).contains("fewer than five of these paths"), "{}", err(&unpriced));
    let gated = ["lab", "gate", "x86_64:hz=1000", "x86_64:hz=1000:osnoise=on", "--format", "json", "--price"];
    let price = &page_of(&bench.run(&[&gated[..], &["here"]].concat()).stdout)["price"];
    let [low, median, high] = ["low", "median", "high"].map(|field| price[field].as_f64().unwrap());
    assert!(0.0 < low && low <= median && median <= high && high < 1e4, "{price}");
    assert!(price["paths"].as_u64().unwrap() >= 10, "{price}");
    // The same machine with the old kernel is another one with the new: what it says of a change is none.
    let again = bench.run(&["run", "syscall", "--budget", "2s", "--name", "again"]);
    assert!([Some(0), Some(4)].contains(&again.status.code()), "{}", err(&again));
    let graded = page_of(&bench.run(&[&gated[..], &["here", "--grade", "again"]].concat()).stdout);
    let predictions = graded["predictions"].as_array().unwrap();
    let signal = predictions.iter().find(|one| one["metric"] == "syscall.signal.handle").unwrap();
    // 66 instructions may be less than the noise of this machine; they cannot be said to be there.
    assert!(signal["measured"].is_f64() && signal["kind"] == "System calls", "{signal}");
    let [least, most] = ["least", "most"].map(|field| signal[field].as_f64().unwrap());
    assert!(0.0 < least && least < most && signal["noise"].as_f64().unwrap() > 0.0, "{signal}");
    refused(&bench.run(&[&gated[..], &["last"]].concat()), 2, &["a recording of a real machine"]);
    // One kernel against limits of its own.
    let limit = |limit: &str| {
        bench.run(&["lab", "boot", "--kernel", "x86_64:hz=1000", "syscall.null", "--max", limit])
    };
    assert_eq!(limit("syscall.null=1000").status.code(), Some(0));
    // Above it, its functions are said; and what grew since a kernel that was within it.
    let above = limit("syscall.null=150");
    assert!(
        above.status.code() == Some(3)
            && err(&above).contains("instructions, above --max 150")
            && out(&above).contains("__do_sys_getppid"),
        "{}{}",
        out(&above),
        err(&above)
    );
    let larger = "x86_64:hz=100:lockdep=on:source=6.12";
    // A limit of the tick is held against the tick, and not against the loop that it interrupts.
    let tick = |limit| bench.run(&["lab", "boot", "--kernel", "x86_64:hz=1000", "tick.spin", "--max", limit]);
    let above = tick("tick.spin=1000");
    assert!(err(&above).contains("a tick takes 2"), "{}", err(&above));
    assert_eq!((above.status.code(), tick("tick.spin=4000").status.code()), (Some(3), Some(0)));
    let grown = bench.run(&["lab", "boot", "--kernel", larger, "syscall.null", "--max", "syscall.null=1000"]);
    let says = ["instructions more on", "(recording ", "__lock_acquire"];
    assert!(
        grown.status.code() == Some(3) && says.iter().all(|part| out(&grown).contains(part)),
        "{}{}",
        out(&grown),
        err(&grown)
    );
    refused(&limit("syscall.nul=150"), 2, &["did you mean syscall.null"]);
}

/// QEMU has commas between the parts of an option. A boot that was killed is not resumed on this machine.
#[test]
#[ignore = "second tier: QEMU and kernels"]
fn a_store_with_a_comma_boots_and_a_guest_is_not_resumed_here() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("a,b");
    let command = |arguments: &[&str]| {
        let mut command = Command::new(program());
        command.args(arguments).env("TICKMARK_STORE", &store);
        command.output().unwrap()
    };
    let kernel = ["--kernel", "powerpc:hz=100", "--agent", "c", "--slice", "20ms"];
    let boot = command(
        &[&["lab", "boot"], &kernel[..], &["syscall.null", "--name", "comma", "--format", "json"]].concat(),
    );
    assert_eq!(boot.status.code(), Some(0), "{}", err(&boot));
    let model = page_of(&boot.stdout);
    assert!(row(&model, "syscall.null")["value"].is_f64(), "{model:#}");
    let id = model["recording"]["id"].as_str().unwrap();
    // As a kill before its first word leaves it.
    fs::write(store.join("recordings").join(id).join("events.jsonl"), "").unwrap();
    let shown = command(&["show", "comma"]);
    assert!(
        !out(&shown).contains("--resume") && out(&shown).contains("measured elsewhere"),
        "{}",
        out(&shown)
    );
    refused(&command(&["run", "--resume", "comma"]), 2, &["a guest", "measure there again"]);
}

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn both_agents_say_the_same_in_one_guest() {
    let bench = Bench::new();
    let same = [
        "tick.spin",
        "op.int32.add",
        "op.int64.mul",
        "op.float.add",
        "op.double.div",
        "syscall.null",
        "syscall.read",
        "syscall.write",
        "syscall.stat",
        "syscall.open_close",
        "syscall.signal.install",
        "syscall.signal.handle",
        "process.fork",
        "file.create.0k",
        "bandwidth.copy.libc",
        "ipc.unix.round_trip",
    ];
    let boot = |agent: &str| {
        bench.json(
            &[&["lab", "boot", "--kernel", "x86_64", "--agent", agent, "--slice", "50ms"], &same[..]]
                .concat(),
        )
    };
    let (rust, c) = (boot("rust"), boot("c"));
    for metric in same {
        let value = |model: &Value| {
            row(model, metric)["value"].as_f64().unwrap_or_else(|| panic!("{}", row(model, metric)))
        };
        let ratio = value(&c) / value(&rust);
        assert!((0.9..1.1).contains(&ratio), "{metric}: {ratio}");
    }
}

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn a_clock_that_leaves_the_vdso_costs_five_times_by_either_way_to_switch_it() {
    let bench = Bench::new();
    let read = |arguments: &[&str]| {
        let own = ["lab", "boot", "clock.monotonic.read", "tick.spin", "--speed", "250", "--slice", "20ms"];
        let model = bench.json(&[&own[..], arguments].concat());
        (row(&model, "clock.monotonic.read")["value"].as_f64().unwrap(), model)
    };
    let (tsc, model) = read(&[]);
    // Instructions are the same at every speed: 60 of 4 ns.
    let count = row(&model, "clock.monotonic.read")["instructions"].as_f64().unwrap();
    assert!((50.0..75.0).contains(&count) && (count * 4.0 - tsc).abs() < 1.0, "{count} {tsc}");
    let (by_command_line, _) = read(&["--append", "clocksource=hpet"]);
    let switched = "/sys/devices/system/clocksource/clocksource0/current_clocksource=hpet";
    let (written, model) = read(&["--write", switched]);
    assert_eq!(model["environment"]["clock.source"]["value"], "hpet");
    assert!((4.0..7.0).contains(&(by_command_line / tsc)), "{by_command_line} {tsc}");
    assert!((by_command_line / written - 1.0).abs() < 0.01, "{by_command_line} {written}");
    // A file that does not take it ends the boot before anything is measured.
    let output = bench.run(&["lab", "boot", "syscall.null", "--write", "/sys/kernel/no_such_file=1"]);
    refused(&output, 1, &["before its agent sent an event", "no_such_file", "transcript"]);
}

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn guests_that_go_wrong() {
    let bench = Bench::new();
    let kernel = image("x86_64");
    let kernel = kernel.to_str().unwrap();
    let boot =
        |more: &[&str]| bench.run(&[&["lab", "boot", "--kernel", kernel, "syscall.null"], more].concat());
    refused(
        &boot(&["--append", "rdinit=/nowhere init=/nowhere root=none"]),
        1,
        &["Kernel panic", "transcript"],
    );
    refused(&boot(&["--slice", "60s", "--limit", "3s"]), 1, &["within its limit of 3 s"]);
    let noise = bench.store().parent().unwrap().join("noise");
    fs::write(&noise, vec![0x5a; 40_000]).unwrap();
    let output = bench.run(&["lab", "boot", "--kernel", noise.to_str().unwrap(), "syscall.null"]);
    refused(&output, 2, &["no kernel image"]);
    // Agents that say nonsense, and that stop in the middle of a word.
    let agent = |name: &str, says: &str| {
        let (source, to) = (noise.with_extension("c"), noise.with_file_name(name));
        let text = format!(
            "#include <unistd.h>\n#include <sys/reboot.h>\n#include <string.h>\n#include <termios.h>\nint main(void) \
             {{ const char *s = {says:?}; write(1, s, strlen(s)); tcdrain(1); reboot(RB_AUTOBOOT); return 0; }}"
        );
        fs::write(&source, text).unwrap();
        let done = Command::new("gcc").args(["-static", "-w", "-o"]).args([&to, &source]).status().unwrap();
        assert!(done.success());
        let mut command = bench.command(&["lab", "boot", "--kernel", kernel, "syscall.null"]);
        command.env("TICKMARK_AGENT", to).output().unwrap()
    };
    let begin = "\n=== tickmark events begin ===\n";
    let garbage =
        agent("garbage", &format!("{begin}no event\n{{\"goodbye\":0}}\n=== tickmark events end ===\n"));
    refused(&garbage, 1, &["line 1 of the guest's events is garbage", "no event"]);
    refused(
        &agent("half", &format!("{begin}{{\"started\":{{\"ru")),
        1,
        &["stopped in the middle of its events"],
    );
    refused(&agent("silent", "nothing to say\n"), 1, &["before its agent sent an event", "nothing to say"]);
    assert_eq!(guests(&bench), 0);
}

/// A matrix of two settings of an image, as a file beside the store.
fn matrix_of(bench: &Bench, image: &str, more: &str) -> PathBuf {
    let setting = |name: &str| format!("[[setting]]\nname = \"{name}\"\nkernel = \"{image}\"\n{more}\n");
    let text = format!(
        "name = \"own\"\nblocks = 2\nslice = \"20ms\"\nprobes = [\"syscall.null\"]\n{}{}[[machine]]\nname = \"pc\"\n",
        setting("a"),
        setting("b")
    );
    let path = bench.store().parent().unwrap().join("own.toml");
    fs::write(&path, text).unwrap();
    path
}

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn two_boots_that_differ_are_no_count_of_instructions() {
    let bench = Bench::new();
    let kernel = image("x86_64");
    let file = matrix_of(&bench, kernel.to_str().unwrap(), "hz = 100");
    // A QEMU whose guest's clock is the host's: what it says differs from boot to boot.
    let folder = bench.store().parent().unwrap().join("path");
    fs::create_dir(&folder).unwrap();
    let script = "#!/bin/bash\na=()\nfor w in \"$@\"; do case $w in base=2005*) a+=(base=utc,clock=host);; -seed) s=1;; *) \
                  if [ \"$s\" ]; then s=; else a+=(\"$w\"); fi;; esac; done\nexec /usr/bin/qemu-system-x86_64 \"${a[@]}\"\n";
    let qemu = folder.join("qemu-system-x86_64");
    fs::write(&qemu, script).unwrap();
    fs::set_permissions(&qemu, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let output = bench.command(&["lab", "run", file.to_str().unwrap()]).env("PATH", path).output().unwrap();
    refused(&output, 1, &["two boots of the same setting and phase differ from byte", "transcripts"]);
    assert_eq!(guests(&bench), 0);
}

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn an_image_needs_no_source_and_its_phases_need_its_hz() {
    let bench = Bench::new();
    let kernel = image("x86_64");
    let kernel = kernel.to_str().unwrap();
    let file = matrix_of(&bench, kernel, "");
    refused(&bench.run(&["lab", "run", file.to_str().unwrap()]), 2, &["HZ of", "is unknown", "hz = N"]);
    let boot = ["lab", "boot", "--kernel", kernel, "syscall.null", "--slice", "10ms"];
    let output = crate::bench::sandboxed(&bench.store(), &["--tmpfs", "/usr/src"], &boot).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let file = matrix_of(&bench, kernel, "hz = 100");
    let output = bench.run(&["lab", "run", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    // The same image twice is the same to the last instruction.
    assert!(out(&output).contains("2 equivalent of 2 figures"), "{}", out(&output));
    // Another matrix cannot go on with its recordings.
    let text = fs::read_to_string(&file).unwrap().replace("name = \"b\"", "name = \"c\"");
    fs::write(&file, text).unwrap();
    refused(&bench.run(&["lab", "run", file.to_str().unwrap(), "--resume", "last"]), 2, &["another matrix"]);
}

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn at_the_hosts_speed_a_guest_measures_too_and_its_figures_are_not_called_exact() {
    let bench = Bench::new();
    let model = bench.json(&["lab", "boot", "--speed", "host", "syscall.null", "--slice", "20ms"]);
    assert!(row(&model, "syscall.null")["value"].as_f64() > Some(0.0));
    assert!(row(&model, "syscall.null")["instructions"].is_null());
    assert!(
        !model["recording"]["guest"]["model"].as_str().unwrap_or_default().contains("instruction counts")
    );
    refused(
        &bench.run(&["lab", "boot", "--speed", "host", "syscall.null", "--phase", "1/5"]),
        2,
        &["--speed host"],
    );
}

#[test]
fn settings_that_would_be_ignored_are_refused() {
    let bench = Bench::new();
    let file = bench.store().parent().unwrap().join("m.toml");
    let wrong = |setting: &str, machine: &str, says: &str| {
        let text = format!(
            "name = \"x\"\nprobes = [\"syscall.null\"]\n[[setting]]\nname = \"a\"\n{setting}\n[[setting]]\nname = \"b\"\n{setting}\n\
             [[machine]]\nname = \"m\"\n{machine}\n"
        );
        fs::write(&file, text).unwrap();
        refused(&bench.run(&["lab", "run", file.to_str().unwrap()]), 2, &[says]);
    };
    wrong("", "target = \"ssh:nobody\"", "has no boot");
    wrong("boot = \"x\"\nkernel = \"hz=100\"", "target = \"ssh:nobody\"", "for guests");
    wrong("boot = \"x\"", "kernel = \"x86_64\"", "for a machine with a target");
    wrong("boot = \"x\"", "target = \"nobody\"", "ssh:HOST");
    wrong("boot = \"x\"", "target = \"ssh:-oProxyCommand=touch x\"", "is no host's name");
    wrong("kernel = \"hz=7\"", "kernel = \"x86_64\"", "setting a: \"x86_64:hz=7\" is no file");
    wrong("", "kernel = \"x86_64\"\nmemory = 1", "8 to 65536");
    let explains = "kernel = \"x86_64\"\ncpus = 2\nexplain = [\"syscall.null\"]";
    wrong("", explains, "instructions of one CPU are counted by function");
    let limit = ["lab", "boot", "--cpus", "2", "syscall.null", "--max", "syscall.null=150"];
    refused(&bench.run(&limit), 2, &["--max counts the instructions of one CPU"]);
    let write = ["lab", "boot", "--kernel", "powerpc", "syscall.null", "--write", "/proc/x=1"];
    refused(&bench.run(&write), 2, &["agent c writes no files"]);
    let turned = bench.store().parent().unwrap().join("turned.toml");
    fs::write(&turned, "knob = \"slack=1ns,50us\"\n").unwrap();
    refused(&bench.run(&["lab", "run", turned.to_str().unwrap()]), 2, &["tickmark experiment"]);
    for option in [&["--width", "1%"][..], &["--small"]] {
        let arguments = [&["experiment", TICK], option].concat();
        refused(&bench.run(&arguments), 2, &["its settings are booted"]);
    }
    refused(&bench.run(&["experiment", TICK, "--name", "x"]), 2, &["--name"]);
    let knob = ["experiment", "kernel=powerpc:hz=100,powerpc:hz=1000", "syscall.null", "--cpu", "0"];
    refused(&bench.run(&knob), 2, &["its settings are booted"]);
}

#[test]
#[ignore = "second tier: bubblewrap and compilers"]
fn what_is_missing_is_named_with_its_package() {
    let bench = Bench::new();
    // A PATH that has everything but one program.
    let without = |missing: &str| {
        let folder = bench.store().parent().unwrap().join(format!("without-{missing}"));
        fs::create_dir_all(&folder).unwrap();
        let path = std::env::var("PATH").unwrap();
        for program in path.split(':').flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten())
        {
            if !program.file_name().to_str().unwrap_or_default().starts_with(missing) {
                let _ = std::os::unix::fs::symlink(program.path(), folder.join(program.file_name()));
            }
        }
        folder
    };
    let run = |missing: &str, arguments: &[&str]| {
        bench.command(arguments).env("PATH", without(missing)).output().unwrap()
    };
    let boot = ["lab", "boot", "--kernel", "powerpc", "syscall.null"];
    refused(
        &run("qemu-system-ppc", &boot),
        1,
        &["qemu-system-ppc is missing; apt-get install qemu-system-ppc"],
    );
    let kernels = ["lab", "kernels", "powerpc"];
    refused(&run("powerpc-linux-gnu-gcc", &kernels), 1, &["apt-get install gcc-powerpc-linux-gnu"]);
    refused(&run("flex", &kernels), 1, &["flex is missing; apt-get install flex"]);
    let hidden = ["--tmpfs", "/usr/src"];
    let output = crate::bench::sandboxed(&bench.store(), &hidden, &kernels).output().unwrap();
    refused(&output, 1, &["the kernel's source", "apt-get install linux-source"]);
    refused(&bench.run(&["lab", "kernels", "arm"]), 2, &["one of x86_64, powerpc, arm64, riscv64"]);
    refused(&bench.run(&["lab", "kernels", "powerpc:hz=123"]), 2, &["hz=100, 250, 300, 1000"]);
}

#[test]
#[ignore = "second tier: bubblewrap and a kernel's source"]
fn a_cache_that_runs_full_keeps_nothing_half() {
    let bench = Bench::new();
    let inside = tempfile::tempdir().unwrap();
    let script = format!(
        "{} lab kernels powerpc; code=$?; find /mnt -name image -o -name '*.work' > {}/left; exit $code",
        program(),
        inside.path().display()
    );
    let output = Command::new("bwrap")
        .args(["--bind", "/", "/", "--dev-bind", "/dev", "/dev"])
        .args(["--size", "60000000", "--tmpfs", "/mnt", "--setenv", "XDG_CACHE_HOME", "/mnt"])
        .args(["sh", "-c", &script])
        .env("TICKMARK_STORE", bench.store())
        .output()
        .unwrap();
    refused(&output, 1, &["no space left in /mnt/tickmark", "XDG_CACHE_HOME"]);
    assert_eq!(fs::read_to_string(inside.path().join("left")).unwrap(), "");
}

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn two_labs_on_one_cache_that_is_empty() {
    let bench = Bench::new();
    let (kernel, cache) = (image("powerpc"), tempfile::tempdir().unwrap());
    let start = || {
        let mut command =
            bench.command(&["lab", "boot", "--kernel", kernel.to_str().unwrap(), "syscall.null"]);
        command
            .env("XDG_CACHE_HOME", cache.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let both = [start(), start()].map(|child| child.wait_with_output().unwrap());
    for output in &both {
        assert_eq!(output.status.code(), Some(0), "{}", err(output));
        assert!(out(output).contains("instructions"), "{}", out(output));
    }
    let built = fs::read_dir(cache.path().join("tickmark/agents")).unwrap().count();
    assert_eq!(built, 1);
}

fn start_matrix(bench: &Bench, file: &str) -> Child {
    let arguments = [
        "lab",
        "run",
        file,
        "--machine",
        "powerpc",
        "--blocks",
        "4",
        "--slice",
        "100ms",
        "syscall.null",
        "tick.spin",
    ];
    bench.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn an_interrupted_matrix_leaves_no_guest_and_goes_on() {
    let bench = Bench::new();
    let file = document_without(&bench, &["caches"]);
    let run = start_matrix(&bench, &file);
    within(1200, "the third boot begins", || {
        let boots = bench.store().join("boots");
        fs::read_dir(boots)
            .is_ok_and(|all| all.flatten().any(|one| one.path().join("2/console.txt").exists()))
    });
    assert!(signal("INT", run.id()));
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    let said = err(&output);
    assert!(said.contains("interrupted") && said.contains(&format!("lab run {file} --resume")), "{said}");
    assert_eq!(guests(&bench), 0);
    // One explanation is lost: its operation is explained again, the other one is not.
    let boots = fs::read_dir(bench.store().join("boots")).unwrap().flatten();
    let counts = boots.map(|boot| boot.path().join("1/again/counts.txt")).find(|counts| counts.exists());
    fs::remove_file(counts.unwrap()).unwrap();
    let model = bench.json(&[
        "lab",
        "run",
        &file,
        "--machine",
        "powerpc",
        "--blocks",
        "4",
        "--slice",
        "100ms",
        "syscall.null",
        "tick.spin",
        "--resume",
        "last",
    ]);
    assert_eq!(line(&model, "syscall.null", "mean")["replicates"], serde_json::json!([4, 4]), "{model}");
    // One a setting, and those of the boots that explain two operations in each, one of them twice.
    let recordings = bench.recordings();
    let names = recordings.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap());
    let (explains, own): (Vec<&str>, Vec<&str>) = names.partition(|name| name.starts_with("lab explain"));
    assert_eq!((own.len(), explains.len()), (2, 5), "{own:?} {explains:?}");
    let explained = model["explained"].as_array().unwrap();
    let settings = explained.iter().map(|of| of["kernels"].as_array().unwrap().len()).collect::<Vec<_>>();
    assert_eq!(settings, [2, 2], "{explained:?}");
}

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn a_killed_matrix_leaves_no_guest() {
    let bench = Bench::new();
    let mut run = start_matrix(&bench, TICK);
    within(600, "a guest runs", || guests(&bench) > 0);
    run.kill().unwrap();
    run.wait().unwrap();
    within(300, "the guest ends with what started it", || guests(&bench) == 0);
}

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn kernels_are_a_knob_of_experiment() {
    let bench = Bench::new();
    let knob = "kernel=powerpc:hz=100,powerpc:hz=1000";
    let output = bench.run(&["experiment", knob, "syscall.null", "--blocks", "2"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let text = out(&output);
    assert!(text.contains("over phases") && text.contains("changed, worse"), "{text}");
    // The same from a file, which boots them.
    let file = bench.store().parent().unwrap().join("kernels.toml");
    let setting = |hz: u32| format!("[[setting]]\nname = \"{hz}\"\nkernel = \"hz={hz}\"\n");
    let machine = "[[machine]]\nname = \"board\"\nkernel = \"powerpc\"\nagent = \"c\"\n";
    fs::write(&file, format!("name = \"own\"\n{}{}{machine}", setting(100), setting(1000))).unwrap();
    let file = file.to_str().unwrap();
    let model = bench.json(&["experiment", file, "syscall.null", "--blocks", "2", "--margin", "2%"]);
    assert_eq!(
        (&model["machines"][0]["margin"], &model["machines"][0]["candidates"][0]["unit"]),
        (&0.02.into(), &"phase".into())
    );
    assert_eq!(line(&model, "syscall.null", "mean")["verdict"], "beyond_margin");
    refused(&bench.run(&["experiment", "kernel=powerpc"]), 2, &["one setting"]);
    // A probe that the file's machine does not explain: no caches are simulated.
    let plain =
        ["lab", "run", TICK, "--machine", "powerpc", "--blocks", "2", "--slice", "20ms", "op.int32.add"];
    let output = bench.run(&plain);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
}

#[test]
fn every_experiment_that_is_here_can_be_read() {
    let folder = Path::new(TICK).parent().unwrap();
    let index = fs::read_to_string(folder.join("../docs/EXPERIMENTS.md")).unwrap();
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        assert!(index.contains(&name), "docs/EXPERIMENTS.md does not name {name}");
        // A machine that it has not: everything else was found right before.
        let output =
            Bench::new().run(&["lab", "run", path.to_str().unwrap(), "--machine", "no such machine"]);
        let boots = fs::read_to_string(&path).unwrap().contains("[[machine]]");
        refused(&output, 2, &[if boots { "no machine of that name" } else { "boots nothing" }]);
        count += 1;
    }
    assert!(count >= 4);
}
