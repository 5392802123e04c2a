//! ministat's plot: dots that stack upward in columns, a bar with mean, median and deviation below. It is drawn from
//! the number of dots in each column.

use super::figures::{Figures, SYMBOLS};
use std::io::Write;

/// The least number that is plotted, and how far it is to the greatest.
fn range(sets: &[(&[f64], Figures)]) -> (f64, f64) {
    let ends = sets.iter().flat_map(|(_, f)| {
        let sd = f.deviation();
        [f.least, f.most, f.mean - sd, f.mean + sd]
    });
    let (mut low, mut high) = (999e99, -999e99);
    for end in ends {
        if end < low {
            low = end;
        }
        if end > high {
            high = end;
        }
    }
    (low, high - low)
}

/// True if such sets can be drawn: the older tool crashes where they cannot.
pub(super) fn possible(sets: &[(&[f64], Figures)], width: usize) -> bool {
    let finite = || sets.iter().all(|(values, f)| f.mean.is_finite() && values.iter().all(|v| v.is_finite()));
    range(sets).1 == 0.0 || (width != 1 && finite())
}

/// Draws sets of finite values. A set that stacks lower than the one before takes away what stands higher: that is
/// how the older tool does it.
pub(super) fn draw(
    out: &mut impl Write,
    sets: &[(&[f64], Figures)],
    width: usize,
    separate: bool,
) -> std::io::Result<()> {
    let (low, span) = range(sets);
    if span == 0.0 {
        return writeln!(out, "[no plot, span is zero width]");
    }
    let step = span / (width as f64 - 1.0);
    let start = low - 0.5 * step;
    let at = |value: f64| ((value - start) / step) as usize;

    // Dots in each column, and how tall the drawing is after each set.
    let mut dots = vec![vec![0usize; width]; sets.len()];
    let mut heights = Vec::new();
    for ((values, _), dots) in sets.iter().zip(&mut dots) {
        let mut outside = 0;
        for value in *values {
            match dots.get_mut(at(*value)) {
                Some(count) => *count += 1,
                // Of a plot without columns all dots stand in one place.
                None => outside += 1,
            }
        }
        heights.push(dots.iter().copied().max().unwrap_or(0).max(outside) + 1);
    }
    // A dot is seen in rows that no later set has cut off.
    let mut observed = heights.clone();
    for set in (1..observed.len()).rev() {
        observed[set - 1] = observed[set - 1].min(observed[set]);
    }
    let rule = format!("+{}+\n", "-".repeat(width));
    out.write_all(rule.as_bytes())?;
    let mut line = String::with_capacity(width + 3);
    for row in (1..heights.last().copied().unwrap_or(1)).rev() {
        line.clear();
        line.push('|');
        line.extend((0..width).map(|column| {
            let cell = (0..sets.len()).filter(|set| row < observed[*set] && dots[*set][column] >= row);
            SYMBOLS[cell.fold(0, |cell, set| cell | (set + 1))]
        }));
        line.push_str("|\n");
        out.write_all(line.as_bytes())?;
    }

    let mut bars = vec![vec![' '; width]; if separate { sets.len() } else { 1 }];
    for (index, (_, f)) in sets.iter().enumerate() {
        let bar = &mut bars[if separate { index } else { 0 }];
        let mut put = |at: usize, symbol: char, over: bool| {
            if let Some(cell) = bar.get_mut(at).filter(|cell| over || **cell == ' ') {
                *cell = symbol;
            }
        };
        if !f.deviation().is_nan() {
            let (from, to) = (at(f.mean - f.deviation()), at(f.mean + f.deviation()));
            put(from, '|', true);
            put(to, '|', true);
            (from + 1..to).for_each(|between| put(between, '_', false));
        }
        put(at(f.median), 'M', true);
        put(at(f.mean), 'A', true);
    }
    for bar in bars {
        writeln!(out, "|{}|", bar.into_iter().collect::<String>())?;
    }
    out.write_all(rule.as_bytes())
}
