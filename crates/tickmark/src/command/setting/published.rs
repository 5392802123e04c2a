//! Results of documents, beside ours.

use std::fmt::Write;
use tickmark_drive::file::{Document, Published};
use tickmark_stats::Interval;
use tickmark_stats::two::{Moments, ratio_between};

/// Of intervals.
const CONFIDENCE: f64 = 0.95;

/// Each comparison of a document in a line: by all of its runs, and by those that it kept.
pub(in crate::command) fn text(documents: &[Document]) -> String {
    let mut out = String::new();
    for document in documents {
        let [first, second] = &document.side;
        let _ = write!(out, "The document, {}: {} against {} ", document.title, second.name, first.name);
        out += &line(all(first).zip(all(second)));
        if !first.left_out.is_empty() || !second.left_out.is_empty() {
            let count = first.left_out.len() + second.left_out.len();
            let _ = write!(
                out,
                " by all of its runs, {} without the {count} that it left out",
                line(moments_of_side(first).zip(moments_of_side(second)))
            );
        }
        out.push('\n');
    }
    out
}

fn all(side: &Published) -> Option<Moments> {
    let moments = Moments { count: f64::from(side.count), mean: side.mean, deviation: side.deviation };
    if side.runs.is_empty() { Some(moments) } else { Moments::from_sample(&side.runs) }
}

fn moments_of_side(side: &Published) -> Option<Moments> {
    let mut runs = side.runs.clone();
    for value in &side.left_out {
        if let Some(at) = runs.iter().position(|run| run == value) {
            runs.remove(at);
        }
    }
    Moments::from_sample(&runs)
}

/// The change as a share, with its interval.
fn line(sides: Option<(Moments, Moments)>) -> String {
    let ratio = sides.and_then(|(first, second)| ratio_between(&first, &second, CONFIDENCE));
    let Some((point, Interval { low, high })) = ratio else { return "cannot be compared".to_owned() };
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    let verdict = if low <= 1.0 && high >= 1.0 { ", no difference proven" } else { "" };
    format!("{:+.1} % ({:+.1} to {:+.1}{verdict})", percent(point), percent(low), percent(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(name: &str, runs: &[f64], left_out: &[f64]) -> Published {
        let (runs, left_out) = (runs.to_vec(), left_out.to_vec());
        Published { name: name.to_owned(), runs, left_out, count: 0, mean: 0.0, deviation: 0.0 }
    }

    #[test]
    fn runs_that_were_left_out_are_counted_both_ways() {
        let first = side("slow", &[100.0, 101.0, 99.0, 130.0], &[130.0]);
        let second = side("fast", &[110.0, 111.0, 109.0], &[]);
        let text = text(&[Document { title: "runs a second".to_owned(), side: [first, second] }]);
        assert!(text.contains("fast against slow +2.3 %") && text.contains("no difference proven"), "{text}");
        assert!(text.contains("+10.0 %") && text.contains("without the 1 that it left out"), "{text}");
    }
}
