//! JSON of the commands that no recording is behind, and the schemas of all.

use crate::cli;
use crate::command::lab::bisect::LabBisected;
use crate::command::lab::config_cost::{ConfigCosts, ConfigStep};
use crate::command::lab::gate::PathCost;
use crate::error::{Code, Error};
use crate::stat::json::StatPage;
use schemars::Schema;
use serde_json::{Map, Value};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use tickmark_analysis::explain::Change;
use tickmark_drive::bisect::Commit;
use tickmark_drive::fleet::Answer;
use tickmark_drive::fleet::links::Measured;
use tickmark_drive::lab::{Measured as CommitMeasured, SymbolChange};
use tickmark_import::Imported;
use tickmark_lab::{Built, Component};
use tickmark_render::json::{self, Page, schema};
use tickmark_render::json_object;
use tickmark_store::{Entry, Id, Meta};
use tickmark_wire::{Better, Format, Headline, Hello, Metric, Name, Offer, Parameter, Picos, Reason, Unit};

json_object! {
    /// What can be measured.
    pub(super) struct ListPage(all: &[(&Offer, &Metric)]) {
        metrics: Vec<MetricPage> = all.iter().map(|(offer, metric)| MetricPage::new(offer, metric)).collect(),
    }

    struct MetricPage(offer: &Offer, metric: &Metric) {
        name: Name = metric.name.clone(),
        title: String = metric.title.trim().to_owned(),
        probe: Name = offer.probe.clone(),
        arguments: tickmark_wire::Arguments = offer.arguments.clone(),
        /// Parameters that the probe takes.
        parameters: Vec<Parameter> = offer.parameters.clone(),
        suite: &'static str = metric.group.suite(),
        unit: Unit = metric.unit,
        better: Better = metric.better,
        /// Which figure stands for a run.
        headline: Headline = metric.headline,
        /// What is timed.
        timed: String = offer.timed.clone(),
        /// System calls.
        needs: Vec<String> = offer.needs.clone(),
        /// Where the definition comes from.
        source: String = offer.source.clone(),
        physical_floor_ps: Picos = metric.physical_floor,
    }

    /// Every probe, run once.
    pub(super) struct VerifyPage(all: &[(String, &'static str, Option<Reason>)]) {
        probes: Vec<VerifiedPage> = all.iter().map(|(probe, status, reason)| VerifiedPage::new(probe, status, reason)).collect(),
    }

    struct VerifiedPage(probe: &str, status: &'static str, reason: &Option<Reason>) {
        probe: String = probe.to_owned(),
        /// `ok`, `unsupported`, `failed` or `timeout`.
        status: &'static str = status,
        reason: Option<Reason> = reason.clone(),
    }

    /// The recordings of a store.
    pub(super) struct RecordingsPage(all: Vec<Entry>) {
        recordings: Vec<Entry> = all,
    }

    /// Recordings that were made of files.
    pub(super) struct ImportPage(recordings: Vec<ImportedPage>, warnings: &[String]) {
        recordings: Vec<ImportedPage> = recordings,
        warnings: Vec<String> = warnings.to_vec(),
    }

    pub(super) struct ImportedPage(id: &Id, name: &str, tool: &str, runs: u64, metrics: usize, host: Option<&Imported>) {
        id: Id = id.clone(),
        name: String = name.to_owned(),
        /// The program that measured.
        tool: String = tool.to_owned(),
        runs: u64 = runs,
        metrics: usize = metrics,
        /// True if all of it came of one execution.
        one_replicate: Option<bool> = host.map(|host| host.is_one_replicate),
        measured_at: Option<String> = host.and_then(|host| host.at).map(|at| at.to_string()),
        /// What was not taken, and why.
        left_out: Vec<String> = host.map(|host| host.left_out.clone()).unwrap_or_default(),
        remarks: Vec<String> = host.map(|host| host.remarks.clone()).unwrap_or_default(),
    }

    /// Figures or observations of a recording, a row each.
    pub(super) struct ExportPage(meta: &Meta, sessions: &[Hello], rows: Vec<Map<String, Value>>) {
        format: Format = meta.format,
        id: Id = meta.id.clone(),
        name: String = meta.name.clone(),
        created: jiff::Timestamp = meta.created,
        sessions: Vec<Hello> = sessions.to_vec(),
        /// By the names of the columns that CSV has.
        rows: Vec<Map<String, Value>> = rows,
    }

    /// What of the lab is there.
    pub(super) struct LabDoctorPage(all: &[Component]) {
        components: Vec<ComponentPage> = all.iter().map(ComponentPage::new).collect(),
    }

    struct ComponentPage(of: &Component) {
        name: String = of.name.clone(),
        needed_for: &'static str = of.needed_for,
        found: Option<String> = of.found.as_ref().ok().cloned(),
        /// Why it is not there.
        missing: Option<String> = of.found.as_ref().err().map(|missing| missing.reason.clone()),
        /// Debian's, that have it.
        packages: Option<Vec<String>> = of.found.as_ref().err().map(|missing| missing.packages.clone()),
    }

    /// Kernels of the lab.
    pub(super) struct LabKernelsPage(all: &[Built]) {
        kernels: Vec<KernelPage> = all.iter().map(KernelPage::new).collect(),
    }

    struct KernelPage(of: &Built) {
        kernel: String = of.kernel.to_string(),
        image: PathBuf = of.image.clone(),
        config: PathBuf = of.config.clone(),
        sha256: String = of.sha256.clone(),
        /// How long it was built just now; none where it was there.
        seconds: Option<f64> = of.seconds,
    }

    /// Two kernels, path by path, in instructions.
    pub(super) struct LabGatePage(recordings: [&String; 2], paths: &[PathCost], without: &[Vec<String>; 2]) {
        /// Of the kernel that is judged by, and of the new one.
        recordings: [String; 2] = recordings.map(Clone::clone),
        paths: Vec<LabPathPage> = paths.iter().map(LabPathPage::new).collect(),
        /// Paths of which the first, then the second kernel gave no count.
        without: [Vec<String>; 2] = without.clone(),
    }

    struct LabPathPage(path: &PathCost) {
        metric: String = path.metric.clone(),
        /// Instructions of each operation where nothing interrupts it.
        base: f64 = path.base,
        new: f64 = path.new,
        difference: f64 = path.new - path.base,
        /// What `--max` allows.
        max: Option<f64> = path.max,
        /// `same`, `grew`, `shrank`, `above --max`.
        verdict: &'static str = path.verdict,
    }

    /// With which commit an operation's instructions changed.
    pub(super) struct LabBisectPage(of: &LabBisected) {
        /// In words.
        answer: String = of.answer(),
        metric: String = of.metric.clone(),
        /// The lab's configuration.
        kernel: String = of.kernel.clone(),
        /// How many commits the range has, with the good end.
        commits: usize = of.commits.len(),
        /// Those that were measured or could not be, in their order.
        measured: Vec<LabCommitPage> = of.commits.iter().zip(&of.measured).filter(|(_, measured)| **measured != CommitMeasured::Open).map(|(commit, measured)| LabCommitPage::new(commit, measured)).collect(),
        /// The commits of which one changed it: one, where all could be measured.
        found: Vec<String> = of.found.iter().flat_map(|found| of.commits[found.clone()].iter().map(|commit| commit.id.clone())).collect(),
        functions: Vec<LabChangePage> = of.changes.iter().map(LabChangePage::new).collect(),
    }

    struct LabCommitPage(commit: &Commit, measured: &CommitMeasured) {
        commit: String = commit.id.clone(),
        subject: String = commit.subject.clone(),
        /// Instructions of the operation, where nothing interrupts it.
        instructions: Option<f64> = measured.value(),
        /// Why there are none.
        failed: Option<String> = match measured {
            CommitMeasured::Failed(why) => Some(why.clone()),
            _ => None,
        },
    }

    /// What each symbol costs by which two configurations of a kernel differ.
    pub(super) struct LabConfigCostPage(of: &ConfigCosts) {
        /// In words.
        answer: String = of.answer(),
        metric: String = of.metric.clone(),
        /// A and B as they were given.
        configurations_compared: Vec<String> = of.names.to_vec(),
        /// Instructions of the operation, where nothing interrupts it: with A, and with B.
        instructions: Vec<Option<f64>> = [of.measured.first(), of.measured.last()].map(|end| end.and_then(CommitMeasured::value)).to_vec(),
        /// The symbols by which they differ.
        symbols: Vec<LabSymbolPage> = of.symbols.iter().map(LabSymbolPage::new).collect(),
        /// Configurations from the first to the second one, and how many of them were measured.
        configurations: usize = of.measured.len(),
        measured: usize = of.measured.iter().filter(|one| one.value().is_some()).count(),
        /// What costs something: the largest first.
        steps: Vec<LabConfigStepPage> = of.steps.iter().map(LabConfigStepPage::new).collect(),
        /// The kernel's functions that changed with the largest step.
        functions: Vec<LabChangePage> = of.changes.iter().map(LabChangePage::new).collect(),
    }

    /// A step between two configurations that costs something.
    struct LabConfigStepPage(of: &ConfigStep) {
        /// Instructions more.
        cost: f64 = of.cost,
        symbols: Vec<LabSymbolPage> = of.symbols.iter().map(LabSymbolPage::new).collect(),
        /// Why configurations within it could not be measured.
        failed: Vec<String> = of.failed.clone(),
    }

    /// A symbol of a configuration that has another value.
    struct LabSymbolPage(of: &SymbolChange) {
        /// Without CONFIG_.
        name: String = of.name.clone(),
        /// Its line in the configuration before; none where it is hidden.
        before: Option<String> = of.before.clone(),
        after: Option<String> = of.after.clone(),
    }

    /// A function that changed.
    struct LabChangePage(of: &Change) {
        name: String = of.name.clone(),
        difference: f64 = of.difference(),
        before: f64 = of.own[0],
        after: f64 = of.own[1],
    }

    /// A matrix of the lab: each machine's settings compared.
    pub(super) struct LabRunPage(machines: Vec<json::ComparisonPage>, explained: Vec<json::ExplainPage>, not_explained: Vec<String>) {
        machines: Vec<json::ComparisonPage> = machines,
        /// Operations that the matrix explains, of one machine after the other.
        explained: Vec<json::ExplainPage> = explained,
        /// Why others are not.
        not_explained: Vec<String> = not_explained,
    }

    /// A survey that has ended.
    pub(super) struct SurveyPage(survey: &Id, folder: &Path, nodes: Vec<Answer>) {
        survey: Id = survey.clone(),
        folder: PathBuf = folder.to_owned(),
        nodes: Vec<Answer> = nodes,
    }

    /// A survey, examined.
    pub(super) struct FleetReportPage(survey: &Id, created: jiff::Timestamp, report: tickmark_analysis::fleet::Model) {
        survey: Id = survey.clone(),
        created: jiff::Timestamp = created,
        report: tickmark_analysis::fleet::Model = report,
    }

    /// Links between the machines of a survey.
    pub(super) struct FleetLinksPage(survey: &Id, folder: &Path, links: Vec<Measured>) {
        survey: Id = survey.clone(),
        folder: PathBuf = folder.to_owned(),
        links: Vec<Measured> = links,
    }

    /// Whether a machine is fit for work.
    pub(super) struct FleetHealthPage(found: &[String], unseen: &[&'static str]) {
        fit: bool = found.is_empty(),
        /// Why it is not.
        found: Vec<String> = found.to_vec(),
        /// Checks that cannot be made here.
        not_visible: Vec<&'static str> = unseen.to_vec(),
    }
}

macro_rules! named {
    ($($page:ty = $name:literal,)*) => {$(
        impl Page for $page {
            const NAME: &'static str = $name;
        }
    )*};
}

named! {
    ListPage = "list",
    VerifyPage = "verify",
    RecordingsPage = "recordings",
    ImportPage = "import",
    ExportPage = "export",
    LabDoctorPage = "lab-doctor",
    LabKernelsPage = "lab-kernels",
    LabGatePage = "lab-gate",
    LabBisectPage = "lab-bisect",
    LabConfigCostPage = "lab-config-cost",
    LabRunPage = "lab-run",
    SurveyPage = "fleet-run",
    FleetReportPage = "fleet-report",
    FleetLinksPage = "fleet-links",
    FleetHealthPage = "fleet-health",
}

/// A page, the commands that print it, and how its schema is made.
struct Known {
    name: &'static str,
    commands: &'static [&'static str],
    schema: fn() -> Schema,
}

const fn known<T: Page>(commands: &'static [&'static str]) -> Known {
    Known { name: T::NAME, commands, schema: schema::<T> }
}

const ALL: [Known; 40] = [
    known::<json::Report>(&["run", "show", "lab boot"]),
    known::<json::Tables>(&["show --lmbench", "compare --lmbench"]),
    known::<ListPage>(&["list"]),
    known::<VerifyPage>(&["verify"]),
    known::<RecordingsPage>(&["recordings"]),
    known::<json::HistoryPage>(&["history"]),
    known::<json::BisectionPage>(&["history --bisect"]),
    known::<json::ComparisonPage>(&["compare", "experiment"]),
    known::<json::VersusPage>(&["versus"]),
    known::<json::PapersPage>(&["experiments"]),
    known::<json::PaperPage>(&["experiments NAME", "experiment NAME"]),
    known::<json::CheckPage>(&["check"]),
    known::<json::ChecksPage>(&["check --new"]),
    known::<json::LimitsPage>(&["check --max", "check --min"]),
    known::<json::LiveLine>(&["live"]),
    known::<json::Recorded<json::DoctorPage>>(&["doctor"]),
    known::<json::TickPage>(&["tick"]),
    known::<json::Recorded<json::WakesPage>>(&["timers"]),
    known::<json::Recorded<json::Scenarios>>(&["timers SCENARIO"]),
    known::<json::Recorded<json::CommsPage>>(&["comms"]),
    known::<json::Recorded<json::BillPage>>(&["bill"]),
    known::<json::Recorded<json::Loads>>(&["http", "sql"]),
    known::<json::Recorded<json::Capacities>>(&["http --find-capacity"]),
    known::<json::Recorded<json::ClockReads>>(&["clock-reads"]),
    known::<json::Recorded<json::DosePage>>(&["dose"]),
    known::<json::Balance>(&["hz"]),
    known::<StatPage>(&["stat"]),
    known::<ImportPage>(&["import"]),
    known::<ExportPage>(&["export"]),
    known::<LabDoctorPage>(&["lab doctor"]),
    known::<LabKernelsPage>(&["lab kernels"]),
    known::<LabGatePage>(&["lab gate"]),
    known::<json::ExplainPage>(&["lab explain"]),
    known::<LabBisectPage>(&["lab bisect"]),
    known::<LabConfigCostPage>(&["lab config-cost"]),
    known::<LabRunPage>(&["lab run", "experiment FILE.toml"]),
    known::<SurveyPage>(&["fleet run", "fleet gather"]),
    known::<FleetReportPage>(&["fleet report"]),
    known::<FleetLinksPage>(&["fleet links"]),
    known::<FleetHealthPage>(&["fleet health"]),
];

/// `tickmark schema`.
pub(super) fn run(options: &cli::Schema) -> Result<Code, Error> {
    if options.command.is_empty() {
        let mut text = String::new();
        for one in &ALL {
            let commands: Vec<String> =
                one.commands.iter().map(|command| format!("tickmark {command}")).collect();
            let _ = writeln!(text, "{:14} {}", one.name, commands.join(", "));
        }
        super::print(&text)?;
        return Ok(Code::Done);
    }
    let name = options.command.join(" ");
    let is_it = |one: &&Known| one.name == name || one.commands.contains(&name.as_str());
    let Some(one) = ALL.iter().find(is_it) else {
        let names = ALL.iter().flat_map(|one| one.commands.iter().copied().chain([one.name]));
        let near = tickmark_store::did_you_mean(&name, names);
        return Err(Error::Usage(format!("no JSON is called {name}{near}; `tickmark schema` lists them")));
    };
    super::print_json(&(one.schema)())?;
    Ok(Code::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_form_names_one_schema() {
        let mut names = std::collections::BTreeSet::new();
        for one in &ALL {
            assert!(names.insert(one.name), "{} stands twice", one.name);
            for form in one.commands.iter().copied().chain([one.name]) {
                let words: Vec<String> = form.split(' ').map(str::to_owned).collect();
                let line = ["tickmark", "schema"].into_iter().chain(words.iter().map(String::as_str));
                let parsed = <cli::Cli as clap::Parser>::try_parse_from(line);
                let Ok(cli::Cli { command: cli::Command::Schema(schema), .. }) = parsed else {
                    panic!("tickmark schema {form} is none");
                };
                assert_eq!(schema.command, words);
                let found = ALL.iter().filter(|known| known.name == form || known.commands.contains(&form));
                assert_eq!(found.map(|known| known.name).collect::<Vec<_>>(), [one.name], "{form}");
            }
            let about = (one.schema)();
            assert!(
                about.get("description").is_some_and(|about| !about.as_str().unwrap().contains("A page")),
                "{}",
                one.name
            );
        }
    }
}
