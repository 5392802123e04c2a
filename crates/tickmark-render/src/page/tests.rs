use super::*;
use std::collections::BTreeSet;
use std::path::PathBuf;
use tickmark_analysis::comparison::{CompareOptions, Earlier, RowSelection, Side, build};
use tickmark_analysis::page;

fn recording(name: &str) -> tickmark_store::Recording {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name);
    tickmark_store::load(&folder).unwrap()
}

/// Recordings of every version of the format, and of every kind that they have, are pages with a table and a drawing for what they hold.
#[test]
fn every_recording_is_a_page() {
    for version in ["format-1.0", "format-1.1", "format-1.4", "format-1.5", "format-1.6"] {
        let pages = [page::build_page(&recording(version))];
        let report = Report { pages: &pages, comparison: None, answers: &[], explained: &[], offers: &[] };
        let page = html(&report);
        assert!(
            page.len() < 1_000_000 && page.contains("Machine and raw values"),
            "{version}: {}",
            page.len()
        );
        for (group, rows) in &pages[0].model.groups {
            assert!(
                page.contains(group.title()) && page.matches("<summary>").count() > rows.len(),
                "{version}: {}",
                group.title()
            );
        }
        let all = drawings(&report);
        assert!(!all.is_empty(), "{version}");
        for drawing in &all {
            assert!(page.contains(&drawing.svg()), "{version}: {}", drawing.title());
            assert!(!drawing.svg().contains("NaN"), "{version}: {}", drawing.title());
        }
        let ids: Vec<&str> =
            page.split("<section id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{version}: {ids:?}");
        assert!(ids.iter().all(|id| page.contains(&format!("href=\"#{id}\""))), "{version}: {ids:?}");
    }
}

/// The look at the CPU with which every recording begins is no result, unless it was asked for.
#[test]
fn what_was_asked_for_stands_first() {
    let versions = ["format-1.0", "format-1.1", "format-1.4", "format-1.5", "format-1.6"];
    let all = versions.map(|version| page::build_page(&recording(version)));
    let mut page = all.into_iter().find(|page| page.noise.is_some()).unwrap();
    let titles = |page: &Page| -> Vec<String> {
        of_one(page, &kinds::parts(page), &[], "", 0).into_iter().map(|section| section.title).collect()
    };
    page.noise_asked = false;
    let last: Vec<String> = titles(&page).into_iter().rev().take(2).collect();
    assert_eq!(last, ["Machine and raw values", "Ticks and noise"]);
    page.noise_asked = true;
    assert!(titles(&page).iter().rev().nth(1).is_some_and(|title| title != "Ticks and noise"));
}

#[test]
fn two_recordings_are_compared_and_both_are_there() {
    let sides =
        ["format-1.2/base", "format-1.2/candidate"].map(|name| Side { recordings: vec![recording(name)] });
    let earlier = Earlier { list: &Vec::new, read: &|_| None };
    let model = build(&sides, CompareOptions::with_margin(0.01), RowSelection::ALL, &earlier)
        .unwrap_or_else(|_| panic!("they are compared"));
    let pages: Vec<_> = sides.iter().flat_map(|side| &side.recordings).map(page::build_page).collect();
    let answers = [
        ("What HZ costs: the document".to_owned(), "4.1 points <&>".to_owned()),
        ("Tables".to_owned(), "a  b".to_owned()),
    ];
    let report =
        Report { pages: &pages, comparison: Some(&model), answers: &answers, explained: &[], offers: &[] };
    let page = html(&report);
    // The answer stands before the verdicts, those before the figures, each recording in a fold.
    let places = [
        "What HZ costs",
        "4.1 points &lt;&amp;&gt;",
        "class=\"lead\"",
        "<table",
        "Everything of this recording",
    ];
    let at: Vec<Option<usize>> = places.iter().map(|text| page.find(text)).collect();
    assert!(at.iter().all(Option::is_some) && at.is_sorted(), "{at:?}");
    let forest = drawings(&report).into_iter().find(|drawing| matches!(drawing, Drawing::Forest(_))).unwrap();
    assert_eq!(
        forest.svg().matches("<circle").count(),
        model.against[0].lines.iter().filter(|line| line.ratio.is_some()).count()
    );
    assert!(forest.text(100).contains('|'));
}
