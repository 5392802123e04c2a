//! The documents: what there is, and what is said before one is measured.

use crate::bench::{Bench, err, out, page_of, refused};

const NAMES: [&str; 5] =
    ["clock-tick-100-vs-1000", "timecounter-cost", "apic-timer-module", "hz-and-http", "processor-load"];

#[test]
fn five_documents_are_listed_with_what_they_ask_take_and_need() {
    let bench = Bench::new();
    let text = out(&bench.run(&["experiments"]));
    for name in NAMES {
        assert!(
            text.contains(&format!("{name}: "))
                && text.contains(&format!("tickmark experiment {name} --quick"))
        );
    }
    assert_eq!(text.matches("\n  asks ").count(), 5, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let page = page_of(out(&bench.run(&["experiments", "--format", "json"])));
    let papers = page["papers"].as_array().unwrap();
    assert_eq!(papers.iter().map(|paper| paper["experiment"].as_str().unwrap()).collect::<Vec<_>>(), NAMES);
    assert!(papers.iter().all(|paper| paper["minutes_quick"].as_f64() <= paper["minutes"].as_f64()));
}

#[test]
fn a_document_that_was_not_measured_names_the_command_that_does() {
    let bench = Bench::new();
    let none = bench.run(&["experiments", "hz-and-http"]);
    refused(&none, 1, &["was not measured yet", "tickmark experiment hz-and-http --quick"]);
    refused(&bench.run(&["experiments", "hz-and-htp"]), 2, &["did you mean hz-and-http"]);
    refused(&bench.run(&["experiment", "slack=50us,1ns", "timer", "--quick"]), 2, &["--quick"]);
    refused(&bench.run(&["experiment", "tick-modes", "--quick"]), 2, &["[quick]"]);
}

/// Each experiment names what it lacks, the last as the error; nothing is shown as if it had been measured now.
#[test]
fn without_qemu_each_experiment_says_what_brings_it_and_no_answer_is_shown() {
    let bench = Bench::new();
    let mut command = bench.command(&["experiment", "clock-tick-100-vs-1000", "--quick"]);
    let output = command.env("PATH", bench.store()).output().unwrap();
    assert_eq!((output.status.code(), out(&output)), (Some(1), String::new()));
    let said = err(&output);
    for package in ["apt-get install qemu-system-ppc", "apt-get install qemu-system-x86"] {
        assert_eq!(said.matches(package).count(), 1, "{said}");
    }
}
