//! The kernel's folder of tracepoints.

use super::{CallError, named};
use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

/// Where tracefs is mounted, by the kernel's own documentation.
const MOUNTED: &str = "/sys/kernel/tracing";

/// tracefs, as it is mounted, or a mount that nobody else sees.
#[derive(Debug)]
pub(super) struct Tracefs(OwnedFd);

impl Tracefs {
    /// Opens it; `needs` is a file or folder that a mounted one has.
    ///
    /// # Errors
    /// EPERM or EACCES without root, ENODEV where the kernel has none.
    pub(super) fn open(needs: &str) -> Result<Self, CallError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        if let Ok(there) = rustix::fs::open(MOUNTED, flags, Mode::empty())
            && rustix::fs::statat(&there, needs, AtFlags::empty()).is_ok()
        {
            return Ok(Self(there));
        }
        let mounted = || {
            let made = rustix::mount::fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
            rustix::mount::fsconfig_create(&made)?;
            rustix::mount::fsmount(&made, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
        };
        mounted().map(Self).map_err(named("tracefs"))
    }

    /// Opens a file in it.
    pub(super) fn file(&self, name: &str, flags: OFlags) -> Result<File, CallError> {
        let file = rustix::fs::openat(&self.0, name, flags | OFlags::CLOEXEC, Mode::empty());
        file.map(File::from).map_err(named("tracefs"))
    }

    pub(super) fn read(&self, name: &str) -> Result<String, CallError> {
        let mut text = String::new();
        let done = self.file(name, OFlags::RDONLY)?.read_to_string(&mut text);
        done.map_err(|error| CallError::from_io("tracefs", &error))?;
        Ok(text)
    }

    /// Number of a tracepoint such as `irq/softirq_entry`, by which it is opened.
    pub(super) fn event(&self, name: &str) -> Result<u64, CallError> {
        let id = self.read(&format!("events/{name}/id"))?;
        id.trim().parse().map_err(|_| CallError { call: "tracefs", errno: libc::EINVAL })
    }

    /// Names in a folder, ascending.
    pub(super) fn names(&self, folder: &str) -> Vec<String> {
        let Ok(folder) = self.file(folder, OFlags::RDONLY | OFlags::DIRECTORY) else { return Vec::new() };
        let entries = Dir::read_from(folder).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

/// Place of a field in a tracepoint's record: offset and size in bytes.
pub(super) type Field = (usize, usize);

/// Finds a field in the text of a tracepoint's `format` file: `field:int irq; offset:8; size:4; signed:1;`.
pub(super) fn field(format: &str, name: &str) -> Option<Field> {
    let of = |line: &str| {
        let mut parts = line.trim().split(';').map(str::trim);
        let declaration = parts.next()?.strip_prefix("field:")?;
        let own = declaration.rsplit(' ').next()?.split('[').next()?;
        let mut number = |key: &str| parts.next()?.strip_prefix(key)?.parse::<usize>().ok();
        let (offset, size) = (number("offset:")?, number("size:")?);
        (own.trim_start_matches('*') == name).then_some((offset, size))
    };
    format.lines().find_map(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_in_a_format() {
        let format = "name: irq_handler_entry\nID: 100\nformat:\n\
            \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
            \tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n\
            \tfield:char prev_comm[16];\toffset:12;\tsize:16;\tsigned:0;\n\
            \tfield:void *function;\toffset:32;\tsize:8;\tsigned:0;\n\
            \tfield:__data_loc char[] name;\toffset:28;\tsize:4;\tsigned:0;\n";
        assert_eq!(field(format, "irq"), Some((8, 4)));
        assert_eq!(field(format, "prev_comm"), Some((12, 16)));
        assert_eq!(field(format, "function"), Some((32, 8)));
        assert_eq!(field(format, "name"), Some((28, 4)));
        assert_eq!(field(format, "vec"), None);
    }
}
