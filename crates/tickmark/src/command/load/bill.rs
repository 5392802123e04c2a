//! Whose CPU time a command was.

use crate::cli::{Bill, Format};
use crate::command::run::{measured_one, saved};
use crate::error::{Code, Error};
use tickmark_analysis::bill;
use tickmark_drive::plan;
use tickmark_probe::sys::limits::allowed_cpus;
use tickmark_probe::sys::tracepoints;
use tickmark_store::{Recording, Store};
use tickmark_wire::{Nanos, Offer};

/// How long what runs already is looked at in each run, where nothing is said.
const EACH: i64 = 2_000_000_000;

pub(in crate::command) fn run(store: &Store, options: &Bill) -> Result<Code, Error> {
    if let Some(name) = &options.of {
        let is_bill = |recording: &Recording| bill::read_bill(recording).is_some_and(|bill| bill.is_ok());
        return show(&store.find_usable(name, &is_bill)?, options).map(|_| Code::Done);
    }
    if let Some(name) = options.command.first() {
        crate::command::program::find(name)?;
    }
    let allowed = allowed_cpus().unwrap_or_default();
    let all = online_cpus();
    if allowed.len() < all {
        crate::notice!(
            "this program may use {} of {all} CPUs: what tasks do on the others is billed as that of other tasks and of the kernel's threads, but has no time to be a part of",
            allowed.len()
        );
    }
    let may_record = match tracepoints::available("bill") {
        Ok(()) => true,
        Err(why) => {
            crate::command::nobody_named(&why);
            false
        }
    };
    let ways = ["yes", "no", RECORDED].into_iter().filter(|watch| *watch != RECORDED || may_record);
    let offers = ways.map(|watch| offer(options, watch)).collect::<Result<Vec<_>, _>>()?;
    let settings = (&options.settings).into();
    // All runs have as long, and one of them is recorded.
    let runs = i64::from(options.runs);
    let made = runs * 2 + i64::from(may_record);
    let duration = options.duration.unwrap_or(Nanos::new(EACH * made));
    let planned = duration.as_f64() / made as f64 * (runs * offers.len() as i64) as f64;
    let planned = Some(Nanos::new(planned as i64));
    let mut plan = plan::make(&offers, options.runs, planned, settings, false, &mut rand::rng());
    plan::keep_first(&mut plan, |run| run.arguments.get("watch").is_some_and(|watch| watch == RECORDED));
    let select = [format!("bill {}", whose(options))];
    let (recording, stopped) = measured_one(store, options.name.as_deref(), plan, &select)?;
    show(&recording, options)?;
    if options.output.format == Format::Text {
        saved(&recording, stopped, "bill --of")?;
    }
    Ok(if recording.complete() && !stopped { Code::Done } else { Code::Partly })
}

/// CPUs that are online, as proc_stat(5) lists them.
fn online_cpus() -> usize {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    text.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count()
}

/// The way of watching that records the kernel's events.
const RECORDED: &str = "recorded";

/// In words.
fn whose(options: &Bill) -> String {
    match (&options.pid, &options.cgroup) {
        (Some(pid), _) => format!("process {pid}"),
        (None, Some(folder)) => format!("cgroup {}", folder.display()),
        (None, None) => options.command.join(" "),
    }
}

fn offer(options: &Bill, watch: &str) -> Result<Offer, Error> {
    let here =
        std::env::current_dir().map_err(|error| Error::Refused(format!("the current folder: {error}")))?;
    let folder = here.to_string_lossy().into_owned();
    let pid = options.pid.map_or_else(String::new, |pid| pid.to_string());
    let cgroup =
        options.cgroup.as_ref().map_or_else(String::new, |folder| folder.to_string_lossy().into_owned());
    let arguments = [
        ("watch", watch.to_owned()),
        ("folder", folder),
        ("pid", pid),
        ("cgroup", cgroup),
        ("count", options.count.clone().unwrap_or_default()),
        ("words", options.command.join("\0")),
    ];
    let arguments = arguments.map(|(name, value)| (name.to_owned(), value)).into();
    tickmark_load::REGISTRY.case("bill", &arguments).map(|case| case.offer()).map_err(Error::Usage)
}

fn show(recording: &Recording, options: &Bill) -> Result<(), Error> {
    let id = &recording.meta.id;
    let bill = bill::read_bill(recording)
        .ok_or_else(|| Error::Usage(format!("recording {id} has no bill of `tickmark bill`")))?
        .map_err(|why| Error::Refused(format!("no bill was obtained: {why}; saved as {id}")))?;
    if options.output.format == Format::Json {
        return crate::command::print_recorded(recording, tickmark_render::json::BillPage::new(&bill));
    }
    crate::command::print_framed(recording, &tickmark_render::bill::text(&bill))
}
