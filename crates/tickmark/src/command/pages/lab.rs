//! JSON of the lab's commands.

use crate::command::lab::bisect::LabBisected;
use crate::command::lab::config_cost::{ConfigCosts, ConfigStep};
use crate::command::lab::gate::PathCost;
use crate::command::lab::gate::price::{PricedChange, PricedChanges};
use std::collections::BTreeMap;
use std::path::PathBuf;
use tickmark_analysis::explain::Change;
use tickmark_analysis::price::Price;
use tickmark_drive::bisect::Commit;
use tickmark_drive::lab::{Measured as CommitMeasured, SymbolChange};
use tickmark_lab::{Built, Component};
use tickmark_render::json;
use tickmark_render::json_object;

json_object! {
    /// What of the lab is there.
    pub(in crate::command) struct LabDoctorPage(all: &[Component]) {
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
    pub(in crate::command) struct LabKernelsPage(all: &[Built]) {
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
    pub(in crate::command) struct LabGatePage(recordings: [&String; 2], paths: &[PathCost], without: &[Vec<String>; 2], neither: &[String], price: Option<&PricedChanges>) {
        /// Of the kernel that is judged by, and of the new one.
        recordings: [String; 2] = recordings.map(Clone::clone),
        paths: Vec<LabPathPage> = paths.iter().map(LabPathPage::new).collect(),
        /// Paths of which the first, then the second kernel gave no count.
        without: [Vec<String>; 2] = without.clone(),
        /// Paths of which neither gave one.
        neither: Vec<String> = neither.to_vec(),
        /// Of the machine of `--price`, over all kinds of paths.
        price: Option<LabPricePage> = price.map(|price| LabPricePage::new(price.prices.all)),
        /// By kind of path, of those kinds that have five or more.
        price_by_kind: BTreeMap<String, LabPricePage> = price.map(|price| &price.prices.kinds).into_iter().flatten().map(|(kind, price)| (kind.clone(), LabPricePage::new(*price))).collect(),
        /// What the changes cost there.
        predictions: Vec<LabPredictionPage> = price.into_iter().flat_map(|price| &price.changes).map(LabPredictionPage::new).collect(),
    }

    /// What the change of a path costs on a real machine, in ns.
    struct LabPredictionPage(change: &PricedChange) {
        metric: String = change.metric.clone(),
        /// At the cheapest, the median and the dearest price.
        least: f64 = change.prediction.nanos[0],
        middle: f64 = change.prediction.nanos[1],
        most: f64 = change.prediction.nanos[2],
        /// The kind of path whose prices these are, else null.
        kind: Option<String> = change.prediction.kind.clone(),
        /// By how much the path takes longer in the recording of `--grade`, at the pace of the machine of `--price`.
        measured: Option<f64> = change.grade.map(|grade| grade.measured),
        /// By how much it may differ anyway.
        noise: Option<f64> = change.grade.map(|grade| grade.noise),
        /// True if it was in the predicted range, to within the noise; null where no change at all would be, too, or nothing graded.
        held: Option<bool> = change.grade.and_then(|grade| grade.held),
    }

    /// What an instruction of these paths takes on a real machine, in ns.
    struct LabPricePage(price: Price) {
        /// Paths that are both counted and measured.
        paths: usize = price.paths,
        low: f64 = price.low,
        median: f64 = price.median,
        high: f64 = price.high,
        /// The chance that another path like these lies in the range.
        coverage: f64 = price.coverage(),
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
    pub(in crate::command) struct LabBisectPage(of: &LabBisected) {
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
    pub(in crate::command) struct LabConfigCostPage(of: &ConfigCosts) {
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
    pub(in crate::command) struct LabRunPage(machines: Vec<json::ComparisonPage>, explained: Vec<json::ExplainPage>, not_explained: Vec<String>) {
        machines: Vec<json::ComparisonPage> = machines,
        /// Operations that the matrix explains, of one machine after the other.
        explained: Vec<json::ExplainPage> = explained,
        /// Why others are not.
        not_explained: Vec<String> = not_explained,
    }
}
