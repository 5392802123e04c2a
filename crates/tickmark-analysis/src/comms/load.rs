//! Load that messages put on a CPU, by several meters.

use super::Cpu;
use tickmark_stats::{Sorted, median};
use tickmark_wire::{Alone, Host, Loads};

/// More than this share of a window that nobody explains, and it is refused.
const MOST_UNEXPLAINED: f64 = 0.02;

/// Largest error of /proc/stat, ns: it counts hundredths of a second, of two kinds of interrupts.
const COARSE: f64 = 2e7;

/// The load of one CPU at one size: shares of the CPU, means of the windows that count. Where tasks take turns of milliseconds windows are all or
/// nothing, and their median is neither.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Load {
    /// By the gaps that the computing task saw, and by its counter: what it did not get, less what other tasks had. None without such a task, or where
    /// more than half of the windows were refused.
    pub gaps: Option<f64>,
    /// The 10th and the 90th percentile of the windows, by gaps.
    pub ends: Option<(f64, f64)>,
    /// By its counter.
    pub counter: Option<f64>,
    /// CPU time of the communicating tasks.
    pub tasks: Option<f64>,
    /// System, interrupts and soft interrupts of /proc/stat, over all windows.
    pub stat: Option<f64>,
    /// CPU time of other tasks.
    pub others: Option<f64>,
    /// CPU time without an owner: steal, and errors of the accounts.
    pub unexplained: Option<f64>,
    /// Windows, and those that were refused.
    pub windows: (usize, usize),
    /// Kernel counters divided by the number of messages.
    pub per_message: PerMessage,
    /// The load by gaps over all windows that count, and the trips a second in them: means, which belong together.
    pub mean: Option<(f64, f64)>,
}

/// Counts for each whole way there and back.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PerMessage {
    /// Context switches of this side.
    pub switches: Option<f64>,
    /// Interrupts of the CPU.
    pub interrupts: Option<f64>,
    /// Soft interrupts of the CPU.
    pub softirqs: Option<f64>,
}

/// One window of one CPU. Shares of its length.
struct Window {
    size: u64,
    /// How long it was, ns.
    wall: f64,
    gaps: Option<f64>,
    counter: Option<f64>,
    tasks: f64,
    others: f64,
    unexplained: f64,
    /// Seconds of /proc/stat: system with both kinds of interrupts, and all.
    stat: Option<(f64, f64)>,
    trips: f64,
    switches: Option<f64>,
    interrupts: Option<[f64; 2]>,
}

impl Window {
    fn is_refused(&self) -> bool {
        self.unexplained > MOST_UNEXPLAINED
    }
}

/// The windows of all launches on one CPU.
pub(super) struct Books {
    cpu: u32,
    host: Option<Host>,
    windows: Vec<Window>,
}

impl Books {
    /// None where no launch has any, or one has columns of other lengths. `apart` where the kernel charges interrupts to no task.
    pub(super) fn from_launches(launches: &[Loads], apart: bool) -> Option<Self> {
        let first = launches.first()?;
        let (cpu, host) = (first.cpu, first.host.as_deref().cloned());
        // Another host has a kernel of its own.
        let apart = host.as_ref().map_or(apart, |host| host.interrupts_apart == Some(true));
        let windows: Option<Vec<Vec<Window>>> = launches.iter().map(|loads| windows(loads, apart)).collect();
        Some(Self { cpu, host, windows: windows?.into_iter().flatten().collect() })
    }

    pub(super) fn cpu(&self) -> Cpu {
        let good = || self.windows.iter().filter(|window| !window.is_refused());
        let apart = good().filter_map(|window| Some((window.gaps? - window.counter?).abs()));
        let apart = Sorted::new(apart);
        Cpu {
            cpu: self.cpu,
            host: self.host.clone(),
            apart: apart.quantile(0.5).zip(apart.quantile(0.95)),
            windows: (self.windows.len(), self.windows.len() - good().count()),
        }
    }

    pub(super) fn at(&self, size: u64) -> Load {
        let all: Vec<&Window> = self.windows.iter().filter(|window| window.size == size).collect();
        let good: Vec<&&Window> = all.iter().filter(|window| !window.is_refused()).collect();
        let refused = all.len() - good.len();
        let counts = refused * 2 <= all.len();
        let of = |value: &dyn Fn(&Window) -> Option<f64>| {
            let each: Option<f64> = good.iter().map(|window| Some(value(window)? * window.wall)).sum();
            let wall: f64 = good.iter().map(|window| window.wall).sum();
            each.filter(|_| counts && wall > 0.0).map(|sum| sum / wall)
        };
        let gaps = Sorted::new(good.iter().filter_map(|window| window.gaps));
        let ends = gaps.quantile(0.1).zip(gaps.quantile(0.9)).filter(|_| counts);
        let sums = all.iter().filter_map(|window| window.stat).reduce(|a, b| (a.0 + b.0, a.1 + b.1));
        let trips: f64 = all.iter().map(|window| window.trips).sum();
        let per = |value: &dyn Fn(&Window) -> Option<f64>| {
            let values: Option<Vec<f64>> = all.iter().map(|window| value(window)).collect();
            values.filter(|_| trips > 0.0).map(|values| values.iter().sum::<f64>() / trips)
        };
        Load {
            gaps: of(&|window| window.gaps),
            ends,
            counter: of(&|window| window.counter),
            tasks: of(&|window| Some(window.tasks)),
            stat: sums.filter(|(_, whole)| *whole > 0.0).map(|(busy, whole)| busy / whole),
            others: of(&|window| Some(window.others)),
            unexplained: median(all.iter().map(|window| window.unexplained)),
            windows: (all.len(), refused),
            mean: mean(&good).filter(|_| counts),
            per_message: PerMessage {
                switches: per(&|window| window.switches),
                interrupts: per(&|window| Some(window.interrupts?[0])),
                softirqs: per(&|window| Some(window.interrupts?[1])),
            },
        }
    }
}

/// Of windows with a load: it, and trips a second.
fn mean(windows: &[&&Window]) -> Option<(f64, f64)> {
    let wall: f64 = windows.iter().map(|window| window.wall).sum();
    let load: Option<f64> = windows.iter().map(|window| Some(window.gaps? * window.wall)).sum();
    let trips: f64 = windows.iter().map(|window| window.trips).sum();
    (wall > 0.0).then_some((load? / wall, trips * 1e9 / wall))
}

/// The windows of a launch; none where its columns are of different lengths.
fn windows(loads: &Loads, apart: bool) -> Option<Vec<Window>> {
    let count = loads.wall.len();
    let whole = |length: usize| length == count;
    let part = |length: usize| length == count || length == 0;
    let columns = [loads.size.len(), loads.trips.len(), loads.communicating.len()];
    let parts = [
        loads.steps.len(),
        loads.unbroken.len(),
        loads.computing.len(),
        loads.waited.len(),
        loads.stat.len(),
        loads.switches.len(),
        loads.interrupts.len(),
    ];
    if !columns.into_iter().all(whole) || !parts.into_iter().all(part) {
        return None;
    }
    let rest = RemainderCause::from_loads(loads, apart);
    (0..count).map(|at| window(loads, rest, at)).collect()
}

/// The cause of the time that a window holds beside the two tasks. It is judged over a launch: one window is not enough.
#[derive(Clone, Copy)]
enum RemainderCause {
    /// Other tasks, but for this share of the time, which was nobody's.
    Tasks(f64),
    /// Interrupts, which the kernel charges to no task, but for this share.
    Interrupts(f64),
    Unknown,
}

impl RemainderCause {
    fn from_loads(loads: &Loads, apart: bool) -> Self {
        let Some(span) = loads.span.filter(|span| span.wall.get() > 0) else { return Self::Unknown };
        let (wall, computing) = (span.wall.as_f64(), span.computing.as_f64());
        // Interrupts that are no task's are in /proc/stat, which is too coarse for a short launch.
        let share = if apart {
            let interrupts = span.stat.map(|times| times[2].as_f64() + times[3].as_f64());
            let own = wall - computing - span.communicating.as_f64();
            interrupts
                .map(|interrupts| (own - interrupts - COARSE) / wall)
                .filter(|_| COARSE <= MOST_UNEXPLAINED * wall)
        } else {
            // What it waited, it waited for tasks. A wait is in the account when it is over: not window by window.
            span.waited.map(|waited| 1.0 - (computing + waited.as_f64()) / wall)
        };
        match share.filter(|share| *share <= MOST_UNEXPLAINED) {
            Some(share) if apart => Self::Interrupts(share.max(0.0)),
            Some(share) => Self::Tasks(share.max(0.0)),
            None => Self::Unknown,
        }
    }

    /// Of the share that neither of the two tasks had: other tasks', interrupts', nobody's.
    fn split(self, share: f64) -> [f64; 3] {
        match self {
            Self::Tasks(nobodys) => [share - nobodys.min(share), 0.0, nobodys.min(share)],
            Self::Interrupts(nobodys) => [0.0, share - nobodys.min(share), nobodys.min(share)],
            Self::Unknown => [0.0, 0.0, share],
        }
    }
}

/// Pace of a computation alone, for each second of its CPU time: time without a gap, and steps. Neither is known where there was none.
fn pace(alone: &Alone) -> [Option<f64>; 2] {
    let cpu = alone.computing.as_f64();
    [alone.unbroken.as_f64(), alone.steps as f64]
        .map(|done| Some(done / cpu).filter(|pace| cpu > 0.0 && *pace > 0.0))
}

fn window(loads: &Loads, rest: RemainderCause, at: usize) -> Option<Window> {
    let wall = loads.wall[at].as_f64();
    if wall <= 0.0 {
        return None;
    }
    let communicating = loads.communicating[at].as_f64();
    let computing = loads.computing.get(at).map(|time| time.as_f64());
    // An idle CPU is no unexplained one.
    let beside = computing.map_or(0.0, |computing| ((wall - computing - communicating) / wall).max(0.0));
    let [others, interrupts, unexplained] = rest.split(beside);
    // Of the two tasks' time, what was no computing: the one's own, and interrupts that were charged to the other; and those that were charged to
    // none.
    let load =
        |done: f64, pace: f64| (communicating + computing.unwrap_or(0.0) - done / pace) / wall + interrupts;
    let [unbroken, steps] = loads.alone.as_ref().map_or([None; 2], pace);
    let gaps = unbroken.zip(loads.unbroken.get(at)).map(|(pace, done)| load(done.as_f64(), pace));
    let counter = steps.zip(loads.steps.get(at)).map(|(pace, done)| load(*done as f64, pace));
    let stat = loads.stat.get(at).map(|[user, system, irq, softirq, idle, steal]| {
        let busy = [system, irq, softirq].iter().map(|time| time.as_f64()).sum::<f64>();
        (busy, busy + [user, idle, steal].iter().map(|time| time.as_f64()).sum::<f64>())
    });
    Some(Window {
        size: loads.size[at],
        wall,
        gaps,
        counter,
        tasks: communicating / wall,
        others,
        unexplained,
        stat,
        trips: loads.trips[at] as f64,
        switches: loads.switches.get(at).map(|count| *count as f64),
        interrupts: loads.interrupts.get(at).map(|counts| counts.map(|count| count as f64)),
    })
}
