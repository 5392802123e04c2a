//! Mapping a file, and touching its pages.

use crate::batch::{self, Shape};
use crate::permutation::Permutation;
use crate::sys::file;
use crate::sys::memory::{PAGE, Region, small_pages};
use crate::{Expected, Folder, Params, Probe, Spec, Syscall, Unavailable};
use std::os::fd::{AsFd, OwnedFd};
use tickmark_wire::{Group, Part, Picos};

/// Bytes that a file is written by, where its folios do not matter.
pub(super) const WRITE: usize = 64 << 10;
/// A store to every 16th KiB of the first tenth.
const STRIDE: usize = 16 << 10;

const MAPPING: &[Syscall] =
    &[Syscall::Mkdir, Syscall::Openat, Syscall::Write, Syscall::Ftruncate, Syscall::Mmap, Syscall::Munmap];
const TOUCHING: &[Syscall] = &[
    Syscall::Mkdir,
    Syscall::Openat,
    Syscall::Write,
    Syscall::Ftruncate,
    Syscall::Fcntl,
    Syscall::Mmap,
    Syscall::Munmap,
];

const fn spec(name: &'static str, title: &'static str, timed: &'static str) -> Spec {
    Spec {
        timed,
        needs: MAPPING,
        physical_floor: Picos::new(10_000),
        // How many pages one fault maps is the kernel's to say.
        expected: Expected { switches: Some(0), faults: None },
        ..Spec::cost(Group::File, name, title)
    }
}

pub(super) static PROBES: &[Probe] = &[
    Probe {
        spec: Spec {
            source: "McVoy and Staelin, USENIX 1996 (lat_mmap)",
            weight: 30,
            ..spec(
                "vm.mmap",
                "mmap",
                "map a whole file (128 MiB, or 1 MiB where memory is short), shared and writable, store to every 16th KiB of \
                 its first tenth, unmap it",
            )
        },
        prepare: |spec, params| {
            let length = params.sizes.mapped as usize;
            let (folder, file) = file(params, length, length / 10 + STRIDE, WRITE)?;
            let map = move || {
                let _ = &folder;
                let region = Region::file(file.as_fd(), length, true)?;
                (0..length / 10).step_by(STRIDE).for_each(|offset| region.store(offset));
                region.unmap()
            };
            Ok(batch::fallible(Shape::from_spec(spec).over(length as u64), map).boxed())
        },
    },
    Probe {
        spec: Spec {
            source: "McVoy and Staelin, USENIX 1996 (lat_pagefault)",
            needs: TOUCHING,
            weight: 30,
            parts: &[Part::Whole, Part::Less],
            ..spec(
                "vm.fault.page",
                "mapped file, first touch of a page",
                "load a byte of every page of a mapped file (16 MiB, or 128 KiB where memory is short) in random \
                 order, per page, minus mapping and unmapping it; the kernel maps neighbours along. The file is \
                 written by 4 KiB, in the scratch directory (fact `scratch`); how large its folios are is the fact \
                 `scratch.folios`",
            )
        },
        prepare: |spec, params| first_touch(spec, params, PAGE),
    },
    Probe {
        spec: Spec {
            source: "vm.fault.page, where the page cache has large folios (Linux 5.17 and later, by file system)",
            needs: TOUCHING,
            weight: 30,
            parts: &[Part::Whole, Part::Less],
            ..spec(
                "vm.fault.page_by_mib",
                "the same, file written by 1 MiB",
                "as vm.fault.page, of a file that is written by 1 MiB: where the file system makes large folios of \
                 that, a fault maps more pages (several times cheaper); the same on tmpfs without huge=",
            )
        },
        prepare: |spec, params| first_touch(spec, params, 1 << 20),
    },
];

/// Loads a byte of every page of a mapped file, which was written so many bytes at a time.
fn first_touch(spec: &Spec, params: &Params, at_once: usize) -> Result<Box<dyn crate::Routine>, Unavailable> {
    small_pages()?;
    // Also where memory is short it is as long as what is written at once.
    let length = (params.sizes.mapped as usize / 8).max(at_once);
    let pages = length / PAGE;
    let (folder, file) = file(params, length, length, at_once)?;
    let other = file::duplicate(file.as_fd())?;
    let order = Permutation::new(pages as u64, tickmark_timer::monotonic_ns());
    let order: Vec<usize> = (0..pages).map(|i| order.place(i as u64) as usize * PAGE).collect();
    let touch = move || {
        let _ = &folder;
        let region = Region::file(file.as_fd(), length, false)?;
        let sum = order.iter().fold(0u8, |sum, page| sum.wrapping_add(region.touch(*page)));
        std::hint::black_box(sum);
        region.unmap()
    };
    let map = move || Region::file(other.as_fd(), length, false)?.unmap();
    Ok(batch::fallible(Shape::from_spec(spec).times(pages as u64).over(length as u64), touch)
        .part(Part::Less, Shape::from_spec(spec).times(pages as u64).any_cost(), map)
        .boxed())
}

/// How large the folios of files in a folder are, by how much of them is written at once: in words.
///
/// # Errors
/// Why that is not known.
#[cfg(feature = "whole")]
pub fn folios(folder: &std::path::Path) -> Result<String, String> {
    use std::io::Write;
    const LENGTH: usize = 1 << 20;
    if small_pages().is_err() {
        return Err("this kernel's pages are not of 4 KiB".to_owned());
    }
    let mean = |at_once: usize| {
        let path = folder.join("folios");
        let failed = |error: std::io::Error| error.to_string();
        let mut file =
            std::fs::File::options().read(true).write(true).create_new(true).open(&path).map_err(failed)?;
        let _ = std::fs::remove_file(&path);
        let chunk = vec![1; at_once];
        (0..LENGTH / at_once).try_for_each(|_| file.write_all(&chunk)).map_err(failed)?;
        let region = Region::file(file.as_fd(), LENGTH, false).map_err(|error| error.to_string())?;
        let sum = (0..LENGTH).step_by(PAGE).fold(0u8, |sum, page| sum.wrapping_add(region.touch(page)));
        std::hint::black_box(sum);
        let folios = region.folios().ok_or("the kernel says it to root alone")?;
        region.unmap().map_err(|error| error.to_string())?;
        Ok::<_, String>(LENGTH / folios.max(1) / 1024)
    };
    Ok(format!("{} KiB where written by 4 KiB, {} KiB by 1 MiB", mean(PAGE)?, mean(LENGTH)?))
}

/// The small agent does not look.
///
/// # Errors
/// Always.
#[cfg(not(feature = "whole"))]
pub fn folios(_: &std::path::Path) -> Result<String, String> {
    Err("the small agent does not look".to_owned())
}

/// A file of `length` bytes whose first `written` are written, so many at a time.
pub(super) fn file(
    params: &Params,
    length: usize,
    written: usize,
    at_once: usize,
) -> Result<(Folder, OwnedFd), Unavailable> {
    let folder = params.folder()?;
    let file = file::create(&folder.path(0))?;
    let chunk = vec![1; at_once];
    let mut left = written.min(length);
    while left > 0 {
        let count = left.min(chunk.len());
        file::write_all(file.as_fd(), &chunk[..count])?;
        left -= count;
    }
    file::set_length(file.as_fd(), length as u64)?;
    Ok((folder, file))
}

#[cfg(all(test, feature = "whole"))]
mod tests {
    #[test]
    fn folios_of_a_tmpfs_are_pages_or_larger_and_nothing_is_left() {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        match super::folios(folder.path()) {
            Ok(words) => {
                let sizes: Vec<usize> = words.split(' ').filter_map(|word| word.parse().ok()).collect();
                assert!(sizes[0] >= 4 && sizes[2] >= sizes[0], "{words}");
            }
            Err(why) => assert_ne!(crate::sys::host::effective_user(), 0, "{why}"),
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(super::folios(std::path::Path::new("/nowhere")).is_err());
    }
}
