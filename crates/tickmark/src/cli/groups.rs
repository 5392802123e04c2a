//! The commands of the help in groups. The folders of `command/` are the same ones.

use std::fmt::Write;

/// Heading and commands.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Measure this machine", &["run", "list", "verify", "doctor", "tick", "timers", "live"]),
    ("Measure messages, transactions and commands", &["comms", "http", "sql", "bill", "clock-reads", "dose"]),
    ("Change a setting and compare", &["experiment", "hz", "lab"]),
    ("Show and judge recordings", &["show", "compare", "check", "report", "recordings", "stat"]),
    ("Exchange with other programs and machines", &["import", "export", "schema", "fleet"]),
    ("Set up the shell", &["completions", "man"]),
];
/// Columns of the help at most.
const WIDTH: usize = 100;
/// Columns before what a command does.
const INDENT: usize = 15;

/// The command line with the commands of its help in groups.
pub(crate) fn grouped(command: clap::Command) -> clap::Command {
    let width = tickmark_render::width().clamp(2 * INDENT, WIDTH);
    let header = *command.get_styles().get_header();
    let mut text = String::new();
    for (heading, names) in GROUPS {
        let _ = writeln!(text, "{header}{heading}:{header:#}");
        for name in names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let first = format!("  {name:width$}", width = INDENT - 2);
            let rest = " ".repeat(INDENT);
            let options = textwrap::Options::new(width).initial_indent(&first).subsequent_indent(&rest);
            let _ = writeln!(text, "{}", textwrap::fill(&about, options));
        }
        text.push('\n');
    }
    command.term_width(width).help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{text}{header}Options:{header:#}\n{{options}}{{after-help}}"
    ))
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
}
