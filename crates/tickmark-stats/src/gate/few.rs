//! New recordings beside earlier ones that are too few for their labels: by Student's t, as if logarithms of figures were normal.

use super::{FINEST, Judged, Side};
use crate::multiple::holm;
use crate::plan::detectable;
use crate::student::t_above;
use crate::verdict::POWER;

/// So many times the standard deviation is reckoned with: runs have longer tails on their slow side than normal values, and of few values the deviation shows
/// none of them (simulated: `cargo test -p tickmark-stats --release --test statistics few_recordings -- --nocapture`).
const TAILS: f64 = 1.6;
/// Fewer earlier recordings do not spread.
pub const FEWEST: usize = 2;

/// As [`super::judge`], with chances that are corrected (Holm 1979), and the standard error of each figure's difference in logarithms: infinite where the
/// earlier ones hardly vary, of which no change is claimed.
#[must_use]
pub fn judge_few(earlier: &[Vec<f64>], new: &[Vec<f64>], sides: &[Side]) -> Option<Vec<(Judged, f64)>> {
    let figures = new.first()?.len();
    let is_whole = earlier.iter().chain(new).all(|row| row.len() == figures) && sides.len() == figures;
    if earlier.len() < FEWEST || !is_whole {
        return None;
    }
    let (count, df) = (earlier.len() as f64, earlier.len() as f64 - 1.0);
    // The difference of two means varies so many times as one value.
    let widening = (1.0 / new.len() as f64 + 1.0 / count).sqrt();
    let apart = |figure: usize| {
        let mean = |rows: &[Vec<f64>]| rows.iter().map(|row| row[figure]).sum::<f64>() / rows.len() as f64;
        let middle = mean(earlier);
        let squares: f64 = earlier.iter().map(|row| (row[figure] - middle).powi(2)).sum();
        (mean(new) - middle, (squares / df).sqrt())
    };
    let all: Vec<(f64, f64)> = (0..figures).map(apart).collect();
    let error =
        |deviation: f64| if deviation > FINEST { TAILS * deviation * widening } else { f64::INFINITY };
    let chance = |((by, deviation), side): (&(f64, f64), &Side)| {
        let above = t_above(by / error(*deviation), df);
        match side {
            Side::Above => above,
            Side::Below => 1.0 - above,
            Side::Either => 2.0 * above.min(1.0 - above),
        }
    };
    let chances: Vec<f64> = all.iter().zip(sides).map(chance).collect();
    let one = |((by, deviation), p): (&(f64, f64), f64)| {
        (Judged { ratio: by.exp(), far: by / deviation.max(FINEST), p }, error(*deviation))
    };
    Some(all.iter().zip(holm(&chances)).map(one).collect())
}

/// By how many standard errors one of so many figures has to be off for so many earlier recordings to show it at a level in at least four of five cases.
#[must_use]
pub fn visible_errors(earlier: usize, figures: usize, level: f64, side: Side) -> f64 {
    let sides = if side == Side::Either { 1.0 } else { 2.0 };
    detectable(earlier, sides * level / figures.max(1) as f64, POWER) * (earlier as f64).sqrt()
}
