//! Proves that every probe runs here, before anything is timed for keeps.

use crate::cli::{Format, Verify};
use crate::command::pages::VerifyPage;
use crate::error::{Code, Error};
use crate::progress::Progress;
use crate::{progress, selection};
use std::fmt::Write;
use tickmark_drive::{Target, ThisMachine, plan};
use tickmark_wire::{Event, Nanos, Reason, Settings};

pub(in crate::command) fn run(verify: &Verify) -> Result<Code, Error> {
    let selected = selection::select(&verify.select)?;
    if let Some(deny) = &verify.deny {
        let all = ThisMachine::catalogue(&[])?.offers;
        let named = all.iter().chain(&selected).flat_map(|offer| offer.needs.clone());
        if !named.into_iter().any(|call| call == deny.call) {
            let call = &deny.call;
            return Err(Error::Usage(format!(
                "no probe needs {call}; `tickmark list --syscalls` lists what they need"
            )));
        }
    }
    let settings: Settings = (&verify.settings).into();
    // The least that plans give to a run.
    let settings =
        Settings { deny: verify.deny.clone(), only_needed: verify.only_needed, small: true, ..settings };
    let plan = plan::make(&selected, 1, Some(Nanos::new(1)), settings, true, &mut rand::rng());
    let name = |id: tickmark_wire::RunId| {
        plan.runs
            .iter()
            .find(|run| run.id == id)
            .map_or_else(String::new, |run| run.metrics().next().unwrap_or(&run.probe).to_string())
    };
    let mut outcomes: Vec<(String, &str, Option<Reason>)> = Vec::new();
    let mut machine = ThisMachine { control: progress::control(), joins: None, wake_ups: None };
    let mut bar = Progress::new(&plan);
    let done = machine.run(&plan, &mut |heard| {
        let Some(event) = heard.event().cloned() else { return Ok(()) };
        bar.follow(&event);
        match event {
            Event::Refused(refusal) => return Err(refusal.into()),
            Event::Finished(outcome) => outcomes.push((name(outcome.run), "ok", None)),
            Event::Skipped(id, reason) => outcomes.push((name(id), "unsupported", Some(reason))),
            Event::Failed(id, reason) => outcomes.push((name(id), "failed", Some(reason))),
            Event::TimedOut(id, reason) => outcomes.push((name(id), "timeout", Some(reason))),
            _ => {}
        }
        Ok(())
    });
    bar.finish();
    done?;
    outcomes.sort_by(|a, b| a.0.cmp(&b.0));
    report(&outcomes, verify.output.format)?;
    let any = |wanted: &[&str]| outcomes.iter().any(|(_, status, _)| wanted.contains(status));
    Ok(match (any(&["failed", "timeout"]) || outcomes.len() < plan.runs.len(), any(&["unsupported"])) {
        (true, _) => Code::Failed,
        (false, true) => Code::Partly,
        (false, false) => Code::Done,
    })
}

fn report(outcomes: &[(String, &'static str, Option<Reason>)], format: Format) -> Result<(), Error> {
    if format == Format::Json {
        return crate::command::print_page(&VerifyPage::new(outcomes));
    }
    let mut text = String::new();
    for (probe, status, reason) in outcomes {
        let why = reason.as_ref().map_or(String::new(), |reason| format!("  {}", reason.message));
        let _ = writeln!(text, "{probe:34} {status}{why}");
    }
    let count = |wanted| outcomes.iter().filter(|(_, status, _)| *status == wanted).count();
    let _ = writeln!(
        text,
        "{} ok, {} unsupported, {} failed, {} timed out",
        count("ok"),
        count("unsupported"),
        count("failed"),
        count("timeout")
    );
    crate::command::print(&text)
}
