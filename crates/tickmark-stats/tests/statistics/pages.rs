//! How often a page of figures of which none changed has a wrong claim: `cargo test -p tickmark-stats --release --test statistics pages --
//! --nocapture` prints it. The seeds are fixed, so that the figures are too.

use crate::noise::{BLOCKS, bound, normal};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tickmark_stats::verdict::{Comparison, Correction, Family, Looks, Rule, Sides, Verdict, compare};

/// Pages of each kind, and metrics of a page, each with a floor and a mean.
const PAGES: u32 = 400;
const METRICS: usize = 10;

/// A run's cost beside 100, from the one of the run before.
type Noise = fn(&mut StdRng, f64) -> f64;

fn heavy(random: &mut StdRng, _: f64) -> f64 {
    // Student's t with two degrees of freedom.
    let square = (normal(random).powi(2) + normal(random).powi(2)) / 2.0;
    normal(random) / square.sqrt().max(1e-3)
}

const KINDS: [(&str, Noise, f64); 6] = [
    ("normal", |random, _| normal(random), 0.0),
    ("lognormal", |random, _| normal(random).exp(), 0.0),
    ("heavy tails (t, 2 degrees of freedom)", heavy, 0.0),
    ("AR(1) of .8", |random, before| 0.8 * before + 0.6 * normal(random), 0.0),
    ("ties", |random, _| f64::from(random.random_range(0..4u8)), 0.0),
    ("steps of half a deviation", |random, _| (2.0 * normal(random)).round() / 2.0, 0.5),
];

/// A page's runs: floor and mean of each metric, which share most of their noise, block after block in random order. The base is
/// raised by a drift of two deviations.
fn page(random: &mut StdRng, noise: Noise, step: f64, blocks: usize) -> Vec<[Vec<f64>; 2]> {
    let orders: Vec<bool> = (0..blocks).map(|_| random.random()).collect();
    let mut figures = Vec::new();
    for _ in 0..METRICS {
        let mut floor = Vec::new();
        for _ in 0..2 * blocks {
            floor.push(noise(random, floor.last().copied().unwrap_or(0.0)));
        }
        let mean: Vec<f64> = floor.iter().map(|v| v + 0.3 * normal(random)).collect();
        let rounded = |v: f64| if step > 0.0 { (v / step).round() * step } else { v };
        for runs in [floor, mean] {
            let at = |run: usize| 100.0 + rounded(runs[run] + 2.0 * run as f64 / (2.0 * blocks as f64));
            let side = |second: bool| {
                orders
                    .iter()
                    .enumerate()
                    .map(|(block, turned)| at(2 * block + usize::from(*turned != second)))
                    .collect()
            };
            figures.push([side(false), side(true)]);
        }
    }
    figures
}

fn compared(page: &[[Vec<f64>; 2]], rule: Rule, step: f64, looks: &[usize]) -> Vec<Comparison> {
    let sides = page.iter().map(|[a, b]| Sides::Paired { values: [&a[..], &b[..]], blocks: None, step });
    let family =
        Family { looks: Looks::Added { before: looks, early: false }, ..Family::once(sides.collect()) };
    compare(&[family], rule).remove(0).into_iter().flatten().collect()
}

#[test]
fn a_page_without_a_change_rarely_claims_one() {
    for (name, noise, step) in KINDS {
        let random = &mut StdRng::seed_from_u64(11);
        let (mut wise, mut discovery) = (0, 0);
        for _ in 0..PAGES {
            let page = page(random, noise, step, BLOCKS);
            let any = |correction| {
                let rule = Rule { correction, ..Rule::default() };
                u32::from(compared(&page, rule, step, &[]).iter().any(|c| c.verdict.is_change()))
            };
            wise += any(Correction::FamilyWise);
            discovery += any(Correction::Discovery);
        }
        let percent = |count: u32| f64::from(count) * 100.0 / f64::from(PAGES);
        println!(
            "pages of {} null figures with a claim, {name}: {:.1} % (by discovery {:.1} %)",
            2 * METRICS,
            percent(wise),
            percent(discovery)
        );
        assert!(
            wise <= bound(PAGES) && discovery <= bound(PAGES),
            "{name}: {wise} and {discovery} of {PAGES}"
        );
        // Of values that are tied the least chance is not reached exactly.
        assert!(wise >= 6 || step > 0.0 || name == "ties", "{name}: {wise} of {PAGES}: no power is left");
    }
}

/// Blocks are added to each experiment, and both times its page is read.
#[test]
fn pages_that_are_read_twice_rarely_claim_one() {
    const READ: u32 = PAGES / 2;
    let random = &mut StdRng::seed_from_u64(13);
    let (mut wrong, mut later) = (0, 0);
    for _ in 0..READ {
        let page = page(random, |random, _| normal(random), 0.0, 2 * BLOCKS);
        let claims = |looks: &[usize]| {
            let blocks = (looks.len() + 1) * BLOCKS;
            let part: Vec<_> =
                page.iter().map(|[a, b]| [a[..blocks].to_vec(), b[..blocks].to_vec()]).collect();
            compared(&part, Rule::default(), 0.0, looks).iter().any(|c| c.verdict.is_change())
        };
        let [first, second] = [&[][..], &[BLOCKS]].map(claims);
        wrong += u32::from(first || second);
        later += u32::from(!first && second);
    }
    println!(
        "pages of {} null figures with a claim at one of two looks: {wrong} of {READ}, {later} at the second",
        2 * METRICS
    );
    assert!(wrong <= bound(READ) && wrong >= 3, "{wrong} of {READ}");
}

/// Every figure differs by the margin: whoever says that one of them does not is wrong.
#[test]
fn a_page_of_differences_at_the_margin_rarely_calls_one_smaller() {
    let random = &mut StdRng::seed_from_u64(12);
    let mut wrong = 0;
    for _ in 0..PAGES {
        let mut page = page(random, |random, _| normal(random), 0.0, BLOCKS);
        page.iter_mut().for_each(|[a, b]| *b = a.iter().zip(b.iter()).map(|(a, b)| b + 0.02 * a).collect());
        let all = compared(&page, Rule { margin: 0.02, ..Rule::default() }, 0.0, &[]);
        wrong +=
            u32::from(all.iter().any(|c| matches!(c.verdict, Verdict::Equivalent | Verdict::BelowMargin)));
    }
    println!("pages of {} figures at the margin with one called smaller: {wrong} of {PAGES}", 2 * METRICS);
    assert!(wrong <= bound(PAGES) && wrong >= 4, "{wrong} of {PAGES}");
}
