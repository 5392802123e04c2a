//! From recordings to the figure of each claim.

use super::{
    Agreement, AnsweredClaim, Change, Claim, DoseQuantity, Figure, Measure, Paper, TimerChoice, Timers,
    messages,
};
use crate::comparison::{Line, Model};
use crate::dose::summarize_dose;
use crate::scenario::{Timer, read_scenarios};
use crate::{hz, report};
use tickmark_stats::Interval;
use tickmark_store::Recording;

/// ns by which a read of ACPI-Fast is slower than one of the TSC (timecounter-cost.txt).
const ACPI_FAST: f64 = 58.0;

/// Recordings of one machine of an experiment, or of one knob: a setting each.
pub struct MeasuredGroup {
    /// The experiment.
    pub experiment: String,
    /// Machine and speed; empty where nothing is booted.
    pub machine: String,
    /// Settings in their order; the first is what the others are compared with.
    pub settings: Vec<String>,
    /// The recording of each.
    pub recordings: Vec<Recording>,
    /// The settings compared; none of a single one.
    pub model: Option<Model>,
    /// Columns of lmbench that the document has, too.
    pub columns: Vec<LmbenchColumn>,
}

/// A column of lmbench's tables in the document and here. Changes in per cent.
#[derive(Debug, Clone)]
pub struct LmbenchColumn {
    /// Title of its table.
    pub table: String,
    /// Its metric.
    pub metric: &'static str,
    /// Change in the document.
    pub document: f64,
    /// True if the document's own runs tell its sides apart.
    pub decided: bool,
    /// Change here.
    pub here: Option<f64>,
}

impl LmbenchColumn {
    /// True if the change here has the document's sign, and half of its size to twice as much.
    #[must_use]
    pub fn is_explained(&self) -> bool {
        self.here.is_some_and(|here| (0.5..=2.0).contains(&(self.document / here)))
    }
}

/// Answers every claim of a document, in its order.
#[must_use]
pub fn evaluate(paper: &Paper, groups: &[MeasuredGroup]) -> Vec<AnsweredClaim> {
    let main = paper.experiments.first().map_or("", String::as_str);
    let answered = |claim: &Claim| {
        let here = figure(claim, groups, main).map(|figure| figure.scaled(claim.unit.scale()));
        let agreement = match (&here, claim.agrees) {
            (Err(_), _) => Agreement::NotMeasured,
            (Ok(figure), Some(range)) => figure.agreement(range),
            (Ok(_), None) => Agreement::Undecided,
        };
        AnsweredClaim { claim: claim.clone(), here, agreement }
    };
    paper.claim.iter().map(answered).collect()
}

fn figure(claim: &Claim, groups: &[MeasuredGroup], main: &str) -> Result<Figure, String> {
    if let Measure::Nothing(why) = &claim.measure {
        return Err(why.clone());
    }
    let experiment = if claim.experiment.is_empty() { main } else { &claim.experiment };
    let is_it = |group: &&MeasuredGroup| group.experiment == experiment && group.machine == claim.on;
    let group = groups.iter().find(is_it).ok_or_else(|| {
        let machine = if claim.on.is_empty() { String::new() } else { format!(" on {}", claim.on) };
        format!("no recording of {experiment}{machine}")
    })?;
    match &claim.measure {
        Measure::Change(change) => group.change(change),
        Measure::Level { metric, setting } => level(group.setting(setting)?, metric),
        Measure::Lost(setting) => {
            let [point, low, high] = tick(group.setting(setting)?)?.lost;
            Ok(Figure::number(point, Some(Interval { low, high })))
        }
        Measure::Tick(setting) => Ok(Figure::number(tick(group.setting(setting)?)?.one(), None)),
        Measure::Lmbench(table) => group.lmbench(table),
        Measure::Timers(timers) => error_of(group.setting(&timers.setting)?, timers),
        Measure::Messages(quantity) => messages::figure(group.setting("")?, *quantity),
        Measure::Doses(quantity) => doses(group.setting("")?, *quantity),
        Measure::Nothing(why) => Err(why.clone()),
    }
}

impl MeasuredGroup {
    /// Number of a setting: `first` (also where nothing is said), `last`, or by its name.
    fn position(&self, name: &str) -> Result<usize, String> {
        let found = match name {
            "" | "first" => (!self.settings.is_empty()).then_some(0),
            "last" => self.settings.len().checked_sub(1),
            name => self.settings.iter().position(|known| known == name),
        };
        found.ok_or_else(|| format!("no setting {name} was measured"))
    }

    fn setting(&self, name: &str) -> Result<&Recording, String> {
        Ok(&self.recordings[self.position(name)?])
    }

    /// Change from one setting to another, one of which is the first of all.
    fn change(&self, change: &Change) -> Result<Figure, String> {
        let Change { metric, figure, from, to } = change;
        let (from, to) = (self.position(from)?, self.position(to)?);
        let (other, is_inverse) = if from == 0 { (to, false) } else { (from, true) };
        let against = self.model.as_ref().and_then(|model| model.against.get(other.checked_sub(1)?));
        let against = against.ok_or("its settings were not compared")?;
        let is_it = |line: &&Line| {
            let named = metric
                .strip_suffix('*')
                .map_or(line.metric == *metric, |begin| line.metric.starts_with(begin));
            named && (figure.is_empty() || line.figure == figure)
        };
        let mut changes: Vec<Figure> =
            against.lines.iter().filter(is_it).filter_map(change_of_line).collect();
        if figure.is_empty() && !metric.ends_with('*') {
            changes.truncate(1);
        }
        if is_inverse {
            changes.iter_mut().for_each(|one| *one = inverse(one));
        }
        match &changes[..] {
            [] => Err(format!("{metric} has no figure in both settings")),
            [only] => Ok(only.clone()),
            several => {
                let points = || several.iter().map(|one| one.point);
                let mean = points().sum::<f64>() / several.len() as f64;
                let ends = Interval {
                    low: points().fold(f64::MAX, f64::min),
                    high: points().fold(f64::MIN, f64::max),
                };
                Ok(Figure::number(mean, Some(ends)))
            }
        }
    }

    fn lmbench(&self, table: &str) -> Result<Figure, String> {
        let own = || self.columns.iter().filter(|column| column.table.starts_with(table));
        let decided = own().filter(|column| column.decided && column.here.is_some());
        let (count, explained) =
            decided.fold((0, 0), |(all, good), column| (all + 1, good + usize::from(column.is_explained())));
        let all = own().count();
        let here = || own().filter_map(|column| column.here);
        let (Some(low), Some(high)) = (here().reduce(f64::min), here().reduce(f64::max)) else {
            return Err(format!("none of its {all} columns was measured"));
        };
        let words = format!(
            "{low:+.1} to {high:+.1} % in {} of {all} columns; {explained} of the {count} that exceed its noise match",
            here().count()
        );
        let share = if count == 0 { f64::NAN } else { explained as f64 / count as f64 };
        Ok(Figure { point: share, interval: None, words: Some(words) })
    }
}

/// The change of a line as a share, with its interval or, of counts, its range.
fn change_of_line(line: &Line) -> Option<Figure> {
    if let Some(exact) = line.exact {
        return Some(Figure::number(exact.change, Some(Interval { low: exact.least, high: exact.most })));
    }
    let interval = line.claim.and_then(|claim| claim.change().1);
    Some(Figure::number(
        line.ratio? - 1.0,
        interval.map(|i| Interval { low: i.low - 1.0, high: i.high - 1.0 }),
    ))
}

/// The change the other way round.
fn inverse(figure: &Figure) -> Figure {
    let turned = |share: f64| 1.0 / (1.0 + share) - 1.0;
    let interval = figure.interval.map(|i| Interval { low: turned(i.high), high: turned(i.low) });
    Figure::number(turned(figure.point), interval)
}

fn tick(recording: &Recording) -> Result<hz::Tick, String> {
    hz::read_tick(recording).ok_or_else(|| "the tick was not measured".to_owned())
}

/// A row's value with the interval of its runs.
fn level(recording: &Recording, metric: &str) -> Result<Figure, String> {
    let model = report::build(recording, &|_| true, false);
    let row = model.groups.iter().flat_map(|(_, rows)| rows).find(|row| row.metric == metric);
    let value = row.and_then(|row| row.value).ok_or_else(|| format!("{metric} has no figure"))?;
    Ok(Figure::number(value.point, Some(value.interval)))
}

fn error_of(recording: &Recording, timers: &Timers) -> Result<Figure, String> {
    let title = format!("{}: {}", timers.row, timers.strategy);
    let scenarios = read_scenarios(recording);
    let own = scenarios.iter().find(|scenario| scenario.title == title);
    let errors = own.ok_or_else(|| format!("no row {title}"))?.errors.as_ref().map_err(Clone::clone)?;
    let middle = |timer: Option<&Timer>| timer.and_then(|timer| timer.errors.quantile(0.5));
    let point = match timers.which {
        TimerChoice::First => middle(errors.timers.first()),
        TimerChoice::Last => middle(errors.timers.last()),
        TimerChoice::Others => errors.rest,
        TimerChoice::Latest => Some(errors.ends.1),
    };
    point.map(|point| Figure::number(point, None)).ok_or_else(|| format!("{title} has too few timers"))
}

fn doses(recording: &Recording, quantity: DoseQuantity) -> Result<Figure, String> {
    let dosed = summarize_dose(recording).ok_or("no doses were measured")??;
    match quantity {
        DoseQuantity::Reads => Ok(Figure::number(dosed.reads, None)),
        DoseQuantity::Lost => {
            let lost = dosed.lost(ACPI_FAST).ok_or("no slope: too few blocks")?;
            Ok(Figure::number(f64::midpoint(lost.low, lost.high), Some(lost)))
        }
        DoseQuantity::LargestDose => {
            let largest = dosed.rows.iter().max_by(|a, b| a.delivered.total_cmp(&b.delivered));
            let largest = largest.ok_or("no dose was given")?;
            let share = |more: f64| more / dosed.cost;
            let interval = largest.interval.map(|i| Interval { low: share(i.low), high: share(i.high) });
            Ok(Figure::number(share(largest.more), interval))
        }
    }
}
