//! Help: commands and options in groups, texts as wide as the terminal. The folders of `command/` are the groups of the commands.

use std::fmt::Write;

/// Heading and commands.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Measure this machine", &["run", "list", "verify", "doctor", "tick", "timers", "live"]),
    ("Measure messages, transactions and commands", &["comms", "http", "sql", "bill", "clock-reads", "dose"]),
    ("Change a setting and compare", &["versus", "experiment", "experiments", "hz", "lab"]),
    ("Show and judge recordings", &["show", "compare", "check", "history", "report", "recordings", "stat"]),
    ("Exchange with other programs and machines", &["import", "export", "schema", "fleet"]),
    ("Find help, set up the shell", &["questions", "completions", "man"]),
];
/// Options by what they are about, where a command has more than `FEW`; its own stand before them.
const OPTIONS: [(&str, &[&str]); 4] = [
    (
        "How long",
        &[
            "once", "runs", "budget", "duration", "quick", "blocks", "more", "width", "slice", "no_pilot",
            "repeats", "trials", "time", "rounds", "limit", "min_runs", "max_runs", "warmup",
        ],
    ),
    (
        "Servers and hosts",
        &[
            "url",
            "pid",
            "cgroup",
            "start",
            "socket",
            "password_file",
            "create",
            "peer",
            "ssh",
            "token_file",
            "serve",
            "listen",
            "workers",
            "bytes",
            "reads",
            "by",
            "host",
            "boot",
            "launcher",
            "nodes",
            "network",
        ],
    ),
    (
        "CPU and scheduling",
        &["cpu", "cpus", "priority", "priority_optional", "slack", "small", "place", "class", "idle"],
    ),
    (
        "Recording and output",
        &[
            "of",
            "name",
            "resume",
            "all",
            "format",
            "output",
            "scenario_output",
            "shown",
            "plots",
            "cyclictest",
            "live",
        ],
    ),
];
/// Options that need no groups.
const FEW: usize = 8;
/// Columns of the help at most.
const WIDTH: usize = 100;
/// Columns before what a command does.
const INDENT: usize = 15;
/// An example that is longer has nothing beside it.
const BESIDE: usize = 44;

/// The command line with its help in groups.
pub(crate) fn grouped(command: clap::Command) -> clap::Command {
    grouped_at(command, tickmark_render::width().clamp(2 * INDENT, WIDTH))
}

/// The same for so many columns.
pub(super) fn grouped_at(command: clap::Command, width: usize) -> clap::Command {
    let header = *command.get_styles().get_header();
    let mut text = String::new();
    for (heading, names) in GROUPS {
        let _ = writeln!(text, "{header}{heading}:{header:#}");
        for name in names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let first = format!("  {name:width$}", width = INDENT - 2);
            let rest = " ".repeat(INDENT);
            let options = tickmark_render::folding(width).initial_indent(&first).subsequent_indent(&rest);
            let _ = writeln!(text, "{}", textwrap::fill(&about, options));
        }
        text.push('\n');
    }
    let mut command = command.term_width(width).help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{text}{header}Options:{header:#}\n{{options}}{{after-help}}"
    ));
    command.build();
    let command = command.mut_subcommands(|one| arranged(one, width));
    let after = fitted_after_help(&command, width);
    command.after_help(after)
}

/// A command below the first, and those below it.
fn arranged(command: clap::Command, width: usize) -> clap::Command {
    let many = command.get_opts().count() > FEW;
    let after = fitted_after_help(&command, width);
    let command = fitted_usage(command, width).after_help(after).mut_args(|option| {
        if option.get_id() == "store" {
            return option.hide(true);
        }
        let own = OPTIONS.iter().find(|(_, names)| names.contains(&option.get_id().as_str()));
        match own.filter(|_| many && !option.is_positional() && option.get_help_heading().is_none()) {
            Some((heading, _)) => option.help_heading(*heading),
            None => option,
        }
    });
    command.mut_subcommands(|one| arranged(one, width))
}

/// With a usage line that is folded between its words where it has no room.
fn fitted_usage(mut command: clap::Command, width: usize) -> clap::Command {
    let usage = command.render_usage().to_string();
    let Some(line) = usage.strip_prefix(USAGE).filter(|line| line.len() + USAGE.len() > width) else {
        return command;
    };
    let indent = " ".repeat(USAGE.len());
    let options = tickmark_render::folding(width).initial_indent(&indent).subsequent_indent(&indent);
    let folded = textwrap::fill(line, options);
    command.override_usage(folded.trim_start().to_owned())
}

/// Ahead of the words of a command.
const USAGE: &str = "Usage: ";

fn fitted_after_help(command: &clap::Command, width: usize) -> String {
    command.get_after_help().map_or_else(String::new, |text| fitted(&text.to_string(), width))
}

/// Paragraphs filled, and an example a line: with what it does behind it where there is room, and above it elsewhere.
fn fitted(text: &str, width: usize) -> String {
    let mut out = String::new();
    let mut paragraph = String::new();
    let fits = |(command, about): &(&str, &str)| {
        !about.is_empty() && command.len() <= BESIDE && command.len() + about.chars().count() + 6 <= width
    };
    let longest = text.lines().filter_map(example).filter(fits).map(|(command, _)| command.len()).max();
    let beside = longest.unwrap_or(0) + 4;
    for line in text.lines().chain([""]) {
        if !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':') {
            paragraph += if paragraph.is_empty() { "" } else { " " };
            paragraph += line;
            continue;
        }
        if !paragraph.is_empty() {
            let _ = writeln!(
                out,
                "{}",
                textwrap::fill(&std::mem::take(&mut paragraph), tickmark_render::folding(width))
            );
        }
        match example(line) {
            Some((command, "")) => {
                let _ = writeln!(out, "{}", tickmark_render::copyable(&format!("  {command}"), width));
            }
            Some((command, about))
                if command.len() + 4 <= beside && beside + about.chars().count() + 2 <= width =>
            {
                let _ = writeln!(out, "  {command:behind$}# {about}", behind = beside - 2);
            }
            Some((command, about)) => {
                let options =
                    tickmark_render::folding(width).initial_indent("  # ").subsequent_indent("  # ");
                let _ = writeln!(
                    out,
                    "{}\n{}",
                    textwrap::fill(about, options),
                    tickmark_render::copyable(&format!("  {command}"), width)
                );
            }
            // Another program's command.
            None if line.chars().count() > width => {
                let _ = writeln!(out, "{}", tickmark_render::copyable(line, width));
            }
            None => {
                let _ = writeln!(out, "{line}");
            }
        }
    }
    out.trim_end().to_owned()
}

/// A command that can be copied, and what it does.
fn example(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_prefix("  ").filter(|line| line.starts_with("tickmark "))?;
    let (command, about) = line.split_once("  ").unwrap_or((line, ""));
    Some((command, about.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use std::collections::BTreeSet;

    #[test]
    fn every_command_is_in_one_group() {
        let command = crate::cli::Cli::command();
        let known: BTreeSet<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        let all: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        assert_eq!(all.iter().copied().collect::<BTreeSet<_>>(), known);
        assert_eq!(all.len(), known.len(), "one stands twice");
        let help = grouped(command).render_help().to_string();
        assert!(help.contains("Measure this machine:\n  run          Measure"), "{help}");
        assert!(help.contains("Options:") && help.contains("Start with:"), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= WIDTH), "{help}");
    }

    #[test]
    fn no_line_of_a_help_is_wider_than_a_narrow_terminal() {
        fn check(command: &mut clap::Command) {
            let help = command.render_long_help().to_string();
            for line in help.lines() {
                assert!(
                    line.chars().count() <= 60 || line.starts_with("  "),
                    "{}: {line}",
                    command.get_name()
                );
            }
            command.get_subcommands_mut().filter(|one| one.get_name() != "help").for_each(check);
        }
        let mut command = grouped_at(crate::cli::Cli::command(), 60);
        check(&mut command);
        let lab = command.find_subcommand_mut("lab").and_then(|lab| lab.find_subcommand_mut("gate"));
        let help = lab.unwrap().render_help().to_string();
        assert!(
            help.contains("Usage: tickmark lab gate [OPTIONS] <KERNEL|IMAGE>\n       <KERNEL|IMAGE>"),
            "{help}"
        );
    }

    #[test]
    fn texts_are_filled_and_examples_can_be_copied() {
        let text = "A paragraph whose breaks\nare not kept.\n\nExamples:\n  tickmark run     everything\n  \
            tickmark compare last~1 last --primary 'syscall.*'   only these claim\n  tickmark a b c d e f g h i j k l";
        assert_eq!(
            fitted(text, 40),
            "A paragraph whose breaks are not kept.\n\nExamples:\n  tickmark run  # everything\n  # only these claim\n  \
             tickmark compare last~1 last \\\n    --primary 'syscall.*'\n  tickmark a b c d e f g h i j k l"
        );
    }
}
