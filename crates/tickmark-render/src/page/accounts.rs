//! Drawings of what is told as a few numbers: rates that keep a limit, bills, clock reads.

use crate::bill;
use crate::capacity::rate;
use crate::plot::{Axis, Dots, Drawing, Row};
use tickmark_analysis::bill::Bill;
use tickmark_analysis::capacity::Capacity;
use tickmark_analysis::clock_reads::Reads;
use tickmark_analysis::http::Load;

/// Call sites that are drawn.
const SITES: usize = 12;

/// Each search: where it ended, and what it went by.
pub(super) fn of_capacity(all: &[Load<Capacity>]) -> Vec<Drawing> {
    let row = |load: &Load<Capacity>| {
        let observed = load.summary.as_ref().ok()?;
        let interval = &observed.rate.interval;
        let middle = if observed.runs > 1 {
            vec![interval.low, observed.rate.point, interval.high]
        } else {
            vec![observed.rate.point]
        };
        let values = vec![middle, vec![observed.kept], vec![observed.broke], vec![observed.closed]];
        Some(Row { name: load.title.clone(), values })
    };
    let kinds = [
        "highest rate that keeps the limit, with its interval",
        "highest of a slice that kept it",
        "lowest of a slice that did not",
        "sent when an answer has come",
    ];
    dots(
        "Rates that keep a limit",
        Axis::linear("requests a second", rate),
        &kinds,
        all.iter().filter_map(row).collect(),
    )
}

/// Drawings of each run's bill, item by item.
pub(super) fn of_bill(of: &Bill) -> Vec<Drawing> {
    let rows = of
        .parts
        .iter()
        .map(|(what, _, each)| Row { name: bill::title(*what).to_owned(), values: vec![each.clone()] });
    dots(
        "CPU time by whose it was, each run",
        Axis::linear("CPU time", bill::signed_time),
        &["each run"],
        rows.collect(),
    )
}

/// How often each clock was read, and from where most often.
pub(super) fn of_reads(of: &Reads) -> Vec<Drawing> {
    let each = of.count.filter(|count| *count > 0.0);
    let row = |(name, count): &(String, f64)| Row {
        name: name.clone(),
        values: vec![vec![count / each.unwrap_or(1.0)]],
    };
    let title = if each.is_some() { "reads per transaction" } else { "reads" };
    let axis = || Axis::log(title, |count| format!("{count}"));
    let mut all = dots("Reads of each clock", axis(), &[title], of.clocks.iter().map(row).collect());
    let sites = of.sites.iter().take(SITES).map(row).collect();
    all.extend(dots("Call sites that read clocks most often", axis(), &[title], sites));
    all
}

/// None of nothing.
fn dots(title: &str, axis: Axis, kinds: &[&str], rows: Vec<Row>) -> Vec<Drawing> {
    let kinds = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    let drawing = Drawing::Dots(Dots { title: title.to_owned(), axis, kinds, rows });
    if drawing.svg().is_empty() { Vec::new() } else { vec![drawing] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickmark_analysis::bill::PARTS;
    use tickmark_stats::median_of_runs;

    fn circles(drawings: &[Drawing]) -> Vec<usize> {
        drawings.iter().map(|drawing| drawing.svg().matches("<circle").count()).collect()
    }

    #[test]
    fn every_run_of_a_bill_is_a_dot_overbilling_too() {
        let parts = PARTS.iter().map(|(_, what)| (*what, 1e6, vec![-2e6, 1e6, 3e6])).collect();
        let bill = Bill {
            command: "true".to_owned(),
            time: (1e9, None),
            unwatched: None,
            total: 6e6,
            parts,
            runs: 3,
            count: (None, None),
            recorded: None,
            ran_already: false,
        };
        let drawings = of_bill(&bill);
        assert_eq!(circles(&drawings), [18]);
        assert!(
            drawings[0].svg().contains("-2 ms") || drawings[0].svg().contains("-2.00 ms"),
            "{}",
            drawings[0].svg()
        );
        assert!(drawings[0].text(100).contains("billed to it"));
    }

    #[test]
    fn searches_have_their_interval_and_those_that_failed_no_row() {
        let observed = Capacity {
            runs: 3,
            rate: median_of_runs(&[900.0, 1000.0, 1100.0]).unwrap(),
            kept: 1050.0,
            broke: 980.0,
            closed: 3000.0,
            late: 0.0,
        };
        let load = |observed| Load {
            metric: "m".to_owned(),
            title: "a page".to_owned(),
            arguments: Default::default(),
            summary: observed,
        };
        let drawings = of_capacity(&[load(Ok(observed)), load(Err("refused".to_owned()))]);
        // Six values, and one of each kind in the legend.
        assert_eq!(circles(&drawings), [10]);
        assert!(of_capacity(&[load(Err("refused".to_owned()))]).is_empty());
    }

    #[test]
    fn clocks_and_call_sites_are_drawn_for_each_transaction() {
        let of = |count| Reads {
            command: "server".to_owned(),
            runs: 1,
            clocks: vec![("monotonic".to_owned(), 600.0), ("time".to_owned(), 100.0)],
            sites: (0..20).map(|number| (format!("server+{number}"), 30.0)).collect(),
            blind: Vec::new(),
            time: 1e9,
            count,
            by_kernel: false,
            system_calls: None,
            kernel: None,
            calls: Vec::new(),
        };
        let drawings = of_reads(&of(Some(100.0)));
        assert_eq!(circles(&drawings), [2, SITES]);
        assert!(
            drawings[0].svg().contains("monotonic: 6") && drawings[0].svg().contains("reads per transaction")
        );
        assert!(of_reads(&of(None))[0].svg().contains("monotonic: 600"));
    }
}
