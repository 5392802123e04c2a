//! Files that may have been put there by anybody: opened without waiting for whoever feeds a pipe, and only if they are regular ones.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Bytes of a small file (meta.json, a list, a setting) that are read at most.
pub const SMALL: u64 = 64 << 20;

/// Opens a regular file. A pipe is not waited for, and a device is neither opened nor read.
///
/// # Errors
/// There is none, it is no regular file, or the system refuses it.
pub fn open_regular(path: &Path, options: &mut OpenOptions) -> Result<File> {
    let regular = |is: std::fs::Metadata| match is.is_file() {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::InvalidInput, "it is no regular file")),
    };
    // Opening some devices does something; what is not there may be made.
    match std::fs::metadata(path) {
        Ok(is) => regular(is)?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let file = options.custom_flags(libc::O_NONBLOCK).open(path)?;
    regular(file.metadata()?)?;
    Ok(file)
}

/// Reads a whole regular file of at most so many bytes.
///
/// # Errors
/// As [`open_regular`], and a file that is larger.
pub fn read_regular(path: &Path, most: u64) -> Result<Vec<u8>> {
    let file = open_regular(path, OpenOptions::new().read(true))?;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(Error::new(ErrorKind::FileTooLarge, format!("it has more than {most} bytes"))),
        false => Ok(bytes),
    }
}

/// Writes a file under another name first: it is there whole or not at all.
///
/// # Errors
/// The system's error; the previous file of that name stays.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".draft");
    let draft = path.with_file_name(name);
    // What a killed writer left, and what another put there, is not written through.
    let _ = std::fs::remove_file(&draft);
    let mut file = File::create_new(&draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&draft, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_and_devices_are_refused_without_waiting_and_large_files_without_reading() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        for path in [&at("pipe"), Path::new("/dev/zero"), folder.path()] {
            let why = read_regular(path, 10).unwrap_err().to_string();
            assert!(why.contains("no regular file"), "{why}");
            assert!(open_regular(path, OpenOptions::new().append(true).create(true)).is_err());
        }
        std::fs::write(at("file"), "0123456789").unwrap();
        assert_eq!(read_regular(&at("file"), 10).unwrap(), b"0123456789");
        assert_eq!(read_regular(&at("file"), 9).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(read_regular(&at("none"), 9).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
