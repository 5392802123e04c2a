//! The two sides of a communication.

use super::computing::{Beside, Computing, Tasks, no_thread};
use super::elsewhere::Elsewhere;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use tickmark_probe::routine::Budget;
use tickmark_probe::sys::message::End;
use tickmark_probe::sys::namespace::Namespaces;
use tickmark_probe::sys::peer::Peer;
use tickmark_probe::sys::{CallError, limits, usage};
use tickmark_probe::{Params, ProbeError};
use tickmark_wire::Loads;

/// Who answers.
enum Answers {
    Process(Peer),
    Thread(u32, Option<JoinHandle<Result<(), CallError>>>),
    Elsewhere(Elsewhere),
}

/// Both sides, ready.
pub(super) struct Sides {
    /// This side's end.
    pub(super) end: End,
    both: bool,
    answers: Answers,
    /// CPU time of the other side.
    there: Option<usage::CpuClock>,
    computing: Computing,
    /// Who sends and receives what else goes there.
    stream: Vec<Peer>,
}

/// A round trip of this side: Comms1 sends and receives; Comms2 exchanges, and returns what it got while its own comes back. Either way `back` has
/// what was sent; `got` is for what the other side sends by itself.
pub(super) fn trip(
    end: &mut End,
    both: bool,
    out: &[u8],
    got: &mut [u8],
    back: &mut [u8],
) -> Result<(), CallError> {
    if both {
        end.exchange(out, got)?;
        return end.exchange(got, back);
    }
    end.send(out)?;
    end.receive(back)
}

/// Bytes of the messages of the other side.
const OWN: u8 = 0xa5;

/// Header before trips: their size, their number, and whether they are a window; none of them ends the other side.
pub(super) const HEADER: usize = 24;

/// Announcement of trips to the other side: begin or end, size and number. Sent for windows only.
pub(super) type OnWindow<'a> = &'a mut dyn FnMut(bool, u64, u64);

/// The other side, until it is told to end. Messages are of at most so many bytes. One on another host looks at its CPU before a window and `says` when it has.
pub(super) fn answer(
    end: &mut End,
    both: bool,
    most: usize,
    says: bool,
    on: OnWindow<'_>,
) -> Result<(), CallError> {
    let (mut message, mut own, mut back) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let mut header = [0; HEADER];
        end.receive(&mut header)?;
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| header[at + byte]));
        let (size, trips, is_window) = (number(0) as usize, number(8), number(16) > 0);
        if trips == 0 {
            return Ok(());
        }
        if size > most {
            return Err(CallError { call: "read", errno: libc::EMSGSIZE });
        }
        if is_window {
            on(true, size as u64, trips);
            if says {
                end.send(&header)?;
            }
        }
        if message.len() != size {
            message = vec![0; size];
            (own, back) = (vec![OWN; size], vec![0; size]);
        }
        if both {
            end.expects(size)?;
            for _ in 0..trips {
                end.exchange(&own, &mut message)?;
                end.exchange(&message, &mut back)?;
            }
            end.expects(0)?;
        } else {
            for _ in 0..trips {
                end.receive(&mut message)?;
                end.send(&message)?;
            }
        }
        if is_window {
            on(false, size as u64, trips);
        }
    }
}

impl Sides {
    /// Starts everything: processes before threads, as a process with threads makes no others.
    pub(super) fn start(
        params: &Params,
        link: Option<&Namespaces>,
        there: u32,
        most: usize,
        both: bool,
        budget: &Budget,
    ) -> Result<Self, ProbeError> {
        let cpus = if there == params.cpu { vec![there] } else { vec![params.cpu, there] };
        let beside = Beside::from_parameters(params.argument("load"), params.argument("step"));
        let mut computing = Computing::processes(beside, cpus, budget.gauge)?;
        let stream = match params.argument("stream") {
            "none" => Vec::new(),
            _ => stream(link, params.cpu, there)?,
        };
        let most = most.max(HEADER);
        let (end, answers) = if params.argument("place") == "host" {
            let (elsewhere, end) = Elsewhere::ask(params, both, most, budget)?;
            (end, Answers::Elsewhere(elsewhere))
        } else {
            let (end, theirs) = super::pair(link, params.argument("over"), most)?;
            let answers = match params.argument("peer") {
                "thread" => thread(theirs, both, most, there)?,
                _ => process(&end, theirs, both, most, there)?,
            };
            (end, answers)
        };
        computing.go()?;
        let there = match &answers {
            Answers::Process(peer) => usage::CpuClock::for_process(peer.pid()),
            Answers::Thread(id, _) => Some(usage::CpuClock::of_thread(*id)),
            Answers::Elsewhere(_) => None,
        };
        Ok(Self { end, both, answers, there, computing, stream })
    }

    /// Who is looked at.
    pub(super) fn tasks(&self) -> Tasks<'_> {
        Tasks { watchers: self.computing.watchers(), there: self.there.as_ref() }
    }

    /// True if the other side looks at a CPU of its own: what is announced to it is no part of a window.
    pub(super) fn is_elsewhere(&self) -> bool {
        matches!(self.answers, Answers::Elsewhere(_))
    }

    /// Waits until the other side computes, too.
    pub(super) fn wait(&mut self) -> Result<(), ProbeError> {
        if let Answers::Elsewhere(host) = &mut self.answers { host.wait() } else { Ok(()) }
    }

    /// Says what comes now.
    pub(super) fn announce(&mut self, size: usize, trips: u64, is_window: bool) -> Result<(), CallError> {
        let mut header = [0; HEADER];
        for (part, number) in header.chunks_mut(8).zip([size as u64, trips, u64::from(is_window)]) {
            part.copy_from_slice(&number.to_le_bytes());
        }
        self.end.send(&header)?;
        if is_window && self.is_elsewhere() {
            self.end.receive(&mut header)?;
        }
        if self.both { self.end.expects(size) } else { Ok(()) }
    }

    /// After the trips that were announced.
    pub(super) fn settle(&self) -> Result<(), CallError> {
        if self.both { self.end.expects(0) } else { Ok(()) }
    }

    /// Ends both, and what computes; what another host's CPU did.
    pub(super) fn end(mut self) -> Result<Option<Loads>, ProbeError> {
        let _ = self.end.send(&[0; HEADER]);
        self.computing.stop();
        self.stream.clear();
        let loads = match &mut self.answers {
            Answers::Thread(_, thread) => {
                let _ = thread.take().map(JoinHandle::join);
                None
            }
            Answers::Elsewhere(host) => Some(host.loads()?),
            Answers::Process(_) => None,
        };
        self.computing.end();
        Ok(loads)
    }

    /// Why it failed: another host may know better.
    pub(super) fn failure_reason(&mut self, error: ProbeError) -> ProbeError {
        match &mut self.answers {
            Answers::Elsewhere(host) => host.peer_reason(&error),
            _ => error,
        }
    }
}

/// Bytes that the stream sends at once.
const PIECE: usize = 64 << 10;

/// A process on this side that sends without end, and one on the other that receives.
fn stream(link: Option<&Namespaces>, here: u32, there: u32) -> Result<Vec<Peer>, ProbeError> {
    let (mut from, mut to) = super::pair(link, "tcp", PIECE)?;
    let receives = Peer::start(|| {
        from.close_copies();
        limits::pin(&[there])?;
        let mut piece = vec![0; PIECE];
        loop {
            to.receive(&mut piece)?;
        }
    })?;
    let sends = Peer::start(|| {
        to.close_copies();
        limits::pin(&[here])?;
        let piece = vec![OWN; PIECE];
        loop {
            from.send(&piece)?;
        }
    })?;
    Ok(vec![receives, sends])
}

fn process(end: &End, mut theirs: End, both: bool, most: usize, there: u32) -> Result<Answers, ProbeError> {
    let process = Peer::start(|| {
        end.close_copies();
        limits::pin(&[there])?;
        answer(&mut theirs, both, most, false, &mut |_, _, _| ())?;
        // Its end would end the run: it is ended.
        loop {
            std::thread::park();
        }
    })?;
    Ok(Answers::Process(process))
}

fn thread(mut theirs: End, both: bool, most: usize, there: u32) -> Result<Answers, ProbeError> {
    let id = Arc::new(AtomicU32::new(0));
    let own = Arc::clone(&id);
    let thread = std::thread::Builder::new().spawn(move || {
        limits::pin(&[there])?;
        own.store(usage::thread_id(), Ordering::Release);
        answer(&mut theirs, both, most, false, &mut |_, _, _| ())
    });
    let thread = thread.map_err(|error| no_thread(&error))?;
    while id.load(Ordering::Acquire) == 0 && !thread.is_finished() {
        std::thread::yield_now();
    }
    Ok(Answers::Thread(id.load(Ordering::Acquire), Some(thread)))
}
