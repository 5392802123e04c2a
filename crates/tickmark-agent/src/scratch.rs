//! A directory for the files that probes open, stat and execute.

use std::fs::{DirBuilder, File};
use std::hash::{BuildHasher, RandomState};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use tickmark_probe::sys::{exec, host};

const PREFIX: &str = "tickmark-agent-";
const LOCK: &str = "lock";
const PLACES: [&str; 3] = ["/dev/shm", "/run", "/tmp"];
/// Room for the files that are read again and mapped.
const ROOM: u64 = 512 << 20;

/// Held while the agent lives; removed with everything in it when dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    made: Option<(PathBuf, File)>,
    /// True if the tiny program could be executed there.
    executable: bool,
}

impl Scratch {
    /// Makes a private directory with the tiny program in it: where there is room for large files and it can be
    /// executed, else where it can be executed, else where it can be written. Without any, probes that need a
    /// file are skipped.
    pub(crate) fn make() -> Self {
        // Memory before disks: what is measured is the kernel, and no journal makes it wait.
        let temporary = std::env::var_os("TMPDIR").map(PathBuf::from);
        let usual = PLACES.map(PathBuf::from);
        let mut best = Self { made: None, executable: false };
        let mut worth = (false, false, false);
        // TMPDIR is a wish: no other place is better.
        let wished = temporary.iter().flat_map(|place| Self::in_place(place)).next();
        if let Some(wished) = wished {
            temporary.iter().for_each(|place| sweep(place, true, &mut |_| {}));
            return wished;
        }
        for place in &usual {
            sweep(place, true, &mut |_| {});
            let Some(scratch) = Self::in_place(place) else { continue };
            let roomy = host::free_bytes(place).is_ok_and(|free| free >= ROOM);
            let this = (true, scratch.executable, scratch.executable && roomy);
            if this > worth {
                (best, worth) = (scratch, this);
            }
            if worth.2 {
                break;
            }
        }
        best
    }

    fn in_place(place: &Path) -> Option<Self> {
        // Random, and refused where it exists: nobody else can have prepared it.
        let random = RandomState::new().hash_one(std::process::id());
        let path = place.join(format!("{PREFIX}{random:016x}"));
        DirBuilder::new().mode(0o700).create(&path).ok()?;
        let mut scratch = match lock(&path) {
            Some(lock) => Self { made: Some((path.clone(), lock)), executable: false },
            None => {
                let _ = std::fs::remove_dir_all(&path);
                return None;
            }
        };
        exec::install_tiny_program(&path).ok()?;
        scratch.executable = exec::tiny_program_runs(&path);
        Some(scratch)
    }

    /// The directory.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        self.made.as_ref().map(|(path, _)| path.clone())
    }

    /// Where it is, and the number of the file system's kind (statfs(2)), for the environment record.
    pub(crate) fn describe(&self) -> Option<(String, String)> {
        let path = self.path()?;
        let kind = host::file_system(&path).map_or_else(|e| e.to_string(), kind);
        let noexec = if self.executable { "" } else { ", nothing can be executed there" };
        let place = path.parent().unwrap_or(&path).display().to_string();
        Some((place, format!("file system {kind}{noexec}")))
    }
}

/// The name of a kind of file system, by the numbers of statfs(2); others stay numbers.
fn kind(magic: i64) -> String {
    let known = [
        (0x0102_1994, "tmpfs"),
        (0xef53, "ext2/ext3/ext4"),
        (0x5846_5342, "xfs"),
        (0x9123_683e, "btrfs"),
        (0x794c_7630, "overlay"),
        (0x8584_58f6, "ramfs"),
        (0x6969, "nfs"),
        (0xf2f5_2010, "f2fs"),
        (0x2fc1_2fc1, "zfs"),
    ];
    known
        .iter()
        .find(|(number, _)| *number == magic)
        .map_or_else(|| format!("{magic:#x}"), |(_, name)| (*name).to_owned())
}

/// Makes the lock file and holds it; none where another agent took the directory for abandoned meanwhile.
fn lock(path: &Path) -> Option<File> {
    let lock = File::create_new(path.join(LOCK)).ok()?;
    lock.lock().ok()?;
    let there = std::fs::metadata(path.join(LOCK)).ok()?;
    (there.ino() == lock.metadata().ok()?.ino()).then_some(lock)
}

/// Tells of what killed agents left in all places where one may have worked, and may remove it.
pub fn sweep_all(removes: bool, tell: &mut dyn FnMut(&Path)) {
    let usual = PLACES.map(PathBuf::from);
    let temporary = std::env::var_os("TMPDIR").map(PathBuf::from).filter(|place| !usual.contains(place));
    let all = temporary.into_iter().chain(usual);
    all.for_each(|place| sweep(&place, removes, tell));
}

/// Removes a directory of ours, or that of a run in it, and the shared memory of databases below.
pub(crate) fn remove(path: &Path) {
    tickmark_load::put_away_databases(path);
    let _ = std::fs::remove_dir_all(path);
}

/// Tells of directories of ours whose lock nobody holds, and may remove them.
fn sweep(place: &Path, removes: bool, tell: &mut dyn FnMut(&Path)) {
    let own = std::fs::metadata("/proc/self").map(|status| status.uid());
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX)
            && entry.metadata().is_ok_and(|status| own.as_ref().is_ok_and(|uid| *uid == status.uid()));
        let Some(lock) = ours.then(|| File::open(entry.path().join(LOCK)).ok()).flatten() else { continue };
        // Held while the directory goes: who waits for it sees that the file is gone.
        if lock.try_lock().is_ok() {
            if removes {
                remove(&entry.path());
            }
            if !removes || !entry.path().exists() {
                tell(&entry.path());
            }
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some((path, _)) = &self.made {
            remove(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_killed_agents_left_is_removed() {
        let place = std::env::temp_dir().join(format!("scratch-test-{}", std::process::id()));
        std::fs::create_dir_all(&place).unwrap();
        let live = Scratch::in_place(&place).unwrap();
        let mut dead = Scratch::in_place(&place).unwrap();
        let left = dead.path().unwrap();
        // As a kill leaves it: the directory stays, the lock is gone.
        dead.made = None;
        let foreign = [place.join("tickmark-2026"), place.join("tickmark-agent-notes")];
        foreign.iter().for_each(|path| std::fs::create_dir_all(path).unwrap());
        sweep(&place, true, &mut |_| {});
        assert!(!left.exists());
        assert!(live.path().unwrap().join("a/b/tiny").exists());
        assert!(foreign.iter().all(|path| path.exists()), "what holds no lock file is not ours");
        drop(live);
        std::fs::remove_dir_all(&place).unwrap();
    }
}
