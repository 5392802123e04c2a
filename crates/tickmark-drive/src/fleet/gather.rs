//! What many agents write over one output becomes a recording for each.

use super::{Answer, Outcome, Survey};
use crate::Error;
use crate::target::Stream;
use std::collections::{BTreeMap, BTreeSet};
use tickmark_probe::sys::limits;
use tickmark_store::{Id, Meta, Store, Writer};
use tickmark_wire::pieces::Piece;
use tickmark_wire::text::printable;
use tickmark_wire::{Event, FORMAT};

/// A line longer than this is no event.
const LONGEST: usize = 64 << 20;

/// A survey that is being gathered.
pub struct Gathering<'a> {
    survey: &'a Survey,
    store: Store,
    nodes: BTreeMap<String, Node>,
    /// Machines that had given everything before: what they write is not heard again.
    complete: BTreeSet<String>,
    /// How many of the machines that are in the survey have ended.
    ended: usize,
    /// What a launcher said last that was no piece.
    said: Option<String>,
}

/// A machine that answers.
struct Node {
    agent: String,
    /// The number of the next piece.
    next: u64,
    line: String,
    stream: Stream,
    writer: Option<Writer>,
    recording: Option<Id>,
    end: Option<(Outcome, Option<String>)>,
    /// Another agent of the same name answered, too.
    twice: bool,
}

impl<'a> Gathering<'a> {
    /// Begins; what is gathered goes into the survey's folder.
    ///
    /// # Errors
    /// As [`Survey::store`].
    pub fn new(survey: &'a Survey) -> Result<Self, Error> {
        // A recording of each is open.
        limits::many_files();
        let complete = survey.answers()?.into_iter().filter(|answer| answer.outcome == Outcome::Complete);
        Ok(Self {
            survey,
            store: survey.store()?,
            nodes: BTreeMap::new(),
            complete: complete.map(|answer| answer.node).collect(),
            ended: 0,
            said: None,
        })
    }

    /// How many machines have begun, and how many have ended.
    #[must_use]
    pub fn progress(&self) -> (usize, usize) {
        (self.nodes.len(), self.ended)
    }

    /// Takes a line of the launcher's output. What goes wrong with a machine's recording is that machine's end.
    ///
    /// # Errors
    /// How a machine ended cannot be kept.
    pub fn take(&mut self, line: &str) -> Result<(), Error> {
        let Some(piece) = Piece::of(line) else {
            self.hear(line);
            return Ok(());
        };
        // It stands in files, in tables and in a terminal.
        let name = printable(piece.node, false).into_owned();
        if self.complete.contains(&name) {
            return Ok(());
        }
        let node = self.nodes.entry(name.clone()).or_insert_with(|| Node::new(piece.agent));
        if node.agent != piece.agent {
            node.twice = true;
            return Ok(());
        }
        if node.end.is_some() {
            return Ok(());
        }
        node.take(&piece, &name, &self.store, self.survey);
        if node.end.is_none() {
            return Ok(());
        }
        self.ended += usize::from(self.survey.asked.nodes.contains(&name));
        // Kept now: whatever ends this program later does not lose it.
        self.survey.keep(&[node.answer(&name)])
    }

    /// Remembers what a launcher says of a failure.
    pub fn hear(&mut self, line: &str) {
        if !line.trim().is_empty() {
            self.said = Some(printable(line.trim(), false).into_owned());
        }
    }

    /// What the launcher said last.
    #[must_use]
    pub fn said(&self) -> Option<&str> {
        self.said.as_deref()
    }

    /// What came of each machine that was asked now. `why` says what is known of those that gave nothing or not all.
    ///
    /// # Errors
    /// It cannot be kept.
    pub fn finish(
        self,
        asked: &[String],
        why: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Vec<Answer>, Error> {
        let Self { survey, mut nodes, complete, .. } = self;
        let mut answers = Vec::new();
        for name in asked.iter().filter(|name| !complete.contains(*name)) {
            let reason = |known: &str| why(name).unwrap_or_else(|| known.to_owned());
            answers.push(match nodes.remove(name) {
                Some(mut node) => {
                    node.end.get_or_insert_with(|| {
                        (Outcome::Partly, Some(reason("its answer ended in the middle")))
                    });
                    node.answer(name)
                }
                None => Answer {
                    node: name.clone(),
                    outcome: Outcome::Silent,
                    why: Some(reason("no answer")),
                    recording: None,
                },
            });
        }
        // Those that answer to another name than they were asked by.
        for (name, mut node) in nodes {
            node.end
                .get_or_insert_with(|| (Outcome::Partly, Some("its answer ended in the middle".to_owned())));
            answers.push(node.answer(&name));
        }
        answers.iter_mut().for_each(Answer::clean);
        survey.keep(&answers)?;
        Ok(answers)
    }
}

impl Node {
    fn new(agent: &str) -> Self {
        Self {
            agent: agent.to_owned(),
            next: 0,
            line: String::new(),
            stream: Stream::default(),
            writer: None,
            recording: None,
            end: None,
            twice: false,
        }
    }

    /// What came of it.
    fn answer(&self, name: &str) -> Answer {
        let (mut outcome, mut why) = self.end.clone().unwrap_or((Outcome::Partly, None));
        if self.recording.is_none() && outcome == Outcome::Partly {
            outcome = Outcome::Silent;
        }
        if self.twice {
            let twice = "it answered twice; the first answer counts";
            why = Some(why.map_or_else(|| twice.to_owned(), |why| format!("{why}; {twice}")));
        }
        let mut answer = Answer { node: name.to_owned(), outcome, why, recording: self.recording.clone() };
        answer.clean();
        answer
    }

    fn take(&mut self, piece: &Piece<'_>, name: &str, store: &Store, survey: &Survey) {
        if piece.number != self.next || self.line.len() > LONGEST {
            self.give_up(Outcome::Partly, "some of what it wrote was lost on the way");
            return;
        }
        self.next += 1;
        self.line.push_str(piece.text);
        if piece.ends {
            let line = std::mem::take(&mut self.line);
            if let Err(error) = self.hear(line.into_bytes(), name, store, survey) {
                self.give_up(Outcome::Partly, &error.to_string());
            }
        }
    }

    fn give_up(&mut self, outcome: Outcome, why: &str) {
        self.end = Some((outcome, Some(why.to_owned())));
        self.writer = None;
    }

    /// A whole line of its agent.
    fn hear(&mut self, line: Vec<u8>, name: &str, store: &Store, survey: &Survey) -> Result<(), Error> {
        let heard = match self.stream.take(line) {
            Ok(Some(heard)) => heard,
            Ok(None) => return Ok(()),
            Err(Error::AgentEnded(_)) => {
                self.give_up(Outcome::Partly, "its answer was damaged on the way");
                return Ok(());
            }
            Err(error) => {
                self.give_up(Outcome::Partly, &error.to_string());
                return Ok(());
            }
        };
        let goodbye = match heard.event() {
            Some(Event::Refused(refusal)) => {
                self.give_up(Outcome::Refused, &refusal.message);
                return Ok(());
            }
            Some(Event::Goodbye { complete, .. }) => Some(*complete),
            Some(Event::Hello(_)) if self.writer.is_none() => {
                let meta = meta(name, survey);
                self.writer = Some(store.create(&meta)?);
                survey.begun(name, &meta.id)?;
                self.recording = Some(meta.id);
                None
            }
            _ => None,
        };
        if let Some(writer) = &mut self.writer {
            // A sync for each run of ten thousand machines would take longer than they do.
            writer.keep(heard.line, goodbye.is_some())?;
        }
        if let Some(complete) = goodbye {
            let late = || format!("its time of {} s was over", survey.asked.limit_s);
            self.end =
                Some(if complete { (Outcome::Complete, None) } else { (Outcome::Partly, Some(late())) });
            self.writer = None;
        }
        Ok(())
    }
}

/// A machine's recording.
fn meta(name: &str, survey: &Survey) -> Meta {
    let asked = &survey.asked;
    Meta {
        format: FORMAT,
        id: Id::random(),
        name: name.to_owned(),
        created: jiff::Timestamp::now(),
        program: asked.program.clone(),
        select: asked.select.clone(),
        plan: asked.plan.clone(),
        arm: None,
        target: Some(format!("{name}, in survey {}", asked.id)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::Asked;
    use tickmark_wire::{Plan, Settings};

    fn survey(folder: &std::path::Path) -> Survey {
        let asked = Asked {
            format: 0,
            id: Id::random(),
            created: jiff::Timestamp::now(),
            program: "tickmark".to_owned(),
            nodes: ["n1", "n2", "n3"].map(str::to_owned).to_vec(),
            select: vec!["clock".to_owned()],
            limit_s: 9,
            plan: Plan { settings: Settings::default(), metrics: Vec::new(), runs: Vec::new() },
        };
        Survey::create(folder, asked).unwrap()
    }

    fn hello() -> String {
        let settled = r#"{"cpu":0,"cpu_because":"","priority":"other","allowed":[0]}"#;
        let asked = serde_json::to_string(&Settings::default()).unwrap();
        format!(
            r#"{{"hello":{{"format":{{"major":1,"minor":6}},"agent":"9.9","agent_bytes":1,"asked":{asked},"settled":{settled},"environment":{{}}}}}}"#
        )
    }

    const BYE: &str = r#"{"goodbye":{"complete":true,"state":{}}}"#;

    /// The lines of agents in turns, as a launcher mixes them.
    fn mixed(all: &[(&str, &str, &[&str])]) -> Vec<String> {
        let pieces = |(node, agent, lines): &(&str, &str, &[&str])| {
            let mut number = 0;
            let mut out = Vec::new();
            for line in *lines {
                for piece in Piece::cut(node, agent, number, line) {
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
        gathering.finish(&survey.asked.nodes, &|_| None).unwrap()
    }

    #[test]
    fn each_machine_has_its_recording_and_the_others_their_reason() {
        let folder = tempfile::tempdir().unwrap();
        let survey = survey(&folder.path().join("s"));
        let hello = hello();
        let whole: &[&str] = &[&hello, BYE];
        let lines = mixed(&[("n1", "a", whole), ("n2", "b", &[&hello]), ("n9", "c", whole)]);
        let answers = gathered(&lines, &survey);
        let short: Vec<_> =
            answers.iter().map(|a| (a.node.as_str(), a.outcome, a.recording.is_some())).collect();
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
        assert_eq!(reopened.asked, survey.asked);
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
        let answers = gathering.finish(&survey.asked.nodes, &|_| Some(gone.clone())).unwrap();
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
}
