//! docs/PROBES.md, from the specs, docs/REFERENCE.md, from the help, and docs/schema, from the types of JSON.

use crate::{Result, shell};
use std::fmt::Write;
use std::process::Command;
use tickmark_wire::{Better, Group, Headline, Metric, Offer, Unit};

const PATH: &str = "docs/PROBES.md";

/// Writes the pages.
pub(crate) fn write() -> Result<()> {
    // The tests that compare what is written write it when told to.
    let mut cargo = Command::new("cargo");
    cargo.args(["test", "--quiet", "--package", "tickmark", "--bin", "tickmark", "--"]);
    cargo.args(["the_reference_is_the_help", "the_schemas_are_those_of_the_types"]);
    shell::output(cargo.env("TICKMARK_WRITE_REFERENCE", "1").current_dir(shell::root()))?;
    std::fs::write(shell::root().join(PATH), page()).map_err(|e| format!("{PATH}: {e}"))
}

/// Keeps what the documents' experiments of a store showed last, and writes the table of claims.
pub(crate) fn claims(store: &str) -> Result<()> {
    let root = shell::root();
    let folder = root.join("docs/experiments");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let papers = std::fs::read_dir(root.join("papers")).map_err(|e| format!("papers: {e}"))?;
    for paper in papers.flatten() {
        let path = paper.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut tickmark = Command::new(root.join("target/release/tickmark"));
        tickmark.args(["--store", store, "experiments", &name, "--format", "json"]);
        let (json, _) = shell::output(&mut tickmark)?;
        std::fs::write(folder.join(format!("{name}.json")), json).map_err(|e| format!("{name}: {e}"))?;
    }
    let mut cargo = Command::new("cargo");
    cargo.args(["test", "--quiet", "--package", "tickmark", "--bin", "tickmark", "the_table_of_claims"]);
    shell::output(cargo.env("TICKMARK_WRITE_CLAIMS", "1").current_dir(root)).map(drop)
}

/// Fails where the page is not what the specs say.
pub(crate) fn check() -> Result<()> {
    let there = std::fs::read_to_string(shell::root().join(PATH)).map_err(|e| format!("{PATH}: {e}"))?;
    if there == page() { Ok(()) } else { Err(format!("{PATH} is stale; cargo xtask docs writes it")) }
}

fn page() -> String {
    let offers: Vec<Offer> = tickmark_load::REGISTRY.cases().map(|case| case.offer()).collect();
    let rows: Vec<(&Offer, &Metric)> =
        offers.iter().flat_map(|offer| offer.metrics.iter().map(move |metric| (offer, metric))).collect();
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
        for (offer, metric) in rows.iter().filter(|(_, metric)| metric.group == group) {
            let gives = gives(metric);
            let better = match metric.better {
                Better::Lower => "lower",
                Better::Higher => "higher",
                Better::Neither | Better::Other(_) => "-",
            };
            let calls = if offer.needs.is_empty() { "none".to_owned() } else { offer.needs.join(", ") };
            let floor = metric.physical_floor.get();
            let _ = writeln!(
                page,
                "| `{}` | {} | {} | {gives} | {better} | {floor} | {calls} | {} |",
                metric.name,
                metric.title.trim(),
                offer.timed,
                offer.source
            );
        }
    }
    page.push_str(&parameters(&offers));
    page
}

fn gives(metric: &Metric) -> &'static str {
    match metric.headline {
        Headline::Floor if metric.unit == Unit::Throughput => "bytes a second",
        Headline::Floor if metric.unit == Unit::Frequency => "operations a second",
        Headline::Floor => "floor and mean",
        Headline::Median => "median and every value",
        Headline::Mean => "mean and every value",
        Headline::Minimum => "the smallest",
        Headline::TickTrain => "rate, cost, share; all gaps, time lost",
        Headline::Offset => "offset, backward steps",
        Headline::Levels => "the curve, its levels",
        Headline::Farthest => "the curve, its end",
        Headline::Capacity | Headline::Step | Headline::Speedup => "the curve, a figure from it",
        Headline::First => "median at the smallest size",
        Headline::Other(word) => word.as_str(),
    }
}

/// Probes that can be told otherwise than suites tell them.
fn parameters(offers: &[Offer]) -> String {
    let mut text = "\n## Parameters\n\n\
        The rows above are what suites take. Other values are given as `PROBE:PARAMETER=VALUE,...`; a parameter that is not\n\
        named has its first value: `tickmark run switch:processes=4,kib=32`.\n\n\
        | probe | parameter | what | values in suites | other numbers |\n|---|---|---|---|---|\n"
        .to_owned();
    let mut last = None;
    for offer in offers.iter().filter(|offer| !is_selftest(offer)) {
        if last.replace(&offer.probe) == Some(&offer.probe) {
            continue;
        }
        for parameter in &offer.parameters {
            let numbers = parameter.numbers.map_or("-".to_owned(), |(from, to)| format!("{from} to {to}"));
            let (name, about, values) = (&parameter.name, &parameter.about, parameter.values.join(", "));
            let _ = writeln!(text, "| `{}` | `{name}` | {about} | {values} | {numbers} |", offer.probe);
        }
    }
    text
}

fn is_selftest(offer: &Offer) -> bool {
    offer.metric().is_none_or(|metric| metric.group == Group::Selftest)
}
