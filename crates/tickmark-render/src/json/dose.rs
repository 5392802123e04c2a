//! What slower clock reads cost a server, in ns.

use super::{Page, counts, ends};
use crate::dose::clocks;
use crate::json_object;
use std::collections::BTreeMap;
use tickmark_analysis::dose::{CONFIDENCE, Dosed, Row, Verdict};
use tickmark_stats::dose::Slope;
use tickmark_wire::Arguments;

json_object! {
    /// A server whose clock reads were made slower: times in ns.
    pub struct DosePage(dosed: &Dosed) {
        server: String = dosed.server.clone(),
        arguments: Arguments = dosed.arguments.clone(),
        /// Who makes the reads slower: `kernel` or `preload`.
        by: &'static str = if dosed.in_kernel { "kernel" } else { "preload" },
        /// What is measured: a `number` that the command prints, or `cpu` time of a transaction.
        measure: &'static str = if dosed.is_number { "number" } else { "cpu" },
        blocks: usize = dosed.blocks,
        /// Without a dose.
        cost: f64 = dosed.cost,
        delivered_without: f64 = dosed.none,
        deviation: f64 = dosed.deviation,
        rate: f64 = dosed.rate,
        /// Clock reads of a transaction.
        reads: f64 = dosed.reads,
        op: Option<String> = dosed.operation.as_ref().map(|(name, _)| name.clone()),
        op_cost: Option<f64> = dosed.operation.as_ref().map(|(_, each)| *each),
        read_cost: ReadCost = ReadCost::new(dosed.read),
        doses: Vec<DoseRow> = dosed.rows.iter().map(DoseRow::new).collect(),
        /// More cost of a transaction for each ns that one read takes longer: its number of reads.
        slope: Option<SlopePage> = dosed.slope.map(|slope| SlopePage::new(&slope)),
        /// The same for each ns that all counted reads of a transaction take longer together.
        each: Option<SlopePage> = dosed.each.map(|slope| SlopePage::new(&slope)),
        /// Context switches more for each ns that one read takes longer.
        switches: Option<SlopePage> = dosed.switches.map(|slope| SlopePage::new(&slope)),
        /// Whether the cost is what the count of reads predicts.
        verdict: Option<&'static str> = dosed.verdict().map(|verdict| match verdict {
            Verdict::Agree => "agree",
            Verdict::Undecided => "undecided",
            Verdict::More => "more",
            Verdict::Less => "less",
            Verdict::Scheduling => "scheduling",
        }),
        /// With slower clock sources.
        lost: Vec<LostPage> = clocks(dosed).iter().map(|(name, longer)| LostPage::new(dosed, name, *longer)).collect(),
        faults: BTreeMap<String, u64> = counts(&dosed.faults),
        /// Why reads were not seen.
        not_seen: Vec<String> = dosed.blind.clone(),
    }

    /// A clock read.
    struct ReadCost(of: [f64; 2]) {
        plain: f64 = of[0],
        syscall: f64 = of[1],
    }

    struct DoseRow(row: &Row) {
        nominal: Option<f64> = row.nominal,
        delivered: f64 = row.delivered,
        reads: f64 = row.reads,
        more: f64 = row.more,
        interval: Option<[f64; 2]> = row.interval.map(ends),
        predicted: f64 = row.predicted,
    }

    struct SlopePage(of: &Slope) {
        point: f64 = of.point,
        interval: [f64; 2] = ends(of.interval(CONFIDENCE)),
        confidence: f64 = CONFIDENCE,
    }

    /// Share of the transactions that a slower clock source takes.
    struct LostPage(dosed: &Dosed, clock: &str, longer: f64) {
        clock: String = clock.to_owned(),
        longer: f64 = longer,
        by_count: Option<f64> = dosed.lost_by_count(longer),
        by_slope: Option<[f64; 2]> = dosed.lost(longer).map(ends),
    }
}

impl Page for DosePage {
    const NAME: &'static str = "dose";
}
