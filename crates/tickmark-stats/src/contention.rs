//! Whether other tasks had the CPU while a stretch was measured.

/// A stretch is contended when others had more than this share of it. On an idle machine the kernel's own
/// threads, which clean up after processes that ended, took up to 6 %, and up to 20 % of making and ending
/// threads is booked to nobody; one task that competes at the same priority takes a third or more.
pub const THRESHOLD: f64 = 0.25;

/// Times of a stretch, in ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    /// Length.
    pub wall: f64,
    /// CPU time of everything that belongs to the probe.
    pub own: f64,
    /// How long the measuring thread stood runnable without a CPU, where known.
    pub delay: Option<f64>,
    /// How the probe runs.
    pub manner: Manner,
    /// Runnable tasks in the machine besides the measuring thread at the end, where known.
    pub runnable: Option<u32>,
}

/// How a probe runs, which says what tells that others had its CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// On one CPU, without a pause.
    Busy,
    /// It sleeps by design, or waits for another CPU.
    Sleeps,
    /// On any of so many CPUs.
    Roams {
        /// How many.
        cpus: usize,
    },
}

impl Stretch {
    /// The share of the stretch that others had. A probe that never sleeps owns its CPU: what it did
    /// not use, others did. For one that sleeps, only waiting while runnable counts. One that may run anywhere may
    /// wait for a CPU that its own processes have: for it, other runnable tasks count that are as many as the CPUs or
    /// more, as the part that so many would take of them.
    #[must_use]
    pub fn taken(&self) -> f64 {
        if self.wall <= 0.0 {
            return 0.0;
        }
        let taken = match self.manner {
            Manner::Busy => self.wall - self.own,
            Manner::Sleeps => self.delay.unwrap_or(0.0),
            Manner::Roams { cpus } => {
                let (others, cpus) = (self.runnable.map_or(0.0, f64::from), cpus as f64);
                if others >= cpus { self.wall * others / (others + cpus) } else { 0.0 }
            }
        };
        (taken / self.wall).clamp(0.0, 1.0)
    }

    /// True if that is more than an idle machine takes.
    #[must_use]
    pub fn contended(&self) -> bool {
        self.taken() > THRESHOLD
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_competitor_shows_and_the_machines_own_threads_do_not() {
        let stretch = |own, delay, manner| Stretch { wall: 100.0, own, delay, manner, runnable: Some(8) };
        assert!(stretch(50.0, None, Manner::Busy).contended());
        assert!(!stretch(98.0, Some(40.0), Manner::Busy).contended(), "a peer that runs is no competitor");
        assert!(!stretch(3.0, Some(0.5), Manner::Sleeps).contended(), "sleeping is no contention");
        assert!(stretch(3.0, Some(30.0), Manner::Sleeps).contended());
        assert!(stretch(50.0, Some(30.0), Manner::Roams { cpus: 2 }).contended());
        let alone = Stretch { runnable: Some(1), ..stretch(50.0, Some(30.0), Manner::Roams { cpus: 2 }) };
        assert!(!alone.contended(), "it waits for its own peer");
        assert_eq!(Stretch { wall: 0.0, ..stretch(0.0, None, Manner::Busy) }.taken(), 0.0);
    }
}
