//! Planted culprits, each of which takes a CPU in one way by an amount that it counts itself: whether `tickmark tick` names them by the kernel's events, and by which
//! amount. Here, and in guests with Debian's own kernels.

use super::Tickmark;
use super::tick::watch;
use crate::{Result, shell};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long each is watched: half of it without events.
const LENGTH: &str = "4s";
/// Longer than all of them take in a guest.
const LIMIT: Duration = Duration::from_secs(600);
/// Debian's kernels, by their meta packages or names.
const KERNELS: [&str; 2] =
    ["linux-image-6\\.1\\.[0-9-]*-cloud-amd64$", "linux-image-6\\.12\\..*-cloud-amd64$"];
const NAME: &str = "tmculprit";

/// What is compared.
#[derive(Clone, Copy)]
enum Amount {
    /// Share of the CPU: its own CPU time.
    Share,
    /// How often: its own count.
    Rate,
    /// Nothing that it knows.
    None,
}

/// A kind, what names it, who set it off, and what is compared.
const KINDS: &[(&str, &[&str], bool, Amount)] = &[
    ("hog", &["tmculprit ("], false, Amount::Share),
    ("fifo", &["tmculprit ("], false, Amount::Share),
    ("timer", &["timer hrtimer_wakeup"], true, Amount::Rate),
    ("wheel", &["timer process_timeout"], true, Amount::Rate),
    ("packets", &["softirq NET_RX"], false, Amount::Rate),
    // Before Linux 6.3 functions that other CPUs call have no tracepoint of their own.
    ("call", &["function call remote_function", "interrupt: call function single"], false, Amount::Rate),
    ("work", &["work refresh_vm_stats"], false, Amount::Rate),
    ("stopper", &["migration/"], false, Amount::Rate),
    ("rcu", &["softirq RCU"], false, Amount::None),
];

pub(crate) fn run() -> Result<()> {
    shell::install(&[
        ("gcc", "gcc"),
        ("cpio", "cpio"),
        ("dpkg-deb", "dpkg"),
        ("qemu-system-x86_64", "qemu-system-x86"),
    ])?;
    let tickmark = Tickmark::build()?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let culprit = folder.path().join("culprit");
    let source = shell::root().join("crates/xtask/src/peers/culprit.c");
    shell::output(Command::new("gcc").args(["-O1", "-static", "-o"]).arg(&culprit).arg(source))?;
    let mut right = 0;
    println!("{:12} {:9} {:44} {:>12} {:>12}", "where", "culprit", "named", "amount", "its own");
    for kind in KINDS {
        let other = if tickmark.cpu == "0" { "1" } else { "0" };
        let child =
            Command::new(&culprit).args([kind.0, &tickmark.cpu, other]).stdout(Stdio::piped()).spawn();
        let child = child.map_err(|error| error.to_string())?;
        std::thread::sleep(Duration::from_millis(300));
        let page = watch(&tickmark, &[], LENGTH, &[])?;
        shell::output(Command::new("kill").args(["-TERM", &child.id().to_string()]))?;
        let said = child.wait_with_output().map_err(|error| error.to_string())?.stdout;
        right += u32::from(judge("this kernel", kind, &said, &page));
    }
    for kernel in KERNELS {
        let (name, image) = stock_kernel(kernel, folder.path())?;
        for (kind, said, page) in boot(&tickmark, &image, &culprit, folder.path())? {
            let known = KINDS.iter().find(|known| known.0 == kind).ok_or(format!("what is {kind}?"))?;
            right += u32::from(judge(&name, known, said.as_bytes(), &page));
        }
    }
    println!(
        "{right} of {} named, with amounts within 5 % (of RCU's soft interrupt: named)",
        KINDS.len() * (1 + KERNELS.len())
    );
    Ok(())
}

/// Prints a line; true if it was named, and the amount is within 5 %.
fn judge(
    place: &str,
    (kind, names, is_set, amount): &(&str, &[&str], bool, Amount),
    said: &[u8],
    page: &Value,
) -> bool {
    let truth: Value = serde_json::from_slice(said).unwrap_or_default();
    let own = |key: &str| grown(&truth, key, &page["witness"]["runs"]);
    let takers = page["witness"]["takers"].as_array().into_iter().flatten();
    let is_named = |taker: &&Value| {
        let name = taker["name"].as_str().unwrap_or_default();
        let by = taker["woken_by"].as_array().into_iter().flatten();
        names.iter().any(|prefix| name.starts_with(prefix))
            && (!is_set || by.into_iter().any(|by| by["by"] == NAME))
    };
    let found = takers.into_iter().find(is_named);
    let span = page["witness"]["span"].as_f64().unwrap_or(f64::NAN) / 1e9;
    let figure = |key: &str| found.map_or(f64::NAN, |taker| taker[key].as_f64().unwrap_or(f64::NAN));
    // Of a timer those that others set are not its own.
    let set = || {
        let by = found.and_then(|taker| taker["woken_by"].as_array()).into_iter().flatten();
        by.into_iter().filter(|by| by["by"] == NAME).filter_map(|by| by["count"].as_f64()).sum::<f64>()
    };
    let (ours, theirs) = match amount {
        Amount::Share => (figure("share"), own("cpu") / own("time")),
        Amount::Rate if *is_set => (set() / span, own("count") / own("time") * 1e9),
        Amount::Rate => (figure("count") / span, own("count") / own("time") * 1e9),
        Amount::None => (figure("count") / span, figure("count") / span),
    };
    let is_right = (ours / theirs - 1.0).abs() <= 0.05;
    let name = found.and_then(|taker| taker["name"].as_str()).unwrap_or("not named");
    let verdict = if is_right { "" } else { "  differ" };
    println!("{place:12} {kind:9} {name:44} {ours:12.4} {theirs:12.4}{verdict}");
    is_right
}

/// By how much a column of a culprit's grew while events were recorded.
fn grown(truth: &Value, key: &str, runs: &Value) -> f64 {
    let column = |key: &str| -> Vec<f64> {
        truth[key].as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
    };
    let (times, values) = (column("time"), column(key));
    let at = |time: f64| {
        let next = times.partition_point(|own| *own < time).clamp(1, times.len().max(2) - 1);
        let (Some(t), Some(v)) = (times.get(next - 1..=next), values.get(next - 1..=next)) else {
            return f64::NAN;
        };
        v[0] + (v[1] - v[0]) * (time - t[0]) / (t[1] - t[0])
    };
    let one = |run: &Value| Some(at(run[1].as_f64()?) - at(run[0].as_f64()?));
    runs.as_array().into_iter().flatten().filter_map(one).sum()
}

/// A kernel of Debian's, unpacked: its release and its image.
fn stock_kernel(pattern: &str, folder: &Path) -> Result<(String, PathBuf)> {
    let (known, _) =
        shell::output(Command::new("apt-cache").args(["search", "--names-only", &format!("^{pattern}")]))?;
    let mut names: Vec<&str> = known.lines().filter_map(|line| line.split_whitespace().next()).collect();
    names.sort_by_key(|name| {
        name.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect::<Vec<u32>>()
    });
    let package = *names.last().ok_or(format!("no package is called {pattern}"))?;
    let place = folder.join(package);
    std::fs::create_dir_all(&place).map_err(|error| error.to_string())?;
    shell::output(
        Command::new("apt-get").args(["download", "-q", package, "busybox-static"]).current_dir(&place),
    )?;
    for file in std::fs::read_dir(&place).map_err(|error| error.to_string())?.flatten() {
        if file.path().extension().is_some_and(|end| end == "deb") {
            shell::output(Command::new("dpkg-deb").arg("-x").arg(file.path()).arg(&place))?;
        }
    }
    let release = package.trim_start_matches("linux-image-").to_owned();
    Ok((release.clone(), place.join(format!("boot/vmlinuz-{release}"))))
}

/// Boots a kernel with the program, and gives what came out for each kind: what the culprit said, and the page.
fn boot(
    tickmark: &Tickmark,
    image: &Path,
    culprit: &Path,
    folder: &Path,
) -> Result<Vec<(String, String, Value)>> {
    let place = image.ancestors().nth(2).ok_or("no folder")?;
    let root = place.join("root");
    let program = tickmark.command(&[]).get_program().to_owned();
    let (libraries, _) = shell::output(Command::new("ldd").arg(&program))?;
    let libraries = libraries.split_whitespace().filter(|word| word.starts_with('/'));
    let copy = |from: &Path, to: &str| -> Result<()> {
        let to = root.join(to.trim_start_matches('/'));
        std::fs::create_dir_all(to.parent().ok_or("no folder")?).map_err(|error| error.to_string())?;
        std::fs::copy(from, &to).map(drop).map_err(|error| format!("{}: {error}", from.display()))
    };
    for library in libraries {
        copy(Path::new(library), library)?;
    }
    copy(Path::new(&program), "bin/tickmark")?;
    copy(culprit, "bin/culprit")?;
    copy(&place.join("bin/busybox"), "bin/busybox")?;
    copy(&shell::root().join("crates/xtask/src/peers/culprits.sh"), "init")?;
    for empty in ["proc", "sys", "dev", "tmp"] {
        std::fs::create_dir_all(root.join(empty)).map_err(|error| error.to_string())?;
    }
    let (archive, results) = (place.join("initrd"), folder.join("results"));
    let script = format!("cd {} && find . | cpio --quiet -o -H newc > {}", root.display(), archive.display());
    shell::output(Command::new("sh").args(["-c", &script]))?;
    let kinds: Vec<&str> = KINDS.iter().map(|kind| kind.0).collect();
    let line =
        format!("console=ttyS0 quiet panic=-1 tickmark.length={LENGTH} tickmark.kinds={}", kinds.join(","));
    let mut qemu = Command::new("timeout");
    qemu.arg(LIMIT.as_secs().to_string()).arg("qemu-system-x86_64");
    qemu.args(["-accel", "tcg", "-cpu", "max"]);
    qemu.args(["-smp", "2", "-m", "1G", "-display", "none", "-no-reboot", "-append", &line]);
    qemu.arg("-kernel").arg(image).arg("-initrd").arg(&archive);
    qemu.arg("-serial").arg(format!("file:{}", place.join("console").display()));
    qemu.arg("-serial").arg(format!("file:{}", results.display()));
    shell::output(&mut qemu)?;
    let text = std::fs::read_to_string(&results).map_err(|error| error.to_string())?;
    let read = |part: &str| {
        let mut lines = part.lines();
        let (kind, said) = (lines.next()?.trim().to_owned(), lines.next()?.to_owned());
        let page: Value = serde_json::from_str(&lines.collect::<String>()).ok()?;
        Some((kind, said, page["cpus"][0].clone()))
    };
    let all: Vec<_> = text.split("== ").skip(1).filter_map(read).collect();
    if all.is_empty() {
        let console = std::fs::read_to_string(place.join("console")).unwrap_or_default();
        return Err(format!("no result came out of the guest: {console} {text}"));
    }
    Ok(all)
}
