//! Divides the output of many agents into a recording for each.

use super::{Answer, Outcome, Survey};
use crate::Error;
use crate::target::Stream;
use std::collections::{BTreeMap, BTreeSet};
use tickmark_probe::sys::limits;
use tickmark_store::{Id, Meta, Store, Writer};
use tickmark_wire::pieces::LinePiece;
use tickmark_wire::text::printable;
use tickmark_wire::{Event, FORMAT};

/// A line longer than this is no event.
const LONGEST: usize = 64 << 20;
/// Bytes of all lines that have not ended.
const PENDING: usize = 256 << 20;

/// Characters of what a launcher says that are kept.
pub(super) const SAID: usize = 300;
/// Machines beyond those that were asked that are heard.
const STRANGERS: usize = 1_000;
/// Names by which a machine calls itself and nobody else.
const HERE: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// A survey that is being gathered.
pub struct Gathering<'a> {
    survey: &'a Survey,
    store: Store,
    /// By the name by which each was asked; of one that was not, by its own.
    nodes: BTreeMap<String, Node>,
    wanted: BTreeSet<&'a str>,
    /// The same by their names without a domain.
    by_host: BTreeMap<&'a str, Vec<&'a str>>,
    /// The name of each agent that answers first for it, which it had with its first piece.
    names: BTreeMap<String, String>,
    /// Machines that had given everything before: what they write is not heard again.
    complete: BTreeSet<String>,
    /// How many of the machines that are in the survey have begun, and have ended.
    begun: usize,
    ended: usize,
    /// Bytes of all lines that have not ended.
    pending: usize,
    /// The last line of a launcher that was no piece.
    said: Option<String>,
}

/// A machine that answers.
struct Node {
    /// The machine's own name for itself.
    own: String,
    /// Its boot, which no other machine has.
    boot: Option<String>,
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
        let mut by_host: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for name in &survey.request.nodes {
            by_host.entry(host(name)).or_default().push(name);
        }
        Ok(Self {
            survey,
            store: survey.store()?,
            nodes: BTreeMap::new(),
            wanted: survey.request.nodes.iter().map(String::as_str).collect(),
            by_host,
            names: BTreeMap::new(),
            complete: complete.map(|answer| answer.node).collect(),
            begun: 0,
            ended: 0,
            pending: 0,
            said: None,
        })
    }

    /// How many of the machines that were asked have begun, and how many have ended.
    #[must_use]
    pub const fn progress(&self) -> (usize, usize) {
        (self.begun, self.ended)
    }

    /// How many machines answer, also under other names, up to as many as were asked.
    #[must_use]
    pub fn answering(&self) -> usize {
        self.nodes.len().min(self.wanted.len())
    }

    /// Takes a line of the launcher's output. What goes wrong with a machine's recording is that machine's end.
    ///
    /// # Errors
    /// How a machine ended cannot be kept.
    pub fn take(&mut self, line: &str) -> Result<(), Error> {
        let Some(piece) = LinePiece::parse(line) else {
            self.hear(line);
            return Ok(());
        };
        let Some(name) = self.name(&piece, line) else { return Ok(()) };
        if self.complete.contains(&name) {
            return Ok(());
        }
        let own = printable(piece.node, false);
        let is_asked = self.wanted.contains(name.as_str());
        let node = self.nodes.entry(name.clone()).or_insert_with(|| {
            self.begun += usize::from(is_asked);
            Node::new(piece.agent, &own)
        });
        if node.agent != piece.agent {
            node.twice = true;
            return Ok(());
        }
        if node.end.is_some() {
            return Ok(());
        }
        let before = node.line.len();
        node.take(&piece, &name, &self.store, self.survey);
        if self.pending + node.line.len() > PENDING + before {
            node.give_up(Outcome::Partly, "it and others wrote lines that are too long");
        }
        self.pending = self.pending + node.line.len() - before;
        if node.end.is_none() {
            return Ok(());
        }
        self.ended += usize::from(self.wanted.contains(name.as_str()));
        // Kept now: whatever ends this program later does not lose it.
        self.survey.keep(&[node.answer(&name)])
    }

    /// The name by which the machine of a piece was asked: an answer belongs to that, whatever the machine calls itself. In this order: what its
    /// launcher put before the line; its own name; the same name with or without its domain; localhost for this machine; the only one
    /// that was asked. A name that another agent has is taken. None of a stranger where there are too many.
    fn name(&mut self, piece: &LinePiece<'_>, line: &str) -> Option<String> {
        let agent = format!("{} {}", piece.node, piece.agent);
        if let Some(name) = self.names.get(&agent) {
            return Some(name.clone());
        }
        // It stands in files, in tables and in a terminal.
        let own = printable(piece.node, false).into_owned();
        let is_free = |name: &str| self.wanted.contains(name) && !self.nodes.contains_key(name);
        let label = line.split_once(':').map(|(label, _)| label.trim()).filter(|label| !label.contains(' '));
        let by_domain = || {
            let mut same = self.by_host.get(host(&own))?.iter().filter(|name| is_free(name));
            same.next().filter(|_| same.next().is_none()).map(|name| (*name).to_owned())
        };
        let here = || {
            let [_, _, _, this] = tickmark_probe::sys::host::uname();
            HERE.iter().find(|name| this == own && is_free(name)).map(|name| (*name).to_owned())
        };
        let only =
            || (self.wanted.len() == 1).then(|| self.wanted.first().map(|name| (*name).to_owned())).flatten();
        let name = (label.filter(|label| is_free(label)).map(str::to_owned))
            .or_else(|| Some(own.clone()).filter(|own| is_free(own)))
            .or_else(by_domain)
            .or_else(here)
            .or_else(|| only().filter(|only| is_free(only)))
            .unwrap_or(own);
        if self.nodes.contains_key(&name) {
            return Some(name);
        }
        if !self.wanted.contains(name.as_str()) && self.names.len() >= self.begun + STRANGERS {
            return None;
        }
        self.names.insert(agent, name.clone());
        Some(name)
    }

    /// Remembers what a launcher says of a failure.
    pub fn hear(&mut self, line: &str) {
        if !line.trim().is_empty() {
            let begin: String = line.trim().chars().take(SAID).collect();
            self.said = Some(printable(&begin, false).into_owned());
        }
    }

    /// The last line of the launcher.
    #[must_use]
    pub fn said(&self) -> Option<&str> {
        self.said.as_deref()
    }

    /// Result for each machine that was queried in this pass. `why` says what is known of those that gave nothing or not all.
    ///
    /// # Errors
    /// It cannot be kept.
    pub fn finish(
        self,
        requested: &[String],
        why: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Vec<Answer>, Error> {
        let Self { survey, mut nodes, complete, wanted: all, .. } = self;
        let mut answers = Vec::new();
        let mut strangers = nodes.keys().filter(|name| !all.contains(name.as_str()));
        let by_another_name = strangers.next().map_or_else(
            || "no answer".to_owned(),
            |name| format!("no answer by this name; {name} answered, which was not asked by its name: set TICKMARK_NODE there, or have the launcher put the asked name before each line"),
        );
        let twins = twins(&nodes);
        for name in requested.iter().filter(|name| !complete.contains(*name)) {
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
                    why: Some(reason(&by_another_name)),
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
        for answer in &mut answers {
            if let Some(twin) = twins.get(&answer.node) {
                let same = format!("{twin} is the same machine");
                answer.why =
                    Some(answer.why.take().map_or_else(|| same.clone(), |why| format!("{why}; {same}")));
            }
            answer.clean();
        }
        survey.keep(&answers)?;
        Ok(answers)
    }
}

/// A machine's name without its domain.
fn host(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// The machines that are another one that was asked, too: by the boot in which both answered.
fn twins(nodes: &BTreeMap<String, Node>) -> BTreeMap<String, String> {
    let mut first: BTreeMap<&str, &str> = BTreeMap::new();
    let mut twins = BTreeMap::new();
    for (name, node) in nodes {
        let Some(boot) = node.boot.as_deref() else { continue };
        match first.get(boot) {
            Some(other) => drop(twins.insert(name.clone(), (*other).to_owned())),
            None => drop(first.insert(boot, name)),
        }
    }
    twins
}

impl Node {
    fn new(agent: &str, own: &str) -> Self {
        Self {
            own: own.to_owned(),
            boot: None,
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

    /// The result.
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

    fn take(&mut self, piece: &LinePiece<'_>, name: &str, store: &Store, survey: &Survey) {
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
        self.line = String::new();
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
            Some(Event::Hello(hello)) if self.writer.is_none() => {
                self.boot = hello.environment.get("boot.id").map(|boot| format!("{boot} {}", self.own));
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
            let late = || format!("its time of {} s was over", survey.request.limit_s);
            self.end =
                Some(if complete { (Outcome::Complete, None) } else { (Outcome::Partly, Some(late())) });
            self.writer = None;
        }
        Ok(())
    }
}

/// A machine's recording.
fn meta(name: &str, survey: &Survey) -> Meta {
    let request = &survey.request;
    Meta {
        format: FORMAT,
        id: Id::random(),
        name: name.to_owned(),
        created: jiff::Timestamp::now(),
        program: request.program.clone(),
        select: request.select.clone(),
        plan: request.plan.clone(),
        arm: None,
        target: Some(format!("{name}, in survey {}", request.id)),
    }
}

#[cfg(test)]
mod tests;
