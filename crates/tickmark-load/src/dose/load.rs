//! Who keeps the server busy, and how much it gets done.

use super::super::http::clients::{Clients, listens};
use super::super::sql::{self, server::Planned};
use super::super::started::Started;
use super::BEGINS;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tickmark_probe::sys::limits;
use tickmark_probe::{Params, ProbeError};

/// Of one of these kinds.
pub(super) enum Load<'a> {
    /// Our own clients, over HTTP and of a database.
    Http(Clients),
    Sql(sql::clients::Clients),
    /// A command that counts; and one that keeps it busy, where there is one.
    Counted {
        by: &'a str,
        _busy: Option<Busy>,
    },
    /// A command that does one transaction and prints how long that took, in ns of so many; what it did since the last look.
    Number {
        by: &'a str,
        unit: f64,
        took: Vec<f64>,
        done: u64,
        _busy: Option<Busy>,
    },
}

/// Ends with this.
pub(super) struct Busy(Child);

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn shell(by: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", by]).stdin(Stdio::null()).stderr(Stdio::null());
    limits::end_with_this(&mut command);
    command
}

fn wrong(by: &str, why: &str) -> ProbeError {
    ProbeError::Other(format!("`{by}`: {why}"))
}

/// The number that a command prints.
fn printed(by: &str) -> Result<f64, ProbeError> {
    let done = shell(by).output().map_err(|error| wrong(by, &error.to_string()))?;
    let text = String::from_utf8_lossy(&done.stdout).trim().to_owned();
    match text.parse::<f64>() {
        Ok(number) if done.status.success() && number.is_finite() => Ok(number),
        _ => Err(wrong(by, &format!("ended with {}, and printed no number", done.status))),
    }
}

impl<'a> Load<'a> {
    /// Clients of a database that has just been started, and has no table yet.
    ///
    /// # Errors
    /// It has ended, or what it says.
    pub(super) fn of_database(
        planned: &Planned,
        params: &Params,
        server: &mut Started,
    ) -> Result<Self, ProbeError> {
        planned.wait_for(server)?;
        sql::populate(&planned.place, params)?;
        sql::clients::Clients::start(&planned.place, params, params.cpu, params.argument("place") == "same")
            .map(Self::Sql)
    }

    /// Waits until the server serves.
    ///
    /// # Errors
    /// It does not, or has ended.
    pub(super) fn begin(
        params: &'a Params,
        target: Option<SocketAddr>,
        server: &mut Started,
    ) -> Result<Self, ProbeError> {
        if let Some(to) = target {
            let mut goes_on = || server.child.try_wait().is_ok_and(|ended| ended.is_none());
            if !listens(to, BEGINS, &mut goes_on) {
                return Err(match server.child.try_wait() {
                    Ok(Some(status)) => {
                        server.wrong(&format!("ended with {status} before it listened at {to}"))
                    }
                    _ => server.wrong(&format!("does not listen at {to}")),
                });
            }
            return Ok(Self::Http(Clients::start(
                params,
                to,
                params.cpu,
                params.argument("place") == "same",
            )?));
        }
        let (count, number) = (params.argument("count"), params.argument("number"));
        let by = if number.is_empty() { count } else { number };
        // It is there when what asks it has an answer.
        let until = Instant::now() + BEGINS;
        while let Err(why) = printed(by) {
            if Instant::now() > until {
                return Err(why);
            }
            server.goes_on()?;
            std::thread::sleep(Duration::from_millis(100));
        }
        let load = params.argument("busy");
        let begin = || shell(load).stdout(Stdio::null()).spawn().map(Busy);
        let busy =
            (!load.is_empty()).then(begin).transpose().map_err(|error| wrong(load, &error.to_string()))?;
        let unit = params.number("unit") as f64;
        Ok(match number {
            "" => Self::Counted { by: count, _busy: busy },
            by => Self::Number { by, unit, took: Vec::new(), done: 0, _busy: busy },
        })
    }

    /// Lets it work for so long; of what is done one by one, at least one.
    pub(super) fn go_on(&mut self, time: Duration) -> Result<(), ProbeError> {
        match self {
            Self::Http(clients) => clients.go_on(time)?,
            Self::Counted { .. } | Self::Sql(_) => std::thread::sleep(time),
            Self::Number { by, unit, took, done, .. } => {
                took.clear();
                let until = Instant::now() + time;
                while took.is_empty() || Instant::now() < until {
                    took.push(printed(by)? * *unit);
                    *done += 1;
                }
            }
        }
        Ok(())
    }

    /// Transactions so far.
    pub(super) fn done(&self) -> Result<f64, ProbeError> {
        match self {
            Self::Http(clients) => Ok(clients.done() as f64),
            Self::Sql(clients) => Ok(clients.done() as f64),
            Self::Counted { by, .. } => printed(by),
            Self::Number { done, .. } => Ok(*done as f64),
        }
    }

    /// How long each took since it went on, where that is what is measured.
    pub(super) fn took(&self) -> Option<&[f64]> {
        match self {
            Self::Number { took, .. } => Some(took),
            Self::Http(_) | Self::Sql(_) | Self::Counted { .. } => None,
        }
    }

    /// Asks for nothing more.
    pub(super) fn stop(&self) {
        match self {
            Self::Http(clients) => clients.stop(),
            Self::Sql(clients) => clients.stop(),
            Self::Counted { .. } | Self::Number { .. } => {}
        }
    }

    /// Failures by kind.
    pub(super) fn failed(&self) -> Vec<(String, u64)> {
        match self {
            Self::Http(clients) => clients.failed(),
            Self::Sql(clients) => clients.failed(),
            Self::Counted { .. } | Self::Number { .. } => Vec::new(),
        }
    }
}
