//! The address of a shared store: a subset of libpq's connection URIs (PostgreSQL's documentation, Connection URIs).

use crate::Error;
use tickmark_database::Address;

/// The port of a server whose address has none.
const PORT: u16 = 5432;

/// A parsed address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Url {
    /// The host's name, or the folder of a socket, which begins with a slash; empty where the address has none.
    host: String,
    port: Option<u16>,
    pub(crate) user: Option<String>,
    pub(crate) database: Option<String>,
}

impl Url {
    /// Parses `postgres://[USER@][HOST[:PORT]]/[DATABASE][?NAME=VALUE&...]`.
    ///
    /// # Errors
    /// A password, encryption, several hosts, or a parameter that is not supported; never with more of the address.
    pub(crate) fn parse(address: &str) -> Result<Self, Error> {
        let wrong = || {
            Error::Address(
                "give postgres://USER@HOST/DATABASE, or postgres:///DATABASE?host=/FOLDER for a socket"
                    .to_owned(),
            )
        };
        let (_, rest) = address.split_once("://").ok_or_else(wrong)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        // A slash in a password that is not written as %2F would end the host.
        if user.is_some_and(|user| user.contains(':')) || path.contains('@') {
            return Err(password());
        }
        // An IPv6 address stands in brackets.
        let end = host.rfind(']').unwrap_or(0);
        let (host, port) = match host[end..].split_once(':') {
            Some((more, port)) => (&host[..end + more.len()], Some(port.to_owned())),
            None => (host, None),
        };
        let decoded = |text: &str| percent_decoded(text).ok_or_else(wrong);
        let mut url = Self {
            host: decoded(host.trim_start_matches('[').trim_end_matches(']'))?,
            port: None,
            user: user.map(decoded).transpose()?.filter(|user| !user.is_empty()),
            database: Some(decoded(path)?).filter(|name| !name.is_empty()),
        };
        let mut given = port;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or_else(wrong)?;
            let value = decoded(value)?;
            match name {
                "host" => url.host = value,
                "port" => given = Some(value),
                "user" => url.user = Some(value),
                "dbname" => url.database = Some(value),
                "password" => return Err(password()),
                "sslmode" if matches!(value.as_str(), "disable" | "allow" | "prefer") => {}
                "sslmode" => {
                    return Err(Error::Address(format!(
                        "sslmode={value:.20}: connections to a team's store are not encrypted; reach it by a socket, a tunnel (ssh -L) or a private network, and leave sslmode away"
                    )));
                }
                _ => {
                    return Err(Error::Address(format!(
                        "{name:.40} in the address is not supported; host, port, user, dbname and sslmode are"
                    )));
                }
            }
        }
        if url.host.contains(',') {
            return Err(Error::Address(
                "several hosts in one address are not supported: give one".to_owned(),
            ));
        }
        url.port = given.map(|port| port.parse().map_err(|_| wrong())).transpose()?;
        if url.port.is_none() && !host.is_empty() {
            url.port = Some(PORT);
        }
        Ok(url)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port.unwrap_or(PORT)
    }

    /// Where the server listens.
    pub(crate) fn server(&self) -> Address {
        match self.host.as_str() {
            "" => Address::Host("localhost".to_owned(), self.port()),
            folder if folder.starts_with('/') => {
                Address::Socket(std::path::Path::new(folder).join(format!(".s.PGSQL.{}", self.port())))
            }
            name => Address::Host(name.to_owned(), self.port()),
        }
    }

    /// The host as the file of passwords and messages name it: libpq calls every socket localhost.
    pub(crate) fn host(&self) -> &str {
        if self.host.is_empty() || self.host.starts_with('/') { "localhost" } else { &self.host }
    }

    /// Text that differs between servers: the folders of copies are named by its hash, so it stays as it is.
    pub(crate) fn identity(&self, database: &str, user: &str) -> String {
        let kind = if self.host.starts_with('/') { "Unix" } else { "Tcp" };
        let hosts = if self.host.is_empty() { String::new() } else { format!("{kind}({:?})", self.host) };
        let ports = self.port.map(|port| port.to_string()).unwrap_or_default();
        format!("[{hosts}]\n[]\n[{ports}]\n{database}\n{user}")
    }
}

fn password() -> Error {
    Error::Address(
        "no password in the address, which the list of processes shows: give it in PGPASSWORD, or in the file that PGPASSFILE names (~/.pgpass)".to_owned(),
    )
}

/// Text with `%41` for `A`; none where that is no UTF-8.
fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, more)) = rest.split_first() {
        if byte == b'%' {
            let (digits, more) =
                more.split_at_checked(2).filter(|(two, _)| two.iter().all(u8::is_ascii_hexdigit))?;
            bytes.push(u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?);
            rest = more;
        } else {
            bytes.push(byte);
            rest = more;
        }
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(address: &str) -> String {
        Url::parse(address).unwrap_err().to_string()
    }

    #[test]
    fn an_address_is_read_as_libpq_reads_it() {
        let host = |name: &str, port| Address::Host(name.to_owned(), port);
        for (address, server, user, database) in [
            ("postgres://ci@db/ticks", host("db", 5432), Some("ci"), Some("ticks")),
            ("postgresql://db:6000", host("db", 6000), None, None),
            ("postgres://a%40b@[::1]:7/x%2fy?sslmode=prefer", host("::1", 7), Some("a@b"), Some("x/y")),
            ("postgres:///t?host=/run&port=9", Address::Socket("/run/.s.PGSQL.9".into()), None, Some("t")),
            ("postgres://%2Frun/t", Address::Socket("/run/.s.PGSQL.5432".into()), None, Some("t")),
            ("postgres://?user=me&dbname=d", host("localhost", 5432), Some("me"), Some("d")),
        ] {
            let url = Url::parse(address).unwrap();
            assert_eq!(
                (url.server(), url.user.as_deref(), url.database.as_deref()),
                (server, user, database)
            );
        }
    }

    #[test]
    fn what_is_not_supported_is_said_without_a_secret() {
        for address in
            ["postgres://me:secret@db/x", "postgres://me:77/secret@db/x", "postgres://db/x?password=secret"]
        {
            let said = refusal(address);
            assert!(said.contains("no password in the address") && !said.contains("secret"), "{said}");
        }
        assert!(refusal("postgres://db/x?sslmode=require").contains("not encrypted"));
        assert!(refusal("postgres://a,b/x").contains("several hosts"));
        assert!(refusal("postgres://db/x?target_session_attrs=any").contains("target_session_attrs"));
        for address in [
            "postgres://db:port/x",
            "postgres://db/%zz",
            "postgres://db/%+1",
            "postgres://db/x?host",
            "postgres://db/%00",
        ] {
            assert!(refusal(address).contains("give postgres://"), "{address}");
        }
    }
}
