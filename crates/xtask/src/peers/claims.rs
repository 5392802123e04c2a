//! Claims of tickmark and of other tools' tests on the same runs, where nothing differs and where a known part does. The others' rules are
//! carried out here, as their documentation has them.

use super::Tickmark;
use super::aa::Figures;
use crate::{Result, shell};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeMap;
use tickmark_stats::rank::mann_whitney;
use tickmark_stats::two::{Difference, Moments};
use tickmark_stats::verdict::{LEVEL, Rule, Sides, compare_all};

/// The same work, and so much more of it.
pub(super) const WORK: [(&str, f64); 5] = [
    ("selftest.work.1000", 0.0),
    ("selftest.work.1010", 0.01),
    ("selftest.work.1020", 0.02),
    ("selftest.work.1050", 0.05),
    ("selftest.work.1100", 0.1),
];
/// Runs of a command for each of them, and iterations of its loop where nothing is added: some 20 ms.
const RUNS: usize = 1000;
const LOOP: f64 = 200_000.0;
/// Experiments of each kind, and blocks in one.
const EXPERIMENTS: usize = 50;
const BLOCKS: [usize; 2] = [5, 10];
/// Draws of a bootstrap.
const DRAWS: usize = 1000;

/// True if a rule claims a difference.
pub(super) type Claims = fn(&[f64], &[f64], &mut StdRng) -> bool;

/// Rules of others, which know no blocks.
pub(super) const OTHERS: [(&str, Claims); 5] = [
    ("ministat", |a, b, _| ministat(a, b)),
    ("benchstat", |a, b, _| mann_whitney(a, b).is_some_and(|mw| mw.p < LEVEL)),
    ("criterion", criterion),
    ("hyperfine's +-", |a, b, _| outside_of_one_deviation(a, b)),
    ("its Welch test", |a, b, _| Difference::welch(a, b).is_some_and(|d| d.p() < LEVEL)),
];

/// Rules for pairs: by tickmark, and by what it did before labels judged.
const PAIRED: [(&str, Claims); 2] = [
    ("tickmark", |a, b, _| claimed(Sides::paired(a, b))),
    ("paired t", |a, b, _| Difference::paired(a, b).is_some_and(|d| d.p() < LEVEL)),
];

pub(super) fn claimed(sides: Sides<'_>) -> bool {
    compare_all(&[sides], Rule::default())[0].is_some_and(|c| c.verdict.is_change())
}

/// The runs of each amount of work, in the order of `WORK`.
type Series = Vec<Vec<f64>>;

/// Prints what is claimed of a probe's runs, and of a command's.
pub(super) fn run(tickmark: &Tickmark, figures: &Figures) -> Result<()> {
    let probe = |figure| -> Series {
        let of = |(name, _): &(&str, f64)| figures.get(&((*name).to_owned(), figure));
        WORK.iter().map(|work| of(work).cloned().unwrap_or_default()).collect()
    };
    println!(
        "\nclaims of a difference, of {EXPERIMENTS} experiments: the sides alternated, and one after the other"
    );
    let names = |rules: &[(&'static str, Claims)]| {
        rules.iter().map(|(name, _)| format!("{name:>10.10}")).collect::<String>()
    };
    println!("{:34}{} | {} | {}", "", names(&PAIRED), names(&OTHERS), names(&OTHERS));
    let series =
        [("probe, floor", probe("floor")), ("probe, mean", probe("mean")), ("command", command(tickmark)?)];
    for (name, series) in &series {
        for blocks in BLOCKS {
            for (at, (_, more)) in WORK.iter().enumerate() {
                let [turns, sequence] = [true, false].map(|turns| experiments(series, at, blocks, turns));
                let count = |rules: &[(&str, Claims)], all: &[[Vec<f64>; 2]]| {
                    let one = |(_, claims): &(&str, Claims)| {
                        let random = &mut StdRng::seed_from_u64(1);
                        format!("{:>10}", all.iter().filter(|[a, b]| claims(a, b, random)).count())
                    };
                    rules.iter().map(one).collect::<String>()
                };
                let title = format!("{name}, {blocks} blocks, +{:.0} %", more * 100.0);
                println!(
                    "{title:34}{} | {} | {}",
                    count(&PAIRED, &turns),
                    count(&OTHERS, &turns),
                    count(&OTHERS, &sequence)
                );
            }
        }
    }
    Ok(())
}

/// Experiments made of consecutive runs: both sides in each block, in random order where they are the same work, or all blocks
/// of one before those of the other.
fn experiments(series: &Series, at: usize, blocks: usize, turns: bool) -> Vec<[Vec<f64>; 2]> {
    let (base, other) = (&series[0], &series[at]);
    let random = &mut StdRng::seed_from_u64(7);
    let starts =
        (0..).step_by(2 * blocks).take_while(|from| from + 2 * blocks <= base.len().min(other.len()));
    let one = |from: usize| {
        let (first, second) = (from..from + blocks, from + blocks..from + 2 * blocks);
        match (turns, at) {
            (false, _) => [base[first].to_vec(), other[second].to_vec()],
            (true, 0) => {
                let turned =
                    |pair: &[f64]| if random.random() { (pair[0], pair[1]) } else { (pair[1], pair[0]) };
                let (a, b) = base[from..from + 2 * blocks].chunks(2).map(turned).unzip();
                [a, b]
            }
            (true, _) => [base[first.clone()].to_vec(), other[first].to_vec()],
        }
    };
    starts.take(EXPERIMENTS).map(one).collect()
}

/// Times of a command that has so much more to do, all amounts in turn, by an experiment of tickmark's.
fn command(tickmark: &Tickmark) -> Result<Series> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let (file, amount) = (folder.path().join("work.toml"), folder.path().join("amount"));
    let setting = |(name, more): &(&str, f64)| {
        let (times, amount) = (LOOP * (1.0 + more), amount.display());
        format!(
            "[[setting]]\nname = \"{name}\"\nset = \"echo {times:.0} > {amount}\"\nreset = \"rm -f {amount}\"\n"
        )
    };
    let run =
        format!("awk -v n=$(cat {}) 'BEGIN {{ for (i = 0; i < n; i++) x = x * 5 + i }}'", amount.display());
    let text = format!(
        "knob = \"work\"\nblocks = {RUNS}\n{}[[command]]\nname = \"loop\"\ntime = true\nrun = \"{run}\"\n",
        WORK.iter().map(setting).collect::<String>()
    );
    std::fs::write(&file, text).map_err(|e| e.to_string())?;
    let file = file.to_string_lossy();
    shell::output(&mut tickmark.command(&["experiment", &file, "--no-pilot", "--format", "json"]))?;
    let of = |(name, _): &(&str, f64)| -> Result<Vec<f64>> {
        let mut found = BTreeMap::new();
        for line in super::aa::csv(tickmark, &[&format!("work:{name}")])?
            .iter()
            .filter(|line| line["metric"] == "loop")
        {
            found.insert(
                line["round"].parse::<usize>().unwrap_or(0),
                line["value"].parse::<f64>().unwrap_or(f64::NAN),
            );
        }
        Ok(found.into_values().collect())
    };
    WORK.iter().map(of).collect()
}

/// Verdict of ministat at 95 %: pooled variances.
fn ministat(a: &[f64], b: &[f64]) -> bool {
    let (Some(m), Some(n)) = (Moments::from_sample(a), Moments::from_sample(b)) else { return false };
    let df = m.count + n.count - 2.0;
    let pooled = ((m.count - 1.0) * m.deviation.powi(2) + (n.count - 1.0) * n.deviation.powi(2)) / df;
    let error = (pooled * (1.0 / m.count + 1.0 / n.count)).sqrt();
    error > 0.0 && (Difference { point: n.mean - m.mean, error, df }).p() < LEVEL
}

/// Hyperfine prints a ratio of means with a standard deviation, from those of the runs; no test. A reader takes what lies
/// outside of it for a difference.
fn outside_of_one_deviation(a: &[f64], b: &[f64]) -> bool {
    let (Some(m), Some(n)) = (Moments::from_sample(a), Moments::from_sample(b)) else { return false };
    let ratio = n.mean / m.mean;
    (ratio - 1.0).abs() > ratio * (m.deviation / m.mean).hypot(n.deviation / n.mean)
}

/// Criterion's: a bootstrap of Student's t from the values of both sides together, at 5 %; then the interval of the change of the
/// mean, by a bootstrap, has to lie beyond its noise threshold of 1 %.
fn criterion(a: &[f64], b: &[f64], random: &mut StdRng) -> bool {
    let t = |a: &[f64], b: &[f64]| Difference::welch(a, b).map_or(0.0, |d| d.point / d.error);
    let draw = |from: &[f64], count: usize, random: &mut StdRng| -> Vec<f64> {
        (0..count).map(|_| from[random.random_range(0..from.len())]).collect()
    };
    let (observed, all) = (t(a, b), [a, b].concat());
    let above = (0..DRAWS)
        .filter(|_| t(&draw(&all, a.len(), random), &draw(&all, b.len(), random)) > observed)
        .count();
    let p = 2.0 * above.min(DRAWS - above) as f64 / DRAWS as f64;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let mut changes: Vec<f64> =
        (0..DRAWS).map(|_| mean(&draw(b, b.len(), random)) / mean(&draw(a, a.len(), random)) - 1.0).collect();
    changes.sort_unstable_by(f64::total_cmp);
    let (low, high) = (changes[DRAWS / 40], changes[DRAWS - 1 - DRAWS / 40]);
    p < LEVEL && (low > 0.01 || high < -0.01)
}
