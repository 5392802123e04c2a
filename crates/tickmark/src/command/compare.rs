//! Recordings side by side.

use crate::cli::{Compare, FailOn, Format, Unit};
use crate::error::{Code, Error};
use crate::report::{self, Model, Row};
use crate::store::{Recording, Store};
use serde_json::{Value, json};
use std::fmt::Write;
use tickmark_stats::verdict::{self, Comparison, Rule, Sides, Verdict};
use tickmark_wire::Better;

pub(super) fn run(store: &Store, compare: &Compare) -> Result<Code, Error> {
    let (base, candidate) = (store.find(&compare.base)?, store.find(&compare.candidate)?);
    super::refuse_floors(&[&base, &candidate], compare.floor)?;
    let models = [&base, &candidate].map(|recording| report::build(recording, &|_| true, false));
    let [first, second] = models.each_ref().map(rows);
    let with_value = |row: &&Row, others: &[&Row]| {
        row.value.is_some() && others.iter().any(|other| other.metric == row.metric && other.value.is_some())
    };
    let pairs: Vec<(&Row, &Row)> = first
        .iter()
        .filter(|row| with_value(row, &second))
        .filter_map(|row| Some((*row, *second.iter().find(|other| other.metric == row.metric)?)))
        .collect();
    if pairs.is_empty() && !compare.lmbench {
        return Err(Error::Usage("the recordings have no metric with figures in common".to_owned()));
    }
    let by_run = compare.unit == Unit::Run || (base.imported.is_some() && candidate.imported.is_some());
    let judged = judge(&pairs, compare, by_run);
    let code = code(&judged, compare.fail_on);
    if compare.lmbench {
        let real: Vec<&str> = judged.iter().filter(|j| j.changed()).map(|j| j.base.metric.as_str()).collect();
        super::lmbench_tables(&[&base, &candidate], &real, compare.floor, compare.output.format)?;
        return Ok(code);
    }
    let alone = |own: &[&Row], others: &[&Row]| -> Vec<String> {
        own.iter().filter(|row| !with_value(row, others)).map(|row| row.metric.clone()).collect()
    };
    let only = [alone(&first, &second), alone(&second, &first)];
    match compare.output.format {
        Format::Json => super::print_json(&json!({
            "base": base.meta.id,
            "candidate": candidate.meta.id,
            "figures": if compare.floor { "floor" } else { "mean" },
            "margin": compare.margin,
            "unit": if by_run { "run" } else { "recording" },
            "rows": judged.iter().map(Judged::json).collect::<Vec<_>>(),
            "without_a_pair": only,
        }))?,
        Format::Text => {
            let sides = [side(&base), side(&candidate)];
            super::print(&text(&sides, &judged, &only, compare, by_run))?;
        }
    }
    Ok(code)
}

/// A pair of rows with what there is to say of it.
struct Judged<'a> {
    base: &'a Row,
    candidate: &'a Row,
    means: [f64; 2],
    /// None where the rows cannot be compared: figures over different sizes, or a base of zero.
    comparison: Option<Comparison>,
    /// Whether what was compared were occasions of their own.
    decided: bool,
}

/// Compares all pairs, each run for an occasion of its own or, for want of more recordings, none of them.
fn judge<'a>(pairs: &[(&'a Row, &'a Row)], compare: &Compare, by_run: bool) -> Vec<Judged<'a>> {
    let values = |row: &Row| -> Vec<f64> {
        row.each.iter().map(|each| if compare.floor { each.value } else { each.mean }).collect()
    };
    let alike: Vec<bool> = pairs.iter().map(|(base, candidate)| base.same_size(candidate)).collect();
    let samples: Vec<_> = pairs
        .iter()
        .zip(&alike)
        .map(
            |((base, candidate), alike)| {
                if *alike { (values(base), values(candidate)) } else { (vec![], vec![]) }
            },
        )
        .collect();
    let mean = |row: &Row| values(row).iter().sum::<f64>() / row.each.len().max(1) as f64;
    let sides: Vec<_> = samples.iter().map(|(a, b)| Sides::Apart(a, b)).collect();
    let rule = Rule { margin: compare.margin, ..Rule::default() };
    pairs
        .iter()
        .zip(verdict::compare(&sides, rule))
        .map(|((base, candidate), comparison)| Judged {
            base,
            candidate,
            means: [mean(base), mean(candidate)],
            comparison,
            decided: by_run,
        })
        .collect()
}

impl Judged<'_> {
    fn verdict(&self) -> Option<Verdict> {
        self.comparison.filter(|_| self.decided).map(|comparison| comparison.verdict)
    }

    fn changed(&self) -> bool {
        self.verdict() == Some(Verdict::Changed)
    }

    fn worse(&self) -> bool {
        let up = self.means[1] > self.means[0];
        self.changed()
            && (self.base.better == Better::Lower && up || self.base.better == Better::Higher && !up)
    }

    /// The verdict in words.
    fn words(&self, margin: f64) -> String {
        match (self.comparison, self.verdict()) {
            (None, _) if !self.base.same_size(self.candidate) => "not compared: other sizes".to_owned(),
            (None, _) => "not compared".to_owned(),
            (Some(_), None) => "undecided: not interleaved".to_owned(),
            (_, Some(Verdict::Changed)) if self.worse() => "changed, worse".to_owned(),
            (_, Some(Verdict::Changed)) => "changed".to_owned(),
            (_, Some(Verdict::BelowMargin)) => format!("changed, below {} %", margin * 100.0),
            (_, Some(Verdict::Equivalent)) => "equivalent".to_owned(),
            (_, Some(Verdict::Undecided { needed: Some(runs) })) => {
                format!("undecided: {runs} runs a side would tell")
            }
            (_, Some(Verdict::Undecided { needed: None })) => {
                "undecided: no variation to judge by".to_owned()
            }
        }
    }

    fn json(&self) -> Value {
        let c = self.comparison;
        let verdict = match (c, self.verdict()) {
            (None, _) => "not_compared",
            (Some(_), None) | (_, Some(Verdict::Undecided { .. })) => "undecided",
            (_, Some(Verdict::Changed)) => "changed",
            (_, Some(Verdict::BelowMargin)) => "below_margin",
            (_, Some(Verdict::Equivalent)) => "equivalent",
        };
        let needed = match self.verdict() {
            Some(Verdict::Undecided { needed }) => needed,
            _ => None,
        };
        json!({
            "metric": self.base.metric,
            "unit": self.base.unit,
            "better": self.base.better,
            "mean": self.means,
            "over": [self.base.over, self.candidate.over],
            "change": c.and_then(|c| c.ratio).map(|r| r - 1.0),
            "ratio": c.and_then(|c| c.ratio),
            "ratio_interval": c.filter(|_| self.decided).and_then(|c| c.interval).map(|i| [i.low, i.high]),
            "p": c.filter(|_| self.decided).and_then(|c| c.p),
            "p_holm": c.filter(|_| self.decided).and_then(|c| c.adjusted),
            "verdict": verdict,
            "worse": self.worse(),
            "runs_needed": needed,
            "why": (c.is_some() && !self.decided).then_some("not interleaved"),
        })
    }
}

fn code(judged: &[Judged<'_>], fail_on: Option<FailOn>) -> Code {
    let fails = match fail_on {
        Some(FailOn::Changed) => judged.iter().any(Judged::changed),
        Some(FailOn::Worse) => judged.iter().any(Judged::worse),
        None => false,
    };
    if fails { Code::Differs } else { Code::Done }
}

fn rows(model: &Model) -> Vec<&Row> {
    model.groups.iter().flat_map(|(_, rows)| rows).collect()
}

/// What a recording is called, and who measured it.
fn side(recording: &Recording) -> [String; 2] {
    let tool = recording.imported.as_ref().map_or("tickmark", |from| from.tool.as_str());
    [format!("{} {}", recording.meta.name, recording.meta.id), tool.to_owned()]
}

fn text(
    sides: &[[String; 2]; 2],
    judged: &[Judged<'_>],
    only: &[Vec<String>; 2],
    compare: &Compare,
    by_run: bool,
) -> String {
    let [[base, measured], [candidate, by]] = sides;
    let heads = ["metric", base, candidate, "change", "95 %", "verdict"];
    let mut grid = vec![heads.map(str::to_owned)];
    for one in judged {
        let shown = |row: &Row, mean: f64| {
            let value = report::value(mean, None, row.unit);
            let alike = one.base.same_size(one.candidate);
            if alike { value } else { format!("{value} over {}", report::bytes(row.over as f64)) }
        };
        let percent = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
        let dash = || "-".to_owned();
        let change = one.comparison.and_then(|c| c.ratio).map_or_else(dash, percent);
        let interval = one.comparison.filter(|_| one.decided).and_then(|c| c.interval);
        let interval = interval.map_or_else(dash, |i| format!("{} to {}", percent(i.low), percent(i.high)));
        let [low, high] = one.means;
        let values = [shown(one.base, low), shown(one.candidate, high)];
        let [first, second] = values;
        grid.push([one.base.metric.clone(), first, second, change, interval, one.words(compare.margin)]);
    }
    let width = |column: usize| grid.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3, 4].map(width);
    let mut out = String::new();
    for [metric, one, other, change, interval, verdict] in &grid {
        let [a, b, c, d, e] = widths;
        let _ = writeln!(out, "{metric:a$}  {one:>b$}  {other:>c$}  {change:>d$}  {interval:>e$}  {verdict}");
    }
    let what = match (compare.floor, measured.as_str(), by.as_str()) {
        (true, ..) => "means of the runs' floors",
        (false, "tickmark", "tickmark") => "means of the runs' mean costs",
        (false, ..) => "means of the runs' mean costs, or of what another program printed for each",
    };
    let _ = writeln!(out, "\n{what}; claims are corrected for {} metrics (Holm)", judged.len());
    if by_run && compare.unit == Unit::Run {
        out.push_str(
            "--unit run: this is what the runs would say if the occasions of both recordings were alike\n",
        );
    } else if !by_run {
        out.push_str(
            "undecided: one recording a side is one occasion a side, and two occasions differ also where nothing was\n\
             changed; --unit run shows what the runs would say if they did not\n",
        );
    }
    if measured != by {
        let _ =
            writeln!(out, "{base} was measured by {measured}, {candidate} by {by}: their definitions differ");
    }
    for (side, metrics) in [base, candidate].into_iter().zip(only).filter(|(_, metrics)| !metrics.is_empty())
    {
        let _ = writeln!(out, "without a figure to compare with, {side}: {}", metrics.join(", "));
    }
    out
}
