//! Commands of this program that are suggested, as they have to be typed.

use tickmark_wire::text::quoted;

pub(crate) use tickmark_render::{command, named_store};

/// The command line that was typed, with so many blocks more instead of those that it asked for.
pub(crate) fn with_more(words: impl Iterator<Item = String>, blocks: usize) -> String {
    format!("{} --more {blocks}", typed(words, &["--blocks", "--more"], &["--no-pilot"]))
}

/// The same with so many runs in all, however long they take.
pub(crate) fn with_runs(words: impl Iterator<Item = String>, runs: usize) -> String {
    let others = ["--runs", "-r", "--min-runs", "-m", "--max-runs", "-M", "--budget"];
    format!("{} --runs {runs}", typed(words, &others, &[]))
}

/// The words of the command line of this process, readable.
pub(crate) fn own_words() -> impl Iterator<Item = String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned())
}

/// A command line without some options that have a value, and without some that have none.
fn typed(words: impl Iterator<Item = String>, valued: &[&str], flags: &[&str]) -> String {
    let mut typed = vec!["tickmark".to_owned()];
    let mut words = words.skip(1);
    while let Some(word) = words.next() {
        let is_short = |name: &&&str| !name.starts_with("--") && word.starts_with(**name);
        match word.as_str() {
            word if valued.contains(&word) => drop(words.next()),
            word if flags.contains(&word) => {}
            word if word.split_once('=').is_some_and(|(name, _)| valued.contains(&name)) => {}
            _ if valued.iter().any(|name| is_short(&name)) => {}
            word => typed.push(quoted(word).into_owned()),
        }
    }
    typed.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_experiment_goes_on_as_it_was_typed() {
        let typed = [
            "tm",
            "experiment",
            "slack=50us,1ns",
            "timer",
            "--blocks",
            "4",
            "--no-pilot",
            "--command",
            "a b",
        ];
        let more = with_more(typed.iter().map(|word| (*word).to_owned()), 7);
        assert_eq!(more, "tickmark experiment slack=50us,1ns timer --command 'a b' --more 7");
        // As the doctor makes its proofs; what is suggested is a command.
        let typed =
            ["tickmark", "experiment", "slack=50000ns,1ns", "--blocks", "10", "--small", "--no-pilot"];
        let typed = typed.into_iter().chain(["timer.clock_nanosleep.late", "--cpu", "0"]).map(str::to_owned);
        let more = with_more(typed, 2) + " --store 'a b'";
        assert_eq!(
            more,
            "tickmark experiment slack=50000ns,1ns --small timer.clock_nanosleep.late --cpu 0 --more 2 --store 'a b'"
        );
        <crate::cli::Cli as clap::Parser>::try_parse_from(shlex::split(&more).unwrap()).unwrap();
        let typed = ["tm", "versus", "-r8", "--budget=9s", "-m", "3", "sleep 1", "-w", "2", "sleep 2"];
        let runs = with_runs(typed.iter().map(|word| (*word).to_owned()), 42);
        assert_eq!(runs, "tickmark versus 'sleep 1' -w 2 'sleep 2' --runs 42");
    }
}
