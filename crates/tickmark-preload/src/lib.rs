//! The library that is loaded before a program's own, and the file through which it tells what it counted.
//!
//! What it does not see: programs without a dynamic linker, Go's runtime (which reads the clock by itself), the C library's own reads, the kernel's, and
//! whoever reads the processor's counter.

#[expect(dead_code, reason = "some of it is the library's alone")]
mod layout;
#[path = "../library/operations.rs"]
mod operations;

use layout::{
    BY_SYSCALL, BYTES, COUNTERS, CPU_READS, CPU_SPENT, DOSE, FILE, HELD_UP, KEEPS_SITES, KINDS, LOADED,
    LONGEST, MAGIC, MARK, MOST_SITES, NO_ROOM, OPERATION, OTHER, ROWS, SECONDS, SITE, SITES, SPENT, SYMBOL,
    TIMEOFDAY, reads_source,
};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The library, as a file has to hold it.
pub const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tickmark_preload.so"));

/// Kinds that are counted separately, in the order of [`Counts::reads`]: clocks by their numbers (linux/time.h), others, and two functions
/// beside clock_gettime(2).
pub const KIND_NAMES: [&str; SPENT] = {
    let mut all = [""; SPENT];
    let mut clock = 0;
    while clock < CLOCKS.len() {
        all[clock] = CLOCKS[clock];
        clock += 1;
    }
    (all[OTHER], all[TIMEOFDAY], all[SECONDS]) = ("other clocks", "gettimeofday", "time");
    all
};

const CLOCKS: [&str; OTHER] = [
    "CLOCK_REALTIME",
    "CLOCK_MONOTONIC",
    "CLOCK_PROCESS_CPUTIME_ID",
    "CLOCK_THREAD_CPUTIME_ID",
    "CLOCK_MONOTONIC_RAW",
    "CLOCK_REALTIME_COARSE",
    "CLOCK_MONOTONIC_COARSE",
    "CLOCK_BOOTTIME",
    "CLOCK_REALTIME_ALARM",
    "CLOCK_BOOTTIME_ALARM",
    "CLOCK_SGI_CYCLE",
    "CLOCK_TAI",
];

/// Operations on timestamps that a read may have more, by what they are called.
pub const OPERATIONS: [(&str, u64); 3] = [
    ("normalise", operations::NORMALISE),
    ("compare", operations::COMPARE),
    ("bintime", operations::BINTIME),
];

/// Carries out so many operations, as the library does; for who wants to know how long they take.
pub fn operate(which: u64, times: u64) {
    operations::operate(which, times);
}

/// The file, and the library beside it, in a folder that the caller has made and removes.
#[derive(Debug)]
pub struct Preload {
    page: File,
    library: PathBuf,
    path: PathBuf,
}

/// Counts so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// How often the library was loaded: into a process, and again with each program that it became.
    pub loaded: u64,
    /// Reads of each kind.
    pub reads: [u64; SPENT],
    /// Ticks of the processor's counter by which they were made longer; of reads by system call all that they took.
    pub spent: u64,
    /// CPU time that some of them took with what made them longer, in ns, by the thread's own clock.
    pub cpu_spent: u64,
    /// How many these are.
    pub cpu_reads: u64,
    /// Reads that something else held up while they were made longer: not in `spent`.
    pub held_up: u64,
    /// Reads by call site: the file, the offset in it, the symbol before it.
    pub sites: BTreeMap<Site, u64>,
    /// Reads of call sites for which there was no room.
    pub no_room: u64,
}

/// A place in a program from which a clock is read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// The program or library.
    pub file: String,
    /// Behind where it is loaded, in the call.
    pub offset: u64,
    /// The last exported symbol before it; empty where there is none.
    pub symbol: String,
}

impl Counts {
    /// Reads of the clock source: those that a dose makes longer.
    #[must_use]
    pub fn of_source(&self) -> u64 {
        self.reads.iter().enumerate().filter(|(kind, _)| reads_source(*kind)).map(|(_, count)| count).sum()
    }
}

impl Preload {
    /// Writes both files into a folder.
    ///
    /// # Errors
    /// Those of writing.
    pub fn new(folder: &Path, sites: bool) -> io::Result<Self> {
        let (path, library) = (folder.join("page"), folder.join("tickmark_preload.so"));
        std::fs::write(&library, LIBRARY)?;
        let page = File::options().read(true).write(true).create_new(true).open(&path)?;
        // All of it: where the disk is full that is seen here, and not by the program that writes to it.
        page.write_all_at(&vec![0; BYTES], 0)?;
        let all = Self { page, library, path };
        all.set(KEEPS_SITES, u64::from(sites))?;
        all.set(MARK, MAGIC)?;
        Ok(all)
    }

    /// Environment variables for a program; a library that it already preloads stays behind this one.
    #[must_use]
    pub fn environment(&self) -> [(&'static str, OsString); 2] {
        let mut all = self.library.clone().into_os_string();
        if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
            all.push(":");
            all.push(others);
        }
        [("LD_PRELOAD", all), (layout::VARIABLE, self.path.clone().into_os_string())]
    }

    fn set(&self, word: usize, value: u64) -> io::Result<()> {
        self.page.write_all_at(&value.to_ne_bytes(), word as u64 * 8)
    }

    /// Makes each read take so many ticks of the processor's counter longer, from now on: 0 goes the same way as the others, and takes what that takes.
    ///
    /// # Errors
    /// Those of writing.
    pub fn dose(&self, ticks: u64) -> io::Result<()> {
        self.set(OPERATION, 0)?;
        self.set(DOSE, ticks.saturating_add(1).min(BY_SYSCALL - 1))
    }

    /// Gives each read so many operations on timestamps more, of one of [`OPERATIONS`], from now on: 0 takes the same code path as the others. One of them takes so many ticks
    /// at most where nothing holds it up.
    ///
    /// # Errors
    /// Those of writing.
    pub fn operations(&self, which: u64, times: u64, longest: u64) -> io::Result<()> {
        self.set(OPERATION, which)?;
        self.set(LONGEST, longest)?;
        self.set(DOSE, times.saturating_add(1).min(BY_SYSCALL - 1))
    }

    /// Makes each read a system call, from now on.
    ///
    /// # Errors
    /// Those of writing.
    pub fn by_syscall(&self) -> io::Result<()> {
        self.set(DOSE, BY_SYSCALL)
    }

    /// Counts so far.
    ///
    /// # Errors
    /// Those of reading.
    pub fn counts(&self) -> io::Result<Counts> {
        let mut bytes = vec![0; BYTES];
        self.page.read_exact_at(&mut bytes, 0)?;
        let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| bytes[at * 8 + byte]));
        let sum = |kind: usize| (0..ROWS).map(|row| word(COUNTERS + row * KINDS + kind)).sum();
        let text = |at: usize, most: usize| {
            let all = &bytes[at * 8..at * 8 + most];
            let end = all.iter().position(|byte| *byte == 0).unwrap_or(most);
            String::from_utf8_lossy(&all[..end]).into_owned()
        };
        let mut sites = BTreeMap::new();
        for at in (0..MOST_SITES).map(|number| SITES + number * SITE).filter(|at| word(*at) != 0) {
            let file = if word(at + 3) == 0 { "?".to_owned() } else { text(at + 4, FILE) };
            let site = Site { file, offset: word(at + 2), symbol: text(at + 4 + FILE / 8, SYMBOL) };
            *sites.entry(site).or_default() += word(at + 1);
        }
        Ok(Counts {
            loaded: word(LOADED),
            reads: std::array::from_fn(sum),
            spent: sum(SPENT),
            cpu_spent: sum(CPU_SPENT),
            cpu_reads: sum(CPU_READS),
            held_up: word(HELD_UP),
            sites,
            no_room: word(NO_ROOM),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Known counts of two clocks, from two lines of a program, and of the two functions beside.
    const READS: &str = "#include <time.h>\n#include <sys/time.h>\nint main(void) { struct timespec t; struct timeval v;\n\
        for (int i = 0; i < 1000; i++) clock_gettime(CLOCK_MONOTONIC, &t);\n\
        for (int i = 0; i < 300; i++) clock_gettime(CLOCK_BOOTTIME, &t);\n\
        gettimeofday(&v, 0); time(0); return t.tv_sec + v.tv_sec == 0; }\n";

    /// Further clocks of C: a clock by its base, and the processor's time.
    const OTHERS: &str = "#include <time.h>\nint main(void) { struct timespec t; clock_t c = 0;\n\
        for (int i = 0; i < 50; i++) timespec_get(&t, TIME_UTC);\n\
        for (int i = 0; i < 20; i++) c = clock(); return c < 0 || t.tv_sec == 0; }\n";

    fn compiled(folder: &Path) -> PathBuf {
        compiled_from(folder, READS)
    }

    fn compiled_from(folder: &Path, text: &str) -> PathBuf {
        let (source, made) = (folder.join("reads.c"), folder.join("reads"));
        std::fs::write(&source, text).unwrap();
        assert!(Command::new("gcc").arg("-o").arg(&made).arg(&source).status().unwrap().success());
        made
    }

    #[test]
    fn reads_are_counted_by_clock_and_site_and_made_longer() {
        let folder = tempfile::tempdir().unwrap();
        let preload = Preload::new(folder.path(), true).unwrap();
        let program = compiled(folder.path());
        let run = || Command::new(&program).envs(preload.environment()).status().unwrap();
        assert!(run().success());
        let counts = preload.counts().unwrap();
        assert_eq!(counts.loaded, 1);
        let known = KIND_NAMES.iter().zip(counts.reads).filter(|(_, count)| *count > 0).collect::<Vec<_>>();
        let wanted = [("CLOCK_MONOTONIC", 1000), ("CLOCK_BOOTTIME", 300), ("gettimeofday", 1), ("time", 1)];
        assert_eq!(known, wanted.each_ref().map(|(name, count)| (name, *count)));
        assert_eq!(counts.sites.len(), 4, "{counts:?}");
        let sum: u64 = counts.sites.values().sum::<u64>() + counts.no_room;
        assert_eq!(sum, counts.reads.iter().sum::<u64>());
        let (site, most) = counts.sites.iter().max_by_key(|(_, count)| **count).unwrap();
        assert!(*most == 1000 && site.file.ends_with("/reads") && site.offset > 0, "{site:?}");
        assert_eq!(counts.spent, 0);
        preload.dose(10_000).unwrap();
        assert!(run().success());
        let more = preload.counts().unwrap();
        let longer = more.spent / (1301 - more.held_up);
        assert!(more.loaded == 2 && more.held_up < 130 && (10_000..30_000).contains(&longer), "{longer}");
        // Each kind of operation takes as much more as there are more of it.
        for (name, which) in OPERATIONS {
            let mut took = [0.0; 2];
            for (took, times) in took.iter_mut().zip([500, 5000]) {
                preload.operations(which, times, 64).unwrap();
                let before = preload.counts().unwrap();
                assert!(run().success());
                let after = preload.counts().unwrap();
                let own = 1301 - (after.held_up - before.held_up);
                *took = (after.spent - before.spent) as f64 / own as f64;
            }
            let each = (took[1] - took[0]) / 4500.0;
            assert!((0.2..64.0).contains(&each) && took[0] < took[1], "{name}: {took:?}");
        }
        let more = preload.counts().unwrap();
        preload.by_syscall().unwrap();
        assert!(run().success());
        let calls = preload.counts().unwrap();
        // A call takes longer than a few instructions, and not as long as that.
        let each = (calls.spent - more.spent) / (1301 + more.held_up - calls.held_up);
        assert_eq!(
            (calls.of_source(), calls.reads.iter().sum::<u64>()),
            (9 * 1301, 9 * 1302),
            "time(2) reads no source"
        );
        assert!(calls.reads[1] == 9000 && (20..1_000_000).contains(&each), "{each}");
    }

    #[test]
    fn what_c_has_beside_is_counted_by_its_clock() {
        let folder = tempfile::tempdir().unwrap();
        let preload = Preload::new(folder.path(), true).unwrap();
        let program = compiled_from(folder.path(), OTHERS);
        for dose in [None, Some(1_000)] {
            dose.into_iter().for_each(|dose| preload.dose(dose).unwrap());
            assert!(Command::new(&program).envs(preload.environment()).status().unwrap().success());
        }
        preload.by_syscall().unwrap();
        assert!(Command::new(&program).envs(preload.environment()).status().unwrap().success());
        let counts = preload.counts().unwrap();
        assert_eq!((counts.reads[0], counts.reads[2]), (150, 60), "{counts:?}");
        assert_eq!(counts.reads.iter().sum::<u64>(), 210);
    }

    /// CPU time that a read takes is told by one of some thirty, whatever it is made longer by.
    #[test]
    fn some_reads_are_timed_by_the_threads_own_clock() {
        let folder = tempfile::tempdir().unwrap();
        let preload = Preload::new(folder.path(), false).unwrap();
        let program = compiled(folder.path());
        let mut took = [0.0; 2];
        for (took, dose) in took.iter_mut().zip([0, 100_000]) {
            preload.dose(dose).unwrap();
            let before = preload.counts().unwrap();
            for _ in 0..3 {
                assert!(Command::new(&program).envs(preload.environment()).status().unwrap().success());
            }
            let after = preload.counts().unwrap();
            let timed = after.cpu_reads - before.cpu_reads;
            assert!((60..250).contains(&timed), "{timed} of some 3,900");
            *took = (after.cpu_spent - before.cpu_spent) as f64 / timed as f64;
        }
        assert!(took[1] > took[0] + 5_000.0, "{took:?}");
    }

    #[test]
    fn another_file_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let preload = Preload::new(folder.path(), true).unwrap();
        let other = folder.path().join("other");
        std::fs::write(&other, vec![7; BYTES]).unwrap();
        let [library, (variable, _)] = preload.environment();
        let status = Command::new(compiled(folder.path()))
            .envs([library, (variable, other.clone().into_os_string())])
            .status()
            .unwrap();
        assert!(status.success() && std::fs::read(other).unwrap() == vec![7; BYTES]);
        assert_eq!(preload.counts().unwrap(), Counts::default());
    }
}
