//! Output of agents: mixed, damaged and repeated.

use super::*;
use crate::fleet::SurveyRequest;
use tickmark_wire::{Plan, Settings};

fn survey(folder: &std::path::Path) -> Survey {
    let request = SurveyRequest {
        format: 0,
        id: Id::random(),
        created: jiff::Timestamp::now(),
        program: "tickmark".to_owned(),
        nodes: ["n1", "n2", "n3"].map(str::to_owned).to_vec(),
        select: vec!["clock".to_owned()],
        limit_s: 9,
        plan: Plan { settings: Settings::default(), metrics: Vec::new(), runs: Vec::new() },
    };
    Survey::create(folder, request).unwrap()
}

fn hello() -> String {
    let settled = r#"{"cpu":0,"cpu_because":"","priority":"other","allowed":[0]}"#;
    let settings = serde_json::to_string(&Settings::default()).unwrap();
    format!(
        r#"{{"hello":{{"format":{{"major":1,"minor":6}},"agent":"9.9","agent_bytes":1,"asked":{settings},"settled":{settled},"environment":{{}}}}}}"#
    )
}

const BYE: &str = r#"{"goodbye":{"complete":true,"state":{}}}"#;

/// The lines of agents in turns, as a launcher mixes them.
fn mixed(all: &[(&str, &str, &[&str])]) -> Vec<String> {
    let pieces = |(node, agent, lines): &(&str, &str, &[&str])| {
        let mut number = 0;
        let mut out = Vec::new();
        for line in *lines {
            for piece in LinePiece::cut(node, agent, number, line) {
                number += 1;
                out.push(format!("0: {piece}"));
            }
        }
        out
    };
    let mut each: Vec<Vec<String>> = all.iter().map(pieces).collect();
    let mut lines = Vec::new();
    while each.iter().any(|one| !one.is_empty()) {
        each.iter_mut().filter(|one| !one.is_empty()).for_each(|one| lines.push(one.remove(0)));
    }
    lines
}

fn gathered(lines: &[String], survey: &Survey) -> Vec<Answer> {
    let mut gathering = Gathering::new(survey).unwrap();
    lines.iter().for_each(|line| gathering.take(line).unwrap());
    gathering.finish(&survey.request.nodes, &|_| None).unwrap()
}

#[test]
fn each_machine_has_its_recording_and_the_others_their_reason() {
    let folder = tempfile::tempdir().unwrap();
    let survey = survey(&folder.path().join("s"));
    let hello = hello();
    let whole: &[&str] = &[&hello, BYE];
    let lines = mixed(&[("n1", "a", whole), ("n2", "b", &[&hello]), ("n9", "c", whole)]);
    let answers = gathered(&lines, &survey);
    let short: Vec<_> = answers.iter().map(|a| (a.node.as_str(), a.outcome, a.recording.is_some())).collect();
    assert_eq!(
        short,
        [
            ("n1", Outcome::Complete, true),
            ("n2", Outcome::Partly, true),
            ("n3", Outcome::Silent, false),
            ("n9", Outcome::Complete, true)
        ]
    );
    assert_eq!(survey.store().unwrap().list().unwrap().len(), 3);
    // A second launch of those that are missing; what was whole is not heard again.
    let answers = gathered(&mixed(&[("n2", "d", whole), ("n1", "e", &[&hello])]), &survey);
    let named: Vec<_> = answers.iter().map(|a| (a.node.as_str(), a.outcome)).collect();
    assert_eq!(named, [("n2", Outcome::Complete), ("n3", Outcome::Silent)]);
    let all = survey.answers().unwrap();
    let outcomes: Vec<_> = all.iter().map(|a| a.outcome).collect();
    assert_eq!(outcomes, [Outcome::Complete, Outcome::Complete, Outcome::Silent, Outcome::Complete]);
    let reopened = Survey::open(survey.folder()).unwrap();
    assert_eq!(reopened.request, survey.request);
}

/// A machine is asked by a name, and calls itself something else.
#[test]
fn an_answer_belongs_to_the_name_that_was_asked() {
    let wanted = |nodes: &[&str], lines: &[String]| {
        let folder = tempfile::tempdir().unwrap();
        let mut survey = survey(&folder.path().join("s"));
        survey.request.nodes = nodes.iter().map(|node| (*node).to_owned()).collect();
        let answers = gathered(lines, &survey);
        answers.into_iter().map(|a| (a.node, a.outcome, a.why.unwrap_or_default())).collect::<Vec<_>>()
    };
    let hello = hello()
        .replace("\"environment\":{}", "\"environment\":{\"boot.id\":{\"value\":\"7\",\"source\":\"\"}}");
    let whole: &[&str] = &[&hello, BYE];
    let [_, _, _, this] = tickmark_probe::sys::host::uname();
    let complete = |name: &str| (name.to_owned(), Outcome::Complete, String::new());
    assert_eq!(wanted(&["localhost"], &mixed(&[(&this, "a", whole)])), [complete("localhost")]);
    assert_eq!(wanted(&["10.0.0.5"], &mixed(&[("n1", "a", whole)])), [complete("10.0.0.5")]);
    let domains = mixed(&[("n1", "a", whole), ("n2.example.com", "b", whole)]);
    let answers = wanted(&["n1.example.com", "n2"], &domains);
    assert_eq!((&answers[0], &answers[1]), (&complete("n1.example.com"), &complete("n2")));
    // By what the launcher puts before each line.
    let labelled: Vec<String> =
        mixed(&[("own", "a", whole)]).iter().map(|line| line.replacen("0:", "n2:", 1)).collect();
    assert_eq!(wanted(&["n1", "n2"], &labelled)[1], complete("n2"));
    // Two names of one machine: both answered, and it is said.
    let both = wanted(&["localhost", &this], &mixed(&[(&this, "a", whole), (&this, "b", whole)]));
    assert!(both.iter().all(|answer| answer.1 == Outcome::Complete), "{both:?}");
    assert!(both.iter().any(|answer| answer.2.contains("is the same machine")), "{both:?}");
    let other = wanted(&["n1", "n2"], &mixed(&[("n1", "a", whole), ("x", "b", whole)]));
    assert!(other[1].1 == Outcome::Silent && other[1].2.contains("x answered"), "{other:?}");
}

#[test]
fn what_answers_twice_counts_once_and_lost_pieces_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let survey = survey(&folder.path().join("s"));
    let hello = hello();
    let whole: &[&str] = &[&hello, BYE];
    let mut lines = mixed(&[("n1", "a", whole), ("n1", "b", whole), ("n2", "c", whole)]);
    let lost = lines.iter().position(|line| line.contains("n2 c 0")).unwrap();
    lines.remove(lost);
    lines.push("srun: error: n3: \u{1b}[31mgone".to_owned());
    let mut gathering = Gathering::new(&survey).unwrap();
    lines.iter().for_each(|line| gathering.take(line).unwrap());
    assert_eq!(gathering.progress(), (2, 2));
    // Whatever ends this program now: what ended is kept.
    assert_eq!(survey.answers().unwrap()[0].outcome, Outcome::Complete);
    let gone = "n3: \u{1b}]0;gone\u{7}".to_owned();
    let answers = gathering.finish(&survey.request.nodes, &|_| Some(gone.clone())).unwrap();
    let why = answers[2].why.as_ref().unwrap();
    assert!(answers[2].node == "n3" && !why.contains('\u{1b}'), "{answers:?}");
    let answers = survey.answers().unwrap();
    assert!(answers[0].why.as_ref().unwrap().contains("twice"), "{answers:?}");
    assert_eq!(answers[1].outcome, Outcome::Silent, "nothing of it is whole");
    assert!(answers[1].why.as_ref().unwrap().contains("lost on the way"));
    assert_eq!(survey.store().unwrap().list().unwrap().len(), 1);
}

/// As where the program is killed: nothing is finished.
#[test]
fn what_a_killed_program_had_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let survey = survey(&folder.path().join("s"));
    let hello = hello();
    let mut gathering = Gathering::new(&survey).unwrap();
    mixed(&[("n2", "a", &[&hello])]).iter().for_each(|line| gathering.take(line).unwrap());
    drop(gathering);
    let answers = survey.answers().unwrap();
    let stored = survey.store().unwrap().list().unwrap();
    assert_eq!((answers[1].outcome, stored.len()), (Outcome::Partly, 1));
    assert!(answers[1].recording.is_some() && answers[0].outcome == Outcome::Silent, "{answers:?}");
    let whole: &[&str] = &[&hello, BYE];
    let again = gathered(&mixed(&[("n2", "b", whole)]), &survey);
    assert_eq!(again[1].outcome, Outcome::Complete);
    assert_eq!(
        (survey.answers().unwrap()[1].outcome, survey.answers().unwrap()[1].why.clone()),
        (Outcome::Complete, None)
    );
}

#[test]
fn an_agent_of_another_version_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let survey = survey(&folder.path().join("s"));
    let other = hello().replace(r#""major":1"#, r#""major":2"#);
    let answers = gathered(&mixed(&[("n1", "a", &[&other])]), &survey);
    assert!(answers[0].why.as_ref().unwrap().contains("version 9.9"), "{answers:?}");
}
