//! Transactions of databases.

use crate::cli::{Format, Sql};
use crate::command::http::{QUICK, show};
use crate::command::run::{measured_one, saved};
use crate::error::{Code, Error};
use tickmark_analysis::http;
use tickmark_drive::plan;
use tickmark_probe::sys::limits::allowed_cpus;
use tickmark_store::{Recording, Store};
use tickmark_wire::{Arguments, Nanos, Offer, names};

/// How long a run measures and how many there are.
const USUAL: (i64, u32) = (4_000_000_000, 10);

pub(in crate::command) fn run(store: &Store, options: &Sql) -> Result<Code, Error> {
    let format = options.output.format;
    if let Some(name) = &options.of {
        let is_sql = |recording: &Recording| !http::summarize_loads(recording, names::SQL).is_empty();
        return show(&store.find_usable(name, &is_sql)?, names::SQL, format);
    }
    let offers = offers(options)?;
    let (each, runs) = if options.quick { QUICK } else { USUAL };
    let (each, runs) = (options.duration.map_or(each, Nanos::get), options.runs.unwrap_or(runs));
    let all = Nanos::new(each.saturating_mul(i64::from(runs) * offers.len() as i64));
    let plan = plan::make(&offers, runs, Some(all), (&options.settings).into(), false, &mut rand::rng());
    let (recording, stopped) = measured_one(store, options.name.as_deref(), plan, &["sql".to_owned()])?;
    let code = show(&recording, names::SQL, format)?;
    if format == Format::Text {
        saved(&recording, stopped, "sql --of")?;
    }
    Ok(if stopped { code.worse(Code::Partly) } else { code })
}

/// Each combination that is asked for.
fn offers(options: &Sql) -> Result<Vec<Offer>, Error> {
    let (servers, whose) = match &options.url {
        Some(url) => {
            let (server, arguments) = there(url, options)?;
            (vec![server], arguments)
        }
        None => (options.start.clone(), Vec::new()),
    };
    let usual = if allowed_cpus().is_ok_and(|cpus| cpus.len() > 1) { "across" } else { "same" };
    let mut offers = Vec::new();
    for server in &servers {
        // SQLite is where its client is.
        let places: Vec<&str> = match () {
            () if server == "sqlite" || options.url.is_some() => vec!["same"],
            () if options.place.is_empty() => vec![usual],
            () => options.place.iter().map(String::as_str).collect(),
        };
        for load in &options.load {
            for connections in &options.connections {
                for place in &places {
                    let own = [
                        ("server", server.clone()),
                        ("load", load.clone()),
                        ("connections", connections.to_string()),
                        ("rows", options.rows.to_string()),
                        ("place", (*place).to_owned()),
                        ("queries", options.queries.unwrap_or(0).to_string()),
                    ];
                    let all = own.into_iter().chain(whose.iter().cloned());
                    let arguments: Arguments = all.map(|(name, value)| (name.to_owned(), value)).collect();
                    offers.push(
                        tickmark_load::REGISTRY.case(names::SQL, &arguments).map_err(Error::Usage)?.offer(),
                    );
                }
            }
        }
    }
    Ok(offers)
}

/// Arguments of a probe.
type ArgumentPairs = Vec<(&'static str, String)>;

/// Which database a URL names, and what the probe is told of it.
fn there(url: &str, options: &Sql) -> Result<(String, ArgumentPairs), Error> {
    let wrong = |why: &str| {
        // What may hold a password is not repeated.
        let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
        Error::Usage(format!("--url {scheme}://...: {why}"))
    };
    let (scheme, rest) = url.split_once("://").unwrap_or(("", ""));
    let (server, port) = match scheme {
        "mysql" | "mariadb" => ("mariadb", 3306),
        "postgres" | "postgresql" => ("postgres", 5432),
        _ => return Err(wrong("give mysql://USER@HOST:PORT/DATABASE or postgres://USER@HOST:PORT/DATABASE")),
    };
    let (user, rest) = rest.split_once('@').ok_or_else(|| wrong("it names no user: USER@HOST"))?;
    if user.contains(':') || rest.contains('?') {
        return Err(wrong(
            "what stands behind : or ? would be seen and kept: give a password by --password-file, or TICKMARK_SQL_PASSWORD",
        ));
    }
    let (host, database) = rest
        .split_once('/')
        .filter(|(_, name)| !name.is_empty())
        .ok_or_else(|| wrong("it names no database"))?;
    let target = match &options.socket {
        Some(path) => format!("unix:{}", path.display()),
        None if host.contains(':') => host.to_owned(),
        None => format!("{host}:{port}"),
    };
    let here = |path: &std::path::PathBuf| std::path::absolute(path).map(|path| path.display().to_string());
    let file = options.password_file.as_ref().map(here).transpose();
    let file = file.map_err(|error| Error::Usage(format!("--password-file: {error}")))?;
    let arguments = vec![
        ("whose", "url".to_owned()),
        ("target", target),
        ("user", user.to_owned()),
        ("database", database.to_owned()),
        ("password_file", file.unwrap_or_default()),
        ("pid", options.pid.map_or_else(String::new, |pid| pid.to_string())),
        ("create", if options.create { "yes" } else { "no" }.to_owned()),
    ];
    Ok((server.to_owned(), arguments))
}
