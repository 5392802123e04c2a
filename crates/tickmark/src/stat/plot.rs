//! A plot of at most forty rows: a lane for each set, in which dots stack upward; below it a bar with the mean (A), the
//! median (M) and a standard deviation on both sides.

use super::figures::SYMBOLS;
use std::fmt::Write;
use tickmark_stats::summary::Summary;

/// No plot is taller.
const ROWS: usize = 40;

/// Draws all sets on one axis.
pub(super) fn draw(sets: &[(&[f64], Summary)], width: usize) -> String {
    let ends = sets.iter().flat_map(|(_, s)| [s.least, s.most, s.mean - s.deviation, s.mean + s.deviation]);
    let ends: Vec<f64> = ends.filter(|end| end.is_finite()).collect();
    let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
    let high = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if low >= high || sets.is_empty() {
        return "all values are the same: nothing to plot\n".to_owned();
    }
    // Halved first: the ends may be farther apart than the largest number.
    let columns = (width - 1) as f64 / (high / 2.0 - low / 2.0);
    let at = |value: f64| (((value / 2.0 - low / 2.0) * columns + 0.5).max(0.0) as usize).min(width - 1);
    let lane = |values: &[f64]| {
        let mut dots = vec![0usize; width];
        values.iter().for_each(|value| dots[at(*value)] += 1);
        dots
    };
    let lanes: Vec<Vec<usize>> = std::thread::scope(|scope| {
        let lane = &lane;
        let workers: Vec<_> = sets.iter().map(|(values, _)| scope.spawn(move || lane(values))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or_else(|_| vec![0; width])).collect()
    });
    // Two rules, and a bar for each lane.
    let most = ((ROWS - 2) / sets.len() - 1).max(1);
    let tallest = lanes.iter().flatten().copied().max().unwrap_or(1);
    let worth = tallest.div_ceil(most);
    let rule = format!("+{}+\n", "-".repeat(width));
    let mut out = rule.clone();
    for ((dots, (_, summary)), symbol) in lanes.iter().zip(sets).zip(&SYMBOLS[1..]) {
        let rows = dots.iter().map(|count| count.div_ceil(worth)).max().unwrap_or(1);
        for row in (0..rows).rev() {
            let cell = |count: &usize| if count.div_ceil(worth) > row { *symbol } else { ' ' };
            let _ = writeln!(out, "|{}|", dots.iter().map(cell).collect::<String>());
        }
        let mut bar = vec![' '; width];
        let (from, to) = (at(summary.mean - summary.deviation), at(summary.mean + summary.deviation));
        bar[from..=to].fill('_');
        (bar[from], bar[to]) = ('|', '|');
        bar[at(summary.median)] = 'M';
        bar[at(summary.mean)] = 'A';
        let _ = writeln!(out, "|{}|", bar.into_iter().collect::<String>());
    }
    out.push_str(&rule);
    if worth > 1 {
        let _ = writeln!(out, "each dot stands for up to {worth} values");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(all: &[Vec<f64>], width: usize) -> String {
        let sets: Vec<_> = all.iter().map(|v| (v.as_slice(), Summary::summarize(v).unwrap())).collect();
        draw(&sets, width)
    }

    #[test]
    fn never_taller_than_forty_rows() {
        let many: Vec<Vec<f64>> =
            (0..7).map(|set| (0..50_000).map(|i| f64::from(i % 100 + set)).collect()).collect();
        for sets in 1..=7 {
            let plot = drawn(&many[..sets], 74);
            let rows = plot.lines().filter(|line| line.starts_with(['+', '|'])).count();
            assert!((2 + 2 * sets..=ROWS).contains(&rows), "{rows}");
            assert!(plot.contains("each dot stands for up to "));
        }
    }

    #[test]
    fn each_set_keeps_its_dots_and_its_symbol() {
        let plot = drawn(&[vec![1.0, 2.0, 2.0, 9.0], vec![2.0, 3.0, 3.0], vec![2.0, 9.0]], 40);
        let count = |symbol| {
            plot.lines().filter(|l| l.starts_with('|')).flat_map(str::chars).filter(|c| *c == symbol).count()
        };
        assert_eq!((count('x'), count('+'), count('*')), (4, 3, 2), "{plot}");
        assert!(drawn(&[vec![5.0, 5.0]], 40).starts_with("all values are the same"));
        // The widest range that there is.
        assert!(drawn(&[vec![-1.7e308, 1.7e308, 0.0]], 10).contains('x'));
    }
}
