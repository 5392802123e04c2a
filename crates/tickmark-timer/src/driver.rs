//! A thread that serves a queue of timers.

mod event;

use crate::sleeper;
use crate::{Expired, Full, TimerId, TimerQueue};
use event::{Arc, AtomicU64, Event, JoinHandle, Mutex, MutexGuard, Ordering};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The thread has something to do: it looks at the queue before it waits.
const AWAKE: u64 = 0;

/// How a thread of [`Timers`] works.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DriverOptions {
    /// How it sleeps: the CPU time that it may spend on being on time.
    pub sleep: sleeper::Options,
    /// Timers may expire so much later, in ns, that those which are due together need one wake-up. 0 is each at its own time.
    pub window: u64,
    /// Timers that may be pending; more are refused.
    pub limit: u32,
}

impl Default for DriverOptions {
    fn default() -> Self {
        Self { sleep: sleeper::Options::default(), window: 0, limit: u32::MAX }
    }
}

/// Timers that expire on a thread of their own, by CLOCK_MONOTONIC in ns.
///
/// The handler is called on that thread, one timer after the other, with no lock held: it may add and cancel timers. What it takes delays
/// those that follow; where it panics, that is counted and the next timer is served. A timer that was cancelled
/// ([`cancel`](Self::cancel) gave its value) never reaches the handler.
///
/// To drop this ends the thread, after the handler's current call; timers that are pending are dropped and do not expire.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// use tickmark_timer::{Timers, monotonic_ns};
/// let (send, receive) = std::sync::mpsc::channel();
/// let timers = Timers::spawn(Default::default(), move |timer| drop(send.send(timer.value)))?;
/// timers.add(monotonic_ns() + 2_000_000, "second").unwrap();
/// timers.add(monotonic_ns() + 1_000_000, "first").unwrap();
/// assert_eq!((receive.recv(), receive.recv()), (Ok("first"), Ok("second")));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Timers<T: Send + 'static> {
    shared: Arc<Shared<T>>,
    thread: Option<JoinHandle<()>>,
}

/// Statistics of a thread of [`Timers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Served {
    /// Timers that expired.
    pub expired: u64,
    /// Of these, how many the handler panicked at.
    pub panicked: u64,
    /// How often the thread was woken.
    pub woken: u64,
}

#[derive(Debug)]
struct Shared<T> {
    state: Mutex<State<T>>,
    event: Event,
    expired: AtomicU64,
    panicked: AtomicU64,
    woken: AtomicU64,
}

#[derive(Debug)]
struct State<T> {
    queue: TimerQueue<T>,
    /// When the thread will look at the queue without being told.
    until: u64,
    /// How much later than its deadline a timer may be served.
    window: u64,
    stop: bool,
}

impl<T> Shared<T> {
    /// The handler is never called under the lock, so that no panic can have left the queue half changed.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Serves timers until it is told to stop.
    fn serve(&self, sleep: sleeper::Options, handler: &mut impl FnMut(Expired<T>)) {
        let mut waiter = event::Waiter::new(sleep);
        loop {
            // Before the queue is looked at: what is told after that ends the wait at once.
            let notified = self.event.times_notified();
            let mut state = self.lock();
            if state.stop {
                return;
            }
            if let Some(timer) = state.queue.pop(self.event.now()) {
                state.until = AWAKE;
                drop(state);
                self.expired.fetch_add(1, Ordering::Relaxed);
                if catch_unwind(AssertUnwindSafe(|| handler(timer))).is_err() {
                    self.panicked.fetch_add(1, Ordering::Relaxed);
                }
                continue;
            }
            let next = state.queue.next_deadline().map(|deadline| deadline.saturating_add(state.window));
            state.until = next.unwrap_or(u64::MAX);
            drop(state);
            self.event.wait(notified, next, &mut waiter);
            self.woken.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl<T: Send + 'static> Timers<T> {
    /// Starts the thread.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn spawn(
        options: DriverOptions,
        mut handler: impl FnMut(Expired<T>) + Send + 'static,
    ) -> io::Result<Self> {
        // Before the first timer comes, which would wait for it.
        event::prepare();
        let event = Event::new();
        let queue = TimerQueue::with_limit(event.now(), options.limit);
        let shared = Arc::new(Shared {
            state: Mutex::new(State { queue, until: AWAKE, window: options.window, stop: false }),
            event,
            expired: AtomicU64::new(0),
            panicked: AtomicU64::new(0),
            woken: AtomicU64::new(0),
        });
        let own = Arc::clone(&shared);
        let thread = event::spawn(move || own.serve(options.sleep, &mut handler))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Adds a timer for a time of CLOCK_MONOTONIC, ns. One that has passed expires at once.
    ///
    /// # Errors
    /// As many are pending as may be; the value comes back.
    pub fn add(&self, deadline: u64, value: T) -> Result<TimerId, Full<T>> {
        let mut state = self.shared.lock();
        let id = state.queue.add(deadline, value)?;
        self.tell(state, deadline);
        Ok(id)
    }

    /// Takes a timer away. None where it has expired, is expiring now, or was cancelled.
    pub fn cancel(&self, id: TimerId) -> Option<T> {
        self.shared.lock().queue.cancel(id)
    }

    /// Gives a pending timer another deadline; whether there was such a timer.
    pub fn rearm(&self, id: TimerId, deadline: u64) -> bool {
        let mut state = self.shared.lock();
        let done = state.queue.rearm(id, deadline);
        self.tell(state, deadline);
        done
    }

    /// How many are pending.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.lock().queue.len()
    }

    /// True if none is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Counts of what the thread has done so far.
    #[must_use]
    pub fn served(&self) -> Served {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Served {
            expired: of(&self.shared.expired),
            panicked: of(&self.shared.panicked),
            woken: of(&self.shared.woken),
        }
    }

    /// Wakes the thread where it would look at the queue too late for a deadline.
    fn tell(&self, mut state: MutexGuard<'_, State<T>>, deadline: u64) {
        let until = deadline.saturating_add(state.window);
        if until < state.until {
            state.until = until;
            drop(state);
            self.shared.event.tell();
        }
    }
}

impl<T: Send + 'static> Drop for Timers<T> {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.event.tell();
        // The handler may own this: a thread does not wait for itself.
        if let Some(thread) = self.thread.take().filter(|thread| !event::is_own(thread)) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
