//! Guests that are measured like machines, and matrices of them.

mod bench;
mod file;
mod guest;
mod remote;

pub(crate) use bench::{Bench, Wanted, build, kernel_of};
pub(crate) use file::{Asked, Machine, Report, SPEEDS, Setting, read, shift};
pub(crate) use guest::{AgentKind, Guest};
pub(crate) use remote::Remote;

use crate::error::Error;
use crate::target::{Stop, Target};
use std::path::Path;
use tickmark_wire::Phase;

/// Where a setting is booted.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// Here, in QEMU.
    Guest(Box<Guest>),
    /// On a real machine.
    Remote(Remote),
}

impl Place {
    /// The target of the boot with this number, counted from 1.
    pub(crate) fn target(&self, boot: u32, transcripts: &Path, stop: &Stop) -> Box<dyn Target> {
        match self {
            Self::Guest(guest) => Box::new(guest.boot(&transcripts.join(boot.to_string()), stop, boot == 1)),
            Self::Remote(remote) => Box::new(Remote { stop: stop.clone(), ..remote.clone() }),
        }
    }

    /// Where in the tick the streams of that boot begin.
    pub(crate) fn phase(&self, boot: u32, boots: u32) -> Option<Phase> {
        match self {
            Self::Guest(guest) => guest.phase(boot - 1, boots),
            Self::Remote(_) => None,
        }
    }

    /// Whether every boot is to be the same to the last byte.
    pub(crate) fn is_exact(&self) -> bool {
        matches!(self, Self::Guest(_))
    }
}

impl From<tickmark_lab::Error> for Error {
    fn from(error: tickmark_lab::Error) -> Self {
        match error {
            tickmark_lab::Error::Usage(why) => Self::Usage(why),
            other => Self::Refused(other.to_string()),
        }
    }
}
