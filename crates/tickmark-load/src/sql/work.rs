//! Queries to databases: super-smack's select_index, and three more.

use super::database::{Connection, DatabaseTarget, Kind};
use std::fmt::Write;
use tickmark_probe::random;

/// The table that is read, as super-smack's select-key.smack has it, and the one that is written.
const TABLES: [&str; 2] = [
    "create table http_auth (username char(25) not null primary key, pass char(25) not null, uid integer not null unique, gid integer not null)",
    "create table http_log (who integer not null, word char(25) not null)",
];

/// The work of one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// A row by its name.
    SelectIndex,
    /// A part of one by its number.
    PointSelect,
    /// A new row of a table without an index.
    Insert,
    /// Two rows by their names, and one of them changed: begin to commit.
    ReadWrite,
}

impl Work {
    pub(super) fn from_name(name: &str) -> Self {
        match name {
            "point-select" => Self::PointSelect,
            "insert" => Self::Insert,
            "read-write" => Self::ReadWrite,
            _ => Self::SelectIndex,
        }
    }
}

/// A client: a connection, and which rows it asks for.
pub(super) struct Worker {
    connection: Box<dyn Connection>,
    begin: &'static str,
    work: Work,
    rows: u64,
    random: u64,
    statement: String,
}

impl Worker {
    pub(super) fn new(place: &DatabaseTarget, work: Work, rows: u64, seed: u64) -> Result<Self, String> {
        let connection = place.connect()?;
        Ok(Self { connection, begin: place.kind.begin(), work, rows, random: seed, statement: String::new() })
    }

    fn row(&mut self) -> u64 {
        random::next(&mut self.random) % self.rows
    }

    /// Sends what stands in the statement.
    fn send(&mut self, wanted: u64) -> Result<(), String> {
        match self.connection.run(&self.statement)? {
            rows if rows == wanted => Ok(()),
            rows => Err(format!("{rows} rows instead of {wanted}")),
        }
    }

    fn write(&mut self, statement: std::fmt::Arguments<'_>) {
        self.statement.clear();
        let _ = self.statement.write_fmt(statement);
    }

    fn select(&mut self, row: u64) -> Result<(), String> {
        self.write(format_args!("select * from http_auth where username = 'user{row:07}'"));
        self.send(1)
    }

    /// Does one.
    pub(super) fn transaction(&mut self) -> Result<(), String> {
        let row = self.row();
        match self.work {
            Work::SelectIndex => self.select(row),
            Work::PointSelect => {
                self.write(format_args!("select pass from http_auth where uid = {row}"));
                self.send(1)
            }
            Work::Insert => {
                self.write(format_args!("insert into http_log values ({row}, 'word{row:07}')"));
                self.send(0)
            }
            Work::ReadWrite => {
                let other = self.row();
                self.connection.run(self.begin)?;
                let done = self.select(row).and_then(|()| self.select(other)).and_then(|()| {
                    self.write(format_args!(
                        "update http_auth set gid = gid + 1 where username = 'user{row:07}'"
                    ));
                    self.send(0)
                });
                let end = if done.is_ok() { "commit" } else { "rollback" };
                let ended = self.connection.run(end);
                done.and_then(|()| ended.map(drop))
            }
        }
    }
}

/// Rows of one statement.
const AT_ONCE: u64 = 1000;

/// Makes the tables, with so many rows.
pub(super) fn populate(place: &DatabaseTarget, rows: u64) -> Result<(), String> {
    let mut connection = place.connect()?;
    for table in TABLES {
        connection.run(table)?;
    }
    connection.run(place.kind.begin())?;
    for first in (0..rows).step_by(AT_ONCE as usize) {
        let mut statement = "insert into http_auth values ".to_owned();
        for row in first..rows.min(first + AT_ONCE) {
            let comma = if row > first { "," } else { "" };
            let _ = write!(statement, "{comma}('user{row:07}', 'pass{row:07}', {row}, {})", row % 100);
        }
        connection.run(&statement)?;
    }
    connection.run("commit")?;
    // Without it PostgreSQL would do it while it is measured.
    if place.kind == Kind::Postgres {
        connection.run("vacuum analyze http_auth")?;
    }
    Ok(())
}

/// That the tables of a server that runs already are there, with so many rows in the one that is read.
pub(super) fn check(place: &DatabaseTarget, rows: u64) -> Result<(), String> {
    let mut connection = place.connect()?;
    for table in ["http_auth", "http_log"] {
        let there = connection.run(&format!("select * from {table} limit 1"));
        there.map_err(|why| {
            format!("{why}: `tickmark sql --create` makes the tables http_auth and http_log")
        })?;
    }
    match connection.run(&format!("select uid from http_auth limit {rows}"))? {
        all if all == rows => Ok(()),
        fewer => {
            Err(format!("http_auth has {fewer} rows: give --rows {fewer}, or drop it and give --create"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_work_does_what_it_says_on_sqlite() {
        let folder = tempfile::tempdir().unwrap();
        let place = DatabaseTarget::file(&folder.path().join("base"));
        assert!(check(&place, 1).unwrap_err().contains("--create"));
        populate(&place, 1500).unwrap();
        check(&place, 1500).unwrap();
        assert!(check(&place, 1501).unwrap_err().contains("1500 rows"));
        assert!(populate(&place, 1500).is_err(), "the tables are there");
        for work in ["select-index", "point-select", "insert", "read-write"] {
            let mut worker = Worker::new(&place, Work::from_name(work), 1500, 7).unwrap();
            for _ in 0..50 {
                worker.transaction().unwrap_or_else(|why| panic!("{work}: {why}"));
            }
        }
        let mut connection = place.connect().unwrap();
        assert_eq!(connection.run("select * from http_log").unwrap(), 50);
        // 50 rows were changed, some of them perhaps twice.
        let changed = connection.run("select * from http_auth where gid <> uid % 100").unwrap();
        assert!((40..=50).contains(&changed), "{changed}");
        let mut beyond = Worker::new(&place, Work::SelectIndex, 1 << 40, 7).unwrap();
        assert!(beyond.transaction().unwrap_err().contains("0 rows instead of 1"));
    }
}
