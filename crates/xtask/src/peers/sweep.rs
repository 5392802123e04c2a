//! How often `tickmark tick` finds the tick beside competitors of its CPU, how far its rate is off, and whether what it says of the cost holds:
//! against what the same CPU gave when nobody competed.

use super::Tickmark;
use super::tick::{Disturber, disturber, watch};
use crate::{Result, shell};
use serde_json::Value;
use tickmark_stats::{Sorted, median};

/// Recordings of each kind.
const TIMES: usize = 20;
const LENGTH: &str = "5s";
/// A rate further off than this is wrong.
const WRONG: f64 = 10e-6;
/// A cost further from that of the idle CPU than by this factor is wrong.
const FACTOR: f64 = 1.5;

/// A competitor: its command, the number of its runs in a script, and further arguments of the loop.
struct Kind {
    name: &'static str,
    count: usize,
    script: &'static str,
    arguments: &'static [&'static str],
}

const SPIN: &str = "while :; do :; done";
/// Six of ten milliseconds, at a higher priority than the loop has.
const MOST: &str = "exec chrt -f 60 perl -MTime::HiRes=clock_gettime,CLOCK_MONOTONIC,usleep \
    -e 'while (1) { my $until = clock_gettime(CLOCK_MONOTONIC) + .006; 1 while clock_gettime(CLOCK_MONOTONIC) < $until; usleep(4000) }'";
/// Wakes up a thousand times a second.
const SLEEPER: &str = "exec perl -MTime::HiRes=usleep -e 'usleep(1000) while 1'";

const KINDS: &[Kind] = &[
    Kind { name: "nothing", count: 0, script: SPIN, arguments: &[] },
    Kind { name: "a sleeper", count: 1, script: SLEEPER, arguments: &[] },
    Kind { name: "1 competitor", count: 1, script: SPIN, arguments: &[] },
    Kind { name: "2 competitors", count: 2, script: SPIN, arguments: &[] },
    Kind { name: "3 competitors", count: 3, script: SPIN, arguments: &[] },
    Kind { name: "8 competitors", count: 8, script: SPIN, arguments: &[] },
    Kind { name: "8, loop at fifo", count: 8, script: SPIN, arguments: &["--priority", "fifo:50"] },
    Kind { name: "60 % taken at fifo", count: 1, script: MOST, arguments: &["--priority", "fifo:50"] },
];

/// Prints all figures.
pub(crate) fn run() -> Result<()> {
    shell::install(&[("taskset", "util-linux"), ("perl", "perl")])?;
    let tickmark = Tickmark::build()?;
    println!("CPU {}; {TIMES} recordings of {LENGTH} each", tickmark.cpu);
    println!(
        "{:20} found  wrong  off by at most  cost: known  median      least       most  wrong  lost to ticks, median  named, median",
        "beside"
    );
    let mut idle = None;
    for kind in KINDS {
        let starters = ["taskset", "-c", "CPU"];
        let start = |_| disturber(&tickmark.cpu, &starters, kind.script);
        let _competitors = (0..kind.count).map(start).collect::<Result<Vec<Disturber>>>()?;
        let pages = (0..TIMES)
            .map(|_| watch(&tickmark, &[], LENGTH, kind.arguments))
            .collect::<Result<Vec<Value>>>()?;
        let own = line(kind.name, &pages, idle)?;
        idle = idle.or(own);
    }
    Ok(())
}

/// One kind's line, and the median of what a tick costs in it.
fn line(name: &str, pages: &[Value], idle: Option<f64>) -> Result<Option<f64>> {
    let configured = pages[0]["recording"]["hz_configured"].as_f64().ok_or("HZ is not known here")?;
    let of = |page: &Value, path: &str| page.pointer(path).and_then(Value::as_f64);
    let all = |path: &str| Sorted::new(pages.iter().filter_map(|page| of(page, path)));
    let off: Vec<f64> =
        all("/tick/frequency_hz").as_slice().iter().map(|hz| (hz / configured - 1.0).abs()).collect();
    let wrong = off.iter().filter(|off| **off > WRONG).count();
    let costs = all("/tick/cost/p50");
    let middle = costs.quantile(0.5);
    let beyond = |cost: &&f64| idle.is_some_and(|idle| **cost > idle * FACTOR || **cost < idle / FACTOR);
    let at = |q| costs.quantile(q).map_or("-".to_owned(), |ns| format!("{:.1} us", ns / 1e3));
    let share = |path| {
        median(all(path).as_slice().iter().copied())
            .map_or("-".to_owned(), |share| format!("{:.2} %", share * 100.0))
    };
    println!(
        "{name:20} {:5}  {wrong:5}  {:10.3} ppm  {:11}  {:>9}  {:>9}  {:>9}  {:5}  {:>21}  {:>13}",
        off.len(),
        off.iter().fold(0.0, |most: f64, off| most.max(*off)) * 1e6,
        costs.as_slice().len(),
        at(0.5),
        at(0.0),
        at(1.0),
        costs.as_slice().iter().filter(beyond).count(),
        share("/tick/cost/share"),
        share("/named"),
    );
    Ok(middle)
}
