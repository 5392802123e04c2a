//! Everything that talks to the kernel or to the processor directly. All `unsafe` of this crate is
//! here, behind functions that are safe to call.

#[cfg(feature = "whole")]
pub mod busiest;
pub mod calendar;
pub mod cgroup;
pub mod chain;
pub mod clock;
pub mod computer;
pub mod connections;
pub mod counters;
pub mod ethtool;
pub mod exec;
#[cfg(feature = "whole")]
pub mod execution;
pub mod file;
pub mod forker;
pub mod guest;
pub mod host;
pub mod hosts;
pub mod idle;
pub mod limits;
pub mod maps;
pub mod mark;
pub mod memory;
pub mod message;
pub mod namespace;
pub mod net;
pub mod osnoise;
pub mod peer;
#[cfg(feature = "whole")]
mod perf;
pub mod ring;
pub mod running;
pub mod seccomp;
#[cfg(feature = "whole")]
pub mod segment;
pub mod sending;
pub mod signal;
pub mod stages;
pub mod tasks;
pub mod tcp_timer;
pub mod timer_module;
#[cfg(feature = "whole")]
mod tracefs;
#[cfg(feature = "whole")]
pub mod tracepoints;
#[cfg(feature = "whole")]
pub mod uprobe;
pub mod uring;
pub mod usage;
pub mod waiting;
pub mod wake;
#[cfg(target_feature = "crt-static")]
mod without;

use std::ffi::{c_int, c_long};

/// Of the small agent nobody asks which processes had the CPUs.
#[cfg(not(feature = "whole"))]
pub mod busiest {
    /// There is none.
    #[derive(Debug)]
    pub enum Watch {}

    impl Watch {
        /// None.
        #[must_use]
        pub fn begin() -> Option<Self> {
            None
        }

        /// Nothing.
        #[must_use]
        pub fn end(self) -> Option<String> {
            match self {}
        }
    }
}

/// A system call that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallError {
    /// Its name.
    pub call: &'static str,
    /// Its error number.
    pub errno: i32,
}

impl std::fmt::Display for CallError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.call, std::io::Error::from_raw_os_error(self.errno))
    }
}

impl std::error::Error for CallError {}

impl CallError {
    /// For what gives errors of the standard library.
    #[must_use]
    pub fn io(&self) -> std::io::Error {
        std::io::Error::from_raw_os_error(self.errno)
    }

    /// The error that the C library keeps for this thread.
    #[must_use]
    pub fn last(call: &'static str) -> Self {
        Self { call, errno: std::io::Error::last_os_error().raw_os_error().unwrap_or(0) }
    }

    /// An error of the standard library.
    #[must_use]
    pub fn from_io(call: &'static str, error: &std::io::Error) -> Self {
        Self { call, errno: error.raw_os_error().unwrap_or(libc::EIO) }
    }
}

/// The error of a call that rustix made: it makes those that nothing times.
fn named(call: &'static str) -> impl Fn(rustix::io::Errno) -> CallError {
    move |errno| CallError { call, errno: errno.raw_os_error() }
}

/// The result of a C call that says -1 for an error.
#[inline(always)]
fn check(call: &'static str, result: c_int) -> Result<c_int, CallError> {
    if result == -1 { Err(CallError::last(call)) } else { Ok(result) }
}

/// The same for calls that return a long.
#[inline(always)]
fn check_long(call: &'static str, result: c_long) -> Result<c_long, CallError> {
    if result == -1 { Err(CallError::last(call)) } else { Ok(result) }
}

/// Tests that make processes go one at a time: a process made meanwhile holds the program that another test
/// is writing, which then cannot be executed, and pages that one keeps from children are missing in
/// another's.
#[cfg(test)]
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
