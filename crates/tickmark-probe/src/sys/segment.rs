//! Shared memory that PostgreSQL leaves when it is killed: a segment of System V, and one of POSIX that the first one names.

use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// First bytes of the segment (PGShmemHeader of PostgreSQL's storage/pg_shmem.h, the same since version 9.4).
#[repr(C)]
#[derive(Clone, Copy)]
struct Header {
    magic: i32,
    creator: libc::pid_t,
    total: usize,
    free: usize,
    /// The number in the name of the POSIX segment.
    control: u32,
    index: usize,
    /// Of the data folder.
    device: libc::dev_t,
    inode: libc::ino_t,
}

const MAGIC: i32 = 679_834_894;

/// Processes that lost their postmaster are gone before.
const ENDS: Duration = Duration::from_secs(1);

/// Removes the shared memory of a database's data folder that nobody uses any more, before the folder goes. What is not proved to
/// be this folder's is left alone: its number stands in the folder's file, and the folder's own in it.
pub fn remove_of_postgres(data: &Path) {
    let text = beginning(&data.join("postmaster.pid"), 4 << 10).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    // A line of two numbers: key and segment.
    let segment = text.lines().nth(6).and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    let (Some(segment), Ok(folder)) = (segment, std::fs::metadata(data)) else { return };
    let Some((mut header, mut used)) = segment_header(segment) else { return };
    let is_own = (header.magic, header.device, header.inode) == (MAGIC, folder.dev(), folder.ino());
    let until = Instant::now() + ENDS;
    while is_own && used && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
        let Some(now) = segment_header(segment) else { return };
        (header, used) = now;
    }
    if !is_own || used {
        return;
    }
    let named = |number: u32| Path::new("/dev/shm").join(format!("PostgreSQL.{number}"));
    let is_ours = |path: &Path| {
        std::fs::symlink_metadata(path).is_ok_and(|it| it.is_file() && it.uid() == folder.uid())
    };
    let control = named(header.control);
    if is_ours(&control) {
        let listed = beginning(&control, 1 << 20).map(|bytes| listed(&bytes)).unwrap_or_default();
        let all = listed.into_iter().map(named).filter(|path| is_ours(path));
        all.chain([control.clone()]).for_each(|path| {
            let _ = std::fs::remove_file(path);
        });
    }
    // SAFETY: nothing is written to: the segment is marked as removed.
    unsafe { libc::shmctl(segment, libc::IPC_RMID, std::ptr::null_mut()) };
}

/// So many bytes of a file that another user may have put there: no link is followed, and a pipe is not waited for.
fn beginning(path: &Path, most: u64) -> std::io::Result<Vec<u8>> {
    let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW;
    let file = std::fs::File::options().read(true).custom_flags(flags).open(path)?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).map(|_| bytes)
}

/// The numbers of the other POSIX segments, as that of control lists them (dsm_control_header of PostgreSQL's storage/ipc/dsm.c): three
/// words and 4 bytes of padding, then 40 bytes for each, of which the first word is its number and the second how many use it.
fn listed(control: &[u8]) -> Vec<u32> {
    const MAGIC: u32 = 0x9a50_3d32;
    let word = |at: usize| {
        control
            .get(at..at + 4)
            .map_or(0, |bytes| u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    };
    let count = if word(0) == MAGIC { word(4).min(10_000) as usize } else { 0 };
    let items = (0..count).map(|item| 16 + 40 * item);
    items.filter(|at| word(at + 4) > 0).map(word).collect()
}

/// The same for all databases below a folder.
pub fn remove_below(path: &Path) {
    databases(path, 2).iter().for_each(|data| remove_of_postgres(data));
}

/// The data folders of databases, so many levels below at most.
fn databases(path: &Path, levels: u32) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(path).into_iter().flatten().flatten();
    let folders = folders.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders
        .flat_map(|entry| match (entry.file_name() == "data", levels) {
            (true, _) => vec![entry.path()],
            (false, 0) => Vec::new(),
            (false, _) => databases(&entry.path(), levels - 1),
        })
        .collect()
}

/// First bytes of a segment, and whether anybody else has it attached; none where it cannot be read.
fn segment_header(segment: libc::c_int) -> Option<(Header, bool)> {
    // SAFETY: all zeros are a value of it; it is filled below.
    let mut status: libc::shmid_ds = unsafe { std::mem::zeroed() };
    // SAFETY: a structure of this kind, which outlives the call.
    if unsafe { libc::shmctl(segment, libc::IPC_STAT, &raw mut status) } != 0
        || status.shm_segsz < size_of::<Header>()
    {
        return None;
    }
    // SAFETY: the kernel chooses where; it is only read.
    let at = unsafe { libc::shmat(segment, std::ptr::null(), libc::SHM_RDONLY) };
    if at.addr() == usize::MAX {
        return None;
    }
    // SAFETY: the segment is long enough, at the beginning of a page, and any bytes are a value of the structure.
    let header = unsafe { at.cast::<Header>().read() };
    // SAFETY: what was attached above, and is not used below.
    unsafe { libc::shmdt(at) };
    Some((header, status.shm_nattch > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A segment as PostgreSQL leaves it for a data folder.
    fn left(folder: &Path, of: &Path) -> libc::c_int {
        let own = std::fs::metadata(of).unwrap();
        // SAFETY: a new segment of our own.
        let segment = unsafe { libc::shmget(libc::IPC_PRIVATE, 56, libc::IPC_CREAT | 0o600) };
        assert!(segment >= 0);
        let header = Header {
            magic: MAGIC,
            creator: 1,
            total: 56,
            free: 0,
            control: 0,
            index: 0,
            device: own.dev(),
            inode: own.ino(),
        };
        // SAFETY: of this length at least, and attached for as long as it is written to.
        unsafe {
            let at = libc::shmat(segment, std::ptr::null(), 0);
            at.cast::<Header>().write(header);
            libc::shmdt(at);
        }
        let text = format!("1\n{}\n0\n5432\n/tmp\n\n  12345  {segment}\n", folder.display());
        std::fs::write(folder.join("postmaster.pid"), text).unwrap();
        segment
    }

    fn is_there(segment: libc::c_int) -> bool {
        segment_header(segment).is_some()
    }

    #[test]
    fn a_segment_of_the_folder_is_removed_and_that_of_another_stays() {
        let folder = std::env::temp_dir().join(format!("segment-test-{}", std::process::id()));
        let other = folder.join("other");
        std::fs::create_dir_all(&other).unwrap();
        let own = left(&folder, &folder);
        remove_of_postgres(&folder);
        assert!(!is_there(own));
        let foreign = left(&folder, &other);
        remove_of_postgres(&folder);
        assert!(is_there(foreign), "another folder's");
        std::fs::copy(folder.join("postmaster.pid"), other.join("postmaster.pid")).unwrap();
        remove_of_postgres(&other);
        assert!(!is_there(foreign), "and gone with its own");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
