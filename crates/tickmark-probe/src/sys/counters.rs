//! Counters of one CPU: its interrupts, its soft interrupts, the page faults of the calling thread, and how often the quota of a cgroup
//! ended its turns.

use super::{cgroup, usage};
use std::fs::File;
use std::os::unix::fs::FileExt;
use tickmark_wire::Counted;

/// The two files of counters, held open, with a column for each CPU.
#[derive(Debug)]
pub struct Counters {
    files: Vec<Table>,
    faults: i64,
    quotas: Quotas,
    /// True if its lines or columns have changed.
    lost: bool,
    names: Vec<String>,
}

#[derive(Debug)]
struct Table {
    file: File,
    text: Vec<u8>,
    /// Which column is the CPU's.
    column: usize,
    values: Vec<u64>,
    /// The first line and what stands before each colon: where they differ, columns or lines have moved.
    header: Vec<u8>,
    labels: Vec<Vec<u8>>,
}

impl Counters {
    /// Opens the counters of `cpu`; none where /proc has neither.
    #[must_use]
    pub fn open(cpu: u32) -> Option<Self> {
        let mut names = Vec::new();
        let mut files = Vec::new();
        for (path, kind) in [("/proc/interrupts", "interrupt"), ("/proc/softirqs", "softirq")] {
            if let Some(table) = Table::open(path, cpu) {
                let lines = std::str::from_utf8(table.text()).unwrap_or_default().lines().skip(1);
                names.extend(lines.map(|line| format!("{kind} {}", name(line))));
                files.push(table);
            }
        }
        names.push("page fault".to_owned());
        let quotas = Quotas::open();
        if !quotas.0.is_empty() {
            names.push(Counted::QUOTA.to_owned());
        }
        (!files.is_empty()).then(|| Self { files, faults: usage::faults(), quotas, lost: false, names })
    }

    /// Names of the counters, in the order of `read`.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// True if nothing is known any more.
    #[must_use]
    pub fn lost(&self) -> bool {
        self.lost
    }

    /// How many of them moved since the last time, by index and by how many; an index is never given twice. False where the kernel
    /// lists others than before, a CPU or an interrupt more or less: from then on nothing is known.
    pub fn read(&mut self, mut moved: impl FnMut(usize, u64)) -> bool {
        if self.lost {
            return false;
        }
        let mut first = 0;
        let mut known = true;
        for table in &mut self.files {
            known &= table.read(|line, more| moved(first + line, more));
            first += table.values.len();
        }
        let faults = usage::faults();
        if faults != self.faults {
            moved(first, faults.abs_diff(self.faults));
        }
        self.faults = faults;
        let ended = self.quotas.ended();
        if ended > 0 {
            moved(first + 1, ended);
        }
        self.lost = !known;
        known
    }
}

/// The files that say how often each quota above this process ended turns, and what they said last.
#[derive(Debug)]
struct Quotas(Vec<(File, u64)>);

impl Quotas {
    fn open() -> Self {
        let files = cgroup::limits()
            .into_iter()
            .flatten()
            .filter_map(|limit| File::open(limit.folder.join("cpu.stat")).ok());
        let mut all = Self(files.map(|file| (file, 0)).collect());
        all.ended();
        all
    }

    /// How many periods the one that was used up most often was, since the last time: a group within a group may be stopped with it.
    fn ended(&mut self) -> u64 {
        let mut more = 0;
        for (file, known) in &mut self.0 {
            let mut text = [0; 1024];
            let length = file.read_at(&mut text, 0).unwrap_or(0);
            let text = std::str::from_utf8(&text[..length]).unwrap_or_default();
            if let Some(now) = cgroup::throttled(text) {
                more = now.saturating_sub(*known).max(more);
                *known = now;
            }
        }
        more
    }
}

impl Table {
    fn open(path: &str, cpu: u32) -> Option<Self> {
        let file = File::open(path).ok()?;
        let text = vec![0; 16 << 10];
        let mut table =
            Self { file, text, column: 0, values: Vec::new(), header: Vec::new(), labels: Vec::new() };
        table.fill()?;
        let header = table.text().split(|byte| *byte == b'\n').next()?.to_vec();
        let name = format!("CPU{cpu}");
        let mut columns = std::str::from_utf8(&header).ok()?.split_whitespace();
        table.column = columns.position(|column| column == name)?;
        table.header = header;
        let both: Vec<(Vec<u8>, u64)> = lines(table.text(), table.column)
            .map(|(label, count)| (label.to_vec(), count.unwrap_or(0)))
            .collect();
        (table.labels, table.values) = both.into_iter().unzip();
        Some(table)
    }

    /// The file, up to its end; what is kept is a little longer than it.
    fn fill(&mut self) -> Option<()> {
        let mut length = 0;
        loop {
            if length == self.text.len() {
                self.text.resize(length * 2, 0);
            }
            match self.file.read_at(&mut self.text[length..], length as u64).ok()? {
                0 => break,
                more => length += more,
            }
        }
        // The end is marked: what a longer reading left is not read again.
        self.text[length..].fill(0);
        Some(())
    }

    fn text(&self) -> &[u8] {
        let end = self.text.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        &self.text[..end]
    }

    fn read(&mut self, mut moved: impl FnMut(usize, u64)) -> bool {
        if self.fill().is_none() || !self.text.starts_with(&self.header) {
            return false;
        }
        let mut observed = 0;
        let Self { text, values, column, labels, .. } = self;
        for (line, (label, count)) in lines(text, *column).enumerate() {
            let Some(before) = values.get_mut(line).filter(|_| labels[line] == label) else { return false };
            let count = count.unwrap_or(0);
            if count != *before {
                // The kernel's own counters have 32 bits.
                moved(line, u64::from((count as u32).wrapping_sub(*before as u32)));
                *before = count;
            }
            observed += 1;
        }
        observed == values.len()
    }
}

/// Each line after the first that has a colon: what stands before it, and the count in a column; none where the line has none there.
fn lines(text: &[u8], column: usize) -> impl Iterator<Item = (&[u8], Option<u64>)> {
    text.split(|byte| *byte == b'\n').skip(1).filter_map(move |line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let mut fields = line[colon + 1..].split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
        Some((&line[..colon], fields.nth(column).and_then(number)))
    })
}

fn number(field: &[u8]) -> Option<u64> {
    field.iter().try_fold(0u64, |sum, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}

/// The name of a line: `LOC`, or an interrupt's number with what it is for.
#[must_use]
pub fn name(line: &str) -> String {
    let (label, rest) = line.split_once(':').unwrap_or((line, ""));
    let label = label.trim();
    if label.bytes().all(|byte| byte.is_ascii_digit()) {
        let purpose = rest.split_whitespace().next_back().unwrap_or_default();
        format!("{label} {purpose}")
    } else {
        label.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "           CPU0       CPU3       \n  24:      1    70  IO-APIC   5-edge      ttyS0\nLOC:  81208   86002   Local timer\nERR:     0\n";

    #[test]
    fn a_column_is_read_by_its_place_and_named_by_its_line() {
        let column = |which| lines(TEXT.as_bytes(), which).map(|(_, count)| count).collect::<Vec<_>>();
        assert_eq!(column(0), [Some(1), Some(81208), Some(0)]);
        assert_eq!(column(1), [Some(70), Some(86002), None]);
        let names: Vec<String> = TEXT.lines().skip(1).map(name).collect();
        assert_eq!(names, ["24 ttyS0", "LOC", "ERR"]);
    }

    /// Lines that come and go, and a CPU that goes offline, move what stands in a line and a column.
    #[test]
    fn a_table_that_changed_is_not_read_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("interrupts");
        let read = |after: &str| {
            std::fs::write(&path, TEXT).unwrap();
            let mut table = Table::open(path.to_str().unwrap(), 3).unwrap();
            std::fs::write(&path, after).unwrap();
            let mut moved = Vec::new();
            let known = table.read(|line, more| moved.push((line, more)));
            known.then_some(moved)
        };
        assert_eq!(read(TEXT), Some(Vec::new()));
        assert_eq!(
            read(&TEXT.replace("86002", "86005").replace("   70", "   71")),
            Some(vec![(0, 1), (1, 3)])
        );
        assert_eq!(read(&TEXT.replace("LOC:", " 25:      0     0  eth0\nLOC:")), None, "a line more");
        assert_eq!(read(&TEXT.replace("  24:", "  25:")), None, "another line");
        assert_eq!(read(&TEXT.replace("       CPU3", "")), None, "a CPU less");
        assert_eq!(read(&TEXT.replace("ERR:     0\n", "")), None, "a line less");
    }

    #[test]
    fn counters_of_this_machine_move_and_what_is_none_is_refused() {
        assert!(Counters::open(123_456).is_none());
        let mut counters = Counters::open(0).unwrap();
        let names = counters.names().to_vec();
        let fault = names.iter().position(|name| name == "page fault").unwrap();
        assert!(names.iter().any(|name| name == "softirq TIMER"), "{names:?}");
        let mut faults = 0;
        let mut page = vec![0u8; 8 << 20];
        page.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        std::hint::black_box(&page);
        let known = counters.read(|index, more| faults += if index == fault { more } else { 0 });
        assert!(known && faults > 1, "{faults}");
        let mut indices = Vec::new();
        counters.read(|index, _| indices.push(index));
        assert!(indices.iter().all(|index| *index < names.len()));
    }
}
