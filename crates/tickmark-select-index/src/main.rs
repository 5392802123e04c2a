//! `tickmark-select-index QUERIES [ROWS [READS]]`: select_index as super-smack ran it (timecounter-cost.txt), on SQLite in memory, in one process without anything of tickmark in
//! it: for guests, where no server is. It reads the clock before the first query and after the last one, and as often beside each as READS says. It prints how long one took.
#![forbid(unsafe_code)]

use rusqlite::Connection;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "usage: tickmark-select-index QUERIES [ROWS [READS]]";
/// As the document's table had them.
const ROWS: u64 = 90_000;

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
    let (queries, rows, reads) = (number(0, 0)?, number(1, ROWS)?, number(2, 0)?);
    if queries == 0 || rows == 0 || words.len() > 3 {
        return Err(USAGE.to_owned());
    }
    let connection = populated(rows).map_err(|error| error.to_string())?;
    let nanos = queried(&connection, queries, rows, reads).map_err(|error| error.to_string())?;
    Ok(format!(
        "{queries} queries of {rows} rows, {reads} clock reads beside each; ns a query: {:.1}",
        nanos / queries as f64
    ))
}

fn populated(rows: u64) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    let all = connection.transaction()?;
    all.execute_batch(
        "create table http_auth (username char(25) not null primary key, pass char(25) not null, uid integer not null unique, gid integer not null)",
    )?;
    let mut insert = all.prepare("insert into http_auth values (?1, 'word', ?2, 0)")?;
    for row in 0..rows {
        insert.execute((format!("user{row:07}"), row as i64))?;
    }
    drop(insert);
    all.commit()?;
    Ok(connection)
}

/// All of them one after the other, as text; how long they took, in ns.
fn queried(connection: &Connection, queries: u64, rows: u64, reads: u64) -> rusqlite::Result<f64> {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let begun = Instant::now();
    for _ in 0..queries {
        // xorshift64 (Marsaglia, Xorshift RNGs, 2003).
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let row = random % rows;
        let text = format!("select * from http_auth where username = 'user{row:07}'");
        let uid: i64 = connection.query_row(&text, [], |row| row.get(2))?;
        if uid != row as i64 {
            return Err(rusqlite::Error::QueryReturnedNoRows);
        }
        for _ in 0..reads {
            black_box(Instant::now());
        }
    }
    Ok(begun.elapsed().as_nanos() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_take_time_and_wrong_words_are_refused() {
        let says = |words: &[&str]| run(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        let line = says(&["50", "100", "2"]).unwrap();
        let nanos: f64 = line.rsplit_once(": ").unwrap().1.parse().unwrap();
        assert!(line.starts_with("50 queries of 100 rows, 2 clock reads") && nanos > 100.0, "{line}");
        for wrong in [&[][..], &["0"], &["x"], &["1", "0"], &["1", "1", "1", "1"]] {
            assert_eq!(says(wrong), Err(USAGE.to_owned()), "{wrong:?}");
        }
    }
}
