//! Matrices of boots: settings on machines, each a guest or a machine over ssh.

mod bench;
mod carried;
mod config_cost;
mod exact_bisection;
mod matrix;

pub use bench::{Bench, GuestRequest, build, build_one, kernel_of};
pub use config_cost::{SymbolChange, cost, costs, differing, next_place, with};
pub use exact_bisection::{Measured, Next, next_step};
pub use matrix::{MOST_CPUS, Machine, MatrixRequest, Report, SPEEDS, Setting, shift};

pub(crate) use matrix::once;

use crate::target::{Guest, Remote};
use crate::{Control, Target};
use std::path::Path;
use tickmark_wire::Phase;

/// Where a setting is booted.
#[derive(Debug, Clone)]
pub enum BootTarget {
    /// Here, in QEMU.
    Guest(Box<Guest>),
    /// On a real machine.
    Remote(Remote),
}

impl BootTarget {
    /// The target of the boot with this number, counted from 1.
    pub(crate) fn target(&self, boot: u32, transcripts: &Path, control: &Control) -> Box<dyn Target> {
        match self {
            Self::Guest(guest) => {
                Box::new(guest.boot(&transcripts.join(boot.to_string()), control, boot == 1))
            }
            Self::Remote(remote) => Box::new(Remote { control: control.clone(), ..remote.clone() }),
        }
    }

    /// Where in the tick the streams of that boot begin.
    pub(crate) fn phase(&self, boot: u32, boots: u32) -> Option<Phase> {
        match self {
            Self::Guest(guest) => guest.phase(boot - 1, boots),
            Self::Remote(_) => None,
        }
    }

    /// True if every boot is to be the same to the last byte.
    pub(crate) fn is_exact(&self) -> bool {
        matches!(self, Self::Guest(_))
    }
}
