//! Which functions an operation's instructions are in.

use super::Page;
use crate::explain::{self, Explained};
use crate::json_object;
use tickmark_analysis::explain::{
    Agreement, Change, Explanation, Function, Interrupt, InterruptKind, difference,
};
use tickmark_wire::Part;

json_object! {
    /// An operation by function of the kernel; with a second kernel, what differs.
    pub struct ExplainPage(all: &[Explained<'_>], recordings: &[String]) {
        /// In words.
        answer: Vec<String> = explain::answers(all),
        kernels: Vec<ExplainedPage> = all.iter().zip(recordings).map(|(one, recording)| ExplainedPage::new(one.0, one.1, recording)).collect(),
        /// Functions of the operation in the kernel that differ between two kernels, the largest difference first.
        difference: Vec<ChangePage> = match all {
            [before, after] => changes(&before.1.functions, &after.1.functions),
            _ => Vec::new(),
        },
        /// What each other kernel has more than the first.
        differences: Vec<DifferencePage> = all.iter().skip(1).map(|other| DifferencePage::new(all[0], *other)).collect(),
    }

    struct DifferencePage(before: Explained<'_>, after: Explained<'_>) {
        kernel: String = after.0.to_owned(),
        against: String = before.0.to_owned(),
        /// Of the operation in the kernel, the largest difference first.
        functions: Vec<ChangePage> = changes(&before.1.functions, &after.1.functions),
        /// Of each interrupt that takes a part of the time, on average.
        interrupts: Vec<InterruptDifferencePage> = explain::that_matter(after.1)
            .filter_map(|interrupt| Some((after.1.counterpart(interrupt, before.1)?, interrupt)))
            .map(|(before, after)| InterruptDifferencePage::new(before, after))
            .collect(),
    }

    struct InterruptDifferencePage(before: &Interrupt, after: &Interrupt) {
        name: String = after.name.clone(),
        /// Its name in the first kernel: the tick may come from another timer.
        name_before: String = before.name.clone(),
        mean: f64 = after.mean,
        mean_before: f64 = before.mean,
        functions: Vec<ChangePage> = changes(&before.functions, &after.functions),
    }

    struct ExplainedPage(kernel: &str, of: &Explanation, recording: &str) {
        kernel: String = kernel.to_owned(),
        /// Of the boot without the plugin.
        recording: String = recording.to_owned(),
        metric: String = of.metric.clone(),
        /// How many operations were counted.
        operations: u64 = of.operations,
        /// Instructions of each in programs.
        program: f64 = of.program,
        /// Misses of each in programs in the simulated caches of instructions and of data.
        program_misses: Option<[f64; 2]> = of.calls.refills.as_ref().map(|_| of.program_misses),
        /// Instructions of each in the kernel, without interrupts.
        kernel_instructions: f64 = of.kernel,
        /// Of each operation in the kernel, without interrupts.
        functions: Vec<FunctionPage> = functions(of, &of.functions),
        interrupts: Vec<InterruptPage> = of.interrupts.iter().map(|interrupt| InterruptPage::new(of, interrupt)).collect(),
        /// Of threads that slept when the counting began, those of the kernel first of all: instructions of all operations together.
        resumed: Vec<FunctionPage> = functions(of, &of.resumed),
        /// What the metric's figure takes off (`less`) or adds (`plus`), and is not explained.
        other_parts: Vec<Part> = of.other_parts.clone(),
        agreement: AgreementPage = AgreementPage::new(&of.agreement),
    }

    /// The counts held against the guest's clock.
    struct AgreementPage(of: &Agreement) {
        windows: usize = of.windows,
        instructions: u64 = of.instructions,
        /// Instructions between the marks and the stamps of a window: in most of them.
        beside: i64 = of.beside,
        /// Windows in which an interrupt came between a mark and a stamp.
        interrupted: usize = of.interrupted,
    }

    struct FunctionPage(of: &Function, has_caches: bool) {
        name: String = of.name.clone(),
        calls: f64 = of.calls,
        /// Instructions of its own.
        own: f64 = of.own,
        /// And with all that it calls.
        inclusive: f64 = of.inclusive,
        /// Misses of its own in the simulated caches of instructions and of data.
        misses: Option<[f64; 2]> = has_caches.then_some(of.misses),
    }

    struct InterruptPage(all: &Explanation, of: &Interrupt) {
        name: String = of.name.clone(),
        count: u64 = of.count,
        /// Instructions of each.
        mean: f64 = of.mean,
        /// Of each interrupt, on average.
        functions: Vec<FunctionPage> = functions(all, &of.functions),
        kinds: Vec<KindPage> = of.kinds.iter().map(KindPage::new).collect(),
        /// Lines of code that each fetches from, where caches were simulated.
        lines: Option<f64> = of.lines,
        /// Lines of instructions and of data that programs fetched again as it had put them out, of each.
        refills: Option<[f64; 2]> = all.calls.refills.as_ref().map(|_| of.refills),
    }

    struct KindPage(of: &InterruptKind) {
        /// Of each; none of those that are no kind of their own.
        instructions: Option<u64> = of.instructions,
        count: u64 = of.count,
        /// True if they came while the kernel ran.
        in_kernel: bool = of.is_nested,
        /// True if the others that came from the same place are compared with it: the most frequent one.
        usual: bool = of.is_usual,
        /// The functions by which it is told from that one, and by how many instructions.
        differs_by: Vec<(String, f64)> = of.differs_by.clone(),
    }

    struct ChangePage(of: &Change) {
        name: String = of.name.clone(),
        difference: f64 = of.difference(),
        before: f64 = of.own[0],
        after: f64 = of.own[1],
        calls_before: f64 = of.calls[0],
        calls_after: f64 = of.calls[1],
    }
}

fn changes(before: &[Function], after: &[Function]) -> Vec<ChangePage> {
    difference(before, after).iter().map(ChangePage::new).collect()
}

fn functions(of: &Explanation, functions: &[Function]) -> Vec<FunctionPage> {
    functions.iter().map(|function| FunctionPage::new(function, of.calls.refills.is_some())).collect()
}

impl Page for ExplainPage {
    const NAME: &'static str = "lab-explain";
}
