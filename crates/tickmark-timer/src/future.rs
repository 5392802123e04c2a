//! Timers for asynchronous programs: a future that is ready at its deadline, to some ten microseconds instead of tokio's millisecond.

use crate::{DriverOptions, Full, TimerId, Timers};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// State that a task and the timers' thread share.
#[derive(Debug, Default)]
struct Waiting(Mutex<Ready>);

#[derive(Debug, Default)]
struct Ready {
    is: bool,
    waker: Option<Waker>,
}

/// A thread that wakes tasks at their deadlines, of tokio or of any other executor.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// use tickmark_timer::{AsyncTimers, monotonic_ns};
/// let timers = AsyncTimers::spawn(Default::default())?;
/// let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// runtime.block_on(async {
///     let deadline = monotonic_ns() + 300_000;
///     timers.sleep_until(deadline).await.unwrap();
///     assert!(monotonic_ns() + 1_000 > deadline);
/// });
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct AsyncTimers(Timers<Arc<Waiting>>);

impl AsyncTimers {
    /// Starts the thread.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn spawn(options: DriverOptions) -> io::Result<Self> {
        Timers::spawn(options, |timer: crate::Expired<Arc<Waiting>>| {
            let mut ready = timer.value.0.lock().unwrap_or_else(PoisonError::into_inner);
            ready.is = true;
            let waker = ready.waker.take();
            drop(ready);
            waker.into_iter().for_each(Waker::wake);
        })
        .map(Self)
    }

    /// Sleeps until a time of CLOCK_MONOTONIC, ns. What is dropped before is cancelled.
    #[must_use]
    pub fn sleep_until(&self, deadline: u64) -> SleepUntil<'_> {
        SleepUntil { timers: self, deadline, pending: None }
    }
}

/// Ready at its deadline; or an error where as many timers are pending as may be.
#[derive(Debug)]
pub struct SleepUntil<'a> {
    timers: &'a AsyncTimers,
    deadline: u64,
    pending: Option<(TimerId, Arc<Waiting>)>,
}

impl Future for SleepUntil<'_> {
    type Output = Result<(), Full<()>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some((_, waiting)) = &self.pending {
            let mut ready = waiting.0.lock().unwrap_or_else(PoisonError::into_inner);
            if ready.is {
                return Poll::Ready(Ok(()));
            }
            // Another task may ask than the last time.
            ready.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        let waiting =
            Arc::new(Waiting(Mutex::new(Ready { is: false, waker: Some(context.waker().clone()) })));
        match self.timers.0.add(self.deadline, Arc::clone(&waiting)) {
            Ok(id) => self.pending = Some((id, waiting)),
            Err(Full(_)) => return Poll::Ready(Err(Full(()))),
        }
        Poll::Pending
    }
}

impl Drop for SleepUntil<'_> {
    fn drop(&mut self) {
        if let Some((id, _)) = self.pending {
            self.timers.0.cancel(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monotonic_ns;

    fn block_on<T>(of: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(of)
    }

    #[test]
    fn tasks_wake_at_their_deadlines_and_not_before() {
        let timers = AsyncTimers::spawn(DriverOptions::default()).unwrap();
        block_on(async {
            let begun = monotonic_ns();
            let each = [5_000_000, 1_000_000, 3_000_000].map(|ahead| async move { begun + ahead });
            for deadline in each {
                let deadline = deadline.await;
                timers.sleep_until(deadline).await.unwrap();
                assert!(monotonic_ns() + 1_000 >= deadline);
            }
            assert_eq!(timers.sleep_until(0).await, Ok(()));
        });
        assert!(timers.0.is_empty());
    }

    #[test]
    fn what_is_dropped_is_cancelled_and_more_than_the_limit_are_refused() {
        let timers = AsyncTimers::spawn(DriverOptions { limit: 1, ..DriverOptions::default() }).unwrap();
        block_on(async {
            let hour = monotonic_ns() + 3_600_000_000_000;
            let mut long = Box::pin(timers.sleep_until(hour));
            let waited = tokio::time::timeout(std::time::Duration::from_millis(5), &mut long).await;
            assert!(waited.is_err() && timers.0.len() == 1);
            assert_eq!(timers.sleep_until(hour).await, Err(Full(())));
            drop(long);
            assert!(timers.0.is_empty());
            assert_eq!(timers.sleep_until(monotonic_ns() + 1_000_000).await, Ok(()));
        });
    }
}
