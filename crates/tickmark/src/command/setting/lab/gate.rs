//! Two kernels against each other, path by path, in instructions.

pub(in crate::command) mod price;

use super::{NO_FLOOR, check_guests, check_limits, guest_and_plan, guest_request, plain_boot};
use crate::cli::{Format, LabBoot, LabGate};
use crate::command::pages::LabGatePage;
use crate::command::run;
use crate::error::{Code, Error};
use crate::progress::control;
use crate::selection;
use price::PriceRequest;
use std::collections::BTreeMap;
use std::fmt::Write;
use tickmark_analysis::report::{self, Unit};
use tickmark_drive::lab::Bench;
use tickmark_lab::Need;
use tickmark_store::{Recording, Store};
use tickmark_wire::names;
use tickmark_wire::text::quoted;

/// What is measured where nothing is named.
const USUAL: [&str; 2] = ["syscall", "switch.2p.0k"];
/// A path in both kernels.
pub(in crate::command) struct PathCost {
    pub(in crate::command) metric: String,
    /// Instructions of each operation in the kernel that is judged by, and in the new one.
    pub(in crate::command) base: f64,
    pub(in crate::command) new: f64,
    pub(in crate::command) max: Option<f64>,
    pub(in crate::command) verdict: &'static str,
}

impl PathCost {
    fn fails(&self) -> bool {
        matches!(self.verdict, "grew" | "above --max")
    }
}

/// The instructions of each path, where nothing interrupts it: those of its floor.
pub(super) type Paths = BTreeMap<String, f64>;
/// What kind of path each is.
type Kinds = BTreeMap<String, String>;

pub(super) fn run(store: &Store, options: &LabGate) -> Result<Code, Error> {
    // A name that is none is told before the minutes that a kernel may take.
    let boots = [&options.base, &options.new].map(|kernel| boot(kernel, options));
    let words = &boots[0].select;
    let paths_of_words = words.iter().map(paths_of_word).collect::<Result<Vec<_>, _>>()?;
    check_limits(&options.max, &selection::select(words)?)?;
    if paths_of_words.iter().any(Vec::is_empty) {
        let spin = names::SPIN;
        return Err(Error::Usage(format!(
            "the floor of {spin} has no tick in it: `tickmark lab boot --max {spin}=INSTRUCTIONS` and `tickmark lab explain {spin} --against KERNEL` count one"
        )));
    }
    let price = PriceRequest::read(store, options)?;
    let mut bench = Bench::new(control())?;
    let names = [&options.base, &options.new];
    check_guests(&mut bench, boots.iter().map(guest_request))?;
    bench.kernels(names.into_iter(), Need::Image)?;
    let guests = boots.iter().map(|boot| guest_and_plan(&mut bench, boot)).collect::<Result<Vec<_>, _>>()?;
    let (mut paths, mut kinds_of_paths) = (Vec::new(), Kinds::new());
    let mut planned = Vec::new();
    for (kernel, (guest, plan)) in names.into_iter().zip(guests) {
        let recording = run::guest_recording(
            store,
            &bench.control,
            &guest,
            &plan,
            &format!("lab gate {kernel}"),
            kernel,
        )?;
        if bench.control.stopped() {
            return Err(Error::Refused("interrupted".to_owned()));
        }
        paths.push((recording.meta.id.to_string(), instructions(&recording)?));
        kinds_of_paths = kinds(&recording);
        planned = planned_paths(&recording);
    }
    let [(base, before), (new, after)] = &paths[..] else { return Ok(Code::Failed) };
    let most = |name: &str| {
        let limits = options.max.iter().filter(|(own, _)| own == name).map(|(_, most)| *most);
        limits.min_by(f64::total_cmp)
    };
    // What one of them lacks is no pass.
    let only = |own: &Paths, other: &Paths| -> Vec<String> {
        own.keys().filter(|name| !other.contains_key(*name)).cloned().collect()
    };
    let without = [only(after, before), only(before, after)];
    // What neither has is no pass where nothing else was meant by a word, and of a suite what the agent or the kernel has not.
    let neither: Vec<String> =
        planned.into_iter().filter(|name| !after.contains_key(name) && !before.contains_key(name)).collect();
    let is_uncounted = paths_of_words.iter().any(|paths| paths.iter().all(|path| neither.contains(path)));
    let path = |(name, new): (&String, &f64)| {
        let base = before.get(name).copied()?;
        let is_above = most(name).is_some_and(|most| *new > most);
        let verdict = match new - base {
            _ if is_above => "above --max",
            by if by > options.margin => "grew",
            by if by < -options.margin => "shrank",
            _ => "same",
        };
        Some(PathCost { metric: name.clone(), base, new: *new, max: most(name), verdict })
    };
    let all: Vec<PathCost> = after.iter().filter_map(path).collect();
    // A limit holds for what the new kernel alone has.
    if all.is_empty() && without[0].is_empty() {
        return Err(Error::Unjudged("no path was counted in both kernels".to_owned()));
    }
    // The comparison stands without its price.
    let priced = price.map(|price| price.price((before, kinds_of_paths), &all, options.margin)).transpose();
    let (priced, unpriced) = match priced {
        Ok(priced) => (priced, None),
        Err(why) => (None, Some(why)),
    };
    match options.output.format {
        Format::Json => {
            crate::command::print_page(&LabGatePage::new(
                [base, new],
                &all,
                &without,
                &neither,
                priced.as_ref(),
            ))?;
        }
        Format::Text => {
            let mut text = text(options, &all, &without, &neither);
            text += &priced.map_or_else(String::new, |priced| priced.text());
            crate::command::print(&text)?;
        }
    }
    let mut code = code(&all, &without);
    for why in unpriced.iter().map(Error::to_string).chain(above_alone(options, before, after, &mut code)) {
        crate::notice!("tickmark: {why}");
        code = code.worse(Code::Unjudged);
    }
    Ok(if is_uncounted { code.worse(Code::Unjudged) } else { code })
}

/// Says of limits on paths that are in no table, as a kernel lacks them, how they are kept: one that is broken differs.
fn above_alone(options: &LabGate, before: &Paths, after: &Paths, code: &mut Code) -> Vec<String> {
    let alone =
        options.max.iter().filter(|(name, _)| !(before.contains_key(name) && after.contains_key(name)));
    let said = alone.filter_map(|(name, most)| match after.get(name) {
        None => Some(format!("--max {name}: {NO_FLOOR}")),
        Some(count) if count > most => {
            *code = Code::Differs.worse(*code);
            Some(format!("{name} takes {count:.1} instructions, above --max {most}"))
        }
        Some(_) => None,
    });
    said.collect()
}

/// The paths that a word selects; none where that is the tick alone, whose floor has no tick in it.
fn paths_of_word(word: &String) -> Result<Vec<String>, Error> {
    let selected = selection::select(std::slice::from_ref(word))?;
    let paths = selected.iter().flat_map(|offer| &offer.metrics).map(|metric| metric.name.to_string());
    Ok(paths.filter(|name| name != names::SPIN).collect())
}

fn code(all: &[PathCost], without: &[Vec<String>; 2]) -> Code {
    match () {
        () if all.iter().any(PathCost::fails) => Code::Differs,
        () if without.iter().any(|names| !names.is_empty()) => Code::Unjudged,
        () => Code::Done,
    }
}

/// The boot of one of the kernels.
fn boot(kernel: &str, options: &LabGate) -> LabBoot {
    let usual = || USUAL.map(str::to_owned).to_vec();
    let select = if options.select.is_empty() { usual() } else { options.select.clone() };
    plain_boot(kernel, select, &options.append)
}

/// Floors of a recording in instructions.
pub(super) fn instructions(recording: &Recording) -> Result<Paths, Error> {
    let one = tickmark_analysis::instruction(recording)
        .ok_or_else(|| Error::Refused("the guest did not say how long an instruction takes".to_owned()))?;
    Ok(floors(recording, one))
}

/// Floors of a recording, in units of so many ns.
fn floors(recording: &Recording, one: f64) -> Paths {
    let groups = report::rows_of(recording, &|_| true);
    let rows = groups.iter().flat_map(|(_, rows)| rows).filter(|row| row.unit == Unit::Nanoseconds);
    let path = |row: &report::Row| {
        // The floor of a loop has no tick: `lab boot --max` and `lab explain` count it.
        if row.metric == names::SPIN {
            return None;
        }
        let floor = row.value.filter(|_| row.mean.is_some() && row.no_floor().is_none())?;
        Some((row.metric.clone(), floor.point / one))
    };
    rows.filter_map(path).collect()
}

/// Operations that the recording was to count.
fn planned_paths(recording: &Recording) -> Vec<String> {
    let metrics = recording.meta.plan.metrics.iter().filter(|metric| metric.name.as_str() != names::SPIN);
    metrics.map(|metric| metric.name.to_string()).collect()
}

/// The group of each path, as its kind.
fn kinds(recording: &Recording) -> Kinds {
    let metrics = recording.meta.plan.metrics.iter();
    metrics.map(|metric| (metric.name.to_string(), metric.group.title().to_owned())).collect()
}

/// `without` are the paths that the first and the second kernel lack, `neither` those that both do.
fn text(options: &LabGate, all: &[PathCost], without: &[Vec<String>; 2], neither: &[String]) -> String {
    let count = |verdict: &str| all.iter().filter(|path| path.verdict == verdict).count();
    let head = format!(
        "{} of {} paths grew, {} shrank, {} above --max; instructions of {} and {}:",
        count("grew"),
        all.len(),
        count("shrank"),
        count("above --max"),
        options.base,
        options.new
    );
    let mut text = tickmark_render::paragraph(&head) + "\n";
    for (kernel, names) in
        [&options.base, &options.new].into_iter().zip(without).filter(|(_, names)| !names.is_empty())
    {
        let line = format!("not judged, as {kernel} gave no count: {}", names.join(", "));
        text += &(tickmark_render::paragraph(&line) + "\n");
    }
    if !neither.is_empty() {
        let line = format!("not judged, as neither gave a count: {}", neither.join(", "));
        text += &(tickmark_render::paragraph(&line) + "\n");
    }
    // What fails first, then what changed most.
    let mut sorted: Vec<&PathCost> = all.iter().collect();
    let by = |path: &PathCost| path.new - path.base;
    sorted.sort_by(|a, b| b.fails().cmp(&a.fails()).then(by(b).abs().total_cmp(&by(a).abs())));
    let width = all.iter().map(|path| path.metric.len()).max().unwrap_or(0);
    for path in &sorted {
        let PathCost { metric, base, new, verdict, .. } = path;
        let difference = by(path);
        let _ = writeln!(text, "  {metric:width$} {base:>10.1} {new:>10.1} {difference:>+9.1}  {verdict}");
    }
    if let Some(first) = sorted.first().filter(|path| by(path).abs() > options.margin) {
        let kernels = format!("{} --against {}", quoted(&options.base), quoted(&options.new));
        let _ = writeln!(text, "\n{}", which_functions(&first.metric, &kernels, &options.append));
    }
    text
}

/// The command that says where the instructions of a path are.
pub(super) fn which_functions(metric: &str, kernel: &str, append: &str) -> String {
    let append = if append.is_empty() { String::new() } else { format!(" --append {}", quoted(append)) };
    // What tickmark's own agent starts processes with cannot be explained.
    let agent = if metric.starts_with("process.") { " --agent c" } else { "" };
    // The tick's figures are those of one loop.
    let metric = if metric.starts_with("tick.") { names::SPIN } else { metric };
    format!("which functions: tickmark lab explain {metric} --kernel {kernel}{agent}{append}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_a_kernel_lacks_is_no_pass() {
        let path = |verdict| PathCost {
            metric: "syscall.null".to_owned(),
            base: 200.0,
            new: 200.0,
            max: None,
            verdict,
        };
        let (whole, lacks) = ([Vec::new(), Vec::new()], [Vec::new(), vec!["syscall.read".to_owned()]]);
        assert_eq!(code(&[path("same")], &whole), Code::Done);
        assert_eq!(code(&[path("same")], &lacks), Code::Unjudged);
        assert_eq!(code(&[path("grew")], &lacks), Code::Differs);
    }
}
