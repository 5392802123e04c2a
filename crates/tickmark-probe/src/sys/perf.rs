//! Events of the kernel and of the processor, as perf_event_open(2) has them.

mod ring;

pub(super) use ring::Ring;

use super::{CallError, check, check_long};
use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

// Of perf_event_attr (linux/perf_event.h), 112 bytes (PERF_ATTR_SIZE_VER5), as words.
const SIZE: u64 = 112;
const WORDS: usize = SIZE as usize / 8;
/// The kinds of events.
pub(super) const SOFTWARE: u64 = 1;
pub(super) const TRACEPOINT: u64 = 2;
/// PERF_COUNT_SW_DUMMY.
pub(super) const DUMMY: u64 = 9;
/// Flags.
pub(super) const DISABLED: u64 = 1;
pub(super) const INHERIT: u64 = 1 << 1;
pub(super) const ENABLE_ON_EXEC: u64 = 1 << 12;
const USE_CLOCK: u64 = 1 << 25;
/// Fields of a sample, which stand in it in this order.
pub(super) const SAMPLE_TID: u64 = 1 << 1;
pub(super) const SAMPLE_TIME: u64 = 1 << 2;
pub(super) const SAMPLE_ID: u64 = 1 << 6;
pub(super) const SAMPLE_RAW: u64 = 1 << 10;
pub(super) const SAMPLE_REGS_USER: u64 = 1 << 12;
pub(super) const SAMPLE_STACK_USER: u64 = 1 << 13;
const CLOEXEC: u64 = 1 << 3;
/// Requests of ioctl(2): _IO('$', 0), _IO('$', 1), _IO('$', 5), _IOW('$', 6, char *), _IOR('$', 7, __u64 *).
pub(super) const ENABLE: u64 = 0x2400;
pub(super) const DISABLE: u64 = 0x2401;
const SET_OUTPUT: u64 = 0x2405;
const SET_FILTER: u64 = 0x4008_2406;
const ID: u64 = 0x8008_2407;
/// The kinds of records.
pub(super) const RECORD_LOST: u32 = 2;
pub(super) const RECORD_SAMPLE: u32 = 9;

/// An event to open.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EventRequest {
    pub(super) kind: u64,
    pub(super) event: u64,
    pub(super) flags: u64,
    /// What read(2) gives.
    pub(super) format: u64,
    /// Fields of the sample of each occurrence; 0 for none, which only counts.
    pub(super) sample: u64,
    /// Registers in it, and bytes of the stack.
    pub(super) registers: u64,
    pub(super) stack: u64,
    /// The clock of its time; none is the kernel's own.
    pub(super) clock: Option<libc::clockid_t>,
}

impl EventRequest {
    /// Opens it for a task (0: this one; -1: all) on a CPU (-1: any).
    pub(super) fn open(&self, task: i32, cpu: i32) -> Result<OwnedFd, CallError> {
        let mut words = [0u64; WORDS];
        words[0] = self.kind | SIZE << 32;
        words[1] = self.event;
        words[2] = u64::from(self.sample != 0);
        words[3] = self.sample;
        words[4] = self.format;
        words[5] = self.flags;
        words[10] = self.registers;
        words[11] = self.stack;
        if let Some(clock) = self.clock {
            words[5] |= USE_CLOCK;
            words[11] |= (clock as u64) << 32;
        }
        // SAFETY: the attributes are valid to read and say their size.
        let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, words.as_ptr(), task, cpu, -1, CLOEXEC) };
        let fd = check_long("perf_event_open", fd)?;
        // SAFETY: the descriptor that was just given.
        Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
    }
}

/// The value of an event, with those of what its task started.
pub(super) fn value(event: &OwnedFd) -> Result<u64, CallError> {
    let mut value = [0u8; 8];
    rustix::io::read(event, &mut value).map_err(super::named("read"))?;
    Ok(u64::from_ne_bytes(value))
}

/// Enables or disables an event.
pub(super) fn switch(event: &OwnedFd, request: u64) -> Result<(), CallError> {
    // SAFETY: takes no pointer.
    check("ioctl", unsafe { libc::ioctl(event.as_raw_fd(), request as _, 0) }).map(drop)
}

/// The number by which samples name an event.
pub(super) fn id(event: &OwnedFd) -> Result<u64, CallError> {
    let mut id = 0u64;
    // SAFETY: `id` is valid to write.
    check("ioctl", unsafe { libc::ioctl(event.as_raw_fd(), ID as _, &raw mut id) })?;
    Ok(id)
}

/// Lets an event write into the ring of another one of the same CPU.
pub(super) fn write_into(event: &OwnedFd, other: i32) -> Result<(), CallError> {
    // SAFETY: both are descriptors of events that are open.
    check("ioctl", unsafe { libc::ioctl(event.as_raw_fd(), SET_OUTPUT as _, other) }).map(drop)
}

/// Keeps of a tracepoint what fulfils a condition (Documentation/trace/events.rst, "Event filtering").
pub(super) fn filter(event: &OwnedFd, condition: &str) -> Result<(), CallError> {
    let text = CString::new(condition).map_err(|_| CallError { call: "ioctl", errno: libc::EINVAL })?;
    // SAFETY: a text that ends with 0.
    check("ioctl", unsafe { libc::ioctl(event.as_raw_fd(), SET_FILTER as _, text.as_ptr()) }).map(drop)
}

/// A word of a record.
pub(super) fn word(body: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(body.get(at * 8..at * 8 + 8)?.try_into().ok()?))
}
