//! Lists the probes.

use crate::cli::{Format, List};
use crate::command::pages::ListPage;
use crate::error::{Code, Error};
use crate::selection;
use std::fmt::Write;
use tickmark_drive::ThisMachine;
use tickmark_wire::{Metric, Offer};

pub(in crate::command) fn run(list: &List) -> Result<Code, Error> {
    let selected = selection::select(&list.select)?;
    let rows: Vec<(&Offer, &Metric)> =
        selected.iter().flat_map(|offer| offer.metrics.iter().map(move |metric| (offer, metric))).collect();
    if list.output.format == Format::Json {
        crate::command::print_page(&ListPage::new(&rows))?;
        return Ok(Code::Done);
    }
    let mut text = String::new();
    if list.syscalls {
        for (offer, metric) in rows {
            let calls =
                if offer.needs.is_empty() { "none of its own".to_owned() } else { offer.needs.join(", ") };
            let _ = writeln!(text, "{:34} {calls}", metric.name);
        }
        let every = ThisMachine::catalogue(&[])?.every_run;
        let _ =
            writeln!(text, "\nbeside what every run takes once its process is started: {}", every.join(", "));
        crate::command::print(&text)?;
        return Ok(Code::Done);
    }
    let mut last = None;
    for (number, (offer, metric)) in rows.iter().enumerate() {
        if last != Some(metric.group) {
            let gap = if last.is_some() { "\n" } else { "" };
            let _ = writeln!(text, "{gap}{} (suite {})", metric.group.title(), metric.group.suite());
            last = Some(metric.group);
        }
        let _ = writeln!(text, "  {:34} {}", metric.name, offer.timed);
        if rows.get(number + 1).is_none_or(|(next, _)| next.probe != offer.probe) {
            text += &parameters(offer);
        }
    }
    crate::command::print(&text)?;
    Ok(Code::Done)
}

/// Further parameters of a probe, after its cases.
fn parameters(offer: &Offer) -> String {
    let mut text = String::new();
    let names = offer.parameters.iter().map(|parameter| format!("{}=VALUE", parameter.name));
    if !offer.parameters.is_empty() {
        let names = names.collect::<Vec<_>>().join(",");
        let _ = writeln!(text, "    other cases: {}:{names}, any of them left out", offer.probe);
    }
    for parameter in &offer.parameters {
        let values = parameter.values.join(", ");
        let numbers = parameter.numbers.map_or(String::new(), |(from, to)| format!(" or {from} to {to}"));
        let _ = writeln!(text, "      {:12} {}: {values}{numbers}", parameter.name, parameter.about);
    }
    text
}
