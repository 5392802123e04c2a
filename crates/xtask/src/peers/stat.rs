//! `tickmark stat` beside ministat: time and memory for many values, in one interleaved run.

use super::Tickmark;
use crate::{Result, shell};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use tickmark_stats::median;

/// Values a side.
const SIZES: [usize; 2] = [1_000_000, 10_000_000];
const ROUNDS: usize = 5;

/// Prints times and memory; an error where ours takes more than a tenth of the time, or 350 MB.
pub(crate) fn run() -> Result<()> {
    shell::install(&[("ministat", "ministat"), ("time", "time")])?;
    let tickmark = Tickmark::build()?;
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let mut over = Vec::new();
    for size in SIZES {
        let files = [write(folder.path(), "a", size, 100.0)?, write(folder.path(), "b", size, 100.001)?];
        let own = |arguments: &[&str]| {
            tickmark.command(arguments).get_args().map(Into::into).collect::<Vec<std::ffi::OsString>>()
        };
        let program = tickmark.command(&[]).get_program().to_owned();
        let ways: [(&str, std::ffi::OsString, Vec<std::ffi::OsString>); 4] = [
            ("ministat -A", "ministat".into(), vec!["-A".into()]),
            ("stat --compat -A", program.clone(), own(&["stat", "--compat", "-A"])),
            ("stat -A", program.clone(), own(&["stat", "-A"])),
            ("stat", program, own(&["stat"])),
        ];
        let mut times: [Vec<f64>; 4] = Default::default();
        let mut memory = [0u64; 4];
        for _ in 0..ROUNDS {
            for (at, (_, program, arguments)) in ways.iter().enumerate() {
                let (seconds, kilobytes) = timed(
                    Command::new("time").args(["-f", "%e %M"]).arg(program).args(arguments).args(&files),
                )?;
                times[at].push(seconds);
                memory[at] = memory[at].max(kilobytes);
            }
        }
        let middle = times.map(|times| median(times).unwrap_or(f64::NAN));
        println!("{size} values a side, {ROUNDS} interleaved rounds, medians");
        for (at, (name, ..)) in ways.iter().enumerate() {
            let part = middle[at] / middle[0];
            println!("  {name:18} {:6.2} s  {:4} MB  {part:.3} of ministat", middle[at], memory[at] / 1024);
            if at > 0 && size == SIZES[1] && (part > 0.1 || memory[at] > 350 << 10) {
                over.push(*name);
            }
        }
    }
    if over.is_empty() {
        Ok(())
    } else {
        Err(format!("more than a tenth of the time or 350 MB: {}", over.join(", ")))
    }
}

/// A file of so many values around a mean.
fn write(folder: &Path, name: &str, size: usize, mean: f64) -> Result<std::path::PathBuf> {
    let path = folder.join(format!("{name}{size}"));
    let mut random = StdRng::seed_from_u64(size as u64);
    let file = std::fs::File::create(&path).map_err(|e| e.to_string())?;
    let mut file = std::io::BufWriter::new(file);
    for _ in 0..size {
        // A sum of four even numbers is near enough to a normal one.
        let value = mean + (0..4).map(|_| random.random::<f64>() - 0.5).sum::<f64>();
        writeln!(file, "{value:.6}").map_err(|e| e.to_string())?;
    }
    file.flush().map_err(|e| e.to_string())?;
    Ok(path)
}

/// Seconds and KB of a command under time(1).
fn timed(command: &mut Command) -> Result<(f64, u64)> {
    let (_, said) = shell::output(command.stdout(Stdio::null()))?;
    let last = said.lines().last().unwrap_or_default();
    let parsed =
        last.split_once(' ').and_then(|(time, memory)| Some((time.parse().ok()?, memory.parse().ok()?)));
    parsed.ok_or_else(|| format!("time(1) said {said}"))
}
