//! The documents that come with tickmark, and figures found in made recordings.

use super::*;

#[test]
fn every_document_is_whole() {
    for (name, paper) in Paper::all().unwrap() {
        assert_eq!(paper.experiments[0], name);
        assert!(paper.minutes[0] <= paper.minutes[1], "{name}");
        for claim in &paper.claim {
            assert!(claim.agrees.is_none_or(|[low, high]| low < high) && !claim.says.is_empty(), "{name}");
            // A reason is for a claim that can differ.
            assert!(claim.differs.is_none() || claim.agrees.is_some(), "{name}: {}", claim.says);
            assert!(claim.experiment.is_empty() || paper.experiments.contains(&claim.experiment), "{name}");
            // What the sentence names is measured, and the other way round.
            let is_named = paper.here.contains(&format!("{{{}}}", claim.id));
            assert!(claim.id.is_empty() || is_named || paper.here.is_empty(), "{name}: {}", claim.id);
        }
        let names: Vec<&str> =
            paper.here.split('{').skip(1).filter_map(|rest| rest.split('}').next()).collect();
        for id in names {
            assert_eq!(paper.claim.iter().filter(|claim| claim.id == id).count(), 1, "{name}: {id}");
        }
    }
    assert!(Paper::named("nosuch").unwrap().is_none());
}

#[test]
fn without_recordings_each_claim_says_what_is_missing() {
    let paper = Paper::named("hz-and-http").unwrap().unwrap();
    let answered = evaluate(&paper, &[]);
    assert_eq!(answered.len(), paper.claim.len());
    for one in answered {
        assert_eq!(one.agreement, Agreement::NotMeasured);
        assert!(one.here.unwrap_err().starts_with("no recording of "), "{}", one.claim.says);
    }
}

#[test]
fn columns_match_by_sign_and_half_to_twice_the_size() {
    let column = |document: f64, here: f64| LmbenchColumn {
        table: "t".to_owned(),
        metric: "m",
        document,
        decided: true,
        here: Some(here),
    };
    assert!(column(4.0, 2.0).is_explained() && column(-4.0, -7.9).is_explained());
    assert!(!column(4.0, 1.9).is_explained() && !column(4.0, -4.0).is_explained());
}
