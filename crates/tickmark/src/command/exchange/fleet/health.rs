//! Whether this machine is fit, in a line.

use crate::cli::{FleetHealth, Format};
use crate::command::check::limits::in_unit;
use crate::command::doctor::{chosen, measure_these};
use crate::command::pages::FleetHealthPage;
use crate::command::{open, print, print_page, write};
use crate::error::{Code, Error};
use std::io::IsTerminal;
use tickmark_analysis::doctor::{self, Outcome};
use tickmark_analysis::report;
use tickmark_store::Status;

/// The checks of what is broken on a machine, and not a choice of its owner, that take a moment.
const CHECKS: [&str; 4] = ["slow-clock", "clock-through-kernel", "clocks-apart", "throttled"];

pub(super) fn run(options: &FleetHealth) -> Result<Code, Error> {
    let names: Vec<String> = match &options.only[..] {
        [] => CHECKS.map(str::to_owned).to_vec(),
        named => named.to_vec(),
    };
    let checks = chosen(&names)?;
    // Nothing of it is kept: a node's prologue is run a thousand times.
    let folder = tempfile::tempdir().map_err(Error::file("make", std::env::temp_dir()))?;
    let store = open(Some(folder.path().to_owned()))?;
    let more: Vec<&str> = options.max.iter().map(|(metric, _)| metric.as_str()).collect();
    let (recording, stopped) = measure_these(&store, None, &checks, &more, true)?;
    let all = doctor::examine(&recording, &checks);
    // A machine on which nothing can be measured is not fit, and what is wrong with it is not known.
    let judged =
        !options.max.is_empty() || all.iter().any(|one| !matches!(one.outcome, Outcome::NotVisible(_)));
    let ended_well = recording.runs.iter().any(|run| run.status == Status::Ok);
    if stopped || !judged || !ended_well {
        return Err(Error::Refused("health: nothing could be measured".to_owned()));
    }
    let mut found: Vec<String> = all
        .iter()
        .filter(|one| matches!(one.outcome, Outcome::Found(_)))
        .map(tickmark_render::doctor::line)
        .collect();
    let rows = report::rows_of(&recording, &|metric| more.contains(&metric.name.as_str()));
    for (metric, limit) in &options.max {
        let row = rows.iter().flat_map(|(_, rows)| rows).find(|row| row.metric == *metric);
        let Some((row, value)) = row.and_then(|row| Some((row, row.value?))) else {
            return Err(Error::Refused(format!("{metric} could not be measured")));
        };
        let most = in_unit(*limit, row.unit).map_err(|why| Error::Usage(format!("--max {metric}: {why}")))?;
        if value.point > most {
            found.push(tickmark_render::fleet::above(metric, value.point, most, row.unit));
        }
    }
    let unseen: Vec<&str> =
        all.iter().filter(|one| matches!(one.outcome, Outcome::NotVisible(_))).map(|one| one.name).collect();
    let but =
        if unseen.is_empty() { String::new() } else { format!(" (not visible here: {})", unseen.join(", ")) };
    match options.output.format {
        Format::Json => print_page(&FleetHealthPage::new(&found, &unseen))?,
        Format::Text if found.is_empty() => write(&format!("tickmark: fit{but}\n"))?,
        // One line for the node's drain reason, folded for a person.
        Format::Text if std::io::stdout().is_terminal() => {
            print(&format!("tickmark: {}\n", found.join("; ")))?;
        }
        Format::Text => write(&format!("tickmark: {}\n", found.join("; ")))?,
    }
    Ok(if found.is_empty() { Code::Done } else { Code::Differs })
}
