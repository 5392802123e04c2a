//! The commands of the audit.

/// A command as it is tried.
pub(super) struct Tried {
    /// As a shell has it.
    pub(super) words: &'static str,
    /// What the answer has, within the first screen; of several one, with | between. Without one it is not carried out.
    pub(super) answer: &'static str,
    /// The same with a name that is wrong, and what the error then says; none where it takes no name.
    pub(super) wrong: Option<(&'static str, &'static str)>,
    /// The same with a file, recording or program that is not there; none where it takes none.
    pub(super) missing: Option<&'static str>,
    /// What needs a permission that nobody has, and says so; none where it needs none.
    pub(super) refused: Option<&'static str>,
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

pub(super) const ALL: &[Tried] = &[
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
    .refused("timers --methods nanosleep --duration 2s"),
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
    tried("live --duration 2s", "wake", None, None).refused("live --duration 1s"),
    tried("fleet health --only steal", "fit|steal", Some(("fleet health --only stel", "did you mean")), None),
    // Hours, a tree of the kernel, or several machines: their errors and help alone.
    tried(
        "lab bisect",
        "",
        Some(("lab bisect HEAD~1..HEAD syscall.nul --tree FOLDER", "did you mean")),
        Some("lab bisect HEAD~1..HEAD syscall.null --tree FOLDER/nosuch"),
    ),
    tried(
        "lab config-cost",
        "",
        Some(("lab config-cost FOLDER/x.txt FOLDER/y.txt syscall.nul", "did you mean")),
        Some("lab config-cost FOLDER/nosuch FOLDER/y.txt syscall.null"),
    ),
    tried("fleet gather", "", None, Some("fleet gather FOLDER/nosuch FOLDER/x.txt")),
    tried("fleet links", "", None, Some("fleet links FOLDER/nosuch")),
];
