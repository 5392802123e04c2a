//! Where a file goes that is written whole or not at all.

use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Links that are followed before a path is taken for a loop; the kernel follows as many (path_resolution(7)).
const LINKS: usize = 40;

/// A path that is being written. A regular file gets a draft beside it, which takes its name at the end; a device, a pipe and a
/// descriptor are written into as they stand, since a rename would replace them.
pub struct Destination {
    /// The file that is written in the end: of a link, its target.
    path: PathBuf,
    /// Absent where the path itself is open.
    draft: Option<PathBuf>,
}

impl Destination {
    /// Opens a path for writing.
    ///
    /// # Errors
    /// A folder, a disk, or what the system refuses.
    pub fn create(path: &Path) -> Result<(Self, File)> {
        let path = target(path)?;
        let is = match std::fs::metadata(&path) {
            Ok(is) => Some(is),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let kind = is.as_ref().map(std::fs::Metadata::file_type);
        if kind.is_some_and(|kind| kind.is_dir()) {
            return Err(Error::new(ErrorKind::IsADirectory, "it is a folder; give the name of a file"));
        }
        if kind.is_some_and(|kind| kind.is_block_device()) {
            return Err(Error::new(ErrorKind::InvalidInput, "it is a disk, which is not overwritten"));
        }
        if kind.is_some_and(|kind| !kind.is_file()) || is_descriptor(&path) {
            // What stands in a file that a descriptor has open stays: `> file -o /dev/stdout`.
            let file = OpenOptions::new().append(true).open(&path)?;
            return Ok((Self { path, draft: None }, file));
        }
        // Random: neither what a killed one left nor what another put there is in its way, and however long the name is.
        let random = RandomState::new().hash_one(std::process::id());
        let draft = path.with_file_name(format!(".tickmark-{random:016x}.draft"));
        let file = OpenOptions::new().write(true).create_new(true).open(&draft)?;
        let made = Self { path, draft: Some(draft) };
        if let Some(is) = is {
            file.set_permissions(is.permissions())?;
        }
        Ok((made, file))
    }

    /// Gives what was written its name.
    ///
    /// # Errors
    /// The system's error; the previous file of that name stays.
    pub fn finish(mut self, file: &File) -> Result<()> {
        let Some(draft) = &self.draft else { return Ok(()) };
        file.sync_all()?;
        std::fs::rename(draft, &self.path)?;
        self.draft = None;
        Ok(())
    }
}

impl Drop for Destination {
    fn drop(&mut self) {
        if let Some(draft) = &self.draft {
            let _ = std::fs::remove_file(draft);
        }
    }
}

/// Writes a whole file.
///
/// # Errors
/// As [`Destination::create`] and [`Destination::finish`] have them.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let (destination, mut file) = Destination::create(path)?;
    std::io::Write::write_all(&mut file, bytes)?;
    destination.finish(&file)
}

/// The end of a chain of links, whether or not something is there; a descriptor is not followed into what it has open.
fn target(path: &Path) -> Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        if is_descriptor(&path) {
            return Ok(path);
        }
        match std::fs::read_link(&path) {
            // A relative target begins at the folder of its link.
            Ok(next) => path = path.parent().unwrap_or(Path::new("")).join(next),
            Err(_) => return Ok(path),
        }
    }
    Err(Error::new(ErrorKind::InvalidInput, "too many links"))
}

/// True if a path names an open file of a process: `/proc/self/fd/1`, to which `/dev/stdout` and `/dev/fd` lead.
fn is_descriptor(path: &Path) -> bool {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    folder.is_some_and(|folder| folder.starts_with("/proc") && folder.ends_with("fd"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_link_stays_and_its_target_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "before").unwrap();
        std::fs::set_permissions(at("file"), PermissionsExt::from_mode(0o600)).unwrap();
        symlink("file", at("link")).unwrap();
        symlink("link", at("link of a link")).unwrap();
        write(&at("link of a link"), b"after").unwrap();
        assert!(at("link").is_symlink() && at("link of a link").is_symlink());
        assert_eq!(std::fs::read_to_string(at("file")).unwrap(), "after");
        assert_eq!(at("file").metadata().unwrap().permissions().mode() & 0o777, 0o600);
        symlink("not yet", at("dangling")).unwrap();
        write(&at("dangling"), b"made").unwrap();
        assert_eq!(std::fs::read_to_string(at("not yet")).unwrap(), "made");
        symlink("loop", at("loop")).unwrap();
        assert!(write(&at("loop"), b"").unwrap_err().to_string().contains("links"));
        let left = std::fs::read_dir(folder.path()).unwrap().flatten();
        assert_eq!(left.filter(|entry| entry.path().extension().is_some_and(|e| e == "draft")).count(), 0);
    }

    #[test]
    fn devices_pipes_and_descriptors_are_written_into() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(write(Path::new("/dev/full"), b"x").unwrap_err().kind(), ErrorKind::StorageFull);
        write(Path::new("/dev/null"), b"x").unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = {
            let pipe = pipe.clone();
            std::thread::spawn(move || std::fs::read(pipe).unwrap())
        };
        write(&pipe, b"through").unwrap();
        assert_eq!(reader.join().unwrap(), b"through");
        assert!(std::fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
        let mut own = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut own, b"before, ").unwrap();
        let descriptor = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&own));
        write(Path::new(&descriptor), b"after").unwrap();
        std::io::Seek::rewind(&mut own).unwrap();
        assert_eq!(std::io::read_to_string(own).unwrap(), "before, after");
        assert!(write(folder.path(), b"").unwrap_err().to_string().contains("folder"));
    }

    #[test]
    fn what_had_the_name_stays_where_writing_ends_early() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "before").unwrap();
        drop(Destination::create(&path).unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "before");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
