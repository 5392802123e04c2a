//! The client: one thread with many connections. Where it measures latency it reads the clock once for each answer, and in an open loop once more for each
//! request; else never.

use super::answer::Answer;
use super::board::{Board, Fault, Times};
use super::whole;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use tickmark_probe::random;
use tickmark_probe::sys::CallError;
use tickmark_probe::sys::connections::{self, Poll};
use tickmark_timer::monotonic_ns;

/// The requests of a client: page, server, manner.
pub(super) struct HttpClientOptions {
    pub(super) to: SocketAddr,
    pub(super) request: Vec<u8>,
    /// The answer, where it is known.
    pub(super) known: Option<Vec<u8>>,
    pub(super) connections: usize,
    /// Requests that a connection takes; 0 for no limit.
    pub(super) keep: bool,
    pub(super) each: u64,
    /// True if latencies are measured.
    pub(super) stamps: bool,
    /// When requests are due; none sends the next when an answer has come.
    pub(super) due: Option<Due>,
    /// An answer that takes longer than so many ticks of the board is none.
    pub(super) patience: u64,
    /// True if the slowest requests are kept.
    pub(super) slowest: bool,
}

/// Requests that are due at times of their own, whatever becomes of the others.
#[derive(Clone)]
pub(super) struct Due {
    /// The mean of what is between two, in ns.
    pub(super) apart: f64,
    /// True if that varies as with independent users (exponentially).
    pub(super) poisson: bool,
    /// State of the random numbers.
    pub(super) random: u64,
    /// When the next one is due, in ns.
    pub(super) next: f64,
}

impl Due {
    /// The next one but this.
    fn step(&mut self) {
        self.next += if self.poisson { self.apart * whole::exponential(self.uniform()) } else { self.apart };
    }

    /// Above 0, at most 1.
    fn uniform(&mut self) -> f64 {
        (random::next(&mut self.random) >> 11) as f64 / (1u64 << 53) as f64 + f64::EPSILON / 4.0
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Waits for a request.
    Idle,
    /// So much of the request is sent.
    Sends(usize),
    Receives,
    /// Has failed, and tries again with the next tick.
    Failed,
}

struct Connection<'a> {
    socket: Option<OwnedFd>,
    state: State,
    answer: Answer<'a>,
    /// Requests that it has taken.
    served: u64,
    /// When the request was due, when it was sent, in ns; since which tick it waits.
    due: u64,
    sent: u64,
    since: u64,
    /// Since when it is idle, in ns.
    idle: u64,
}

struct Client<'a> {
    options: &'a HttpClientOptions,
    board: &'a Board,
    poll: Poll,
    all: Vec<Connection<'a>>,
    /// The one that is idle longest first.
    idle: VecDeque<usize>,
    due: Option<Due>,
    now: u64,
    tick: u64,
    piece: Vec<u8>,
    slowest: Option<whole::Slowest>,
}

/// Events that are taken at once.
const EVENTS: usize = 256;
/// Bytes that are received at once.
const PIECE: usize = 64 << 10;
/// A wait ends after so many ns, to see whether all ends.
const LONGEST: u64 = 50_000_000;

/// Sends requests until the board says stop.
pub(super) fn run(options: &HttpClientOptions, board: &Board) -> Result<(), CallError> {
    tickmark_probe::sys::limits::many_files();
    let one = |_| Connection {
        socket: None,
        state: State::Idle,
        answer: Answer::new(options.known.as_deref()),
        served: 0,
        due: 0,
        sent: 0,
        since: 0,
        idle: 0,
    };
    let mut client = Client {
        options,
        board,
        poll: Poll::new(EVENTS)?,
        all: (0..options.connections).map(one).collect(),
        idle: (0..options.connections).collect(),
        due: options.due.clone(),
        now: 0,
        tick: board.ticks(),
        piece: vec![0; PIECE],
        slowest: options.slowest.then(whole::Slowest::new),
    };
    if let Some(due) = &mut client.due {
        due.next = monotonic_ns() as f64;
    }
    client.go()
}

impl Client<'_> {
    fn go(&mut self) -> Result<(), CallError> {
        while !self.board.is_stopped() {
            let wait = self.start_due()?;
            let events = self.poll.wait(wait)?;
            self.now = 0;
            for event in 0..events {
                self.goes_on(self.poll.number(event))?;
            }
            if self.board.ticks() != self.tick {
                self.tick = self.board.ticks();
                self.look_after()?;
            }
        }
        Ok(())
    }

    /// The time, read at most once for what is done at the same time.
    fn read_clock(&mut self) -> u64 {
        self.now = monotonic_ns();
        self.board.has_read_the_clock();
        self.now
    }

    /// Sends what is due on connections that are idle; how long to wait for the next.
    fn start_due(&mut self) -> Result<u64, CallError> {
        if self.due.is_none() {
            while !self.board.is_drained()
                && let Some(at) = self.idle.pop_front()
            {
                let now = if self.options.stamps { self.read_clock() } else { 0 };
                self.begin(at, now, now)?;
            }
            return Ok(LONGEST);
        }
        loop {
            let now = if self.now > 0 { self.now } else { self.read_clock() };
            let Some(next) = self.due.as_ref().map(|due| due.next as u64) else { return Ok(LONGEST) };
            self.board.is_next(next);
            if next > now {
                return Ok((next - now).min(LONGEST));
            }
            if self.board.is_drained() {
                return Ok(LONGEST);
            }
            let Some(at) = self.idle.pop_front() else { return Ok(LONGEST) };
            // Not late by this client: all connections were in use.
            let able = next.max(self.all[at].idle);
            self.board.took(Times::Late, now.saturating_sub(able));
            if let Some(due) = &mut self.due {
                due.step();
            }
            self.begin(at, next, now)?;
            // Sending took its time.
            self.now = 0;
        }
    }

    /// Sends a request.
    fn begin(&mut self, at: usize, due: u64, now: u64) -> Result<(), CallError> {
        let one = &mut self.all[at];
        (one.due, one.sent, one.since, one.state) = (due, now, self.tick, State::Sends(0));
        one.answer.begin();
        self.board.is_sent();
        self.open(at)
    }

    /// Sends it on a connection, which may have to be made.
    fn open(&mut self, at: usize) -> Result<(), CallError> {
        let is_new = self.all[at].socket.is_none();
        if is_new {
            match connections::begin(self.options.to) {
                Ok(socket) => (self.all[at].socket, self.all[at].served) = (Some(socket), 0),
                Err(error) => return self.fails(at, error),
            }
        }
        // Over the loopback interface a connection is there at once: it need not be waited for.
        self.send(at)?;
        match (&self.all[at].socket, is_new) {
            (Some(socket), true) => self.poll.add(socket, at),
            _ => Ok(()),
        }
    }

    fn send(&mut self, at: usize) -> Result<(), CallError> {
        let one = &mut self.all[at];
        let (State::Sends(mut had), Some(socket)) = (one.state, &one.socket) else { return Ok(()) };
        while had < self.options.request.len() {
            match connections::send(socket, &self.options.request[had..]) {
                Ok(sent) => had += sent,
                // There is no connection yet, or its buffer is full.
                Err(CallError { errno: libc::EAGAIN | libc::ENOTCONN, .. }) => {
                    one.state = State::Sends(had);
                    return Ok(());
                }
                Err(error) => return self.lost(at, error),
            }
        }
        one.state = State::Receives;
        Ok(())
    }

    /// A connection is ready for something.
    fn goes_on(&mut self, at: usize) -> Result<(), CallError> {
        if let State::Sends(_) = self.all[at].state {
            self.send(at)?;
        }
        loop {
            let one = &mut self.all[at];
            let Some(socket) = &one.socket else { return Ok(()) };
            let got = match connections::receive(socket, &mut self.piece, false) {
                Ok(got) => got,
                Err(CallError { errno: libc::EAGAIN, .. }) => return Ok(()),
                Err(_) if matches!(one.state, State::Idle | State::Failed) => 0,
                Err(error) => return self.lost(at, error),
            };
            match one.state {
                State::Receives if got > 0 => match one.answer.take(&self.piece[..got]) {
                    Ok(true) => {
                        let closes = one_closes(self.options, one);
                        return self.done(at, closes);
                    }
                    // Its end may have come with it, and is told of no more.
                    Ok(false) => {}
                    Err(fault) => return self.failed(at, fault),
                },
                State::Receives => match one.answer.end() {
                    Ok(()) => return self.done(at, true),
                    Err(Fault::Closed) => {
                        return self.lost(at, CallError { call: "recv", errno: libc::EPIPE });
                    }
                    Err(fault) => return self.failed(at, fault),
                },
                // The server has had enough of a connection that nobody uses, or says what nobody asked for.
                State::Idle | State::Failed => {
                    one.socket = None;
                    return Ok(());
                }
                // Closed before the request was sent.
                State::Sends(_) => return self.failed(at, Fault::Closed),
            }
        }
    }

    fn done(&mut self, at: usize, closes: bool) -> Result<(), CallError> {
        self.board.is_done();
        let now = if self.options.stamps { self.read_clock() } else { 0 };
        let one = &mut self.all[at];
        if self.options.stamps {
            self.board.took(Times::Service, now - one.sent);
            if self.due.is_some() {
                self.board.took(Times::Response, now.saturating_sub(one.due));
            }
            if let Some(slowest) = &mut self.slowest {
                slowest.add(self.board, one.sent, now - one.sent);
            }
        }
        one.served += 1;
        if closes {
            one.socket = None;
        }
        (one.state, one.idle) = (State::Idle, now);
        if self.due.is_some() || self.board.is_drained() {
            self.idle.push_back(at);
            return Ok(());
        }
        self.begin(at, now, now)
    }

    /// The other side has gone. From a connection that it has used before, a server may go while a request is on its way: that is sent again.
    fn lost(&mut self, at: usize, error: CallError) -> Result<(), CallError> {
        let one = &mut self.all[at];
        if one.served > 0 && one.answer.is_empty() {
            one.socket = None;
            one.state = State::Sends(0);
            return self.open(at);
        }
        self.fails(at, error)
    }

    fn fails(&mut self, at: usize, error: CallError) -> Result<(), CallError> {
        let fault = match error.errno {
            libc::ECONNREFUSED => Fault::Refused,
            libc::EADDRNOTAVAIL => Fault::NoPort,
            libc::EPIPE => Fault::Closed,
            libc::ECONNRESET => Fault::Reset,
            libc::ETIMEDOUT | libc::EHOSTUNREACH | libc::ENETUNREACH => Fault::Silent,
            _ => return Err(error),
        };
        self.failed(at, fault)
    }

    /// A transaction failed: the connection is closed, and used again from the next tick on.
    fn failed(&mut self, at: usize, fault: Fault) -> Result<(), CallError> {
        self.board.fails(fault);
        let one = &mut self.all[at];
        (one.socket, one.state) = (None, State::Failed);
        Ok(())
    }

    /// With each tick: whoever waits too long, and who may try again.
    fn look_after(&mut self) -> Result<(), CallError> {
        for at in 0..self.all.len() {
            match self.all[at].state {
                State::Failed => {
                    // What is due meanwhile waits for it, and not for this client.
                    let now = if self.due.is_some() { self.read_clock() } else { 0 };
                    (self.all[at].state, self.all[at].idle) = (State::Idle, now);
                    self.idle.push_back(at);
                }
                State::Sends(_) | State::Receives
                    if self.tick - self.all[at].since > self.options.patience =>
                {
                    self.failed(at, Fault::Silent)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// True if a connection is closed behind the answer that it has.
fn one_closes(options: &HttpClientOptions, one: &Connection<'_>) -> bool {
    !options.keep || one.answer.closes() || (options.each > 0 && one.served + 1 >= options.each)
}
