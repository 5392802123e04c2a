//! Files of the kernel that hold a setting.

use crate::Error;
use std::path::{Path, PathBuf};

/// The one path of a file of the kernel, whatever way it was named.
///
/// # Errors
/// There is none, or it is no file of /sys or /proc: what else there is holds more than a setting.
pub(crate) fn of_kernel(path: &Path) -> Result<PathBuf, Error> {
    let real = std::fs::canonicalize(path).map_err(Error::file("read", path))?;
    if !real.starts_with("/sys") && !real.starts_with("/proc") {
        return Err(Error::Usage(format!(
            "{} is no file of the kernel: a knob is a file below /sys or /proc, or what a set command of a FILE.toml names",
            path.display()
        )));
    }
    if !real.is_file() {
        return Err(Error::Usage(format!("{} is no file", path.display())));
    }
    Ok(real)
}

/// All that it holds.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(Error::file("read", path))
}

/// A file's value as a person gives it: of a choice such as `always [madvise] never` what is in brackets.
pub(crate) fn read(path: &Path) -> Result<String, Error> {
    Ok(value(&bytes(path)?))
}

/// The same of what a file holds.
pub(crate) fn value(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    chosen(&text).map_or_else(|| text.split_whitespace().collect::<Vec<_>>().join(" "), str::to_owned)
}

/// The word in brackets, in a file that lists all choices.
fn chosen(text: &str) -> Option<&str> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let inside = |word: &&'_ str| word.len() > 2 && word.starts_with('[') && word.ends_with(']');
    let word = words.iter().find(|word| inside(word)).filter(|_| words.len() > 1)?;
    Some(&word[1..word.len() - 1])
}

pub(crate) fn write(path: &Path, value: &[u8]) -> Result<(), Error> {
    // In one write, as the kernel takes it.
    std::fs::OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(path)
        .and_then(|mut file| std::io::Write::write_all(&mut file, value))
        .map_err(|source| Error::Setting {
            path: path.to_owned(),
            value: String::from_utf8_lossy(value).into_owned(),
            source,
        })
}

/// Where cgroups are, which come and go with what runs in them.
const CGROUPS: &str = "/sys/fs/cgroup";

/// True if a file was of a cgroup that has gone, where cgroups can be seen.
pub(crate) fn is_gone(path: &Path) -> bool {
    let has_groups =
        || ["cgroup.controllers", "cpu"].iter().any(|name| Path::new(CGROUPS).join(name).exists());
    path.starts_with(CGROUPS) && path.try_exists().is_ok_and(|exists| !exists) && has_groups()
}

/// Writes what a file held, byte for byte; where the kernel does not take it so, of a choice what was chosen. A cgroup that has gone took
/// its settings with it.
///
/// # Errors
/// It does not hold the same bytes afterwards.
pub(crate) fn put_back(path: &Path, held: &[u8]) -> Result<(), Error> {
    if is_gone(path) || bytes(path).is_ok_and(|now| same(&now, held)) {
        return Ok(());
    }
    let whole = write(path, held);
    if whole.is_err() || !same(&bytes(path)?, held) {
        match chosen(&String::from_utf8_lossy(held)) {
            Some(chosen) => write(path, chosen.as_bytes())?,
            None => whole?,
        }
    }
    let now = bytes(path)?;
    if same(&now, held) {
        return Ok(());
    }
    let (now, held) = (value(&now), value(held));
    Err(Error::Refused(format!("{} is {now}, not {held}", path.display())))
}

/// True if a file holds what it held. A journal of an earlier version kept the value without the rest of its line.
fn same(now: &[u8], held: &[u8]) -> bool {
    now == held || (!held.ends_with(b"\n") && value(now).as_bytes() == held)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_has_gone_needs_nothing_and_another_file_does() {
        put_back(Path::new("/sys/fs/cgroup/tickmark-none/cpu.max"), b"max 100000").unwrap();
        assert!(put_back(Path::new("/proc/sys/tickmark-none"), b"1").is_err());
    }

    #[test]
    fn a_choice_is_what_is_in_brackets() {
        assert_eq!(value(b"always [madvise] never\n"), "madvise");
        assert_eq!(value(b"4096\t131072  6291456\n"), "4096 131072 6291456");
        assert_eq!(value(b"[only]\n"), "[only]");
        assert_eq!(value(b"|/usr/bin/core%p [ %e\n"), "|/usr/bin/core%p [ %e");
    }

    #[test]
    fn what_was_there_comes_back_byte_for_byte() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("core_pattern");
        let held = b"|/usr/bin/core  %p\t[a]  two \xff words\n\n";
        std::fs::write(&path, "core\n").unwrap();
        put_back(&path, held).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), held);
    }

    #[test]
    fn only_files_of_the_kernel_are_knobs_and_each_has_one_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("configuration");
        std::fs::write(&path, "a b\n").unwrap();
        assert!(of_kernel(&path).unwrap_err().to_string().contains("no file of the kernel"));
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/proc/sys/kernel/ostype", &link).unwrap();
        let spelt =
            ["/proc/sys/kernel/ostype", "/proc/sys/vm/../kernel/ostype", "/proc/sys//kernel/./ostype"];
        for path in spelt.into_iter().map(Path::new).chain([link.as_path()]) {
            assert_eq!(of_kernel(path).unwrap(), Path::new("/proc/sys/kernel/ostype"));
        }
        assert!(of_kernel(Path::new("/proc/sys/kernel")).is_err(), "a folder");
    }
}
