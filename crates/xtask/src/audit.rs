//! What a newcomer meets: each command's first screen, its width, its errors, its help, its JSON, as a table.

mod commands;

use crate::peers::Tickmark;
use crate::{Result, shell};
use commands::ALL;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};

/// Lines of `tickmark run`, on a busy machine.
const MOST_LINES: usize = 45;
/// Lines and columns of a usual terminal.
const SCREEN: (usize, usize) = (24, 80);
/// A port that nothing else uses here.
const SERVER: &str = "-- python3 -m http.server 8997 --bind 127.0.0.1";

/// Those whose output is for programs, or that print no figures.
const WITHOUT_JSON: [&str; 3] = ["report", "schema", "questions"];

/// Prints the table; fails where a cell says no.
pub(crate) fn run() -> Result<()> {
    let tickmark = Tickmark::build()?;
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let place = folder.path().display().to_string();
    for (name, text) in [
        ("x.txt", "1.0\n1.1\n1.2\n1.05\n"),
        ("y.txt", "1.5\n1.6\n1.4\n1.55\n"),
        ("h.json", "{\"results\":[{\"command\":\"sleep 1\",\"mean\":1.0,\"times\":[1.0,1.1,0.9]}]}"),
    ] {
        std::fs::write(folder.path().join(name), text).map_err(|e| e.to_string())?;
    }
    let source = folder.path().join("true.c");
    std::fs::write(&source, "int main(void) { for (volatile int i = 0; i < 1000000; i++); }")
        .map_err(|e| e.to_string())?;
    shell::output(Command::new("gcc").arg("-static").arg(&source).arg("-o").arg(folder.path().join("true")))?;
    let schemas = said(&started(&tickmark, &["schema"], Some(80))?);
    println!("{:12} answer  60  80  120  200  wrong name  missing  refused  no store  help  JSON", "");
    let (nobody, copy) = for_nobody(&tickmark.program)?;
    let mut bad = Vec::new();
    for one in ALL {
        let words = |text: &str| -> Vec<String> {
            text.replace("SERVER", SERVER).replace("FOLDER", &place).split(' ').map(str::to_owned).collect()
        };
        let name: Vec<&str> = one.words.split(' ').take_while(|word| !word.starts_with('-')).collect();
        let name = match name[..] {
            [first @ ("lab" | "fleet"), second, ..] => format!("{first} {second}"),
            [first, ..] => first.to_owned(),
            [] => String::new(),
        };
        let own = |text: &str, width: usize| started(&tickmark, &words(text), Some(width));
        let unfolded = |text: &str| started(&tickmark, &words(text), None);
        let is_tried = !one.answer.is_empty();
        // As on a busy machine, where there is most to say.
        let load = if name == "run" { busy()? } else { Vec::new() };
        let first = is_tried.then(|| own(one.words, SCREEN.1)).transpose();
        for mut task in load {
            task.kill().and_then(|()| task.wait()).map_err(|e| e.to_string())?;
        }
        let first = first?;
        let text = first.as_ref().map_or_else(String::new, said);
        let screen: Vec<&str> = text.lines().take(SCREEN.0).collect();
        let screen = screen.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
        let answers = one.answer.split('|').any(|answer| screen.contains(answer));
        // Shown again, or measured again where that is quick.
        let again = match name.as_str() {
            "tick" | "timers" | "comms" | "http" | "sql" | "bill" | "clock-reads" | "dose" | "doctor" => {
                Some(format!("{name} --of last"))
            }
            "run" => Some("show a".to_owned()),
            // Minutes, or a folder that may be made once: not tried a second time.
            "hz" | "lab boot" | "lab run" | "fleet run" => None,
            _ if !is_tried => None,
            _ => Some(one.words.to_owned()),
        };
        let lines_fit = |text: &str, width: usize| text.lines().all(|line| line.chars().count() <= width);
        let fits = |width: usize| -> Result<Option<bool>> {
            match &again {
                // For programs; the second in one line.
                _ if ["export", "fleet health"].contains(&name.as_str()) => Ok(None),
                _ if width == SCREEN.1 => Ok(first.as_ref().map(|first| lines_fit(&both(first), width))),
                Some(again) => Ok(Some(lines_fit(&both(&own(again, width)?), width))),
                None => Ok(None),
            }
        };
        let widths = [fits(60)?, fits(80)?, fits(120)?, fits(200)?];
        let one_line = |output: &Output, says: &str| {
            let error = String::from_utf8_lossy(&output.stderr);
            !output.status.success() && error.trim_end().lines().count() == 1 && error.contains(says)
        };
        let wrong =
            one.wrong.map(|(text, says)| Ok::<_, String>(one_line(&unfolded(text)?, says))).transpose()?;
        let missing =
            one.missing.map(|text| Ok::<_, String>(one_line(&unfolded(text)?, "nosuch"))).transpose()?;
        let says_root = |text: &str| {
            let output = as_nobody(&copy, &words(text), nobody.path())?;
            let errors = String::from_utf8_lossy(&output.stderr);
            let lines =
                errors.lines().filter(|line| !line.contains(": note: ") && !line.starts_with("this takes"));
            Ok::<_, String>(both(&output).contains("root") && lines.count() <= 1)
        };
        let refused = one.refused.map(says_root).transpose()?;
        // A store that cannot be made.
        let records = matches!(
            name.as_str(),
            "run"
                | "doctor"
                | "tick"
                | "timers"
                | "comms"
                | "http"
                | "sql"
                | "bill"
                | "clock-reads"
                | "dose"
                | "experiment"
                | "versus"
                | "import"
        );
        let store = records
            .then(|| {
                let mut command = tickmark.command(&[]);
                let output = command.args(words(one.words)).env("TICKMARK_STORE", "/proc/nosuch").output();
                output.map(|output| one_line(&output, "--store DIR")).map_err(|e| e.to_string())
            })
            .transpose()?;
        let help = said(&own(&format!("{name} --help"), 80)?);
        let has_examples = help.lines().any(|line| line.starts_with("  tickmark ")) || name == "questions";
        let copyable = has_examples && lines_fit(&help, 80);
        let json = match &again {
            Some(again) if !WITHOUT_JSON.contains(&name.as_str()) => {
                let text = if name == "export" { again.clone() } else { format!("{again} --format json") };
                // Of a value a line the first.
                let output = own(&text, 80)?.stdout;
                let page =
                    serde_json::Deserializer::from_slice(&output).into_iter::<serde_json::Value>().next();
                let known = page
                    .and_then(std::result::Result::ok)
                    .and_then(|page| page["schema"]["name"].as_str().map(str::to_owned));
                let is_listed =
                    |known: String| schemas.lines().any(|line| line.split(' ').next() == Some(&known));
                Some(known.is_some_and(is_listed))
            }
            _ => None,
        };
        let cell = |holds: Option<bool>| match holds {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "-",
        };
        let [at_60, at_80, at_120, at_200] = widths;
        let cells = [
            is_tried.then_some(answers),
            at_60,
            at_80,
            at_120,
            at_200,
            wrong,
            missing,
            refused,
            store,
            Some(copyable),
            json,
        ];
        let [answer, a, b, c, d, wrong, missing, refused, store, help, json] = cells.map(cell);
        println!(
            "{name:12} {answer:6}  {a:2}  {b:2}  {c:3}  {d:3}  {wrong:10}  {missing:7}  {refused:7}  {store:8}  {help:4}  {json}"
        );
        if cells.contains(&Some(false)) {
            bad.push(name.clone());
        }
        if name == "run" {
            let lines = text.lines().count();
            println!("{:12} {lines} lines of at most {MOST_LINES}, beside a task for each CPU", "");
            if lines > MOST_LINES {
                bad.push(format!("{name} has {lines} lines"));
            }
        }
    }
    if bad.is_empty() { Ok(()) } else { Err(format!("not all is yes: {}", bad.join(", "))) }
}

/// What it prints in a terminal of that width, or into a pipe.
fn started<W: AsRef<str>>(tickmark: &Tickmark, words: &[W], width: Option<usize>) -> Result<Output> {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    let mut command: Command = tickmark.command(&words);
    match width {
        Some(width) => command.env("COLUMNS", width.to_string()),
        None => command.env_remove("COLUMNS"),
    };
    command.current_dir(shell::root());
    command.output().map_err(|e| e.to_string())
}

/// Two tasks that compute, for five minutes of CPU time at most.
fn busy() -> Result<Vec<Child>> {
    let task = |_| Command::new("sh").args(["-c", "ulimit -t 300; while :; do :; done"]).spawn();
    (0..2).map(task).collect::<std::result::Result<_, _>>().map_err(|e| e.to_string())
}

/// As a user without rights, with a folder of its own for the store.
fn as_nobody(program: &Path, words: &[String], folder: &Path) -> Result<Output> {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program).args(words);
    command.env("HOME", folder).env("TICKMARK_STORE", folder).current_dir(folder);
    command.output().map_err(|e| e.to_string())
}

/// A copy of the program that everybody may start, and the folder of one who may do nothing else.
fn for_nobody(program: &Path) -> Result<(tempfile::TempDir, PathBuf)> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let copy = folder.path().join("tickmark");
    std::fs::copy(program, &copy).map_err(|e| e.to_string())?;
    std::os::unix::fs::chown(folder.path(), Some(65534), Some(65534)).map_err(|e| e.to_string())?;
    Ok((folder, copy))
}

/// All that it says, on both streams.
fn both(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned()).concat()
}

/// What it says; what it wrote into a file is told on the error stream.
fn said(output: &Output) -> String {
    let text = if output.stdout.is_empty() { &output.stderr } else { &output.stdout };
    String::from_utf8_lossy(text).into_owned()
}
