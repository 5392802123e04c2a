//! Result files that the real programs made are read as they mean them, and what is exported they read back.

use crate::bench::{Bench, err, out, page_of};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The last version of benchstat that Debian's Go builds.
const BENCHSTAT: &str = "golang.org/x/perf/cmd/benchstat@v0.0.0-20230113213139-801c7ef9e5c5";

fn ran(command: &mut Command) -> String {
    let done = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(done.status.success(), "{command:?}: {}{}", out(&done), err(&done));
    out(&done)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) }
}

/// The values of each metric of the newest recording, by its name.
fn values(bench: &Bench, metric: &str) -> Vec<f64> {
    values_of(bench, "last", metric)
}

fn values_of(bench: &Bench, name: &str, metric: &str) -> Vec<f64> {
    let page = page_of(out(&bench.run(&["export", name, "--format", "json"])));
    let rows = page["rows"].as_array().unwrap().iter().filter(|row| row["metric"] == metric);
    rows.map(|row| row["value"].as_f64().unwrap()).collect()
}

/// The median that benchstat prints for each benchmark and unit.
fn benchstat(file: &Path) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/go");
    let program = folder.join("bin/benchstat");
    if !program.exists() {
        ran(Command::new("go")
            .args(["install", BENCHSTAT])
            .env("GOPATH", folder)
            .env("GOFLAGS", "-modcacherw"));
    }
    ran(Command::new(program).args(["-format", "csv"]).arg(file))
}

fn import(bench: &Bench, file: &Path) {
    let done = bench.run(&["import", file.to_str().unwrap()]);
    assert!(done.status.success(), "{}", err(&done));
}

#[test]
#[ignore = "second tier: installs benchstat, and runs go test"]
fn benchmarks_of_go_there_and_back() {
    let (bench, folder) = (Bench::new(), tempfile::tempdir().unwrap());
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    write("go.mod", "module example.org/sums\n\ngo 1.18\n");
    write(
        "sum_test.go",
        "package sums\n\nimport \"testing\"\n\nvar sink int\n\nfunc BenchmarkSum(b *testing.B) {\n\tb.ReportAllocs()\n\tfor i := 0; i < b.N; i++ {\n\t\ts := make([]int, 100)\n\t\tfor j := range s {\n\t\t\tsink += s[j] + j\n\t\t}\n\t}\n}\n",
    );
    let text = ran(Command::new("go")
        .args(["test", "-bench", ".", "-benchtime", "2ms", "-count", "5"])
        .current_dir(folder.path()));
    import(&bench, &write("go.txt", &text));
    let printed: Vec<f64> = text
        .lines()
        .filter(|line| line.starts_with("BenchmarkSum"))
        .map(|line| line.split_whitespace().nth(2).unwrap().parse().unwrap())
        .collect();
    let name =
        text.lines().find_map(|line| line.strip_prefix("Benchmark")?.split_whitespace().next()).unwrap();
    assert_eq!((values(&bench, &format!("go.{name}.time")), printed.len()), (printed.clone(), 5), "{text}");
    // What is exported has the median that the original has.
    let exported = write("back.txt", &out(&bench.run(&["export", "last", "--format", "benchfmt"])));
    let seconds = |table: &str| -> Vec<f64> {
        let own = table.lines().filter(|line| line.contains("Sum"));
        own.filter_map(|line| line.split(',').nth(1)?.parse().ok()).collect()
    };
    let wanted = median(printed) * 1e-9;
    let (original, back) =
        (seconds(&benchstat(&write("original.txt", &text))), seconds(&benchstat(&exported)));
    for table in [&original, &back] {
        assert!(
            table.iter().any(|value| (value / wanted - 1.0).abs() < 1e-4),
            "{wanted}: {original:?} {back:?}"
        );
    }
    // Rates: more is better.
    let rates = write(
        "wrk.log",
        "Running 1s test @ http://h/\nRequests/sec: 5000.5\nRunning 1s test @ http://h/\nRequests/sec: 5100.5\n",
    );
    import(&bench, &rates);
    let text = out(&bench.run(&["export", "last", "--format", "benchfmt"]));
    assert!(
        text.contains("Unit op/s better=higher") && text.contains("BenchmarkWrk.requests 1 5000.5 op/s"),
        "{text}"
    );
    assert!(benchstat(&write("rates.txt", &text)).contains("5050.5"), "{text}");
}

#[test]
#[ignore = "second tier: runs pyperf and pytest-benchmark of target/python"]
fn benchmarks_of_python_are_read() {
    let (bench, folder) = (Bench::new(), tempfile::tempdir().unwrap());
    let packages: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python");
    let python = |arguments: &[&str]| {
        ran(Command::new("python3").args(arguments).current_dir(folder.path()).env("PYTHONPATH", &packages))
    };
    python(&["-m", "pyperf", "timeit", "--fast", "--name", "sum", "-o", "p.json", "sum(range(100))"]);
    let path = folder.path().join("p.json");
    import(&bench, &path);
    let page: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let runs =
        page["benchmarks"][0]["runs"].as_array().unwrap().iter().filter_map(|run| run["values"].as_array());
    let means: Vec<f64> = runs
        .map(|all| all.iter().map(|value| value.as_f64().unwrap() * 1e9).sum::<f64>() / all.len() as f64)
        .collect();
    let own = values(&bench, "pyperf.sum");
    assert!(
        own.len() == means.len() && own.iter().zip(&means).all(|(a, b)| (a / b - 1.0).abs() < 1e-9),
        "{own:?} {means:?}"
    );

    std::fs::write(
        folder.path().join("test_it.py"),
        "def test_sum(benchmark):\n    benchmark(lambda: sum(range(100)))\n",
    )
    .unwrap();
    python(&[
        "-m",
        "pytest",
        "-q",
        "--benchmark-json=b.json",
        "--benchmark-save-data",
        "--benchmark-max-time=0.05",
        "test_it.py",
    ]);
    let path = folder.path().join("b.json");
    import(&bench, &path);
    let page: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let stats = &page["benchmarks"][0]["stats"];
    let own = values(&bench, "pytest.test_sum");
    assert_eq!(own.len() as u64, stats["rounds"].as_u64().unwrap());
    assert!((median(own) / (stats["median"].as_f64().unwrap() * 1e9) - 1.0).abs() < 1e-9);
    // Google Benchmark's form, which has the times alone, is read back.
    let exported = folder.path().join("g.json");
    std::fs::write(&exported, out(&bench.run(&["export", "last", "--format", "google-benchmark"]))).unwrap();
    let before = values(&bench, "pytest.test_sum");
    import(&bench, &exported);
    // It has the time of what was exported, and is not the last.
    assert_eq!(values_of(&bench, "g", "benchmark.pytest.test_sum.real_time"), before);
}

#[test]
#[ignore = "second tier: DuckDB of target/python writes a file"]
fn a_parquet_file_is_a_table_with_named_columns() {
    let (bench, folder) = (Bench::new(), tempfile::tempdir().unwrap());
    let packages: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python");
    let write = |name: &str, options: &str| {
        let table = "SELECT * FROM (VALUES ('a,1', 1.5, 9007199254740993, TIMESTAMP '2026-11-27 10:00:00', [1]), \
                     ('b', NULL, 2, TIMESTAMP '2026-11-28 10:00:00', []), ('b', 2.25, 3, TIMESTAMP '2026-11-29 10:00:00', [2])) \
                     t(\\\"commit\\\", latency, n, moment, list)";
        let script =
            format!("import duckdb; duckdb.sql(\"COPY ({table}) TO '{name}' (FORMAT parquet{options})\")");
        ran(Command::new("python3")
            .args(["-c", &script])
            .current_dir(folder.path())
            .env("PYTHONPATH", &packages));
        folder.path().join(name)
    };
    let path = write("t.parquet", "");
    let path = path.to_str().unwrap();
    let unasked = bench.run(&["import", path]);
    assert_eq!(unasked.status.code(), Some(2));
    assert!(err(&unasked).contains("a table of 4 columns and 3 lines"), "{}", err(&unasked));
    let done = bench.run(&["import", path, "--value", "latency:us", "--group", "commit"]);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    assert_eq!(values(&bench, "latency.commit=a_1"), [1500.0]);
    assert_eq!(values(&bench, "latency.commit=b"), [2250.0]);
    let done = bench.run(&["import", path, "--value", "n", "--time", "moment", "--format", "json"]);
    let page = page_of(out(&done));
    assert_eq!(page["recordings"][2]["measured_at"], "2026-11-29T10:00:00Z", "{page}");
    let packed = bench.run(&["import", write("z.parquet", ", COMPRESSION zstd").to_str().unwrap()]);
    assert!(
        packed.status.code() == Some(1) && err(&packed).contains("compressed by zstd"),
        "{}",
        err(&packed)
    );
}

#[test]
#[ignore = "second tier: builds criterion and divan"]
fn benchmarks_of_rust_are_read() {
    let (bench, folder) = (Bench::new(), tempfile::tempdir().unwrap());
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    };
    write(
        "Cargo.toml",
        "[package]\nname = \"trip\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dev-dependencies]\n\
         criterion = { version = \"=0.5.1\", default-features = false, features = [\"cargo_bench_support\"] }\ndivan = \"=0.1.21\"\n\
         [[bench]]\nname = \"criterion\"\nharness = false\n[[bench]]\nname = \"divan\"\nharness = false\n[profile.bench]\nopt-level = 1\n[workspace]\n",
    );
    write(
        "src/lib.rs",
        "pub fn fib(n: u64) -> u64 {\n    if n < 2 { n } else { fib(n - 1) + fib(n - 2) }\n}\n",
    );
    write(
        "benches/criterion.rs",
        "use std::time::Duration;\nfn main() {\n    let mut c = criterion::Criterion::default().sample_size(10)\n        \
         .warm_up_time(Duration::from_millis(50)).measurement_time(Duration::from_millis(100)).configure_from_args();\n    \
         c.benchmark_group(\"fib\").bench_function(\"15\", |b| b.iter(|| trip::fib(std::hint::black_box(15))));\n    c.final_summary();\n}\n",
    );
    write(
        "benches/divan.rs",
        "fn main() {\n    divan::main();\n}\n#[divan::bench(args = [5, 10], sample_count = 10)]\nfn fib(b: divan::Bencher, n: u64) {\n    \
         b.counter(divan::counter::BytesCount::new(8usize)).bench(|| trip::fib(n));\n}\n",
    );
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/criterion");
    let text = |name: &str| {
        let mut cargo = Command::new("cargo");
        cargo.args(["bench", "--quiet", "--bench", name]).current_dir(folder.path());
        ran(cargo.env("CARGO_TARGET_DIR", &target).env("CRITERION_HOME", folder.path().join("criterion")))
    };
    // The samples of the folder: their median is the one that criterion states.
    let printed = text("criterion");
    import(&bench, &folder.path().join("criterion"));
    let own = values(&bench, "criterion.fib/15");
    let estimates =
        std::fs::read_to_string(folder.path().join("criterion/fib/15/new/estimates.json")).unwrap();
    let estimates: Value = serde_json::from_str(&estimates).unwrap();
    let stated = estimates["median"]["point_estimate"].as_f64().unwrap();
    assert!(own.len() == 10 && (median(own.clone()) / stated - 1.0).abs() < 1e-9, "{own:?} {stated}");
    // What it printed is the slope, or the mean where there is none.
    import(&bench, &write("criterion.txt", &printed));
    let slope = ["slope", "mean"].iter().find_map(|one| estimates[one]["point_estimate"].as_f64()).unwrap();
    let read = values(&bench, "criterion.fib/15")[0];
    assert!((read / slope - 1.0).abs() < 1e-3, "{read} {slope}: {printed}");
    // Divan's tree: five digits of each value, and throughput below.
    let printed = text("divan");
    import(&bench, &write("divan.txt", &printed));
    let line =
        printed.lines().find(|line| line.contains("\u{2500} 10 ")).unwrap_or_else(|| panic!("{printed}"));
    let median: Vec<&str> =
        line.split('\u{2502}').nth(line.split('\u{2502}').count() - 4).unwrap().split_whitespace().collect();
    let factor = match median[1] {
        "ns" => 1.0,
        "\u{b5}s" => 1e3,
        other => panic!("{other}: {printed}"),
    };
    let read = values(&bench, "divan.fib.10.median")[0];
    assert!((read / (median[0].parse::<f64>().unwrap() * factor) - 1.0).abs() < 1e-9, "{read}: {printed}");
    let bytes = values(&bench, "divan.fib.10.throughput.median")[0];
    assert!((bytes / (8e9 / read) - 1.0).abs() < 1e-2, "{bytes} {read}: {printed}");
}
