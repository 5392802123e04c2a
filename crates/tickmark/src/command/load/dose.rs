//! Cost of a slower clock for a server.

use crate::cli::{Dose, Format};
use crate::command::http::of_url;
use crate::command::run::{measured_one, saved};
use crate::error::{Code, Error};
use tickmark_analysis::dose::{self, Dosed};
use tickmark_drive::knob::with_each_clock_source;
use tickmark_drive::plan;
use tickmark_stats::dose::detectable;
use tickmark_store::{Recording, Store};
use tickmark_wire::{Arguments, Offer, names};

/// Blocks, and those of a quick look.
const USUAL: u32 = 25;
const QUICK: u32 = 8;
/// Doses if nobody says: ns and the system call; operations.
const NANOS: &str = "0,60,300,1000,3000,syscall";
const OPERATIONS: &str = "0,100,1000,10000";
/// By the clock source each read is a system call already.
const IN_KERNEL: &str = "0,60,300,1000,3000";
/// Slices of the pilot, which have no dose.
const PILOT: u32 = 16;
/// The shortest slice and the longest, in ns.
const SLICES: [i64; 2] = [20_000_000, 600_000_000_000];
/// Of the table of a database of our own.
const ROWS: u32 = 90_000;
/// With which probability what can be told apart is.
const POWER: f64 = 0.8;

pub(in crate::command) fn run(store: &Store, options: &Dose) -> Result<Code, Error> {
    if let Some(name) = &options.of {
        let is_dose =
            |recording: &Recording| dose::summarize_dose(recording).is_some_and(|dosed| dosed.is_ok());
        return show(&store.find_usable(name, &is_dose)?, options).map(|_| Code::Done);
    }
    if let Some(name) = options.command.first() {
        crate::command::program::find(name)?;
    }
    let usual = match options.op.is_some() {
        true => OPERATIONS,
        false if options.in_kernel => IN_KERNEL,
        false => NANOS,
    };
    let told_doses = options.doses.as_deref().unwrap_or(usual);
    let doses = doses(told_doses, options.op.as_deref())?;
    if !(SLICES[0]..=SLICES[1]).contains(&options.slice.get()) {
        return Err(Error::Usage("--slice: give 20ms to 10min".to_owned()));
    }
    let mut arguments = server_arguments(options)?;
    if options.clock_sources {
        arguments.insert("sources".to_owned(), sources(store)?);
    }
    let blocks = options.blocks.unwrap_or(if options.quick { QUICK } else { USUAL });
    let seconds = options.slice.as_f64() / 1e9 * doses.len() as f64 * f64::from(blocks);
    let first = if options.no_pilot { "" } else { "a pilot, then " };
    store.prepare()?;
    crate::notice!("this takes about {seconds:.0} s: {first}{blocks} blocks of {} doses", doses.len());
    if !options.no_pilot {
        let (pilot, stopped) = measured(store, options, offer(&arguments, "0", PILOT)?, Some("pilot"))?;
        let summary = figures(&pilot)?;
        if stopped {
            return Ok(Code::Partly);
        }
        let whose = if options.in_kernel { None } else { Some(summary.reads) };
        let pilot = pilot.meta.id.short();
        crate::notice!("{}", reach(&summary, &doses, options.slice.as_f64(), blocks, pilot, whose));
    }
    let (recording, stopped) =
        measured(store, options, offer(&arguments, told_doses, blocks)?, options.name.as_deref())?;
    show(&recording, options)?;
    if options.output.format == Format::Text {
        saved(&recording, stopped, "dose --of")?;
    }
    Ok(if recording.complete() && !stopped { Code::Done } else { Code::Partly })
}

fn measured(
    store: &Store,
    options: &Dose,
    offer: Offer,
    name: Option<&str>,
) -> Result<(Recording, bool), Error> {
    let plan = plan::make(&[offer], 1, None, (&options.settings).into(), false, &mut rand::rng());
    measured_one(store, name, plan, &["dose".to_owned()])
}

/// Arguments of the probe about the server.
fn server_arguments(options: &Dose) -> Result<Arguments, Error> {
    let own = options.command.is_empty() && options.start.is_none();
    let counts = [&options.url, &options.count, &options.number];
    if !options.command.is_empty() && counts.iter().all(|how| how.is_none()) {
        return Err(Error::Usage(
            "say how transactions of the command are counted: --url, --count or --number".to_owned(),
        ));
    }
    let folder =
        std::env::current_dir().map_err(|error| Error::Refused(format!("the current folder: {error}")))?;
    let program =
        std::env::current_exe().map_err(|error| Error::Refused(format!("this program: {error}")))?;
    let words = match (own, &options.start) {
        (false, Some(start)) => vec![start.clone()],
        (false, None) => options.command.clone(),
        (true, _) => {
            let workers = options.connections.to_string();
            let reads = options.reads.to_string();
            let serve = [
                "http",
                "--serve",
                "--workers",
                &workers,
                "--reads",
                &reads,
                "--connection",
                &options.connection,
            ];
            std::iter::once(program.to_string_lossy().into_owned()).chain(serve.map(str::to_owned)).collect()
        }
    };
    let text = |given: &Option<String>| given.clone().unwrap_or_default();
    // Our client asks it.
    let ours = options.count.is_none() && options.number.is_none();
    let mut all: Arguments = [
        ("words", words.join("\0")),
        ("folder", folder.to_string_lossy().into_owned()),
        ("target", if own { "printed".to_owned() } else { String::new() }),
        ("connection", options.connection.clone()),
        ("connections", options.connections.to_string()),
        ("busy", text(&options.busy)),
        ("start", options.start.clone().unwrap_or_else(|| "none".to_owned())),
        ("load", options.load.clone()),
        ("rows", ROWS.to_string()),
        ("count", text(&options.count)),
        ("number", text(&options.number)),
        (
            "unit",
            match options.unit.as_str() {
                "s" => "1000000000",
                "ms" => "1000000",
                "us" => "1000",
                _ => "1",
            }
            .to_owned(),
        ),
        ("by", if options.in_kernel { "kernel" } else { "preload" }.to_owned()),
        ("op", options.op.clone().unwrap_or_else(|| "none".to_owned())),
        ("slice", (options.slice.get() / 1_000_000).to_string()),
        ("place", options.place.clone().unwrap_or_else(|| if ours { "same" } else { "any" }.to_owned())),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    if let Some(url) = &options.url {
        let server =
            of_url(url, None)?.into_iter().filter(|(name, _)| ["target", "host", "path"].contains(name));
        all.extend(server.map(|(name, value)| (name.to_owned(), value)));
    }
    Ok(all)
}

/// Cost of a read by each clock source of this machine.
fn sources(store: &Store) -> Result<String, Error> {
    // Ctrl-C waits for the one that was.
    let control = crate::progress::control();
    let cost =
        || tickmark_load::cost_of_a_read().map_err(|error| tickmark_drive::Error::Refused(error.to_string()));
    let all = with_each_clock_source(store.root(), cost)
        .map_err(|error| Error::Refused(format!("--clock-sources: {error}")))?;
    if control.stopped() {
        return Err(Error::Refused("ended before anything was measured".to_owned()));
    }
    Ok(all.iter().map(|(name, [plain, _])| format!("{name}={plain:.2}")).collect::<Vec<_>>().join(","))
}

fn offer(given: &Arguments, doses: &str, blocks: u32) -> Result<Offer, Error> {
    let own = [("doses", doses.to_owned()), ("blocks", blocks.to_string())];
    let own = own.map(|(name, value)| (name.to_owned(), value));
    let all = given.clone().into_iter().chain(own).collect();
    tickmark_load::REGISTRY.case(names::DOSE, &all).map(|case| case.offer()).map_err(Error::Usage)
}

fn figures(recording: &Recording) -> Result<Dosed, Error> {
    let id = &recording.meta.id;
    dose::summarize_dose(recording)
        .ok_or_else(|| Error::Usage(format!("recording {id} has no doses of `tickmark dose`")))?
        .map_err(|why| Error::Refused(format!("nothing was measured: {why}; saved as {id}")))
}

/// Requested doses in ns, none for the system call; with 0, and none twice. Operations are given by their duration here.
fn doses(given: &str, op: Option<&str>) -> Result<Vec<Option<f64>>, Error> {
    let (each, unit, or) = match op {
        Some(op) => (tickmark_load::cost_of_an_operation(op), "operations", ""),
        None => (1.0, "ns", " nor syscall"),
    };
    let mut all = vec![Some(0.0)];
    for word in given.split(',') {
        let dose = match (word, word.parse::<u32>()) {
            ("syscall", _) if op.is_none() => None,
            (_, Ok(number)) if number <= 1_000_000 => Some(f64::from(number) * each),
            _ => {
                let neither = if or.is_empty() { "no" } else { "neither a" };
                return Err(Error::Usage(format!(
                    "--doses {given}: {word:?} is {neither} number of {unit} up to 1000000{or}"
                )));
            }
        };
        if !all.contains(&dose) {
            all.push(dose);
        }
    }
    if all.iter().flatten().count() < 2 {
        return Err(Error::Usage(format!("--doses {given}: give one that is more than 0 {unit}")));
    }
    Ok(all)
}

/// Smallest effect that so many blocks can detect, in one line; for reads of the server, or of the whole machine.
fn reach(
    summary: &Dosed,
    doses: &[Option<f64>],
    slice: f64,
    blocks: u32,
    pilot: &str,
    counted: Option<f64>,
) -> String {
    let known: Vec<f64> = doses.iter().copied().flatten().collect();
    let of =
        |blocks: u32| detectable(&known, summary.deviation, blocks as usize, 1.0 - dose::CONFIDENCE, POWER);
    let least = of(blocks);
    let varies = 100.0 * summary.deviation / summary.cost;
    let can = match counted {
        None => "and how many are the server's own is not counted".to_owned(),
        Some(counted) if counted >= least => {
            "which is less than was counted: they can be told from none".to_owned()
        }
        Some(counted) if counted <= 0.0 => "and none was counted".to_owned(),
        Some(counted) => {
            // It falls with the root of their number.
            let needed = f64::from(blocks) * (least / counted).powi(2) * 1.1;
            format!(
                "which is more than was counted: about {needed:.0} blocks or larger doses would be needed"
            )
        }
    };
    let reads = counted.map_or_else(String::new, |counted| format!(", and reads clocks {counted:.2} times"));
    let time = f64::from(blocks) * doses.len() as f64 * (slice / 1e9 + 0.02);
    format!(
        "pilot {pilot}: a transaction takes {:.1} us, varies by {varies:.1} % from slice to slice{reads}. {blocks} blocks ({time:.0} s) tell {least:.2} reads \
         from none with {:.0} % power, {can}",
        summary.cost / 1e3,
        100.0 * POWER
    )
}

fn show(recording: &Recording, options: &Dose) -> Result<(), Error> {
    let dosed = figures(recording)?;
    if options.output.format == Format::Json {
        return crate::command::print_recorded(recording, tickmark_render::json::DosePage::new(&dosed));
    }
    crate::command::print_framed(recording, &tickmark_render::dose::text(&dosed))
}
