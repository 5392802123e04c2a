//! The links between a survey's machines, in pairs. A launcher starts an agent on each; they connect to this program, which tells in each round who
//! measures with whom: no machine is in two pairs at once. What looks slow is measured again.

mod kept;
mod meeting;
mod rounds;

pub(super) use kept::FILE;
pub use kept::{Measured, Seen, links};

use super::launch::{Started, mentions};
use super::{Launcher, Survey};
use crate::{Control, Error};
use kept::keep;
use meeting::{Meeting, Member};
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tickmark_probe::session::Token;
use tickmark_process::Until;
use tickmark_wire::links::{Order, Reply, Times};

/// What looks slow is measured so often again.
const AGAIN: usize = 2;
/// Beside the time of a pair: to find each other, and for whoever comes in between.
const BESIDE: Duration = Duration::from_secs(12);

/// What is asked of the machines.
#[derive(Debug, Clone)]
pub struct Asked {
    /// With how many others each is measured.
    pub rounds: usize,
    /// How long each pair takes.
    pub times: Times,
    /// So many pairs measure at once; none are all of a round.
    pub at_once: Option<usize>,
    /// Where machines find this program; an address of 0 stands for all of this machine's.
    pub listen: SocketAddr,
    /// An address of the network that is measured; none is the one by which they come here.
    pub network: Option<String>,
}

/// What is told of progress: pairs that were measured, and how many there are.
pub type Tell<'a> = &'a mut dyn FnMut(usize, usize);

/// Pairs of machines that look slow, by what was measured so far.
pub type Suspects<'a> = &'a dyn Fn(&[Measured]) -> Vec<(String, String)>;

/// Measures, and keeps what was measured as it comes. What comes back is what was measured now.
///
/// # Errors
/// The launcher cannot be started, fewer than two machines come, or nothing can be kept.
pub fn measure(
    survey: &Survey,
    launcher: &Launcher,
    asked: &Asked,
    control: &Control,
    tell: Tell<'_>,
    suspects: Suspects<'_>,
) -> Result<Vec<Measured>, Error> {
    let nodes = &survey.asked.nodes;
    let (usable, known) = launcher.usable(nodes)?;
    let token = Token::make().map_err(|error| Error::Refused(format!("a new token: {error}")))?;
    let mut meeting = Meeting::listen(asked.listen, &token)?;
    let pairs = usable.len() / 2;
    let batches = asked.at_once.map_or(1, |at_once| pairs.div_ceil(at_once.max(1)));
    let each = (asked.times.all() + BESIDE).as_secs();
    let limit = launcher.patience.as_secs() + 600 + (asked.rounds + AGAIN) as u64 * batches as u64 * each;
    let mut own = vec!["links".to_owned(), limit.to_string(), meeting.addresses()?];
    own.extend(asked.network.clone());
    let mut started = Started::of(launcher.starts(survey, &usable, &own, Some(&token)))?;
    let mut complaints = Vec::new();
    let came = meeting.gather(&usable, &mut started.lines, &mut complaints, launcher.patience, control);
    let about = |node: &str| complaints.iter().rev().find(|line| mentions(line, node)).cloned();
    let absent = nodes.iter().filter(|node| !came.contains_key(*node)).map(|node| {
        let why = known.get(node).cloned().or_else(|| meeting.refused.get(node).cloned()).or_else(|| about(node));
        Measured::absent(node, why.unwrap_or_else(|| "it did not come".to_owned()))
    });
    let mut all: Vec<Measured> = absent.collect();
    let end = |mut started: Started| {
        let limit = Some(if control.stopped() { Duration::ZERO } else { super::launch::GRACE });
        let end = started.child.wait(&Until { limit, stop: &|| control.stopped() });
        launcher.clear(survey, &end);
    };
    if came.len() < 2 {
        let said = complaints.last().map_or_else(String::new, |line| format!("; {} said: {line}", started.name));
        let came = came.len();
        end(started);
        return Err(Error::Refused(format!("{came} of {} machines came, and a link has two ends{said}", nodes.len())));
    }
    keep(survey, &all)?;
    let mut members: Vec<(String, Option<Member>)> = came.into_iter().map(|(name, member)| (name, Some(member))).collect();
    let mut random = rand::rng();
    members.shuffle(&mut random);
    let rounds = rounds::of(members.len(), asked.rounds, &mut random);
    let count: usize = rounds.iter().map(Vec::len).sum();
    let mut done = 0;
    let mut round = |number: usize, again: bool, pairs: &[(usize, usize)], members: &mut Vec<_>, all: &mut Vec<_>| {
        for batch in pairs.chunks(asked.at_once.unwrap_or(pairs.len()).max(1)) {
            if control.stopped() {
                return Ok(());
            }
            let measured = together(members, batch, asked.times, number, again);
            keep(survey, &measured)?;
            done += measured.len();
            tell(done, count.max(done));
            all.extend(measured);
        }
        Ok::<(), Error>(())
    };
    for (number, pairs) in rounds.iter().enumerate() {
        let pairs: Vec<_> = pairs.iter().map(|pair| either_way(*pair, &mut random)).collect();
        round(number, false, &pairs, &mut members, &mut all)?;
    }
    let places: BTreeMap<String, usize> = members.iter().enumerate().map(|(at, (name, _))| (name.clone(), at)).collect();
    let slow: Vec<(usize, usize)> =
        suspects(&all).iter().filter_map(|(a, b)| Some((*places.get(a)?, *places.get(b)?))).collect();
    for time in 0..AGAIN {
        for pairs in rounds::apart(&slow) {
            round(asked.rounds + time, true, &pairs, &mut members, &mut all)?;
        }
    }
    // Agents end with their connections.
    drop((members, meeting));
    end(started);
    Ok(all)
}

/// Who asks is not always the same.
fn either_way((a, b): (usize, usize), random: &mut impl Rng) -> (usize, usize) {
    if random.random() { (a, b) } else { (b, a) }
}

/// Measures these pairs at once: the first of each asks the second. Who does not answer in time is not asked again.
fn together(
    members: &mut [(String, Option<Member>)],
    pairs: &[(usize, usize)],
    times: Times,
    round: usize,
    again: bool,
) -> Vec<Measured> {
    let gone = |members: &[(String, Option<Member>)], at: usize| members[at].1.is_none();
    let tell = |members: &mut [(String, Option<Member>)], at: usize, ask: Option<String>| {
        let sent = members[at].1.as_ref().map(|member| member.session.send(Order { ask, times }.line().into_bytes()));
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
        let heard = members[at].1.as_mut().map_or(Err("is gone".to_owned()), |member| member.hear(deadline));
        if heard.is_err() {
            members[at].1 = None;
        }
        heard.map_err(|why| format!("{} {why}", members[at].0))
    };
    let mut all = Vec::with_capacity(pairs.len());
    for (&(asks, answers), begun) in pairs.iter().zip(begun) {
        let mut measured = Measured::between(&members[asks].0, &members[answers].0, round, again);
        if begun {
            match (hear(members, asks), hear(members, answers)) {
                (Ok(Reply::Asked(link)), Ok(Reply::Answered(side))) => measured.saw(&link, &side),
                // What it says is of the other side; that one only knows that nobody came.
                (Ok(Reply::Failed(why)) | Err(why), _) | (_, Ok(Reply::Failed(why)) | Err(why)) => measured.failed(&why),
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
