//! What the columns of a history are where nobody says so: by their heads, in small letters, and by what is in them.

use super::{Table, TableOptions, figure};
use crate::history::timestamp;
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// Those that say which line is which.
const TIMES: [&str; 5] = ["date", "timestamp", "datetime", "created", "created_at"];
const COMMITS: [&str; 5] = ["commit", "sha", "revision", "hash", "commit_id"];
/// Those that say what was measured.
const NAMES: [&str; 6] = ["benchmark", "bench", "name", "test", "case", "metric"];
/// Those that say where or how: each has a series of its own.
const PLACES: [&str; 16] = [
    "host",
    "hostname",
    "machine",
    "node",
    "runner",
    "os",
    "platform",
    "arch",
    "suite",
    "env",
    "environment",
    "config",
    "cpu",
    "kernel",
    "branch",
    "compiler",
];
/// Those of numbers that are no figures.
const NUMBERS: [&str; 10] =
    ["id", "build", "build_number", "build_id", "run", "run_id", "pr", "exit_code", "seed", "index"];
/// Cells without a figure.
const MISSING: [&str; 6] = ["nan", "na", "n/a", "null", "none", "-"];

/// The columns that are no figures, each where there is one.
#[derive(Default)]
pub(super) struct Roles {
    pub(super) metric: Option<usize>,
    pub(super) time: Option<usize>,
    pub(super) commit: Option<usize>,
    /// Of more than one place.
    pub(super) places: Vec<usize>,
}

impl Roles {
    pub(super) fn find(table: &Table, heads: &[String], options: &TableOptions) -> Self {
        let named =
            |known: &[&str]| heads.iter().position(|head| known.contains(&head.to_lowercase().as_str()));
        let all = |at: usize, is: &dyn Fn(&str) -> bool| {
            table.rows.iter().all(|(_, cells)| cells.get(at).is_some_and(|cell| is(cell)))
        };
        let is_word = |cell: &str| figure(cell, options.decimal_comma).is_none();
        // Days or times, whatever they are called.
        let is_moment = |cell: &str| is_word(cell) && timestamp(cell).is_some();
        let metric = named(&NAMES).filter(|at| all(*at, &is_word));
        let time = named(&TIMES).or_else(|| (0..table.width()).find(|at| all(*at, &is_moment)));
        let commit = named(&COMMITS);
        let is_place = |at: &usize| {
            let head = heads.get(*at).map_or("", |head| head).to_lowercase();
            PLACES.contains(&head.as_str())
                && ![metric, time, commit].contains(&Some(*at))
                && all(*at, &is_word)
                && are_beside(table, *at, time.or(commit))
        };
        Self { places: (0..table.width()).filter(is_place).collect(), metric, time, commit }
    }
}

/// True if the values of a column are there side by side: one comes again after another, or two are of one moment. A kernel that became
/// another one is none of these: what changed with it is looked for.
fn are_beside(table: &Table, at: usize, moment: Option<usize>) -> bool {
    let cell = |cells: &'_ Vec<String>, at: usize| cells.get(at).cloned().unwrap_or_default();
    let all: Vec<String> = table.rows.iter().map(|(_, cells)| cell(cells, at)).collect();
    let changes = all.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let distinct: BTreeSet<&String> = all.iter().collect();
    let mut of_moment = BTreeMap::new();
    let moments = moment.map(|moment| table.rows.iter().map(move |(_, cells)| cell(cells, moment)));
    let is_shared = moments.is_some_and(|moments| {
        moments.zip(&all).any(|(moment, place)| *of_moment.entry(moment).or_insert(place) != place)
    });
    changes >= distinct.len() || is_shared
}

/// True of the head of a column of numbers that are no figures.
pub(super) fn is_number(head: &str) -> bool {
    NUMBERS.contains(&head.to_lowercase().as_str())
}

/// True of a cell without a figure.
pub(super) fn is_missing(cell: &str) -> bool {
    MISSING.contains(&cell.to_lowercase().as_str())
}

/// True if a text is a table with heads and some lines of as many cells.
pub(crate) fn has_heads(text: &str, options: &TableOptions) -> bool {
    Table::parse(text, options.decimal_comma).is_ok_and(|table| {
        let width = table.heads.len();
        width > 1 && table.rows.len() > 1 && table.rows.iter().all(|(_, cells)| cells.len() == width)
    })
}

/// A time as text, or in s or ms since 1970.
pub(super) fn moment(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    if text.len() == 8 && text.bytes().all(|b| b.is_ascii_digit()) {
        return timestamp(&format!("{}-{}-{}", &text[..4], &text[4..6], &text[6..]));
    }
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 1e11 => Timestamp::from_millisecond(seconds as i64).ok(),
        // A smaller number is a year, a day or a count.
        Ok(seconds) if seconds > 1e8 => Timestamp::from_millisecond((seconds * 1e3) as i64).ok(),
        Ok(_) => None,
        Err(_) => timestamp(text),
    }
}
