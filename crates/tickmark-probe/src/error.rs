//! Why a probe gives no figure.

use crate::sys::CallError;
use tickmark_wire::{Picos, Reason};

/// The system lacks what the probe needs: the run is skipped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// A system call was refused.
    #[error(transparent)]
    Call(#[from] CallError),
    /// Something else is missing.
    #[error("{0}")]
    Missing(String),
}

/// The probe ran and went wrong: the run has failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// A system call failed while it was timed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A result that no hardware gives: the work was not done.
    #[error(
        "{} ps an operation is below the physical limit of {} ps: the work was not done",
        measured.get(), floor.get()
    )]
    BelowFloor {
        /// The measured cost.
        measured: Picos,
        /// The physical limit of the specification.
        floor: Picos,
    },
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl Unavailable {
    /// True if something that there is has run out (room, descriptors, processes, memory, ports) or broke: a failure, as the system has the
    /// call.
    #[must_use]
    pub fn is_exhaustion(&self) -> bool {
        let spent = [
            libc::ENOSPC,
            libc::EDQUOT,
            libc::EMFILE,
            libc::ENFILE,
            libc::EAGAIN,
            libc::ENOMEM,
            libc::ENOBUFS,
            libc::EADDRNOTAVAIL,
            libc::EADDRINUSE,
            libc::EIO,
            libc::EEXIST,
        ];
        matches!(self, Self::Call(error) if spent.contains(&error.errno))
    }

    /// For the stream.
    #[must_use]
    pub fn reason(&self) -> Reason {
        reason(
            self.to_string(),
            match self {
                Self::Call(error) => Some(error),
                Self::Missing(_) => None,
            },
        )
    }
}

impl ProbeError {
    /// True if the kernel refuses a call that the probe needs: not a failure, but unsupported.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        let refused = [libc::ENOSYS, libc::EPERM, libc::EACCES, libc::EOPNOTSUPP];
        matches!(self, Self::Call(error) if refused.contains(&error.errno))
    }

    /// For the stream.
    #[must_use]
    pub fn reason(&self) -> Reason {
        reason(
            self.to_string(),
            match self {
                Self::Call(error) => Some(error),
                _ => None,
            },
        )
    }
}

fn reason(message: String, call: Option<&CallError>) -> Reason {
    Reason { message, call: call.map(|e| e.call.to_owned()), errno: call.map(|e| e.errno) }
}
