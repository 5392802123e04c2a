//! `tickmark tick` against other accounts of the same: the kernel's counts, disturbers of a known kind, and the loss of a fixed
//! computation.

use super::Tickmark;
use crate::{Result, shell};
use serde_json::Value;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tickmark_probe::sys::limits;
use tickmark_stats::{Sorted, median};

/// How often each is measured, and for how long.
const TIMES: usize = 5;
const LENGTH: &str = "2s";
/// Rounds of the computation, and for how long it computes: short, so that both see the same host.
const ROUNDS: usize = 15;
const COMPUTED: Duration = Duration::from_secs(2);
/// One computation takes about so long: a tick falls into one of hundreds.
const COMPUTATION: Duration = Duration::from_micros(10);
/// Largest delay of an interruption, as a share of the tick's period, and the number of parts into which that is cut where its phase is
/// sought.
const LATE: f64 = 0.02;
const BINS: usize = 100;

/// A disturber: what it is, what runs it before the shell, and its script. `CPU` is the CPU that is watched.
pub(super) const DISTURBERS: &[(&str, &[&str], &str)] = &[
    ("nothing", &[], ""),
    ("a competing task", &["taskset", "-c", "CPU"], "while :; do :; done"),
    (
        "a signal by a timer, 100 a second",
        &["taskset", "-c", "CPU"],
        "exec perl -MTime::HiRes=setitimer,ITIMER_REAL -e '$SIG{ALRM} = sub {}; setitimer(ITIMER_REAL, .01, .01); select(undef, undef, undef, 1) while 1'",
    ),
    (
        "a loop of page faults",
        &["taskset", "-c", "CPU"],
        "exec perl -e 'while (1) { my $page = \"a\" x 8_000_000; }'",
    ),
    (
        "packets on loopback",
        &["taskset", "-c", "OTHER", "unshare", "-n", "-m"],
        "mount -t sysfs sysfs /sys && ip link set lo up && echo MASK > /sys/class/net/lo/queues/rx-0/rps_cpus && \
            exec 3>/dev/udp/127.0.0.1/9 && while :; do echo x >&3; done",
    ),
];

/// A quota of half a CPU for the program that is started in it, with what takes it away again.
const QUOTA: &str = "
if [ -f /sys/fs/cgroup/cgroup.controllers ]; then group=/sys/fs/cgroup/tickmark-peers-$$; mkdir $group || exit 1; echo '50000 100000' > $group/cpu.max
else group=/sys/fs/cgroup/cpu/tickmark-peers-$$; mkdir $group || exit 1; echo 100000 > $group/cpu.cfs_period_us; echo 50000 > $group/cpu.cfs_quota_us; fi
trap 'echo $$ > $(dirname $group)/cgroup.procs; rmdir $group' EXIT
echo $$ > $group/cgroup.procs
\"$@\"";

/// Prints all figures.
pub(crate) fn run() -> Result<()> {
    shell::install(&[("taskset", "util-linux"), ("ip", "iproute2"), ("perl", "perl")])?;
    let tickmark = Tickmark::build()?;
    println!("CPU {}; {TIMES} times {LENGTH} each; shares of the CPU, medians (least)", tickmark.cpu);
    println!(
        "{:36} lost    named          another task  waited (schedstat)  ticks a timer interrupt",
        "beside"
    );
    for (name, starters, script) in DISTURBERS {
        let _disturber =
            if script.is_empty() { None } else { Some(disturber(&tickmark.cpu, starters, script)?) };
        let pages = (0..TIMES).map(|_| watch(&tickmark, &[], LENGTH, &[])).collect::<Result<Vec<_>>>()?;
        line(name, &pages);
    }
    let quota = ["bash", "-c", QUOTA, "quota"];
    let pages = (0..TIMES).map(|_| watch(&tickmark, &quota, LENGTH, &[])).collect::<Result<Vec<_>>>()?;
    line("a quota of half a CPU", &pages);
    throughput(&tickmark)
}

/// `tickmark tick` on the CPU, behind other programs, for so long and with more arguments.
pub(super) fn watch(tickmark: &Tickmark, starters: &[&str], length: &str, more: &[&str]) -> Result<Value> {
    let arguments =
        [&["tick", "--cpu", &tickmark.cpu, "--duration", length, "--format", "json"], more].concat();
    let own = tickmark.command(&arguments);
    let program = own.get_program().to_string_lossy().into_owned();
    let mut command = match starters {
        [] => own,
        [first, rest @ ..] => {
            let mut starter = Command::new(first);
            starter.args(rest).arg(program).args(&arguments);
            starter.env("TICKMARK_STORE", tickmark.store.path());
            starter
        }
    };
    let output = command.output().map_err(|error| error.to_string())?;
    let mut page: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))?;
    Ok(page["cpus"][0].take())
}

fn line(name: &str, pages: &[Value]) {
    let all = |of: &dyn Fn(&Value) -> Option<f64>| {
        let values = Sorted::new(pages.iter().filter_map(of));
        let at = |q| values.quantile(q).unwrap_or(f64::NAN);
        (at(0.5), at(0.0))
    };
    let share = |whats: &'static [&str]| {
        move |page: &Value| -> Option<f64> {
            let kinds = page["kinds"].as_array()?.iter();
            let own = kinds.filter(|kind| whats.iter().any(|what| kind["what"] == *what));
            Some(own.filter_map(|kind| kind["share"].as_f64()).sum())
        }
    };
    let (lost, _) = all(&|page| page["lost"].as_f64());
    let (named, least) = all(&|page| page["named"].as_f64());
    let (task, _) = all(&share(&["task", "quota"]));
    let (quota, _) = all(&share(&["quota"]));
    let (waited, _) = all(&|page| page["accounts"]["waited"].as_f64());
    let (ticks, _) = all(&|page| {
        Some(page["tick"]["frequency_hz"].as_f64()? / page["accounts"]["timer_interrupts_hz"].as_f64()?)
    });
    let found = pages.iter().filter(|page| page["tick"]["frequency_hz"].is_number()).count();
    let percent = |share: f64| format!("{:.2} %", share * 100.0);
    println!(
        "{name:36} {:7} {:7} ({:7}) {:8} of that by quota {:7} {:8} {ticks:.4} (tick found {found} of {})",
        percent(lost),
        percent(named),
        percent(least),
        percent(task),
        percent(quota),
        percent(waited),
        pages.len()
    );
}

/// Time that ticks take of a fixed computation, alternating with their time as gaps.
fn throughput(tickmark: &Tickmark) -> Result<()> {
    let cpu = tickmark.cpu.parse().map_err(|_| "no number of a CPU")?;
    let (mut gaps, mut losses, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let page = watch(tickmark, &[], LENGTH, &[])?;
        let of = |figure: &str| page["tick"][figure].as_f64();
        let (Some(hz), Some(gap)) = (of("frequency_hz"), of("mean")) else { continue };
        if let Some(lost) = lost_to_ticks(cpu, hz)? {
            gaps.push(gap);
            losses.push(lost);
            ratios.push(lost / gap);
        }
    }
    let middle = |all: &[f64]| median(all.iter().copied()).unwrap_or(f64::NAN);
    let ratios = Sorted::new(ratios);
    let [low, high] = [0.25, 0.75].map(|q| ratios.quantile(q).unwrap_or(f64::NAN));
    println!(
        "a tick takes {:.0} ns as a gap and {:.0} ns of a fixed computation: medians of {} rounds in turns; \
         computation / gap {:.3} (quartiles {low:.3} and {high:.3})",
        middle(&gaps),
        middle(&losses),
        gaps.len(),
        middle(ratios.as_slice()),
    );
    Ok(())
}

/// By how much the computations that a tick falls into take longer than those half a period away, in ns: the mean over all periods, where
/// what is above the 90th percentile counts as that, as for the gaps.
fn lost_to_ticks(cpu: u32, hz: f64) -> Result<Option<f64>> {
    let before = limits::allowed_cpus().map_err(|error| error.to_string())?;
    limits::pin(&[cpu]).map_err(|error| error.to_string())?;
    let timed = computations();
    limits::pin(&before).map_err(|error| error.to_string())?;
    let period = 1e9 / hz;
    let middle = |(from, to): &(f64, f64)| (from + to) / 2.0;
    // The processor is not always as fast: what is usual is asked of each period by itself.
    let mut periods: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for one in &timed {
        periods.entry((middle(one) / period) as i64).or_default().push(one.1 - one.0);
    }
    let usual: BTreeMap<i64, f64> =
        periods.into_iter().filter_map(|(number, lengths)| Some((number, median(lengths)?))).collect();
    let longer =
        |one: &(f64, f64)| one.1 - one.0 - usual.get(&((middle(one) / period) as i64)).unwrap_or(&0.0);
    // Where in the period the excess lies: the ticks' phase.
    let mut excess = vec![Vec::new(); BINS];
    for one in &timed {
        let at = (middle(one) / period).fract();
        excess[((at * BINS as f64) as usize).min(BINS - 1)].push(longer(one));
    }
    let means = excess.into_iter().map(|bin| Sorted::new(bin).quantile(0.75).unwrap_or(0.0));
    let Some((peak, _)) = means.enumerate().max_by(|a, b| a.1.total_cmp(&b.1)) else { return Ok(None) };
    let phase = (peak as f64 + 0.5) / BINS as f64;
    // What the computations around each tick took longer.
    let around = |phase: f64| {
        let mut each = BTreeMap::new();
        for one in &timed {
            let slot = middle(one) / period - phase;
            if (slot - slot.round()).abs() < LATE {
                *each.entry(slot.round() as i64).or_insert(0.0) += longer(one);
            }
        }
        let losses = Sorted::new(each.into_values());
        let most = losses.quantile(0.9)?;
        let all = losses.as_slice();
        Some(all.iter().map(|loss| loss.min(most)).sum::<f64>() / all.len() as f64)
    };
    Ok(around(phase).zip(around(phase + 0.5)).map(|(ticks, others)| ticks - others))
}

/// When each of many equal computations began and ended, in ns.
fn computations() -> Vec<(f64, f64)> {
    let compute = |steps: u64| {
        let mut value = black_box(3u64);
        for _ in 0..steps {
            value = black_box(value.wrapping_mul(5));
        }
    };
    let begun = Instant::now();
    compute(1_000_000);
    let steps = (COMPUTATION.as_nanos() * 1_000_000 / begun.elapsed().as_nanos().max(1)) as u64;
    let mut timed = Vec::with_capacity(4 * (COMPUTED.as_nanos() / COMPUTATION.as_nanos()) as usize);
    let begun = Instant::now();
    let mut from = begun;
    while from - begun < COMPUTED && timed.len() < timed.capacity() {
        compute(steps);
        let to = Instant::now();
        timed.push(((from - begun).as_nanos() as f64, (to - begun).as_nanos() as f64));
        from = to;
    }
    timed
}

/// A shell's script behind other programs; it ends when this is dropped, and after 10 minutes in any case.
pub(super) struct Disturber(Child);

impl Drop for Disturber {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(super) fn disturber(cpu: &str, starters: &[&str], script: &str) -> Result<Disturber> {
    let number: u32 = cpu.parse().map_err(|_| "no number of a CPU")?;
    let other = if number == 0 { "1".to_owned() } else { (number - 1).to_string() };
    let lines = |text: &str| {
        text.replace("CPU", cpu).replace("OTHER", &other).replace("MASK", &format!("{:x}", 1u64 << number))
    };
    let script = format!("ulimit -t 600; {}", lines(script));
    let words: Vec<String> = starters.iter().map(|word| lines(word)).collect();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(["bash", "-c", &script]).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(Disturber).map_err(|error| format!("{}: {error}", words[0]))
}
