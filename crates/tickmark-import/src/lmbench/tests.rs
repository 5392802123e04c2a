//! The page of 2005 comes back from its rows, and raw files give what they say.

use super::number::printed;
use super::*;
use crate::Value;
use std::collections::{BTreeMap, BTreeSet};

fn fixture(name: &str) -> (String, String) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/lmbench").join(name);
    (name.to_owned(), std::fs::read_to_string(path).unwrap())
}

fn hosts(names: &[&str]) -> Vec<Imported> {
    let texts: Vec<_> = names.iter().map(|name| fixture(name)).collect();
    let (found, warnings) = read(&texts).unwrap();
    assert_eq!(warnings, [] as [String; 0]);
    found
}

/// The tables of a page of version 2: what version 3 adds is not on it.
fn version_2() -> impl Iterator<Item = &'static Table> {
    TABLES.iter().filter(|table| table.title != "Basic uint64 operations")
}

/// Average of a column's rows, in the table's unit, rounded to their last digit; and how it is printed.
fn average(host: &Imported, column: &Column) -> (f64, String) {
    let values = &host.series[column.imported_by(&host.tool)].values;
    let step = values.iter().map(|value| value.step).max_by(f64::total_cmp).unwrap() / column.scale;
    let mean = values.iter().map(|value| value.value).sum::<f64>() / values.len() as f64 / column.scale;
    (rounded(mean, step), to_step(mean, step))
}

/// Table, column and system of a cell.
type Cell = (&'static str, &'static str, usize);

/// The page's own averages and percent cells, by table and column.
fn derived() -> (BTreeMap<Cell, f64>, BTreeMap<Cell, String>) {
    let (_, text) = fixture("tqm860l-summary.txt");
    let (mut averages, mut percents) = (BTreeMap::new(), BTreeMap::new());
    let mut table = None;
    let mut system = 0;
    for line in text.lines() {
        if let Some(found) = TABLES.iter().find(|table| line.starts_with(table.title)) {
            (table, system) = (Some(found), 0);
        }
        let Some(table) = table else { continue };
        let columns = || table.columns.iter().map(|column| column.metric);
        if let Some((_, cells)) = line.split_once("Avrg:") {
            let cells = cells.replace(" K", "K");
            let cells: Vec<_> = cells.split_whitespace().filter_map(printed).collect();
            assert_eq!(cells.len(), table.columns.len(), "{line}");
            averages.extend(
                columns().zip(cells).map(|(metric, (value, _))| ((table.title, metric, system), value)),
            );
            system += 1;
        } else if let Some(cells) = line.strip_suffix(" %") {
            let cells = cells.split_whitespace().map(str::to_owned);
            percents.extend(columns().zip(cells).map(|(metric, cell)| ((table.title, metric, 1), cell)));
        }
    }
    assert_eq!((averages.len(), percents.len()), (132, 66));
    (averages, percents)
}

#[test]
fn one_recording_a_host_five_rows_each() {
    let hosts = hosts(&["tqm860l-summary.txt"]);
    let names: Vec<&str> = hosts.iter().map(|host| host.host.as_str()).collect();
    assert_eq!(names, ["tqm860l", "tqm860l1k"]);
    for host in &hosts {
        assert_eq!((host.tool.as_str(), host.rounds, host.series.len()), ("lmbench 3.0", 5, 63));
        assert!(host.series.values().all(|series| series.values.len() == 5));
        let known: BTreeSet<&str> = metrics().map(|column| column.imported_by(&host.tool)).collect();
        assert!(host.series.keys().all(|metric| known.contains(metric.as_str())));
    }
    let first = |metric: &str| hosts[0].series[metric].values[0];
    let value = |round, value, step| Value { round, value, step, over: 0 };
    assert_eq!(first("syscall.null"), value(1, 6_190.0, 10.0), "in ns, to the last printed digit");
    assert_eq!(first("process.exec"), value(1, 30_000_000.0, 1_000_000.0));
    assert_eq!(first("bandwidth.pipe").value, 9_820_000.0);
    assert_eq!(first("machine.clock_rate").value, 50e6);
}

#[test]
fn averages_of_the_page_come_back_but_six() {
    let hosts = hosts(&["tqm860l-summary.txt"]);
    let (averages, _) = derived();
    let mut differ: Vec<(&str, usize, f64, String)> = Vec::new();
    for table in version_2() {
        for column in table.columns {
            for (system, host) in hosts.iter().enumerate() {
                let page = averages[&(table.title, column.metric, system)];
                let (ours, shown) = average(host, column);
                if (ours - page).abs() > 1e-9 * page {
                    differ.push((column.metric, system, page, shown));
                }
            }
        }
    }
    let differ: Vec<_> = differ.iter().map(|(m, s, p, o)| (*m, *s, *p, o.as_str())).collect();
    // The page's own averages do not follow from its rows here.
    assert_eq!(
        differ,
        [
            ("machine.memory_parallelism", 0, 1.02, "1.0160"),
            ("machine.memory_parallelism", 1, 1.01, "1.0080"),
            ("syscall.stat", 0, 79.6, "79.5"),
            ("op.int32.add", 0, 20.4, "20.5"),
            ("ipc.udp.round_trip", 1, 721.8, "721.7"),
            ("bandwidth.tcp", 1, 7.67, "7.69"),
        ]
    );
}

/// Cells of the page that are not what a percentage of two figures is, with what it is.
fn not_following(figure: impl Fn(Cell) -> f64) -> Vec<(&'static str, String, String)> {
    let (_, percents) = derived();
    let mut differ = Vec::new();
    for table in version_2() {
        for column in table.columns {
            let of = |system| figure((table.title, column.metric, system));
            let ours = percent_cell((of(1) / of(0) - 1.0) * 100.0);
            let page = &percents[&(table.title, column.metric, 1)];
            if ours != *page {
                differ.push((column.metric, page.clone(), ours));
            }
        }
    }
    differ
}

const SEVEN: [(&str, &str, &str); 7] = [
    ("syscall.null_io", "+3.9", "+3.8"),
    ("process.fork", "+4.5", "+4.4"),
    ("op.int32.mul", "+1.0", "+0.9"),
    ("op.float.div", "+4.6", "+4.5"),
    ("switch.2p.64k", "-22.4", "-22.5"),
    ("file.create.10k", "+8.2", "+8.3"),
    ("file.delete.10k", "+7.8", "+7.7"),
];

#[test]
fn of_66_percent_cells_59_follow_from_the_printed_averages() {
    let (averages, _) = derived();
    let differ = not_following(|cell| averages[&cell]);
    let differ: Vec<_> = differ.iter().map(|(m, page, ours)| (*m, page.as_str(), ours.as_str())).collect();
    assert_eq!(differ, SEVEN);
}

#[test]
fn from_our_averages_four_more_differ_whose_averages_did_not_follow() {
    let hosts = hosts(&["tqm860l-summary.txt"]);
    let column = |(title, metric, _): Cell| {
        let table = TABLES.iter().find(|table| table.title == title).unwrap();
        table.columns.iter().find(|column| column.metric == metric).unwrap()
    };
    let differ = not_following(|cell| average(&hosts[cell.2], column(cell)).0);
    let beyond: Vec<_> = differ
        .iter()
        .map(|(m, page, ours)| (*m, page.as_str(), ours.as_str()))
        .filter(|cell| !SEVEN.contains(cell))
        .collect();
    assert_eq!(differ.len(), 11);
    assert_eq!(
        beyond,
        [
            ("machine.memory_parallelism", "-1.0", "-0.8"),
            ("syscall.stat", "+8.0", "+8.2"),
            ("op.int32.add", "+2.9", "+2.4"),
            ("bandwidth.tcp", "-5.5", "-5.3"),
        ]
    );
}

/// Figures of a raw file, in the unit of lmbench's tables.
fn figures(host: &Imported, metrics: &[&str]) -> Vec<f64> {
    let scale = |metric: &str| layout::metrics().find(|c| c.metric == metric).map_or(1.0, |c| c.scale);
    let of = |metric: &&str| host.series.get(*metric).map_or(f64::NAN, |s| s.values[0].value / scale(metric));
    metrics.iter().map(|metric| (of(metric) * 1e4).round() / 1e4).collect()
}

#[test]
fn a_raw_file_of_lmbench_3() {
    let hosts = hosts(&["lmbench3.raw"]);
    let [host] = &hosts[..] else { panic!("{hosts:?}") };
    assert_eq!((host.host.as_str(), host.tool.as_str(), host.rounds), ("board3", "lmbench 3.0", 1));
    let missing: Vec<&str> =
        metrics().map(|c| c.imported_by(&host.tool)).filter(|m| !host.series.contains_key(*m)).collect();
    assert_eq!(missing, [] as [&str; 0], "every column of the ten tables");
    let of = |names: &[&str]| figures(host, names);
    let machine = [
        "machine.clock_rate",
        "machine.tlb",
        "machine.cache_line",
        "machine.memory_parallelism",
        "machine.load",
    ];
    assert_eq!(of(&machine), [1796.0, 46.0, 64.0, 4.87, 1.0]);
    assert_eq!(of(&["syscall.null", "syscall.null_io", "syscall.stat"]), [0.2417, 0.3628, 1.5843]);
    assert_eq!(of(&["syscall.select.tcp", "syscall.select.files"]), [8.8751, 2.3145]);
    assert_eq!(of(&["op.int64.add", "op.double.bogo_array", "op.int32.mod"]), [0.28, 9.84, 3.35]);
    assert_eq!(of(&["switch.2p.0k", "switch.8p.64k", "switch.16p.16k"]), [5.31, 15.63, 8.41]);
    assert_eq!(of(&["file.create.0k", "file.delete.10k"]), [24.2501, 22.8948]);
    assert_eq!(of(&["vm.mmap", "vm.fault.page"]), [388.0, 0.5217]);
    assert_eq!(
        of(&["bandwidth.tcp", "bandwidth.copy.libc", "bandwidth.memory.write"]),
        [2684.19, 3870.68, 7112.36]
    );
    let levels = [
        "memory.latency.strided.l1",
        "memory.latency.strided.l2",
        "memory.latency.strided",
        "memory.latency.random.main",
    ];
    assert_eq!(of(&levels), [2.221, 7.309, 21.4, 148.301]);
}

#[test]
fn a_raw_file_of_lmbench_2_and_files_of_one_host_are_runs() {
    let texts: Vec<_> = ["lmbench2.raw", "lmbench2.raw", "lmbench3.raw"].into_iter().map(fixture).collect();
    let (hosts, warnings) = read(&texts).unwrap();
    assert_eq!(warnings, ["lmbench2.raw holds the same as lmbench2.raw: the same run counts twice"]);
    assert_eq!(
        hosts.iter().map(|host| (host.tool.as_str(), host.rounds)).collect::<Vec<_>>(),
        [("lmbench 2.0", 2), ("lmbench 3.0", 1)]
    );
    let of = |names: &[&str]| figures(&hosts[0], names);
    assert_eq!(
        of(&["machine.clock_rate", "bandwidth.tcp", "memory.latency.strided"]),
        [733.0, 96.42, 167.282]
    );
    assert_eq!(
        of(&["ipc.rpc_tcp.round_trip", "switch.16p.64k", "file.create.10k"]),
        [55.9413, 196.83, 196.2323]
    );
    assert_eq!(hosts[0].series["vm.fault.page.lmbench2"].values.len(), 2, "another method, another metric");
    assert!(!hosts[0].series.contains_key("vm.fault.page") && !hosts[0].series.contains_key("op.int32.add"));
}

#[test]
fn what_lmbench_did_not_measure_is_missing_and_never_a_number() {
    let text = "[lmbench3.0 results for Linux x 6.1 y]\nSimple syscall: 0.1 microseconds\nint64 mul: -0.02 nanoseconds\n\
                integer add: 0.00 nanoseconds\nunable to register.UDP latency using localhost: 9.5 microseconds\n\
                File /x write bandwidth: Pagefaults on /x: 0.5 microseconds\n\"File system latency\n0k\t-1\t-1\t-1\n\n\
                [MHZ: -1 System too busy]\n";
    let (hosts, _) = read(&[("x".to_owned(), text.to_owned())]).unwrap();
    let names: Vec<&str> = hosts[0].series.keys().map(String::as_str).collect();
    assert_eq!(names, ["ipc.udp.round_trip", "syscall.null"]);
    assert!(read(&[("x".to_owned(), "nothing".to_owned())]).is_err());
}

#[test]
fn a_page_that_kept_its_blanks_may_lack_cells() {
    let page = "Basic float operations - times in nanoseconds - smaller is better\n\
                -----------------------------------------------------------------\n\
                Host                 OS  float  float  float  float\n\
                \u{20}                        add    mul    div    bogo\n\
                --------- ------------- ------ ------ ------ ------\n\
                board     Linux 2.4.25- 1.0000        3.0000 4.0000\n\
                board     Linux 2.4.25- 1 2 3 4 5 6\n";
    let (hosts, warnings) = read(&[("page".to_owned(), page.to_owned())]).unwrap();
    let series = &hosts[0].series;
    assert_eq!(series["op.float.div"].values[0].value, 3.0);
    assert!(!series.contains_key("op.float.mul"));
    assert_eq!(warnings, ["page, line 7: 6 figures for 4 columns; left out"]);
}

/// Imports one text; hosts and warnings.
fn text(content: &str) -> (Vec<Imported>, Vec<String>) {
    read(&[("page".to_owned(), content.to_owned())]).unwrap()
}

#[test]
fn a_cell_that_lacks_takes_no_digits_of_its_neighbours() {
    let (_, page) = fixture("tqm860l-summary.txt");
    let row = "tqm860l1k Linux 2.4.25- 21.2 21.0 42.7 164.6 268.6";
    let (hosts, warnings) = text(&page.replacen(row, "tqm860l1k Linux 2.4.25- 21.2 21.0 42.7 268.6", 1));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("4 figures for 5 columns"), "{warnings:?}");
    let rounds = |metric: &str| hosts[1].series[metric].values.iter().map(|v| v.round).collect::<Vec<_>>();
    assert_eq!(rounds("op.int32.mul"), [2, 3, 4, 5], "the rows after it are the runs that they were");
    assert_eq!(rounds("op.float.mul"), [1, 2, 3, 4, 5]);
    assert!(hosts[1].series["op.int32.mul"].values.iter().all(|v| (42.0..43.0).contains(&v.value)));
}

const MEMORY: &str = "\
Memory latencies in nanoseconds - smaller is better
------------------------------------------------------------------------------
Host                 OS   Mhz   L1 $   L2 $    Main mem    Rand mem    Guesses
--------- ------------- ----- ------ ------ ----------- ----------- -------
board     Linux 2.6.11-  2881 1.3880 4.8630        48.0                  No L2 cache?
board     Linux 2.6.11-  2881 1.3880 4.8630        48.0       120.0
";

#[test]
fn guesses_are_no_column() {
    let (hosts, warnings) = text(MEMORY);
    assert_eq!(warnings, [] as [String; 0]);
    let series = &hosts[0].series;
    assert_eq!(series["memory.latency.strided"].values.len(), 2);
    assert_eq!(series["machine.clock_rate"].values[0].value, 2881e6);
    let random = &series["memory.latency.random.main"].values;
    assert_eq!(random.iter().map(|v| (v.round, v.value)).collect::<Vec<_>>(), [(2, 120.0)]);
}

#[test]
fn a_page_of_lmbench_2_has_fewer_columns() {
    let page = "\
                 L M B E N C H  2 . 0   S U M M A R Y
Memory latencies in nanoseconds - smaller is better
---------------------------------------------------
Host                 OS   Mhz  L1 $   L2 $    Main mem    Guesses
--------- -------------  ---- ----- ------    --------    -------
board      Linux 2.4.19   733 4.081 9.6870       169.3
File & VM system latencies in microseconds - smaller is better
--------------------------------------------------------------
Host                 OS   0K File      10K File      Mmap    Prot    Page
                        Create Delete Create Delete  Latency Fault   Fault
--------- ------------- ------ ------ ------ ------  ------- -----   -----
board      Linux 2.4.19   72.2   17.2  196.2   34.0    842.0 0.894 3.00000
";
    let (hosts, warnings) = text(page);
    assert_eq!(warnings, [] as [String; 0]);
    assert_eq!((hosts[0].tool.as_str(), hosts[0].release.as_str()), ("lmbench 2.0", "2.4.19"));
    let series = &hosts[0].series;
    assert_eq!(series["memory.latency.strided"].values[0].value, 169.3);
    assert_eq!(series["vm.fault.page.lmbench2"].values[0].value, 3_000.0, "another method, another metric");
    assert!(!series.contains_key("syscall.select.files") && !series.contains_key("vm.fault.page"));
}

#[test]
fn a_title_that_is_not_known_ends_a_table_and_another_kernel_is_another_system() {
    let (_, page) = fixture("tqm860l-summary.txt");
    let (hosts, _) = text(&page.replace("File & VM", "File &amp; VM"));
    assert_eq!(hosts[0].rounds, 5);
    assert!(hosts[0].series.contains_key("vm.mmap"));
    let (hosts, warnings) = text(&page.replace("File & VM system latencies", "Some other latencies"));
    assert_eq!(hosts[0].rounds, 5, "its rows are nobody's");
    assert!(!hosts[0].series.contains_key("vm.mmap"));
    assert_eq!(hosts[0].series["ipc.pipe.round_trip"].values.len(), 5);
    assert_eq!(warnings.len(), 1, "{warnings:?}");

    let (hosts, _) = text(&page.replace("tqm860l1k Linux 2.4.25-", "tqm860l Linux 2.6.11-"));
    assert_eq!(Imported::names(&hosts), ["tqm860l 2.4.25-", "tqm860l 2.6.11-"]);
    assert!(hosts.iter().all(|host| host.rounds == 5));
}

#[test]
fn what_was_cut_off_is_missing_and_said() {
    let (_, raw) = fixture("lmbench3.raw");
    let cut = |marker: &str, more: usize| {
        let at = raw.find(marker).unwrap();
        let end = raw[at..].match_indices('\n').nth(more).unwrap().0;
        text(&raw[..at + end + 1])
    };
    let (hosts, warnings) = cut("Memory read bandwidth", 4);
    assert!(
        !hosts[0].series.contains_key("bandwidth.memory.read"),
        "its last row is not the one that was meant"
    );
    assert!(hosts[0].series.contains_key("bandwidth.copy.libc"));
    assert!(warnings[0].contains("no closing date"), "{warnings:?}");
    let at = raw.find("Pipe latency: ").unwrap() + "Pipe latency: 1".len();
    assert!(!text(&raw[..at]).0[0].series.contains_key("ipc.pipe.round_trip"));
    let message = raw.replacen("\"mappings\n", "\"mappings\n./lat_mmap: no such thing\n", 1);
    assert_eq!(text(&message).0[0].series["vm.mmap"].values[0].over, 16_777_216);

    let several = text(&raw.replace("[SYNC_MAX: 1]", "[SYNC_MAX: 4]")).0;
    assert_eq!(several[0].tool, "lmbench 3.0, 4 copies at once");
    let crlf = text(&raw.replace('\n', "\r\n")).0;
    assert_eq!(crlf[0].series.len(), text(&raw).0[0].series.len());
}
