//! Bytes a second through pipes, sockets, files and memory.

use super::{mapping, round_trip};
use crate::batch::{self, Shape};
use crate::sys::memory::{Pages, Region};
use crate::sys::peer::Peer;
use crate::sys::{CallError, file, net};
use crate::{Expected, Params, Probe, Routine, Spec, Syscall, Unavailable};
use std::os::fd::{AsFd, OwnedFd};
use tickmark_wire::{Better, Group, Picos, Unit};

/// Size of one read or write of a pipe, a socket or a file, bytes.
const PIECE: usize = 64 << 10;
/// Least bytes through a pipe or a socket between two timestamps: many times its capacity, so that the content at the start and at the end
/// weighs little.
const STRETCH: usize = 4 << 20;
/// Size of the buffers of a TCP socket: left to themselves they grow while it is measured.
const BUFFER: usize = 64 << 10;

const fn spec(name: &'static str, title: &'static str, timed: &'static str, source: &'static str) -> Spec {
    Spec {
        unit: Unit::Throughput,
        better: Better::Higher,
        timed,
        source,
        // 64 KiB in less would be more than 60 TB/s.
        physical_floor: Picos::new(1_000),
        ..Spec::cost(Group::Bandwidth, name, title)
    }
}

const STREAM: &str = "McVoy and Staelin, USENIX 1996 (bw_pipe, bw_unix, bw_tcp)";
const FILE: &str = "McVoy and Staelin, USENIX 1996 (bw_file_rd, bw_mmap_rd)";
const MEMORY: &str = "McVoy and Staelin, USENIX 1996 (bw_mem)";

/// A peer that writes without end.
const fn stream(
    name: &'static str,
    title: &'static str,
    timed: &'static str,
    needs: &'static [Syscall],
) -> Spec {
    Spec { needs, expected: Expected::UNKNOWN, weight: 30, ..spec(name, title, timed, STREAM) }
}

const fn memory(name: &'static str, title: &'static str, timed: &'static str) -> Spec {
    Spec { needs: &[Syscall::Mmap], weight: 20, much_memory: true, ..spec(name, title, timed, MEMORY) }
}

pub(super) static PROBES: &[Probe] = &[
    Probe {
        spec: stream(
            "bandwidth.pipe",
            "pipe bandwidth",
            "read 4 MiB of a pipe, 64 KiB at a time, into which a peer on the same CPU writes 64 KiB at a time",
            &[
                Syscall::Pipe2,
                Syscall::RtSigaction,
                Syscall::Clone,
                Syscall::Prctl,
                Syscall::Read,
                Syscall::Write,
            ],
        ),
        prepare: |spec, _| received(spec, PIECE, file::pipe),
    },
    Probe {
        spec: stream(
            "bandwidth.unix",
            "AF_UNIX stream bandwidth",
            "the same through a pair of stream sockets of the UNIX domain",
            &[
                Syscall::Socketpair,
                Syscall::RtSigaction,
                Syscall::Clone,
                Syscall::Prctl,
                Syscall::Read,
                Syscall::Write,
            ],
        ),
        prepare: |spec, _| received(spec, PIECE, net::unix_pair),
    },
    Probe {
        spec: stream(
            "bandwidth.tcp",
            "TCP bandwidth",
            "the same over a TCP connection of the loopback interface, 128 KiB at a time; its buffers are fixed at 64 KiB",
            round_trip::TCP,
        ),
        prepare: |spec, _| received(spec, 2 * PIECE, || net::tcp_pair_of(BUFFER)),
    },
    Probe {
        spec: Spec {
            needs: &[
                Syscall::Mkdir,
                Syscall::Openat,
                Syscall::Write,
                Syscall::Ftruncate,
                Syscall::Read,
                Syscall::Lseek,
            ],
            weight: 20,
            much_memory: true,
            ..spec(
                "bandwidth.file_reread",
                "file reread bandwidth",
                "read 64 KiB of a file in the page cache, from its start to its end over and over",
                FILE,
            )
        },
        prepare: |spec, params| {
            let length = params.sizes.memory as usize;
            let (folder, file) = mapping::file(params, length, length, mapping::WRITE)?;
            let (mut buffer, mut at) = (vec![0; PIECE + PAGE], length);
            // The kernel copies to the start of a page faster than to the middle of one.
            let start = buffer.as_ptr().align_offset(PAGE);
            let piece = start..start + PIECE;
            for _ in 0..SETTLES {
                file::rewind(file.as_fd())?;
                (0..length / PIECE)
                    .try_for_each(|_| file::read_all(file.as_fd(), &mut buffer[piece.clone()]))?;
            }
            let read = move || {
                let _ = &folder;
                if at + PIECE > length {
                    file::rewind(file.as_fd())?;
                    at = 0;
                }
                at += PIECE;
                file::read_all(file.as_fd(), &mut buffer[piece.clone()])
            };
            Ok(batch::fallible(moving(spec, length), read).boxed())
        },
    },
    Probe {
        spec: Spec {
            needs: &[Syscall::Mkdir, Syscall::Openat, Syscall::Write, Syscall::Ftruncate, Syscall::Mmap],
            weight: 20,
            much_memory: true,
            ..spec(
                "bandwidth.mmap_reread",
                "mmap reread bandwidth",
                "add up the words of 64 KiB of a mapped file in the page cache, from its start to its end over and over",
                FILE,
            )
        },
        prepare: |spec, params| {
            let length = params.sizes.memory as usize;
            let (folder, file) = mapping::file(params, length, length, mapping::WRITE)?;
            let region = Region::file(file.as_fd(), length, false)?;
            for _ in 0..SETTLES {
                std::hint::black_box(region.sum(0, length));
            }
            let sum = over(length, move |at| {
                let _ = &folder;
                std::hint::black_box(region.sum(at, PIECE));
            });
            Ok(batch::routine(moving(spec, length), sum).boxed())
        },
    },
    Probe {
        spec: memory(
            "bandwidth.copy.libc",
            "memory copy bandwidth, libc",
            "memcpy of 64 KiB from one half of the memory to the other, piece by piece, over and over",
        ),
        prepare: |spec, params| copy(spec, params, Region::copy),
    },
    Probe {
        spec: memory(
            "bandwidth.copy.hand",
            "memory copy bandwidth, by hand",
            "the same with loads and stores of 8 bytes",
        ),
        prepare: |spec, params| copy(spec, params, Region::copy_by_hand),
    },
    Probe {
        spec: memory(
            "bandwidth.memory.read",
            "memory read bandwidth",
            "add up the 8-byte words of 64 KiB of memory, piece by piece, over and over",
        ),
        prepare: |spec, params| {
            let region = Region::private(params.sizes.memory as usize, Pages::Small)?;
            let length = region.len();
            let sum = over(length, move |at| {
                std::hint::black_box(region.sum(at, PIECE));
            });
            Ok(batch::routine(moving(spec, length), sum).boxed())
        },
    },
    Probe {
        spec: memory(
            "bandwidth.memory.write",
            "memory write bandwidth",
            "store 8 bytes a time, upwards, over 64 KiB of memory, piece by piece, over and over (lmbench's bw_mem wr stores 4 bytes, \
             downwards)",
        ),
        prepare: |spec, params| {
            let region = Region::private(params.sizes.memory as usize, Pages::Small)?;
            let length = region.len();
            let fill = over(length, move |at| region.fill(at, PIECE, at as u64));
            Ok(batch::routine(moving(spec, length), fill).boxed())
        },
    },
];

/// Bytes of a page, to which buffers are aligned.
const PAGE: usize = 4096;

/// How often a file that was just written is read before it is timed: the page cache moves a page that is used again to
/// another list the first two times (mark_page_accessed), and the first pass also finds pages that nobody has read.
const SETTLES: usize = 3;

fn moving(spec: &Spec, length: usize) -> Shape {
    Shape::from_spec(spec).moving(PIECE as u64, length as u64)
}

/// Calls `work` for each piece of `length` bytes in turn, over and over.
fn over(length: usize, mut work: impl FnMut(usize)) -> impl FnMut() {
    let mut at = 0;
    move || {
        work(at);
        at = if at + 2 * PIECE > length { 0 } else { at + PIECE };
    }
}

fn copy(
    spec: &Spec,
    params: &Params,
    work: fn(&Region, &Region, usize, usize),
) -> Result<Box<dyn Routine>, Unavailable> {
    let length = params.sizes.memory as usize / 2;
    let (from, to) = (Region::private(length, Pages::Small)?, Region::private(length, Pages::Small)?);
    let copy = over(length, move |at| work(&from, &to, at, PIECE));
    Ok(batch::routine(moving(spec, 2 * length), copy).boxed())
}

/// Reads what a peer sends.
fn received(
    spec: &Spec,
    piece: usize,
    pair: impl FnOnce() -> Result<(OwnedFd, OwnedFd), CallError>,
) -> Result<Box<dyn Routine>, Unavailable> {
    let (ours, theirs) = pair()?;
    let content = vec![1; piece];
    let peer = Peer::serve(&[&ours], theirs, |theirs| file::write_all(theirs.as_fd(), &content))?;
    let (pid, mut piece, mut ahead) = (peer.pid(), vec![0; piece], 0);
    let read = move || {
        let _ = &peer;
        while ahead < STRETCH {
            match file::read(ours.as_fd(), &mut piece)? {
                0 => return Err(CallError { call: "read", errno: libc::EPIPE }),
                count => ahead += count,
            }
        }
        // What was read beyond counts for the next one.
        ahead -= STRETCH;
        Ok(())
    };
    Ok(batch::fallible(Shape::from_spec(spec).moving(STRETCH as u64, 0), read).with_peers(&[pid]).boxed())
}
