//! How a command line that is not one ends.

use clap::CommandFactory;
use std::process::ExitCode;

/// Prints what clap has to say (one line for an error, all of it for help) and gives the exit code.
pub(crate) fn exit(error: &clap::Error) -> ExitCode {
    use clap::error::ErrorKind::{DisplayHelpOnMissingArgumentOrSubcommand, MissingSubcommand};
    if error.kind() == MissingSubcommand {
        // A variable of the environment counts as an argument, and what is missing is the same.
        let mut command = super::grouped(super::Cli::command());
        for word in meant().split(' ').skip(1) {
            command = command.find_subcommand(word).cloned().unwrap_or(command);
        }
        anstream::eprint!("{}", command.render_help().ansi());
        return ExitCode::from(2);
    }
    if error.use_stderr() && error.kind() != DisplayHelpOnMissingArgumentOrSubcommand {
        let text = error.render().to_string();
        // The message with what it lists, as one line; then clap's tip.
        let message = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
        let line = message.collect::<Vec<_>>().join(" ");
        let tip =
            text.lines().find_map(|line| line.trim().strip_prefix("tip: ")).map(|tip| format!("; {tip}"));
        let line = line.strip_prefix("error: ").unwrap_or(&line);
        anstream::eprintln!("tickmark: {line}{}; see {} --help", tip.unwrap_or_default(), meant());
        return ExitCode::from(2);
    }
    let _ = error.print();
    ExitCode::from(if error.use_stderr() { 2 } else { 0 })
}

/// `tickmark COMMAND`, as far as the command line names one.
fn meant() -> String {
    let mut own = super::Cli::command();
    let mut words = "tickmark".to_owned();
    for word in std::env::args_os().skip(1) {
        let Some(word) = word.to_str() else { break };
        let Some(next) = own.find_subcommand(word).cloned() else { break };
        words = words + " " + word;
        own = next;
    }
    words
}
