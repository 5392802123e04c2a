//! A knob turned in interleaved blocks, and what that changes.

use crate::cli::{CompareFormat, Experiment as ExperimentOptions};
use crate::command::arms::{self, failed, model};
use crate::command::{boots, compare, launched, more, papers, pilot};
use crate::error::{Code, Error};
use crate::suggest::{own_words, with_more};
use crate::{progress, selection};
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::path::Path;
use std::time::{Duration, Instant};
use tickmark_analysis::comparison::Model;
use tickmark_analysis::report;
use tickmark_drive::experiment::{self, Guard, Halt, Outcome, OutcomeSource, not_restored};
use tickmark_drive::{Control, Experiment, ThisMachine, file, knob, restore};
use tickmark_stats::order::smallest_first;
use tickmark_stats::verdict::POWER;
use tickmark_store::{Id, Recording, Store};
use tickmark_wire::{Better, Nanos};

/// Blocks where nothing is said, and the most that a width may ask for.
const BLOCKS: u32 = 10;
const MOST: u32 = 100;
/// Most measuring time of one setting in one block, and of each of its probes.
const BLOCK: Nanos = Nanos::from_millis(9_000);
const SLICE: Nanos = Nanos::from_millis(60);
/// Time to start a run, s.
const STARTS: f64 = 0.012;

pub(in crate::command) fn run(store: &Store, options: &ExperimentOptions) -> Result<Code, Error> {
    if options.restore {
        return put_back(store);
    }
    let what = options.what.as_deref().unwrap_or_default();
    if let Some(kernels) = what.strip_prefix("kernel=") {
        return boots::kernels(store, options, kernels);
    }
    if let Some(paper) = papers::requested(options, what)? {
        return papers::run(store, options, what, &paper);
    }
    let length = if options.quick { file::Length::Quick } else { file::Length::Whole };
    let named = if file::is_named(what) { Some(file::read_as(Path::new(what), length)?) } else { None };
    let from = match named {
        Some(file::ExperimentFile::Booted(matrix)) => {
            return boots::experiment(store, options, Path::new(what), matrix);
        }
        Some(file::ExperimentFile::Launched(from)) => return launched::experiment(store, options, &from),
        Some(file::ExperimentFile::Here(from)) => *from,
        None if options.quick && what.contains('=') => {
            return Err(Error::Usage(
                "--quick is for an experiment in a file, which says what it leaves out".to_owned(),
            ));
        }
        None => experiment::ExperimentRequest::with_knob(knob::parse(what)?),
    };
    let answers = from.answers.clone();
    let carried = carry_out(store, options, from, !options.no_pilot && !options.quick)?;
    if let (Some(answers), CompareFormat::Text) = (&answers, options.format) {
        crate::command::print(&format!("{}: {answers}\n\n", carried.experiment.name))?;
    }
    let model = carried.show(store, options.format, |blocks| with_more(own_words(), blocks))?;
    Ok(compare::code(&model, options.fail_on).worse(carried.code(store)))
}

/// An experiment that was carried out.
pub(in crate::command) struct CarriedOut {
    experiment: Experiment,
    ids: Vec<Id>,
    /// All recordings of each setting, earlier ones too.
    parts: Vec<Vec<Id>>,
    made: u32,
    halt: Halt,
    is_restored: bool,
    margin: f64,
    /// What the pilot says, in lines.
    pilot: Vec<String>,
}

impl CarriedOut {
    /// Shows what the settings differ in, how it ended, where its recordings are, and the command that goes on.
    pub(in crate::command) fn show(
        &self,
        store: &Store,
        format: CompareFormat,
        with_more: impl Fn(usize) -> String,
    ) -> Result<Model, Error> {
        let model = model(store, &self.parts, self.margin)?;
        compare::show(&model, format)?;
        self.tell(store, format)?;
        if let Some(next) = more::needed(&model, with_more).filter(|_| format == CompareFormat::Text) {
            crate::command::print(&format!("{next}\n"))?;
        }
        Ok(model)
    }

    /// Its recordings, one for each setting.
    pub(in crate::command) fn recordings(&self, store: &Store) -> Result<Vec<Recording>, Error> {
        self.ids.iter().map(|id| Ok(store.read(id)?)).collect()
    }

    /// Says what the system lacks for some of it, how it ended, and where its recordings are.
    pub(in crate::command) fn tell(&self, store: &Store, format: CompareFormat) -> Result<(), Error> {
        arms::tell_lacking(store, &self.ids);
        let why = match self.halt {
            Halt::Done => String::new(),
            Halt::Narrow => ", as the intervals are narrow enough".to_owned(),
            Halt::Budget => ", as the time is over".to_owned(),
            Halt::Stopped => ", interrupted".to_owned(),
        };
        let knob = &self.experiment.knob_name;
        let back = match (self.is_restored, self.experiment.knob.is_read_back()) {
            (false, _) => format!("{knob} is NOT restored"),
            // What a command did is not read back.
            (true, false) => format!("the reset commands of {knob} ran"),
            (true, true) => format!("{knob} restored"),
        };
        let mut text = self.pilot.iter().fold(String::new(), |text, line| text + line + "\n");
        text += if text.is_empty() { "" } else { "\n" };
        let ids = Id::all(&self.ids);
        text += &format!("{} blocks{why}; {back}; saved as {ids}\n", self.made);
        if format == CompareFormat::Text {
            let page = crate::suggest::command(&format!("report {ids} -o page.html"));
            return crate::command::print(&format!("{text}as a page: {page}\n"));
        }
        crate::notice!("{}", text.trim_end());
        Ok(())
    }

    pub(in crate::command) fn code(&self, store: &Store) -> Code {
        let partly = !self.is_restored || self.halt == Halt::Stopped || failed(store, &self.ids, self.made);
        if partly { Code::Partly } else { Code::Done }
    }
}

/// Turns the knob in interleaved blocks and puts everything back; with a pilot before, where that is asked for.
pub(in crate::command) fn carry_out(
    store: &Store,
    options: &ExperimentOptions,
    from: experiment::ExperimentRequest,
    pilot: bool,
) -> Result<CarriedOut, Error> {
    let (mut experiment, width, margin) = plan(options, from)?;
    crate::command::run::warn_of_priority(experiment.measured.priority, experiment.measured.slack.is_some());
    let mut before: Vec<Vec<Id>> = vec![Vec::new(); experiment.settings.len()];
    if let Some(blocks) = options.more {
        let found = more::before(store, &experiment)?;
        (experiment.blocks, experiment.added, before) = (blocks, Some(found.added), found.parts);
    }
    let pilots = pilot && experiment.added.is_none();
    let parts = |ids: &[Id]| -> Vec<Vec<Id>> {
        before.iter().zip(ids).map(|(before, id)| [before, std::slice::from_ref(id)].concat()).collect()
    };
    // Told to stop, the blocks end, everything is put back, and what was measured is shown.
    let control = progress::control();
    let mut random = StdRng::from_rng(&mut rand::rng());
    let begun = Instant::now();
    let mut pilot = Vec::new();
    let ended = experiment.guarded::<_, Error>(store, &control, |guard| {
        experiment.try_settings(guard)?;
        store.prepare()?;
        crate::notice!("{}", duration(&experiment, pilots));
        if pilots {
            pilot = look_ahead(store, &experiment, guard, &control, &mut random)?;
        }
        let narrow = |ids: &[Id], blocks: u32| {
            let wide = |width| blocks < BLOCKS || !is_narrow(store, &parts(ids), margin, width);
            width.is_some_and(|width| !wide(width))
        };
        if control.stopped() {
            return Err(Error::Refused("interrupted before the first block".to_owned()));
        }
        Ok(experiment.run(store, guard, &control, &mut random, begun, &narrow)?)
    });
    let ((ids, made, halt), left) = ended?;
    if let Some(error) = &left {
        crate::notice!("tickmark: {}", not_restored(error));
    }
    if made < 2 {
        pilot.iter().for_each(|line| crate::notice!("{line}"));
        let kept = Id::all(&ids);
        return Err(Error::Refused(format!(
            "ended after {made} blocks, too few to compare; saved as {kept}"
        )));
    }
    arms::require_figure(store, &ids)?;
    let parts = parts(&ids);
    Ok(CarriedOut { experiment, ids, parts, made, halt, is_restored: left.is_none(), margin, pilot })
}

/// Puts back what killed experiments left, and says what that was.
fn put_back(store: &Store) -> Result<Code, Error> {
    let restored = restore(store.root());
    let mut lines = restored.done;
    if restored.busy > 0 {
        let busy = tickmark_render::count(restored.busy as u32, "experiment");
        lines.push(format!("{busy} left alone: running, or being restored by another process"));
    }
    if let Some((last, others)) = restored.wrong.split_last() {
        lines.iter().for_each(|line| crate::notice!("{line}"));
        others.iter().for_each(|line| crate::notice!("tickmark: {line}"));
        return Err(Error::Refused(last.clone()));
    }
    let none = "no killed experiment of this user left anything changed on this machine".to_owned();
    crate::command::print(&format!("{}\n", if lines.is_empty() { none } else { lines.join("\n") }))?;
    Ok(Code::Done)
}

/// From the command line and a file to what is to be done; with the width and the margin.
fn plan(
    options: &ExperimentOptions,
    from: experiment::ExperimentRequest,
) -> Result<(Experiment, Option<f64>, f64), Error> {
    let mut outcomes = from.outcomes;
    outcomes.extend(options.command.as_ref().map(|command| Outcome {
        name: "command".to_owned(),
        command: command.clone(),
        take: OutcomeSource::Only,
        better: if options.higher_is_better { Better::Higher } else { Better::Lower },
        limit: Duration::from_secs(600),
    }));
    let select = if options.select.is_empty() { from.probes } else { options.select.clone() };
    // A command of its own is what is looked at, unless probes are named.
    let probes =
        if select.is_empty() && !outcomes.is_empty() { Vec::new() } else { selection::select(&select)? };
    own_names(&outcomes)?;
    let knob::Turned { name: knob_name, knob, settings } = from.knob;
    let width = options.width.or(from.width);
    let blocks = options.blocks.or(from.blocks).unwrap_or(if width.is_some() { MOST } else { BLOCKS });
    let weight = tickmark_drive::plan::weight(&probes);
    let slice = Nanos::new((SLICE.get() * i64::from(weight) / 10).min(BLOCK.get()).max(1));
    let experiment = Experiment {
        name: options.name.clone().or(from.name).unwrap_or_else(|| knob_name.clone()),
        knob_name,
        knob,
        settings,
        probes,
        outcomes,
        programs: Vec::new(),
        looks: Vec::new(),
        primary: Vec::new(),
        blocks,
        slice,
        budget: options.budget.or(from.budget).map(Nanos::to_duration),
        measured: (&options.settings).into(),
        resumed: Vec::new(),
        added: None,
    };
    Ok((experiment, width, options.margin.or(from.margin).unwrap_or(0.01)))
}

/// Refuses a command that has the name of a metric, or of another command: nobody could tell their figures apart.
fn own_names(outcomes: &[Outcome]) -> Result<(), Error> {
    let twice = |at: usize| outcomes[..at].iter().any(|other| other.name == outcomes[at].name);
    if let Some(at) = (1..outcomes.len()).find(|at| twice(*at)) {
        return Err(Error::Usage(format!("two commands have the name {}", outcomes[at].name)));
    }
    if outcomes.is_empty() {
        return Ok(());
    }
    let offers = ThisMachine::catalogue(&[])?.offers;
    let known = |name: &str| {
        offers.iter().any(|offer| {
            offer.probe.as_str() == name || offer.metrics.iter().any(|metric| metric.name.as_str() == name)
        })
    };
    match outcomes.iter().find(|outcome| known(&outcome.name)) {
        Some(own) => Err(Error::Usage(format!("command {} has the name of a probe", own.name))),
        None => Ok(()),
    }
}

/// How long it will take, in words: commands take what they take.
fn duration(experiment: &Experiment, pilot: bool) -> String {
    let (blocks, settings) = (experiment.blocks, experiment.settings.len() as u32);
    let turns = blocks * settings + if pilot { 2 * pilot::PAIRS + 1 } else { 0 };
    let starts = STARTS * experiment.probes.len() as f64;
    // Some are told how long they take.
    let told = experiment.probes.iter().filter_map(|offer| offer.arguments.get("ms")?.parse::<f64>().ok());
    let traced =
        experiment.probes.iter().filter(|offer| progress::is_traced(offer.probe.as_str())).count() as f64;
    let each = experiment.slice.as_f64() / 1e9
        + starts
        + told.sum::<f64>() / 1e3
        + traced * progress::TRACED.as_secs_f64();
    let seconds = f64::from(turns) * each;
    let time = tickmark_render::rough_time(seconds);
    // So many queries take what they take.
    let is_counted = |offer: &tickmark_wire::Offer| {
        offer.arguments.get("queries").is_some_and(|queries| !["0", "time"].contains(&queries.as_str()))
    };
    if experiment.probes.iter().any(is_counted) {
        let first = if pilot { "a pilot, then " } else { "" };
        return format!("{first}{blocks} blocks of {settings} settings: what the queries take");
    }
    let time = match (experiment.probes.is_empty(), experiment.outcomes.is_empty()) {
        (false, true) => format!("about {time}"),
        (false, false) => format!("about {time} and what the commands take"),
        _ => "what the commands take".to_owned(),
    };
    let first = if pilot { "a pilot, then " } else { "" };
    format!("{first}{blocks} blocks of {settings} settings: {time}")
}

/// Looks how far runs spread: how long the blocks take is said at once, and what they will be able to detect is told behind the result.
fn look_ahead(
    store: &Store,
    experiment: &Experiment,
    guard: &Guard<'_>,
    control: &Control,
    random: &mut StdRng,
) -> Result<Vec<String>, Error> {
    let begun = Instant::now();
    let id = experiment.pilot(store, guard, pilot::PAIRS, control, random)?;
    if control.stopped() {
        return Ok(Vec::new());
    }
    // What a turn takes is known now: what is told to do so much takes as long as that takes.
    let turn = begun.elapsed().as_secs_f64() / f64::from(2 * pilot::PAIRS + 1);
    let turns = experiment.blocks * experiment.settings.len() as u32;
    crate::notice!(
        "by the pilot the blocks take about {}",
        tickmark_render::rough_time(turn * f64::from(turns))
    );
    let model = report::build(&store.read(&id)?, &|_| true, false);
    let mut reach = pilot::reach(&model, experiment.blocks, experiment.settings.len());
    smallest_first(&mut reach, |one| one.detectable);
    let percent = |reach: &pilot::Reach| {
        let [point, low, high] =
            [reach.detectable, reach.range.low, reach.range.high].map(|share| share * 100.0);
        if high.is_finite() {
            format!("{point:.2} % ({low:.2} to {high:.2})")
        } else {
            "none of any size".to_owned()
        }
    };
    let (blocks, power) = (experiment.blocks, POWER * 100.0);
    if reach.iter().all(|reach| !reach.range.high.is_finite()) {
        crate::notice!("by the pilot {blocks} blocks detect no change of any size");
    }
    let mut lines = Vec::new();
    let mut say = |line: String| lines.push(line);
    say(format!(
        "smallest change that {blocks} blocks detect with {power} % power (in brackets: its 80 % range, as {} pairs say little of how far runs vary; pilot {id}):",
        pilot::PAIRS
    ));
    let few = reach.len() <= 12;
    if few {
        for one in &reach {
            say(format!("  {} {}: {}", one.metric, one.figure, percent(one)));
        }
    } else if let [best, .., worst] = &reach[..] {
        let middle = &reach[reach.len() / 2];
        say(format!(
            "  {} figures: smallest {} ({} {}),",
            reach.len(),
            percent(best),
            best.metric,
            best.figure
        ));
        say(format!(
            "  median {}, largest {} ({} {})",
            percent(middle),
            percent(worst),
            worst.metric,
            worst.figure
        ));
    }
    let expected = pilot::expected(
        &*experiment.knob,
        &experiment.knob_name,
        &experiment.settings,
        &experiment.measured,
        &model,
    );
    for line in expected {
        say(format!("expected: {line}"));
    }
    Ok(lines)
}

/// True if every interval is this narrow.
fn is_narrow(store: &Store, ids: &[Vec<Id>], margin: f64, width: f64) -> bool {
    // Figures that have no interval never get a narrow one.
    let wide = |model: &Model| model.any(|line| line.half_width().is_some_and(|half| half > width));
    model(store, ids, margin)
        .is_ok_and(|model| model.any(|line| line.half_width().is_some()) && !wide(&model))
}
