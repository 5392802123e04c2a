//! `-rf json` of JMH. Forks are processes: where there are several, each is a run with the mean of its iterations; iterations of one fork are
//! repetitions in one process.

use super::begin;
use super::json::{number, numbers, page, text_of};
use super::number::{label, unit};
use crate::Imported;
use serde_json::Value;
use tickmark_wire::{Better, Unit, Word};

pub(super) fn recognizes(text: &str) -> bool {
    text.trim_start().starts_with('[')
        && text.contains("\"jmhVersion\"")
        && text.contains("\"primaryMetric\"")
}

/// "ns/op", "ops/ms": the unit of recordings and its factor, and which way is better.
fn score_unit(word: &str) -> (Unit, f64, Better) {
    match word.split_once('/') {
        Some((time, "op")) if unit(time).is_some_and(|(unit, _)| unit == Unit::Time) => {
            (Unit::Time, unit(time).map_or(1.0, |(_, factor)| factor), Better::Lower)
        }
        Some(("ops", time)) if unit(time).is_some_and(|(unit, _)| unit == Unit::Time) => {
            (Unit::Rate, 1e9 / unit(time).map_or(1e9, |(_, factor)| factor), Better::Higher)
        }
        _ => (Unit::Other(Word::new(word)), 1.0, Better::Neither),
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let page = page(text)?;
    let all = page.as_array().ok_or("no list of benchmarks")?;
    let version = text_of(&all.first().ok_or("no benchmark")?["jmhVersion"]);
    let mut found = begin(format!("JMH {version}").trim(), name);
    found.is_one_replicate = true;
    for one in all {
        let full = one["benchmark"].as_str().ok_or("a benchmark without a name")?;
        let parts = |full: &str| full.rsplit('.').take(2).map(str::to_owned).collect::<Vec<_>>();
        let others = all.iter().filter_map(|other| other["benchmark"].as_str());
        let is_unique = others.filter(|other| parts(other) == parts(full)).all(|other| other == full);
        let short = parts(full).into_iter().rev().collect::<Vec<_>>().join(".");
        let short = if is_unique { short } else { full.to_owned() };
        let mut metric = format!("jmh.{}", label(&short));
        for (parameter, value) in one["params"].as_object().into_iter().flatten() {
            metric += &format!(".{}={}", label(parameter), label(&text_of(value)));
        }
        let threads = |of: &Value| of["threads"].as_u64().unwrap_or(1);
        if all.iter().any(|other| threads(other) != threads(one) && other["benchmark"] == one["benchmark"]) {
            metric += &format!(".threads={}", threads(one));
        }
        let mode = text_of(&one["mode"]);
        let also = if all
            .iter()
            .filter(|other| ["benchmark", "params", "threads"].iter().all(|key| other[*key] == one[*key]))
            .count()
            > 1
        {
            format!(".{}", label(&mode))
        } else {
            String::new()
        };
        found.know("jvm", &text_of(&one["vmVersion"]), name);
        figures(&mut found, &(metric.clone() + &also), &one["primaryMetric"])?;
        for (what, secondary) in one["secondaryMetrics"].as_object().into_iter().flatten() {
            figures(&mut found, &format!("{metric}{also}.{}", label(what)), secondary)?;
        }
    }
    Ok(vec![found])
}

fn figures(found: &mut Imported, metric: &str, of: &Value) -> Result<(), String> {
    let (unit, factor, better) = score_unit(of["scoreUnit"].as_str().unwrap_or_default());
    let forks: Vec<Vec<f64>> =
        of["rawData"].as_array().into_iter().flatten().map(numbers).filter(|fork| !fork.is_empty()).collect();
    let values = match &forks[..] {
        [] => vec![number(&of["score"]).ok_or_else(|| format!("{metric} has no score"))?],
        [one] => one.clone(),
        several => {
            found.is_one_replicate = false;
            several.iter().map(|fork| mean(fork)).collect()
        }
    };
    for value in values {
        found.repeat(metric, unit, better, value * factor);
    }
    Ok(())
}
