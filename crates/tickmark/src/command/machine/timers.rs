//! How late each way to wait wakes a program, and how far off rows of timers are.

use crate::cli::{Format, ScenarioOutput, Timers};
use crate::command::looks::Looks;
use crate::command::run::{measured_here, own_name, saved};
use crate::command::threshold::OnThreshold;
use crate::command::{cpus, scenarios};
use crate::error::{Code, Error};
use crate::selection;
use tickmark_analysis::report::{self, Header};
use tickmark_analysis::scenario;
use tickmark_analysis::wakes::{self, Met, Wakes};
use tickmark_drive::plan;
use tickmark_probe::sys::tracepoints;
use tickmark_render::time;
use tickmark_store::{Recording, Store};
use tickmark_wire::{Nanos, Priority, Settings, names};

/// Wake-ups that a run of one way has time for, at least.
const FEWEST: i64 = 10;
/// The part of the duration in which the kernel's events are recorded; not of a duration that is shorter than this.
const RECORDED_PART: i64 = 4;
const SHORTEST: Nanos = Nanos::from_millis(2_000);
/// Ways to wait in which the kernel wakes the program's own thread, the usual one first.
const DIRECT: [&str; 6] = ["nanosleep", "std", "timerfd", "futex", "posix-signal", "nanosleep-relative"];

pub(in crate::command) fn run(store: &Store, options: &Timers) -> Result<Code, Error> {
    if let Some(folder) = &options.plots {
        // Refused now, and not after the measurement.
        std::fs::create_dir_all(folder).map_err(|error| scenarios::unwritable(folder, &error))?;
    }
    if let Some(name) = &options.of {
        let has_timers = |recording: &Recording| {
            !wakes::runs(recording).is_empty() || !scenario::read_scenarios(recording).is_empty()
        };
        let recording = store.find_usable(name, &has_timers)?;
        return show(&[recording], options).map(|_| Code::Done);
    }
    if !options.on_threshold.is_empty() && options.class.iter().any(|class| class == "deadline") {
        return Err(Error::Usage(
            "--on-threshold: under SCHED_DEADLINE the program may be on any CPU, and what ran there is not known; leave --class deadline out"
                .to_owned(),
        ));
    }
    let is_rows = !options.rows.is_empty() || options.rows_from.is_some();
    let threshold = OnThreshold::parse(&options.on_threshold)?;
    let select = if is_rows { scenarios::select(options)? } else { method_arguments(options) };
    let mut offers = selection::select(&select)?;
    let runs = if threshold.is_some() { one_way(offers.len())? } else { options.runs };
    if !is_rows {
        enough_time(options, runs, offers.len() as i64)?;
    }
    if options.timerlat {
        let parts = i64::from(runs) * (offers.len() as i64 + 1) * 1_000_000_000;
        let seconds = (options.duration.get() / parts).clamp(1, 600);
        offers.extend(selection::select(&[format!("{}:seconds={seconds}", names::TIMERLAT)])?);
    }
    let mut duration = options.duration;
    let part = options.duration.get() / RECORDED_PART / i64::from(runs.max(1)) / 1_000_000;
    let millis = part.clamp(100, 60_000);
    if let Some(recorded) = recorded_arguments(options, millis).filter(|_| threshold.is_none() && !is_rows) {
        offers.extend(selection::select(&[recorded])?);
        if tracepoints::available("timers").is_ok() {
            let recorded = millis * i64::from(runs) * 1_000_000;
            duration = Nanos::new((duration.get() - recorded).max(duration.get() / 2));
        }
    }
    let listed = cpus::resolve(&options.cpus)?;
    let name = own_name(options.name.as_deref());
    let plan = |cpu: &Option<u32>| {
        let own: Settings = (&options.settings).into();
        let Settings { stop_above, stop_tracing, .. } = OnThreshold::settings(threshold.as_ref());
        let settings = Settings { cpu: cpu.or(own.cpu), stop_above, stop_tracing, ..own };
        let made = plan::make(&offers, runs, Some(duration), settings, threshold.is_some(), &mut rand::rng());
        (cpus::named(&name, *cpu, listed.len()), made)
    };
    let plans: Vec<_> = listed.iter().map(plan).collect();
    let looks = if options.live { Some(Looks::new(listed.len())?) } else { None };
    let met = |made: &Recording| wakes::met(made).is_some();
    let (made, stopped) = measured_here(store, &plans, &select, &met, looks.as_ref())?;
    let (several, mut recordings) = (made.len() > 1, Vec::new());
    for made in made {
        match made {
            Ok(recording) => recordings.push(recording),
            // What the others saw is shown all the same.
            Err(error) if several => crate::notice!("tickmark: {error}"),
            Err(error) => return Err(error),
        }
    }
    let all = show(&recordings, options)? && recordings.len() == listed.len();
    let met = recordings.iter().find_map(|recording| Some((recording, wakes::met(recording)?)));
    if options.output.format == Format::Text
        && !options.cyclictest
        && options.scenario_output != ScenarioOutput::Values
    {
        recordings.iter().try_for_each(|recording| saved(recording, stopped, "timers --of"))?;
    }
    match (&threshold, met) {
        (Some(on), Some((recording, met))) => return act(on, &met, recording).map(|()| Code::Differs),
        (Some(on), None) => {
            let waited: usize = recordings.iter().flat_map(wakes::runs).map(|run| run.late.len()).sum();
            if waited > 0 {
                crate::notice!("none of {waited} wake-ups was later than {}", time(on.above.as_f64()));
            }
        }
        (None, _) => {}
    }
    Ok(if all && !stopped { Code::Done } else { Code::Partly })
}

/// Checks that a threshold has one way and one run: the first late wake-up ends it.
fn one_way(ways: usize) -> Result<u32, Error> {
    match ways {
        1 => Ok(1),
        _ => Err(Error::Usage(format!(
            "--on-threshold: {ways} ways to wait, of which the first late one would end all; give one, such as --methods nanosleep"
        ))),
    }
}

/// Says what ran during the wake-up that was too late, and carries out what was asked for.
fn act(on: &OnThreshold, met: &Met, recording: &Recording) -> Result<(), Error> {
    crate::notice!("{}", tickmark_render::wakes::met(met));
    let variables = [("TICKMARK_LATE_NS", met.late.to_string()), ("TICKMARK_RAN", met.tasks.join(", "))];
    on.act(recording, &variables)
}

/// A run of so few wake-ups says nothing, and may not end before its limit.
fn enough_time(options: &Timers, runs: u32, ways: i64) -> Result<(), Error> {
    let all = FEWEST * options.interval.get() * i64::from(runs) * ways;
    if options.duration.get() >= all {
        return Ok(());
    }
    let seconds = all / 1_000_000_000 + 1;
    Err(Error::Usage(format!(
        "--duration: too short for {FEWEST} wake-ups in each of {runs} runs of {ways} ways; give {seconds}s, a shorter --interval or fewer ways"
    )))
}

/// The probe of wake-ups with each combination that is asked for.
fn method_arguments(options: &Timers) -> Vec<String> {
    let ahead = options.interval.get() / 1_000;
    let has_threshold = !options.on_threshold.is_empty();
    let late = if has_threshold { ",late=ends" } else { "" };
    let usual = [DIRECT[0].to_owned()];
    // One way is to end all: the usual one where none is named.
    let methods = if has_threshold && options.methods == names::WAYS { &usual[..] } else { &options.methods };
    let mut select = Vec::new();
    for method in methods {
        for class in &options.class {
            for idle in &options.idle {
                let arguments = format!("ahead={ahead},method={method},class={class},idle={idle}{late}");
                select.push(format!("{}:{arguments}", names::WAKE));
            }
        }
    }
    select
}

/// The probe that has the kernel's events beside it, of the first way that it knows; what is refused says why in the recording.
fn recorded_arguments(options: &Timers, millis: i64) -> Option<String> {
    let class = options.class.iter().find(|class| *class != "deadline")?;
    let method = DIRECT.into_iter().find(|method| options.methods.iter().any(|own| own == method))?;
    let (ahead, idle) = (options.interval.get() / 1_000, options.idle.first()?);
    let arguments = format!("ahead={ahead},method={method},class={class},idle={idle},ms={millis}");
    (options.duration >= SHORTEST).then(|| format!("{}:{arguments}", names::RECORDED_WAKE))
}

/// True if everything that the recordings were to have is in them.
fn show(recordings: &[Recording], options: &Timers) -> Result<bool, Error> {
    let Some(recording) = recordings.first() else {
        return Err(Error::Refused("nothing was measured".to_owned()));
    };
    let scenarios = scenario::read_scenarios(recording);
    if !scenarios.is_empty() {
        return scenarios::show(recording, &scenarios, options);
    }
    let lengths: Vec<f64> = options.late.iter().map(|length: &Nanos| length.as_f64()).collect();
    let tails =
        wakes::TailRequest { lengths: &lengths, confidence: options.confidence, bound: options.bound };
    let of = |recording: &Recording| {
        let id = &recording.meta.id;
        let none = || {
            Error::Usage(format!(
                "recording {id} has no wake-ups; `{}` measures them",
                crate::suggest::command("timers")
            ))
        };
        let cpu = recording.sessions.first().map(|session| session.settled.cpu);
        Ok((cpu, wakes::summarize_wake_ups(recording, &tails).ok_or_else(none)?))
    };
    let wakes = Wakes::together(recordings.iter().map(of).collect::<Result<Vec<_>, Error>>()?);
    let wakes = wakes.ok_or_else(|| Error::Refused("nothing was measured".to_owned()))?;
    if options.cyclictest {
        crate::command::write(&tickmark_render::cyclictest::text(&wakes, priority(recording)))?;
    } else if options.output.format == Format::Json {
        let headers: Vec<Header> = recordings.iter().map(built).collect();
        crate::command::print_recorded(recording, tickmark_render::json::WakesPage::new(&wakes, &headers))?;
    } else {
        let others: Vec<Header> = recordings[1..].iter().map(built).collect();
        let lines = others.iter().flat_map(|other| {
            tickmark_render::report::changed(other).map(|line| format!("CPU {}: {line}\n", cpu(other)))
        });
        let lines: String = lines.collect();
        let lines = if lines.is_empty() { lines } else { lines + "\n" };
        crate::command::print_framed(recording, &(lines + &tickmark_render::wakes::text(&wakes)))?;
    }
    Ok(wakes.ways.iter().all(|way| way.summary.is_ok()))
}

/// Of real-time scheduling, as the plan asks for it.
fn priority(recording: &Recording) -> u8 {
    match recording.meta.plan.settings.priority {
        Priority::Fifo(level) => level,
        Priority::Other | Priority::Unknown(_) => 0,
    }
}

fn built(recording: &Recording) -> Header {
    report::build(recording, &|_| false, false).header
}

/// Where a recording was measured, in words.
fn cpu(header: &Header) -> String {
    header.settled.as_ref().map_or_else(|| "?".to_owned(), |settled| settled.cpu.to_string())
}
