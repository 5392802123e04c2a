//! Commands of the documents and of the help.

use super::*;
use clap::CommandFactory;

#[test]
fn the_definition_is_sound() {
    Cli::command().debug_assert();
}

/// What a text has as `tickmark ...`, in the lines of its blocks and between backticks; without what is explained behind it.
fn commands(text: &str) -> Vec<String> {
    let lines = text.replace("\\\n", " ");
    let mut all = Vec::new();
    let mut in_block = false;
    for line in lines.lines() {
        in_block ^= line.starts_with("```");
        let line = line.trim_start().trim_start_matches("$ ");
        if in_block {
            all.extend(
                line.strip_prefix("tickmark ")
                    .map(|rest| rest.split("    ").next().unwrap_or(rest).to_owned()),
            );
            continue;
        }
        let quoted = line.split('`').skip(1).step_by(2);
        all.extend(quoted.filter_map(|code| code.strip_prefix("tickmark ").map(str::to_owned)));
    }
    all
}

/// Commands of the documents and of the help's examples are ones that this program takes.
#[test]
fn documented_commands_are_commands() {
    let root = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let pattern = root.join("docs/**/*.md");
    let pages = glob::glob(pattern.to_str().unwrap()).unwrap().map(Result::unwrap);
    // The reference is the help, whose examples are taken as they are below.
    let pages = pages.filter(|page| !page.ends_with("REFERENCE.md"));
    let pages = pages.chain(["README.md", "CONTRIBUTING.md"].map(|name| root.join(name)));
    let mut found: Vec<(String, String)> = Vec::new();
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        found.extend(commands(&text).into_iter().map(|command| (page.display().to_string(), command)));
    }
    let mut all = vec![Cli::command()];
    while let Some(command) = all.pop() {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let examples = help.lines().filter_map(|line| line.strip_prefix("  tickmark "));
        let examples = examples.map(|line| line.split("  ").next().unwrap_or(line).to_owned());
        found.extend(examples.map(|example| (format!("help of {}", command.get_name()), example)));
        all.extend(command.get_subcommands().cloned());
    }
    let mut wrong = Vec::new();
    for (place, text) in &found {
        // What a shell puts into it is a number here, and what it does with the output is no part of the command.
        let text = &text.replace("$(pgrep -o postgres)", "1").replace("$(pgrep -o nginx)", "1");
        let own = text.split([';', '|', '>']).next().unwrap_or(text);
        let own = if text.contains('\'') || text.contains('"') { text.as_str() } else { own };
        let words = shlex::split(own).unwrap_or_default();
        let words = words.iter().take_while(|word| !matches!(word.as_str(), "|" | ">" | ";" | "&&" | "#"));
        let words: Vec<&str> = words.map(String::as_str).collect();
        let is_form = |word: &&str| {
            word.contains("...") || word.starts_with('<') || word.contains('|') && !word.contains(' ')
        };
        // The agent is reached before the command line is read.
        if words.is_empty() || words[0] == "agent" || words.iter().any(is_form) {
            continue;
        }
        if let Err(error) = Cli::try_parse_from(std::iter::once("tickmark").chain(words)) {
            use clap::error::ErrorKind::{
                DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion,
                MissingRequiredArgument,
            };
            // A command may be named without what it needs.
            if !matches!(
                error.kind(),
                DisplayHelp
                    | DisplayVersion
                    | MissingRequiredArgument
                    | DisplayHelpOnMissingArgumentOrSubcommand
            ) {
                wrong.push(format!(
                    "{place}: tickmark {text}: {}",
                    error.to_string().lines().next().unwrap_or_default()
                ));
            }
        }
    }
    assert!(found.len() > 300, "{}", found.len());
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), found.len(), wrong.join("\n"));
}

/// Help of a command and of those below it, as a chapter.
fn reference(command: &clap::Command, name: &str, page: &mut String) {
    let mut own = command.clone();
    let help = own.render_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    *page += &format!("\n## {name}\n\n```text\n{}\n```\n", lines.join("\n").trim());
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        reference(below, &format!("{name} {}", below.get_name()), page);
    }
}

/// docs/REFERENCE.md is what the help says; `cargo xtask docs` writes it.
#[test]
fn the_reference_is_the_help() {
    let mut page = "# Every command and option\n\n\
        Made from the command line's definition by `cargo xtask docs`; each chapter is what `--help` prints.\n"
        .to_owned();
    reference(&groups::grouped_at(Cli::command(), 80), "tickmark", &mut page);
    let place = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/REFERENCE.md");
    if std::env::var_os("TICKMARK_WRITE_REFERENCE").is_some() {
        std::fs::write(place, &page).unwrap();
    }
    assert!(std::fs::read_to_string(place).unwrap_or_default() == page, "stale: cargo xtask docs writes it");
}
