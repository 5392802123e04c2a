//! Real machines over ssh: a network namespace with an sshd stands for one.

use crate::bench::{Bench, err, refused, signal};
use crate::lab::line;
use crate::machine::{Machine, within};
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

/// A second machine, whose boots are what a file says.
struct Board(Machine);

impl Board {
    fn new(number: u8) -> Self {
        let machine = Machine::new(number);
        fs::write(machine.at("boot"), "1\n").unwrap();
        Self(machine)
    }

    /// The matrix of two settings on this board, as a file.
    fn matrix(&self, number: u8, boot: &str) -> PathBuf {
        let at = |name: &str| self.0.at(name);
        let boot = boot.replace("BOOT", &at("boot"));
        let text = format!(
            r#"
            name = "board"
            blocks = 3
            slice = "20ms"
            probes = ["syscall.null", "op.int64.mul"]
            [[setting]]
            name = "one"
            boot = "{boot}"
            [[setting]]
            name = "other"
            boot = "{boot}"
            [[machine]]
            name = "board"
            target = "ssh:root@10.213.{number}.2"
            ssh = {:?}
            identity = "cat {}"
            boot_limit = "5s"
            "#,
            self.0.options(),
            at("boot")
        );
        let path = PathBuf::from(at("board.toml"));
        fs::write(&path, text).unwrap();
        path
    }
}

/// A stub of a reboot: the connection may end, and a while later another boot answers.
const REBOOT: &str = "n=$(cat BOOT); (sleep 0.3; echo $((n + 1)) > BOOT) > /dev/null 2>&1 &";

#[test]
#[ignore = "second tier: root and sshd"]
fn a_real_machine_is_booted_once_a_setting_and_block_and_goes_on_after_an_interruption() {
    let _machine = crate::bench::machine();
    let (bench, board) = (Bench::new(), Board::new(1));
    let file = board.matrix(1, REBOOT);
    let file = file.to_str().unwrap();
    let boots = || fs::read_to_string(board.0.at("boot")).unwrap().trim().parse::<u32>().unwrap_or(0);
    let run =
        bench.command(&["lab", "run", file]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    within(60, "the third boot", || boots() >= 4);
    assert!(signal("INT", run.id()));
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    let before = boots();
    assert!(before < 7);
    let model = bench.json(&["lab", "run", file, "--resume", "last"]);
    // Boots are blocks, judged with chance in mind: nothing was changed.
    assert_eq!(model["machines"][0]["candidates"][0]["unit"], "block");
    let mean = line(&model, "syscall.null", "mean");
    assert_eq!(mean["replicates"], serde_json::json!([3, 3]), "{mean}");
    assert!(boots() > before && boots() <= before + 6, "{before} {}", boots());
    assert!(PathBuf::from(board.0.at("home/.cache/tickmark/agent")).exists());
    assert_eq!(bench.recordings().as_array().unwrap().len(), 2);
}

#[test]
#[ignore = "second tier: root and sshd"]
fn a_real_machine_that_does_not_boot_anew_is_named() {
    let (bench, board) = (Bench::new(), Board::new(2));
    let run = |boot: &str| bench.run(&["lab", "run", board.matrix(2, boot).to_str().unwrap()]);
    refused(&run("true"), 1, &["did not come up in a new boot within 5 s"]);
    refused(&run("echo no such kernel >&2; exit 3"), 1, &["root@10.213.2.2", "no such kernel"]);
    let text = fs::read_to_string(board.matrix(2, "true")).unwrap().replace("10.213.2.2", "10.213.2.99");
    let path = PathBuf::from(board.0.at("nobody.toml"));
    fs::write(&path, text).unwrap();
    refused(&bench.run(&["lab", "run", path.to_str().unwrap()]), 1, &["root@10.213.2.99", "which boot"]);
}

/// A command on a real machine: how long it takes there in each boot, and the number that it prints.
#[test]
#[ignore = "second tier: root and sshd"]
fn a_command_runs_on_a_real_machine_once_a_boot() {
    let _machine = crate::bench::machine();
    let (bench, board) = (Bench::new(), Board::new(3));
    let length = board.0.at("length");
    let text = fs::read_to_string(board.matrix(3, REBOOT)).unwrap();
    // Each setting leaves the command another time to sleep.
    let mut seconds = ["0.02", "0.2"].into_iter();
    let lines = text.lines().map(|line| match line.trim() {
        boot if boot.starts_with("boot = \"n=") => {
            line.replace("boot = \"", &format!("boot = \"echo {} > {length}; ", seconds.next().unwrap()))
        }
        line if line.starts_with("probes = ") => String::new(),
        line if line.starts_with("identity") => format!(
            "{line}\ncommand = [\"sh\", \"-c\", \"sleep $(cat {length}); echo slept: $(cat {length})\"]\n\
             number = \"after:slept:\""
        ),
        _ => line.to_owned(),
    });
    let file = PathBuf::from(board.0.at("command.toml"));
    fs::write(&file, lines.collect::<Vec<_>>().join("\n")).unwrap();
    let model = bench.json(&["lab", "run", file.to_str().unwrap()]);
    let time = line(&model, "command.time", "value");
    assert_eq!(time["replicates"], serde_json::json!([3, 3]), "{time}");
    // 20 and 200 ms, beside starting a shell.
    let [short, long] = [0, 1].map(|side| time["mean"][side].as_f64().unwrap() / 1e6);
    assert!(short >= 20.0 && long >= 200.0 && long - short > 100.0, "{time}");
    let number = line(&model, "command.number", "value");
    assert_eq!([0, 1].map(|side| number["mean"][side].as_f64().unwrap()), [0.02, 0.2], "{number}");
}

/// A machine that is to have an HZ and comes up with another is named: its figures would pass for those of the first.
#[test]
#[ignore = "second tier: root and sshd"]
fn a_real_machine_is_booted_into_the_hz_that_was_asked_for() {
    let (bench, board) = (Bench::new(), Board::new(4));
    let at = |name: &str| board.0.at(name);
    let (boot, key) = (REBOOT.replace("BOOT", &at("boot")), at("user"));
    let identity = format!("cat {}", at("boot"));
    let mut arguments =
        vec!["hz", "--hz", "123,1000", "--blocks", "2", "--host", "root@10.213.4.2", "--boot", &boot];
    arguments.extend(["--identity", &identity, "--boot-limit", "5s", "--ssh=-i", "--ssh", &key]);
    arguments.extend([
        "--ssh=-o",
        "--ssh=StrictHostKeyChecking=no",
        "--ssh=-o",
        "--ssh=UserKnownHostsFile=/dev/null",
        "--ssh=-o",
        "--ssh=LogLevel=ERROR",
    ]);
    refused(
        &bench.run(&[&arguments[..], &["--", "true"]].concat()),
        1,
        &["root@10.213.4.2", "booted for HZ"],
    );
    assert_ne!(fs::read_to_string(board.0.at("boot")).unwrap(), "1\n", "it was booted");
    refused(&bench.run(&["hz", "--host", "board", "--", "true"]), 2, &["--boot"]);
}
