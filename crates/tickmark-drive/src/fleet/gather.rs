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
mod tests;
