//! Prediction for another HZ and another clock rate of the processor, from the measured cost of a tick: cost times rate, with which
//! "Comparing Performance 100 Hz versus 1000 Hz Clock Tick" (Denk, 2005) begins.

use crate::doctor::stops_while_idle;
use crate::noise::Noise;
use crate::report::gigahertz;
use tickmark_store::Recording;

/// The prediction.
#[derive(Debug)]
pub struct WhatIf {
    /// Average time of a tick, ns, between the limits of its 95 % confidence interval; none where it is not known.
    pub cost: Option<[f64; 3]>,
    /// The tick that was measured, Hz.
    pub measured: Option<f64>,
    /// The share of a busy CPU that ticks take at each HZ that was asked about, between its limits.
    pub at: Vec<(f64, [f64; 3])>,
    /// The same cost at other clock rates.
    pub clocks: Vec<Clocked>,
    /// The processor's clock while it was measured, MHz.
    pub megahertz: Option<f64>,
    /// Whether the tick of an idle CPU stops, by the kernel's configuration; none where that is not known.
    pub idle_stops: Option<bool>,
}

/// A tick at another clock rate.
#[derive(Debug)]
pub struct Clocked {
    /// The clock rate, MHz.
    pub megahertz: f64,
    /// Time of a tick at the other clock rate if all of it scales with the clock, ns.
    pub scaled: f64,
    /// The share of a busy CPU that this is at each HZ that was asked about.
    pub at: Vec<(f64, f64)>,
}

/// The prediction of one loop for rates in Hz and clocks in MHz: `tick --hz-what-if` and `--mhz`.
#[must_use]
pub fn predict_rates(noise: &Noise, recording: &Recording, rates: &[f64], clocks: &[f64]) -> WhatIf {
    let megahertz = gigahertz(recording).map(|[_, middle, _]| middle * 1e3);
    let share = |hz: f64, cost: f64| cost * hz / 1e9;
    let each =
        noise.cost.map(|cost| rates.iter().map(|hz| (*hz, cost.map(|cost| share(*hz, cost)))).collect());
    let clocked = |[_, cost, _]: [f64; 3], own: f64| {
        let at = |megahertz: &f64| {
            let scaled = cost * own / megahertz;
            Clocked {
                megahertz: *megahertz,
                scaled,
                at: rates.iter().map(|hz| (*hz, share(*hz, scaled))).collect(),
            }
        };
        clocks.iter().map(at).collect()
    };
    WhatIf {
        cost: noise.cost,
        measured: noise.tick.as_ref().ok().map(|tick| tick.frequency),
        at: each.unwrap_or_default(),
        clocks: noise.cost.zip(megahertz).map(|(cost, own)| clocked(cost, own)).unwrap_or_default(),
        megahertz,
        idle_stops: recording.environment().and_then(stops_while_idle),
    }
}
