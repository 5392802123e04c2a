//! The password: from the environment, or from a file as libpq has it (PostgreSQL's documentation, The Password File).

use crate::Error;
use postgres::config::Host;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// What a line of the file has to fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Who {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) database: String,
    pub(crate) user: String,
}

impl Who {
    pub(crate) fn from_configuration(configuration: &postgres::Config) -> Self {
        let host = match configuration.get_hosts().first() {
            Some(Host::Tcp(name)) => name.clone(),
            // libpq calls every socket so.
            Some(Host::Unix(_)) | None => "localhost".to_owned(),
        };
        let user = configuration.get_user().unwrap_or_default().to_owned();
        let database = configuration.get_dbname().map_or_else(|| user.clone(), str::to_owned);
        Self { host, port: configuration.get_ports().first().copied().unwrap_or(5432), database, user }
    }
}

/// The password, where one is known.
pub(crate) fn known(who: &Who) -> Result<Option<String>, Error> {
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
    Ok(text.lines().find_map(|line| fits(line, who)))
}

/// The password of a line `host:port:database:user:password`, where `*` fits everything and a backslash takes a colon's meaning away.
fn fits(line: &str, who: &Who) -> Option<String> {
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
        [(host, &who.host), (port, &who.port.to_string()), (database, &who.database), (user, &who.user)];
    let all = !line.starts_with('#') && wanted.iter().all(|(field, is)| field.as_str() == "*" || field == is);
    all.then(|| password.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_libpq_reads_it() {
        let who =
            Who { host: "db".to_owned(), port: 5432, database: "ticks".to_owned(), user: "ci".to_owned() };
        assert_eq!(fits("db:5432:ticks:ci:secret", &who).as_deref(), Some("secret"));
        assert_eq!(fits(r"*:*:*:ci:a\:b\\c:d", &who).as_deref(), Some(r"a:b\c:d"));
        for other in ["#*:*:*:*:x", "db:5433:*:*:x", "db:*:*:root:x", "db:*:*", ""] {
            assert_eq!(fits(other, &who), None, "{other}");
        }
    }
}
