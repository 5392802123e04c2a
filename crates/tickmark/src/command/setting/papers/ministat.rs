//! Rates, and numbers of commands, as the documents of 2006 print them: each run, ministat's page, the page without an outlier, and what all runs say in pairs.

use crate::stat::compat;
use std::fmt::Write;
use tickmark_analysis::comparison::{Line, Model};
use tickmark_analysis::paper::{MeasuredGroup, without_farthest};
use tickmark_analysis::report::Unit;
use tickmark_wire::names;

/// Of each rate a page of each setting against the first.
pub(super) fn pages(model: &Model, group: &MeasuredGroup) -> String {
    let mut out = String::new();
    for (against, name) in model.against.iter().zip(&group.settings[1..]) {
        let is_printed = |line: &&Line| {
            (matches!(line.unit, Unit::Rate) || line.metric == names::COMMAND_NUMBER)
                && line.figure == "value"
        };
        for line in against.lines.iter().filter(is_printed) {
            page(&mut out, &heading(line, group), line, [&group.settings[0], name]);
        }
    }
    out
}

/// What the numbers are: a command's as it names them itself.
fn heading(line: &Line, group: &MeasuredGroup) -> String {
    if line.metric != names::COMMAND_NUMBER {
        return format!("{}, a second", line.metric);
    }
    let planned = group.recordings.first().map_or(&[][..], |recording| &recording.meta.plan.metrics);
    let own = planned.iter().find(|metric| metric.name.as_str() == line.metric);
    own.map_or_else(|| line.metric.clone(), |metric| metric.title.clone())
}

fn page(out: &mut String, heading: &str, line: &Line, names: [&str; 2]) {
    let sets = |values: [&Vec<f64>; 2]| compat::page(&[(names[0], values[0]), (names[1], values[1])]);
    let _ = writeln!(out, "{heading}");
    // Transactions of databases: the runs themselves, and without an outlier, as timecounter-cost.txt has them.
    let has_runs = line.metric.starts_with(names::SQL) || line.metric == names::COMMAND_NUMBER;
    if has_runs {
        for (name, values) in names.iter().zip(&line.values) {
            let _ = writeln!(out, "\n{name}");
            values.iter().for_each(|value| {
                let _ = writeln!(out, "    {value:.2}");
            });
        }
        out.push('\n');
    }
    *out += &sets([&line.values[0], &line.values[1]]);
    if has_runs && line.values.iter().all(|values| values.len() > 3) {
        let [first, second] = line.values.each_ref().map(|values| without_farthest(values));
        let _ =
            writeln!(out, "\nwithout the run of each that is farthest from its median, as the document did:");
        *out += &sets([&first, &second]);
    }
    if let Some(exact) = line.exact {
        let [change, least, most] = [exact.change, exact.least, exact.most].map(|share| 100.0 * share);
        let _ = writeln!(
            out,
            "\nall runs, each at its phase of the tick: {change:+.2} % ({least:+.2} to {most:+.2})"
        );
    }
    let interval = line.claim.and_then(|claim| claim.change().1);
    if let (Some(ratio), Some(interval)) = (line.ratio, interval) {
        let percent = |ratio: f64| 100.0 * (ratio - 1.0);
        let _ = writeln!(
            out,
            "\nall runs, in pairs of a block: {:+.2} % ({:+.2} to {:+.2})",
            percent(ratio),
            percent(interval.low),
            percent(interval.high)
        );
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The document's own runs: what it left out, and what ministat then said.
    #[test]
    fn the_farthest_run_is_the_one_that_the_document_left_out() {
        let acpi = without_farthest(&[14097.47, 13741.43, 13704.01, 13626.05, 13769.32]);
        let tsc = without_farthest(&[13638.09, 15204.89, 15126.16, 15199.22, 15111.09]);
        assert_eq!((acpi.len(), tsc.len()), (4, 4));
        assert!(!acpi.contains(&14097.47) && !tsc.contains(&13638.09));
        let page = compat::page(&[("ACPI-Fast", &acpi), ("TSC", &tsc)]);
        for line in [
            "x   4      13626.05      13769.32      13722.72     13710.203     62.155788",
            "1450.14 +/- 96.546",
            "10.5771% +/- 0.704191%",
            "(Student's t, pooled s = 55.7976)",
        ] {
            assert!(page.contains(line), "{line} in\n{page}");
        }
    }
}
