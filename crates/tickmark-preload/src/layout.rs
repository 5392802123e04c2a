//! Layout of the file that the library shares with the program that started it: words of 64 bits, little ends first on every machine that
//! is supported.

/// The variable of the environment that names the file.
pub(crate) const VARIABLE: &str = "TICKMARK_PRELOAD_PAGE";
/// Its first word.
pub(crate) const MAGIC: u64 = 0x7469_636b_7072_6531;
/// Word of the mark.
pub(crate) const MARK: usize = 0;
/// Word that counts how often the library was loaded.
pub(crate) const LOADED: usize = 1;
/// Word of the dose: counter ticks that each read takes longer.
pub(crate) const DOSE: usize = 2;
/// In that word: 0 is no dose; above it, one more than the ticks, so that also a dose of 0 goes the way of the others. This value is no time: each read is a system
/// call, whose whole time counts as what it took longer.
pub(crate) const BY_SYSCALL: u64 = u64::MAX;
/// Word that says whether call sites are kept.
pub(crate) const KEEPS_SITES: usize = 3;
/// Word that counts reads of call sites for which there was no room.
pub(crate) const NO_ROOM: usize = 4;
/// Word that counts reads that something else held up while they were made longer.
pub(crate) const HELD_UP: usize = 5;
/// Word of the operation on timestamps that a dose repeats; with one, the word of the dose is their number plus one.
pub(crate) const OPERATION: usize = 6;
/// Word of the ticks that one operation takes at most: what takes longer was held up.
pub(crate) const LONGEST: usize = 7;
/// Ticks by which a read takes longer than it was to, that are no longer its own: an interrupt's or another task's.
pub(crate) const OTHERS: u64 = 20_000;
/// Longest plausible system call that reads a clock, ns: some of them read a device.
pub(crate) const LONGEST_CALL: u64 = 200_000;
/// The first word of the counters: so many rows, one for each of several threads, so that they do not wait for each other.
pub(crate) const COUNTERS: usize = 64;
/// Rows.
pub(crate) const ROWS: usize = 64;
/// Counters of a row: clocks by their numbers, then the others; a row fills whole cache lines.
pub(crate) const KINDS: usize = 24;
/// clock_gettime of a clock with a number that is not below: of a process, a device.
pub(crate) const OTHER: usize = 12;
/// Kinds of reads that read the clock source: not those of the tick's own time (coarse clocks, time(2)), of CPU time, of devices.
pub(crate) const fn reads_source(kind: usize) -> bool {
    matches!(kind, 0 | 1 | 4 | 7 | 8 | 9 | 11 | TIMEOFDAY)
}
/// gettimeofday(2).
pub(crate) const TIMEOFDAY: usize = 13;
/// time(2).
pub(crate) const SECONDS: usize = 14;
/// Counter ticks that reads took longer, as measured, without those that were held up.
pub(crate) const SPENT: usize = 15;
/// CPU time that some reads took with what makes them longer, in ns, by the thread's own clock.
pub(crate) const CPU_SPENT: usize = 16;
/// How many reads these are.
pub(crate) const CPU_READS: usize = 17;
/// One of so many reads is one of them, as a power of two.
pub(crate) const ONE_OF: u32 = 5;
/// The first word of the call sites.
pub(crate) const SITES: usize = COUNTERS + ROWS * KINDS;
/// Sites, a power of two.
pub(crate) const MOST_SITES: usize = 1024;
/// Words of a site: its address, its count, its offset in its file, whether the names are written; the file's name; the symbol's.
pub(crate) const SITE: usize = 4 + FILE / 8 + SYMBOL / 8;
/// Bytes of a file's name at most.
pub(crate) const FILE: usize = 128;
/// And of a symbol's.
pub(crate) const SYMBOL: usize = 96;
/// Bytes of the whole.
pub(crate) const BYTES: usize = (SITES + MOST_SITES * SITE) * 8;
