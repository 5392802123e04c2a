//! The documents that come with tickmark, and figures found in made recordings.

use super::*;
use tickmark_store::Status;
use tickmark_wire::Reason;

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

#[test]
fn a_change_the_other_way_round_has_its_levels_and_ends_the_other_way_round() {
    let ends = tickmark_stats::Interval { low: 0.0, high: 0.25 };
    let levels = Levels { values: [100.0, 125.0], unit: crate::report::Unit::Rate };
    let change = Figure { levels: Some(levels), ..Figure::between(0.25, ends, IntervalKind::Phases) };
    let other = evaluate::inverse(&change);
    assert_eq!(other.levels.as_ref().map(|levels| levels.values), Some([125.0, 100.0]));
    let (ends, kind) = other.interval.unwrap();
    let is_near = |value: f64, wanted: f64| (value - wanted).abs() < 1e-12;
    assert!(is_near(other.point, -0.2) && is_near(ends.low, -0.2) && is_near(ends.high, 0.0), "{other:?}");
    assert_eq!(kind, IntervalKind::Phases);
}

#[test]
fn what_the_system_lacks_is_why_a_claim_has_no_figure() {
    let folder = format!("{}/../../fixtures/doctor", env!("CARGO_MANIFEST_DIR"));
    let mut recording = tickmark_store::load(std::path::Path::new(&folder)).unwrap();
    let name = tickmark_wire::Name::new("clock.monotonic.read");
    for run in recording.runs.iter_mut().filter(|run| run.planned.gives(&name)) {
        run.status = Status::Unsupported(Reason::new("no such clock"));
    }
    let group = MeasuredGroup {
        experiment: "timecounter-cost".to_owned(),
        machine: String::new(),
        settings: vec!["tsc".to_owned()],
        recordings: vec![recording],
        model: None,
        columns: Vec::new(),
    };
    let mut paper = Paper::named("timecounter-cost").unwrap().unwrap();
    paper.claim.retain(|claim| claim.experiment.is_empty());
    paper.claim.truncate(4);
    let level = |metric: &str| {
        let (metric, setting) = (metric.to_owned(), "first".to_owned());
        Measure::Level(Level { metric, setting, minus: String::new() })
    };
    paper.claim[0].measure = level(name.as_str());
    paper.claim[1].measure = level("syscall.null.none");
    paper.claim[2].measure = level("clock.monotonic.re*");
    paper.claim[3].measure = level("sql.none");
    let whys: Vec<String> = evaluate(&paper, &[group]).into_iter().map(|one| one.here.unwrap_err()).collect();
    // A row of a metric that has figures; and none of any.
    let others = ["syscall.null.none has no figure", "sql.none was not measured"];
    assert_eq!(whys, ["no such clock", others[0], "no such clock", others[1]]);
}

#[test]
fn two_settings_are_compared_by_what_each_has_at_the_same_phases_as_the_first() {
    let first = vec![100.0, 102.0];
    let change =
        evaluate::exact_between(&[first.clone(), vec![50.0, 100.0]], &[first.clone(), vec![55.0, 105.0]]);
    let change = change.unwrap();
    let is_near = |value: f64, wanted: f64| (value - wanted).abs() < 1e-12;
    assert!(is_near(change.change, 160.0 / 150.0 - 1.0), "{change:?}");
    assert!(is_near(change.least, 0.05) && is_near(change.most, 0.1), "{change:?}");
    let other = [vec![100.0], vec![55.0]];
    assert!(evaluate::exact_between(&[first, vec![50.0, 100.0]], &other).is_none(), "other phases");
}
