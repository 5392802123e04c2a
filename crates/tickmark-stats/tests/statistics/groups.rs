//! How often a group of figures is called changed where none of them did, and where all of them did a little: `cargo test -p
//! tickmark-stats --release --test statistics groups -- --nocapture` prints it.

use crate::noise::{BLOCKS, bound, normal};
use rand::SeedableRng;
use rand::rngs::StdRng;
use tickmark_stats::composite::{composite, squares};
use tickmark_stats::spread;
use tickmark_stats::verdict::{Comparison, Rule, Sides, compare_all};

const GROUPS: u32 = 1000;
const FIGURES: usize = 30;

/// The logarithms of a replicate's figures: half of their variance is shared.
fn replicate(random: &mut StdRng) -> Vec<f64> {
    let shared = normal(random);
    (0..FIGURES)
        .map(|figure| 0.01 * (1 + figure % 5) as f64 * (shared + normal(random)) / 2f64.sqrt())
        .collect()
}

/// Replicates by figure.
fn columns(replicates: &[Vec<f64>]) -> Vec<Vec<f64>> {
    (0..FIGURES).map(|figure| replicates.iter().map(|replicate| replicate[figure]).collect()).collect()
}

/// Of which each figure was raised by so many deviations of its own.
fn raised(replicate: Vec<f64>, by: f64) -> Vec<f64> {
    replicate.into_iter().enumerate().map(|(figure, v)| v + by * 0.01 * (1 + figure % 5) as f64).collect()
}

fn judged(sides: Sides<'_>) -> Option<Comparison> {
    compare_all(&[sides], Rule::default())[0]
}

/// One recording against another by earlier ones: whether the group is claimed, and whether its first figure is.
fn by_history(random: &mut StdRng, earlier: usize, by: f64) -> [bool; 2] {
    let history = columns(&(0..earlier).map(|_| replicate(random)).collect::<Vec<_>>());
    let pair = [replicate(random), raised(replicate(random), by)];
    let own: Vec<f64> =
        history.iter().map(|values| spread(values).map_or(f64::NAN, |s| s.deviation)).collect();
    let each = (0..FIGURES).map(|figure| (pair[1][figure] - pair[0][figure]) / own[figure]);
    let mean = each.sum::<f64>() / FIGURES as f64;
    let df = earlier as f64 - 1.0;
    let deviation = (squares(&history, &own).unwrap_or(f64::NAN) / (df - 2.0)).sqrt();
    let known = |difference: f64, deviation, df| {
        judged(Sides::Known { means: [1.0, difference.exp()], counts: [1, 1], deviation, df })
            .is_some_and(|c| c.verdict.is_change())
    };
    [known(mean, deviation, df), known(pair[1][0] - pair[0][0], own[0], earlier as f64 - 1.0)]
}

#[test]
fn single_recordings_are_claimed_as_often_as_the_level_says() {
    for earlier in [5, 11, 20] {
        let random = &mut StdRng::seed_from_u64(31);
        let all: Vec<[bool; 2]> = (0..GROUPS).map(|_| by_history(random, earlier, 0.0)).collect();
        let [group, figure] = [0, 1].map(|at| all.iter().filter(|claims| claims[at]).count() as u32);
        let found = (0..GROUPS).filter(|_| by_history(random, earlier, 3.0)[0]).count();
        let percent = |count: u32| f64::from(count) * 100.0 / f64::from(GROUPS);
        println!(
            "{earlier} earlier ones, nothing changed: a group of {FIGURES} claimed {:.1} %, a figure {:.1} %; all slower by three deviations: {:.1} %",
            percent(group),
            percent(figure),
            percent(found as u32)
        );
        assert!(group <= bound(GROUPS) && figure <= bound(GROUPS), "{earlier}: {group} {figure}");
        assert!(group >= 20 && figure >= 20, "{earlier}: {group} {figure}: the deviation is counted twice");
    }
}

#[test]
fn a_group_of_blocks_is_claimed_as_often_as_the_level_says_and_found_where_none_of_its_figures_is() {
    let random = &mut StdRng::seed_from_u64(32);
    let mut claims = |by: f64| -> [u32; 2] {
        let mut count = [0, 0];
        for _ in 0..GROUPS {
            let blocks: Vec<Vec<f64>> = (0..BLOCKS)
                .map(|_| {
                    let (a, b) = (replicate(random), raised(replicate(random), by));
                    a.iter().zip(&b).map(|(a, b)| b - a).collect()
                })
                .collect();
            let figures = columns(&blocks);
            let together = composite(&figures, |_| 0.0).unwrap();
            let zeros = vec![0.0; BLOCKS];
            let claimed = |values: &[f64]| {
                judged(Sides::paired(&zeros, values)).and_then(|c| c.p).is_some_and(|p| p < 0.05)
            };
            count[0] += u32::from(claimed(&together));
            count[1] += u32::from(claimed(&figures[0]));
        }
        count
    };
    let ([nothing, _], [group, figure]) = (claims(0.0), claims(1.0));
    println!(
        "of {GROUPS}: nothing {nothing}; each slower by one deviation: the group {group}, one figure {figure}"
    );
    assert!((20..=bound(GROUPS)).contains(&nothing), "{nothing}");
    assert!(group > figure + 100, "{group} {figure}");
}
