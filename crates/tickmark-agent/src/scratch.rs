//! A directory for the files that probes open, stat and execute.

use std::path::{Path, PathBuf};

/// Removed with everything in it when dropped.
#[derive(Debug)]
pub(crate) struct Scratch(Option<PathBuf>);

impl Scratch {
    /// Makes a directory `tickmark-PID/files` where files may be made, and removes those that killed
    /// agents left behind. None where no place can be written to: probes that need one are skipped.
    pub(crate) fn make() -> Self {
        let temporary = std::env::temp_dir();
        let places = [temporary.as_path(), Path::new("/dev/shm"), Path::new("/run")];
        let made = places.iter().find_map(|place| {
            sweep(place);
            let path = place.join(format!("tickmark-{}", std::process::id()));
            std::fs::create_dir_all(path.join("files")).ok().map(|()| path)
        });
        Self(made)
    }

    pub(crate) fn path(&self) -> Option<PathBuf> {
        self.0.as_ref().map(|path| path.join("files"))
    }
}

/// Removes directories of agents whose process is gone. Without /proc none can be told to be gone.
fn sweep(place: &Path) {
    if !Path::new("/proc/self").exists() {
        return;
    }
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|n| n.strip_prefix("tickmark-")).and_then(|n| n.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = std::fs::remove_dir_all(path);
        }
    }
}
