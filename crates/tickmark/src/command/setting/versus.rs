//! `tickmark versus`: commands interleaved in blocks of random order, with a verdict.

mod exports;
mod plan;
mod revisions;
mod subjects;
mod typed;

use crate::cli::versus::Vary;
use crate::cli::{CompareFormat, FailOn, Versus as VersusOptions};
use crate::command::compare::{self, compared};
use crate::command::more::MANY;
use crate::error::{Code, Error};
use crate::progress;
use plan::{announced, budget, plan, repeats};
use rand::SeedableRng;
use rand::rngs::StdRng;
use revisions::{Revisions, build_command};
use std::time::{Duration, Instant};
use subjects::{Subject as Asking, letter, primary, subjects};
use tickmark_analysis::comparison::{CompareOptions, NoClaimReason, RowSelection, Side};
use tickmark_analysis::versus::{Subject, Versus};
use tickmark_drive::experiment::{Guard, Halt, Program, Trial, not_restored, run_command};
use tickmark_drive::knob::{self, Commands, Turned};
use tickmark_drive::{Control, Experiment};
use tickmark_render::versus as render;
use tickmark_store::{COMMANDS, Id, Recording, Status, Store};
use tickmark_wire::{Metric, Nanos, Settings};

pub(in crate::command) fn run(store: &Store, options: &VersusOptions) -> Result<Code, Error> {
    check(options)?;
    let control = if options.is_shown() { progress::silent_control() } else { progress::control() };
    let turned = options.knob.as_ref().map(|text| knob::parse(text)).transpose()?;
    let revisions = options.rev.as_ref().map(|range| Revisions::check_out(range)).transpose()?;
    let fixed = match (&turned, &revisions) {
        (Some(turned), _) => turned.settings.clone(),
        (None, Some(revisions)) => revisions.names.clone(),
        (None, None) => Vec::new(),
    };
    let places = revisions.as_ref().map(Revisions::places).unwrap_or_default();
    let asking = subjects(options, &fixed, &places)?;
    let primary = primary(options, &asking)?;
    check_count(options, asking.len())?;
    if let (Some(build), Some(revisions)) = (&options.build, &revisions) {
        for (name, folder) in revisions.names.iter().zip(&places) {
            crate::notice!("building {name}");
            run_command(&build_command(folder, build), None, &control)?;
        }
    }
    let knob = turned.unwrap_or_else(|| commands(options, &places, &asking));
    let mut experiment = experiment(options, knob, &asking, primary.clone());
    let beside = |command: Option<&String>, asking: &Asking| {
        let folder = asking.program.request.directory.as_deref();
        command.map_or(Ok(()), |command| run_command(command, folder, &control))
    };
    let measured =
        asking.iter().try_for_each(|asking| beside(asking.setup.as_ref(), asking)).map_err(Error::from);
    let measured = measured.and_then(|()| measure(store, options, &mut experiment, &primary, &control));
    // Each of them, and also after Ctrl-C.
    for asking in &asking {
        let folder = asking.program.request.directory.as_deref();
        let cleaned =
            asking.cleanup.as_ref().map(|command| run_command(command, folder, &Control::default()));
        if let Some(Err(error)) = cleaned {
            crate::notice!("tickmark: --cleanup: {error}");
        }
    }
    let measured = measured?;
    let versus = versus(store, &measured.ids, measured.made, options, RowSelection::ALL)?;
    show(options, &versus, &measured)?;
    exports::write(options, &versus, &asking)?;
    let judged = versus.comparison.as_ref().map_or(Code::Done, |model| compare::code(model, options.fail_on));
    let is_partly = !measured.is_restored || measured.halt == Halt::Stopped;
    Ok(judged.worse(if is_partly { Code::Partly } else { Code::Done }))
}

/// Refuses what cannot be meant, before anything is run.
fn check(options: &VersusOptions) -> Result<(), Error> {
    let knob = options.knob.as_deref().map_or("", |knob| knob.split('=').next().unwrap_or_default());
    let wrong = [
        (knob == "cpu" && !options.cpu.is_empty(), "--cpu and --knob cpu contradict each other"),
        (
            options.runs.is_some() && options.width.is_some(),
            "--runs says how often, and --width until when: give one",
        ),
        (knob == "send", "--knob send is for streams of tickmark's own: commands send as they do"),
        (knob == "kernel", "--knob kernel boots guests: `tickmark hz` runs a command in them"),
        (
            knob == "policy" && !options.priority.is_empty(),
            "--priority and --knob policy contradict each other",
        ),
        (
            options.vary.contains(&Vary::Link) && options.build.is_none(),
            "--vary link builds anew: add --rev and --build",
        ),
        (
            options.min_runs > options.max_runs && options.max_runs.is_some(),
            "--min-runs is more than --max-runs",
        ),
    ];
    if let Some((_, why)) = wrong.iter().find(|(is, _)| *is) {
        return Err(Error::Usage((*why).to_owned()));
    }
    for path in [&options.export_json, &options.export_csv, &options.export_markdown].into_iter().flatten() {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if path.is_dir() || folder.is_some_and(|folder| !folder.is_dir()) {
            return Err(Error::Usage(format!("{}: no such folder to write to", path.display())));
        }
    }
    Ok(())
}

/// Refuses of a single command what is about two.
fn check_count(options: &VersusOptions, commands: usize) -> Result<(), Error> {
    let wrong = [
        (options.fail_on.is_some(), "--fail-on compares two commands or more"),
        (
            !matches!(options.format, CompareFormat::Text | CompareFormat::Json),
            "one command has the formats text and json",
        ),
    ];
    match wrong.iter().find(|(is, _)| *is && commands < 2) {
        Some((_, why)) => Err(Error::Usage((*why).to_owned())),
        None => Ok(()),
    }
}

/// The knob that turns nothing but the command; with `--vary link` each block builds anew.
fn commands(options: &VersusOptions, places: &[std::path::PathBuf], asking: &[Asking]) -> Turned {
    let builds = |build: &String| places.iter().map(|folder| build_command(folder, build)).collect();
    let set =
        options.build.as_ref().filter(|_| options.vary.contains(&Vary::Link)).map(builds).unwrap_or_default();
    Turned {
        name: if options.rev.is_some() { "revisions" } else { COMMANDS }.to_owned(),
        knob: Box::new(Commands { set, ..Commands::default() }),
        settings: asking.iter().map(|asking| asking.label.clone()).collect(),
    }
}

fn experiment(
    options: &VersusOptions,
    turned: Turned,
    asking: &[Asking],
    primary: Vec<String>,
) -> Experiment {
    Experiment {
        name: options.name.clone().unwrap_or_else(|| "versus".to_owned()),
        knob_name: turned.name,
        knob: turned.knob,
        settings: turned.settings,
        probes: Vec::new(),
        outcomes: Vec::new(),
        programs: asking.iter().map(|asking| asking.program.clone()).collect(),
        looks: Vec::new(),
        primary,
        blocks: 0,
        slice: Nanos::ZERO,
        budget: Some(budget(options, asking.len())),
        measured: Settings::default(),
        resumed: Vec::new(),
        added: None,
    }
}

/// What was measured.
struct Measured {
    ids: Vec<Id>,
    made: u32,
    halt: Halt,
    /// True if a run failed, which ended it.
    is_failed: bool,
    is_restored: bool,
    notes: Vec<String>,
}

/// Tries each command, plans by how long it takes, and carries the blocks out.
fn measure(
    store: &Store,
    options: &VersusOptions,
    experiment: &mut Experiment,
    primary: &[String],
    control: &Control,
) -> Result<Measured, Error> {
    let begun = Instant::now();
    let tried = experiment.guarded::<_, Error>(store, control, |guard| {
        experiment.try_settings(guard)?;
        store.prepare()?;
        warm_up(options, experiment, guard, control)
    });
    let (Tried { walls, around, counters, has_quota, notes }, _) = tried?;
    let repeats = repeats(options, &walls);
    for program in &mut experiment.programs {
        (program.counters, program.has_quota) = (counters, has_quota);
        program.request.repeats = repeats;
    }
    let block = (walls.iter().sum::<Duration>() + around) * repeats;
    let planned: Vec<Metric> = experiment.programs.iter().flat_map(Program::metrics).collect();
    if let Some(missing) =
        primary.iter().find(|name| !planned.iter().any(|metric| metric.name.as_str() == **name))
    {
        return Err(Error::Refused(format!(
            "{missing} cannot be measured here: no such counter, or no quota of CPU time"
        )));
    }
    plan(options, experiment, block, begun.elapsed());
    let experiment = &*experiment;
    crate::notice!("{}", announced(options, experiment, block));
    let mut random = StdRng::from_rng(&mut rand::rng());
    let only = RowSelection {
        only: &|_, row| primary.contains(&row.metric),
        primary: &|_, row| primary.contains(&row.metric),
        figures: &[],
    };
    let decided = |ids: &[Id], block: u32| {
        experiment.looks.contains(&block)
            && versus(store, ids, block, options, only).is_ok_and(|versus| versus.is_decided(options.width))
    };
    let ended = experiment.guarded::<_, Error>(store, control, |guard| {
        if control.stopped() {
            return Err(Error::Refused("interrupted before the first block".to_owned()));
        }
        match experiment.run(store, guard, control, &mut random, Instant::now(), &decided) {
            // A run that failed ends it; the blocks before are as good as they were.
            Err(tickmark_drive::Error::Kept { error, blocks, ids }) if blocks > 1 => {
                crate::notice!("tickmark: {error}");
                let ids = ids.split_whitespace().map(|id| Ok(store.find(id)?.meta.id));
                Ok(((ids.collect::<Result<_, Error>>()?, blocks, Halt::Stopped), true))
            }
            other => Ok((other?, false)),
        }
    });
    let (((ids, made, halt), is_failed), left) = ended?;
    if let Some(error) = &left {
        crate::notice!("tickmark: {}", not_restored(error));
    }
    if made < 1 {
        let kept = Id::all(&ids);
        return Err(Error::Refused(format!("ended before the first block was made; saved as {kept}")));
    }
    Ok(Measured { ids, made, halt, is_failed, is_restored: left.is_none(), notes })
}

/// What the first runs showed.
struct Tried {
    /// How long each command took, and what came around them all.
    walls: Vec<Duration>,
    around: Duration,
    counters: [bool; 4],
    has_quota: bool,
    notes: Vec<String>,
}

/// Runs each command before anything is measured, in turns.
fn warm_up(
    options: &VersusOptions,
    experiment: &Experiment,
    guard: &Guard<'_>,
    control: &Control,
) -> Result<Tried, Error> {
    let all = 0..experiment.programs.len();
    let mut trials: Vec<Trial> = Vec::new();
    let (mut walls, mut around) = (vec![Duration::MAX; all.len()], Duration::MAX);
    let begun = Instant::now();
    // What the first run finds cold tells nothing of those that are measured: one more, where there is time.
    let most = budget(options, all.len()) / 10;
    for round in 0..=options.warmup.max(1) {
        if round >= options.warmup.max(1) && (options.runs.is_some() || begun.elapsed() > most) {
            break;
        }
        trials.clear();
        let mut beside = Duration::ZERO;
        for number in all.clone() {
            if control.stopped() {
                return Err(Error::Refused("interrupted before the first block".to_owned()));
            }
            let begun = Instant::now();
            let trial = experiment.trial(guard, number, control)?;
            beside += begun.elapsed().saturating_sub(trial.wall);
            walls[number] = walls[number].min(trial.wall);
            trials.push(trial);
        }
        around = around.min(beside);
    }
    let mut notes = Vec::new();
    let differ: Vec<char> = all.filter(|at| trials[*at].output != trials[0].output).map(letter).collect();
    if let [first, ..] = differ[..] {
        let again = experiment.trial(guard, 0, control)?;
        notes.push(if again.output == trials[0].output {
            let who = differ.iter().map(char::to_string).collect::<Vec<_>>().join(", ");
            format!(
                "{who} {} something else than A: is it the same work?",
                if differ.len() == 1 { "prints" } else { "print" }
            )
        } else {
            format!("A prints something else each time: whether {first} does the same work was not compared")
        });
    }
    let has_quota = trials.iter().any(|trial| trial.has_quota);
    Ok(Tried { walls, around, counters: trials[0].counters, has_quota, notes })
}

/// The commands of these recordings, in so many blocks, compared with the first.
fn versus(
    store: &Store,
    ids: &[Id],
    blocks: u32,
    options: &VersusOptions,
    picks: RowSelection<'_>,
) -> Result<Versus, Error> {
    let read = |id: &Id| {
        let mut recording = store.read(id)?;
        // A block that ended in the middle is none.
        recording
            .runs
            .iter_mut()
            .filter(|run| run.planned.round > blocks)
            .for_each(|run| run.status = Status::Open);
        Ok(recording)
    };
    let recordings: Vec<Recording> = ids.iter().map(read).collect::<Result<_, Error>>()?;
    let primary =
        recordings.first().and_then(|one| one.meta.arm.clone()).map_or_else(Vec::new, |arm| arm.primary);
    let subjects =
        recordings.iter().enumerate().map(|(number, one)| Subject::from_recording(number, one)).collect();
    let is_primary = |_, row: &tickmark_analysis::report::Row| primary.contains(&row.metric);
    let comparison = if recordings.len() > 1 {
        let sides: Vec<Side> = recordings.into_iter().map(|one| Side { recordings: vec![one] }).collect();
        let picks = RowSelection { primary: &is_primary, ..picks };
        Some(compared(store, &sides, CompareOptions::with_margin(options.margin), picks)?)
    } else {
        None
    };
    let to_margin = options.fail_on == Some(FailOn::Beyond);
    Ok(Versus { subjects, comparison, primary: primary.clone(), to_margin })
}

/// How many blocks in all would decide what the commands are compared by, where they are not too many to be offered.
fn needed(versus: &Versus) -> Option<usize> {
    let lines = versus.comparison.iter().flat_map(|model| &model.against).flat_map(|against| &against.lines);
    let own = lines.filter(|line| versus.primary.contains(&line.metric));
    own.filter_map(|line| match line.why {
        Some(NoClaimReason::Needs(needed)) => Some(needed),
        _ => None,
    })
    .max()
    .filter(|needed| *needed <= MANY)
}

/// Shows it, and says how it ended.
fn show(options: &VersusOptions, versus: &Versus, measured: &Measured) -> Result<(), Error> {
    let why = match measured.halt {
        Halt::Narrow => ", as it is decided",
        Halt::Budget => ", as the time is over",
        Halt::Stopped if measured.is_failed => ", until a run failed",
        Halt::Stopped => ", interrupted",
        Halt::Done => "",
    };
    let back = match (&options.knob, measured.is_restored) {
        (Some(knob), false) => format!("; {knob} is NOT restored"),
        (Some(knob), true) => format!("; {} restored", knob.split('=').next().unwrap_or_default()),
        (None, _) => String::new(),
    };
    let blocks = tickmark_render::count(measured.made, "block");
    let margin =
        if options.margin == 0.01 { String::new() } else { format!(" --margin {}%", options.margin * 100.0) };
    let ids = Id::all(&measured.ids);
    let again = if measured.ids.len() > 1 {
        format!("again: {}\n", crate::suggest::command(&format!("compare {ids}{margin}")))
    } else {
        String::new()
    };
    let decides = needed(versus).map_or_else(String::new, |runs| {
        format!("to decide: {}\n", crate::suggest::with_runs(crate::suggest::own_words(), runs))
    });
    let line = format!("{blocks}{why}{back}; saved as {ids}\n{decides}{again}");
    match (options.format, &versus.comparison) {
        (CompareFormat::Text, _) => {
            crate::command::print(&render::text(versus, &measured.notes, options.all))?;
            return crate::command::print(&line);
        }
        (CompareFormat::Json, _) => {
            crate::command::print_page(&tickmark_render::json::VersusPage::new(
                versus,
                &measured.notes,
                options.width,
            ))?;
        }
        (format, Some(model)) => compare::show(model, format)?,
        (_, None) => {}
    }
    crate::notice!("{}", line.trim_end());
    Ok(())
}
