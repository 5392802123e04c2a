//! `tickmark stat`: beside the real ministat byte for byte, and right where that is wrong.

use crate::bench::{Bench, err, out, page_of, refused};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Sets of values by name; those of the documents first.
const SETS: &[(&str, &str)] = &[
    ("ACPI", "14097.47 13741.43 13704.01 13626.05 13769.32"),
    ("TSC", "13638.09 15204.89 15126.16 15199.22 15111.09"),
    ("ACPI4", "13741.43 13704.01 13626.05 13769.32"),
    ("TSC4", "15204.89 15126.16 15199.22 15111.09"),
    ("hz.SMP", "13715 13719 13726 13734 13735 13750 13778 13778 13783 13793"),
    ("vendor.SMP", "13813 13864 13880 13889 13905 13921 13924 13933 13966 13970"),
    ("hz.UP", "14067 14098 14104 14107 14116 14116 14135 14136 14155 14178"),
    ("vendor.UP", "14141 14149 14153 14159 14169 14170 14179 14185 14197 14257"),
    ("iguana", "50 200 150 400 750 400 150"),
    ("chameleon", "150 400 720 500 930"),
    ("big1", "1000000001 1000000002 1000000003"),
    ("big2", "1000000011 1000000012 1000000013"),
    ("huge", "1.7e18 1.7e18 1.70000000000001e18"),
    ("zero", "0 0 0"),
    ("pm", "-1 0 1"),
    ("neg", "-3 -4 -5"),
    ("same", "5 5 5"),
    ("nan", "nan 2 3 4"),
    ("inf", "1e400 2 3 4"),
    ("hex", "0x1p3 0x.8 -0x10 +3"),
    ("tiny", "1e-310 2e-310 4e-320"),
    ("subnormal", "0x1p-1074 0x1.8p-1074 0x0.8p-1074 0x1.00000000000008p0"),
    ("zeros", "0 -0 5"),
    ("minus", "5 -0 0 0"),
    ("two", "1 2"),
    ("bad", "1 2 3 5ms"),
    ("empty", ""),
];

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    for (name, values) in SETS {
        write(name, &values.replace(' ', "\n"));
    }
    write("columns", "a,1,2;3\nb,4,5\n#c\nd,,7,9\r\ne,8;1,2\n");
    write("comments", "1 #c\n\n#x\n 2\n0x10\r\n1e3\n");
    write("long", &format!("{}12345\n1\n2\n3\n{}\n", " ".repeat(8190), "9".repeat(8200)));
    write("nul", "1\0x\n2\n3\n\0\n4\n");
    for df in 4..=104 {
        let column =
            |base: usize, count: usize| (0..count).map(|i| format!("{}\n", base + i % 2)).collect::<String>();
        write(&format!("a{df}"), &column(0, (df + 2) / 2));
        write(&format!("b{df}"), &column(1000, df + 2 - (df + 2) / 2));
    }
    folder
}

fn fed(mut command: Command, folder: &Path) -> Output {
    command.current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that refuses its options does not read.
    let _ = child.stdin.take().unwrap().write_all(b"50\n200\n150\n400\n750\n400\n150\n");
    child.wait_with_output().unwrap()
}

fn cases() -> Vec<Vec<String>> {
    let mut cases: Vec<String> = Vec::new();
    let files = ["columns", "comments", "long", "nul", "missing", "."];
    for name in SETS.iter().map(|(name, _)| *name).chain(files) {
        cases.extend(["", "-A ", "-n ", "-s "].map(|flags| format!("{flags}{name}")));
    }
    for first in ["ACPI", "zero", "neg", "pm", "nan", "huge", "same", "big1", "tiny"] {
        for second in ["TSC", "big2", "same", "inf", "neg", "zero", "bad"] {
            cases.extend([format!("{first} {second}"), format!("-A {first} {second}")]);
        }
    }
    let levels = ["80", "90", "95", "98", "99", "99.5", "42", "95%", "0x5f", "9.5e1", "nan"];
    for level in levels {
        cases.extend([format!("-c {level} ACPI4 TSC4"), format!("-Ac{level} hz.UP vendor.UP")]);
    }
    for df in 4..=104 {
        cases.extend(levels[..6].iter().map(|level| format!("-A -c {level} a{df} b{df}")));
    }
    // One to eight sets, stacked higher and lower than the one before.
    let sets = ["hz.SMP", "iguana", "a40", "vendor.UP", "chameleon", "b9", "TSC", "ACPI"];
    for count in 1..=8 {
        for flags in ["", "-s", "-n", "-A", "-w 133", "-w 10 -s", "-w 3"] {
            cases.push(format!("{flags} {}", sets[..count].join(" ")));
            cases.push(format!("{flags} {}", sets[8 - count..].join(" ")));
        }
    }
    // With more sets a width of 0 writes where it must not, and sometimes crashes.
    cases.push("-w 0 ACPI".to_owned());
    for width in ["2", "-5", "x", "1000"] {
        cases.push(format!("-w {width} ACPI TSC iguana"));
    }
    for column in ["1", "2", "3", "0", "-1", "x", "2x", "99"] {
        cases.extend([
            format!("-C {column} -d , columns"),
            format!("-C{column} -d ,; columns columns"),
            format!("-C {column} long"),
        ]);
    }
    let words = [
        "-z ACPI",
        "-h",
        "-c",
        "ACPI -A",
        "-- -A",
        "-nA ACPI TSC",
        "ACPI two missing",
        "ACPI missing two",
        "bad missing",
        "-c 95 -c 42 ACPI TSC",
        "-c 42 missing",
        "- TSC",
        "-",
        "",
        "- -",
        "-C",
        "-Aw",
        "./ACPI TSC",
    ];
    cases.extend(words.map(str::to_owned));
    let mut split: Vec<Vec<String>> =
        cases.iter().map(|case| case.split_whitespace().map(str::to_owned).collect()).collect();
    for option in ["-c", "-C", "-w", "-d"] {
        split.push(vec![option.to_owned(), String::new(), "ACPI".to_owned()]);
    }
    split
}

#[test]
#[ignore = "second tier: ministat"]
fn compat_is_the_real_ministat_byte_for_byte() {
    let (bench, folder, cases) = (Bench::new(), folder(), cases());
    let (mut equal, mut crashed) = (0, 0);
    for case in &cases {
        let words: Vec<&str> = case.iter().map(String::as_str).collect();
        let mut real = Command::new("ministat");
        real.args(&words);
        let real = fed(real, folder.path());
        let ours = fed(bench.command(&[&["stat", "--compat"], &words[..]].concat()), folder.path());
        if real.status.code().is_none() {
            // Where it crashes there is a line.
            assert_eq!(ours.status.code(), Some(2), "ministat {case:?}");
            refused(&ours, 2, &["here ministat crashes"]);
            crashed += 1;
            continue;
        }
        assert_eq!(out(&ours), out(&real), "ministat {case:?}");
        assert_eq!((err(&ours), ours.status.code()), (err(&real), real.status.code()), "ministat {case:?}");
        equal += 1;
    }
    println!("{equal} of {} command lines equal, {crashed} at which ministat crashes", cases.len());
    assert!(equal > 1000 && crashed < 40, "{equal} {crashed}");
}

/// Command lines with getopt's abbreviations, the environment and names that are no text give the real program's output.
#[test]
#[ignore = "second tier: ministat"]
fn compat_takes_the_environment_and_bytes_as_the_real_one_does() {
    use std::os::unix::ffi::OsStrExt;
    let (bench, folder) = (Bench::new(), folder());
    let odd = std::ffi::OsStr::from_bytes(b"odd\xff");
    std::fs::write(folder.path().join(odd), "1\n2\n4\n").unwrap();
    let both = |words: &[&std::ffi::OsStr], strict: bool| {
        let mut commands = [Command::new("ministat"), bench.command(&["stat", "--compat"])];
        commands.iter_mut().for_each(|command| _ = command.args(words));
        if strict {
            commands.iter_mut().for_each(|command| _ = command.env("POSIXLY_CORRECT", "1"));
        }
        let [real, ours] = commands.map(|command| fed(command, folder.path()));
        assert_eq!((ours.stdout, ours.status), (real.stdout, real.status), "{words:?}");
        assert_eq!(ours.stderr, real.stderr, "{words:?}");
    };
    let words = |text: &'static str| text.split(' ').map(std::ffi::OsStr::new).collect::<Vec<_>>();
    for line in ["ACPI -A", "ACPI -A TSC", "-A ACPI TSC", "-- ACPI TSC", "-n ACPI -- -A"] {
        both(&words(line), true);
        both(&words(line), false);
    }
    both(&[odd], false);
    both(&[odd, std::ffi::OsStr::new("ACPI")], false);
    both(&[std::ffi::OsStr::from_bytes(b"missing\xff")], false);
    both(&[std::ffi::OsStr::from_bytes(b"-\xff"), odd], false);
    both(&[std::ffi::OsStr::from_bytes(b"-d\xff"), odd], false);
    // What cannot be allocated is refused, and not tried.
    let mut wide = bench.command(&["stat", "--compat", "-w", "999999999999", "ACPI"]);
    refused(&wide.current_dir(folder.path()).output().unwrap(), 2, &["columns"]);
}

/// The one comparison of a page.
fn compared(bench: &Bench, folder: &Path, arguments: &[&str]) -> serde_json::Value {
    let mut command = bench.command(&[&["stat"], arguments, &["--format", "json"]].concat());
    let output = command.current_dir(folder).output().unwrap();
    let model = page_of(&output.stdout);
    model["comparisons"][0].clone()
}

#[test]
fn the_documents_get_their_verdicts() {
    let (bench, folder) = (Bench::new(), folder());
    let near = |value: &serde_json::Value, expected: f64| {
        let observed = value.as_f64().unwrap();
        assert!((observed / expected - 1.0).abs() < 1e-6, "{observed} is not {expected}");
    };
    // Golden values: statistics.md (scipy).
    let all = compared(&bench, folder.path(), &["ACPI", "TSC"]);
    near(&all["p_t"], 0.022_565_353_84);
    // Of the 126 ways to label them 5 are as far.
    assert_eq!(all["judged_by"], "permutations");
    near(&all["p"], 5.0 / 126.0);
    near(&all["difference_interval"][0], 232.929_479_2);
    near(&all["shift"], 1384.73);
    near(&all["p_mann_whitney"], 0.095_238_095_2);
    let four = compared(&bench, folder.path(), &["ACPI4", "TSC4"]);
    near(&four["ratio"], 1.105_770_684_28);
    near(&four["ratio_interval"][0], 1.098_186_070_66);
    near(&four["ratio_interval"][1], 1.113_425_288_33);
    let verdict = |arguments: &[&str]| compared(&bench, folder.path(), arguments)["verdict"].clone();
    assert_eq!(verdict(&["hz.SMP", "vendor.SMP"]), "changed");
    assert_eq!(verdict(&["hz.UP", "vendor.UP"]), "below_margin", "real, but below 1 %");
    assert_eq!(verdict(&["--margin", "2%", "hz.SMP", "vendor.SMP"]), "below_margin");
    assert_eq!(verdict(&["hz.SMP", "hz.SMP"]), "equivalent");
}

#[test]
fn what_the_old_tool_gets_wrong_is_right() {
    let (bench, folder) = (Bench::new(), folder());
    let big = compared(&bench, folder.path(), &["big1", "big2"]);
    // Standard deviations of 1: 10 +- 2.26659 with t to three decimals.
    let half = (big["difference_interval"][1].as_f64().unwrap()
        - big["difference_interval"][0].as_f64().unwrap())
        / 2.0;
    assert!((half - 2.266_958).abs() < 1e-6, "{half}");
    let huge = compared(&bench, folder.path(), &["huge", "huge"]);
    assert!(huge["difference_interval"][0].is_f64(), "{huge}");
    for base in ["zero", "neg", "pm"] {
        let one = compared(&bench, folder.path(), &[base, "hz.UP"]);
        assert!(one["ratio"].is_null() && one["verdict"] == "changed", "{one}");
    }
    let mut page = bench.command(&["stat", "-w", "40", "a4", "b4", "iguana"]);
    let page = out(&page.current_dir(folder.path()).output().unwrap());
    let dots = |symbol| {
        page.lines().filter(|l| l.starts_with('|')).flat_map(str::chars).filter(|c| *c == symbol).count()
    };
    assert_eq!((dots('x'), dots('+'), dots('*')), (3, 3, 7), "{page}");
    let mut page = bench.command(&["stat", "ACPI", "--drop-outliers"]);
    let page = out(&page.current_dir(folder.path()).output().unwrap());
    assert!(page.contains("1 outlier (14097.47): dropped, as asked") && page.contains("13722.72"), "{page}");
}

#[test]
fn bad_input_gives_one_line() {
    let (bench, folder) = (Bench::new(), folder());
    let stat = |arguments: &[&str]| {
        let mut command = bench.command(&[&["stat"], arguments].concat());
        command.current_dir(folder.path()).output().unwrap()
    };
    std::fs::write(folder.path().join("one"), "5\n").unwrap();
    refused(&stat(&["nan"]), 2, &["line 1 of nan", "finite"]);
    refused(&stat(&["inf", "ACPI"]), 2, &["line 1 of inf", "\"1e400\""]);
    refused(&stat(&["bad"]), 2, &["line 4 of bad", "numbers in ms"]);
    refused(&stat(&["empty"]), 2, &["no number"]);
    refused(&stat(&["-C", "9", "ACPI"]), 2, &["column 9"]);
    refused(&stat(&["one"]), 2, &["one number"]);
    refused(&stat(&["missing"]), 1, &["missing"]);
    refused(&stat(&["--paired", "ACPI", "TSC4"]), 2, &["ACPI has 5", "TSC4 has 4"]);
    refused(&stat(&["--paired", "--drop-outliers", "ACPI", "TSC"]), 2, &["cannot be used"]);
    refused(&stat(&["-c", "5%", "ACPI"]), 2, &["50%"]);
    refused(&stat(&["-C", "0", "ACPI"]), 2, &["from 1"]);
    refused(&stat(&["-", "-"]), 2, &["once"]);
    let code = stat(&["ACPI4", "TSC4", "--fail-on", "changed"]).status.code();
    assert_eq!(code, Some(3));
}
