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
    /// Whether the probe sleeps by design.
    pub sleeps: bool,
}

impl Stretch {
    /// The share of the stretch that others had. A probe that never sleeps owns its CPU: what it did
    /// not use, others did. For one that sleeps, only waiting while runnable counts.
    #[must_use]
    pub fn taken(&self) -> f64 {
        if self.wall <= 0.0 {
            return 0.0;
        }
        let taken = if self.sleeps { self.delay.unwrap_or(0.0) } else { self.wall - self.own };
        (taken / self.wall).clamp(0.0, 1.0)
    }

    /// Whether that is more than an idle machine takes.
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
        let stretch = |own, delay, sleeps| Stretch { wall: 100.0, own, delay, sleeps };
        assert!(stretch(50.0, None, false).contended());
        assert!(!stretch(98.0, Some(40.0), false).contended(), "a peer that runs is no competitor");
        assert!(!stretch(3.0, Some(0.5), true).contended(), "sleeping is no contention");
        assert!(stretch(3.0, Some(30.0), true).contended());
        assert_eq!(Stretch { wall: 0.0, own: 0.0, delay: None, sleeps: false }.taken(), 0.0);
    }
}
