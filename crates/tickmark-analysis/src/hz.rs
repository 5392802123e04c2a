//! Cost of the tick in guests that count instructions, and the predicted cost at other rates.

use crate::report;
use tickmark_store::{Recording, Status};
use tickmark_wire::shared::{GAP_THRESHOLD, TURNS_OF_A_GAP};
use tickmark_wire::{Observations, names};

/// The tick in a recording.
pub struct Tick {
    /// The setting's, or the recording's.
    pub name: String,
    /// By the kernel's configuration.
    pub hz: f64,
    /// The share of the processor that ticks take: mean, least and most over phases.
    pub lost: [f64; 3],
    /// Instructions of a tick.
    pub instructions: f64,
    /// Million instructions a second.
    pub mips: f64,
    /// Cost of one tick, ns, where the gaps of a reading loop were examined.
    pub cost: Option<f64>,
    /// The kernel without its HZ: a prediction is for what differs in nothing else.
    kernel: String,
}

impl Tick {
    /// True if its kernel is another one's with a different HZ.
    #[must_use]
    pub fn differs_in_hz_alone(&self, base: &Self) -> bool {
        (self.hz - base.hz).abs() > 0.5 && self.kernel == base.kernel
    }

    /// Cost of one tick, ns: measured as a gap, or by the lost share.
    #[must_use]
    pub fn one(&self) -> f64 {
        self.cost.unwrap_or(self.lost[0] / self.hz * 1e9)
    }

    /// The same in instructions.
    #[must_use]
    pub fn one_in_instructions(&self) -> f64 {
        self.one() * self.mips / 1e3
    }

    /// The share of the processor that its tick takes at another HZ and speed, in million instructions a second.
    #[must_use]
    pub fn predicted(&self, hz: f64, mips: f64) -> f64 {
        self.one_in_instructions() / (mips * 1e6) * hz
    }

    /// How much longer an operation takes than beside another tick, as a share: what is left of the processor is less.
    #[must_use]
    pub fn longer_than(&self, base: &Self) -> f64 {
        (1.0 - base.lost[0]) / (1.0 - self.lost[0]) - 1.0
    }
}

/// The median gap of the tick's train, without the turn of the loop that lies in it.
fn cost(recording: &Recording) -> Option<f64> {
    let model = report::build(recording, &|metric| metric.name.as_str() == names::TICK, false);
    let mut rows = model.groups.iter().flat_map(|(_, rows)| rows);
    let gap = rows.find(|row| row.metric == format!("{}.cost", names::TICK))?.value?.point;
    let run = recording
        .runs
        .iter()
        .find(|run| run.planned.probe.as_str() == names::TICK && run.status == Status::Ok)?;
    // A threshold above the least one is so many turns of the loop.
    let turn = recording.observed(run, &run.planned.probe).iter().flatten().find_map(|observed| {
        match &observed.observations {
            Observations::Gaps(trace) if trace.threshold > GAP_THRESHOLD => {
                Some(trace.threshold.as_f64() / TURNS_OF_A_GAP as f64)
            }
            _ => None,
        }
    });
    Some(gap - turn.unwrap_or(0.0))
}

/// The tick of a recording whose times are counts of instructions.
#[must_use]
pub fn read_tick(recording: &Recording) -> Option<Tick> {
    let instruction = crate::instruction(recording)?;
    let model = report::build(recording, &|metric| metric.name.as_str() == names::SPIN, false);
    let rows = model.groups.iter().flat_map(|(_, rows)| rows);
    let each: Vec<f64> = rows
        .filter(|row| row.metric == format!("{}.lost", names::SPIN))
        .flat_map(|row| row.each.iter().map(|each| each.value))
        .collect();
    let hz: f64 = recording.environment()?.get("kernel.config.HZ")?.parse().ok()?;
    let mean = each.iter().sum::<f64>() / each.len().max(1) as f64;
    let ends = [each.iter().copied().fold(f64::MAX, f64::min), each.iter().copied().fold(f64::MIN, f64::max)];
    (!each.is_empty()).then(|| Tick {
        name: recording.meta.arm.as_ref().map_or(&recording.meta.name, |arm| &arm.setting).clone(),
        hz,
        lost: [mean, ends[0], ends[1]],
        instructions: mean * 1e9 / hz / instruction,
        mips: 1e3 / instruction,
        cost: cost(recording),
        kernel: recording
            .environment()
            .and_then(|facts| facts.get("guest.kernel"))
            .map_or_else(String::new, |kernel| {
                kernel.split(':').filter(|part| !part.starts_with("hz=")).collect::<Vec<_>>().join(":")
            }),
    })
}
