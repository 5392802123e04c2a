//! Messages of every size, and what they cost the processor: times in ns, rates in bytes a second, loads as shares of a CPU.

use super::{Page, ends};
use crate::comms::settings;
use crate::json_object;
use tickmark_analysis::comms::{
    Comms, CommsSummary, Contrast, Cpu, Document, Latency, Law, Load, LongLoad, Packet, PerMessage,
    RoundTripSummary, Row, contrasts, laws,
};
use tickmark_stats::linear::LineSegment;
use tickmark_wire::Host;

json_object! {
    /// Ways to send messages, by size: times in ns, rates in bytes a second, loads as shares of a CPU.
    pub struct CommsPage(all: &[Comms]) {
        comms: Vec<WayPage> = all.iter().map(WayPage::new).collect(),
        /// Cost of a byte and of a packet, over the packets' sizes.
        packet_laws: Vec<LawPage> = laws(all).iter().map(LawPage::new).collect(),
        /// Tables 2 and 3 of the document, where all of it was measured.
        document: Option<DocumentPage> = tickmark_analysis::comms::document(all).as_ref().map(DocumentPage::new),
        /// What a setting changes.
        settings: Vec<ContrastPage> = contrasts(all).iter().map(ContrastPage::new).collect(),
    }

    struct WayPage(of: &Comms) {
        metric: String = of.metric.clone(),
        title: String = of.title.clone(),
        /// The time of a message is a round trip (`whole`) by this.
        divisor: f64 = of.divisor,
        /// Why there are no figures.
        #[serde(skip_serializing_if = "Option::is_none")]
        none: Option<String> = of.summary.as_ref().err().cloned(),
        #[serde(flatten)]
        summary: Option<SummaryPage> = of.summary.as_ref().ok().map(SummaryPage::new),
    }

    struct SummaryPage(of: &CommsSummary) {
        runs: usize = of.runs,
        /// Time as a line of the size, in pieces.
        model: Option<Vec<PiecePage>> = of.pieces.as_ref().map(|pieces| {
            pieces.iter().enumerate().map(|(number, piece)| PiecePage::new(of, number == 0, piece)).collect()
        }),
        /// Sizes at which the rate falls, and from which it is regained.
        dips: Vec<(u64, Option<u64>)> = of.dips(),
        cpus: Vec<CpuPage> = of.cpus.iter().map(CpuPage::new).collect(),
        rows: Vec<RowPage> = of.rows.iter().map(RowPage::new).collect(),
    }

    struct PiecePage(of: &CommsSummary, is_first: bool, piece: &LineSegment) {
        /// From which size to which.
        bytes: [Option<u64>; 2] = [piece.sizes.0, piece.sizes.1].map(|at| of.rows.get(at).map(|row| row.size)),
        /// Time of an empty message.
        t0: Option<f64> = is_first.then_some(piece.start),
        t0_interval: Option<[f64; 2]> = piece.start_interval.filter(|_| is_first).map(ends),
        /// Rate of an endless one.
        r_inf: Option<f64> = piece.rate().map(|_| 1e9 / piece.per_byte),
        r_inf_interval: Option<[f64; 2]> = piece.rate().map(ends),
        /// Size at which half of it is reached.
        n_half: Option<f64> = piece.half_length().filter(|_| is_first),
        residual_median: f64 = piece.residuals.0,
        residual_most: f64 = piece.residuals.1,
    }

    struct CpuPage(of: &Cpu) {
        cpu: u32 = of.cpu,
        host: Option<Host> = of.host.clone(),
        windows: usize = of.windows.0,
        refused: usize = of.windows.1,
        apart_median: Option<f64> = of.apart.map(|apart| apart.0),
        apart_p95: Option<f64> = of.apart.map(|apart| apart.1),
    }

    struct RowPage(row: &Row) {
        bytes: u64 = row.size,
        time: f64 = row.time,
        /// Range over the launches.
        launches: Option<[f64; 2]> = row.launches.map(ends),
        rate: f64 = row.rate(),
        whole: WholePage = WholePage::new(&row.whole),
        /// Of each CPU.
        loads: Vec<LoadPage> = row.loads.iter().map(LoadPage::new).collect(),
    }

    /// Single round trips.
    struct WholePage(of: &RoundTripSummary) {
        median: f64 = of.median,
        mean: f64 = of.mean,
        quantiles: Vec<QuantilePage> = of.quantiles.iter().map(|(q, ns)| QuantilePage::new(*q, *ns)).collect(),
    }

    struct QuantilePage(q: f64, ns: Option<f64>) {
        q: f64 = q,
        ns: Option<f64> = ns,
    }

    /// What the messages cost a CPU, by each meter.
    struct LoadPage(of: &Load) {
        gaps: Option<f64> = of.gaps,
        gaps_p10_p90: Option<(f64, f64)> = of.ends,
        counter: Option<f64> = of.counter,
        tasks: Option<f64> = of.tasks,
        stat: Option<f64> = of.stat,
        others: Option<f64> = of.others,
        unexplained: Option<f64> = of.unexplained,
        windows: usize = of.windows.0,
        refused: usize = of.windows.1,
        /// Counts for each round trip.
        per_message: PerMessagePage = PerMessagePage::new(&of.per_message),
    }

    struct PerMessagePage(of: &PerMessage) {
        switches: Option<f64> = of.switches,
        interrupts: Option<f64> = of.interrupts,
        softirqs: Option<f64> = of.softirqs,
    }

    struct LawPage(law: &Law) {
        title: String = law.title.clone(),
        bytes: u64 = law.size,
        ns_per_byte: f64 = law.per_byte.0,
        ns_per_byte_interval: Option<[f64; 2]> = law.per_byte.1.map(ends),
        ns_per_packet: f64 = law.per_packet.0,
        ns_per_packet_interval: Option<[f64; 2]> = law.per_packet.1.map(ends),
        residual_most: f64 = law.residual,
        load_x_packet_is_constant: bool = law.is_constant,
        packets: Vec<PacketPage> = law.packets.iter().map(PacketPage::new).collect(),
    }

    struct PacketPage(of: &Packet) {
        mtu: u32 = of.mtu,
        payload: f64 = of.payload,
        rate: f64 = of.rate,
        load: f64 = of.load,
    }

    struct ContrastPage(of: &Contrast) {
        title: String = of.title.clone(),
        setting: &'static str = of.setting,
        values: [String; 2] = of.values.clone(),
        bytes: u64 = of.size,
        figure: &'static str = of.figure,
        launches: usize = of.launches,
        ratio: Option<f64> = of.comparison.change().0,
        interval: Option<[f64; 2]> = of.comparison.change().1.map(ends),
        /// For a person.
        verdict: String = settings::verdict(of),
    }

    struct DocumentPage(of: &Document) {
        table_2: Vec<LatencyPage> = of.latencies.iter().map(LatencyPage::new).collect(),
        table_3: Vec<LongLoadPage> = of.loads.iter().map(LongLoadPage::new).collect(),
        /// Least and most of load times packet.
        load_x_packet: Option<(f64, f64)> = of.products,
        least_packet: Option<f64> = of.least.map(|(mtu, _)| mtu),
        least_packet_holds: Option<bool> = of.least.and_then(|(_, holds)| holds),
    }

    struct LatencyPage(of: &Latency) {
        computes: String = of.computes.clone(),
        t0: Option<f64> = of.start.map(|(start, _)| start),
        t0_interval: Option<[f64; 2]> = of.start.and_then(|(_, interval)| interval).map(ends),
    }

    struct LongLoadPage(of: &LongLoad) {
        benchmark: String = of.benchmark.clone(),
        mtu: u32 = of.mtu,
        limit_mbit: u32 = of.rate,
        rate: f64 = of.fastest,
        loads: Vec<f64> = of.loads.clone(),
    }
}

impl Page for CommsPage {
    const NAME: &'static str = "comms";
}
