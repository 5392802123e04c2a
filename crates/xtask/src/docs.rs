//! docs/PROBES.md, from the specs.

use crate::{Result, shell};
use std::fmt::Write;
use tickmark_wire::{Better, Group, Headline, Unit};

const PATH: &str = "docs/PROBES.md";

/// Writes the page.
pub(crate) fn write() -> Result<()> {
    std::fs::write(shell::root().join(PATH), page()).map_err(|e| format!("{PATH}: {e}"))
}

/// Fails where the page is not what the specs say.
pub(crate) fn check() -> Result<()> {
    let there = std::fs::read_to_string(shell::root().join(PATH)).map_err(|e| format!("{PATH}: {e}"))?;
    if there == page() { Ok(()) } else { Err(format!("{PATH} is stale; cargo xtask docs writes it")) }
}

fn page() -> String {
    let mut page = "# Probes\n\n\
        Made from the probes' specs by `cargo xtask docs`; edit those. The floor is the 10th percentile of short\n\
        batches (docs/METHODOLOGY.md). A figure below the physical limit is refused. Commands take the name as\n\
        well as the title.\n"
        .to_owned();
    for group in Group::ALL.into_iter().filter(|group| *group != Group::Selftest) {
        let _ = writeln!(page, "\n## {} (suite `{}`)\n", group.title(), group.suite());
        page.push_str(
            "| metric | title | what is timed | gives | better | physical limit, ps | system calls | definition |\n",
        );
        page.push_str("|---|---|---|---|---|---|---|---|\n");
        for probe in tickmark_probe::all().filter(|probe| probe.spec.group == group) {
            let spec = &probe.spec;
            let gives = match spec.headline {
                Headline::Floor if spec.unit == Unit::Throughput => "bytes a second",
                Headline::Floor if spec.unit == Unit::Frequency => "operations a second",
                Headline::Floor => "floor and mean",
                Headline::Median => "median and every value",
                Headline::Minimum => "the smallest",
                Headline::TickTrain => "rate, cost, share",
                Headline::Offset => "offset, backward steps",
                Headline::Levels => "the curve, its levels",
                Headline::Farthest => "the curve, its end",
                Headline::Capacity | Headline::Step | Headline::Speedup => "the curve, a figure from it",
            };
            let better = match spec.better {
                Better::Lower => "lower",
                Better::Higher => "higher",
                Better::Neither => "-",
            };
            let calls: Vec<&str> = spec.needs.iter().map(|call| call.name()).collect();
            let calls = if calls.is_empty() { "none".to_owned() } else { calls.join(", ") };
            let floor = spec.physical_floor.get();
            let _ = writeln!(
                page,
                "| `{}` | {} | {} | {gives} | {better} | {floor} | {calls} | {} |",
                spec.name,
                spec.title.trim(),
                spec.timed,
                spec.source
            );
        }
    }
    page
}
