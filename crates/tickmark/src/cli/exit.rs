//! How a command line that is not one ends.

use clap::CommandFactory;
use std::process::ExitCode;

/// Prints what clap has to say (one line for an error, all of it for help) and gives the exit code.
pub(crate) fn exit(error: &clap::Error) -> ExitCode {
    if error.use_stderr() && error.kind() != clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    {
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
    for word in std::env::args().skip(1) {
        let Some(next) = own.find_subcommand(&word).cloned() else { break };
        words = words + " " + &word;
        own = next;
    }
    words
}
