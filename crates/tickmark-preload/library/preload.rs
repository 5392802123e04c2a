//! Loaded before a program's own libraries: takes the place of clock_gettime, gettimeofday, time, timespec_get and clock, counts each read by its clock and by who called, waits as
//! long as it is told to, and reads the clock.
#![no_std]

#[allow(dead_code)]
#[path = "../src/layout.rs"]
mod layout;
mod operations;

use core::arch::naked_asm;
use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering::Relaxed};
use layout::{BY_SYSCALL, COUNTERS, CPU_READS, CPU_SPENT, DOSE, FILE, HELD_UP, KEEPS_SITES, KINDS, LOADED, LONGEST, LONGEST_CALL, MAGIC, MARK, MOST_SITES, NO_ROOM, ONE_OF, OPERATION, OTHER, OTHERS, ROWS, SECONDS, SITE, SITES, SPENT, SYMBOL, TIMEOFDAY, reads_source};

#[repr(C)]
struct LoadedSymbol {
    file: *const c_char,
    base: *const c_void,
    symbol: *const c_char,
    at: *const c_void,
}

#[link(name = "c")]
unsafe extern "C" {
    fn getenv(name: *const c_char) -> *const c_char;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn close(fd: c_int) -> c_int;
    fn mmap(at: *mut c_void, length: usize, protection: c_int, flags: c_int, fd: c_int, offset: c_long) -> *mut c_void;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dladdr(at: *const c_void, found: *mut LoadedSymbol) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
    fn abort() -> !;
}

#[panic_handler]
fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: ends the process.
    unsafe { abort() }
}

#[cfg(target_arch = "x86_64")]
const CALLS: [c_long; 3] = [228, 96, 201];
/// Others than x86 have no time(2): it is read by the clock.
#[cfg(target_arch = "aarch64")]
const CALLS: [c_long; 3] = [113, 169, -1];

/// O_RDWR and O_CLOEXEC; PROT_READ and PROT_WRITE; MAP_SHARED; RTLD_NEXT.
const OPEN: c_int = 2 | 0o2_000_000;
const READ_WRITE: c_int = 3;
const SHARED: c_int = 1;
const NEXT: *mut c_void = usize::MAX as *mut c_void;

static PAGE: AtomicPtr<u64> = AtomicPtr::new(null_mut());
/// The functions that this one stands before: clock_gettime, gettimeofday, time, timespec_get, clock; 0 until they are looked up.
static BEHIND: [AtomicUsize; 5] = [const { AtomicUsize::new(0) }; 5];

/// Clocks by their numbers: of real time, of the process's and of the thread's CPU time.
const REALTIME: c_int = 0;
const PROCESS_CPU: c_int = 2;
const THREAD_CPU: c_int = 3;

#[unsafe(link_section = ".init_array")]
#[used]
static BEGIN: extern "C" fn() = begin;

extern "C" fn begin() {
    for (behind, name) in BEHIND.iter().zip([c"clock_gettime", c"gettimeofday", c"time", c"timespec_get", c"clock"]) {
        // SAFETY: `name` ends in a zero byte.
        behind.store(unsafe { dlsym(NEXT, name.as_ptr()) } as usize, Relaxed);
    }
    // SAFETY: what getenv gives is a string that stays; the mapping is as long as the file is made, which its mark says.
    unsafe {
        let path = getenv(c"TICKMARK_PRELOAD_PAGE".as_ptr());
        if path.is_null() {
            return;
        }
        let fd = open(path, OPEN);
        if fd < 0 {
            return;
        }
        let page = mmap(null_mut(), layout::BYTES, READ_WRITE, SHARED, fd, 0).cast::<u64>();
        close(fd);
        if page as usize == usize::MAX || *page.add(MARK) != MAGIC {
            return;
        }
        PAGE.store(page, Relaxed);
        word(page, LOADED).fetch_add(1, Relaxed);
    }
}

/// A word of the page.
fn word<'a>(page: *mut u64, at: usize) -> &'a AtomicU64 {
    // SAFETY: inside the mapping, which is never unmapped, aligned, and used as an atomic alone.
    unsafe { AtomicU64::from_ptr(page.add(at)) }
}

/// Counts a read of this kind by this caller, and injects the delay. What it gives says whether the read is to be a system call, and where what that takes is added.
fn counted(kind: usize, caller: usize) -> Option<usize> {
    let page = PAGE.load(Relaxed);
    if page.is_null() {
        return None;
    }
    // Stacks of threads are apart: their rows are, as a rule.
    let place = 0u8;
    let row = (((&raw const place) as u64 >> 16).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % ROWS;
    let at = COUNTERS + row * KINDS;
    let number = word(page, at + kind).fetch_add(1, Relaxed);
    if word(page, KEEPS_SITES).load(Relaxed) != 0 {
        site(page, caller);
    }
    let dose = if reads_source(kind) { word(page, DOSE).load(Relaxed) } else { 0 };
    if dose == BY_SYSCALL {
        return Some(at + SPENT);
    }
    let operation = word(page, OPERATION).load(Relaxed);
    // By the read's number, but not every so many of them: a program may read a clock as often for each of its tasks.
    let timed = dose > 0 && number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - ONE_OF) == 0;
    let cpu = if timed { cpu_time() } else { 0 };
    if dose > 0 && operation > 0 {
        let begun = counter();
        operations::operate(operation, dose - 1);
        spent(page, at + SPENT, counter().wrapping_sub(begun), (dose - 1).saturating_mul(word(page, LONGEST).load(Relaxed)));
    } else if dose > 0 {
        let begun = counter();
        let mut now = counter();
        while now.wrapping_sub(begun) < dose - 1 {
            now = counter();
        }
        spent(page, at + SPENT, now.wrapping_sub(begun), dose - 1);
    }
    if timed {
        word(page, at + CPU_SPENT).fetch_add(cpu_time().wrapping_sub(cpu), Relaxed);
        word(page, at + CPU_READS).fetch_add(1, Relaxed);
    }
    None
}

/// CPU time of this thread, in ns.
fn cpu_time() -> u64 {
    let mut both = [0 as c_long; 2];
    plainly(THREAD_CPU, both.as_mut_ptr().cast());
    (both[0] as u64).wrapping_mul(1_000_000_000).wrapping_add(both[1] as u64)
}

/// Reads a clock as the program would without this library.
fn plainly(number: c_int, time: *mut c_void) -> c_int {
    let behind = BEHIND[0].load(Relaxed);
    if behind == 0 {
        // SAFETY: the caller's own arguments.
        return unsafe { syscall(CALLS[0], number as c_long, time) } as c_int;
    }
    // SAFETY: the function of this name, with the caller's own arguments.
    unsafe { core::mem::transmute::<usize, extern "C" fn(c_int, *mut c_void) -> c_int>(behind)(number, time) }
}

/// Adds what a read took that was to take so long. What it was held up by is no cost of it: how often is counted.
fn spent(page: *mut u64, at: usize, took: u64, dose: u64) {
    if took > dose + OTHERS {
        word(page, HELD_UP).fetch_add(1, Relaxed);
    } else {
        word(page, at).fetch_add(took, Relaxed);
    }
}

/// A system call whose time is added.
fn called(at: usize, call: impl FnOnce() -> c_long) -> c_long {
    let begun = counter();
    let result = call();
    spent(PAGE.load(Relaxed), at, counter().wrapping_sub(begun), LONGEST_CALL);
    result
}

#[cfg(target_arch = "x86_64")]
fn counter() -> u64 {
    // SAFETY: every x86-64 processor has it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "aarch64")]
fn counter() -> u64 {
    let now;
    // SAFETY: Linux leaves the counter open to programs.
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) now, options(nomem, nostack)) };
    now
}

/// Looked at before a place in the table is given up.
const STEPS: usize = 32;

fn site(page: *mut u64, caller: usize) {
    let first = (caller as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    for step in 0..STEPS {
        let at = SITES + ((first as usize + step) % MOST_SITES) * SITE;
        let own = word(page, at);
        match own.load(Relaxed) {
            known if known == caller as u64 => {
                word(page, at + 1).fetch_add(1, Relaxed);
                return;
            }
            0 if own.compare_exchange(0, caller as u64, Relaxed, Relaxed).is_ok() => {
                word(page, at + 1).fetch_add(1, Relaxed);
                name(page, at, caller);
                return;
            }
            // Somebody else has just taken it, perhaps for the same.
            0 if own.load(Relaxed) == caller as u64 => {
                word(page, at + 1).fetch_add(1, Relaxed);
                return;
            }
            _ => {}
        }
    }
    word(page, NO_ROOM).fetch_add(1, Relaxed);
}

/// Writes whose a site is: the call stands before the place to which it returns.
fn name(page: *mut u64, at: usize, caller: usize) {
    let caller = caller - 1;
    let mut found = LoadedSymbol { file: null(), base: null(), symbol: null(), at: null() };
    // SAFETY: `found` is valid to write.
    if unsafe { dladdr(caller as *const c_void, &raw mut found) } == 0 {
        return;
    }
    word(page, at + 2).store(caller as u64 - found.base as u64, Relaxed);
    copy(page, at + 4, FILE, found.file);
    copy(page, at + 4 + FILE / 8, SYMBOL, found.symbol);
    word(page, at + 3).store(1, Relaxed);
}

fn copy(page: *mut u64, at: usize, most: usize, text: *const c_char) {
    if text.is_null() {
        return;
    }
    // SAFETY: a string of the dynamic linker's.
    let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
    // The end of a path says more than its beginning.
    let bytes = &bytes[bytes.len().saturating_sub(most - 1)..];
    // SAFETY: `most` bytes of the page belong to this site, whose one writer this is.
    unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), page.add(at).cast(), bytes.len()) };
}

/// With the caller's address, which the functions below hand on.
extern "C" fn read_clock(clock: c_int, time: *mut c_void, caller: usize) -> c_int {
    let by_call = counted(if (0..OTHER as c_int).contains(&clock) { clock as usize } else { OTHER }, caller);
    if let Some(at) = by_call {
        // SAFETY: the caller's own arguments.
        return called(at, || unsafe { syscall(CALLS[0], clock as c_long, time) }) as c_int;
    }
    plainly(clock, time)
}

/// timespec_get(3): of base 1 the real time, and of those after it the clocks in their order (C23).
extern "C" fn read_timespec(time: *mut c_void, base: c_int, caller: usize) -> c_int {
    let number = if (1..=4).contains(&base) { base - 1 } else { REALTIME };
    let by_call = counted(number as usize, caller);
    let behind = BEHIND[3].load(Relaxed);
    if by_call.is_none() && behind != 0 {
        // SAFETY: the function of this name, with the caller's own arguments.
        return unsafe { core::mem::transmute::<usize, extern "C" fn(*mut c_void, c_int) -> c_int>(behind)(time, base) };
    }
    // SAFETY: the caller's own argument.
    let read = || unsafe { syscall(CALLS[0], number as c_long, time) };
    let done = by_call.map_or_else(read, |at| called(at, read));
    if done == 0 { base } else { 0 }
}

/// clock(3): the CPU time of the process, in us.
extern "C" fn read_cpu(caller: usize) -> c_long {
    let by_call = counted(PROCESS_CPU as usize, caller);
    let behind = BEHIND[4].load(Relaxed);
    if by_call.is_none() && behind != 0 {
        // SAFETY: the function of this name.
        return unsafe { core::mem::transmute::<usize, extern "C" fn() -> c_long>(behind)() };
    }
    let mut both = [0 as c_long; 2];
    // SAFETY: into our own.
    unsafe { syscall(CALLS[0], PROCESS_CPU as c_long, both.as_mut_ptr()) };
    both[0] * 1_000_000 + both[1] / 1_000
}

extern "C" fn read_timeofday(time: *mut c_void, zone: *mut c_void, caller: usize) -> c_int {
    if let Some(at) = counted(TIMEOFDAY, caller) {
        // SAFETY: the caller's own arguments.
        return called(at, || unsafe { syscall(CALLS[1], time, zone) }) as c_int;
    }
    let behind = BEHIND[1].load(Relaxed);
    if behind == 0 {
        // SAFETY: the caller's own arguments.
        return unsafe { syscall(CALLS[1], time, zone) } as c_int;
    }
    // SAFETY: the function of this name, with the caller's own arguments.
    unsafe { core::mem::transmute::<usize, extern "C" fn(*mut c_void, *mut c_void) -> c_int>(behind)(time, zone) }
}

extern "C" fn read_seconds(time: *mut c_long, caller: usize) -> c_long {
    let by_call = counted(SECONDS, caller);
    let behind = BEHIND[2].load(Relaxed);
    if let Some(at) = by_call.filter(|_| CALLS[2] >= 0) {
        // SAFETY: the caller's own argument.
        return called(at, || unsafe { syscall(CALLS[2], time) });
    }
    if behind == 0 {
        let mut both = [0 as c_long; 2];
        // SAFETY: CLOCK_REALTIME, into our own; `time` is the caller's.
        unsafe {
            syscall(CALLS[0], 0 as c_long, both.as_mut_ptr());
            if !time.is_null() {
                *time = both[0];
            }
        }
        return both[0];
    }
    // SAFETY: the function of this name, with the caller's own argument.
    unsafe { core::mem::transmute::<usize, extern "C" fn(*mut c_long) -> c_long>(behind)(time) }
}

macro_rules! stands_before {
    ($name:ident($($type:ty),*) -> $result:ty, $register:literal, $other:literal, $behind:ident) => {
        /// Hands on the caller's address as one argument more.
        ///
        /// # Safety
        /// As the function of this name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        #[cfg(target_arch = "x86_64")]
        pub unsafe extern "C" fn $name($(_: $type),*) -> $result {
            naked_asm!(concat!("mov ", $register, ", [rsp]"), "jmp {behind}", behind = sym $behind)
        }

        /// Hands on the caller's address as one argument more.
        ///
        /// # Safety
        /// As the function of this name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        #[cfg(target_arch = "aarch64")]
        pub unsafe extern "C" fn $name($(_: $type),*) -> $result {
            naked_asm!(concat!("mov ", $other, ", x30"), "b {behind}", behind = sym $behind)
        }
    };
}

// Arguments that the macro's functions do not name themselves.
stands_before!(clock_gettime(c_int, *mut c_void) -> c_int, "rdx", "x2", read_clock);
stands_before!(gettimeofday(*mut c_void, *mut c_void) -> c_int, "rdx", "x2", read_timeofday);
stands_before!(time(*mut c_long) -> c_long, "rsi", "x1", read_seconds);
stands_before!(timespec_get(*mut c_void, c_int) -> c_int, "rdx", "x2", read_timespec);
stands_before!(clock() -> c_long, "rdi", "x0", read_cpu);
