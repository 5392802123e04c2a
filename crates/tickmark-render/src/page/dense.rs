//! Series of many points, which the page's script draws: four bytes for each.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use maud::{Markup, PreEscaped, html};
use serde_json::json;

/// Steps of x: the whole in so many, that no step is lost to rounding.
const STEPS: f64 = 60_000.0;
/// Of the logarithm of y: 1024 an octave, from 2^-10 on.
const PARTS: f64 = 1024.0;
const LEAST: f64 = -10.0;
/// Points of all series of a page together: half a megabyte.
const ROOM: usize = 100_000;

/// Points in the order of x, y above 0 by its logarithm.
pub(super) struct Dense {
    /// Its title.
    pub(super) title: String,
    /// Label of the x axis.
    pub(super) x: &'static str,
    /// Label of the y axis.
    pub(super) y: &'static str,
    /// The points.
    pub(super) points: Vec<(f64, f64)>,
}

/// One of so many series of a page.
pub(super) fn series(of: &Dense, among: usize) -> Markup {
    let every = of.points.len().div_ceil(ROOM / among.max(1)).max(1);
    let points: Vec<(f64, f64)> = of.points.iter().copied().step_by(every).collect();
    let (step, text) = encoded(&points);
    let title = super::sampled(&of.title, every);
    let data = json!({ "title": title, "x": of.x, "y": of.y, "step": step, "points": text });
    // No text of others ends the element: < is written otherwise.
    let data = data.to_string().replace('<', "\\u003c");
    html! {
        div class="dense" tabindex="0" role="figure" aria-label={ (title) ": drag, or + and -, to zoom; arrows to move; 0 for all" } {
            script type="application/json" { (PreEscaped(data)) }
        }
    }
}

/// The width of a step of x, and the points: the steps from the one before, and the logarithm of y.
fn encoded(points: &[(f64, f64)]) -> (f64, String) {
    let widest = points
        .windows(2)
        .map(|pair| pair[1].0 - pair[0].0)
        .fold(points.first().map_or(0.0, |first| first.0), f64::max);
    // A gap between two may take all 16 bits, and the whole no less than it has.
    let step = (widest / f64::from(u16::MAX))
        .max(points.last().map_or(1.0, |last| last.0) / STEPS / points.len().max(1) as f64)
        .max(f64::MIN_POSITIVE);
    let (mut bytes, mut at) = (Vec::with_capacity(points.len() * 4), 0.0);
    for (x, y) in points {
        // From where the steps so far have come to, so that roundings do not add up.
        let steps = ((x - at) / step).round().clamp(0.0, f64::from(u16::MAX)) as u16;
        at += f64::from(steps) * step;
        let log = if *y > 0.0 {
            ((y.log2() - LEAST) * PARTS + 1.0).round().clamp(1.0, f64::from(u16::MAX)) as u16
        } else {
            0
        };
        bytes.extend(steps.to_le_bytes());
        bytes.extend(log.to_le_bytes());
    }
    (step, BASE64_STANDARD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the script does it.
    fn decoded(step: f64, text: &str) -> Vec<(f64, f64)> {
        let mut at = 0.0;
        let word = |part: &[u8]| f64::from(u16::from_le_bytes([part[0], part[1]]));
        let one = |part: &[u8]| {
            at += word(&part[..2]) * step;
            let log = word(&part[2..]);
            (at, if log == 0.0 { 0.0 } else { ((log - 1.0) / PARTS + LEAST).exp2() })
        };
        BASE64_STANDARD.decode(text).unwrap().chunks(4).map(one).collect()
    }

    #[test]
    fn points_come_back_within_a_tenth_of_a_per_cent() {
        let points: Vec<(f64, f64)> =
            (0..5000).map(|n| (f64::from(n) * 0.004, 300.0 + f64::from(n * n % 977) * 1000.0)).collect();
        let (step, text) = encoded(&points);
        for ((x, y), (known, wanted)) in decoded(step, &text).iter().zip(&points) {
            assert!(
                (x - known).abs() <= 20.0 / STEPS + step && (y / wanted - 1.0).abs() < 1e-3,
                "{x} {known} {y} {wanted}"
            );
        }
        let (step, text) = encoded(&[(3.0, 0.0), (3.0, 1e9), (1e6, 2.0)]);
        let back = decoded(step, &text);
        assert!(back[0].1 == 0.0 && (back[2].0 / 1e6 - 1.0).abs() < 1e-4 && back[1].0 <= back[2].0);
        assert_eq!(encoded(&[]).1, "");
        let dense = Dense { title: "</script><b>".to_owned(), x: "x", y: "y", points };
        let page = series(&dense, 1).into_string();
        assert_eq!(page.matches("</script>").count(), 1, "what others named ends nothing");
        // Many series share the room.
        let shared = series(&dense, 100).into_string();
        assert!(shared.len() < page.len() / 4 && shared.contains("one of 5"), "{}", shared.len());
    }
}
