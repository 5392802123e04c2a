//! Whose CPU time a command was.

use crate::cli::{Bill, Format};
use crate::command::run::{measured_one, saved};
use crate::command::timers::{header, with_header};
use crate::error::{Code, Error};
use tickmark_analysis::bill;
use tickmark_drive::plan;
use tickmark_store::{Recording, Store};
use tickmark_wire::{Nanos, Offer};

/// How long what runs already is looked at in each run, where nothing is said.
const EACH: i64 = 2_000_000_000;

pub(in crate::command) fn run(store: &Store, asked: &Bill) -> Result<Code, Error> {
    if let Some(name) = &asked.of {
        let is_bill = |recording: &Recording| bill::read_bill(recording).is_some_and(|bill| bill.is_ok());
        return show(&store.find_usable(name, &is_bill)?, asked).map(|_| Code::Done);
    }
    if let Some(name) = asked.command.first() {
        crate::command::program::find(name)?;
    }
    let offers = ["yes", "no"].map(|watch| offer(asked, watch)).into_iter().collect::<Result<Vec<_>, _>>()?;
    let settings = (&asked.settings).into();
    // Both kinds of runs have as long.
    let each = i64::from(asked.runs) * offers.len() as i64;
    let duration = asked.duration.unwrap_or(Nanos::new(EACH * each));
    let plan = plan::make(&offers, asked.runs, Some(duration), settings, false, &mut rand::rng());
    let select = [format!("bill {}", whose(asked))];
    let (recording, stopped) = measured_one(store, asked.name.as_deref(), plan, &select)?;
    show(&recording, asked)?;
    if asked.output.format == Format::Text {
        saved(&recording, stopped, "bill --of")?;
    }
    Ok(if recording.complete() && !stopped { Code::Done } else { Code::Partly })
}

/// In words.
fn whose(asked: &Bill) -> String {
    match (&asked.pid, &asked.cgroup) {
        (Some(pid), _) => format!("process {pid}"),
        (None, Some(folder)) => format!("cgroup {}", folder.display()),
        (None, None) => asked.command.join(" "),
    }
}

fn offer(asked: &Bill, watch: &str) -> Result<Offer, Error> {
    let here =
        std::env::current_dir().map_err(|error| Error::Refused(format!("the current folder: {error}")))?;
    let folder = here.to_string_lossy().into_owned();
    let pid = asked.pid.map_or_else(String::new, |pid| pid.to_string());
    let cgroup =
        asked.cgroup.as_ref().map_or_else(String::new, |folder| folder.to_string_lossy().into_owned());
    let told = [
        ("watch", watch.to_owned()),
        ("folder", folder),
        ("pid", pid),
        ("cgroup", cgroup),
        ("count", asked.count.clone().unwrap_or_default()),
        ("words", asked.command.join("\0")),
    ];
    let told = told.map(|(name, value)| (name.to_owned(), value)).into();
    tickmark_load::REGISTRY.case("bill", &told).map(|case| case.offer()).map_err(Error::Usage)
}

fn show(recording: &Recording, asked: &Bill) -> Result<(), Error> {
    let id = &recording.meta.id;
    let bill = bill::read_bill(recording)
        .ok_or_else(|| Error::Usage(format!("recording {id} has no bill of `tickmark bill`")))?
        .map_err(|why| Error::Refused(format!("no bill was obtained: {why}; saved as {id}")))?;
    if asked.output.format == Format::Json {
        return with_header(recording, tickmark_render::bill::json(&bill));
    }
    header(recording)?;
    crate::command::print(&tickmark_render::bill::text(&bill))
}
