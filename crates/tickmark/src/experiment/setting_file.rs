//! Files of the kernel that hold a setting.

use crate::error::Error;

/// A file's value: of a choice such as `always [madvise] never` what is in brackets.
pub(super) fn read(path: &std::path::Path) -> Result<String, Error> {
    let text = std::fs::read_to_string(path).map_err(Error::store("read", path))?;
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(chosen, _)| chosen);
    Ok(chosen.map_or_else(|| text.split_whitespace().collect::<Vec<_>>().join(" "), str::to_owned))
}

pub(super) fn write(path: &std::path::Path, value: &str) -> Result<(), Error> {
    // In one write, as the kernel takes it.
    std::fs::OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(path)
        .and_then(|mut file| std::io::Write::write_all(&mut file, value.as_bytes()))
        .map_err(|source| Error::Setting { path: path.to_owned(), value: value.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn a_choice_is_what_is_in_brackets() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("enabled");
        std::fs::write(&path, "always [madvise] never\n").unwrap();
        assert_eq!(read(&path).unwrap(), "madvise");
        std::fs::write(&path, "4096\t131072  6291456\n").unwrap();
        assert_eq!(read(&path).unwrap(), "4096 131072 6291456");
    }
}
