//! A figure that is made of parts or of the points of a curve.

use super::conditions::computing;
use super::modes::{SeparateModes, of_one_mode};
use tickmark_stats::{batches, median};
use tickmark_wire::{Observations, Observed, Point, Unit};

/// The median over the three largest sizes.
pub(super) fn farthest(points: &[(u64, f64, f64)], of: fn(&(u64, f64, f64)) -> f64) -> Option<f64> {
    median(points.iter().rev().take(3).map(of))
}

/// Bytes that the points of a curve went over.
pub(super) fn area(observations: &Observations) -> u64 {
    let over = |point: &Point| match &point.observations {
        Observations::Batches(b) => b.over,
        _ => 0,
    };
    match observations {
        Observations::Curve(points) => points.iter().map(over).max().unwrap_or(0),
        _ => 0,
    }
}

/// How much more than in the smallest set a load costs once its page is not in the first-level TLB, in ns: less
/// than the 7 cycles that a hit in the second level takes, more than what noise does.
pub(super) const TLB_MISS: f64 = 0.4;

/// The cost of an operation, in ns, in the metric's unit.
pub(super) fn in_unit(cost: f64, unit: Unit, bytes: u64) -> f64 {
    match unit {
        Unit::Throughput => bytes as f64 * 1e9 / cost,
        Unit::Frequency | Unit::Rate => 1e9 / cost,
        _ => cost,
    }
}

/// The figures of batches, in ns of one operation.
pub(super) struct Parts {
    pub(super) floor: f64,
    pub(super) mean: f64,
    pub(super) cpu: Option<f64>,
    pub(super) disturbed: (usize, usize),
    pub(super) apart: SeparateModes,
    pub(super) few: bool,
}

/// Whole, less what is taken off, plus what is added: figure by figure.
pub(super) fn of_batches(observed: &[Observed]) -> Option<Parts> {
    let mut sum = Parts {
        floor: 0.0,
        mean: 0.0,
        cpu: Some(0.0),
        disturbed: (0, 0),
        apart: SeparateModes::default(),
        few: false,
    };
    for part in observed {
        let Observations::Batches(b) = &part.observations else { continue };
        let (elapsed, apart) = of_one_mode(b);
        let f = batches::figures(&elapsed, b.iterations.get() as f64)?;
        let sign = part.part.sign()?;
        sum.floor += sign * f.floor;
        sum.mean += sign * f.mean;
        // The share of the time that was computing, of the mean cost: what the loop does between
        // batches falls out.
        sum.cpu = sum.cpu.zip(computing(&part.segments)).map(|(cpu, share)| cpu + sign * f.mean * share);
        sum.disturbed.0 += b.disturbed.len();
        sum.disturbed.1 += b.elapsed.len();
        sum.apart = sum.apart.plus(apart);
        sum.few |= f.few;
    }
    Some(sum)
}

/// Floor and mean of each point, less those of the same size in another curve.
pub(super) fn of_curve(points: &[Point], less: &[Point]) -> Option<Vec<(u64, f64, f64)>> {
    let figures = |point: &Point| match &point.observations {
        Observations::Batches(b) => batches::figures(&of_one_mode(b).0, b.iterations.get() as f64),
        _ => None,
    };
    let of = |point: &Point| {
        let f = figures(point)?;
        let off = less.iter().find(|other| other.at == point.at).and_then(figures);
        let (floor, mean) = off.map_or((0.0, 0.0), |off| (off.floor, off.mean));
        Some((point.at, f.floor - floor, f.mean - mean))
    };
    let all: Vec<_> = points.iter().filter_map(of).collect();
    (!all.is_empty()).then_some(all)
}

/// Of all points of all curves: batches of other modes, batches disturbed and all of them, and whether a point has
/// too few for a floor.
pub(super) fn accounts(observed: &[Observed]) -> (SeparateModes, (usize, usize), bool) {
    let points = observed.iter().flat_map(|part| match &part.observations {
        Observations::Curve(points) => points.as_slice(),
        _ => &[],
    });
    let mut sum = (SeparateModes::default(), (0, 0), false);
    for point in points {
        if let Observations::Batches(b) = &point.observations {
            sum.0 = sum.0.plus(of_one_mode(b).1);
            sum.1 = (sum.1.0 + b.disturbed.len(), sum.1.1 + b.elapsed.len());
            sum.2 |= b.elapsed.len() < batches::ENOUGH;
        }
    }
    sum
}
