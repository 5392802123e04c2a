//! Live view of each CPU.

mod screen;

use crate::cli::{Format, Live as LiveOptions};
use crate::error::{Code, Error};
use crate::progress::control;
use screen::{Screen, Wish};
use std::io::IsTerminal;
use std::slice;
use std::time::{Duration, Instant};
use tickmark_analysis::live::{History, Point};
use tickmark_analysis::noise::Occupancy;
use tickmark_probe::live::{Live, Second};
use tickmark_probe::sys::usage::CpuClock;
use tickmark_render::json::{LiveLine, Versioned};

const SECOND: Duration = Duration::from_secs(1);

pub(in crate::command) fn run(options: &LiveOptions) -> Result<Code, Error> {
    let cpus: Vec<u32> = crate::command::cpus::resolve(&options.cpu)?.into_iter().flatten().collect();
    let refused =
        |error| Error::Usage(format!("--cpu: {error}; `tickmark live` watches CPUs that it may run on"));
    let mut live = Live::begin(&cpus).map_err(refused)?;
    if let Some(why) = &live.unnamed {
        crate::command::nobody_named(why);
    }
    let mut view = View {
        all: cpus.iter().map(|cpu| History::new(*cpu)).collect(),
        begun: Instant::now(),
        own: OwnCost::begin(),
    };
    let until = options.duration.map(|time| view.begun + time.to_duration());
    // A terminal that obeys nothing, or shows ASCII alone, gets rows.
    let is_plain =
        tickmark_render::is_ascii_locale() || std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    let shows = options.output.format == Format::Text && std::io::stdout().is_terminal() && !is_plain;
    let mut screen = shows.then(Screen::open).transpose().map_err(Error::Output)?;
    let control = control();
    let mut next = view.begun + SECOND;
    loop {
        // Keys are heard at once, and what is seen is taken each second.
        let wish = match &mut screen {
            Some(screen) => screen.wait(next, &view.all).map_err(Error::Output)?,
            None => {
                std::thread::sleep(next.saturating_duration_since(Instant::now()).min(SECOND / 5));
                Wish::Nothing
            }
        };
        let is_over = until.is_some_and(|until| Instant::now() >= until);
        if wish == Wish::End || control.stopped() {
            break;
        }
        // The second that ends it is shown as well.
        if Instant::now() < next {
            if is_over {
                break;
            }
            continue;
        }
        next += SECOND;
        let seconds = live.take();
        view.add(&seconds);
        match &mut screen {
            Some(screen) => screen.draw(&view.all, view.own.share()).map_err(Error::Output)?,
            None => view.print(options.output.format)?,
        }
        if is_over {
            break;
        }
    }
    drop(screen);
    drop(live);
    if options.output.format == Format::Text {
        crate::command::print(&format!(
            "{} ({:.0} s)\n",
            tickmark_render::live::cost(view.own.share()),
            view.begun.elapsed().as_secs_f64()
        ))?;
    }
    Ok(Code::Done)
}

/// The observations so far.
struct View {
    all: Vec<History>,
    begun: Instant,
    own: OwnCost,
}

impl View {
    fn add(&mut self, seconds: &[Second]) {
        for (history, second) in self.all.iter_mut().zip(seconds) {
            let counted = Point {
                clock: second.clock,
                timer_interrupts: second.timer_interrupts,
                busy: second.busy,
                interrupts: second.interrupts,
                steal: second.steal,
                ..Point::default()
            };
            let recorded =
                second.events.as_ref().and_then(|events| Occupancy::from_runs(&[slice::from_ref(events)]));
            history.occupants =
                recorded.as_ref().map(tickmark_render::witness::occupants).or(history.occupants.take());
            history.add(Point::from_counts(
                &second.late,
                &second.gaps,
                [second.waited, second.wanted],
                counted,
            ));
        }
    }

    /// Where there is no terminal: a line of JSON, or a row for each CPU.
    fn print(&self, format: Format) -> Result<(), Error> {
        let at = jiff::Timestamp::now();
        if format == Format::Json {
            let line = LiveLine::new(at, &self.all, self.own.share());
            let line = serde_json::to_string(&Versioned::new(&line)).map_err(|e| Error::Output(e.into()))?;
            return crate::command::write(&(line + "\n"));
        }
        let at = at.strftime("%Y-%m-%d %H:%M:%S UTC");
        let heads = tickmark_render::live::HEADS;
        for history in &self.all {
            let cells = tickmark_render::live::cells(history);
            let pairs: Vec<String> =
                heads.iter().zip(cells).map(|(head, cell)| format!("{head} {cell}")).collect();
            let had = tickmark_render::live::occupants(history);
            let had = had.map_or_else(String::new, |had| format!(", had by {had}"));
            crate::command::print(&format!("{at}: {}{had}\n", pairs.join(", ")))?;
        }
        Ok(())
    }
}

/// CPU time of this process, all of its threads together.
struct OwnCost {
    clock: Option<CpuClock>,
    before: f64,
    at: Instant,
}

impl OwnCost {
    fn begin() -> Self {
        let clock = CpuClock::for_process(std::process::id());
        let before = clock.as_ref().map_or(0.0, |clock| clock.read().as_f64());
        Self { clock, before, at: Instant::now() }
    }

    /// Of one CPU, since it began.
    fn share(&self) -> f64 {
        let used = self.clock.as_ref().map_or(f64::NAN, |clock| clock.read().as_f64());
        (used - self.before) / 1e9 / self.at.elapsed().as_secs_f64().max(1e-9)
    }
}
