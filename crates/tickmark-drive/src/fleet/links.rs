//! The links between a survey's machines, in pairs. A launcher starts an agent on each; they connect to this program, which tells in each round who
//! measures with whom: no machine is in two pairs at once. What looks slow is measured again.

mod kept;
mod meeting;
mod rounds;

pub(super) use kept::FILE;
pub use kept::{LinkObservation, Measured, Series, links};

use super::launch::{GRACE, Line, Started, mentions};
use super::{Launcher, Survey};
use crate::{Control, Error};
use kept::keep;
use meeting::{Meeting, Member};
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use std::collections::{HashMap, HashSet};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};
use tickmark_probe::session::Token;
use tickmark_process::Until;
use tickmark_wire::links::{Order, Reply, Times};
use tickmark_wire::text::printable;

/// Number of repeated measurements of a link that looks slow.
const AGAIN: usize = 2;
/// Beside the time of a pair: to find each other (10 s, and 5 s for whoever comes in between), and until neither end waits for the other any more (10 s).
const BESIDE: Duration = Duration::from_secs(25);

/// Options of a measurement of links.
#[derive(Debug, Clone)]
pub struct LinkOptions {
    /// With how many others each is measured.
    pub rounds: usize,
    /// How long each pair takes.
    pub times: Times,
    /// So many pairs measure at once; none are all of a round.
    pub at_once: Option<usize>,
    /// Where machines find this program; an address of 0 stands for all of this machine's.
    pub listen: SocketAddrV4,
    /// An address of the network that is measured; none is the one by which they come here.
    pub network: Option<Ipv4Addr>,
}

/// Progress callback: measured pairs, and pairs in all.
pub type Tell<'a> = &'a mut dyn FnMut(usize, usize);

/// Pairs of machines that look slow, by what was measured so far: the first by its name before the second.
pub type Suspects<'a> = &'a dyn Fn(&[Measured]) -> Vec<(String, String)>;

/// Measures, and keeps what was measured as it comes. What comes back is what was measured now.
///
/// # Errors
/// The launcher cannot be started, fewer than two machines come, or nothing can be kept.
pub fn measure(
    survey: &Survey,
    launcher: &Launcher,
    options: &LinkOptions,
    control: &Control,
    tell: Tell<'_>,
    suspects: Suspects<'_>,
) -> Result<Vec<Measured>, Error> {
    let nodes = &survey.request.nodes;
    let (usable, known) = launcher.usable(nodes)?;
    let token = Token::make().map_err(|error| Error::Refused(format!("a new token: {error}")))?;
    let mut meeting = Meeting::listen(options.listen, &token, options.network.is_some())?;
    let mut own =
        vec!["links".to_owned(), options.limit_s(usable.len(), launcher).to_string(), meeting.addresses()?];
    own.extend(options.network.map(|address| address.to_string()));
    let mut series = options.series();
    if usable.len() < 2 {
        let why = known.first_key_value().map_or_else(String::new, |(node, why)| format!("; {node}: {why}"));
        return Err(too_few(usable.len(), nodes.len(), &why));
    }
    let Started { mut child, lines, name, keeper: _keeper } =
        Started::spawn(launcher.starts(survey, &usable, &own, Some(&token)), &launcher.clearing(survey))?;
    let mut complaints = Vec::new();
    let came = meeting.gather(&usable, &lines, &mut complaints, launcher.patience, control);
    let mut end = || {
        let limit = Some(if control.stopped() { Duration::ZERO } else { GRACE });
        let end = child.wait(&Until { limit, stop: &|| control.stopped() });
        launcher.clear(survey, &end);
    };
    if control.stopped() {
        drop((came, meeting));
        end();
        return Err(Error::Refused("interrupted before anything was measured".to_owned()));
    }
    if came.len() < 2 {
        let count = came.len();
        // Who came ends with its connection.
        drop((came, meeting));
        end();
        let said = complaints.last().map_or_else(String::new, |line| format!("; {name} said: {line}"));
        return Err(too_few(count, nodes.len(), &said));
    }
    series.begun = jiff::Timestamp::now();
    let about = |node: &String| complaints.iter().rev().find(|line| mentions(line, node)).cloned();
    let absent = nodes.iter().filter(|node| !came.contains_key(*node)).map(|node| {
        let why = known.get(node).or_else(|| meeting.refused.get(node)).cloned().or_else(|| about(node));
        Measured::absent(&series, node, why.as_deref().unwrap_or("it did not come"))
    });
    let all: Vec<Measured> = absent.collect();
    keep(survey, &all)?;
    let members = came.into_iter().map(|(name, member)| (name, Some(member))).collect();
    let site = Site { survey, options, series, control, tell, lines, members, all, done: 0, count: 0 };
    let all = site.measure(suspects)?;
    end();
    Ok(all)
}

fn too_few(came: usize, all: usize, why: &str) -> Error {
    Error::Refused(
        printable(&format!("{came} of {all} machines came, and a link has two ends{why}"), false)
            .into_owned(),
    )
}

impl LinkOptions {
    /// How long agents stay, where nobody tells them to go.
    fn limit_s(&self, machines: usize, launcher: &Launcher) -> u64 {
        let batches = self.at_once.map_or(1, |at_once| (machines / 2).div_ceil(at_once.max(1)));
        let each = (self.times.all() + BESIDE).as_secs();
        // All of it may be measured again; the agent's clock for this has 32 bits.
        let all = (self.rounds * batches * (1 + AGAIN)) as u64 * each;
        (launcher.patience.as_secs() + 600 + all).min(u64::from(u32::MAX))
    }

    fn series(&self) -> Series {
        let (begun, time) = (jiff::Timestamp::now(), self.times.trips);
        Series {
            begun,
            time,
            at_once: self.at_once,
            network: self.network.map(|address| address.to_string()),
        }
    }
}

/// The machines that came, and what was measured of them.
struct Site<'a> {
    survey: &'a Survey,
    options: &'a LinkOptions,
    series: Series,
    control: &'a Control,
    tell: Tell<'a>,
    /// The launcher's output, which is discarded.
    lines: Receiver<Line>,
    /// None of one that is gone.
    members: Vec<(String, Option<Member>)>,
    all: Vec<Measured>,
    /// Pairs that were measured, of so many.
    done: usize,
    count: usize,
}

impl Site<'_> {
    /// All rounds, and again what looks slow. The agents end when this does, with their connections.
    fn measure(mut self, suspects: Suspects<'_>) -> Result<Vec<Measured>, Error> {
        let mut random = rand::rng();
        self.members.shuffle(&mut random);
        let rounds = rounds::schedule_rounds(self.members.len(), self.options.rounds, &mut random);
        self.count = rounds.iter().map(Vec::len).sum();
        // Pairs that measure at once.
        let mut batches: Vec<(usize, Vec<Pair>)> = Vec::new();
        for (number, pairs) in rounds.iter().enumerate() {
            let pairs: Vec<_> = pairs.iter().map(|pair| either_way(*pair, &mut random)).collect();
            let most = self.options.at_once.unwrap_or(pairs.len()).max(1);
            batches.extend(pairs.chunks(most).map(|batch| (number, batch.to_vec())));
        }
        for (number, batch) in &batches {
            self.together(*number, batch, None)?;
        }
        // Of those that are gone nothing more comes.
        let here = self.members.iter().enumerate().filter(|(_, (_, member))| member.is_some());
        let places: HashMap<&String, usize> = here.map(|(at, (name, _))| (name, at)).collect();
        let place = |name: &String| places.get(name).copied();
        let slow: HashSet<Pair> =
            suspects(&self.all).iter().filter_map(|(a, b)| Some(sorted((place(a)?, place(b)?)))).collect();
        // As it was measured at first: beside the same others.
        batches.retain(|(_, batch)| batch.iter().any(|pair| slow.contains(&sorted(*pair))));
        self.count += AGAIN * batches.iter().map(|(_, batch)| batch.len()).sum::<usize>();
        for _ in 0..AGAIN {
            for (number, batch) in &batches {
                self.together(*number, batch, Some(&slow))?;
            }
        }
        Ok(self.all)
    }

    /// These pairs at once, unless the user ends it. Again only those are kept that were to be measured again.
    fn together(
        &mut self,
        number: usize,
        batch: &[Pair],
        again: Option<&HashSet<Pair>>,
    ) -> Result<(), Error> {
        while self.lines.try_recv().is_ok() {}
        let stop = || self.control.stopped();
        if stop() {
            return Ok(());
        }
        let measured = together(&mut self.members, batch, self.options.times, &stop, &|asks, answers| {
            Measured::between(&self.series, asks, Some(answers), number, again.is_some())
        });
        self.done += batch.len();
        (self.tell)(self.done, self.count);
        let is_kept = |pair: &Pair| again.is_none_or(|slow| slow.contains(&sorted(*pair)));
        let kept: Vec<Measured> =
            batch.iter().zip(measured).filter(|(pair, _)| is_kept(pair)).map(|(_, one)| one).collect();
        // Of what the user ended nothing is known.
        if !stop() {
            keep(self.survey, &kept)?;
            self.all.extend(kept);
        }
        Ok(())
    }
}

/// Two machines by their places: the first asks the second.
type Pair = (usize, usize);

/// A pair whoever asks.
fn sorted((a, b): Pair) -> Pair {
    (a.min(b), a.max(b))
}

/// Who asks is not always the same.
fn either_way((a, b): Pair, random: &mut impl Rng) -> Pair {
    if random.random() { (a, b) } else { (b, a) }
}

/// Measures these pairs at once: the first of each asks the second. Who does not answer in time is not asked again.
fn together(
    members: &mut [(String, Option<Member>)],
    pairs: &[Pair],
    times: Times,
    stop: &dyn Fn() -> bool,
    between: &dyn Fn(&str, &str) -> Measured,
) -> Vec<Measured> {
    let gone = |members: &[(String, Option<Member>)], at: usize| members[at].1.is_none();
    let tell = |members: &mut [(String, Option<Member>)], at: usize, ask: Option<String>| {
        let sent = members[at]
            .1
            .as_ref()
            .map(|member| member.session.send(Order { ask, times }.line().into_bytes()));
        if matches!(sent, Some(Err(_))) {
            members[at].1 = None;
        }
    };
    // A pair of which one is gone is not begun.
    let begun: Vec<bool> = pairs
        .iter()
        .map(|&(asks, answers)| {
            let there = members[answers].1.as_ref().map(|member| member.at.clone());
            if gone(members, asks) || there.is_none() {
                return false;
            }
            tell(members, answers, None);
            tell(members, asks, there);
            true
        })
        .collect();
    let deadline = Instant::now() + times.all() + BESIDE;
    let hear = |members: &mut [(String, Option<Member>)], at: usize| {
        let heard =
            members[at].1.as_mut().map_or(Err("is gone".to_owned()), |member| member.hear(deadline, stop));
        if heard.is_err() {
            members[at].1 = None;
        }
        heard.map_err(|why| format!("{} {why}", members[at].0))
    };
    let mut all = Vec::with_capacity(pairs.len());
    for (&(asks, answers), begun) in pairs.iter().zip(begun) {
        let mut measured = between(&members[asks].0, &members[answers].0);
        if begun {
            match (hear(members, asks), hear(members, answers)) {
                (Ok(Reply::AskingSide(link)), Ok(Reply::Answered(side))) => measured.saw(&link, &side),
                // That one is gone says most; who answered may only know that nobody came.
                (Err(why), _) | (_, Err(why)) | (Ok(Reply::Failed(why)), _) | (_, Ok(Reply::Failed(why))) => {
                    measured.failed(&why);
                }
                _ => measured.failed("they answered something else"),
            }
        } else {
            let lost = if gone(members, asks) { asks } else { answers };
            measured.failed(&format!("{} is gone", members[lost].0));
        }
        all.push(measured);
    }
    all
}
