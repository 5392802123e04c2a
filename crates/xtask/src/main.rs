//! Tasks of tickmark's developers: `cargo xtask test` does everything that CI does.
#![forbid(unsafe_code)]

mod agent;
mod agent_c;
mod audit;
mod book;
mod cross;
mod docs;
mod licences;
mod package;
mod peers;
mod pictures;
mod shell;
mod test;
mod trials;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask test              install what the tests need, run them all
cargo xtask test NAME...      only the steps whose names contain one of these, such as lints or book
cargo xtask agent             build the static tickmark-agent; check its size and what it depends on
cargo xtask agent arm64       build it for arm64 (with Debian's Rust where the installed one has no such target)
cargo xtask select-index      build the static load of databases for guests
cargo xtask weighs            fork and exec from the agent and from the whole program (30 s)
cargo xtask cross             run every probe of the agents for arm64 and riscv64 in an emulator (2 min)
cargo xtask docs [--check]    write docs/PROBES.md, REFERENCE.md and schema/, or only check PROBES.md
cargo xtask claims STORE      docs/experiments and the table of claims, from the documents' experiments in a store
cargo xtask book              docs/ as a book, in target/book (installs mdbook there: 1 min)
cargo xtask audit             each command as a newcomer meets it: first screen, widths, errors, help, JSON (5 min)
cargo xtask pictures          docs/pictures from real output (5 min; installs Chromium and pngquant)
cargo xtask package [--check] a Debian package, an archive and the list of components, in target/package
cargo xtask licences          check the licences of all dependencies against deny.toml
cargo xtask peers             side by side with perf bench, cyclictest and a plain C loop (3 min)
cargo xtask peers catalogue   side by side with sysbench, NetPIPE, iperf3, perf bench and a copy loop (5 min)
cargo xtask peers aa          nothing against nothing, and known slowdowns: how often is which claimed (15 min)
cargo xtask peers versus [aa|planted|drift|overhead]
                              tickmark versus beside hyperfine: false claims, planted changes, drift, a run (50 min)
cargo xtask peers history     single recordings against earlier ones: known changes, and pairs without one (15 min)
cargo xtask peers messages    tickmark comms beside NetPIPE, sockperf, qperf and iperf3 (2 min)
cargo xtask peers http        the client of tickmark http beside wrk, ab and h2load, against nginx (3 min)
cargo xtask peers latency     response times of tickmark http in open loop beside oha, wrk2's method (5 min, and to build oha)
cargo xtask peers stat        time and memory of tickmark stat beside ministat (2 min)
cargo xtask peers tick        what tickmark tick says, against the kernel's counts, known disturbers and lost computation (3 min)
cargo xtask peers timer-dose  what tickmark tick says that a timer costs, against a dose of expiries (2 min)
cargo xtask peers changes     rates of history: false changes and steps found, on synthetic series, beside Otava and ruptures (4 min)
cargo xtask peers culprits    planted culprits that tickmark tick has to name, here and in guests with Debian's kernels 6.1 and 6.12 (10 min)
cargo xtask peers witness     names that tickmark tick gives to gaps by the kernel's events, against perf record (2 min)
cargo xtask peers sweep       how often tickmark tick finds the tick beside competitors, and how right it is (15 min)
cargo xtask peers timers      tickmark-timer beside spin_sleep, tokio, BTreeMap and a hashed wheel (10 min)
cargo xtask peers steady      spread and marks, idle and beside 8 competitors (25 min)
";

/// An error is one line of text.
type Result<T> = std::result::Result<T, String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["test", ref wanted @ ..] => test::run(wanted),
        ["agent"] => agent::build().map(drop),
        ["agent", "arm64"] => cross::build().map(drop),
        ["select-index"] => agent::select_index().map(drop),
        ["weighs"] => agent::weighs_the_same(),
        ["cross"] => cross::test(),
        ["docs"] => docs::write(),
        ["claims", store] => docs::claims(store),
        ["docs", "--check"] => docs::check(),
        ["book"] => book::build(),
        ["audit"] => audit::run(),
        ["pictures"] => pictures::make(),
        ["package"] => package::build(),
        ["package", "--check"] => package::check(),
        ["licences"] => licences::check(),
        ["peers"] => peers::tools::run(),
        ["peers", "stat"] => peers::stat::run(),
        ["peers", "aa"] => peers::aa::run(),
        ["peers", "http"] => peers::http::run(),
        ["peers", "latency"] => peers::latency::run(),
        ["peers", "messages"] => peers::messages::run(),
        ["peers", "history"] => peers::history::run(),
        ["peers", "catalogue"] => peers::catalogue::run(),
        ["peers", "sweep"] => peers::sweep::run(),
        ["peers", "tick"] => peers::tick::run(),
        ["peers", "witness"] => peers::witness::run(),
        ["peers", "changes"] => peers::changes::run(),
        ["peers", "culprits"] => peers::culprits::run(),
        ["peers", "timer-dose"] => peers::timer_dose::run(),
        ["peers", "timers"] => shell::run(
            "cargo",
            &["bench", "--package", "tickmark-timer", "--bench", "queue", "--bench", "sleep"],
        ),
        ["peers", "versus"] => peers::versus::run(""),
        ["peers", "versus", part] => peers::versus::run(part),
        ["peers", "steady"] => peers::steady::run(),
        ["trials", name] => trials::run(name, None),
        ["trials", name, count] => trials::run(name, Some(count)),
        [] | ["help" | "--help" | "-h"] => {
            print!("{HELP}{}", trials::help());
            Ok(())
        }
        _ => Err(format!("no task {}; see cargo xtask help", words.join(" "))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
