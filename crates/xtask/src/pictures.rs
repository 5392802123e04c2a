//! Pictures of the documents, made from real output: the first screen of a run, and the page at four widths, light and dark.

use crate::peers::Tickmark;
use crate::{Result, shell};
use std::path::Path;
use std::process::Command;

const FOLDER: &str = "docs/pictures";
const WIDTHS: [u32; 4] = [390, 768, 1280, 1920];

/// Makes all of them anew.
pub(crate) fn make() -> Result<()> {
    shell::install(&[
        ("/usr/bin/chromium", "chromium"),
        ("pngquant", "pngquant"),
        ("taskset", "util-linux"),
    ])?;
    let tickmark = Tickmark::build()?;
    let folder = shell::root().join(FOLDER);
    std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    // What a newcomer sees.
    let mut run = tickmark.command(&["run", "--name", "first"]);
    run.env("CLICOLOR_FORCE", "1").env("COLUMNS", "80");
    let (text, _) = shell::output(&mut run)?;
    let screen: Vec<&str> = text.lines().take(24).collect();
    let screen = format!("$ tickmark run\n{}\n", screen.join("\n"));
    let svg = anstyle_svg::Term::new().render_svg(&screen);
    std::fs::write(folder.join("run.svg"), svg).map_err(|e| e.to_string())?;
    // A recording beside other tasks.
    let burn = "ulimit -t 60; while :; do :; done";
    let mut burners = Vec::new();
    for _ in 0..2 {
        let mut burner = Command::new("taskset");
        burner.args(["-c", &tickmark.cpu, "sh", "-c", burn]);
        burners.push(burner.spawn().map_err(|e| e.to_string())?);
    }
    let suites = ["clock", "syscall", "communication", "timer"];
    let arguments =
        [&["run", "--cpu", &tickmark.cpu, "--budget", "20s", "--name", "contended"], &suites[..]].concat();
    let contended = tickmark.command(&arguments).output();
    for mut burner in burners {
        let _ = burner.kill();
        let _ = burner.wait();
    }
    contended.map_err(|e| e.to_string())?;
    shot(&tickmark, &["contended"], "recording", &folder)?;
    // Two kernels, exact: most figures differ.
    let arguments = [
        "lab",
        "run",
        "clock-tick-100-vs-1000",
        "--machine",
        "x86",
        "clock",
        "syscall",
        "process",
        "communication",
    ];
    shell::output(&mut tickmark.command(&arguments))?;
    let (listed, _) = shell::output(&mut tickmark.command(&["recordings", "--format", "json"]))?;
    let listed: serde_json::Value = serde_json::from_str(&listed).map_err(|e| e.to_string())?;
    let names = listed["recordings"].as_array().into_iter().flatten().filter_map(|one| one["name"].as_str());
    let mut names: Vec<&str> = names.filter(|name| name.contains("HZ") || name.contains("hz")).collect();
    names.dedup();
    let [first, second, ..] = names[..] else { return Err(format!("no two kernels in {names:?}")) };
    shot(&tickmark, &[first, second], "comparison", &folder)?;
    call_trees(&tickmark, &folder)
}

/// Call trees of the lab: a pipe's round trip, a tick of the document's processor, and what HZ and a version add to a switch.
fn call_trees(tickmark: &Tickmark, folder: &Path) -> Result<()> {
    let newer = ["--kernel", "x86_64:hz=1000", "--against", "x86_64:hz=1000:source=6.12"];
    let faster = ["--kernel", "powerpc:hz=100", "--against", "powerpc:hz=1000"];
    let pictures: [(&str, &str, &[&str]); 4] = [
        ("explain-pipe", "ipc.pipe.round_trip", &[]),
        ("tick-anatomy", "tick.spin", &["--kernel", "powerpc:hz=100"]),
        ("clock-tick-switch", "switch.2p.64k", &faster),
        ("kernel-6.1-vs-6.12", "switch.2p.0k", &newer),
    ];
    for (name, probe, more) in pictures {
        let file = folder.join(format!("{name}.svg")).display().to_string();
        let explain = ["lab", "explain", probe, "--stacks", &file];
        shell::output(&mut tickmark.command(&[&explain[..], more].concat()))?;
    }
    Ok(())
}

/// The page of recordings at each width, light and dark, with 256 colours.
fn shot(tickmark: &Tickmark, recordings: &[&str], name: &str, folder: &Path) -> Result<()> {
    let page = tempfile::tempdir().map_err(|e| e.to_string())?;
    let file = page.path().join("page.html");
    let file = file.display().to_string();
    match recordings {
        [one] => drop(shell::output(&mut tickmark.command(&["report", one, "-o", &file]))?),
        several => {
            let (html, _) = shell::output(
                &mut tickmark.command(&[&["compare"], several, &["--format", "html"]].concat()),
            )?;
            std::fs::write(&file, html).map_err(|e| e.to_string())?;
        }
    }
    for width in WIDTHS {
        for scheme in ["light", "dark"] {
            let picture = folder.join(format!("{name}-{width}-{scheme}.png"));
            let mut chromium = Command::new("chromium");
            chromium.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]);
            chromium.arg(format!("--window-size={width},900"));
            chromium.arg(format!("--screenshot={}", picture.display()));
            if scheme == "dark" {
                chromium.arg("--blink-settings=preferredColorScheme=0");
            }
            shell::output(chromium.arg(format!("file://{file}")))?;
            let place = picture.display().to_string();
            shell::output(Command::new("pngquant").args(["--force", "--ext", ".png", "32", &place]))?;
        }
    }
    Ok(())
}
