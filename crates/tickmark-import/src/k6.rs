//! k6's summary: `--summary-export` and the JSON of handleSummary, and the text at the end of a run. Times are in ms.

use super::json::{number, page};
use super::number::{go_duration, label, percentile, quantity};
use super::{begin, first_number};
use crate::Imported;
use tickmark_wire::{Better, Unit};

/// Figures of a metric of times.
const TIMES: [&str; 4] = ["avg", "min", "med", "max"];

pub(super) fn recognizes(text: &str) -> bool {
    let json = text.trim_start().starts_with('{')
        && text.contains("\"metrics\"")
        && (text.contains("\"http_req") || text.contains("\"iteration_duration\""));
    json || text.lines().any(|line| {
        terminal(line).is_some_and(|(name, rest)| {
            (name.starts_with("http_req") || name == "iteration_duration") && rest.contains("avg=")
        })
    })
}

/// Name and figures of `http_req_duration....: avg=1.2ms min=.. med=.. max=.. p(90)=.. p(95)=..`.
fn terminal(line: &str) -> Option<(&str, &str)> {
    // Metrics with thresholds have a mark before them.
    let line = line.trim_start().trim_start_matches(['\u{2713}', '\u{2717}', '\u{d7}']);
    let (name, rest) = line.split_once(": ")?;
    let bare = name.trim().trim_end_matches('.');
    (name.contains("..") && !bare.is_empty() && !bare.contains(' ')).then_some((bare, rest.trim()))
}

/// The name of a figure in a metric.
fn figure(key: &str) -> Option<String> {
    let percent = key.strip_prefix("p(").and_then(|rest| rest.strip_suffix(')'));
    match key {
        "avg" => Some("mean".to_owned()),
        "med" => Some("p50".to_owned()),
        key if TIMES.contains(&key) => Some(key.to_owned()),
        _ => percent.map(percentile),
    }
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let mut found = begin("k6", name);
    if !text.trim_start().starts_with('{') {
        found.take_lines(text, |found, line| {
            let Some((metric, rest)) = terminal(line) else { return true };
            from_line(found, metric, rest)
        });
        return Ok(vec![found]);
    }
    let page = page(text)?;
    for (metric, all) in page["metrics"].as_object().into_iter().flatten() {
        // handleSummary puts the figures one level deeper, beside the type and what they contain.
        let values = all.get("values").unwrap_or(all);
        let is_data = metric.starts_with("data_");
        // Rates of k6 are shares: of so many that pass and fail.
        let is_share = all["type"] == "rate" || !values["passes"].is_null();
        let is_time = all["contains"]
            .as_str()
            .map_or(metric.ends_with("_duration") || metric.starts_with("http_req_"), |kind| kind == "time");
        for (key, value) in values.as_object().into_iter().flatten() {
            let Some(value) = number(value) else { continue };
            let metric = format!("k6.{}", label(metric));
            match (key.as_str(), figure(key)) {
                ("value" | "rate", _) if is_share => {
                    // Of what was checked more is better, of what failed less; of others nobody says.
                    let name = metric.as_str();
                    let better = if name.starts_with("k6.checks") {
                        Better::Higher
                    } else if ["fail", "error"].iter().any(|word| name.contains(word)) {
                        Better::Lower
                    } else {
                        Better::Neither
                    };
                    found.repeat(&metric, Unit::Share, better, value);
                }
                ("rate", _) if is_data => found.repeat(&metric, Unit::Throughput, Better::Neither, value),
                ("rate", _) => found.repeat(&metric, Unit::Rate, Better::Higher, value),
                ("count", _) => found.repeat(&format!("{metric}.count"), Unit::Count, Better::Neither, value),
                (_, Some(what)) if is_time => found.time(&format!("{metric}.{what}"), value, 1e6),
                (_, Some(what)) => {
                    found.repeat(&format!("{metric}.{what}"), Unit::Count, Better::Neither, value);
                }
                _ => {}
            }
        }
    }
    Ok(vec![found])
}

fn from_line(found: &mut Imported, metric: &str, rest: &str) -> bool {
    let name = format!("k6.{}", label(metric));
    let mut taken = false;
    for (key, value) in rest.split_whitespace().filter_map(|word| word.split_once('=')) {
        if let (Some(what), Some(nanos)) = (figure(key), go_duration(value)) {
            found.time(&format!("{name}.{what}"), nanos, 1.0);
            taken = true;
        }
    }
    if taken {
        return true;
    }
    // "http_reqs....: 1234 41.1/s", "data_received..: 1.2 MB 40 kB/s", "checks....: 100.00%".
    let last = rest.split_whitespace().collect::<Vec<_>>();
    if let Some(percent) = last.first().and_then(|word| word.strip_suffix('%')).and_then(first_number) {
        let better = if metric.ends_with("failed") { Better::Lower } else { Better::Higher };
        found.repeat(&name, Unit::Share, better, percent * 0.01);
    } else if let [.., number, unit] = last[..]
        && let Some((rate, unit)) =
            quantity(&format!("{number}{unit}")).filter(|(_, unit)| *unit == Unit::Throughput)
    {
        found.repeat(&name, unit, Better::Neither, rate);
    } else if let Some(rate) = last.last().and_then(|word| word.strip_suffix("/s")).and_then(first_number) {
        found.repeat(&name, Unit::Rate, Better::Higher, rate);
    } else {
        return metric.starts_with("vus");
    }
    true
}
