//! Raw result files of lmbench 2 and 3: one run a file. A figure that lmbench did not print is missing; one
//! that is not positive is none.

use super::host;
use super::number::printed;
use crate::Imported;

const HEADER: &str = "[lmbench";
const US: f64 = 1e3;
const MB: f64 = 1e6;

/// Label, metric, factor to the metric's unit.
const LABELS: &[(&str, &str, f64)] = &[
    ("Simple syscall:", "syscall.null", US),
    ("Simple read:", "syscall.read", US),
    ("Simple write:", "syscall.write", US),
    ("Simple stat:", "syscall.stat", US),
    ("Simple open/close:", "syscall.open_close", US),
    ("Select on 100 fd's:", "syscall.select.files", US),
    ("Select on 100 tcp fd's:", "syscall.select.tcp", US),
    ("Signal handler installation:", "syscall.signal.install", US),
    ("Signal handler overhead:", "syscall.signal.handle", US),
    ("Protection fault:", "syscall.fault.protection", US),
    ("Pipe latency:", "ipc.pipe.round_trip", US),
    ("AF_UNIX sock stream latency:", "ipc.unix.round_trip", US),
    ("Process fork+exit:", "process.fork", US),
    ("Process fork+execve:", "process.exec", US),
    ("Process fork+/bin/sh -c:", "process.sh", US),
    ("UDP latency using localhost:", "ipc.udp.round_trip", US),
    ("TCP latency using localhost:", "ipc.tcp.round_trip", US),
    ("RPC/udp latency using localhost:", "ipc.rpc_udp.round_trip", US),
    ("RPC/tcp latency using localhost:", "ipc.rpc_tcp.round_trip", US),
    ("TCP/IP connection cost to localhost:", "ipc.tcp.connect", US),
    ("Pipe bandwidth:", "bandwidth.pipe", MB),
    ("AF_UNIX sock stream bandwidth:", "bandwidth.unix", MB),
    ("Socket bandwidth using localhost:", "bandwidth.tcp", MB),
    ("tlb:", "machine.tlb", 1.0),
    ("float bogomflops:", "op.float.bogo_array", 1.0),
    ("double bogomflops:", "op.double.bogo_array", 1.0),
];

/// Operations by type: `integer bit: 0.56 nanoseconds`. One build says uint64 where others say int64.
const TYPES: &[(&str, &str)] = &[
    ("integer", "int32"),
    ("int64", "int64"),
    ("uint64", "int64"),
    ("float", "float"),
    ("double", "double"),
];

/// Title, metric, factor: the last row counts.
const TABLES: &[(&str, &str, f64)] = &[
    ("mappings", "vm.mmap", US),
    ("read bandwidth", "bandwidth.file_reread", MB),
    ("Mmap read bandwidth", "bandwidth.mmap_reread", MB),
    ("libc bcopy unaligned", "bandwidth.copy.libc", MB),
    ("unrolled bcopy unaligned", "bandwidth.copy.hand", MB),
    ("Memory read bandwidth", "bandwidth.memory.read", MB),
    ("Memory write bandwidth", "bandwidth.memory.write", MB),
    ("Memory load parallelism", "machine.memory_parallelism", 1.0),
    ("Socket bandwidth using localhost", "bandwidth.tcp", MB),
];

/// True if a text is one, or a part of one without its header: a log of a serial console.
pub(super) fn recognizes(text: &str) -> bool {
    text.lines().any(is_header) || labels(text) > 1
}

/// True if a line begins the results of a run.
fn is_header(line: &str) -> bool {
    line.starts_with(HEADER) && line.contains("results for")
}

/// Labels of figures that a text has.
fn labels(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let run = Run { name: "", first: 1, lines: &lines };
    LABELS.iter().filter(|(label, ..)| text.contains(label) && run.labelled(label).is_some()).count()
}

/// Reads a file, or several in one; how many runs were taken.
pub(super) fn read(name: &str, text: &str, all: &mut Vec<Imported>, warnings: &mut Vec<String>) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let mut starts: Vec<usize> = (0..lines.len()).filter(|i| lines[*i].starts_with(HEADER)).collect();
    if starts.is_empty() {
        starts.push(0);
        warnings.push(format!("{name} has no line \"[lmbench3.0 results for ...\": host and kernel are not known, and where a run ends is not"));
    }
    let ends = starts.iter().skip(1).copied().chain([lines.len()]);
    for (start, end) in starts.iter().zip(ends) {
        let run = Run { name, first: *start + 1, lines: &lines[*start..end] };
        run.take(all, warnings);
    }
    starts.len()
}

/// One run's lines.
struct Run<'a> {
    name: &'a str,
    first: usize,
    lines: &'a [&'a str],
}

/// A figure as it is printed: value, what one step of its last digit is worth, bytes that it goes over.
#[derive(Debug, Clone, Copy)]
struct Figure {
    value: f64,
    step: f64,
    over: u64,
}

impl Figure {
    fn parse(text: &str) -> Option<Self> {
        printed(text).map(|(value, step)| Self { value, step, over: 0 })
    }
}

/// Words that end a figure; without one the line was cut.
const UNITS: &[&str] = &["microseconds", "nanoseconds", "usecs", "MB/sec", "KB/sec", "pages"];

impl Run<'_> {
    fn take(&self, all: &mut Vec<Imported>, warnings: &mut Vec<String>) {
        let title = self.lines.first().copied().unwrap_or_default();
        let title = if is_header(title) || title.starts_with(HEADER) { title } else { HEADER };
        let version = title[HEADER.len()..].split_whitespace().next().unwrap_or_default();
        let is_2 = version.starts_with('2');
        let copies = self.header("SYNC_MAX").and_then(|copies| copies.parse::<u32>().ok()).unwrap_or(1);
        // Figures of several copies are sums or waits of all: another kind of run.
        let tool = match (version.starts_with(|c: char| c.is_ascii_digit()), copies) {
            (false, _) => "lmbench".to_owned(),
            (true, 0 | 1) => format!("lmbench {version}"),
            (true, _) => format!("lmbench {version}, {copies} copies at once"),
        };
        let source = format!("{}, line {}", self.name, self.first);
        let word = |number| title.split_whitespace().nth(number);
        // A part of a log names no host: its file stands for it.
        let stem = self.name.rsplit_once('.').map_or(self.name, |(stem, _)| stem);
        let machine =
            self.header("NODENAME").or(word(4)).unwrap_or(if title == HEADER { stem } else { "unknown" });
        let release = self.header("RELEASE").or(word(5)).unwrap_or("unknown");
        let Some(host) = host(all, machine, release, &tool) else {
            super::too_many(warnings);
            return;
        };
        let round = host.rounds + 1;
        let count = self.figures(is_2, round, host);
        if count == 0 {
            warnings.push(format!("{source}: a run without figures"));
        } else if title != HEADER
            && self
                .lines
                .iter()
                .rev()
                .find(|line| !line.trim().is_empty())
                .is_none_or(|l| !l.starts_with('['))
        {
            warnings.push(format!(
                "{source}: the run has no closing date: it was cut, and what followed is missing"
            ));
        }
        host.rounds = round;
        if title != HEADER {
            host.know("host.name", machine, &source);
        }
        // "[lmbench3.0 results for Linux host 6.1 ...".
        host.know("kernel.name", self.header("SYSNAME").or(word(3)).unwrap_or_default(), &source);
        host.know("kernel.release", release, &source);
        self.facts(host, &source, warnings);
    }

    /// Puts every figure of the run; how many there are.
    fn figures(&self, is_2: bool, round: u32, host: &mut Imported) -> usize {
        let mut count = 0;
        let mut put = |metric: &str, figure: Option<Figure>, factor: f64| {
            if let Some(Figure { value, step, over }) = figure {
                host.put(metric, round, value * factor, step * factor, over);
                count += 1;
            }
        };
        for (label, metric, factor) in LABELS {
            put(metric, self.labelled(label), *factor);
        }
        for (kind, ours) in TYPES {
            for op in ["bit", "add", "mul", "div", "mod"] {
                put(&format!("op.{ours}.{op}"), self.labelled(&format!("{kind} {op}:")), 1.0);
            }
        }
        if let (Some(read), Some(write)) = (self.labelled("Simple read:"), self.labelled("Simple write:")) {
            let value = f64::midpoint(read.value, write.value);
            put(
                "syscall.null_io",
                Some(Figure { value, step: read.step.max(write.step) / 2.0, over: 0 }),
                US,
            );
        }
        // lmbench 2 touches other pages in another way: not the same quantity.
        put(if is_2 { "vm.fault.page.lmbench2" } else { "vm.fault.page" }, self.page_fault(), US);
        for (title, metric, factor) in TABLES {
            put(metric, self.last(title), *factor);
        }
        for row in self.rows("File system latency") {
            let length = match row.first() {
                Some(&"0k") => "0k",
                Some(&"10k") => "10k",
                _ => continue,
            };
            for (field, what) in [(2, "create"), (3, "delete")] {
                // A rate: its last digit is worth that much of the time.
                let rate = row.get(field).and_then(|rate| printed(rate));
                let time = rate.map(|(rate, step)| (1e9 / rate, 1e9 / rate * step / rate));
                put(
                    &format!("file.{what}.{length}"),
                    time.map(|(value, step)| Figure { value, step, over: 0 }),
                    1.0,
                );
            }
        }
        for kilobytes in [0, 16, 64] {
            for row in self.rows(&format!("size={kilobytes}k ")) {
                if let [processes @ ("2" | "8" | "16"), time] = row[..] {
                    put(&format!("switch.{processes}p.{kilobytes}k"), Figure::parse(time), US);
                }
            }
        }
        for (metric, figure) in self.latencies(is_2) {
            put(metric, figure, 1.0);
        }
        let word = |key: &str| Figure::parse(self.header(key)?.split_whitespace().next()?);
        put("machine.clock_rate", word("MHZ"), 1e6);
        put("machine.cache_line", word("LINE_SIZE"), 1.0);
        put(super::layout::LOAD, word("SYNC_MAX"), 1.0);
        count
    }

    /// Facts about the machine and the program.
    fn facts(&self, host: &mut Imported, source: &str, warnings: &mut Vec<String>) {
        let keys = [
            ("VERSION", "kernel.version"),
            ("MACHINE", "kernel.machine"),
            ("LMBENCH VERSION", "lmbench.version"),
            ("MB", "lmbench.mb"),
            ("ENOUGH", "lmbench.enough_us"),
            ("FSDIR", "lmbench.fsdir"),
            ("LMBENCH_SCHED", "lmbench.sched"),
        ];
        for (key, fact) in keys {
            let Some(value) = self.header(key) else { continue };
            if let Some((_, known, _)) =
                host.facts.iter().find(|(name, known, _)| name == fact && known != value)
            {
                warnings.push(format!(
                    "{source}: {key} is {value}, in an earlier run of this recording {known}: the runs are not alike"
                ));
            }
            host.know(fact, value, source);
        }
    }

    /// The value of `[KEY: value]`, the first one.
    fn header(&self, key: &str) -> Option<&str> {
        self.lines.iter().find_map(|line| {
            let rest = line.strip_prefix('[')?.strip_prefix(key)?.strip_prefix(':')?;
            Some(rest.trim().strip_suffix(']')?.trim())
        })
    }

    /// The number that follows a label at once, and its unit. A message without a line break may stand before the
    /// label.
    fn labelled(&self, label: &str) -> Option<Figure> {
        self.lines.iter().filter(|line| !line.starts_with('[')).find_map(|line| {
            let at = line.find(label)?;
            // "Simple read:" is not part of another label.
            let alone = at == 0 || !line.as_bytes()[at - 1].is_ascii_alphanumeric();
            let mut words = line[at + label.len()..].split_whitespace();
            let (number, unit) = (words.next()?, words.next()?);
            (alone && UNITS.contains(&unit)).then(|| Figure::parse(number)).flatten()
        })
    }

    /// `Pagefaults on FILE: NUMBER UNIT`
    fn page_fault(&self) -> Option<Figure> {
        let line = self.lines.iter().find_map(|line| line.strip_prefix("Pagefaults on "))?;
        let mut words = line.rsplit_once(": ")?.1.split_whitespace();
        let (number, unit) = (words.next()?, words.next()?);
        UNITS.contains(&unit).then(|| Figure::parse(number)).flatten()
    }

    /// The rows of a table. Titles stand at the start of a line, behind a quotation mark or not.
    fn rows(&self, title: &str) -> Vec<Vec<&str>> {
        let is_title = |line: &&str| {
            let line = line.strip_prefix('"').unwrap_or(line);
            if title.ends_with(' ') {
                line.starts_with(title)
            } else {
                line.trim_end().eq_ignore_ascii_case(title)
            }
        };
        let Some(at) = self.lines.iter().position(is_title) else { return Vec::new() };
        table(&self.lines[at + 1..])
    }

    /// The last row of a table by size, in units of 1e6 bytes.
    fn last(&self, title: &str) -> Option<Figure> {
        let rows = self.rows(title);
        let row = rows.last()?;
        let size: f64 = row.first()?.parse().ok()?;
        Some(Figure { over: (size * 1e6) as u64, ..Figure::parse(row.get(1)?)? })
    }

    /// First level, second level, main memory at a stride, main memory at random.
    fn latencies(&self, is_2: bool) -> [(&'static str, Option<Figure>); 4] {
        let under = |section: &str, title: &str| {
            let is = |line: &&str, name: &str| line.trim_start_matches('"').trim_end() == name;
            let from = self.lines.iter().position(|line| is(line, section))?;
            // The section ends where another bare title begins.
            let mut titles = self.lines[from + 1..].iter().take_while(|line| !line.contains("latency"));
            let at = titles.position(|line| is(line, title))?;
            Some(table(&self.lines[from + 1 + at + 1..]))
        };
        let strided = under("Memory load latency", "stride=128").unwrap_or_default();
        let random = under("Random load latency", "stride=16").unwrap_or_default();
        let cost = |row: Option<&Vec<&str>>| {
            let size: f64 = row?.first()?.parse().ok()?;
            Some(Figure { over: (size * 1_048_576.0) as u64, ..Figure::parse(row?.get(1)?)? })
        };
        let at = |size: &str| strided.iter().find(|row| row.first() == Some(&size));
        // lmbench 2 took 8 MB, or the largest from 4 MB on.
        let large = |row: &&Vec<&str>| {
            row.first().is_some_and(|size| ["4.", "5.", "6.", "7."].iter().any(|s| size.starts_with(s)))
        };
        let main = if is_2 { at("8.00000").or(strided.iter().rev().find(large)) } else { strided.last() };
        [
            ("memory.latency.strided.l1", cost(at("0.00098"))),
            ("memory.latency.strided.l2", cost(at("0.12500"))),
            ("memory.latency.strided", cost(main)),
            ("memory.latency.random.main", cost(random.last())),
        ]
    }
}

/// The rows up to an empty line or the next thing in brackets; messages between them are passed over. A table that
/// nothing ends was cut: its last row is not the one that was meant.
fn table<'a>(lines: &[&'a str]) -> Vec<Vec<&'a str>> {
    let ends = |line: &&str| line.trim().is_empty() || line.starts_with(['[', '"']);
    let Some(end) = lines.iter().position(ends) else { return Vec::new() };
    let rows = lines[..end].iter().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    rows.map(|line| line.split_whitespace().collect()).collect()
}
