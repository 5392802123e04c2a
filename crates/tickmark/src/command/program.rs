//! Programs that a user names, looked for before anything is measured.

use crate::error::Error;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The file of a program, as the shell would find it.
///
/// # Errors
/// There is none, or it cannot be executed: a command that cannot start is no measurement.
pub(super) fn find(name: &str) -> Result<PathBuf, Error> {
    let runs =
        |file: &PathBuf| file.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    if name.contains('/') {
        let file = PathBuf::from(name);
        return match file.metadata() {
            Ok(_) if runs(&file) => Ok(file),
            Ok(_) => Err(Error::Usage(format!("{name} is no program that can be executed"))),
            Err(error) => Err(Error::Usage(format!("no program {name}: {error}"))),
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(runs);
    let here = Path::new(name).is_file();
    found.ok_or_else(|| {
        let hint = if here { format!("; ./{name} is one here") } else { String::new() };
        Error::Usage(format!("no program {name} in PATH{hint}"))
    })
}
