//! JSON of the commands that no recording is behind, and the schemas of all.

use crate::cli;
use crate::error::{Code, Error};
use crate::stat::json::StatPage;
use serde_json::{Map, Value};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use tickmark_drive::fleet::Answer;
use tickmark_drive::fleet::links::Measured;
use tickmark_import::Imported;
use tickmark_render::json::{self, Page};
use tickmark_render::json_object;
use tickmark_store::{Entry, Id, Meta};
use tickmark_wire::{Better, Format, Headline, Hello, Metric, Name, Offer, Parameter, Picos, Reason, Unit};

mod lab;

pub(super) use lab::{
    LabBisectPage, LabConfigCostPage, LabDoctorPage, LabGatePage, LabKernelsPage, LabRunPage,
};

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

/// A page, the commands that print it, and how its schema in docs/schema is made.
struct PageEntry {
    name: &'static str,
    commands: &'static [&'static str],
    #[cfg(test)]
    schema: fn() -> json::schemars::Schema,
}

const fn known<T: Page>(commands: &'static [&'static str]) -> PageEntry {
    PageEntry {
        name: T::NAME,
        commands,
        #[cfg(test)]
        schema: json::schema::<T>,
    }
}

const ALL: [PageEntry; 40] = [
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
            let _ = writeln!(text, "{:15} {}", one.name, commands.join(", "));
        }
        super::print(&text)?;
        return Ok(Code::Done);
    }
    let name = options.command.join(" ");
    let is_it = |one: &&PageEntry| one.name == name || one.commands.contains(&name.as_str());
    let Some(one) = ALL.iter().find(is_it) else {
        let names = ALL.iter().flat_map(|one| one.commands.iter().copied().chain([one.name]));
        let near = tickmark_store::did_you_mean(&name, names);
        return Err(Error::Usage(format!("no JSON is called {name}{near}; `tickmark schema` lists them")));
    };
    let schemas = schemas()?;
    let missing = || Error::Refused(format!("this program was built without docs/schema/{}.json", one.name));
    super::print_json(schemas.get(one.name).ok_or_else(missing)?)?;
    Ok(Code::Done)
}

/// The schemas of docs/schema by name, packed by build.rs.
fn schemas() -> Result<Value, Error> {
    let packed: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/schemas.gz"));
    std::io::read_to_string(flate2::read::GzDecoder::new(packed))
        .map_err(serde_json::Error::io)
        .and_then(|text| serde_json::from_str(&text))
        .map_err(|e| Error::Refused(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

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

    /// docs/schema is what the types say; `cargo xtask docs` writes it.
    #[test]
    fn the_schemas_are_those_of_the_types() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
        let made: BTreeMap<PathBuf, String> = (ALL.iter())
            .map(|one| (folder.join(format!("{}.json", one.name)), (one.schema)()))
            .map(|(path, schema)| (path, serde_json::to_string_pretty(&schema).unwrap() + "\n"))
            .collect();
        if std::env::var_os("TICKMARK_WRITE_REFERENCE").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            let there = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
            there
                .filter(|path| !made.contains_key(path))
                .for_each(|path| std::fs::remove_file(path).unwrap());
            // What did not change keeps its time: the build goes by it.
            let changed =
                made.iter().filter(|(path, text)| std::fs::read_to_string(path).ok().as_ref() != Some(*text));
            changed.for_each(|(path, text)| std::fs::write(path, text).unwrap());
        }
        let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let written: BTreeMap<PathBuf, String> =
            files.map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect();
        let stale: Vec<_> =
            made.keys().chain(written.keys()).filter(|path| made.get(*path) != written.get(*path)).collect();
        assert!(stale.is_empty(), "stale: {stale:?}; cargo xtask docs writes them");
    }
}
