//! Wake-ups as they come, for who looks on while a run measures: memory that both sides map, so that the run talks to nobody.

use crate::sys::CallError;
use crate::sys::file;
use crate::sys::memory::Words;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use tickmark_wire::{Histogram, Nanos};

/// Names it, in the environment of the agent.
pub const SEEN: &str = "TICKMARK_SEEN";
/// A value is known to a 32nd of itself.
const BITS: u8 = 4;
/// Buckets: of up to five hours, in ns; what is longer is in the last.
const BUCKETS: usize = Histogram::place(BITS, u64::MAX >> 20) + 1;
/// Words that are no bucket: the greatest value.
const MOST: usize = 0;
const FIRST: usize = 1;
/// Bytes of it.
const LENGTH: u64 = ((FIRST + BUCKETS) * 8).next_multiple_of(64) as u64;

/// The wake-ups of the run under way.
#[derive(Debug)]
pub struct WakeUpTable(Words);

/// Where they are looked at, and the path by which a run of this process's agent finds them.
#[derive(Debug)]
pub struct SharedWakeUpTable {
    /// The wake-ups.
    pub table: WakeUpTable,
    /// The file that has no name of its own.
    file: OwnedFd,
}

impl SharedWakeUpTable {
    /// A new one, with nothing in it.
    ///
    /// # Errors
    /// Those of [`file::sealed`] and mmap(2).
    pub fn new() -> Result<Self, CallError> {
        let file = file::sealed(LENGTH)?;
        let words = Words::file(file.as_fd(), LENGTH as usize / 64)?;
        Ok(Self { table: WakeUpTable(words), file })
    }

    /// For other processes of this user, as long as this one lives.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()).into()
    }
}

impl WakeUpTable {
    /// The one that this process was told of, empty; none where nobody looks on.
    #[must_use]
    pub fn inherited() -> Option<Self> {
        Self::open(Path::new(&std::env::var_os(SEEN)?))
    }

    /// None where it is no such file: nobody looks on then.
    fn open(path: &Path) -> Option<Self> {
        let file = File::options().read(true).write(true).open(path).ok()?;
        if file.metadata().ok()?.len() != LENGTH || !file::is_sealed(file.as_fd()) {
            return None;
        }
        let own = Self(Words::file(file.as_fd(), LENGTH as usize / 64).ok()?);
        (0..FIRST + BUCKETS).for_each(|word| own.0.packed(word).store(0, Relaxed));
        Some(own)
    }

    /// One more, so many ns late; what was early counts as 0.
    #[inline]
    pub fn count(&self, late: i64) {
        let late = late.max(0).unsigned_abs();
        let bucket = Histogram::place(BITS, late).min(BUCKETS - 1);
        self.0.packed(FIRST + bucket).fetch_add(1, Relaxed);
        self.0.packed(MOST).fetch_max(late, Relaxed);
    }

    /// All so far.
    #[must_use]
    pub fn look(&self) -> Histogram {
        let most = self.0.packed(MOST).load(Relaxed);
        let counts = (0..BUCKETS).map(|bucket| self.0.packed(FIRST + bucket).load(Relaxed));
        let mut all = Histogram::of_counts(BITS, counts);
        // Exactly; one that was counted meanwhile may be missing.
        if Histogram::place(BITS, most) as i32 == all.bucket.last().copied().unwrap_or(-1) {
            all.most = Nanos::new(most as i64);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_side_counts_the_other_sees() {
        let looked = SharedWakeUpTable::new().unwrap();
        let watching = &looked.table;
        let counting = WakeUpTable::open(&looked.path()).unwrap();
        assert_eq!(watching.look().total(), 0);
        [-5, 0, 1_000, 1_000, 123_457, i64::MAX].iter().for_each(|late| counting.count(*late));
        let observed = watching.look();
        assert_eq!((observed.total(), observed.least.get()), (6, 0));
        assert!(
            observed
                .buckets()
                .unwrap()
                .iter()
                .any(|(low, high, count)| low.get() <= 1_000 && 1_000 <= high.get() && *count == 2)
        );
        // Each run begins anew, and knows its greatest exactly.
        let next = WakeUpTable::open(&looked.path()).unwrap();
        next.count(123_457);
        assert_eq!((watching.look().total(), watching.look().most.get()), (1, 123_457));
        assert!(watching.look().buckets().is_some());
    }

    /// A file that could be shortened under a run is refused, because the run would end.
    #[test]
    fn only_what_keeps_its_length_is_counted_into() {
        let looked = SharedWakeUpTable::new().unwrap();
        let again = File::options().write(true).open(looked.path()).unwrap();
        assert!(again.set_len(64).is_err() && again.set_len(2 * LENGTH).is_err());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen");
        std::fs::write(&path, vec![0; LENGTH as usize]).unwrap();
        assert!(WakeUpTable::open(&path).is_none());
        std::fs::write(&path, "short").unwrap();
        assert!(
            WakeUpTable::open(&path).is_none() && WakeUpTable::open(&folder.path().join("none")).is_none()
        );
    }
}
