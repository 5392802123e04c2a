//! Wake-ups as they come, for who looks on while a run measures: a file that both sides map, so that the run talks to nobody.

use crate::sys::CallError;
use crate::sys::memory::Words;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use tickmark_wire::{Histogram, Nanos};

/// Names the file, in the environment of the agent.
pub const SEEN: &str = "TICKMARK_SEEN";
/// A value is known to a 32nd of itself.
const BITS: u8 = 4;
/// Buckets: of up to five hours, in ns; what is longer is in the last.
const BUCKETS: usize = Histogram::place(BITS, u64::MAX >> 20) + 1;
/// Words that are no bucket: the greatest value.
const MOST: usize = 0;
const FIRST: usize = 1;
/// Bytes of the file.
const LENGTH: u64 = ((FIRST + BUCKETS) * 8).next_multiple_of(64) as u64;

/// The wake-ups of the run under way.
#[derive(Debug)]
pub struct Seen(Words);

impl Seen {
    /// A new file.
    ///
    /// # Errors
    /// Those of open(2), ftruncate(2) and mmap(2).
    pub fn create(path: &Path) -> Result<Self, CallError> {
        let open = File::options().read(true).write(true).create_new(true).open(path);
        let file = open.map_err(|error| CallError::of("open", &error))?;
        file.set_len(LENGTH).map_err(|error| CallError::of("ftruncate", &error))?;
        Words::file(file.as_fd(), LENGTH as usize / 64).map(Self)
    }

    /// The one that this process was told of, empty; none where nobody looks on.
    #[must_use]
    pub fn told() -> Option<Self> {
        Self::open(Path::new(&std::env::var_os(SEEN)?))
    }

    /// None where it is no such file: nobody looks on then.
    fn open(path: &Path) -> Option<Self> {
        let file = File::options().read(true).write(true).open(path).ok()?;
        if file.metadata().ok()?.len() != LENGTH {
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
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen");
        let watching = Seen::create(&path).unwrap();
        let counting = Seen::open(&path).unwrap();
        assert_eq!(watching.look().total(), 0);
        [-5, 0, 1_000, 1_000, 123_457, i64::MAX].iter().for_each(|late| counting.count(*late));
        let seen = watching.look();
        assert_eq!((seen.total(), seen.least.get()), (6, 0));
        assert!(
            seen.buckets()
                .unwrap()
                .iter()
                .any(|(low, high, count)| low.get() <= 1_000 && 1_000 <= high.get() && *count == 2)
        );
        // Each run begins anew, and knows its greatest exactly.
        let next = Seen::open(&path).unwrap();
        next.count(123_457);
        assert_eq!((watching.look().total(), watching.look().most.get()), (1, 123_457));
        assert!(watching.look().buckets().is_some());
        std::fs::write(&path, "short").unwrap();
        assert!(Seen::open(&path).is_none() && Seen::create(&path).is_err());
    }
}
