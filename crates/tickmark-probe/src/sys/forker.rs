//! A minimal process that makes children and stamps each, without the weight of the program that measures.
//!
//! The cost of fork grows with what there is to copy and with what there is to leave out: each mapping that
//! is kept from children (`MADV_DONTFORK`) costs the kernel a step as well. So the program first forks a
//! process that inherits next to nothing: a page of machine code, a page of arguments, the slots for its
//! stamps (shared), the stack of the calling thread with its thread-local block, and a fixed ballast. That
//! process then makes children itself, in machine code, so that it is the same whichever program
//! measures and however many samples are kept.

mod code;

use super::memory::{PAGE, small_pages};
use super::{CallError, check};
use crate::{Counts, Unavailable};
use std::ffi::CStr;
use std::ptr::NonNull;

/// Mappings of the ballast, and pages touched in each: about what a small program linked with a C
/// library has (21 mappings, some 30 private pages).
pub const BALLAST: Ballast = Ballast { mappings: 16, pages: 2 };

/// Private memory of the minimal process, every page touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ballast {
    /// How many mappings.
    pub mappings: usize,
    /// Pages of each.
    pub pages: usize,
}
/// Children in one go at most.
pub const SLOTS: usize = 4096;
/// Bytes of a slot: start, end, status of the child, error, getrusage of the process.
const SLOT: usize = 256;

/// The action of the child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Child {
    /// Ends at once.
    Exit,
    /// Executes a program.
    Exec,
}

/// Which call makes the child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// fork(2)
    Fork,
    /// vfork(2)
    Vfork,
}

/// One child: counter before the call and after the wait, exit status, and what the process has seen by then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildRecord {
    /// Counter before the call.
    pub start: u64,
    /// Counter after the wait.
    pub end: u64,
    /// Exit status, or 128 and the signal that ended it.
    pub status: i32,
    /// Switches and faults of the minimal process so far.
    pub counts: Counts,
}

/// The pages of the minimal process.
pub struct Forker {
    code: NonNull<u8>,
    data: NonNull<u8>,
    slots: NonNull<u8>,
    call: Call,
    /// How many pointers stand before the empty environment, where the children execute a program.
    executed: Option<usize>,
    ballast: Ballast,
    isolated: bool,
}

// SAFETY: the pages belong to this value alone; the process that writes the slots has ended before they
// are read.
unsafe impl Send for Forker {}

fn map(bytes: usize, sharing: i32) -> Result<NonNull<u8>, CallError> {
    let (rights, kind) = (libc::PROT_READ | libc::PROT_WRITE, sharing | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping where the kernel likes.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), bytes, rights, kind, -1, 0) };
    let at = NonNull::new(at.cast::<u8>()).filter(|p| p.as_ptr().addr() != usize::MAX);
    at.ok_or_else(|| CallError::last("mmap"))
}

impl Forker {
    /// Makes the pages. `program` is what an executing child becomes: its path and its arguments.
    ///
    /// # Errors
    /// Those of mmap(2) and mprotect(2); a processor for which its code is not written, or without a counter.
    pub fn new(call: Call, child: Child, program: &[&CStr], ballast: Ballast) -> Result<Self, Unavailable> {
        small_pages()?;
        let bytes = code::bytes();
        if bytes.is_empty() || !tickmark_timer::has_counter() {
            let why = "making processes is written for x86-64 with a time stamp counter, and for arm64";
            return Err(Unavailable::Missing(why.to_owned()));
        }
        let (code, data) = (map(PAGE, libc::MAP_PRIVATE)?, map(PAGE, libc::MAP_PRIVATE)?);
        let slots = map(SLOTS * SLOT, libc::MAP_SHARED)?;
        // SAFETY: the code is shorter than the page that was just mapped.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), code.as_ptr(), bytes.len()) };
        let rights = libc::PROT_READ | libc::PROT_EXEC;
        // SAFETY: the page that was just mapped, to which no reference exists.
        check("mprotect", unsafe { libc::mprotect(code.as_ptr().cast(), PAGE, rights) })?;
        let executed = (child == Child::Exec).then_some(program.len() + 1);
        let forker = Self { code, data, slots, call, executed, ballast, isolated: false };
        forker.write_arguments(program)?;
        Ok(forker)
    }

    /// The data page: argv and an empty environment as arrays of pointers, then the strings.
    fn write_arguments(&self, program: &[&CStr]) -> Result<(), Unavailable> {
        let head = (program.len() + 2) * 8;
        let length = head + program.iter().map(|text| text.to_bytes_with_nul().len()).sum::<usize>();
        if length > PAGE {
            return Err(Unavailable::Missing("the path of the program to execute is too long".to_owned()));
        }
        let mut at = head;
        for (i, text) in program.iter().enumerate() {
            let bytes = text.to_bytes_with_nul();
            // SAFETY: head and strings fit into the page, as checked; the rest of it is zero, which
            // ends both arrays.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.data.as_ptr().add(at), bytes.len());
                self.data.as_ptr().cast::<*const u8>().add(i).write(self.data.as_ptr().add(at));
            }
            at += bytes.len();
        }
        Ok(())
    }

    /// Starts the minimal process, which makes children for `length` ticks of the counter, one at least, and waits
    /// for it. Called from a thread of its own: its stack goes along.
    ///
    /// # Errors
    /// Those of fork(2), vfork(2) and wait4(2), here or in the minimal process.
    pub fn run(&mut self, length: u64) -> Result<Vec<ChildRecord>, CallError> {
        if !self.isolated {
            self.isolate()?;
            self.isolated = true;
        }
        // SAFETY: the slots that `new` mapped; no process writes them now.
        unsafe { std::ptr::write_bytes(self.slots.as_ptr(), 0, SLOTS * SLOT) };
        let argv = self.data.as_ptr().cast::<*const u8>();
        let environment = self.executed.map_or(std::ptr::null_mut(), |pointers| argv.wrapping_add(pointers));
        let deadline = tickmark_timer::counter().saturating_add(length);
        // SAFETY: the page holds a function of this type. It returns in this process alone; the minimal
        // process writes to the slots, of which there are as many as it is told, and ends.
        let pid = unsafe {
            let entry: code::Entry = std::mem::transmute(self.code.as_ptr());
            entry(self.slots.as_ptr(), SLOTS, argv, environment, deadline, code::how(self.call))
        };
        if pid < 0 {
            return Err(CallError { call: "fork", errno: -pid as i32 });
        }
        let status = wait(pid as libc::pid_t)?;
        let made: Vec<ChildRecord> = (0..SLOTS).map_while(|i| self.slot(i)).collect();
        match status {
            0 => Ok(made),
            1 => Err(CallError { call: self.name(), errno: self.error(made.len()) }),
            // Killed: by a filter, for want of memory, or because it could not end.
            _ => Err(CallError { call: "exit_group", errno: libc::EINTR }),
        }
    }

    fn name(&self) -> &'static str {
        if self.call == Call::Fork { "fork" } else { "vfork" }
    }

    /// A slot that was filled to its end.
    fn slot(&self, index: usize) -> Option<ChildRecord> {
        // SAFETY: the index lies in the slots; start, end and status stand at the front, then rusage.
        let (start, end, status, usage) = unsafe {
            let at = self.slots.as_ptr().add(index * SLOT);
            let (word, status) = (at.cast::<u64>(), at.add(16).cast::<i32>());
            (word.read(), word.add(1).read(), status.read(), at.add(24).cast::<libc::rusage>().read())
        };
        let switches = usage.ru_nvcsw + usage.ru_nivcsw;
        let faults = usage.ru_minflt + usage.ru_majflt;
        let counts = Counts { switches, faults, reclaimed: usage.ru_majflt, retransmits: 0 };
        (end != 0).then(|| ChildRecord { start, end, status: exit_status(status), counts })
    }

    fn error(&self, index: usize) -> i32 {
        // SAFETY: the index lies in the slots, or the last slot stands in for it.
        unsafe { -self.slots.as_ptr().add(index.min(SLOTS - 1) * SLOT + 20).cast::<i32>().read() }
    }

    /// Takes every mapping but the own pages and the calling thread's stack out of what a child inherits,
    /// and adds the ballast.
    fn isolate(&self) -> Result<(), CallError> {
        // What another thread unmaps meanwhile (its stack, as it ends) is not there any more: the list is read again.
        let gone =
            |result: &Result<(), CallError>| matches!(result, Err(error) if error.errno == libc::ENOMEM);
        let mut kept_out = self.keep_out();
        for _ in 0..TRIES {
            if gone(&kept_out) {
                kept_out = self.keep_out();
            }
        }
        kept_out?;
        self.add_ballast()
    }

    /// Takes the mappings that the kernel lists now out of what a child inherits.
    fn keep_out(&self) -> Result<(), CallError> {
        let maps =
            std::fs::read_to_string("/proc/self/maps").map_err(|e| CallError::from_io("openat", &e))?;
        let here = (&raw const maps).addr();
        let slots = self.slots.as_ptr().addr();
        let own = [self.code.as_ptr().addr(), self.data.as_ptr().addr()];
        let keeps = |page: usize| own.contains(&page) || (slots..slots + SLOTS * SLOT).contains(&page);
        // The kernel's own mappings ([vdso], [vvar]) stay: every process has them.
        let mappings = maps.lines().filter(|line| !line.contains("[v")).filter_map(super::maps::range);
        for (from, to) in mappings {
            if (from..to).contains(&here) {
                // Stacks are used again: this one may have been taken out for an earlier thread.
                inherit(from, to, libc::MADV_DOFORK)?;
                continue;
            }
            // An own page may have been merged with a neighbour: it is left out of the range.
            let mut start = from;
            for page in (from..to).step_by(PAGE).filter(|page| keeps(*page)).chain([to]) {
                inherit(start, page, libc::MADV_DONTFORK)?;
                start = page + PAGE;
            }
        }
        Ok(())
    }

    fn add_ballast(&self) -> Result<(), CallError> {
        let Ballast { mappings, pages } = self.ballast;
        for i in 0..mappings {
            let at = map(pages * PAGE, libc::MAP_PRIVATE)?;
            for page in 0..pages {
                // SAFETY: inside the mapping just made.
                unsafe { at.as_ptr().add(page * PAGE).write_volatile(1) };
            }
            // Neighbours with other rights are not merged into one mapping.
            let rights = if i % 2 == 0 { libc::PROT_READ } else { libc::PROT_READ | libc::PROT_WRITE };
            // SAFETY: the mapping just made, which nobody uses.
            check("mprotect", unsafe { libc::mprotect(at.as_ptr().cast(), pages * PAGE, rights) })?;
        }
        Ok(())
    }
}

/// How often the list of mappings is read again where one of it has gone.
const TRIES: u32 = 8;

/// Keeps a range out of what children inherit (MADV_DONTFORK), or puts it back (MADV_DOFORK).
fn inherit(from: usize, to: usize, advice: i32) -> Result<(), CallError> {
    if to <= from {
        return Ok(());
    }
    let at = std::ptr::with_exposed_provenance_mut(from);
    // SAFETY: changes nothing for this process.
    check("madvise", unsafe { libc::madvise(at, to - from, advice) }).map(drop)
}

/// Waits for a child; its exit status, or 128 and the signal that ended it.
///
/// # Errors
/// Those of wait4(2).
#[inline]
pub fn wait(pid: libc::pid_t) -> Result<i32, CallError> {
    let mut status = 0;
    // SAFETY: `status` is valid to write to.
    check("wait4", unsafe { libc::waitpid(pid, &raw mut status, 0) })?;
    Ok(exit_status(status))
}

fn exit_status(status: i32) -> i32 {
    if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 128 + libc::WTERMSIG(status) }
}

impl Drop for Forker {
    fn drop(&mut self) {
        // SAFETY: the pages of this value, which nobody uses any more.
        unsafe {
            libc::munmap(self.code.as_ptr().cast(), PAGE);
            libc::munmap(self.data.as_ptr().cast(), PAGE);
            libc::munmap(self.slots.as_ptr().cast(), SLOTS * SLOT);
        }
    }
}

#[cfg(test)]
mod tests;
