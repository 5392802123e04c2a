//! Records that the kernel writes for one CPU (perf_event_open(2), "mmap layout").

use super::word;
use crate::sys::CallError;
use std::ffi::c_void;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// Where that has how far was written, and how far read (struct perf_event_mmap_page), in words.
const HEAD: usize = 128;
const TAIL: usize = 129;

/// Records that the kernel writes.
#[derive(Debug)]
pub(in crate::sys) struct Ring {
    at: *mut u64,
    /// Bytes of the kernel's page before the records, and of these.
    header: usize,
    size: usize,
}

impl Ring {
    /// Maps the records of an event: `size` bytes, a power of two.
    pub(in crate::sys) fn map(event: &OwnedFd, size: usize) -> Result<Self, CallError> {
        // SAFETY: asks for a number.
        let header = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let (length, both) = (header + size, libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: a new mapping, of a length that the kernel checks.
        let at =
            unsafe { libc::mmap(std::ptr::null_mut(), length, both, libc::MAP_SHARED, event.as_raw_fd(), 0) };
        if at == libc::MAP_FAILED {
            Err(CallError::last("mmap"))
        } else {
            Ok(Self { at: at.cast(), header, size })
        }
    }

    /// A word of the header.
    fn shared(&self, at: usize) -> &AtomicU64 {
        // SAFETY: inside the mapping, which lives as long as this, aligned; the kernel writes whole words.
        unsafe { AtomicU64::from_ptr(self.at.add(at)) }
    }

    /// Takes the records since the last time: the kind of each, and what follows its header.
    pub(in crate::sys) fn take(&mut self, each: &mut dyn FnMut(u32, &[u8])) {
        let head = self.shared(HEAD).load(Ordering::Acquire);
        let mut tail = self.shared(TAIL).load(Ordering::Relaxed);
        let mut record = Vec::new();
        while tail < head {
            let first = self.bytes(tail, 8, &mut record);
            let (kind, size) = (first as u32, (first >> 48) as usize);
            if size < 8 || tail + size as u64 > head {
                break;
            }
            self.bytes(tail, size, &mut record);
            each(kind, &record[8..]);
            tail += size as u64;
        }
        self.shared(TAIL).store(tail, Ordering::Release);
    }

    /// Copies a record, which may go on at the beginning; its first word.
    fn bytes(&self, from: u64, size: usize, to: &mut Vec<u8>) -> u64 {
        to.clear();
        for at in (from..from + size as u64).step_by(8) {
            // SAFETY: inside the records; those before the head are not written while they are not given back.
            let word = unsafe { self.at.add((self.header + at as usize % self.size) / 8).read_volatile() };
            to.extend(word.to_ne_bytes());
        }
        word(to, 0).unwrap_or(0)
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: what was mapped, and is not used any more.
        unsafe { libc::munmap(self.at.cast::<c_void>(), self.header + self.size) };
    }
}
