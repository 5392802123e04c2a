//! Which command answers a question: `tickmark help questions`, and a table of README.md and docs/COMMANDS.md.

use std::fmt::Write;

/// A question, and the commands that answer it.
type Question = (&'static str, &'static [&'static str]);

/// Questions in groups, each with the commands that answer it.
const QUESTIONS: [(&str, &[Question]); 6] = [
    (
        "This machine",
        &[
            ("What do clocks, system calls and messages cost here?", &["tickmark run"]),
            (
                "Is something wrong with this machine, and does the remedy help?",
                &["tickmark doctor", "tickmark doctor --prove"],
            ),
            ("What interrupts my CPU, and for how long?", &["tickmark tick"]),
            ("What would HZ=100 or HZ=1000 cost?", &["tickmark tick --hz-what-if 100,1000"]),
            ("How late are my timers, and what is certain of the worst?", &["tickmark timers"]),
            (
                "Who had the CPU when a wake-up came too late?",
                &["tickmark timers --cpus all --on-threshold 1ms stop"],
            ),
        ],
    ),
    (
        "A change",
        &[
            ("Which of two commands is faster?", &["tickmark versus ./old ./new"]),
            (
                "Does a setting matter (clock source, sysctl, priority)?",
                &["tickmark experiment clocksource=tsc,hpet clock"],
            ),
            (
                "What did five known documents find, and what comes out here?",
                &["tickmark experiments", "tickmark experiment clock-tick-100-vs-1000 --quick"],
            ),
            (
                "Does it matter to my own benchmark?",
                &["tickmark experiment sysctl:NAME=0,1 --command ./bench.sh"],
            ),
            ("Did anything change between two recordings?", &["tickmark compare before after"]),
            ("Did anything change between two files of numbers?", &["tickmark stat before.txt after.txt"]),
            ("Since when is it slower?", &["tickmark history syscall"]),
            (
                "May this change be merged?",
                &["tickmark check", "tickmark check --new FILES --history FOLDER"],
            ),
        ],
    ),
    (
        "A program or a server",
        &[
            ("Whose CPU time is my command?", &["tickmark bill -- ./program"]),
            ("How often does my program read clocks, and where?", &["tickmark clock-reads -- ./program"]),
            (
                "What does a slow clock cost my server's transactions?",
                &["tickmark dose --url http://127.0.0.1:8080/ -- ./server"],
            ),
            (
                "What does a transaction over HTTP or SQL cost?",
                &["tickmark http", "tickmark sql --start postgres"],
            ),
            ("What do messages cost the processor?", &["tickmark comms"]),
            ("What does HZ cost my program?", &["tickmark hz -- ./program"]),
        ],
    ),
    (
        "A kernel",
        &[
            (
                "What does a kernel's configuration cost, exactly?",
                &["tickmark lab run clock-tick-100-vs-1000"],
            ),
            (
                "What do my kernel's system calls cost, in instructions?",
                &["tickmark lab boot --kernel ./bzImage syscall"],
            ),
            (
                "Did a patch make a path of my kernel longer?",
                &["tickmark lab gate ./bzImage.main ./bzImage.mine"],
            ),
            (
                "What does each symbol of my kernel's configuration cost?",
                &["tickmark lab config-cost config.main config.mine syscall.null"],
            ),
            (
                "Which commit of the kernel is it?",
                &["tickmark lab bisect v6.1..v6.2 syscall.null --tree ~/linux"],
            ),
            (
                "Which function of the kernel is it?",
                &["tickmark lab explain syscall.null --kernel ./bzImage"],
            ),
        ],
    ),
    (
        "Many machines",
        &[(
            "Which of my nodes is bad?",
            &["tickmark fleet run survey --nodes 'n[1-64]'", "tickmark fleet report survey"],
        )],
    ),
    (
        "Files that I have",
        &[
            ("Results of another benchmark", &["tickmark import FILES"]),
            ("Columns of numbers", &["tickmark stat before.txt after.txt"]),
            ("What is in the JSON?", &["tickmark schema"]),
        ],
    ),
];

/// For a terminal.
pub(crate) fn text() -> String {
    let mut out = String::new();
    for (heading, questions) in QUESTIONS {
        let _ = writeln!(out, "{heading}");
        for (question, commands) in questions {
            let _ = writeln!(out, "  {question}\n    {}", commands.join("\n    "));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_same_questions() {
        let row = |(question, commands): &Question| format!("| {question} | `{}` |\n", commands.join("`, `"));
        let rows: String = QUESTIONS.iter().flat_map(|(_, questions)| questions.iter()).map(row).collect();
        let table = format!("| Question | Command |\n|---|---|\n{rows}");
        let pages = [
            ("docs/COMMANDS.md", include_str!("../../../../docs/COMMANDS.md")),
            ("README.md", include_str!("../../../../README.md")),
        ];
        for (name, page) in pages {
            assert!(page.contains(&table), "{name} should have\n{table}");
        }
        assert!(text().lines().all(|line| line.len() <= 80));
    }
}
