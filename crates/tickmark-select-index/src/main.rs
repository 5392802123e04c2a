//! `tickmark-select-index QUERIES [ROWS [MARIADBD]]`: select_index as super-smack ran it (timecounter-cost.txt), as a program of its own for guests: on SQLite in memory, or on
//! the MariaDB that is named and that it starts and ends. It reads the clock before the first query and after the last one, and prints how many were answered a second. Where the
//! kernel's clock source is that of kernel/tickmark_clock, which counts its reads, it prints these, too.
#![forbid(unsafe_code)]

mod database;

use database::Database;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "usage: tickmark-select-index QUERIES [ROWS [MARIADBD]]";
/// As the document's table had them.
const ROWS: u64 = 90_000;
/// Rows of one statement that inserts.
const AT_ONCE: u64 = 1000;

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("tickmark-select-index: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[String]) -> Result<String, String> {
    let number = |at: usize, usual: u64| {
        words.get(at).map_or(Ok(usual), |word| word.parse().map_err(|_| USAGE.to_owned()))
    };
    let (queries, rows) = (number(0, 0)?, number(1, ROWS)?);
    if queries == 0 || rows == 0 || words.len() > 3 {
        return Err(USAGE.to_owned());
    }
    let mut database = match words.get(2) {
        Some(server) => Database::start(Path::new(server))?,
        None => Database::in_memory()?,
    };
    populate(&mut database, rows)?;
    let before = clock_reads();
    let seconds = time_queries(&mut database, queries, rows)?;
    let after = clock_reads();
    let each = queries as f64;
    let mut line = format!("{queries} queries of {rows} rows; queries a second: {:.2}", each / seconds);
    if let (Some(before), Some(after)) = (before, after) {
        let _ = write!(line, "; clock reads a query: {:.3}", after.wrapping_sub(before) as f64 / each);
    }
    Ok(line)
}

/// Reads that kernel/tickmark_clock has counted; none where it is not the clock source.
fn clock_reads() -> Option<u64> {
    let text = |path: &str| std::fs::read_to_string(path).ok();
    let current = text("/sys/devices/system/clocksource/clocksource0/current_clocksource")?;
    let reads = text("/sys/module/tickmark_clock/parameters/reads")?;
    (current.trim() == "tickmark").then(|| reads.trim().parse().ok())?
}

/// Makes the table, as super-smack's select-key.smack has it.
fn populate(database: &mut Database, rows: u64) -> Result<(), String> {
    database.run(
        "create table http_auth (username char(25) not null primary key, pass char(25) not null, uid integer not null unique, gid integer not null)",
    )?;
    for first in (0..rows).step_by(AT_ONCE as usize) {
        let mut statement = "insert into http_auth values ".to_owned();
        for row in first..rows.min(first + AT_ONCE) {
            let comma = if row > first { "," } else { "" };
            let _ = write!(statement, "{comma}('user{row:07}', 'word', {row}, 0)");
        }
        database.run(&statement)?;
    }
    Ok(())
}

/// Seconds of the queries, one after the other.
fn time_queries(database: &mut Database, queries: u64, rows: u64) -> Result<f64, String> {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let begun = Instant::now();
    for _ in 0..queries {
        // xorshift64 (Marsaglia, Xorshift RNGs, 2003).
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let row = random % rows;
        match database.run(&format!("select * from http_auth where username = 'user{row:07}'"))? {
            1 => {}
            found => return Err(format!("{found} rows instead of 1")),
        }
    }
    Ok(begun.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &[&str]) -> Result<String, String> {
        run(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    fn rate(words: &[&str]) -> f64 {
        let line = line(words).unwrap();
        assert!(line.starts_with("50 queries of 2500 rows; "), "{line}");
        line.rsplit_once(": ").unwrap().1.parse().unwrap()
    }

    #[test]
    fn queries_are_answered_and_wrong_words_are_refused() {
        assert!(rate(&["50", "2500"]) > 0.0);
        for wrong in [&[][..], &["0"], &["x"], &["1", "0"], &["1", "1", "server", "1"]] {
            assert_eq!(line(wrong), Err(USAGE.to_owned()), "{wrong:?}");
        }
    }

    #[test]
    #[ignore = "second tier: MariaDB"]
    fn a_server_is_started_for_the_queries_and_leaves_nothing() {
        assert!(rate(&["50", "2500", "/usr/sbin/mariadbd"]) > 0.0);
        assert!(line(&["1", "1", "/nowhere/mariadbd"]).unwrap_err().contains("/nowhere/mariadbd: "));
        assert!(line(&["1", "1", "/bin/true"]).unwrap_err().contains("/bin/true ended with exit status: 0"));
        assert!(!database::folder().exists());
    }
}
