//! Progress with the time left, on the error stream: a bar on a terminal, elsewhere a line a minute.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tickmark_drive::{Control, ProgressEvent, experiment};
use tickmark_wire::{Event, Plan, RunId, RunPlan, names};

/// A handle of work that Ctrl-C and its kin end, and whose progress and warnings are shown.
pub(crate) fn control() -> Control {
    let shown = Mutex::new(None);
    let control = Control::hearing(move |event| {
        let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
        show(&mut shown, &event);
    });
    ended_by_signals(control)
}

/// The same without a display: what is run writes to the terminal itself.
pub(crate) fn silent_control() -> Control {
    ended_by_signals(Control::default())
}

fn ended_by_signals(control: Control) -> Control {
    handled().push(control.clone());
    // Without the handler a signal ends this process, agents see their input end, and recordings are as valid.
    let _ = ctrlc::set_handler(|| handled().iter().for_each(Control::stop));
    control
}

/// True once a signal ended what was under way.
pub(crate) fn is_interrupted() -> bool {
    handled().iter().any(Control::stopped)
}

/// Controls that a signal ends: the process has one handler, and may do one work after another.
fn handled() -> MutexGuard<'static, Vec<Control>> {
    static ALL: Mutex<Vec<Control>> = Mutex::new(Vec::new());
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The display of running work.
enum WorkDisplay {
    Blocks(Blocks),
    Steps(Steps),
}

fn show(shown: &mut Option<WorkDisplay>, event: &ProgressEvent<'_>) {
    let warn = |text: String| crate::notice!("tickmark: {text}");
    match event {
        ProgressEvent::Block { what, block, of, setting } => {
            let blocks = shown.get_or_insert_with(|| WorkDisplay::Blocks(Blocks::new(what, *of)));
            if let WorkDisplay::Blocks(blocks) = blocks {
                blocks.at(*block, setting);
            }
        }
        ProgressEvent::Kernel(progress) => {
            let text = match progress {
                tickmark_lab::Progress::Missing(missing) => {
                    let kernels = tickmark_render::count(*missing as u32, "kernel");
                    crate::notice!(
                        "{kernels} to build, some 3 to 5 minutes each on two CPUs; they are kept for the next time"
                    );
                    return;
                }
                tickmark_lab::Progress::Waiting => {
                    crate::notice!("another lab is building kernels; waiting for it");
                    return;
                }
                tickmark_lab::Progress::Unpacking => "unpacking the kernel's source".to_owned(),
                tickmark_lab::Progress::Compiling(kernel, files) => {
                    format!("{kernel}: {files} files compiled")
                }
                tickmark_lab::Progress::Module(module) => format!("module {}", module.name()),
            };
            if let WorkDisplay::Steps(steps) = shown.get_or_insert_with(|| WorkDisplay::Steps(Steps::new())) {
                steps.at(&text);
            }
        }
        ProgressEvent::Building(program) => {
            crate::notice!(
                "tickmark: building {} from the source in this program, once: about a minute",
                program.name()
            );
        }
        ProgressEvent::Over => match shown.take() {
            Some(WorkDisplay::Blocks(blocks)) => blocks.finish(),
            Some(WorkDisplay::Steps(steps)) => steps.finish(),
            None => {}
        },
        ProgressEvent::NoKvm(why) => warn(format!("KVM cannot be used ({why}); using TCG")),
        ProgressEvent::AgentKilled(signal) => {
            warn(format!("the agent was killed by signal {signal}: the remaining runs are missing"));
        }
        ProgressEvent::NotRestored(error) => warn(experiment::not_restored(error)),
    }
}

/// Follows the events of a plan.
pub(crate) struct Progress {
    bar: ProgressBar,
    plan: Plan,
    rounds: u32,
    started: Instant,
    done: Duration,
    total: Duration,
    lines: Lines,
    silent: bool,
    announced: bool,
}

/// How often work without a terminal says where it stands.
const MINUTE: Duration = Duration::from_secs(60);

/// Work that takes longer says how long before it begins, where no bar does.
const LONG: Duration = Duration::from_secs(6);

/// Lines where there is no terminal for a bar.
struct Lines(Instant);

impl Lines {
    fn new() -> Self {
        Self(Instant::now())
    }

    /// A line, where the last one was a minute ago.
    fn say(&mut self, bar: &ProgressBar, line: impl FnOnce() -> String) {
        if bar.is_hidden() && self.0.elapsed() >= MINUTE {
            crate::notice!("{}", line());
            self.0 = Instant::now();
        }
    }
}

/// Time that starting a process adds to a run's budget.
const OVERHEAD: Duration = Duration::from_millis(12);

/// Lines that change below a bar; without a terminal they are printed once a minute.
pub(crate) struct View {
    all: MultiProgress,
    lines: ProgressBar,
    printed: Mutex<Lines>,
}

impl View {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        let lines = ProgressBar::hidden();
        let style = ProgressStyle::with_template("{msg}");
        lines.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        Self { all, lines, printed: Mutex::new(Lines::new()) }
    }

    /// These lines in the place of those before.
    pub(crate) fn show(&self, text: &str) {
        self.lines.set_message(text.trim_end().to_owned());
        self.lines.tick();
        self.printed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .say(&self.lines, || text.trim_end().to_owned());
    }

    /// Takes them away.
    pub(crate) fn finish(&self) {
        self.lines.finish_and_clear();
    }
}

impl Progress {
    /// A bar over the whole plan, above what a view shows.
    pub(crate) fn beside(plan: &Plan, view: Option<&View>) -> Self {
        let mut own = Self::new(plan);
        if let Some(view) = view {
            own.bar = view.all.add(own.bar);
            view.all.add(view.lines.clone());
        }
        own
    }

    /// A bar over the whole plan.
    pub(crate) fn new(plan: &Plan) -> Self {
        let total = plan_time(plan);
        let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{prefix} [{bar:12}] {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        let rounds = plan.runs.iter().map(|run| run.round).max().unwrap_or(0);
        Self {
            bar,
            plan: plan.clone(),
            rounds,
            started: Instant::now(),
            done: Duration::ZERO,
            total,
            lines: Lines::new(),
            silent: false,
            announced: false,
        }
    }

    /// Nothing is shown: of plans that run beside each other the first stands for all.
    pub(crate) fn hidden(plan: &Plan) -> Self {
        Self { bar: ProgressBar::hidden(), silent: true, ..Self::new(plan) }
    }

    /// Shows where the plan stands.
    pub(crate) fn follow(&mut self, event: &Event) {
        if self.silent {
            return;
        }
        match event {
            Event::Started(started) => {
                if self.bar.is_hidden() && self.done.is_zero() && self.total >= LONG && !self.announced {
                    let time = tickmark_render::rough_time(self.total.as_secs_f64());
                    crate::notice!("this takes about {time}, longer beside other tasks");
                    self.announced = true;
                }
                let share = self.done.as_secs_f64() / self.total.as_secs_f64().max(1e-9);
                self.bar.set_position((share * 1000.0) as u64);
                self.bar.set_prefix(format!("round {} of {}", started.round, self.rounds));
                let left = seconds_left(self.started.elapsed(), self.done, self.total);
                self.bar.set_message(format!("{left} s left  {}", started.probe));
                let (round, rounds) = (started.round, self.rounds);
                self.lines.say(&self.bar, || format!("round {round} of {rounds}, {left} s left"));
            }
            Event::Finished(outcome) => self.count(outcome.run),
            Event::Skipped(run, _) | Event::Failed(run, _) | Event::TimedOut(run, _) => self.count(*run),
            _ => {}
        }
    }

    fn count(&mut self, id: RunId) {
        if let Some(run) = self.plan.runs.iter().find(|run| run.id == id) {
            self.done += run_time(run);
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Follows work whose length is not known.
pub(crate) struct Steps(ProgressBar, Lines);

impl Steps {
    /// Shows nothing yet.
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{spinner} {elapsed_precise} {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        Self(bar, Lines::new())
    }

    /// Shows the current work.
    pub(crate) fn at(&mut self, what: &str) {
        self.0.set_message(what.to_owned());
        self.0.tick();
        self.1.say(&self.0, || what.to_owned());
    }

    /// A warning beside it.
    pub(crate) fn warn(&self, what: &str) {
        self.0.suspend(|| crate::notice!("tickmark: warning: {what}"));
    }

    /// Takes it away.
    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

/// Follows the blocks of an experiment.
struct Blocks {
    bar: ProgressBar,
    what: &'static str,
    blocks: u32,
    started: Instant,
    lines: Lines,
}

impl Blocks {
    /// A bar over so many blocks.
    fn new(what: &'static str, blocks: u32) -> Self {
        let bar = ProgressBar::with_draw_target(Some(u64::from(blocks)), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{prefix} [{bar:12}] {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        Self { bar, what, blocks, started: Instant::now(), lines: Lines::new() }
    }

    /// A setting of a block begins.
    fn at(&mut self, block: u32, setting: &str) {
        let done = Duration::from_secs(u64::from(block - 1));
        let left = seconds_left(self.started.elapsed(), done, Duration::from_secs(u64::from(self.blocks)));
        let left = if block > 2 { format!("{left} s left") } else { String::new() };
        self.bar.set_position(u64::from(block - 1));
        self.bar.set_prefix(format!("{} {block} of {}", self.what, self.blocks));
        self.bar.set_message(format!("{left}  {setting}"));
        let (what, blocks) = (self.what, self.blocks);
        self.lines.say(&self.bar, || format!("{what} {block} of {blocks}  {left}"));
    }

    /// Takes the bar away.
    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// How long a plan takes.
pub(crate) fn plan_time(plan: &Plan) -> Duration {
    plan.runs.iter().map(run_time).sum()
}

/// How long the kernel takes for the 45 tracepoints of a run on x86-64: some 40 ms for each that is closed, measured on Linux 6.18 with
/// HZ 250, as it waits until nobody is in it.
pub(crate) const TRACED: Duration = Duration::from_secs(2);

/// True if a probe records the kernel's events.
pub(crate) fn is_traced(probe: &str) -> bool {
    [names::WITNESS, names::RECORDED_WAKE].contains(&probe)
}

/// How long a run takes: a probe that records for a given time takes that, whatever its budget is.
fn run_time(run: &RunPlan) -> Duration {
    let argument = |name: &str| run.arguments.get(name).and_then(|text| text.parse::<u64>().ok());
    let requested = match run.probe.as_str() {
        names::WITNESS | names::RECORDED_WAKE => argument("ms").map(Duration::from_millis),
        names::OSNOISE | names::TIMERLAT => argument("seconds").map(Duration::from_secs),
        _ => None,
    };
    let traced = if is_traced(run.probe.as_str()) { TRACED } else { Duration::ZERO };
    run.budget.to_duration().max(requested.unwrap_or_default()) + traced + OVERHEAD
}

/// Remaining seconds of the plan, at the pace so far once there is one.
fn seconds_left(elapsed: Duration, done: Duration, total: Duration) -> u64 {
    let left = total.saturating_sub(done).as_secs_f64();
    let pace = if done.as_secs_f64() > 1.0 { elapsed.as_secs_f64() / done.as_secs_f64() } else { 1.0 };
    (left * pace).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_goes_by_the_pace_so_far() {
        let s = Duration::from_secs;
        assert_eq!(seconds_left(s(0), s(0), s(50)), 50);
        assert_eq!(seconds_left(s(20), s(10), s(50)), 80);
        assert_eq!(seconds_left(s(60), s(60), s(50)), 0);
    }

    #[test]
    fn without_a_terminal_a_line_a_minute() {
        let said = std::cell::Cell::new(0);
        let line = || {
            said.set(said.get() + 1);
            String::new()
        };
        let mut lines = Lines::new();
        lines.say(&ProgressBar::hidden(), line);
        assert_eq!(said.get(), 0, "not before a minute is over");
        lines.0 = lines.0.checked_sub(MINUTE).unwrap();
        lines.say(&ProgressBar::hidden(), line);
        lines.say(&ProgressBar::hidden(), line);
        assert_eq!(said.get(), 1);
    }
}
