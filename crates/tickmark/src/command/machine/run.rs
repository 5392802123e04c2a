//! The main job: measure, keep, show.

use crate::cli::{Format, LabBoot, Run};
use crate::command::looks::{Looks, ThresholdWatch, Watched};
use crate::error::{Code, Error};
use crate::progress::{Progress, View};
use crate::{progress, selection};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use tickmark_analysis::report::{self, Model, Row, RowStatus};
use tickmark_drive::target::Guest;
use tickmark_drive::{Control, Target, ThisMachine, plan};
use tickmark_render::report::ShownRows;
use tickmark_store::{Id, Meta, Recording, Run as RecordedRun, Status, Store, Writer};
use tickmark_wire::{Event, FORMAT, Plan, Priority};

/// Runs of each probe where nothing is said.
const ROUNDS: u32 = 5;

pub(in crate::command) fn run(store: &Store, options: &Run) -> Result<Code, Error> {
    let (plan, writer) = match &options.resume {
        Some(name) => resume(store, name)?,
        None => begin(store, options)?,
    };
    warn_of_priority(plan.settings.priority, plan.settings.slack.is_some());
    let control = progress::control();
    let mut machine = ThisMachine { control: control.clone(), joins: None, wake_ups: None };
    keep(
        store,
        &mut machine,
        &control,
        &plan,
        writer,
        options.resume.is_none(),
        shown(options.output.format, options.all),
    )
    .map(|(code, _)| code)
}

/// The same in a guest.
pub(in crate::command) fn guest(
    store: &Store,
    control: &Control,
    guest: &Guest,
    plan: &Plan,
    name: &str,
    options: &LabBoot,
) -> Result<(Code, Recording), Error> {
    let target = Some(format!("a guest: {}, kernel {}", guest.machine, options.kernel));
    let meta = Meta { plan: plan.clone(), target, ..new(name.to_owned(), &options.select) };
    let writer = store.create(&meta)?;
    let transcripts = writer.transcripts().join("1");
    let mut guest = guest.boot(&transcripts, control, false);
    keep(store, &mut guest, control, plan, writer, true, shown(options.output.format, false))
}

/// The same without showing it, and where its transcript is: of a kernel, named as it was typed.
pub(in crate::command) fn guest_recording(
    store: &Store,
    control: &Control,
    guest: &Guest,
    plan: &Plan,
    name: &str,
    kernel: &str,
) -> Result<Recording, Error> {
    let target = Some(format!("a guest: {}, kernel {kernel}", guest.machine));
    let meta = Meta { plan: plan.clone(), target, ..new(name.to_owned(), &[]) };
    let writer = store.create(&meta)?;
    let transcripts = writer.transcripts().join("1");
    let mut guest = guest.boot(&transcripts, control, false);
    measure_and_keep(store, &mut guest, plan, writer, true, Progress::new(plan))
}

/// Measures, keeps and shows.
fn keep(
    store: &Store,
    target: &mut dyn Target,
    control: &Control,
    plan: &Plan,
    writer: Writer,
    is_new: bool,
    text: Option<ShownRows>,
) -> Result<(Code, Recording), Error> {
    let recording = measure_and_keep(store, target, plan, writer, is_new, Progress::new(plan))?;
    let model = report::build(&recording, &|_| true, false);
    let stopped = control.stopped();
    show(&recording, &model, text, stopped)?;
    let code = exit_code(&recording, &model, stopped);
    if code == Code::Partly && !stopped {
        let rows = model.groups.iter().flat_map(|(_, rows)| rows).filter(|row| lacks(&recording, row));
        let names: Vec<&str> = rows.map(|row| row.metric.as_str()).collect();
        let (first, more) = (
            names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", "),
            names.len().saturating_sub(NAMED),
        );
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        crate::notice!("partly done (exit code 4): without a figure in some or all runs: {first}{more}");
    }
    Ok((code, recording))
}

/// Metrics that a line names.
const NAMED: usize = 3;

/// True if a figure is missing that this system could have given, or that was asked for by its name.
fn lacks(recording: &Recording, row: &Row) -> bool {
    match row.status {
        RowStatus::Ok | RowStatus::Unknown => false,
        RowStatus::Unsupported => by_name(recording, &row.metric),
        RowStatus::Partly | RowStatus::Failed | RowStatus::Timeout | RowStatus::Missing => true,
    }
}

/// Carries out plans on this machine, all at the same time, and keeps what comes of each, under its name; and whether the user
/// ended them. The first that `ends_all` ends all.
pub(in crate::command) fn measured_here(
    store: &Store,
    plans: &[(String, Plan)],
    select: &[String],
    ends_all: &(dyn Fn(&Recording) -> bool + Sync),
    looks: Option<&Looks>,
) -> Result<(Vec<Result<Recording, Error>>, bool), Error> {
    // All of them first: what cannot be kept is not measured.
    let writers = plans
        .iter()
        .map(|(name, plan)| store.create(&Meta { plan: plan.clone(), ..new(name.clone(), select) }));
    let writers = writers.collect::<Result<Vec<_>, _>>()?;
    // Once: they differ in their CPUs.
    plans.iter().take(1).for_each(|(_, plan)| {
        warn_of_priority(plan.settings.priority, plan.settings.slack.is_some());
    });
    let (control, done) = (progress::control(), AtomicBool::new(false));
    let (view, over) = (View::new(), AtomicBool::new(false));
    let made = |(number, (plan, writer)): (usize, (&Plan, Writer))| {
        let look = looks.map(|looks| looks.measurement(number));
        let machine =
            ThisMachine { control: control.clone(), joins: None, wake_ups: look.map(ThresholdWatch::path) };
        let mut machine = Watched { machine, look };
        let shown = if number == 0 {
            Progress::beside(plan, looks.is_some().then_some(&view))
        } else {
            Progress::hidden(plan)
        };
        let recording = measure_and_keep(store, &mut machine, plan, writer, true, shown);
        let ends = recording.as_ref().is_ok_and(ends_all);
        if ends && !control.stopped() && !done.swap(true, Ordering::Relaxed) {
            control.stop();
        }
        recording
    };
    let made: Vec<Result<Recording, Error>> = std::thread::scope(|scope| {
        let all = plans.iter().map(|(_, plan)| plan).zip(writers).enumerate();
        let threads: Vec<_> = all.map(|one| scope.spawn(|| made(one))).collect();
        let looking = looks.map(|looks| scope.spawn(|| looks.show(&view, &over)));
        let joined: Vec<_> = threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        over.store(true, Ordering::Relaxed);
        looking.iter().for_each(|looking| looking.thread().unpark());
        let joined = joined.into_iter();
        joined.map(|made| made.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    let stopped = control.stopped() && !done.into_inner();
    Ok((made, stopped))
}

/// The same of one plan.
pub(in crate::command) fn measured_one(
    store: &Store,
    name: Option<&str>,
    plan: Plan,
    select: &[String],
) -> Result<(Recording, bool), Error> {
    let (made, stopped) = measured_here(store, &[(own_name(name), plan)], select, &|_| false, None)?;
    let made = made.into_iter().next();
    let recording = made.ok_or_else(|| Error::Refused("nothing was measured".to_owned()))??;
    Ok((recording, stopped))
}

/// The name of a recording where none is given: the host's.
pub(in crate::command) fn own_name(requested: Option<&str>) -> String {
    let [_, _, _, host] = tickmark_probe::sys::host::uname();
    requested.map_or(host, str::to_owned)
}

/// Measures and keeps; a new recording in which nothing was measured is not kept.
fn measure_and_keep(
    store: &Store,
    target: &mut dyn Target,
    plan: &Plan,
    mut writer: Writer,
    is_new: bool,
    progress: Progress,
) -> Result<Recording, Error> {
    let measured = measure(target, plan, &mut writer, progress);
    let folder = writer.folder().to_owned();
    drop(writer);
    if let Err(error) = measured {
        // What is resumed is never taken away.
        if is_new {
            discard_empty(&folder);
        }
        return Err(error);
    }
    let recording = tickmark_store::load(&folder)?;
    store.enter(&recording);
    Ok(recording)
}

/// Says what a real-time priority does to the figures of this machine before they are measured: it is our own advice against other tasks.
pub(in crate::command) fn warn_of_priority(priority: Priority, slack: bool) {
    if priority == Priority::Other {
        return;
    }
    let number = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?;
        text.trim().parse::<f64>().ok()
    };
    let period = number("sched_rt_period_us").unwrap_or(1e6);
    if let Some(runtime) = number("sched_rt_runtime_us").filter(|runtime| (0.0..period).contains(runtime)) {
        crate::notice!(
            "tickmark: note: what never sleeps at {} loses {:.0} of each {:.0} ms to the kernel's real-time limit \
             (sched_rt_runtime_us = {runtime:.0}); `tickmark tick` names these gaps real-time throttling",
            priority,
            (period - runtime) / 1e3,
            period / 1e3
        );
    }
    if slack {
        crate::notice!("tickmark: note: timer slack has no effect at a real-time priority");
    }
}

/// A new recording. The store is tried first: what cannot be kept is not measured.
fn begin(store: &Store, options: &Run) -> Result<(Plan, Writer), Error> {
    let selected = selection::select(&options.select)?;
    let settings = (&options.settings).into();
    let mut random = rand::rng();
    let rounds = options.runs.unwrap_or(ROUNDS);
    let plan = plan::make(&selected, rounds, options.budget, settings, options.once, &mut random);
    let name = own_name(options.name.as_deref());
    let meta = Meta { plan: plan.clone(), ..new(name, &options.select) };
    let writer = store.create(&meta)?;
    Ok((plan, writer))
}

/// A recording that begins now, without its plan.
fn new(name: String, select: &[String]) -> Meta {
    Meta {
        format: FORMAT,
        id: Id::random(),
        name,
        created: jiff::Timestamp::now(),
        program: format!("tickmark {}", env!("CARGO_PKG_VERSION")),
        select: select.to_vec(),
        plan: Plan { settings: tickmark_wire::Settings::default(), metrics: Vec::new(), runs: Vec::new() },
        arm: None,
        target: None,
    }
}

/// Runs that an interrupted recording still lacks, on the CPU that it was measured on.
fn resume(store: &Store, name: &str) -> Result<(Plan, Writer), Error> {
    let (recording, writer) = Store::resume(&store.find(name)?)?;
    if let Some(why) = recording.elsewhere() {
        return Err(Error::Usage(format!(
            "recording {}: {}",
            recording.meta.id,
            tickmark_render::elsewhere(&why)
        )));
    }
    if recording.complete() {
        let id = &recording.meta.id;
        return Err(Error::Usage(format!("recording {id} is complete; nothing is left to resume")));
    }
    let mut plan = recording.meta.plan.clone();
    plan.runs = recording.open().map(|run| run.planned.clone()).collect();
    if let Some(session) = recording.sessions.first() {
        plan.settings.cpu = Some(session.settled.cpu);
    }
    Ok((plan, writer))
}

/// Keeps each event as it comes.
fn measure(
    target: &mut dyn Target,
    plan: &Plan,
    writer: &mut Writer,
    mut progress: Progress,
) -> Result<(), Error> {
    let mut greeted = false;
    let result = target.run(plan, &mut |heard| {
        if let Some(event) = heard.event() {
            progress.follow(event);
            match event {
                Event::Refused(refusal) => return Err(refusal.clone().into()),
                Event::Hello(_) => greeted = true,
                _ => {}
            }
        }
        let ends = heard.ends();
        Ok(writer.keep(heard.line, ends)?)
    });
    progress.finish();
    result?;
    if greeted {
        Ok(())
    } else {
        Err(tickmark_drive::Error::AgentEnded("it sent no event".to_owned()).into())
    }
}

/// A recording in which nothing was measured is not kept: the error has been told.
fn discard_empty(folder: &Path) {
    if tickmark_store::load(folder).is_ok_and(|recording| recording.sessions.is_empty()) {
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// Shows a recording as JSON, or so much of it as text.
fn show(recording: &Recording, model: &Model, text: Option<ShownRows>, stopped: bool) -> Result<(), Error> {
    let Some(shown) = text else {
        return crate::command::print_page(&tickmark_render::json::Report::new(model));
    };
    // What was asked for by name is all shown.
    let shown = if recording.meta.select.is_empty() { shown } else { ShownRows::Rows };
    crate::command::print(&tickmark_render::report::text(model, shown))?;
    saved(recording, stopped, "show")
}

/// What is shown as text; none for JSON.
fn shown(format: Format, all: bool) -> Option<ShownRows> {
    (format == Format::Text).then_some(if all { ShownRows::Rows } else { ShownRows::Headlines })
}

/// Says where a recording is, and by which command it is seen again.
pub(in crate::command) fn saved(recording: &Recording, stopped: bool, again: &str) -> Result<(), Error> {
    let meta = &recording.meta;
    let when = meta.created.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string();
    let how = if stopped { "interrupted; " } else { "" };
    crate::command::print(&format!(
        "\n{how}saved as {} ({}, {when})\n{}\n",
        meta.id,
        meta.name,
        crate::suggest::command(&format!("{again} {}", meta.id))
    ))
}

/// True if a metric was asked for by its own name, or by that of its probe with what it is told.
fn by_name(recording: &Recording, metric: &str) -> bool {
    // What it gives beside its own is not what was asked for.
    let gives = |run: &RecordedRun| run.planned.metrics().next().is_some_and(|name| name.as_str() == metric);
    let explained = |word: &String| {
        let probe = word.split(':').next().unwrap_or_default();
        let own = |run: &&RecordedRun| run.planned.probe.as_str() == probe && gives(run);
        selection::is_told(word) && recording.runs.iter().any(|run| own(&run))
    };
    recording.meta.select.iter().any(|word| word == metric || explained(word))
}

/// 0 where all was done that this system can do; 4 where something failed, was interrupted, or was
/// asked for by name and is not supported; 1 where there is no figure at all, for another reason.
fn exit_code(recording: &Recording, model: &Model, stopped: bool) -> Code {
    let rows = || model.groups.iter().flat_map(|(_, rows)| rows);
    if !rows().any(|row| row.value.is_some()) {
        // A system that lacks what was asked for is another answer than a failure.
        let lacks = rows().count() > 0 && rows().all(|row| row.status == RowStatus::Unsupported);
        return if lacks { Code::Partly } else { Code::Failed };
    }
    let partly = rows().any(|row| lacks(recording, row));
    let failed = |run: &RecordedRun| matches!(run.status, Status::Failed(_) | Status::TimedOut(_));
    if partly || stopped || !recording.complete() || recording.runs.iter().any(failed) {
        Code::Partly
    } else {
        Code::Done
    }
}

#[cfg(test)]
mod tests;
