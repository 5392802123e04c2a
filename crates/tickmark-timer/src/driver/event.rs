//! The wake-up of a queue's thread: by other threads, or by time. Under `--cfg loom` the same on loom's primitives, where time passes as
//! soon as it is waited for, so that every order of what threads do can be tried.

#[cfg(loom)]
pub(super) use self::modelled::*;
#[cfg(not(loom))]
pub(super) use self::real::*;

#[cfg(not(loom))]
mod real {
    use crate::counter_clock::CounterClock;
    use crate::{Sleeper, monotonic_ns, sleeper, sys};
    use std::sync::atomic::AtomicU32;
    pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
    pub(crate) use std::sync::{Arc, Mutex, MutexGuard};
    pub(crate) use std::thread::JoinHandle;
    use std::time::Duration;

    /// Where the kernel refuses to wait for a futex, it is looked at so often.
    const POLL: Duration = Duration::from_millis(1);

    #[derive(Debug)]
    pub(crate) struct Event(AtomicU32);

    /// The waiting thread's estimate of its lateness.
    pub(crate) struct Waiter(Sleeper);

    /// Does the work that the first waiter would otherwise wait for.
    pub(crate) fn prepare() {
        let _ = CounterClock::calibrated();
    }

    impl Waiter {
        pub(crate) fn new(options: sleeper::Options) -> Self {
            Self(Sleeper::new(options))
        }
    }

    impl Event {
        pub(crate) fn new() -> Self {
            Self(AtomicU32::new(0))
        }

        pub(crate) fn now(&self) -> u64 {
            monotonic_ns()
        }

        /// How often it was told.
        pub(crate) fn times_notified(&self) -> u32 {
            self.0.load(Ordering::Acquire)
        }

        pub(crate) fn tell(&self) {
            self.0.fetch_add(1, Ordering::Release);
            sys::futex_wake(&self.0);
        }

        /// Waits until it was told once more, or until a time; may return before.
        pub(crate) fn wait(&self, notified: u32, until: Option<u64>, waiter: &mut Waiter) {
            let done = match until {
                Some(until) => waiter.0.sleep_while(&self.0, notified, until).map(drop),
                None => sys::futex_wait(&self.0, notified, None),
            };
            if done.is_err() {
                std::thread::sleep(POLL);
            }
        }
    }

    pub(crate) fn spawn(run: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
        std::thread::Builder::new().name("timers".to_owned()).spawn(run)
    }

    pub(crate) fn is_own(thread: &JoinHandle<()>) -> bool {
        thread.thread().id() == std::thread::current().id()
    }
}

#[cfg(loom)]
mod modelled {
    use crate::sleeper;
    use loom::sync::Condvar;
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
    pub(crate) use loom::sync::{Arc, Mutex, MutexGuard};
    pub(crate) use loom::thread::JoinHandle;

    #[derive(Debug)]
    pub(crate) struct Event {
        notified: Mutex<u32>,
        changed: Condvar,
        now: AtomicU64,
    }

    pub(crate) struct Waiter;

    pub(crate) fn prepare() {}

    impl Waiter {
        pub(crate) fn new(_: sleeper::Options) -> Self {
            Self
        }
    }

    impl Event {
        pub(crate) fn new() -> Self {
            Self { notified: Mutex::new(0), changed: Condvar::new(), now: AtomicU64::new(0) }
        }

        pub(crate) fn now(&self) -> u64 {
            self.now.load(Ordering::SeqCst)
        }

        pub(crate) fn times_notified(&self) -> u32 {
            *self.notified.lock().unwrap()
        }

        pub(crate) fn tell(&self) {
            *self.notified.lock().unwrap() += 1;
            self.changed.notify_one();
        }

        pub(crate) fn wait(&self, notified: u32, until: Option<u64>, _: &mut Waiter) {
            let mut now = self.notified.lock().unwrap();
            while *now == notified {
                if let Some(until) = until {
                    self.now.fetch_max(until, Ordering::SeqCst);
                    return;
                }
                now = self.changed.wait(now).unwrap();
            }
        }
    }

    pub(crate) fn spawn(run: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
        Ok(loom::thread::spawn(run))
    }

    pub(crate) fn is_own(_: &JoinHandle<()>) -> bool {
        false
    }
}
