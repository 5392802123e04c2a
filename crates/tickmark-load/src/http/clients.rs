//! The client beside something else that is measured, and the server as a program of its own.

use super::board::{Board, BoardReading};
use super::client::{self, HttpClientOptions};
use super::{due, request, server};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tickmark_probe::sys::net::Listener;
use tickmark_probe::sys::{CallError, limits};
use tickmark_probe::{Params, ProbeError};
use tickmark_timer::monotonic_ns;
use tickmark_wire::{Nanos, Priority};

/// Connections of one thread that ask, until this is dropped.
pub(crate) struct Clients {
    board: Board,
    thread: Option<JoinHandle<Result<(), CallError>>>,
}

/// Between two looks at who waits too long; between two at whether all have their answers.
const TICK: Duration = Duration::from_millis(50);
const SHORT: Duration = Duration::from_millis(2);
/// An answer that takes longer is none.
const PATIENCE: Duration = Duration::from_secs(5);

impl Clients {
    /// Asks this server, as `connection`, `connections`, `host` and `path` say, from a CPU.
    /// `is_apart` gives the clients a class of their own, so that the scheduler treats them and a server on their CPU alike whatever that costs.
    ///
    /// # Errors
    /// Nobody answers there.
    pub(crate) fn start(
        params: &Params,
        to: SocketAddr,
        cpu: u32,
        is_apart: bool,
    ) -> Result<Self, CallError> {
        let keep = params.argument("connection") == "keep-alive";
        let options = HttpClientOptions {
            to,
            request: request(params, keep),
            known: None,
            connections: params.number("connections"),
            keep,
            each: 0,
            stamps: false,
            due: due(params),
            patience: Self::ticks(PATIENCE),
            slowest: false,
        };
        Self::ask(options, cpu, is_apart)
    }

    /// Asks what is told, from a CPU.
    ///
    /// # Errors
    /// Those of pthread_create(3).
    pub(super) fn ask(options: HttpClientOptions, cpu: u32, is_apart: bool) -> Result<Self, CallError> {
        let board = Board::new()?;
        let shared = board.clone();
        let run = move || {
            limits::pin(&[cpu])?;
            if is_apart {
                set_apart();
            }
            // It is woken when a request is due.
            limits::set_slack(Nanos::new(1))?;
            client::run(&options, &shared)
        };
        let thread = std::thread::Builder::new().spawn(run);
        let thread = thread
            .map_err(|error| CallError::from_io("pthread_create (mmap, mprotect or clone3)", &error))?;
        Ok(Self { board, thread: Some(thread) })
    }

    /// Ticks of the board in so much time.
    pub(super) fn ticks(time: Duration) -> u64 {
        time.as_nanos().div_ceil(TICK.as_nanos()) as u64
    }

    /// Lets them ask for so long.
    ///
    /// # Errors
    /// They had to end.
    pub(crate) fn go_on(&mut self, time: Duration) -> Result<(), ProbeError> {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(TICK));
            self.board.tick();
            if let Some(ended) = self.thread.take_if(|thread| thread.is_finished()) {
                ended.join().map_err(|_| ProbeError::Other("the client ended".to_owned()))??;
            }
        }
    }

    /// Answers so far.
    pub(crate) fn done(&self) -> u64 {
        self.board.done()
    }

    /// Counts so far.
    pub(super) fn read_board(&self) -> BoardReading {
        self.board.read()
    }

    /// For how long the next request has been due, in ns.
    pub(super) fn behind(&self) -> u64 {
        monotonic_ns().saturating_sub(self.board.next())
    }

    /// Sends nothing more, and waits until every request has its answer or has failed, at most so long.
    ///
    /// # Errors
    /// They had to end.
    pub(super) fn drain(&mut self, longest: Duration) -> Result<(), ProbeError> {
        self.board.drain();
        let until = Instant::now() + longest;
        while self.board.read().open() > 0 && Instant::now() < until {
            self.go_on(SHORT)?;
        }
        Ok(())
    }

    /// Asks for nothing more.
    pub(crate) fn stop(&self) {
        self.board.stop();
    }

    /// Failures so far, by kind.
    pub(crate) fn failed(&self) -> Vec<(String, u64)> {
        let faults = self.board.read().all_faults();
        faults.into_iter().map(|(fault, count)| (fault.words().to_owned(), count)).collect()
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Takes this thread out of the class of ordinary tasks: above them where that is permitted, else below them. Within one class a woken client
/// runs at once or later by how much the server has used, so that how often the server is preempted, and sleeps, would depend on the dose.
pub(crate) fn set_apart() {
    let _ = limits::set_priority(Priority::Fifo(1)).or_else(|_| limits::set_idle());
}

/// Waits until somebody takes connections there; whether that was so in time.
pub(crate) fn listens(to: SocketAddr, time: Duration, goes_on: &mut dyn FnMut() -> bool) -> bool {
    let until = Instant::now() + time;
    while Instant::now() < until && goes_on() {
        if TcpStream::connect_timeout(&to, Duration::from_millis(200)).is_ok() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// How long a connection of a served client may be idle.
const IDLE: Duration = Duration::from_secs(5);

/// A server as http.rs has it, as threads of this process, which reads the clock so often for each request. It is told where it
/// listens, and serves for ever.
///
/// # Errors
/// Those of listen(2) and pthread_create(3).
pub fn serve_http(
    address: Ipv4Addr,
    port: u16,
    (workers, bytes, keep, reads): (u32, u32, bool, u32),
    tell: impl FnOnce(SocketAddr),
) -> Result<(), CallError> {
    let listener = Listener::on(address, port)?;
    listener.queue(4096)?;
    // A client that says nothing has a worker for so long, and no longer.
    listener.wait_at_most(IDLE)?;
    tell(SocketAddr::V4(listener.address()));
    let answer: Arc<[u8]> = server::answer(bytes as usize, keep).into();
    let listener = Arc::new(listener);
    for _ in 1..workers {
        let (listener, answer) = (Arc::clone(&listener), Arc::clone(&answer));
        let thread =
            std::thread::Builder::new().spawn(move || server::serve_anybody(&listener, &answer, keep, reads));
        thread.map_err(|error| CallError::from_io("pthread_create (mmap, mprotect or clone3)", &error))?;
    }
    server::serve_anybody(&listener, &answer, keep, reads)
}
