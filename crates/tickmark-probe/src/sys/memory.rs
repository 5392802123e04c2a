//! A stretch of memory: reading, writing and copying it.

#[cfg(feature = "whole")]
mod folios;

use super::{CallError, check};
use crate::Unavailable;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;

/// A page of memory, as the definitions of probes have it.
pub const PAGE: usize = 4096;
const HUGE: usize = 2 << 20;

/// Which pages a stretch is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// Of 4 KiB, also where the system would join them.
    Small,
    /// Of 2 MiB, or none.
    Huge,
}

/// That the kernel's pages are those of the definitions; some of arm64 have 16 or 64 KiB.
///
/// # Errors
/// How large they are.
pub fn small_pages() -> Result<(), Unavailable> {
    // SAFETY: no pointers.
    match unsafe { libc::sysconf(libc::_SC_PAGESIZE) } {
        4096 => Ok(()),
        bytes => Err(Unavailable::Missing(format!(
            "defined for pages of 4 KiB; this kernel has pages of {} KiB",
            bytes / 1024
        ))),
    }
}

/// A mapping of our own.
#[derive(Debug)]
pub struct Region {
    start: NonNull<u8>,
    length: usize,
    /// The mapping: larger where the start had to be aligned.
    mapping: (NonNull<u8>, usize),
    /// True if nobody else has it.
    private: bool,
    writable: bool,
}

fn map(length: usize, protection: i32, kind: i32, fd: i32) -> Result<Region, CallError> {
    // SAFETY: a new mapping where the kernel likes.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, kind, fd, 0) };
    let start = NonNull::new(start.cast::<u8>()).filter(|start| start.as_ptr().addr() != usize::MAX);
    let start = start.ok_or_else(|| CallError::last("mmap"))?;
    Ok(Region {
        start,
        length,
        mapping: (start, length),
        private: kind & libc::MAP_PRIVATE != 0,
        writable: protection & libc::PROT_WRITE != 0,
    })
}

const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;

impl Region {
    /// Private memory of `length` bytes, every page touched.
    ///
    /// # Errors
    /// Those of mmap(2) and madvise(2); ENOMEM where the kernel gave no huge pages.
    pub fn private(length: usize, pages: Pages) -> Result<Self, CallError> {
        let more = if pages == Pages::Huge { HUGE } else { 0 };
        let whole = length.checked_add(more).ok_or(CallError { call: "mmap", errno: libc::ENOMEM })?;
        let mut region = map(whole, READ_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)?;
        region.length = length;
        if pages == Pages::Huge {
            let over = region.start.as_ptr().addr().next_multiple_of(HUGE) - region.start.as_ptr().addr();
            // SAFETY: less than what was mapped beside the length.
            region.start = unsafe { region.start.add(over) };
        }
        let advice = match pages {
            Pages::Small => libc::MADV_NOHUGEPAGE,
            Pages::Huge => libc::MADV_HUGEPAGE,
        };
        // SAFETY: the mapping just made.
        let advised = check("madvise", unsafe { libc::madvise(region.at(0).cast(), length, advice) });
        // A kernel without huge pages refuses both, and then all pages are small.
        if pages == Pages::Huge {
            advised?;
        }
        for offset in (0..length).step_by(PAGE) {
            // SAFETY: the offset lies in the mapping.
            unsafe { region.at(offset).write_volatile(1) };
        }
        Ok(region)
    }

    /// A file, shared; to be written where `write` says so. It lies in a folder of our own: nobody else writes it.
    ///
    /// # Errors
    /// Those of mmap(2).
    pub fn file(file: BorrowedFd<'_>, length: usize, write: bool) -> Result<Self, CallError> {
        let protection = if write { READ_WRITE } else { libc::PROT_READ };
        map(length, protection, libc::MAP_SHARED, file.as_raw_fd())
    }

    /// Unmaps it and says whether that was done.
    ///
    /// # Errors
    /// Those of munmap(2).
    #[inline]
    pub fn unmap(self) -> Result<(), CallError> {
        let region = std::mem::ManuallyDrop::new(self);
        // SAFETY: our own mapping; chains into it hold it.
        let (start, length) = region.mapping;
        // SAFETY: our own mapping; chains into it hold it.
        check("munmap", unsafe { libc::munmap(start.as_ptr().cast(), length) }).map(drop)
    }

    /// Bytes of it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// True if it is empty; it never is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The share of its bytes that huge pages hold, by /proc/self/smaps.
    #[must_use]
    pub fn huge_share(&self) -> Option<f64> {
        let text = std::fs::read_to_string("/proc/self/smaps").ok()?;
        let (from, to) = (self.start.as_ptr().addr(), self.start.as_ptr().addr() + self.length);
        let (mut inside, mut kilobytes) = (false, 0.0);
        for line in text.lines() {
            let first = line.split_whitespace().next()?;
            if let Some((begin, end)) = first.split_once('-') {
                let parse = |text| usize::from_str_radix(text, 16).ok();
                inside = parse(begin).zip(parse(end)).is_some_and(|(begin, end)| begin < to && end > from);
            } else if inside && first == "AnonHugePages:" {
                kilobytes += line.split_whitespace().nth(1)?.parse::<f64>().ok()?;
            }
        }
        Some(kilobytes * 1024.0 / self.length as f64)
    }

    fn at(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset < self.length);
        // SAFETY: callers stay inside the mapping.
        unsafe { self.start.as_ptr().add(offset) }
    }

    /// Where it begins.
    pub(super) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// True if nobody else has it.
    pub(super) fn is_private(&self) -> bool {
        self.private
    }

    /// The address of `length` bytes from `offset`.
    ///
    /// # Panics
    /// Where they lie outside.
    pub(super) fn place(&self, offset: usize, length: usize) -> *mut u8 {
        self.inside(offset, length);
        self.at(offset)
    }

    /// Takes all of its lines out of the caches, where the processor has an instruction for that.
    pub fn flush(&self, line: usize) {
        #[cfg(target_arch = "x86_64")]
        {
            for offset in (0..self.length).step_by(line.max(16)) {
                // SAFETY: inside the mapping; every x86-64 processor has the instruction.
                unsafe { std::arch::x86_64::_mm_clflush(self.at(offset)) };
            }
            // SAFETY: waits for them.
            unsafe { std::arch::x86_64::_mm_mfence() };
        }
        #[cfg(target_arch = "aarch64")]
        for offset in (0..self.length).step_by(line.max(16)) {
            // SAFETY: inside the mapping; Linux leaves the instruction open to programs.
            unsafe { std::arch::asm!("dc civac, {}", in(reg) self.at(offset), options(nostack)) };
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: waits for them.
        unsafe {
            std::arch::asm!("dsb ish", options(nostack));
        };
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let _ = line;
    }

    /// Adds up the 64-bit words of `length` bytes from `offset`, both multiples of 64.
    ///
    /// # Panics
    /// Where they lie outside, or not at a multiple of a word.
    #[must_use]
    #[inline]
    pub fn sum(&self, offset: usize, length: usize) -> u64 {
        self.words(offset, length);
        let start = self.start.as_ptr().wrapping_add(offset).cast::<u64>();
        // SAFETY: inside the mapping, at a multiple of a word; nothing writes meanwhile, as this holds the only way to it.
        let words = unsafe { std::slice::from_raw_parts(start, length / 8) };
        words.iter().fold(0, |sum, word| word.wrapping_add(sum))
    }

    /// Stores a word over `length` bytes from `offset`, 8 bytes a store.
    ///
    /// # Panics
    /// Where they lie outside.
    #[inline]
    pub fn fill(&self, offset: usize, length: usize, word: u64) {
        assert!(self.writable, "memory that can be written");
        self.words(offset, length);
        let words = self.start.as_ptr().wrapping_add(offset).cast::<u64>();
        for index in 0..length / 8 {
            // SAFETY: inside the mapping. Volatile: the loop stays one of plain stores.
            unsafe { words.add(index).write_volatile(word) };
        }
    }

    /// Copies `length` bytes from `offset` to the same offset of another stretch, 8 bytes a time.
    ///
    /// # Panics
    /// Where they lie outside.
    #[inline]
    pub fn copy_by_hand(&self, to: &Self, offset: usize, length: usize) {
        self.words(offset, length);
        to.words(offset, length);
        assert!(to.writable, "memory that can be written");
        let from = self.start.as_ptr().wrapping_add(offset).cast::<u64>();
        let to = to.start.as_ptr().wrapping_add(offset).cast::<u64>();
        for index in 0..length / 8 {
            // SAFETY: inside both mappings. Volatile: it stays a loop and becomes no call of memcpy.
            unsafe { to.add(index).write_volatile(from.add(index).read_volatile()) };
        }
    }

    /// Copies `length` bytes from `offset` to the same offset of another stretch with memcpy.
    ///
    /// # Panics
    /// Where they lie outside.
    #[inline]
    pub fn copy(&self, to: &Self, offset: usize, length: usize) {
        self.inside(offset, length);
        to.inside(offset, length);
        assert!(!std::ptr::eq(self, to) && to.writable, "two stretches, the other of which can be written");
        let (from, to) = (self.start.as_ptr().wrapping_add(offset), to.start.as_ptr().wrapping_add(offset));
        // SAFETY: inside both mappings, which are apart.
        unsafe { std::ptr::copy_nonoverlapping(from, to, length) };
    }

    /// Loads one byte of a page.
    #[inline(always)]
    #[must_use]
    pub fn touch(&self, offset: usize) -> u8 {
        self.inside(offset, 1);
        // SAFETY: inside the mapping.
        unsafe { self.at(offset).read_volatile() }
    }

    /// Stores one byte of a page.
    #[inline(always)]
    pub fn store(&self, offset: usize) {
        self.inside(offset, 1);
        assert!(self.writable, "memory that can be written");
        // SAFETY: inside the mapping.
        unsafe { self.at(offset).write_volatile(1) };
    }

    #[inline(always)]
    fn inside(&self, offset: usize, length: usize) {
        assert!(length <= self.length && offset <= self.length - length, "inside the mapping");
    }

    /// The same for words.
    #[inline(always)]
    fn words(&self, offset: usize, length: usize) {
        self.inside(offset, length);
        assert!(offset.is_multiple_of(8), "at a multiple of a word");
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: our own mapping; chains into it hold it.
        unsafe { libc::munmap(self.mapping.0.as_ptr().cast(), self.mapping.1) };
    }
}

/// Words that are shared with children, each in a cache line of its own.
#[derive(Debug)]
pub struct Words(Region);

// SAFETY: the mapping is its own for as long as it lives, and its words are only used as atomics.
unsafe impl Send for Words {}
// SAFETY: the same.
unsafe impl Sync for Words {}

impl Words {
    /// So many.
    ///
    /// # Errors
    /// Those of mmap(2).
    pub fn shared(count: usize) -> Result<Self, CallError> {
        map(count.saturating_mul(64), READ_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1).map(Self)
    }

    /// Those of a file that is long enough and [`sealed`](super::file::sealed): nobody makes it shorter.
    ///
    /// # Errors
    /// Those of mmap(2).
    pub fn file(file: BorrowedFd<'_>, count: usize) -> Result<Self, CallError> {
        Region::file(file, count.saturating_mul(64), true).map(Self)
    }

    /// One of them.
    ///
    /// # Panics
    /// Where there is none of this index.
    #[must_use]
    pub fn word(&self, index: usize) -> &std::sync::atomic::AtomicU32 {
        assert!(index < self.0.length / 64, "a word of its own cache line inside the mapping");
        // SAFETY: inside the mapping, aligned to a cache line, and only used as an atomic.
        unsafe { std::sync::atomic::AtomicU32::from_ptr(self.0.at(index * 64).cast()) }
    }

    /// The words of 64 bits beside each other, eight in the place of each.
    ///
    /// # Panics
    /// Where there is none of this index.
    #[must_use]
    pub fn packed(&self, index: usize) -> &std::sync::atomic::AtomicU64 {
        assert!(index < self.0.length / 8, "a word inside the mapping");
        // SAFETY: inside the mapping, aligned to its size, and only used as an atomic.
        unsafe { std::sync::atomic::AtomicU64::from_ptr(self.0.at(index * 8).cast()) }
    }

    /// One of 64 bits in the place of that.
    ///
    /// # Panics
    /// Where there is none of this index.
    #[must_use]
    pub fn wide(&self, index: usize) -> &std::sync::atomic::AtomicU64 {
        assert!(index < self.0.length / 64, "a word of its own cache line inside the mapping");
        // SAFETY: inside the mapping, aligned to a cache line, and only used as an atomic.
        unsafe { std::sync::atomic::AtomicU64::from_ptr(self.0.at(index * 64).cast()) }
    }
}

/// Bytes that are shared with children: who writes and who reads, and when, they settle by other means.
#[derive(Debug)]
pub struct Shared(Region);

// SAFETY: the mapping is its own for as long as it lives; who writes it and who reads it take turns.
unsafe impl Send for Shared {}
// SAFETY: the same.
unsafe impl Sync for Shared {}

impl Shared {
    /// So many, zeroed.
    ///
    /// # Errors
    /// Those of mmap(2).
    pub fn new(length: usize) -> Result<Self, CallError> {
        map(length, READ_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1).map(Self)
    }

    /// Copies bytes to its beginning; what does not fit is left out.
    pub fn put(&self, bytes: &[u8]) {
        let length = bytes.len().min(self.0.length);
        // SAFETY: inside the mapping; nobody reads it before it is told to.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.0.at(0), length) };
    }

    /// Copies bytes from its beginning.
    pub fn get(&self, bytes: &mut [u8]) {
        let length = bytes.len().min(self.0.length);
        // SAFETY: inside the mapping; nobody writes it before it is told to.
        unsafe { std::ptr::copy_nonoverlapping(self.0.at(0), bytes.as_mut_ptr(), length) };
    }
}
