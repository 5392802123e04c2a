//! io_uring: the least that it can be asked to do.

use super::CallError;
use io_uring::{IoUring, opcode};

/// A ring of eight entries.
pub struct Ring(IoUring);

impl Ring {
    /// Makes it.
    ///
    /// # Errors
    /// Those of io_uring_setup(2): ENOSYS, EPERM where it is forbidden.
    pub fn new() -> Result<Self, CallError> {
        IoUring::new(8).map(Self).map_err(|e| CallError::from_io("io_uring_setup or mmap", &e))
    }

    /// Submits an operation that does nothing, and takes its completion.
    ///
    /// # Errors
    /// Those of io_uring_enter(2); EIO where nothing completed.
    #[inline]
    pub fn nop(&mut self) -> Result<(), CallError> {
        let entry = opcode::Nop::new().build();
        // SAFETY: the operation refers to no memory.
        let pushed = unsafe { self.0.submission().push(&entry) };
        let lost = CallError { call: "io_uring_enter", errno: libc::EIO };
        pushed.map_err(|_| lost)?;
        self.0.submit_and_wait(1).map_err(|e| CallError::from_io("io_uring_enter", &e))?;
        match self.0.completion().next() {
            Some(entry) if entry.result() == 0 => Ok(()),
            _ => Err(lost),
        }
    }
}
