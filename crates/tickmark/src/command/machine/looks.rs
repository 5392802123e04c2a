//! Wake-ups that are shown while they are measured.

use crate::error::Error;
use crate::progress::View;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tickmark_analysis::sample::Spread;
use tickmark_drive::{AgentLine, Target};
use tickmark_probe::sys::limits;
use tickmark_probe::wake_up_table::SharedWakeUpTable;
use tickmark_wire::{Event, Plan, Settled};

/// Between two looks.
const EVERY: Duration = Duration::from_millis(500);

/// Watches of each running measurement.
pub(in crate::command) struct Looks(Vec<ThresholdWatch>);

/// One measurement.
pub(in crate::command) struct ThresholdWatch {
    looked: SharedWakeUpTable,
    now: Mutex<Now>,
}

/// Where it stands.
#[derive(Default)]
struct Now {
    settled: Option<Settled>,
    /// The metric of the run under way.
    way: Option<String>,
}

impl Looks {
    /// For so many measurements.
    pub(in crate::command) fn new(count: usize) -> Result<Self, Error> {
        let one = |_| Ok(ThresholdWatch { looked: SharedWakeUpTable::new()?, now: Mutex::default() });
        let all = (0..count).map(one).collect::<Result<_, tickmark_probe::sys::CallError>>();
        all.map(Self).map_err(|error| Error::Refused(format!("--live: {error}")))
    }

    /// Those of the measurement of this number.
    pub(in crate::command) fn measurement(&self, number: usize) -> &ThresholdWatch {
        &self.0[number]
    }

    /// Shows them until `over`, which is told by unparking this thread.
    pub(in crate::command) fn show(&self, view: &View, over: &AtomicBool) {
        let mut away = Vec::new();
        while !over.load(Ordering::Relaxed) {
            std::thread::park_timeout(EVERY);
            self.leave(&mut away);
            let summary: Vec<_> = self.0.iter().filter_map(ThresholdWatch::current_run).collect();
            if !summary.is_empty() {
                view.show(&tickmark_render::running_wakes::text(&summary));
            }
        }
        view.finish();
    }

    /// Drawing is work too: not on the CPUs that are measured, where there are others.
    fn leave(&self, away: &mut Vec<u32>) {
        let settled: Vec<Settled> = self.0.iter().filter_map(|look| look.now().settled.clone()).collect();
        let measured: Vec<u32> = settled.iter().map(|settled| settled.cpu).collect();
        if measured != *away {
            let allowed = settled.iter().flat_map(|settled| settled.allowed.iter().copied());
            let others: Vec<u32> = allowed.filter(|cpu| !measured.contains(cpu)).collect();
            if !others.is_empty() {
                let _ = limits::pin(&others);
            }
            *away = measured;
        }
    }
}

impl ThresholdWatch {
    /// Where a run of it counts.
    pub(in crate::command) fn path(&self) -> PathBuf {
        self.looked.path()
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Of the run under way: its metric, its CPU, and what it has seen.
    fn current_run(&self) -> Option<tickmark_render::running_wakes::Run> {
        let now = self.now();
        let spread = Spread::from_histogram(&self.looked.table.look())?;
        Some(tickmark_render::running_wakes::Run {
            way: now.way.clone()?,
            cpu: now.settled.as_ref()?.cpu,
            spread,
        })
    }

    fn follow(&self, plan: &Plan, event: &Event) {
        let mut now = self.now();
        match event {
            Event::Hello(hello) => now.settled = Some(hello.settled.clone()),
            Event::Started(started) => {
                let run = plan.runs.iter().find(|run| run.id == started.run);
                let wakes = run.filter(|run| run.probe.as_str() == tickmark_wire::names::WAKE);
                now.way = wakes.map(|run| run.gives.first().unwrap_or(&run.probe).to_string());
            }
            Event::Finished(_) | Event::Skipped(..) | Event::Failed(..) | Event::TimedOut(..) => {
                now.way = None;
            }
            _ => {}
        }
    }
}

/// A machine whose runs are looked at.
pub(in crate::command) struct Watched<'a, T> {
    pub(in crate::command) machine: T,
    pub(in crate::command) look: Option<&'a ThresholdWatch>,
}

impl<T: Target> Target for Watched<'_, T> {
    fn run(
        &mut self,
        plan: &Plan,
        on: &mut dyn FnMut(AgentLine) -> Result<(), tickmark_drive::Error>,
    ) -> Result<(), tickmark_drive::Error> {
        self.machine.run(plan, &mut |heard| {
            if let Some((look, event)) = self.look.zip(heard.event()) {
                look.follow(plan, event);
            }
            on(heard)
        })
    }
}
