//! Which functions the instructions of an operation are in: the counts of a boot's second run, held against the guest's clock.

mod agreement;
mod caches;
mod calls;
mod difference;

pub use agreement::Agreement;
pub use caches::CacheEffect;
pub use calls::{Calls, parse};
pub use difference::{Change, difference};

use std::collections::{BTreeMap, BTreeSet};
use tickmark_stats::order::largest_first;
use tickmark_store::Recording;
use tickmark_wire::{Batches, Observations, Part, names};

/// Ways into the kernel that an operation does not take by itself: interrupts (arch/x86/include/asm/idtentry.h,
/// arch/powerpc/kernel/head_85xx.S).
const INTERRUPTS: [&str; 14] = [
    // The plugin's own name, where the processor or the kernel has none: arm64, riscv64.
    "interrupt",
    "asm_common_interrupt",
    "asm_spurious_interrupt",
    "irq_entries_start",
    "asm_exc_nmi",
    "asm_exc_machine_check",
    "CriticalInput",
    "MachineCheck",
    "PerformanceMonitor",
    "Decrementer",
    "ExternalInput",
    "Doorbell",
    "FixedIntervalTimer",
    "WatchdogTimer",
];
/// Those of them that the tick comes by.
const TIMERS: [&str; 2] = ["asm_sysvec_apic_timer_interrupt", "Decrementer"];
/// And those of x86-64's local APIC.
const VECTORS: &str = "asm_sysvec_";

/// Threads that had slept when the counting began, until they return to their programs; those of the kernel never do (tickmark-lab's
/// symbols.rs).
const RESUMED: &str = "resumed thread";

/// A function: of an operation, or of an interrupt.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Calls of it.
    pub calls: f64,
    /// Instructions of its own.
    pub own: f64,
    /// And with all that it calls.
    pub inclusive: f64,
    /// Misses of its own in the caches of instructions and of data.
    pub misses: [f64; 2],
}

/// What an interrupt takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Interrupt {
    /// Its first function.
    pub name: String,
    /// How often it came.
    pub count: u64,
    /// Instructions of each, on average.
    pub mean: f64,
    /// Functions of each, on average: the most instructions first.
    pub functions: Vec<Function>,
    /// Its kinds: the most frequent first.
    pub kinds: Vec<InterruptKind>,
    /// Lines of code that each fetches from, on average, a line again where another way into the kernel fetched from it meanwhile; none where no
    /// caches were simulated.
    pub lines: Option<f64>,
    /// Lines of instructions and of data that programs fetched again, on average of each.
    pub refills: [f64; 2],
}

/// Interrupts with the same number of instructions.
#[derive(Debug, Clone, PartialEq)]
pub struct InterruptKind {
    /// Instructions of each; none of those that are no kind of their own.
    pub instructions: Option<u64>,
    /// How many.
    pub count: u64,
    /// True if they came while the kernel ran.
    pub is_nested: bool,
    /// True if the others that came from the same place are compared with it: the most frequent one.
    pub is_usual: bool,
    /// By how much its functions differ from those of that one: the largest difference first.
    pub differs_by: Vec<(String, f64)>,
}

/// Functions by which a kind is told from the most frequent one.
const TOLD: usize = 3;

/// Where the instructions of an operation are.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The operation.
    pub metric: String,
    /// How many were counted.
    pub operations: u64,
    /// Instructions of each in programs.
    pub program: f64,
    /// Misses of each in programs.
    pub program_misses: [f64; 2],
    /// In the kernel, without interrupts.
    pub kernel: f64,
    /// Functions of each in the kernel, without those of interrupts: the most instructions first.
    pub functions: Vec<Function>,
    /// What came between.
    pub interrupts: Vec<Interrupt>,
    /// Functions of threads that had slept when the counting began, those of the kernel first of all, all together: neither the
    /// operation's nor an interrupt's.
    pub resumed: Vec<Function>,
    /// What the metric's figure takes off or adds: it is measured in streams of their own, and not explained.
    pub other_parts: Vec<Part>,
    /// How well the counts agree with the guest's clock.
    pub agreement: Agreement,
    /// The whole tree.
    pub calls: Calls,
}

impl Explanation {
    /// The interrupt of the tick: the timer's by its name, else the one that took the most instructions; none where none came.
    #[must_use]
    pub fn tick(&self) -> Option<&Interrupt> {
        let all = || self.interrupts.iter().filter(|interrupt| interrupt.count > 0);
        all().find(|interrupt| TIMERS.contains(&interrupt.name.as_str())).or_else(|| all().next())
    }

    /// The same interrupt of another kernel as one of this one's; of the tick that which brings it there, whatever its name.
    #[must_use]
    pub fn counterpart<'a>(&self, interrupt: &Interrupt, other: &'a Self) -> Option<&'a Interrupt> {
        if self.tick().is_some_and(|tick| tick.name == interrupt.name) {
            return other.tick();
        }
        other.interrupts.iter().find(|same| same.name == interrupt.name && same.count > 0)
    }

    /// Its tree as stacks, to be held against those of another kernel: the tick has one name in both, whichever timer brings it.
    #[must_use]
    pub fn stacks_beside(&self, other: &Self) -> Vec<(Vec<String>, u64)> {
        let mut stacks = self.calls.stacks();
        if let (Some(own), Some(other)) = (self.tick(), other.tick()) {
            for root in stacks.iter_mut().filter_map(|(names, _)| names.first_mut()) {
                if *root == own.name {
                    root.clone_from(&other.name);
                }
            }
        }
        stacks
    }

    /// The operation's functions in the kernel; of a loop that does nothing, those of the tick.
    #[must_use]
    pub fn counted_functions(&self) -> &[Function] {
        match self.tick().filter(|_| self.metric == names::SPIN) {
            Some(tick) => &tick.functions,
            None => &self.functions,
        }
    }
}

impl Interrupt {
    /// Instructions of the median one, of two the shorter; the mean where the number of instructions of most is not known, as they are no kind
    /// of their own.
    #[must_use]
    pub fn median(&self) -> f64 {
        let known = self.kinds.iter().filter_map(|kind| Some((kind.instructions?, kind.count)));
        let mut known: Vec<(u64, u64)> = known.collect();
        known.sort_unstable();
        let all: u64 = known.iter().map(|(_, count)| count).sum();
        let mut counted = 0;
        let median = known.into_iter().filter(|_| all * 2 >= self.count).find(|(_, count)| {
            counted += count;
            counted * 2 >= all
        });
        median.map_or(self.mean, |(instructions, _)| instructions as f64)
    }
}

fn is_interrupt(name: &str) -> bool {
    name.starts_with(VECTORS) || INTERRUPTS.contains(&name)
}

/// Explains a recording with one run by the counts of its boot.
///
/// # Errors
/// It gave no batches, the counts are not those of its batches, or its clock says otherwise.
pub fn explain(recording: &Recording, counts: &str) -> Result<Explanation, String> {
    let one = crate::instruction(recording).ok_or("the guest does not count instructions")?;
    let [run] = &recording.runs[..] else { return Err("there are several runs".to_owned()) };
    if let Some(why) = run.status.reason() {
        return Err(format!("{} gave no figure: {why}", run.planned.probe));
    }
    let observed = recording.observations(run);
    let metric = observed.first().ok_or("it gave no observations")?.metric.to_string();
    let streams: Vec<(Part, &Batches)> = observed
        .iter()
        .filter_map(|observed| match &observed.observations {
            Observations::Batches(batches) => Some((observed.part, batches)),
            _ => None,
        })
        .collect();
    let mut counted = parse(counts)?;
    if streams.is_empty() || streams.len() != observed.len() {
        return Err(format!("{metric} is measured in no batches: it cannot be explained"));
    }
    if counted.len() != streams.len() {
        return Err(format!(
            "{} streams of {metric} were counted, and {} measured: this agent measures it without marks; take the other one (--agent)",
            counted.len(),
            streams.len()
        ));
    }
    let (drift, step) = (drift(recording), clock_step(recording));
    let agree =
        |((_, batches), calls): (&(Part, &Batches), &Calls)| Agreement::new(batches, calls, one, step, drift);
    let agreements = streams.iter().zip(&counted).map(agree).collect::<Result<Vec<_>, _>>()?;
    let whole = streams.iter().position(|(part, _)| *part == Part::Whole).ok_or("it has no whole")?;
    let (_, batches) = streams[whole];
    let operations = batches.iterations.get() * batches.elapsed.len() as u64;
    let calls = counted.swap_remove(whole);
    let others = streams.iter().map(|(part, _)| *part).filter(|part| *part != Part::Whole).collect();
    Ok(of_calls(metric, operations, calls, agreements[whole].clone(), others))
}

/// Clock sources that are the counter of instructions itself: of PowerPC, arm64 and riscv64.
const COUNTERS: [&str; 3] = ["timebase", "arch_sys_counter", "riscv_clocksource"];

/// The share by which the clock that stamped may run beside the count of instructions: none where it is the counter itself; where a PC's
/// kernel makes nanoseconds of it, up to 27 of a million were seen over a second, and 5 over five.
fn drift(recording: &Recording) -> f64 {
    let Some(session) = recording.sessions.first() else { return 0.0 };
    let is_scaled = session.environment.get("clock.source").is_some_and(|source| !COUNTERS.contains(&source));
    if is_scaled && !session.settings.tsc_is_nanoseconds { DRIFT } else { 0.0 }
}

/// The step of the clock that stamped, in ns: of RISC-V's counter in QEMU 100 (10 MHz), elsewhere no longer than an instruction.
fn clock_step(recording: &Recording) -> f64 {
    let source = recording.sessions.first().and_then(|session| session.environment.get("clock.source"));
    if source.is_some_and(|source| source == "riscv_clocksource") { 100.0 } else { 1.0 }
}

/// See [`drift`].
const DRIFT: f64 = 40e-6;

/// Instructions of functions together; none have no sign.
fn own_instructions(functions: &[Function]) -> f64 {
    functions.iter().fold(0.0, |sum, function| sum + function.own)
}

fn of_calls(
    metric: String,
    operations: u64,
    calls: Calls,
    agreement: Agreement,
    others: Vec<Part>,
) -> Explanation {
    let each = operations.max(1) as f64;
    let functions = functions(&calls, each, |root| !is_interrupt(root) && root != RESUMED);
    let resumed = self::functions(&calls, 1.0, |root| root == RESUMED);
    let by_entry = calls.by_entry();
    let names = by_entry.keys().filter(|name| is_interrupt(name));
    let mut interrupts: Vec<Interrupt> = names.map(|name| interrupt(&calls, name)).collect();
    largest_first(&mut interrupts, |one| one.mean * one.count as f64);
    let program = calls.nodes.first();
    Explanation {
        metric,
        operations,
        program: program.map_or(0.0, |node| node.own as f64 / each),
        program_misses: program.map_or([0.0; 2], |node| node.misses.map(|misses| misses as f64 / each)),
        kernel: own_instructions(&functions),
        functions,
        interrupts,
        resumed,
        other_parts: others,
        agreement,
        calls,
    }
}

/// The functions below the ways into the kernel that are `wanted`, of one of so many; the most instructions first.
fn functions(calls: &Calls, of: f64, wanted: impl Fn(&str) -> bool) -> Vec<Function> {
    let (roots, sums) = (calls.roots(), calls.inclusive());
    let mut all: BTreeMap<&str, Function> = BTreeMap::new();
    for (number, node) in calls.nodes.iter().enumerate().skip(1) {
        if !wanted(&calls.nodes[roots[number]].name) {
            continue;
        }
        let function = all.entry(&node.name).or_insert_with(|| Function {
            name: node.name.clone(),
            calls: 0.0,
            own: 0.0,
            inclusive: 0.0,
            misses: [0.0; 2],
        });
        function.calls += node.calls as f64 / of;
        function.own += node.own as f64 / of;
        for (sum, misses) in function.misses.iter_mut().zip(node.misses) {
            *sum += misses as f64 / of;
        }
        // Below itself it is counted there.
        let above = std::iter::successors(Some(node.parent), |at| Some(calls.nodes[*at].parent));
        if above.take_while(|at| *at > 0).all(|at| calls.nodes[at].name != node.name) {
            function.inclusive += sums[number] as f64 / of;
        }
    }
    let mut all: Vec<Function> = all.into_values().filter(|function| function.inclusive > 0.0).collect();
    all.sort_by(|a, b| b.own.total_cmp(&a.own).then(b.inclusive.total_cmp(&a.inclusive)));
    all
}

fn interrupt(calls: &Calls, name: &str) -> Interrupt {
    let entries = || calls.entries.iter().filter(|entry| entry.name == name);
    let count: u64 = entries().map(|entry| entry.count).sum();
    let each = count.max(1) as f64;
    let functions = functions(calls, each, |root| root == name);
    let mut kinds = Vec::new();
    for entry in entries() {
        let of_one = |kind: &calls::Kind, name: &str| {
            kind.by_function.get(name).copied().unwrap_or(0) as f64 / kind.count.max(1) as f64
        };
        let told = entry.kinds.iter().filter(|kind| kind.instructions.is_some());
        // Of several the shortest, so that it is the same in each boot.
        let usual = told.max_by_key(|kind| (kind.count, std::cmp::Reverse(kind.instructions)));
        for kind in &entry.kinds {
            let other = usual.map(|usual| usual.by_function.keys()).into_iter().flatten();
            let names: BTreeSet<&String> = kind.by_function.keys().chain(other).collect();
            let by = |name: &&String| usual.map_or(0.0, |usual| of_one(kind, name) - of_one(usual, name));
            let mut differs_by: Vec<(String, f64)> =
                names.iter().map(|name| ((*name).clone(), by(name))).collect();
            differs_by.retain(|(_, by)| by.abs() >= 0.5);
            largest_first(&mut differs_by, |one| one.1.abs());
            differs_by.truncate(TOLD);
            let (instructions, count, is_nested) = (kind.instructions, kind.count, entry.is_nested);
            let is_usual = usual.is_some_and(|usual| std::ptr::eq(kind, usual));
            kinds.push(InterruptKind { instructions, count, is_nested, is_usual, differs_by });
        }
    }
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.count));
    let refills = calls.refills.as_ref().and_then(|all| all.get(name)).copied().unwrap_or_default();
    Interrupt {
        name: name.to_owned(),
        count,
        mean: own_instructions(&functions),
        functions,
        kinds,
        lines: calls
            .refills
            .as_ref()
            .and(entries().map(|entry| entry.lines).sum::<Option<u64>>())
            .map(|lines| lines as f64 / each),
        refills: refills.map(|lines| lines as f64 / each),
    }
}

#[cfg(test)]
#[path = "explain/tests.rs"]
mod tests;
