//! `--on-threshold`: what is done at the first gap, or the first wake-up, that is too long.

use crate::error::Error;
use std::process::Command;
use tickmark_store::Recording;
use tickmark_wire::shared::TRACING;
use tickmark_wire::text::duration;
use tickmark_wire::{Nanos, Settings};

/// The condition that ends a measurement, and the action then.
pub(in crate::command) struct OnThreshold {
    pub(in crate::command) above: Nanos,
    tracing: bool,
    shell: Option<String>,
}

impl OnThreshold {
    /// Parses the option's value.
    pub(in crate::command) fn parse(words: &[String]) -> Result<Option<Self>, Error> {
        let [length, action] = words else { return Ok(None) };
        let above =
            duration(length).map_err(|why| Error::Usage(format!("--on-threshold {length}: {why}")))?;
        let on = Self {
            above,
            tracing: action == "trace",
            shell: action.strip_prefix("shell:").map(str::to_owned),
        };
        // Refused now, and not in the moment that was waited for.
        if on.tracing
            && let Err(error) = std::fs::File::options().write(true).open(TRACING)
        {
            return Err(Error::Refused(format!(
                "--on-threshold trace: {TRACING}: {error}; is tracefs mounted, and writable for you?"
            )));
        }
        if action == "stop" || on.tracing || on.shell.as_ref().is_some_and(|command| !command.is_empty()) {
            Ok(Some(on))
        } else {
            Err(Error::Usage(format!(
                "--on-threshold: {action} is no action; give stop, trace or shell:COMMAND"
            )))
        }
    }

    /// Tells the agent.
    pub(in crate::command) fn settings(on: Option<&Self>) -> Settings {
        Settings {
            stop_above: on.map(|on| on.above),
            stop_tracing: on.is_some_and(|on| on.tracing),
            ..Settings::default()
        }
    }

    /// Carries out what was asked for, which the command knows from its environment.
    pub(in crate::command) fn act(
        &self,
        recording: &Recording,
        variables: &[(&str, String)],
    ) -> Result<(), Error> {
        let Some(command) = &self.shell else { return Ok(()) };
        let status = Command::new("sh")
            .args(["-c", command])
            .envs(variables.iter().map(|(name, value)| (*name, value)))
            .env("TICKMARK_RECORDING", recording.meta.id.to_string())
            .status();
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Error::Refused(format!("--on-threshold: the command ended with {status}"))),
            Err(error) => Err(Error::Refused(format!("--on-threshold: sh: {error}"))),
        }
    }
}
