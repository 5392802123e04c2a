//! Summary pages: tables of one row a run, as lmbench 2 and 3 print them or as they stand on web pages that keep one
//! blank of several. Rows of averages and percents are computed from others and are left out.

use super::host;
use super::layout::{Column, TABLES, Table};
use super::number::printed;
use crate::Imported;
use std::collections::BTreeMap;
use std::ops::Range;

/// Reads a page; how many rows were taken.
pub(super) fn read(name: &str, text: &str, all: &mut Vec<Imported>, warnings: &mut Vec<String>) -> usize {
    let text = text.replace("&amp;", "&");
    let digits = |line: &str| line.chars().filter(|c| c.is_ascii_digit() || *c == '.').collect::<String>();
    let version = text.lines().find(|line| line.contains("L M B E N C H")).map(digits);
    let tool = version.map_or("lmbench".to_owned(), |version| format!("lmbench {version}"));
    let mut page = Page { name, tool, table: None, layout: None, rounds: BTreeMap::new(), begun: begun(all) };
    let mut before = "";
    let mut taken = 0;
    for (number, line) in text.lines().enumerate().map(|(number, line)| (number + 1, line)) {
        let trimmed = line.trim();
        if let Some(found) = TABLES.iter().find(|table| trimmed.starts_with(table.title)) {
            (page.table, page.layout) = (Some(found), None);
            page.rounds.clear();
        } else if is_rule(trimmed) {
            match trimmed.split_whitespace().count() {
                // Under the title of a table.
                1 => page.titled(before, number, warnings),
                _ => page.layout = page.table.and_then(|table| Layout::from_rule(table, line)),
            }
        } else if !derived(trimmed) {
            taken += usize::from(page.row(line, number, all, warnings));
        }
        // A remark may stand between a title and its rule.
        if !trimmed.is_empty() && !trimmed.starts_with('(') {
            before = trimmed;
        }
    }
    taken
}

/// Rounds that earlier pages and files have filled, by host, release and tool.
fn begun(all: &[Imported]) -> BTreeMap<(String, String, String), u32> {
    let key = |known: &Imported| (known.host.clone(), known.release.clone(), known.tool.clone());
    all.iter().map(|known| (key(known), known.rounds)).collect()
}

fn is_rule(line: &str) -> bool {
    line.starts_with("--") && line.split_whitespace().all(|word| word.bytes().all(|b| b == b'-'))
}

/// True if a line was computed from others: averages, percents, rules of equal signs.
fn derived(line: &str) -> bool {
    line.is_empty() || line.starts_with("===") || line.contains("Avrg") || line.ends_with('%')
}

/// A page and the position in it.
struct Page<'a> {
    name: &'a str,
    tool: String,
    table: Option<&'static Table>,
    layout: Option<Layout>,
    /// Rows of each host and release in this table so far.
    rounds: BTreeMap<(String, String), u32>,
    begun: BTreeMap<(String, String, String), u32>,
}

/// How the rows of a table stand on this page: a rule such as `--------- ---- ----` tells.
struct Layout {
    columns: &'static [Column],
    places: Vec<Range<usize>>,
    /// Where the system of a row stands, if the page kept its blanks.
    system: Range<usize>,
}

impl Layout {
    /// Host and system come first, in the first table a description as well; guesses come last in the last one.
    /// lmbench 2 has fewer columns at the end of three tables.
    fn from_rule(table: &'static Table, rule: &str) -> Option<Self> {
        let mut spans: Vec<Range<usize>> = Vec::new();
        for (at, _) in rule.bytes().enumerate().filter(|(_, byte)| *byte == b'-') {
            match spans.last_mut() {
                Some(span) if span.end == at => span.end = at + 1,
                _ => spans.push(at..at + 1),
            }
        }
        let first = if table.title.starts_with("Basic system") { 3 } else { 2 };
        let guesses = usize::from(table.title.starts_with("Memory latencies"));
        let count = spans.len().checked_sub(first + guesses)?.min(table.columns.len());
        let columns = table.columns.get(..count).filter(|columns| !columns.is_empty())?;
        Some(Self { columns, places: spans[first..first + count].to_vec(), system: spans[1].clone() })
    }

    /// The cells of a row some of whose figures lack, where the page kept its blanks: each figure has to stand whole
    /// in a column's place.
    fn by_place<'a>(&self, line: &'a str, figures: usize) -> Option<Vec<Option<&'a str>>> {
        // The system stands at either edge of its column, and nothing between the columns.
        let system = line
            .get(self.system.clone())
            .filter(|system| system.trim().starts_with(|c: char| c.is_ascii_alphabetic()));
        if !line.is_ascii()
            || system.is_none()
            || line.as_bytes().get(self.system.end).is_some_and(|byte| *byte != b' ')
        {
            return None;
        }
        let alone = |at: usize| line.as_bytes().get(at).is_none_or(|byte| *byte == b' ');
        let cell = |place: &Range<usize>| {
            let text = line.get(place.start.min(line.len())..place.end.min(line.len()))?;
            let whole = alone(place.start - 1) && alone(place.end) && text.split_whitespace().count() == 1;
            whole.then(|| text.trim())
        };
        let cells: Vec<Option<&str>> = self.places.iter().map(cell).collect();
        (cells.iter().flatten().count() == figures).then_some(cells)
    }
}

impl Page<'_> {
    /// A title stood in the line before: where it is none that is known, its rows are nobody's.
    fn titled(&mut self, title: &str, number: usize, warnings: &mut Vec<String>) {
        if !self.table.is_some_and(|table| title.starts_with(table.title)) {
            if title.contains(" - ") {
                let source = self.source(number);
                warnings
                    .push(format!("{source}: no metrics are known for \"{title}\"; its rows are left out"));
            }
            (self.table, self.layout) = (None, None);
        }
    }

    fn source(&self, number: usize) -> String {
        format!("{}, line {number}", self.name)
    }

    /// Takes a row; whether it is one that could be taken.
    fn row(
        &mut self,
        line: &str,
        number: usize,
        all: &mut Vec<Imported>,
        warnings: &mut Vec<String>,
    ) -> bool {
        let Some(layout) = &self.layout else { return false };
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(release) = release(&words) else { return false };
        let key = (words[0].to_owned(), release.to_owned());
        // Counted also where it cannot be taken: the rows after it are other runs.
        let begun = self.begun.get(&(key.0.clone(), key.1.clone(), self.tool.clone())).copied();
        let round = self.rounds.entry(key).or_insert(begun.unwrap_or(0));
        *round += 1;
        let round = *round;
        // "-1" stands for a clock rate or another figure that was not found.
        let numeric = |word: &&str| printed(word).is_some() || word.starts_with('-');
        let first = words.iter().skip(3).position(|word| printed(word).is_some() || *word == "-1");
        let figures: Vec<&str> = first
            .map(|at| words[3 + at..].iter().take_while(|word| numeric(word)).copied().collect())
            .unwrap_or_default();
        let wanted = layout.columns.len();
        let cells: Vec<Option<&str>> = if figures.len() == wanted {
            figures.into_iter().map(Some).collect()
        } else if let Some(cells) = layout.by_place(line, figures.len()) {
            cells
        } else {
            let count = figures.len();
            warnings.push(format!("{}: {count} figures for {wanted} columns; left out", self.source(number)));
            return false;
        };
        let source = self.source(number);
        let Some(host) = host(all, words[0], release, &self.tool) else {
            super::too_many(warnings);
            return true;
        };
        host.rounds = host.rounds.max(round);
        host.know("host.name", words[0], &source);
        host.know("kernel.name", words[1].trim_end_matches(|c: char| !c.is_ascii_alphanumeric()), &source);
        host.know("kernel.release", release, &source);
        for (column, cell) in layout.columns.iter().zip(cells) {
            if let Some((value, step)) = cell.and_then(printed) {
                host.put(column.imported_by(&self.tool), round, value * column.scale, step * column.scale, 0);
            }
        }
        true
    }
}

/// The release in a row's third word: behind the host and a system with a capital letter.
fn release<'a>(words: &[&'a str]) -> Option<&'a str> {
    let system = words.get(1)?.starts_with(|c: char| c.is_ascii_uppercase());
    let release = words.get(2)?;
    (system && release.contains(|c: char| c.is_ascii_digit())).then_some(*release)
}
