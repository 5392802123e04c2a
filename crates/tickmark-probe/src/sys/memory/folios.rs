//! How a mapped file lies in the page cache.

use super::{PAGE, Region};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Of /proc/kpageflags: a page that is not the first of its folio.
const TAIL: u64 = 1 << 16;

impl Region {
    /// How many folios its pages are in, as the kernel tells root (Documentation/admin-guide/mm/pagemap.rst); none where it does not.
    #[must_use]
    pub fn folios(&self) -> Option<usize> {
        let number = |file: &File, at: usize| {
            let mut bytes = [0; 8];
            file.read_exact_at(&mut bytes, at as u64 * 8).ok().map(|()| u64::from_ne_bytes(bytes))
        };
        let (pages, flags) = (File::open("/proc/self/pagemap").ok()?, File::open("/proc/kpageflags").ok()?);
        let first = self.start.as_ptr().addr() / PAGE;
        let is_tail = |page: usize| {
            let entry = number(&pages, page)?;
            // Without the right to know it is 0.
            let frame = entry & ((1 << 55) - 1);
            (entry >> 63 == 1 && frame > 0).then_some(())?;
            Some(number(&flags, frame as usize)? & TAIL != 0)
        };
        let tails = (first..first + self.length / PAGE).map(is_tail).collect::<Option<Vec<bool>>>()?;
        Some(tails.iter().filter(|is_tail| !**is_tail).count())
    }
}
