//! Whose CPU time it was: a command's, or of processes that run already, beside a task on each CPU that computes where nobody else wants to run. What
//! that does not get was theirs, or somebody's. No suite has it, as it has to be told whose: `tickmark bill` asks.

mod recorded;
mod subject;

use super::counting::Count;
use std::collections::BTreeMap;
use std::thread::JoinHandle;
use std::time::Duration;
use subject::Subject;
use tickmark_probe::case::{Parameter, Value};
use tickmark_probe::clock::{Counter, Monotonic};
use tickmark_probe::routine::{Budget, Sink, routine};
use tickmark_probe::spec::Also;
use tickmark_probe::sys::cgroup::{self, Limit};
use tickmark_probe::sys::computer::{Board, GAP, Step, TaskProgress, Watcher};
use tickmark_probe::sys::tasks::{self, Used};
use tickmark_probe::sys::{CallError, usage};
use tickmark_probe::{Expected, Params, Probe, ProbeError, Spec, Unavailable};
use tickmark_timer::monotonic_ns;
use tickmark_wire::{Arguments, Better, Group, Headline, Observations, Part, Unit, Values, names};

/// How long the computing tasks are looked at without the command.
const ALONE: Duration = Duration::from_millis(500);

const fn also(metric: &'static str, title: &'static str) -> Also {
    Also { metric, title, unit: Unit::Time, better: Better::Lower, headline: Headline::Median }
}

const fn counted(metric: &'static str, title: &'static str) -> Also {
    Also { unit: Unit::Count, better: Better::Neither, ..also(metric, title) }
}

/// Figures of a run beside computing tasks, ns of CPU time, in the order of [`Bill::values`].
const ALSO: &[Also] = &[
    also("bill.billed", "bill, billed to the command"),
    also("bill.total", "bill, total"),
    also("bill.interrupts", "bill, interrupts charged to others"),
    also("bill.kernel_threads", "bill, threads of the kernel"),
    also("bill.others", "bill, other tasks"),
    also("bill.no_task", "bill, no task's"),
    also("bill.unattributed", "bill, unattributed"),
    counted("bill.count", "bill, counted"),
];
const ALSO_RECORDED: &[Also] =
    &[Also { better: Better::Neither, ..also(names::BILL_EVENTS, "bill, the kernel's events meanwhile") }];
const ALSO_UNWATCHED: &[Also] = &[
    also("bill.unwatched.billed", "bill, billed to the command, unwatched"),
    counted("bill.unwatched.count", "bill, counted, unwatched"),
];

pub(super) static PROBES: &[Probe] = &[Probe {
    spec: Spec {
        metric: names::BILL,
        headline: Headline::Median,
        timed: "a command{watch}, from before it is started until it has ended",
        source: "processor-load.txt, its computation task; SCHED_IDLE (sched(7))",
        expected: Expected::UNKNOWN,
        sleeps: true,
        roams: true,
        weight: 1,
        parameters: &[
            Parameter::choice(
                "watch",
                "whether a task computes on each CPU meanwhile",
                &[
                    Value { value: "yes", name: "", title: "", timed: " beside computing tasks" },
                    Value {
                        value: "recorded",
                        name: ".recorded",
                        title: ", recorded",
                        timed: " beside computing tasks, with the kernel's tracepoints of interrupts, timers, tasks and work recorded on every CPU",
                    },
                    Value { value: "no", name: ".unwatched", title: ", unwatched", timed: "" },
                ],
            ),
            Parameter::text("folder", "where it runs; empty: in a folder of the run's"),
            Parameter::text(
                "pid",
                "a process that runs already, with those that it started; empty: the command",
            ),
            Parameter::text("cgroup", "the folder of a cgroup, in place of a command"),
            Parameter::text(
                "count",
                "how often it does what is counted: a number, or a command that prints how often so far; empty: not counted",
            ),
            Parameter::text("words", "the program and its arguments, with a NUL between them"),
        ],
        also: ALSO,
        tune: |spec, arguments: &Arguments| {
            let counts = arguments.get("count").is_some_and(|count| !count.is_empty());
            match arguments.get("watch").map(String::as_str) {
                Some("recorded") => (spec.metric, spec.also) = (names::BILL_RECORDED, ALSO_RECORDED),
                Some("no") => (spec.metric, spec.also) = (names::BILL_UNWATCHED, ALSO_UNWATCHED),
                _ => {}
            }
            if !counts && spec.metric != names::BILL_RECORDED {
                spec.also = &spec.also[..spec.also.len() - 1];
            }
        },
        ..Spec::cost(Group::Machine, "bill", "bill, time of the command{watch}")
    },
    prepare: |_, params| {
        let subject = Subject::from_params(params).map_err(Unavailable::Missing)?;
        let watches = params.argument("watch") != "no";
        if let Some(limit) =
            too_little(&cgroup::limits().unwrap_or_default(), params.allowed.len()).filter(|_| watches)
        {
            return Err(Unavailable::Missing(format!(
                "{} grants {} CPUs of {}: computing tasks on all of them would use that up",
                limit.folder.display(),
                limit.cpus,
                params.allowed.len()
            )));
        }
        let params = params.clone();
        Ok(routine(move |budget: &Budget, sink| match params.argument("watch") {
            "no" => unwatched(&subject, &params, budget, sink),
            "recorded" => recorded::measure(&subject, &params, budget, sink),
            _ => watched(&subject, &params, budget, sink),
        }))
    },
}];

/// The quota that a task on each of so many CPUs would use up.
fn too_little(limits: &[Limit], cpus: usize) -> Option<&Limit> {
    limits.iter().find(|limit| limit.cpus < cpus as f64)
}

fn single_observation(value: f64) -> Observations {
    Observations::Values(Values { values: vec![value], step: 1.0, over: 0 })
}

fn unwatched(
    subject: &Subject,
    params: &Params,
    budget: &Budget,
    sink: &mut dyn Sink,
) -> Result<(), ProbeError> {
    let count = Count::begin(params)?;
    let [took, billed] = subject.watch(params, budget.time)?;
    sink.observe(Part::Whole, single_observation(took), Vec::new());
    sink.take(1, Part::Whole, single_observation(billed), Vec::new());
    if let Some(count) = count.end()? {
        sink.take(2, Part::Whole, single_observation(count), Vec::new());
    }
    Ok(())
}

/// The computing tasks, one on each CPU.
struct Watch {
    boards: Vec<Board>,
    watchers: Vec<Watcher>,
    threads: Vec<JoinHandle<Result<(), CallError>>>,
    /// Nanoseconds of a tick of their clock.
    nanos: f64,
}

/// Everything at a moment.
struct BillReading {
    /// Of each computing task, and when.
    done: Vec<(u64, TaskProgress)>,
    tasks: BTreeMap<u32, Used>,
    own: i64,
}

impl Watch {
    fn begin(params: &Params, budget: &Budget) -> Result<Self, ProbeError> {
        let (counts, frequency) = (budget.gauge.counts(), budget.gauge.scale.frequency());
        let gap = (GAP as f64 * frequency / 1e9) as u64;
        let (mut boards, mut watchers, mut threads) = (Vec::new(), Vec::new(), Vec::new());
        for cpu in params.allowed.iter().copied() {
            let board = Board::new()?;
            let own = board.clone();
            let compute = move || match counts {
                true => own.compute(Counter, Step::Multiply, gap, cpu, true),
                false => own.compute(Monotonic, Step::Multiply, gap, cpu, true),
            };
            let thread = std::thread::Builder::new().name(names::INSTRUMENT.to_owned()).spawn(compute);
            threads.push(
                thread.map_err(|e| CallError::from_io("pthread_create (mmap, mprotect or clone3)", &e))?,
            );
            let Some(task) = board.wait() else {
                // Where a call was refused, that is why.
                let ended = threads.pop().filter(JoinHandle::is_finished).map(JoinHandle::join);
                if let Some(Ok(Err(refused))) = ended {
                    return Err(refused.into());
                }
                return Err(ProbeError::Other(format!(
                    "nothing could compute on CPU {cpu} within two seconds"
                )));
            };
            watchers.extend(Watcher::new(board.clone(), cpu, task, true));
            boards.push(board);
        }
        Ok(Self { boards, watchers, threads, nanos: 1e9 / frequency })
    }

    /// Reads all accounts. The slow ones are read outside of the interval between two looks: before the first of them, after the last.
    fn look(&self, is_first: bool) -> BillReading {
        let before = is_first.then(tasks::all);
        let own = usage::thread_cpu().get();
        let done = self.watchers.iter().map(|watcher| (monotonic_ns(), watcher.read())).collect();
        BillReading { done, own, tasks: before.unwrap_or_else(tasks::all) }
    }

    /// Between two looks, over all CPUs, in ns: wall clock, CPU time of the computing tasks, and the time in which they saw no gap.
    fn between(&self, before: &BillReading, now: &BillReading) -> [f64; 3] {
        let each = || before.done.iter().zip(&now.done);
        let wall: u64 = each().map(|((before, _), (now, _))| now.saturating_sub(*before)).sum();
        let cpu: i64 = each().map(|((_, before), (_, now))| now.cpu.get() - before.cpu.get()).sum();
        let unbroken: u64 =
            each().map(|((_, before), (_, now))| now.unbroken.saturating_sub(before.unbroken)).sum();
        [wall as f64, cpu as f64, unbroken as f64 * self.nanos]
    }

    fn end(self) {
        self.boards.iter().for_each(Board::stop);
        self.threads.into_iter().for_each(|thread| drop(thread.join()));
    }
}

fn watched(
    subject: &Subject,
    params: &Params,
    budget: &Budget,
    sink: &mut dyn Sink,
) -> Result<(), ProbeError> {
    let watch = Watch::begin(params, budget)?;
    let before = watch.look(true);
    std::thread::sleep(ALONE);
    let alone = watch.look(false);
    // Outside of what is between the looks.
    let count = Count::begin(params);
    let begun = watch.look(true);
    let carried = subject.watch(params, budget.time);
    let ended = watch.look(false);
    let [_, computing, unbroken] = watch.between(&before, &alone);
    // Of each second of their CPU time, what they lose to interrupts without the command.
    let usual = if computing > 0.0 { 1.0 - unbroken / computing } else { 0.0 };
    // What runs already cannot be looked away from: interrupts on its behalf are in that, too.
    let usual = if matches!(subject, Subject::Command(_)) { usual } else { 0.0 };
    let [wall, computing, unbroken] = watch.between(&begun, &ended);
    watch.end();
    let [took, billed] = carried?;
    let count = count?.end()?;
    let no_others = [vec![std::process::id()], subject.own(&begun.tasks), subject.own(&ended.tasks)].concat();
    let [kernel, others] = tasks::between(&begun.tasks, &ended.tasks, &no_others);
    let own = (ended.own - begun.own) as f64;
    sink.observe(Part::Whole, single_observation(took), Vec::new());
    let bill =
        Bill { wall, computing, unbroken, usual, billed, kernel: kernel as f64, others: others as f64 + own };
    for (number, value) in bill.values().into_iter().enumerate() {
        sink.take(number + 1, Part::Whole, single_observation(value), Vec::new());
    }
    if let Some(count) = count {
        sink.take(ALSO.len(), Part::Whole, single_observation(count), Vec::new());
    }
    Ok(())
}

/// Accounts over all CPUs, in ns.
struct Bill {
    wall: f64,
    computing: f64,
    unbroken: f64,
    /// Of each ns of computing, what is lost without the command.
    usual: f64,
    billed: f64,
    kernel: f64,
    others: f64,
}

impl Bill {
    /// Billed; total, which is all that the computing tasks did not get but for what they usually lose; interrupts that were charged to them, which are
    /// negative where the command was billed for time that they had; the kernel's threads; other tasks; what was no task's; what is left.
    fn values(&self) -> [f64; 7] {
        let usual = self.usual * self.computing;
        let total = self.wall - self.unbroken - usual;
        let interrupts = self.computing - self.unbroken - usual;
        // Tasks that ended meanwhile are in no account but the command's own: the rest may be theirs.
        let rest = self.wall - self.computing - self.billed - self.kernel - self.others;
        let (no_task, unattributed) = if rest < 0.0 { (0.0, rest) } else { (rest, 0.0) };
        [self.billed, total, interrupts, self.kernel, self.others, no_task, unattributed]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_below_the_cpus_is_used_up() {
        let quota = |cpus| Limit { folder: "/a".into(), cpus };
        assert!(too_little(&[quota(4.0), quota(1.5)], 2).is_some_and(|limit| limit.cpus == 1.5));
        assert!(too_little(&[quota(2.0)], 2).is_none() && too_little(&[], 64).is_none());
    }

    #[test]
    fn a_bill_adds_up() {
        let bill = Bill {
            wall: 2e9,
            computing: 1.2e9,
            unbroken: 1.08e9,
            usual: 0.01,
            billed: 0.6e9,
            kernel: 0.05e9,
            others: 0.1e9,
        };
        let [billed, total, interrupts, kernel, others, no_task, unattributed] = bill.values();
        assert!((total - (2e9 - 1.08e9 - 0.012e9)).abs() < 1.0);
        assert!((interrupts - 0.108e9).abs() < 1.0 && (no_task - 0.05e9).abs() < 1.0 && unattributed == 0.0);
        assert!((billed + interrupts + kernel + others + no_task - total).abs() < 1.0);
        // Billed for what the computing tasks had: that is not made nothing.
        let over = Bill { unbroken: 1.25e9, ..bill };
        assert!(over.values()[2] < -0.05e9);
    }
}
