//! Documents whose experiments come with tickmark: each measured by one command, and shown in its own form.

mod forms;
mod gather;
mod measure;
mod ministat;

pub(in crate::command) use forms::alone;

use crate::cli::{CompareFormat, Experiment, Experiments, Format};
use crate::command::report;
use crate::error::{Code, Error};
use crate::progress::is_interrupted;
use std::path::Path;
use tickmark_analysis::paper::{Agreement, AnsweredClaim, Measure, MeasuredGroup, Paper, evaluate};
use tickmark_drive::file::Length;
use tickmark_render::json::{PaperPage, PapersPage};
use tickmark_render::paper::{Form, PaperReport};
use tickmark_store::Store;

/// The document whose main experiment is requested as a whole; none where probes or settings are chosen.
pub(in crate::command) fn requested(options: &Experiment, what: &str) -> Result<Option<Paper>, Error> {
    let settings: tickmark_wire::Settings = (&options.settings).into();
    let is_whole = options.select.is_empty()
        && options.blocks.is_none()
        && options.budget.is_none()
        && options.width.is_none()
        && options.margin.is_none()
        && options.command.is_none()
        && options.more.is_none()
        && options.fail_on.is_none()
        && options.name.is_none()
        && settings == tickmark_wire::Settings::default()
        && matches!(options.format, CompareFormat::Text | CompareFormat::Json);
    if !is_whole || Path::new(what).exists() {
        return Ok(None);
    }
    Paper::named(what).map_err(Error::Refused)
}

/// `tickmark experiment NAME`: measures everything that a document needs, then shows it.
pub(in crate::command) fn run(
    store: &Store,
    options: &Experiment,
    name: &str,
    paper: &Paper,
) -> Result<Code, Error> {
    let length = if options.quick { Length::Quick } else { Length::Whole };
    let [quick, whole] = paper.minutes;
    let minutes = if options.quick { quick } else { whole };
    let announced = format!(
        "{name}: {}, about {} on two CPUs; kernels that are not built yet are built first",
        tickmark_render::count(paper.experiments.len() as u32, "experiment"),
        tickmark_render::rough_time(60.0 * minutes)
    );
    crate::notice!("{}", tickmark_render::paragraph(&announced));
    let (mut code, mut failures) = (Code::Done, Vec::new());
    let last = paper.experiments.len() - 1;
    for (number, experiment) in paper.experiments.iter().enumerate() {
        crate::notice!("{} of {}: {experiment}", number + 1, paper.experiments.len());
        // The others are measured all the same.
        match measure::measure(store, experiment, length, options) {
            Ok(one) => code = code.worse(one),
            // What earlier recordings showed is no answer to this.
            Err(error) if failures.len() == number && (number == last || is_interrupted()) => {
                return Err(error);
            }
            Err(error) => {
                code = code.worse(Code::Partly);
                crate::notice!("tickmark: {experiment}: {error}");
                failures.push((experiment.as_str(), error.to_string()));
            }
        }
        if is_interrupted() {
            code = code.worse(Code::Partly);
            break;
        }
    }
    let mut shown = Answered::from_store(store, name, paper)?;
    shown.give_reasons(&failures);
    shown.is_quick = options.quick;
    if !shown.answers() {
        code = code.worse(Code::Partly);
    }
    match options.format {
        CompareFormat::Json => crate::command::print_page(&PaperPage::new(&shown.report()))?,
        _ => crate::command::print(&tickmark_render::paper::text(&shown.report()))?,
    }
    Ok(code)
}

/// `tickmark experiments`: lists the documents, or shows one from its last recordings.
pub(in crate::command) fn experiments(store: &Store, options: &Experiments) -> Result<Code, Error> {
    let all = Paper::all().map_err(Error::Refused)?;
    let Some(name) = &options.name else {
        return list(store, &all, options.output.format);
    };
    let Some((name, paper)) = all.iter().find(|(known, _)| known == name) else {
        let near = tickmark_store::did_you_mean(name, all.iter().map(|(known, _)| *known));
        return Err(Error::Usage(format!(
            "no document's experiment is called {name}{near}; `tickmark experiments` lists them"
        )));
    };
    let shown = Answered::from_store(store, name, paper)?;
    if shown.claims.iter().all(|one| one.agreement == Agreement::NotMeasured) {
        return Err(Error::Refused(format!(
            "{name} was not measured yet: {}",
            crate::suggest::command(&format!("experiment {name} --quick"))
        )));
    }
    match (&options.page, options.output.format) {
        (Some(_), Format::Json) => {
            return Err(Error::Usage("give -o for a page or --format json, not both".to_owned()));
        }
        (Some(file), Format::Text) => report::write(file, &tickmark_render::paper::html(&shown.report()))?,
        (None, Format::Json) => crate::command::print_page(&PaperPage::new(&shown.report()))?,
        (None, Format::Text) => crate::command::print(&tickmark_render::paper::text(&shown.report()))?,
    }
    Ok(Code::Done)
}

fn list(store: &Store, all: &[(&'static str, Paper)], format: Format) -> Result<Code, Error> {
    let shown = all.iter().map(|(name, paper)| Answered::without_forms(store, name, paper));
    let shown = shown.collect::<Result<Vec<_>, Error>>()?;
    let reports: Vec<PaperReport<'_>> = shown.iter().map(Answered::report).collect();
    match format {
        Format::Json => crate::command::print_page(&PapersPage::new(&reports))?,
        Format::Text => crate::command::print(&tickmark_render::paper::list(&reports))?,
    }
    Ok(Code::Done)
}

/// A document with what was measured for it.
struct Answered<'a> {
    name: &'a str,
    paper: &'a Paper,
    claims: Vec<AnsweredClaim>,
    forms: Vec<Form>,
    recordings: Vec<String>,
    is_quick: bool,
}

impl<'a> Answered<'a> {
    /// From the last recordings of its experiments.
    fn from_store(store: &Store, name: &'a str, paper: &'a Paper) -> Result<Self, Error> {
        let groups = gather::groups(store, &paper.experiments)?;
        let mut answered = Self::from_groups(name, paper, &groups);
        answered.forms = forms::forms(store, paper, &groups)?;
        Ok(answered)
    }

    fn without_forms(store: &Store, name: &'a str, paper: &'a Paper) -> Result<Self, Error> {
        Ok(Self::from_groups(name, paper, &gather::groups(store, &paper.experiments)?))
    }

    fn from_groups(name: &'a str, paper: &'a Paper, groups: &[MeasuredGroup]) -> Self {
        let line = |group: &MeasuredGroup| {
            let ids = group.settings.iter().zip(&group.recordings).map(|(setting, recording)| {
                let id = recording.meta.id.short();
                if setting.is_empty() { id.to_owned() } else { format!("{setting} {id}") }
            });
            let ids = ids.collect::<Vec<_>>().join(", ");
            format!("{}: {ids} ({})", forms::title(group), gather::made(group))
        };
        Self {
            name,
            paper,
            claims: evaluate(paper, groups),
            forms: Vec::new(),
            recordings: groups.iter().map(line).collect(),
            is_quick: false,
        }
    }

    /// Says of claims without a figure why their experiment failed.
    fn give_reasons(&mut self, failures: &[(&str, String)]) {
        let main = self.paper.experiments.first().map_or("", String::as_str);
        let lacks =
            |one: &&mut AnsweredClaim| one.here.is_err() && !matches!(one.claim.measure, Measure::Nothing(_));
        for one in self.claims.iter_mut().filter(lacks) {
            let experiment = if one.claim.experiment.is_empty() { main } else { &one.claim.experiment };
            if let Some((_, why)) = failures.iter().find(|(failed, _)| *failed == experiment) {
                one.here = Err(why.clone());
            }
        }
    }

    /// True if a figure can be held against a claim of the document.
    fn answers(&self) -> bool {
        let stands =
            |one: &AnsweredClaim| !matches!(one.agreement, Agreement::NotMeasured | Agreement::NotClaimed);
        self.claims.iter().any(stands)
    }

    fn report(&self) -> PaperReport<'_> {
        PaperReport {
            name: self.name,
            paper: self.paper,
            claims: &self.claims,
            forms: &self.forms,
            recordings: &self.recordings,
            is_quick: self.is_quick,
        }
    }
}

#[cfg(test)]
mod tests;
