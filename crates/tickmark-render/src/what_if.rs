//! Predicted cost of a tick at another HZ, in words and as JSON.

use crate::fold::wrapped;
use crate::grid::lines;
use crate::number::time;
use std::fmt::Write;
use tickmark_analysis::what_if::{Clocked, WhatIf};

/// The prediction with its assumptions.
#[must_use]
pub fn text(what_if: &WhatIf) -> String {
    let mut out = String::from("\nWhat another HZ would cost: cost of a tick x HZ\n");
    let Some([low, cost, high]) = what_if.cost else {
        let next = format!(
            "not known: too few ticks were seen alone, or none. Watch longer (--duration 30s), with less beside it, or before other tasks (--priority fifo:50); in guests, for a program of yours: {}",
            crate::command("hz -- COMMAND")
        );
        let _ = writeln!(out, "{}", wrapped(&next, 2).join("\n"));
        return out;
    };
    let _ = writeln!(out, "  a tick takes {} on average ({} to {})", time(cost), time(low), time(high));
    let row = |(hz, [low, share, high]): &(f64, [f64; 3])| {
        let own = what_if.measured.is_some_and(|own| (own / hz - 1.0).abs() < 0.01);
        let change = what_if.measured.filter(|_| !own).map_or_else(
            || "this kernel's".to_owned(),
            |own| format!("{:+.3} points against {own:.0} Hz", (share - cost * own / 1e9) * 100.0),
        );
        vec![
            format!("HZ {hz}"),
            percent(*share),
            format!("({:.3} to {:.3})", low * 100.0, high * 100.0),
            change,
        ]
    };
    lines(what_if.at.iter().map(row), [1, 2]).into_iter().for_each(|line| {
        let _ = writeln!(out, "  {line}");
    });
    for clocked in &what_if.clocks {
        let _ = writeln!(out, "  {}", self::clocked(clocked));
    }
    out.push('\n');
    for note in assumptions(what_if) {
        let _ = writeln!(out, "{}", wrapped(&note, 2).join("\n"));
    }
    let _ = writeln!(out, "  What it costs a program of yours: {}", crate::command("hz -- COMMAND"));
    out
}

/// A share in per cent; more than there is, is none.
fn percent(share: f64) -> String {
    if share < 1.0 { format!("{:.3} %", share * 100.0) } else { "more than the whole CPU".to_owned() }
}

fn clocked(clocked: &Clocked) -> String {
    let each = clocked.at.iter().map(|(hz, share)| format!("{} at HZ {hz}", percent(*share)));
    let each: Vec<String> = each.collect();
    format!("at {} MHz: {} a tick, {}", clocked.megahertz, time(clocked.scaled), each.join(", "))
}

/// Assumptions of the prediction.
fn assumptions(what_if: &WhatIf) -> Vec<String> {
    let mut notes = vec![
        "For a busy CPU. Assumes that a tick costs the same at every HZ; at a higher HZ less work gathers between two ticks. What the tick evicts from \
         caches is not included."
            .to_owned(),
        match what_if.idle_stops {
            Some(true) => "An idle CPU stops its tick (NO_HZ): there any HZ costs next to nothing.".to_owned(),
            Some(false) => {
                "An idle CPU of this kernel keeps ticking (no NO_HZ): each tick also wakes it."
                    .to_owned()
            }
            None => "Whether an idle CPU stops its tick is not known here: the kernel's configuration cannot be read.".to_owned(),
        },
    ];
    if let Some(own) = what_if.megahertz.filter(|_| !what_if.clocks.is_empty()) {
        notes.push(format!(
            "Other clock rates are scaled from {own:.0} MHz as if the whole tick were processor work. Waiting for memory or timer registers does not scale: a \
             faster processor gains less than predicted, a slower one loses less. Example: Denk's 50 us at 50 MHz and \"approx. 10 us\" at 400 MHz (linear \
             scaling: 6.25 us) fit 4.3 us that do not scale plus 2,286 cycles."
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The document's own figures: 50 us a tick at 50 MHz.
    #[test]
    fn the_document_s_board_is_predicted() {
        let clocked = |megahertz: f64, cost: f64| Clocked {
            megahertz,
            scaled: cost,
            at: [100.0, 1000.0].map(|hz| (hz, cost * hz / 1e9)).to_vec(),
        };
        let what_if = WhatIf {
            cost: Some([49_000.0, 50_000.0, 51_000.0]),
            measured: Some(100.0),
            at: [100.0, 1000.0]
                .map(|hz| (hz, [49_000.0, 50_000.0, 51_000.0].map(|cost| cost * hz / 1e9)))
                .to_vec(),
            clocks: vec![clocked(400.0, 50_000.0 * 50.0 / 400.0)],
            megahertz: Some(50.0),
            idle_stops: Some(false),
        };
        let text = text(&what_if);
        for part in [
            "a tick takes 50.0 us on average (49.0 us to 51.0 us)",
            "HZ 100   0.500 %  (0.490 to 0.510)  this kernel's",
            "HZ 1000  5.000 %  (4.900 to 5.100)  +4.500 points against 100 Hz",
            "at 400 MHz: 6.25 us a tick, 0.062 % at HZ 100, 0.625 % at HZ 1000",
            "4.3 us that",
        ] {
            assert!(
                text.replace("\n  ", " ").contains(part) || text.contains(part),
                "{part} is not in\n{text}"
            );
        }
    }
}
