//! How a command line that is not one ends.

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::process::ExitCode;
use tickmark_store::did_you_mean;

/// Prints what clap has to say (one line for an error, all of it for help) and gives the exit code.
pub(crate) fn exit(error: &clap::Error) -> ExitCode {
    if error.kind() == ErrorKind::MissingSubcommand {
        // A variable of the environment counts as an argument, and what is missing is the same.
        anstream::eprint!("{}", find_command(&meant()).render_help().ansi());
        return ExitCode::from(2);
    }
    if error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let text = error.render().to_string();
        // The message with what it lists, as one line; then the name that is most like it.
        let message = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
        let line = message.collect::<Vec<_>>().join(" ");
        let line = line.strip_prefix("error: ").unwrap_or(&line);
        let meant = meant();
        crate::notice!("tickmark: {line}{}; see {meant} --help", suggestion(error, &meant));
        return ExitCode::from(2);
    }
    let _ = error.print();
    ExitCode::from(if error.use_stderr() { 2 } else { 0 })
}

/// The command of such a name.
fn find_command(name: &str) -> clap::Command {
    let mut command = super::grouped(super::Cli::command());
    for word in name.split(' ').skip(1) {
        command = command.find_subcommand(word).cloned().unwrap_or(command);
    }
    command
}

/// Clap's word on an option that another command has.
fn belongs_elsewhere(error: &clap::Error) -> String {
    let Some(ContextValue::StyledStrs(tips)) = error.get(ContextKind::Suggested) else {
        return String::new();
    };
    let tip = tips.iter().map(ToString::to_string).find(|tip| tip.ends_with("exists"));
    tip.map_or_else(String::new, |tip| format!("; {tip}"))
}

/// The valid name that is most like the invalid one.
fn suggestion(error: &clap::Error, meant: &str) -> String {
    let text = |kind: ContextKind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    };
    let command = find_command(meant);
    let own = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let names = command.get_subcommands().map(clap::Command::get_name);
            return did_you_mean(&text(ContextKind::InvalidSubcommand), names);
        }
        ErrorKind::UnknownArgument => {
            let names = command.get_arguments().filter_map(clap::Arg::get_long);
            let options: Vec<String> = names.map(|name| format!("--{name}")).collect();
            let own = did_you_mean(&text(ContextKind::InvalidArg), options.iter().map(String::as_str));
            return if own.is_empty() { belongs_elsewhere(error) } else { own };
        }
        _ => text(ContextKind::InvalidValue),
    };
    let values = match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(values)) => values.as_slice(),
        _ => &[],
    };
    did_you_mean(&own, values.iter().map(String::as_str))
}

/// `tickmark COMMAND`, as far as the command line names one.
fn meant() -> String {
    let mut own = super::Cli::command();
    let mut words = "tickmark".to_owned();
    let mut typed = std::env::args_os().skip(1);
    while let Some(word) = typed.next() {
        let Some(word) = word.to_str() else { break };
        // The store may come first.
        if word == "--store" {
            typed.next();
        }
        if word.starts_with("--store") {
            continue;
        }
        let Some(next) = own.find_subcommand(word).cloned() else { break };
        words = words + " " + word;
        own = next;
    }
    words
}
