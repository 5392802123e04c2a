//! A document by one command: its claims, its tables, its page.

use crate::bench::{Bench, out, page_of};
use std::fs;

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn the_document_on_the_tick_is_answered_by_one_command() {
    let bench = Bench::new();
    let text = out(&bench.run(&["experiment", "clock-tick-100-vs-1000", "--quick"]));
    // The answer is in the first screen, and fits it.
    let screen: Vec<&str> = text.lines().take(12).collect();
    let answer = screen.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(answer.contains("asks How much") && answer.contains("found About 5 %"), "{answer}");
    assert!(
        answer.contains("on a PowerPC of 62.5 million instructions") && answer.contains("claims agree"),
        "{answer}"
    );
    assert!(text.contains("What cannot be had here") && text.contains("Basic integer operations"));
    // What a count of instructions cannot have, beside the document's per cents.
    assert!(text.contains("What caches add") && text.contains("misses in 1,000"), "{text}");
    // The document's rows, averages and per cents below ours, as it prints them; its first table without ours.
    let integer = text.split("Basic integer operations - times").nth(1).unwrap();
    assert!(integer.starts_with(" in nanoseconds") && integer.contains("the document's figures:"), "{text}");
    assert!(integer.lines().any(|line| line.starts_with("HZ 1000    average")), "{text}");
    let printed = ["%", "against", "tqm860l", "+2.4", "+2.9*", "+1.0", "+2.0*", "+3.2*"];
    assert!(integer.lines().any(|line| line.split_whitespace().eq(printed)), "{text}");
    assert!(text.contains("Basic system parameters\n"), "{text}");
    let page = page_of(out(&bench.run(&["experiments", "clock-tick-100-vs-1000", "--format", "json"])));
    let claims = page["claims"].as_array().unwrap();
    let agreed = |place: &str, says: &str| {
        let own = claims
            .iter()
            .find(|claim| claim["place"] == place && claim["says"].as_str().unwrap().contains(says));
        own.unwrap_or_else(|| panic!("no claim {place} {says}"))["agreement"].as_str().unwrap()
    };
    for (place, says) in [
        ("Theory", "50 us"),
        ("Theory", "4.5 % more"),
        ("Theory, note", ".9 % more"),
        ("Table 3", "integer"),
        ("Table 9", "bandwidths"),
    ] {
        assert_eq!(agreed(place, says), "agrees", "{place}: {says}");
    }
    // Every column of the network is filled by the small agent.
    let latencies = claims.iter().find(|claim| claim["place"] == "Table 7").unwrap();
    assert!(latencies["here"].as_str().unwrap().contains("in 7 of 7 columns"), "{latencies}");
    let file = bench.store().join("page.html");
    let written = bench.run(&["experiments", "clock-tick-100-vs-1000", "-o", file.to_str().unwrap()]);
    assert_eq!(written.status.code(), Some(0));
    let html = fs::read_to_string(file).unwrap();
    assert!(html.contains("measured again") && html.contains("Claim by claim"));
    assert!(html.contains("by kernel function") && html.contains("<title>Decrementer: "), "no flame graph");
}
