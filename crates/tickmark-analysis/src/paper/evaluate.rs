//! From recordings to the figure of each claim.

use super::IntervalKind::{Confidence, Phases};
use super::{
    Agreement, AnsweredClaim, Change, Claim, DoseQuantity, Figure, Level, Levels, Lost, Measure, Paper,
    TimerChoice, Timers, messages,
};
use crate::comparison::{Exact, Line, Model};
use crate::dose::{Dosed, summarize_dose};
use crate::scenario::{RunErrors, Timer, read_scenarios};
use crate::{hz, report};
use tickmark_stats::two::{self, Difference};
use tickmark_stats::{Interval, median, spread};
use tickmark_store::{Recording, Status};
use tickmark_wire::Name;

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
            (Ok(_), None) => Agreement::NotClaimed,
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
        Measure::Level(wanted) => group.level(wanted),
        Measure::Lost(wanted) => group.lost(wanted),
        Measure::Tick(setting) => Ok(Figure::number(tick(group.setting(setting)?)?.one())),
        Measure::Lmbench(table) => group.lmbench(table),
        Measure::Timers(timers) => error_of(group.setting(&timers.setting)?, timers),
        Measure::Messages(quantity) => messages::figure(group.setting("")?, *quantity),
        Measure::Doses(quantity) => doses(group.setting("")?, *quantity),
        Measure::Nothing(why) => Err(why.clone()),
    }
}

impl MeasuredGroup {
    /// Number of a setting: `first` (also where nothing is said), `last`, or by its name; the first of several that there is.
    fn position(&self, names: &str) -> Result<usize, String> {
        let one = |name: &str| match name {
            "" | "first" => (!self.settings.is_empty()).then_some(0),
            "last" => self.settings.len().checked_sub(1),
            name => self.settings.iter().position(|known| known == name),
        };
        names.split('|').find_map(one).ok_or_else(|| {
            let known = self.settings.join(" and ");
            format!("no setting {} was measured, but {known}", names.replace('|', " or "))
        })
    }

    fn setting(&self, name: &str) -> Result<&Recording, String> {
        Ok(&self.recordings[self.position(name)?])
    }

    /// The lines of a setting against the first of all.
    fn lines(&self, setting: usize) -> Result<&[Line], String> {
        let against = self.model.as_ref().and_then(|model| model.against.get(setting.checked_sub(1)?));
        Ok(&against.ok_or("its settings were not compared")?.lines)
    }

    /// Change from one setting to another. Where neither is the first of all, counts alone tell it.
    fn change(&self, change: &Change) -> Result<Figure, String> {
        let Change { metric, figure, from, to, trimmed } = change;
        let (from, to) = (self.position(from)?, self.position(to)?);
        let is_it = |line: &&Line| {
            let named = metric
                .strip_suffix('*')
                .map_or(line.metric == *metric, |begin| line.metric.starts_with(begin));
            named && (figure.is_empty() || line.figure == figure)
        };
        let of_line = if *trimmed { trimmed_change } else { change_of_line };
        let changes_of = |setting: usize, of_line: &dyn Fn(&Line) -> Option<Figure>| {
            Ok::<_, String>(self.lines(setting)?.iter().filter(is_it).filter_map(of_line).collect())
        };
        let mut changes: Vec<Figure> = match (from, to) {
            _ if from == to => Err(format!("{} was not compared with itself", self.settings[from])),
            (0, to) => changes_of(to, &of_line),
            (from, 0) => changes_of(from, &|line| of_line(line).map(|figure| inverse(&figure))),
            _ if *trimmed => Err("a side without a run is not compared by way of a third".to_owned()),
            (from, to) => {
                let bases = self.lines(from)?;
                let base = |line: &Line| {
                    bases.iter().find(|base| (&base.metric, base.figure) == (&line.metric, line.figure))
                };
                changes_of(to, &|line| change_between(base(line)?, line))
            }
        }?;
        if figure.is_empty() && !metric.ends_with('*') {
            changes.truncate(1);
        }
        let found = match &changes[..] {
            [] => return Err(reason(&[from, to].map(|at| &self.recordings[at]), metric)),
            [only] => only.clone(),
            several => {
                let points: Vec<f64> = several.iter().map(|one| one.point).collect();
                Figure::from_quantities(&points).ok_or("no figure")?
            }
        };
        // Where the claim leaves open which they are.
        let is_open = |name: &str| name.contains('|') || name == "first" || name == "last";
        let sides = (is_open(&change.from) || is_open(&change.to))
            .then(|| [self.settings[from].clone(), self.settings[to].clone()]);
        Ok(Figure { sides, ..found })
    }

    /// The level of a row, or by how much it is above that of another setting.
    fn level(&self, wanted: &Level) -> Result<Figure, String> {
        let value = |setting: &str| level(self.setting(setting)?, &wanted.metric);
        if wanted.minus.is_empty() {
            return value(&wanted.setting);
        }
        let (at, from) = (self.position(&wanted.setting)?, self.position(&wanted.minus)?);
        let against = self.model.as_ref().and_then(|model| model.against.get(at.max(from).checked_sub(1)?));
        let line = against.filter(|_| at.min(from) == 0).and_then(|against| {
            let own = |line: &&Line| line.metric == wanted.metric && line.claim.is_some();
            against.lines.iter().find(own)
        });
        let line = line.ok_or_else(|| reason(&[from, at].map(|at| &self.recordings[at]), &wanted.metric))?;
        let [base, other] = line.values.each_ref().map(Vec::as_slice);
        let (minus, plus) = if at == 0 { (other, base) } else { (base, other) };
        let difference = Difference::paired(minus, plus).or_else(|| Difference::welch(minus, plus));
        let difference = difference.ok_or("too few runs for a difference")?;
        let sides = Some([self.settings[from].clone(), self.settings[at].clone()]);
        Ok(Figure { sides, ..Figure::between(difference.point, difference.interval(CONFIDENCE), Confidence) })
    }

    /// The tick's share of the CPU, or by how much it is above that of another setting.
    fn lost(&self, wanted: &Lost) -> Result<Figure, String> {
        let lost = |setting: &str| Ok::<_, String>(tick(self.setting(setting)?)?.lost);
        let [point, low, high] = lost(&wanted.setting)?;
        let [less, least, most] = if wanted.minus.is_empty() { [0.0; 3] } else { lost(&wanted.minus)? };
        let interval = Interval { low: low - most, high: high - least };
        Ok(Figure::between(point - less, interval, Phases))
    }

    fn lmbench(&self, table: &str) -> Result<Figure, String> {
        let own = || self.columns.iter().filter(|column| column.table.starts_with(table));
        let here = || own().filter_map(|column| column.here);
        let (Some(low), Some(high)) = (here().reduce(f64::min), here().reduce(f64::max)) else {
            return Err(format!("none of its {} columns was measured", own().count()));
        };
        let decided = own().filter(|column| column.decided).count();
        let explained = own().filter(|column| column.decided && column.is_explained()).count();
        let range = if format!("{low:+.1}") == format!("{high:+.1}") {
            format!("{low:+.1} %")
        } else {
            format!("{low:+.1} to {high:+.1} %")
        };
        let lacking = own().filter(|column| column.decided && column.here.is_none()).count();
        let lacking =
            if lacking == 0 { String::new() } else { format!(" ({lacking} of them have no figure here)") };
        let noise = if decided == 0 {
            "none exceeds its own noise there (corrected for all columns)".to_owned()
        } else {
            format!("of the {decided} that exceed its noise{lacking} {explained} match")
        };
        let words = format!("{range} in {} of {} columns; {noise}", here().count(), own().count());
        // What was not measured does not match.
        let share = if decided == 0 { f64::NAN } else { explained as f64 / decided as f64 };
        Ok(Figure { words: Some(words), ..Figure::number(share) })
    }
}

/// Confidence of intervals.
const CONFIDENCE: f64 = 0.95;

/// The change of a line as a share, with its interval or, of counts, its range.
fn change_of_line(line: &Line) -> Option<Figure> {
    let levels = Levels { values: line.means, unit: line.unit };
    Some(Figure { levels: Some(levels), ..share_of_line(line)? })
}

/// The change of counts from one setting to another, by what each has against the same first one.
fn change_between(from: &Line, to: &Line) -> Option<Figure> {
    let (Some(_), Some(_)) = (from.exact, to.exact) else { return None };
    let change = exact_between(&from.values, &to.values)?;
    let levels = Levels { values: [from.means[1], to.means[1]], unit: to.unit };
    let range = Interval { low: change.least, high: change.most };
    Some(Figure { levels: Some(levels), ..Figure::between(change.change, range, Phases) })
}

/// From the second of each pair of sides to that of the other, where the first is the same: boots at the same phases.
pub(super) fn exact_between(from: &[Vec<f64>; 2], to: &[Vec<f64>; 2]) -> Option<Exact> {
    let is_paired = from[0] == to[0] && from[1].len() == to[1].len();
    is_paired.then(|| Exact::from_pairs(&[from[1].clone(), to[1].clone()]))?
}

fn share_of_line(line: &Line) -> Option<Figure> {
    if let Some(exact) = line.exact {
        let range = Interval { low: exact.least, high: exact.most };
        return Some(Figure::between(exact.change, range, Phases));
    }
    let share = line.ratio? - 1.0;
    Some(match line.claim.and_then(|claim| claim.change().1) {
        Some(i) => Figure::between(share, Interval { low: i.low - 1.0, high: i.high - 1.0 }, Confidence),
        None => Figure::number(share),
    })
}

/// The same without the run of each side that is farthest from its median: Welch's interval of the ratio of means.
fn trimmed_change(line: &Line) -> Option<Figure> {
    // Of three runs two would be left.
    if line.values.iter().any(|values| values.len() < 4) {
        return None;
    }
    let [first, second] = line.values.each_ref().map(|values| without_farthest(values));
    let (ratio, i) = two::ratio(&first, &second, CONFIDENCE)?;
    let share = Figure::between(ratio - 1.0, Interval { low: i.low - 1.0, high: i.high - 1.0 }, Confidence);
    let values = [spread(&first)?.mean, spread(&second)?.mean];
    Some(Figure { levels: Some(Levels { values, unit: line.unit }), ..share })
}

/// The values in their order without the one that is farthest from their median.
#[must_use]
pub fn without_farthest(values: &[f64]) -> Vec<f64> {
    let middle = median(values.iter().copied()).unwrap_or(0.0);
    let far = |at: &usize| (values[*at] - middle).abs();
    let farthest = (0..values.len()).max_by(|a, b| far(a).total_cmp(&far(b)));
    values.iter().enumerate().filter(|(at, _)| Some(*at) != farthest).map(|(_, value)| *value).collect()
}

/// The change the other way round.
pub(super) fn inverse(figure: &Figure) -> Figure {
    let turned = |share: f64| 1.0 / (1.0 + share) - 1.0;
    let ends = |i: Interval| Interval { low: turned(i.high), high: turned(i.low) };
    Figure {
        point: turned(figure.point),
        interval: figure.interval.map(|(interval, kind)| (ends(interval), kind)),
        levels: figure
            .levels
            .clone()
            .map(|Levels { values: [from, to], unit }| Levels { values: [to, from], unit }),
        ..figure.clone()
    }
}

/// Why recordings have no figure of a metric or of its row (`tick.spin.lost`), or of all whose names begin so (`op.*`).
fn reason(recordings: &[&Recording], metric: &str) -> String {
    let is_it = |name: &Name| match metric.strip_suffix('*') {
        Some(begin) => name.as_str().starts_with(begin),
        None => metric.strip_prefix(name.as_str()).is_some_and(|row| row.is_empty() || row.starts_with('.')),
    };
    let names = |recording: &&Recording| {
        let planned = recording.meta.plan.metrics.iter().map(|metric| &metric.name);
        planned.filter(|name| is_it(name)).cloned().collect::<Vec<_>>()
    };
    let has_figure =
        |recording: &Recording, name: &Name| recording.runs_of(name).any(|run| run.status == Status::Ok);
    let lacking = recordings
        .iter()
        .flat_map(|recording| names(recording).into_iter().map(move |name| (*recording, name)));
    let why = lacking
        .filter(|(recording, name)| !has_figure(recording, name))
        .find_map(|(recording, name)| recording.reason(&name).map(str::to_owned));
    match why {
        Some(why) => why,
        None if recordings.iter().all(|one| names(one).is_empty()) => format!("{metric} was not measured"),
        None => format!("{metric} has no figure"),
    }
}

fn tick(recording: &Recording) -> Result<hz::Tick, String> {
    hz::read_tick(recording).ok_or_else(|| "the tick was not measured".to_owned())
}

/// A row's value with the interval of its runs.
fn level(recording: &Recording, metric: &str) -> Result<Figure, String> {
    let model = report::build(recording, &|_| true, false);
    let row = model.groups.iter().flat_map(|(_, rows)| rows).find(|row| row.metric == metric);
    let value = row.and_then(|row| row.value).ok_or_else(|| reason(&[recording], metric))?;
    // Of guests that count instructions, runs are phases of the tick.
    let kind = if crate::instruction(recording).is_some() { Phases } else { Confidence };
    Ok(Figure::between(value.point, value.interval, kind))
}

fn error_of(recording: &Recording, timers: &Timers) -> Result<Figure, String> {
    let scenarios = read_scenarios(recording);
    let error = |strategy: &str| {
        let title = format!("{}: {strategy}", timers.row);
        let own = scenarios.iter().find(|scenario| scenario.title == title);
        let errors = own.ok_or_else(|| format!("no row {title}"))?.errors.as_ref().map_err(Clone::clone)?;
        let middle = |timer: Option<&Timer>| timer.and_then(|timer| timer.errors.quantile(0.5));
        let each = |one: fn(&RunErrors) -> Option<f64>| errors.each.iter().filter_map(one).collect();
        let (point, runs): (_, Vec<f64>) = match timers.which {
            TimerChoice::First => (middle(errors.timers.first()), each(|run| Some(run.first))),
            TimerChoice::Last => (middle(errors.timers.last()), each(|run| Some(run.last))),
            TimerChoice::Others => (errors.rest, each(|run| run.rest)),
            TimerChoice::Latest => (Some(errors.ends.1), Vec::new()),
        };
        let point = point.ok_or_else(|| format!("{title} has too few timers"))?;
        let range = Figure::from_quantities(&runs).and_then(|figure| figure.interval);
        // Runs are few: their range has no confidence.
        Ok::<_, String>(Figure { interval: range, ..Figure::number(point) })
    };
    let own = error(&timers.strategy)?;
    if timers.over.is_empty() {
        return Ok(own);
    }
    Ok(Figure::number(own.point / error(&timers.over)?.point))
}

fn doses(recording: &Recording, quantity: DoseQuantity) -> Result<Figure, String> {
    let dosed = summarize_dose(recording).ok_or("no doses were measured")??;
    match quantity {
        DoseQuantity::Reads => Ok(Figure::number(dosed.reads)),
        DoseQuantity::Lost => lost(&dosed, ACPI_FAST),
        DoseQuantity::OperationsToLoseTenth => {
            dosed.operation.as_ref().ok_or("no operations were dosed")?;
            let (dose, ends) = dosed.dose_to_lose(0.1).ok_or("no dose costs a tenth")?;
            Ok(Figure::between(dose, ends, Confidence))
        }
    }
}

/// The share of transactions that reads lose which take so many ns longer.
fn lost(dosed: &Dosed, longer: f64) -> Result<Figure, String> {
    let lost = dosed.lost(longer).ok_or("no slope: too few blocks")?;
    Ok(Figure::between(f64::midpoint(lost.low, lost.high), lost, Confidence))
}
