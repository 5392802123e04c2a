//! The gate: new recordings against the earlier ones of their machine, or against limits.

mod calibrate;
mod files;
mod found;
pub(in crate::command) mod limits;

use crate::cli::{Check, CheckFormat, FailOn};
use crate::command::gates::{Gate, Trial};
use crate::error::{Code, Error};
use crate::selection::Named;
use crate::suggest::command;
use found::CheckedRecordings;
use std::fs::OpenOptions;
use std::io::Write;
use tickmark_analysis::gate::{self, Calibrated, Checked, Figures, Line};
use tickmark_analysis::report;
use tickmark_render::gate as render;
use tickmark_render::json::{CheckPage, ChecksPage};
use tickmark_store::{Error as StoreError, Id, Recording, Store};

/// So many recordings are tried together where it is told how many find what is asked.
const TOGETHER: [usize; 6] = [1, 2, 3, 5, 8, 12];

/// What is written at once, of several results of a file.
#[derive(Default)]
struct Gathered {
    suites: Vec<render::Suite>,
    pages: Vec<CheckPage>,
    /// Results that could not be judged: the name, and why.
    unjudged: Vec<(String, String)>,
    /// Of files, which may have several results each: one is told as several are.
    is_of_files: bool,
}

impl Gathered {
    /// Who reads the output finds one, also where nothing could be judged.
    fn write(mut self, format: CheckFormat) -> Result<(), Error> {
        let unjudged = self.unjudged.iter().map(|(name, why)| render::Suite::unjudged(name, why));
        self.suites.extend(unjudged);
        match format {
            CheckFormat::Junit => crate::command::write(&render::junit(&self.suites)),
            CheckFormat::Gitlab => crate::command::write(&render::code_quality(&self.suites)),
            CheckFormat::Json => match (&self.pages[..], &self.unjudged[..]) {
                ([], []) => Ok(()),
                ([page], []) if !self.is_of_files => crate::command::print_page(page),
                _ => crate::command::print_page(&ChecksPage::new(self.pages, &self.unjudged)),
            },
            CheckFormat::Markdown | CheckFormat::Github => {
                self.unjudged.iter().try_for_each(|(name, why)| {
                    let (annotation, page) = render::unjudged(name, why);
                    if format == CheckFormat::Github {
                        github(&annotation, &page)
                    } else {
                        crate::command::write(&page)
                    }
                })
            }
            CheckFormat::Text => Ok(()),
        }
    }
}

/// Judges, and writes what several results have one file for.
pub(in crate::command) fn run(store: &Store, options: &Check) -> Result<Code, Error> {
    let is_of_files = !options.new.is_empty() || !options.history.is_empty();
    let mut gathered = Gathered { is_of_files, ..Gathered::default() };
    let judged = judge(store, options, &mut gathered);
    if let Err(Error::Unjudged(why)) = &judged {
        gathered.unjudged.push((String::new(), why.clone()));
    }
    if matches!(judged, Ok(_) | Err(Error::Unjudged(_))) {
        gathered.write(options.format)?;
    }
    judged
}

fn judge(store: &Store, options: &Check, gathered: &mut Gathered) -> Result<Code, Error> {
    if gathered.is_of_files {
        return files::run(options, gathered);
    }
    // The last of any kind is one that `run` made; one of a command is named.
    let is_last = options.recording.starts_with("last");
    let has_figures = |recording: &Recording| {
        let is_meant = recording.is_history() && (recording.meta.arm.is_none() || !is_last);
        is_meant && !gate::figures(recording, &|_, _| true).is_empty()
    };
    let newest = store.find_usable(&options.recording, &has_figures).map_err(|error| match error {
        // Nothing was measured yet: no fault of who asks.
        StoreError::Empty { .. } | StoreError::Unknown { .. } | StoreError::NoneUsable { .. }
            if options.recording.starts_with("last") =>
        {
            Error::Unjudged(format!("{error}: nothing to judge; `{}` makes one", command("run")))
        }
        error => error.into(),
    })?;
    if !newest.complete() {
        let id = &newest.meta.id;
        let resume = command(&format!("run --resume {id}"));
        return Err(Error::Refused(format!("recording {id} is not complete: `{resume}`")));
    }
    if !options.max.is_empty() || !options.min.is_empty() {
        return limits::run(&newest, options, false, &mut gathered.suites);
    }
    let only = Named::new("--only", &options.only, newest.meta.plan.metrics.iter());
    let figures = |recording: &Recording| gate::figures(recording, &|group, row| only.picks(group, row));
    let own = figures(&newest);
    only.each_fits()?;
    if own.is_empty() {
        return Err(Error::Usage(format!("recording {} has no figure to judge", newest.meta.id)));
    }
    let of = found::identity(&newest, options);
    let gate = Gate::read(store, &of)?;
    let found = CheckedRecordings::find(store, &newest, &gate, options)?.of_today(&gate, &figures);
    if options.save_baseline {
        return save_baseline(store, &of, &found);
    }
    if options.accept {
        return accept(store, &of, &found);
    }
    if options.calibrate {
        let found = calibrate::run(store, &of, found, options, &figures)?;
        let gate = Gate::read(store, &of)?;
        return verdict(store, &of, &gate, &found, options, &figures, gathered);
    }
    verdict(store, &of, &gate, &found, options, &figures, gathered)
}

fn verdict(
    store: &Store,
    of: &str,
    gate: &Gate,
    found: &CheckedRecordings,
    options: &Check,
    figures: &dyn Fn(&Recording) -> Figures,
    gathered: &mut Gathered,
) -> Result<Code, Error> {
    let all = |side: &[Recording]| side.iter().map(figures).collect::<Vec<Figures>>();
    let (earlier, new) = (all(&found.earlier), all(&found.new));
    let environments = found.earlier.first().map(|before| (before, &found.new[..]));
    let checked = gate::check(&earlier, &new, environments);
    let newest = &found.new[0];
    let needed = gate::FEWEST;
    if checked.counts[0] == 0 && newest.imported.is_some() {
        return Err(Error::Unjudged(format!(
            "no earlier result of {} by this program: {needed} are needed; until then limits judge, such as --max METRIC=VALUE",
            newest.meta.name
        )));
    }
    if checked.counts[0] == 0 {
        return Err(Error::Unjudged(format!(
            "no earlier recording of this machine ({}) measured the same in the same manner{}: {} are needed; `{}` lists what there is, `{}` makes them",
            gate::machine(newest, true),
            if options.any_host { "" } else { " (--any-host: whatever its name)" },
            gate::FEWEST,
            command("recordings"),
            command("check --calibrate")
        )));
    }
    let trials: Vec<Figures> = gate.trials.iter().map(Trial::figures).collect();
    let fails = |line: &Line| fails(line, options);
    let measured =
        Calibrated::from_recordings(&earlier, &trials, options.last as usize, &checked.lines, &fails);
    // The fewest recordings judged together that find what is asked, by the same trials.
    let enough = TOGETHER.into_iter().filter(|_| measured.is_some()).find(|together| {
        let all = Calibrated::from_recordings(&earlier, &trials, *together, &checked.lines, &fails);
        all.is_some_and(|all| all.found_often(options.detect.0, options.detect.1))
    });
    let minutes = enough.map(|_| report::build(newest, &|_| true, false).header.seconds / 60.0);
    let last = gate.trials.last();
    let calibration = measured.zip(last).map(|(calibrated, last)| render::Calibration {
        at: last.at.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        kernel: last.kernel.clone(),
        false_alarm: options.false_alarm,
        detect: options.detect,
        enough: enough.zip(minutes).map(|(together, minutes)| (together, together as f64 * minutes)),
        calibrated,
    });
    // Nobody can make trials of what another program measured.
    let is_armed = options.accept_uncalibrated
        || newest.imported.is_some()
        || calibration.as_ref().is_some_and(render::Calibration::is_armed);
    let code = judged(&checked, is_armed, options);
    let page = render::Page {
        id: newest.meta.id.to_string(),
        name: newest.meta.name.clone(),
        checked: &checked,
        calibration,
        older: found.older.clone(),
        is_baseline: !gate.baseline.is_empty(),
        is_imported: newest.imported.is_some(),
        fails: &fails,
        code: code.number(),
    };
    match options.format {
        CheckFormat::Text => crate::command::print(&page.text()),
        CheckFormat::Json => {
            gathered.pages.push(CheckPage::new(&page));
            Ok(())
        }
        CheckFormat::Markdown => crate::command::write(&page.markdown()),
        CheckFormat::Junit | CheckFormat::Gitlab => {
            gathered.suites.push(page.suite());
            Ok(())
        }
        CheckFormat::Github => github(&page.annotations(), &page.markdown()),
    }?;
    remember(store, of, gate, found, &checked, code)?;
    Ok(code)
}

/// Remembers a result. A recording that differs is not in the history until one is as before, or it is accepted: otherwise a second check
/// would pass.
fn remember(
    store: &Store,
    of: &str,
    gate: &Gate,
    found: &CheckedRecordings,
    checked: &Checked,
    code: Code,
) -> Result<(), Error> {
    if code == Code::Differs {
        let new = found.new.iter().map(|recording| recording.meta.id.clone());
        let more: Vec<Id> = new.filter(|id| !gate.claimed.contains(id)).collect();
        if more.is_empty() { Ok(()) } else { Gate::change(store, of, |gate| gate.claimed.extend(more)) }
    } else if checked.can_tell() && !gate.claimed.is_empty() && !checked.lines.iter().any(Line::changed) {
        Gate::change(store, of, |gate| gate.claimed.clear())
    } else {
        Ok(())
    }
}

fn fails(line: &Line, options: &Check) -> bool {
    match options.fail_on {
        FailOn::Changed => line.changed(),
        FailOn::Beyond => line.changed() && (line.judged.ratio - 1.0).abs() > options.margin,
        FailOn::Worse => line.worse(),
    }
}

/// Exit code of a check: changed; not judged; unchanged, by a gate that would have seen a change.
fn judged(checked: &Checked, is_armed: bool, options: &Check) -> Code {
    let failing = |line: &&Line| fails(line, options);
    // What other tasks may have done, what has no direction, and what gave less than it should.
    let open = |line: &Line| {
        let is_beyond = (line.judged.ratio - 1.0).abs() > options.margin;
        (line.is_open() && (options.fail_on != FailOn::Beyond || is_beyond))
            || (line.contended && fails(line, options))
            || (options.fail_on == FailOn::Worse && line.changed() && !line.has_direction())
            || line.partly
    };
    match () {
        () if checked.lines.iter().filter(failing).any(|line| !line.contended) => Code::Differs,
        () if !checked.can_tell() || checked.lines.iter().any(open) || !checked.without.is_empty() => {
            Code::Unjudged
        }
        () if is_armed => Code::Done,
        () => Code::Unjudged,
    }
}

fn save_baseline(store: &Store, of: &str, found: &CheckedRecordings) -> Result<Code, Error> {
    let all = found.new.iter().chain(&found.earlier);
    let ids: Vec<Id> = all.map(|recording| recording.meta.id.clone()).collect();
    Gate::change(store, of, |gate| {
        gate.baseline.clone_from(&ids);
        gate.claimed.clear();
    })?;
    let count = tickmark_render::count(ids.len() as u32, "recording");
    crate::command::print(&format!("{count}: what later ones are judged by from now on\n"))?;
    Ok(Code::Done)
}

/// A change that is meant: what came before it is no measure any more.
fn accept(store: &Store, of: &str, found: &CheckedRecordings) -> Result<Code, Error> {
    let oldest = found.new.iter().min_by_key(|recording| recording.meta.created);
    let Some(oldest) = oldest else { return Ok(Code::Done) };
    Gate::change(store, of, |gate| {
        gate.since = Some(oldest.meta.created);
        gate.baseline.clear();
        gate.claimed.clear();
        gate.trials.clear();
    })?;
    crate::command::print(&format!(
        "{} and what comes after it is what later ones are judged by; {} such are needed, which `{}` makes\n",
        oldest.meta.id,
        gate::FEWEST,
        command("check --calibrate")
    ))?;
    Ok(Code::Done)
}

/// Annotations to standard output; the summary where the runner wants it.
fn github(annotations: &str, summary: &str) -> Result<(), Error> {
    if let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY") {
        let file = OpenOptions::new().append(true).create(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(summary.as_bytes()));
        written.map_err(|source| Error::File { path: path.into(), source })?;
    }
    crate::command::write(annotations)
}
