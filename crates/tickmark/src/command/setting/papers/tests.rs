//! The table of claims in docs/EXPERIMENTS.md is of the last results, which `cargo xtask claims` keeps in docs/experiments.

use serde_json::Value;
use std::fmt::Write;
use tickmark_analysis::paper::Paper;

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
const BEGIN: &str = "<!-- claims: cargo xtask claims -->\n";
const END: &str = "<!-- end of claims -->\n";

/// A row for each claim of each document, from the JSON of its experiment.
fn table() -> String {
    let mut out = "| experiment | where | the document | here | |\n|---|---|---|---|---|\n".to_owned();
    for (name, paper) in Paper::all().unwrap() {
        let place = format!("{DOCS}/experiments/{name}.json");
        let text = std::fs::read_to_string(&place).unwrap_or_else(|error| panic!("{place}: {error}"));
        let page: Value = serde_json::from_str(&text).unwrap();
        let claims = page["claims"].as_array().unwrap();
        let stated = |claim: &Value| (claim["place"].clone(), claim["says"].clone());
        let own = paper.claim.iter().map(|claim| (claim.place.clone().into(), claim.says.clone().into()));
        assert_eq!(
            claims.iter().map(stated).collect::<Vec<_>>(),
            own.collect::<Vec<_>>(),
            "{name}: cargo xtask claims"
        );
        for claim in claims {
            let cell = |field: &str| claim[field].as_str().unwrap_or_default().replace('|', "\\|");
            let reason = match cell("reason") {
                reason if reason.is_empty() => String::new(),
                reason => format!(": {reason}"),
            };
            let _ = writeln!(
                out,
                "| `{name}` | {} | {} | {}{reason} | {} |",
                cell("place"),
                cell("says"),
                cell("here"),
                cell("agreement").replace("not_claimed", "ours alone").replace('_', " ")
            );
        }
    }
    out
}

#[test]
fn the_table_of_claims_is_of_the_last_results() {
    let place = format!("{DOCS}/EXPERIMENTS.md");
    let page = std::fs::read_to_string(&place).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (there, after) = rest.split_once(END).unwrap();
    let table = table();
    if std::env::var_os("TICKMARK_WRITE_CLAIMS").is_some() {
        std::fs::write(&place, format!("{before}{BEGIN}\n{table}\n{END}{after}")).unwrap();
        return;
    }
    assert_eq!(there.trim(), table.trim(), "stale: cargo xtask claims");
}

#[test]
fn claims_of_an_experiment_that_failed_say_why_and_the_answer_does() {
    let paper = Paper::named("timecounter-cost").unwrap().unwrap();
    let mut shown = super::Answered::from_groups("timecounter-cost", &paper, &[]);
    shown.give_reasons(&[
        ("clock-doses", "no server".to_owned()),
        ("timecounter-cost", "no database".to_owned()),
    ]);
    let why = |experiment: &str| {
        let one = shown.claims.iter().find(|one| one.claim.experiment == experiment).unwrap();
        one.here.clone().unwrap_err()
    };
    // The main one has no name in a claim.
    assert_eq!([why(""), why("clock-doses")], ["no database", "no server"]);
    assert!(why("timestamp-doses").starts_with("no recording of "), "{}", why("timestamp-doses"));
    assert!(!shown.answers());
    let text = tickmark_render::paper::text(&shown.report());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("claims agree, 13 not measured (6 of them: no database)"), "{text}");
}

#[test]
fn every_experiment_of_a_document_has_a_short_form() {
    for (name, paper) in Paper::all().unwrap() {
        for experiment in &paper.experiments {
            let short = tickmark_drive::file::shipped(experiment, tickmark_drive::file::Length::Quick);
            assert!(short.is_ok(), "{name}: {experiment}");
        }
    }
}
