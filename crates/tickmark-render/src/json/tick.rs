//! What CPUs were lost to. Times in ns, shares of 1.

use super::{FigureOrReason, Page};
use crate::json_object;
use crate::reason;
use tickmark_analysis::noise::Cause as EventCause;
use tickmark_analysis::noise::{
    Accounts, Evidence, Gap, GapCause, Kind, Noise, Occupancy, Osnoise, RecordingCost, Taker, Witness,
    WitnessedGap,
};
use tickmark_analysis::report::Header;
use tickmark_analysis::what_if::{Clocked, WhatIf};
use tickmark_stats::tick::Train;

json_object! {
    /// CPUs that were watched, each with its recording: times in ns, shares of 1.
    pub struct TickPage(all: Vec<CpuNoise>) {
        cpus: Vec<CpuNoise> = all,
    }

    /// A CPU that was watched.
    pub struct CpuNoise(header: Header, noise: &Noise, what_if: Option<&WhatIf>) {
        recording: Header = header,
        cpu: u32 = noise.cpu,
        accounts: AccountsPage = AccountsPage::new(&noise.accounts),
        /// By the kernel's own tracer, where it was asked.
        osnoise: Option<FigureOrReason<OsnoisePage>> = noise.osnoise.as_ref().map(|osnoise| FigureOrReason::new(osnoise, OsnoisePage::new)),
        /// Settings that changed meanwhile.
        changed: Vec<String> = noise.changed.clone(),
        /// How long it was watched.
        span: f64 = noise.span,
        /// Gaps above this were seen.
        threshold: f64 = noise.threshold,
        /// Share of the time.
        lost: f64 = noise.lost() / noise.span,
        /// Share of the lost time that has a name.
        named: f64 = noise.named()[0],
        unseen: f64 = noise.named()[1],
        looked: Option<f64> = noise.looked,
        tick: FigureOrReason<TrainPage> =
            FigureOrReason::new(&noise.tick.as_ref().map_err(reason::no_figure), |tick| TrainPage::new(noise, tick)),
        /// Who took the CPU by the kernel's own events, in other runs of the loop, where they were recorded.
        witness: Option<FigureOrReason<WitnessPage>> = noise.witness.as_ref().map(|witness| FigureOrReason::new(witness, WitnessPage::new)),
        kinds: Vec<KindPage> = noise.kinds.iter().map(|kind| KindPage::new(kind, noise.span)).collect(),
        longest: Vec<GapPage> = noise.longest().into_iter().map(GapPage::new).collect(),
        /// Lost in equal parts of the time.
        over_time: Vec<f64> = noise.over_time.clone(),
        /// What other rates would cost, where that was asked.
        #[serde(skip_serializing_if = "Option::is_none")]
        hz_what_if: Option<WhatIfPage> = what_if.map(WhatIfPage::new),
    }

    struct AccountsPage(of: &Accounts) {
        waited: Option<f64> = of.waited,
        steal: Option<f64> = of.steal,
        timer_interrupts_hz: Option<f64> = of.timer_interrupts,
    }

    struct OsnoisePage(of: &Osnoise) {
        lost: f64 = of.lost,
        interrupts_hz: f64 = of.interrupts,
    }

    struct WitnessPage(of: &Witness) {
        span: f64 = of.span,
        gaps: usize = of.gaps.len(),
        /// Share of the time.
        lost: f64 = of.lost / of.span,
        /// Share of the lost time, and of the gaps, of which it is known what ran, or that nothing of this kernel did.
        named: [f64; 2] = of.named(),
        /// Gaps without any event.
        outside_gaps: usize = of.outside.0,
        /// Time outside of this kernel.
        outside: f64 = of.outside.1,
        /// Rates of trains among gaps without events.
        trains_hz: Vec<f64> = of.trains.clone(),
        /// Share of the time, by the hypervisor's account.
        steal: Option<f64> = of.steal,
        /// System management interrupts by the processor's count.
        management_interrupts: Option<u64> = of.management,
        /// The clock that stamped the events, by its name in clock_gettime(2).
        clock: String = of.clock.clone(),
        /// When each run was, on that clock.
        runs: Vec<[f64; 2]> = of.runs.clone(),
        takers: Vec<TakerPage> = of.takers.iter().map(|taker| TakerPage::new(taker, of.span, of.event_cost)).collect(),
        /// Time of each cgroup's tasks.
        cgroups: Vec<CgroupPage> = of.cgroups.iter().map(|(name, time)| CgroupPage::new(name.clone(), *time)).collect(),
        longest: Vec<WitnessedPage> = of.longest().into_iter().map(WitnessedPage::new).collect(),
        over_time: Vec<f64> = of.over_time.clone(),
        events: u64 = of.events.recorded,
        events_dropped: u64 = of.events.dropped,
        /// Wake-ups by other CPUs, whose wakers have no name.
        wakings_dropped: u64 = of.events.wakings_dropped,
        /// Tracepoints that the kernel refused.
        refused: Vec<String> = of.refused.clone(),
        event_cost: Option<RecordingPage> = of.event_cost.map(|cost| RecordingPage::new(&cost)),
    }

    /// Who had some CPUs, by the kernel's events; ns.
    pub(super) struct OccupancyPage(of: &Occupancy) {
        /// How long, all CPUs together.
        span: f64 = of.span,
        /// What nobody wanted.
        left: f64 = of.left,
        /// Of which it is not known who had it.
        unknown: f64 = of.unknown,
        takers: Vec<TakerPage> = of.takers.iter().map(|taker| TakerPage::new(taker, of.known(), of.event_cost)).collect(),
        events: u64 = of.events.recorded,
        events_dropped: u64 = of.events.dropped,
        /// Wake-ups by other CPUs, whose wakers have no name.
        wakings_dropped: u64 = of.events.wakings_dropped,
        /// Tracepoints that the kernel refused.
        refused: Vec<String> = of.refused.clone(),
    }

    /// What recording an event costs: the first since the kernel was entered, and each further one, with 95 % intervals.
    struct RecordingPage(of: &RecordingCost) {
        first: f64 = of.first[1],
        first_interval: [f64; 2] = [of.first[0], of.first[2]],
        further: f64 = of.further[1],
        further_interval: [f64; 2] = [of.further[0], of.further[2]],
    }

    struct TakerPage(taker: &Taker, span: f64, event_cost: Option<RecordingCost>) {
        #[serde(flatten)]
        cause: TakerCause = TakerCause::new(&taker.cause),
        count: usize = taker.count,
        /// Own time, with recording its events.
        total: f64 = taker.total,
        /// Share of the time, without recording.
        share: f64 = taker.net(event_cost) / span,
        events: u64 = taker.events,
        p50: Option<f64> = taker.lengths.quantile(0.5),
        p99: Option<f64> = taker.lengths.quantile(0.99),
        max: Option<f64> = taker.lengths.quantile(1.0),
        /// Who woke a task or had set a timer, and how often.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        woken_by: Vec<WakerPage> = taker.woken_by.iter().map(|(by, count)| WakerPage::new(by.clone(), *count)).collect(),
    }

    pub(super) struct TakerCause(cause: &EventCause) {
        /// `tick`, `timer`, `interrupt`, `function_call`, `tlb_flush`, `device`, `soft_interrupt`, `tasklet`, `work`, `task`, `idle`, `page_fault`, `nmi`,
        /// `outside` or `unknown`.
        what: &'static str = cause.code(),
        name: String = cause.words(),
        #[serde(skip_serializing_if = "Option::is_none")]
        thread: Option<u32> = match cause {
            EventCause::Task { thread, .. } => Some(*thread),
            _ => None,
        },
        #[serde(skip_serializing_if = "Option::is_none")]
        cgroup: Option<String> = match cause {
            EventCause::Task { cgroup, .. } => cgroup.clone(),
            _ => None,
        },
    }

    struct WakerPage(by: String, count: usize) {
        by: String = by,
        count: usize = count,
    }

    struct CgroupPage(name: String, time: f64) {
        cgroup: String = name,
        time: f64 = time,
    }

    struct WitnessedPage(gap: &WitnessedGap) {
        start: f64 = gap.start,
        length: f64 = gap.length,
        parts: Vec<PartPage> = gap.parts.iter().map(|(cause, length)| PartPage::new(cause, *length)).collect(),
    }

    struct PartPage(cause: &EventCause, length: f64) {
        #[serde(flatten)]
        cause: TakerCause = TakerCause::new(cause),
        length: f64 = length,
    }

    struct TrainPage(noise: &Noise, tick: &Train) {
        frequency_hz: f64 = tick.frequency,
        /// Share of its times at which a gap was.
        filled: f64 = tick.filled,
        confirmed: bool = tick.confirmed,
        cost: Option<TickCost> = tick.cost.map(|cost| TickCost::new(cost.length, cost.share)),
        mean: Option<f64> = noise.cost.map(|[_, mean, _]| mean),
        mean_interval: Option<[f64; 2]> = noise.cost.map(|[low, _, high]| [low, high]),
    }

    struct TickCost(length: [f64; 3], share: f64) {
        p10: f64 = length[0],
        p50: f64 = length[1],
        p90: f64 = length[2],
        share: f64 = share,
    }

    /// What had the CPU.
    struct Cause(what: &GapCause) {
        what: &'static str = match what {
            GapCause::Tick => "tick",
            GapCause::Timer => "timer",
            GapCause::Interrupt(_) => "interrupt",
            GapCause::SoftInterrupt(_) => "soft_interrupt",
            GapCause::Fault => "page_fault",
            GapCause::Task => "task",
            GapCause::Quota => "quota",
            GapCause::RealTimeReserve => "real_time_reserve",
            GapCause::Outside(_) => "outside",
            GapCause::Unseen => "unseen",
            GapCause::Unknown => "unknown",
        },
        /// The kernel's name of an interrupt.
        #[serde(skip_serializing_if = "Option::is_none")]
        line: Option<String> = match what {
            GapCause::Interrupt(line) | GapCause::SoftInterrupt(line) => Some(line.clone()),
            _ => None,
        },
        /// How what is outside of this kernel is known: `train` or `steal`.
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<&'static str> = match what {
            GapCause::Outside(Evidence::Train(_)) => Some("train"),
            GapCause::Outside(Evidence::Steal) => Some("steal"),
            _ => None,
        },
        #[serde(skip_serializing_if = "Option::is_none")]
        frequency_hz: Option<f64> = match what {
            GapCause::Outside(Evidence::Train(rate)) => Some(*rate as f64 / 1e3),
            _ => None,
        },
    }

    struct KindPage(kind: &Kind, span: f64) {
        #[serde(flatten)]
        cause: Cause = Cause::new(&kind.what),
        count: usize = kind.count,
        total: f64 = kind.total,
        share: f64 = kind.total / span,
        over_time: Vec<f64> = kind.over_time.clone(),
        quantiles: Lengths = Lengths::new(kind),
    }

    struct Lengths(kind: &Kind) {
        p50: Option<f64> = kind.lengths.quantile(0.5),
        p90: Option<f64> = kind.lengths.quantile(0.9),
        p99: Option<f64> = kind.lengths.quantile(0.99),
        #[serde(rename = "p99.9")]
        p999: Option<f64> = kind.lengths.quantile(0.999),
        max: Option<f64> = kind.lengths.quantile(1.0),
    }

    struct GapPage(gap: &Gap) {
        #[serde(flatten)]
        cause: Cause = Cause::new(&gap.what),
        start: f64 = gap.start,
        length: f64 = gap.length,
    }

    struct WhatIfPage(of: &WhatIf) {
        /// Of a tick.
        cost: Option<f64> = of.cost.map(|[_, cost, _]| cost),
        cost_interval: Option<[f64; 2]> = of.cost.map(|[low, _, high]| [low, high]),
        at: Vec<RatePage> = of.at.iter().map(|(hz, [low, share, high])| RatePage::new(*hz, *share, Some([*low, *high]))).collect(),
        /// At other clocks of the processor.
        clocks: Vec<ClockedPage> = of.clocks.iter().map(ClockedPage::new).collect(),
        mhz: Option<f64> = of.megahertz,
        idle_stops: Option<bool> = of.idle_stops,
    }

    struct RatePage(hz: f64, share: f64, interval: Option<[f64; 2]>) {
        hz: f64 = hz,
        share: f64 = share,
        #[serde(skip_serializing_if = "Option::is_none")]
        interval: Option<[f64; 2]> = interval,
    }

    struct ClockedPage(of: &Clocked) {
        mhz: f64 = of.megahertz,
        cost: f64 = of.scaled,
        at: Vec<RatePage> = of.at.iter().map(|(hz, share)| RatePage::new(*hz, *share, None)).collect(),
    }
}

impl Page for TickPage {
    const NAME: &'static str = "tick";
}
