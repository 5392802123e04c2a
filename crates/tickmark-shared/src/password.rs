//! The password: from the environment, or from a file as libpq has it (PostgreSQL's documentation, The Password File).

use crate::Error;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// The connection that a line of the file has to fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    pub(crate) host: &'a str,
    pub(crate) port: u16,
    pub(crate) database: &'a str,
    pub(crate) user: &'a str,
}

/// The password, where one is known.
pub(crate) fn find(entry: &Entry<'_>) -> Result<Option<String>, Error> {
    if let Ok(password) = std::env::var("PGPASSWORD") {
        return Ok(Some(password));
    }
    let named = std::env::var_os("PGPASSFILE").map(PathBuf::from);
    let usual = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".pgpass"));
    let Some(path) = named.clone().or_else(usual) else { return Ok(None) };
    let text = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && named.is_none() => return Ok(None),
        text => text.map_err(Error::file("read", &path))?,
    };
    let mode = std::fs::metadata(&path).map_err(Error::file("read", &path))?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(Error::Address(format!(
            "others may read {}, which has passwords: chmod 600",
            path.display()
        )));
    }
    Ok(text.lines().find_map(|line| password_of_line(line, entry)))
}

/// The password of a line `host:port:database:user:password`, where `*` fits everything and a backslash takes a colon's meaning away.
fn password_of_line(line: &str, entry: &Entry<'_>) -> Option<String> {
    let mut fields = vec![String::new()];
    let mut letters = line.trim_end_matches('\r').chars();
    while let Some(letter) = letters.next() {
        let last = fields.len() - 1;
        match letter {
            ':' if fields.len() < 5 => fields.push(String::new()),
            '\\' => fields[last].extend(letters.next()),
            other => fields[last].push(other),
        }
    }
    let [host, port, database, user, password] = &fields[..] else { return None };
    let wanted =
        [(host, entry.host), (port, &entry.port.to_string()), (database, entry.database), (user, entry.user)];
    let all = !line.starts_with('#') && wanted.iter().all(|(field, is)| *field == "*" || field == is);
    all.then(|| password.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_libpq_reads_it() {
        let entry = Entry { host: "db", port: 5432, database: "ticks", user: "ci" };
        assert_eq!(password_of_line("db:5432:ticks:ci:secret", &entry).as_deref(), Some("secret"));
        assert_eq!(password_of_line(r"*:*:*:ci:a\:b\\c:d", &entry).as_deref(), Some(r"a:b\c:d"));
        for other in ["#*:*:*:*:x", "db:5433:*:*:x", "db:*:*:root:x", "db:*:*", ""] {
            assert_eq!(password_of_line(other, &entry), None, "{other}");
        }
    }
}
