//! The tables of lmbench's summary, ten of version 2 and one that version 3 adds: which metric stands in which column, in which unit.

use tickmark_wire::{Better, Unit};

/// One table.
#[derive(Debug)]
pub struct Table {
    /// How its title begins on lmbench's own pages.
    pub title: &'static str,
    /// The rest of its title.
    pub unit: &'static str,
    /// Its columns, but for host and system.
    pub columns: &'static [Column],
}

/// One column.
#[derive(Debug)]
pub struct Column {
    /// The two lines of its heading.
    pub head: [&'static str; 2],
    /// The metric of our own.
    pub metric: &'static str,
    /// Value of one printed unit in the metric's unit (ns, Hz, B/s).
    pub scale: f64,
    /// The metric's unit.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
}

impl Column {
    /// The unit in which it is printed.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        match (self.unit, self.scale) {
            (Unit::Time, scale) if scale > 1.0 => "us",
            (Unit::Time, _) => "ns",
            (Unit::Throughput, _) => "MB/s",
            (Unit::Frequency, _) => "MHz",
            (Unit::Bytes, _) => "B",
            (Unit::Ratio, _) => "ratio",
            (Unit::Count | Unit::Rate | Unit::Share | Unit::Other(_), _) => "count",
        }
    }

    /// The metric that a figure of a tool becomes: what lmbench calls L1 and L2 are loads at a stride from 1 KB and 128 KB,
    /// and its page fault was another one in version 2.
    #[must_use]
    pub fn imported_by(&self, tool: &str) -> &'static str {
        match self.metric {
            "memory.latency.random.l1" => "memory.latency.strided.l1",
            "memory.latency.random.l2" => "memory.latency.strided.l2",
            "vm.fault.page" if tool.starts_with("lmbench 2") => "vm.fault.page.lmbench2",
            metric => metric,
        }
    }
}

const fn column(head: [&'static str; 2], metric: &'static str, scale: f64) -> Column {
    Column { head, metric, scale, unit: Unit::Time, better: Better::Lower }
}

const fn micros(head: [&'static str; 2], metric: &'static str) -> Column {
    column(head, metric, 1e3)
}

const fn nanos(head: [&'static str; 2], metric: &'static str) -> Column {
    column(head, metric, 1.0)
}

const fn rate(head: [&'static str; 2], metric: &'static str) -> Column {
    Column { unit: Unit::Throughput, better: Better::Higher, ..column(head, metric, 1e6) }
}

const fn fact(head: [&'static str; 2], metric: &'static str, unit: Unit) -> Column {
    Column { unit, better: Better::Neither, ..column(head, metric, 1.0) }
}

const MHZ: Column = Column { scale: 1e6, ..fact(["Mhz", ""], "machine.clock_rate", Unit::Frequency) };
const TWO: Column = micros(["2p/0K", "ctxsw"], "switch.2p.0k");

/// How many copies ran at once: of our own recordings the most runs that were open together.
pub const LOAD: &str = "machine.load";

/// Every table, in their order.
pub const TABLES: &[Table] = &[
    Table {
        title: "Basic system parameters",
        unit: "",
        columns: &[
            MHZ,
            fact(["tlb", "pages"], "machine.tlb", Unit::Count),
            fact(["cache", "line B"], "machine.cache_line", Unit::Bytes),
            Column {
                better: Better::Higher,
                ..fact(["mem", "par"], "machine.memory_parallelism", Unit::Ratio)
            },
            fact(["scal", "load"], LOAD, Unit::Count),
        ],
    },
    Table {
        title: "Processor, Processes",
        unit: "- times in microseconds - smaller is better",
        columns: &[
            MHZ,
            micros(["null", "call"], "syscall.null"),
            micros(["null", "I/O"], "syscall.null_io"),
            micros(["", "stat"], "syscall.stat"),
            micros(["open", "clos"], "syscall.open_close"),
            micros(["slct", "TCP"], "syscall.select.tcp"),
            micros(["sig", "inst"], "syscall.signal.install"),
            micros(["sig", "hndl"], "syscall.signal.handle"),
            micros(["fork", "proc"], "process.fork"),
            micros(["exec", "proc"], "process.exec"),
            micros(["sh", "proc"], "process.sh"),
        ],
    },
    Table {
        title: "Basic integer operations",
        unit: "- times in nanoseconds - smaller is better",
        columns: &[
            nanos(["intgr", "bit"], "op.int32.bit"),
            nanos(["intgr", "add"], "op.int32.add"),
            nanos(["intgr", "mul"], "op.int32.mul"),
            nanos(["intgr", "div"], "op.int32.div"),
            nanos(["intgr", "mod"], "op.int32.mod"),
        ],
    },
    Table {
        title: "Basic uint64 operations",
        unit: "- times in nanoseconds - smaller is better",
        columns: &[
            nanos(["int64", "bit"], "op.int64.bit"),
            nanos(["int64", "add"], "op.int64.add"),
            nanos(["int64", "mul"], "op.int64.mul"),
            nanos(["int64", "div"], "op.int64.div"),
            nanos(["int64", "mod"], "op.int64.mod"),
        ],
    },
    Table {
        title: "Basic float operations",
        unit: "- times in nanoseconds - smaller is better",
        columns: &[
            nanos(["float", "add"], "op.float.add"),
            nanos(["float", "mul"], "op.float.mul"),
            nanos(["float", "div"], "op.float.div"),
            nanos(["float", "bogo"], "op.float.bogo_array"),
        ],
    },
    Table {
        title: "Basic double operations",
        unit: "- times in nanoseconds - smaller is better",
        columns: &[
            nanos(["double", "add"], "op.double.add"),
            nanos(["double", "mul"], "op.double.mul"),
            nanos(["double", "div"], "op.double.div"),
            nanos(["double", "bogo"], "op.double.bogo_array"),
        ],
    },
    Table {
        title: "Context switching",
        unit: "- times in microseconds - smaller is better",
        columns: &[
            TWO,
            micros(["2p/16K", "ctxsw"], "switch.2p.16k"),
            micros(["2p/64K", "ctxsw"], "switch.2p.64k"),
            micros(["8p/16K", "ctxsw"], "switch.8p.16k"),
            micros(["8p/64K", "ctxsw"], "switch.8p.64k"),
            micros(["16p/16K", "ctxsw"], "switch.16p.16k"),
            micros(["16p/64K", "ctxsw"], "switch.16p.64k"),
        ],
    },
    Table {
        title: "*Local* Communication latencies",
        unit: "in microseconds - smaller is better",
        columns: &[
            TWO,
            micros(["", "Pipe"], "ipc.pipe.round_trip"),
            micros(["AF", "UNIX"], "ipc.unix.round_trip"),
            micros(["", "UDP"], "ipc.udp.round_trip"),
            micros(["RPC/", "UDP"], "ipc.rpc_udp.round_trip"),
            micros(["", "TCP"], "ipc.tcp.round_trip"),
            micros(["RPC/", "TCP"], "ipc.rpc_tcp.round_trip"),
            micros(["TCP", "conn"], "ipc.tcp.connect"),
        ],
    },
    Table {
        title: "File & VM system latencies",
        unit: "in microseconds - smaller is better",
        columns: &[
            micros(["0K File", "Create"], "file.create.0k"),
            micros(["0K File", "Delete"], "file.delete.0k"),
            micros(["10K File", "Create"], "file.create.10k"),
            micros(["10K File", "Delete"], "file.delete.10k"),
            micros(["Mmap", "Latency"], "vm.mmap"),
            micros(["Prot", "Fault"], "syscall.fault.protection"),
            micros(["Page", "Fault"], "vm.fault.page"),
            micros(["100fd", "selct"], "syscall.select.files"),
        ],
    },
    Table {
        title: "*Local* Communication bandwidths",
        unit: "in MB/s - bigger is better",
        columns: &[
            rate(["", "Pipe"], "bandwidth.pipe"),
            rate(["AF", "UNIX"], "bandwidth.unix"),
            rate(["", "TCP"], "bandwidth.tcp"),
            rate(["File", "reread"], "bandwidth.file_reread"),
            rate(["Mmap", "reread"], "bandwidth.mmap_reread"),
            rate(["Bcopy", "(libc)"], "bandwidth.copy.libc"),
            rate(["Bcopy", "(hand)"], "bandwidth.copy.hand"),
            rate(["Mem", "read"], "bandwidth.memory.read"),
            rate(["Mem", "write"], "bandwidth.memory.write"),
        ],
    },
    Table {
        title: "Memory latencies",
        unit: "in nanoseconds - smaller is better",
        columns: &[
            MHZ,
            nanos(["L1", "cache"], "memory.latency.random.l1"),
            nanos(["L2", "cache"], "memory.latency.random.l2"),
            nanos(["Main", "mem"], "memory.latency.strided"),
            nanos(["Rand", "mem"], "memory.latency.random.main"),
        ],
    },
];

/// The metrics of all tables, each once, in their order.
pub fn metrics() -> impl Iterator<Item = &'static Column> {
    let all = || TABLES.iter().flat_map(|table| table.columns);
    let earlier = move |n: usize, metric: &str| all().take(n).any(|column| column.metric == metric);
    all().enumerate().filter(move |(n, column)| !earlier(*n, column.metric)).map(|(_, column)| column)
}
