//! Raw result files of lmbench 2 and 3: one run a file. A figure that lmbench did not print is missing; one
//! that is not positive is none.

use super::import::{Imported, host};
use super::number::printed;

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
    ("float bogomflops:", "op.float.bogo", 1.0),
    ("double bogomflops:", "op.double.bogo", 1.0),
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

/// Whether a text is one.
pub(super) fn is(text: &str) -> bool {
    text.lines().any(|line| line.starts_with(HEADER) && line.contains("results for"))
}

/// Reads a file, or several in one; how many runs were taken.
pub(super) fn read(name: &str, text: &str, all: &mut Vec<Imported>, warnings: &mut Vec<String>) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let starts: Vec<usize> = (0..lines.len()).filter(|i| lines[*i].starts_with(HEADER)).collect();
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

impl Run<'_> {
    fn take(&self, all: &mut Vec<Imported>, warnings: &mut Vec<String>) {
        let title = self.lines.first().copied().unwrap_or_default();
        let version = title[HEADER.len()..].split_whitespace().next().unwrap_or_default();
        let tool = format!("lmbench {version}");
        let machine =
            self.header("NODENAME").unwrap_or_else(|| title.split_whitespace().nth(4).unwrap_or("unknown"));
        let host = host(all, machine, &tool);
        let round = host.rounds + 1;
        let mut count = 0;
        let mut put = |metric: &str, figure: Option<(f64, f64)>, factor: f64| {
            if let Some((value, step)) = figure {
                host.put(metric, round, value * factor, step * factor);
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
        if let (Some((read, a)), Some((write, b))) =
            (self.labelled("Simple read:"), self.labelled("Simple write:"))
        {
            put("syscall.null_io", Some((f64::midpoint(read, write), a.max(b) / 2.0)), US);
        }
        // lmbench 2 touches other pages in another way: not the same quantity.
        let method = if version.starts_with('2') { "vm.fault.page.lmbench2" } else { "vm.fault.page" };
        put(method, self.after("Pagefaults on ", ": "), US);
        for (title, metric, factor) in TABLES {
            put(metric, self.rows(title).last().and_then(|row| printed(row.get(1)?)), *factor);
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
                put(&format!("file.{what}.{length}"), time, 1.0);
            }
        }
        for kilobytes in [0, 16, 64] {
            for row in self.rows(&format!("size={kilobytes}k ")) {
                if let [processes @ ("2" | "8" | "16"), time] = row[..] {
                    put(&format!("switch.{processes}p.{kilobytes}k"), printed(time), US);
                }
            }
        }
        for (metric, figure) in self.latencies(version) {
            put(metric, figure, 1.0);
        }
        let word = |key: &str| printed(self.header(key)?.split_whitespace().next()?);
        put("machine.clock_rate", word("MHZ"), 1e6);
        put("machine.cache_line", word("LINE_SIZE"), 1.0);
        put(super::layout::LOAD, word("SYNC_MAX"), 1.0);
        if count == 0 {
            warnings.push(format!("{}, line {}: a run without figures", self.name, self.first));
        }
        let source = format!("{}, line {}", self.name, self.first);
        host.know("host.name", machine, &source);
        host.rounds = round;
        let keys = [
            ("RELEASE", "kernel.release"),
            ("VERSION", "kernel.version"),
            ("MACHINE", "kernel.machine"),
            ("LMBENCH VERSION", "lmbench.version"),
            ("MB", "lmbench.mb"),
            ("ENOUGH", "lmbench.enough_us"),
            ("FSDIR", "lmbench.fsdir"),
            ("LMBENCH_SCHED", "lmbench.sched"),
            ("SYNC_MAX", "lmbench.sync_max"),
        ];
        for (key, fact) in keys {
            let Some(value) = self.header(key) else { continue };
            let other = host.facts.iter().find(|(name, known, _)| name == fact && known != value);
            if let Some((_, known, _)) = other {
                warnings
                    .push(format!("{source}: {key} is {value}, in an earlier run {known}: not one sample"));
            }
            host.know(fact, value, &source);
        }
    }

    /// The value of `[KEY: value]`, the first one.
    fn header(&self, key: &str) -> Option<&str> {
        self.lines.iter().find_map(|line| {
            let rest = line.strip_prefix('[')?.strip_prefix(key)?.strip_prefix(':')?;
            Some(rest.trim().strip_suffix(']')?.trim())
        })
    }

    /// The number that follows a label at once. A message without a line break may stand before the label.
    fn labelled(&self, label: &str) -> Option<(f64, f64)> {
        self.lines.iter().filter(|line| !line.starts_with('[')).find_map(|line| {
            let at = line.find(label)?;
            // "Simple read:" is not part of another label.
            let alone = at == 0 || !line.as_bytes()[at - 1].is_ascii_alphanumeric();
            let number = line[at + label.len()..].split_whitespace().next()?;
            alone.then(|| printed(number)).flatten()
        })
    }

    /// The number after `marker` on the line that begins with `start`.
    fn after(&self, start: &str, marker: &str) -> Option<(f64, f64)> {
        let line = self.lines.iter().find_map(|line| line.strip_prefix(start))?;
        printed(line.rsplit_once(marker)?.1.split_whitespace().next()?)
    }

    /// The rows of a table, up to an empty line or one that does not begin with a digit. Titles stand at the start of
    /// a line, behind a quotation mark or not.
    fn rows(&self, title: &str) -> Vec<Vec<&str>> {
        let is_title = |line: &&str| {
            let line = line.strip_prefix('"').unwrap_or(line);
            if title.ends_with(' ') { line.starts_with(title) } else { line.trim_end() == title }
        };
        let Some(at) = self.lines.iter().position(is_title) else { return Vec::new() };
        table(&self.lines[at + 1..])
    }

    /// First level, second level, main memory at a stride, main memory at random.
    fn latencies(&self, version: &str) -> [(&'static str, Option<(f64, f64)>); 4] {
        let under = |section: &str, title: &str| {
            let from =
                self.lines.iter().position(|line| line.trim_start_matches('"').trim_end() == section)?;
            let titles = self.lines[from + 1..].iter();
            // The section ends where another bare title begins.
            let at = titles
                .take_while(|line| !line.contains("latency"))
                .position(|line| line.trim_start_matches('"').trim_end() == title)?;
            Some(table(&self.lines[from + 1 + at + 1..]))
        };
        let strided = under("Memory load latency", "stride=128").unwrap_or_default();
        let random = under("Random load latency", "stride=16").unwrap_or_default();
        let cost = |row: Option<&Vec<&str>>| printed(row?.get(1)?);
        let at = |size: &str| strided.iter().find(|row| row.first() == Some(&size));
        let main = if version.starts_with('2') { at("8.00000") } else { strided.last() };
        [
            ("memory.latency.random.l1", cost(at("0.00098"))),
            ("memory.latency.random.l2", cost(at("0.12500"))),
            ("memory.latency.strided", cost(main)),
            ("memory.latency.random.main", cost(random.last())),
        ]
    }
}

fn table<'a>(lines: &[&'a str]) -> Vec<Vec<&'a str>> {
    let rows = lines.iter().take_while(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    rows.map(|line| line.split_whitespace().collect()).collect()
}
