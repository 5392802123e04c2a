//! Commands side by side.

use super::{ComparisonPage, Page};
use crate::json_object;
use crate::versus;
use tickmark_analysis::versus::{Subject, Versus};
use tickmark_stats::{Interval, median, spread};
use tickmark_wire::{Metric, Unit};

json_object! {
    /// Commands that were run side by side. Times in ns, memory in bytes.
    pub struct VersusPage(of: &Versus, notes: &[String], width: Option<f64>) {
        /// The verdicts, for a person.
        answer: Vec<String> = versus::answer(of),
        /// The metrics that carry them.
        primary: Vec<String> = of.primary.clone(),
        /// True if every verdict is reached.
        decided: bool = of.is_decided(width),
        commands: Vec<CommandPage> = of.subjects.iter().map(CommandPage::new).collect(),
        /// How they compare with the first; none of a single command.
        comparison: Option<ComparisonPage> = of.comparison.as_ref().map(|model| ComparisonPage::new(model, None)),
        notes: Vec<String> = versus::notes(of).into_iter().chain(notes.iter().cloned()).collect(),
    }

    struct CommandPage(of: &Subject) {
        letter: char = of.letter,
        label: String = of.label.clone(),
        command: String = of.command.clone(),
        id: tickmark_store::Id = of.id.clone(),
        /// Why runs failed.
        failed: Vec<String> = of.failed.clone(),
        /// Blocks that other tasks took part in.
        contended_blocks: usize = of.disturbed.contended,
        /// Share of the time that the hypervisor took.
        steal: f64 = of.disturbed.steal,
        metrics: Vec<ExecutedPage> = of.metrics.iter().filter_map(|metric| ExecutedPage::measured(of, metric)).collect(),
    }

    struct ExecutedPage(of: &Subject, metric: &Metric, mean: f64, interval: Option<Interval>) {
        metric: String = metric.name.as_str().to_owned(),
        unit: Unit = metric.unit,
        /// Of the blocks, of each the mean of its runs: what the verdict compares.
        mean: f64 = mean,
        /// Where that lies with 95 %, at whichever look it ended.
        between: Option<[f64; 2]> = interval.map(|interval| [interval.low, interval.high]),
        /// The median of all runs.
        median: Option<f64> = median(of.all(metric.name.as_str())),
        /// The standard deviation of all runs.
        deviation: Option<f64> = spread(&of.all(metric.name.as_str())).map(|spread| spread.deviation),
        blocks: usize = of.blocks(metric.name.as_str()).len(),
        runs: usize = of.all(metric.name.as_str()).len(),
    }
}

impl ExecutedPage {
    fn measured(of: &Subject, metric: &Metric) -> Option<Self> {
        let (mean, interval) = of.mean(metric.name.as_str())?;
        Some(Self::new(of, metric, mean, interval))
    }
}

impl Page for VersusPage {
    const NAME: &'static str = "versus";
}
