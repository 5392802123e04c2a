//! What a newcomer meets: each command's first screen, its width, its errors, its help, its JSON, as a table.

use crate::peers::Tickmark;
use crate::{Result, shell};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Lines and columns of a usual terminal.
const SCREEN: (usize, usize) = (24, 80);
/// A port that nothing else uses here.
const SERVER: &str = "-- python3 -m http.server 8997 --bind 127.0.0.1";

/// A command as it is tried.
struct Tried {
    /// As a shell has it.
    words: &'static str,
    /// What the answer has, within the first screen; of several one, with | between.
    answer: &'static str,
    /// The same with a name that is wrong, and what the error then says; none where it takes no name.
    wrong: Option<(&'static str, &'static str)>,
    /// The same with a file, recording or program that is not there; none where it takes none.
    missing: Option<&'static str>,
    /// What needs a permission that nobody has, and says so; none where it needs none.
    refused: Option<&'static str>,
}

const fn tried(
    words: &'static str,
    answer: &'static str,
    wrong: Option<(&'static str, &'static str)>,
    missing: Option<&'static str>,
) -> Tried {
    Tried { words, answer, wrong, missing, refused: None }
}

impl Tried {
    const fn refused(mut self, words: &'static str) -> Self {
        self.refused = Some(words);
        self
    }
}

const ALL: &[Tried] = &[
    tried(
        "run --budget 10s --name a",
        "trust",
        Some(("run syscall.nul", "did you mean")),
        Some("run --resume nosuch"),
    )
    .refused("run syscall.null --once --priority fifo:50"),
    tried("list clock", "clock.", Some(("list clok", "did you mean")), None),
    tried("verify syscall.null", "1 ok", Some(("verify syscall.nul", "did you mean")), None),
    tried(
        "doctor",
        "Nothing found|Found (",
        Some(("doctor --only slowclock", "did you mean")),
        Some("doctor --of nosuch"),
    )
    .refused("doctor --only busy-cpu"),
    tried(
        "tick --duration 1s",
        "lost",
        Some(("tick --on-threshold 1ms stp", "give stop")),
        Some("tick --of nosuch"),
    )
    .refused("tick --duration 1s"),
    tried(
        "timers --methods nanosleep --duration 1s",
        "at most",
        Some(("timers --methods nanoslep", "did you mean")),
        Some("timers --of nosuch"),
    )
    .refused("timers --methods nanosleep --duration 1s"),
    tried(
        "comms comms1 --runs 1 --duration 1s --sizes 64,4096",
        "take",
        Some(("comms coms1", "did you mean")),
        Some("comms --of nosuch"),
    )
    .refused("comms comms1 --runs 1 --duration 1s --sizes 64 --priority fifo:50"),
    tried(
        "http --quick --duration 300ms",
        "each transaction costs",
        Some(("http --connection keepalive", "did you mean")),
        Some("http --of nosuch"),
    )
    .refused("http --quick --duration 300ms"),
    tried(
        "sql --quick --duration 300ms",
        "each transaction costs",
        Some(("sql --load selectindex", "did you mean")),
        Some("sql --of nosuch"),
    )
    .refused("sql --quick --duration 300ms --priority fifo:50"),
    tried("bill --runs 1 -- sleep 0.2", "billed to it", None, Some("bill -- ./nosuch"))
        .refused("bill --runs 1 -- sleep 0.2"),
    tried("clock-reads -- date", "reads clocks", None, Some("clock-reads -- ./nosuch"))
        .refused("clock-reads --pid 1 --duration 1s"),
    tried(
        "dose --quick --slice 500ms --url http://127.0.0.1:8997/ SERVER",
        "for each transaction",
        Some(("dose --start postgre", "did you mean")),
        Some("dose --of nosuch"),
    ),
    tried(
        "experiment slack=50us,1ns timer.clock_nanosleep.late --blocks 4 --no-pilot",
        "got better",
        Some(("experiment slak=1ns,2ns", "did you mean")),
        Some("experiment nosuch.toml"),
    )
    .refused("experiment policy=other,fifo:50 syscall.null --blocks 4 --no-pilot"),
    tried(
        "versus --budget 2s true true",
        "B is|A and B",
        Some(("versus --primary command.tim true true", "did you mean")),
        Some("versus ./nosuch true"),
    )
    .refused("versus --budget 1s --priority fifo:50 true true"),
    tried(
        "hz --hz 100,1000 --blocks 2 -- FOLDER/true",
        "HZ",
        Some(("hz --hz 100,x -- true", "invalid")),
        Some("hz -- ./nosuch"),
    ),
    tried("experiments", "asks", Some(("experiments hz-and-htp", "did you mean")), None),
    tried("lab doctor", "ok", Some(("lab docter", "did you mean")), None),
    tried(
        "lab kernels x86_64:hz=100",
        "x86_64",
        Some(("lab kernels x86_64:hz=123", "there are hz=100")),
        None,
    ),
    tried(
        "lab boot --kernel x86_64:hz=1000 syscall.null",
        "null",
        Some(("lab boot syscall.nul", "did you mean")),
        Some("lab boot --kernel ./nosuch syscall.null"),
    ),
    tried(
        "lab gate x86_64:hz=100 x86_64:hz=1000 syscall.null",
        "paths grew",
        Some(("lab gate x86_64:hz=100 x86_64:hz=123", "there are hz=100")),
        Some("lab gate x86_64:hz=100 ./nosuch syscall.null"),
    ),
    tried(
        "lab explain syscall.null",
        "do_syscall_64",
        Some(("lab explain syscall.nul", "did you mean")),
        Some("lab explain syscall.null --kernel ./nosuch"),
    ),
    tried(
        "lab run clock-tick-100-vs-1000 --machine x86 syscall.null",
        "got worse",
        Some(("lab run tick-100-vs-100", "did you mean")),
        Some("lab run nosuch.toml"),
    ),
    tried("show a", "trust", Some(("show a syscall.nul", "did you mean")), Some("show nosuch")),
    tried(
        "compare slack:50us slack:1ns",
        "got better",
        Some(("compare a slack:50u", "did you mean")),
        Some("compare a nosuch"),
    ),
    tried(
        "check a --max syscall.null=10us",
        "limit",
        Some(("check a --max syscall.nul=1us", "did you mean")),
        Some("check nosuch"),
    ),
    tried(
        "report a -o FOLDER/a.html",
        "a.html",
        Some(("report a --frmat x", "unexpected argument")),
        Some("report nosuch -o FOLDER/b.html"),
    ),
    tried(
        "recordings",
        "created",
        Some(("recordings delet a", "did you mean")),
        Some("recordings delete nosuch"),
    ),
    tried(
        "history syscall.null",
        "recording",
        Some(("history syscal", "did you mean")),
        Some("history --files FOLDER/nosuch.csv"),
    ),
    tried(
        "stat FOLDER/x.txt FOLDER/y.txt",
        "x.txt",
        Some(("stat FOLDER/x.txt -C nosuch", "nosuch")),
        Some("stat nosuch.txt"),
    ),
    tried(
        "import FOLDER/h.json",
        "hyperfine",
        Some(("import FOLDER/x.txt --decmal ,", "did you mean")),
        Some("import nosuch.json"),
    ),
    tried(
        "export a --format json",
        "schema",
        Some(("export a --format cvs", "possible values")),
        Some("export nosuch"),
    ),
    tried(
        "fleet run FOLDER/survey --nodes a --launcher {command} clock.monotonic.read --budget 1s",
        "1 machine",
        Some(("fleet ru", "did you mean")),
        Some("fleet run --resume FOLDER/nosuch"),
    ),
    tried("fleet report FOLDER/survey", "survey", None, Some("fleet report FOLDER/nosuch")),
    tried("schema", "comparison", Some(("schema tikc", "did you mean")), None),
    tried("questions", "tickmark run", None, None),
];

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
        let first = own(one.words, SCREEN.1)?;
        let text = said(&first);
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
            _ => Some(one.words.to_owned()),
        };
        let lines_fit = |text: &str, width: usize| text.lines().all(|line| line.chars().count() <= width);
        let fits = |width: usize| -> Result<Option<bool>> {
            match &again {
                // For machines.
                _ if name == "export" => Ok(None),
                _ if width == SCREEN.1 => Ok(Some(lines_fit(&both(&first), width))),
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
                let page: std::result::Result<serde_json::Value, _> =
                    serde_json::from_slice(&own(&text, 80)?.stdout);
                let known = page.ok().and_then(|page| page["schema"]["name"].as_str().map(str::to_owned));
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
            Some(answers),
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
            println!("{:12} {} lines", "", text.lines().count());
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
