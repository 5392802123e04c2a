#![cfg_attr(loom, allow(unused_imports, reason = "the model has tests of its own"))]

use super::*;

#[cfg(not(loom))]
mod real {
    use super::*;
    use crate::monotonic_ns;
    use std::sync::OnceLock;
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    const SOON: Duration = Duration::from_secs(60);

    /// Timers that send what expires, and when.
    fn sending(options: DriverOptions) -> (Timers<u64>, Receiver<(u64, u64, u64)>) {
        let (send, receive) = channel();
        let handler = move |timer: Expired<u64>| {
            let _ = send.send((timer.value, timer.deadline, monotonic_ns()));
        };
        (Timers::spawn(options, handler).unwrap(), receive)
    }

    #[test]
    fn an_earlier_timer_ends_a_longer_wait_and_none_is_early() {
        let (timers, expired) = sending(DriverOptions::default());
        let begun = monotonic_ns();
        timers.add(begun + 3_000_000_000_000, 1).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        timers.add(begun + 60_000_000, 2).unwrap();
        timers.add(begun + 40_000_000, 3).unwrap();
        timers.add(0, 4).unwrap();
        let order: Vec<u64> = (0..3)
            .map(|_| {
                let (value, deadline, at) = expired.recv_timeout(SOON).unwrap();
                assert!(at + 1_000 >= deadline, "{value} is early");
                value
            })
            .collect();
        assert_eq!(order, [4, 3, 2]);
        assert_eq!(timers.len(), 1);
    }

    #[test]
    fn what_is_cancelled_or_put_off_does_not_expire_before() {
        let (timers, expired) = sending(DriverOptions::default());
        let begun = monotonic_ns();
        let first = timers.add(begun + 50_000_000, 1).unwrap();
        let second = timers.add(begun + 50_000_000, 2).unwrap();
        assert_eq!((timers.cancel(first), timers.cancel(first)), (Some(1), None));
        assert!(timers.rearm(second, begun + 80_000_000) && !timers.rearm(first, 1));
        let (value, deadline, _) = expired.recv_timeout(SOON).unwrap();
        assert_eq!((value, deadline), (2, begun + 80_000_000));
        assert_eq!(timers.cancel(second), None);
        assert!(timers.is_empty() && expired.try_recv().is_err());
    }

    #[test]
    fn a_panic_in_the_handler_is_counted_and_the_next_timer_is_served() {
        let (send, receive) = channel();
        let timers = Timers::spawn(DriverOptions::default(), move |timer: Expired<u64>| {
            assert!(timer.value != 1, "as the test has it");
            let _ = send.send(timer.value);
        })
        .unwrap();
        for value in 0..3 {
            timers.add(value, value).unwrap();
        }
        let mut results: Vec<u64> = (0..2).map(|_| receive.recv_timeout(SOON).unwrap()).collect();
        results.sort_unstable();
        assert_eq!(results, [0, 2]);
        while timers.served().expired < 3 {
            std::thread::yield_now();
        }
        assert_eq!(timers.served().panicked, 1);
    }

    #[test]
    fn a_window_lets_timers_share_wake_ups() {
        let expire = |window| {
            let (timers, expired) = sending(DriverOptions { window, ..DriverOptions::default() });
            let begun = monotonic_ns() + 20_000_000;
            for number in 0..100 {
                timers.add(begun + number * 1_000_000, number).unwrap();
            }
            for number in 0..100 {
                let (value, deadline, at) = expired.recv_timeout(SOON).unwrap();
                assert!(value == number && at + 1_000 >= deadline);
            }
            timers.served().woken
        };
        let (own, shared) = (expire(0), expire(20_000_000));
        // At most one in 20 ms, and what the adding wakes.
        assert!(shared < own && shared <= 110, "{shared} of {own}");
    }

    #[test]
    fn a_timer_may_add_others_and_more_than_the_limit_are_refused() {
        let (timers, _) = sending(DriverOptions { limit: 2, ..DriverOptions::default() });
        let later = monotonic_ns() + 3_600_000_000_000;
        timers.add(later, 1).unwrap();
        timers.add(later, 2).unwrap();
        assert_eq!(timers.add(later, 3), Err(Full(3)));
        drop(timers);
        let (send, receive) = channel();
        let own: Arc<OnceLock<Timers<u64>>> = Arc::default();
        let inside = Arc::clone(&own);
        let chain = move |timer: Expired<u64>| {
            if let Some(timers) = inside.get().filter(|_| timer.value < 5) {
                let _ = timers.add(timer.deadline + 1_000_000, timer.value + 1);
            }
            let _ = send.send(timer.value);
        };
        own.set(Timers::spawn(DriverOptions::default(), chain).unwrap()).unwrap();
        own.get().unwrap().add(monotonic_ns() + 1_000_000, 1).unwrap();
        let results: Vec<u64> = (0..5).map(|_| receive.recv_timeout(SOON).unwrap()).collect();
        assert_eq!(results, [1, 2, 3, 4, 5]);
    }
}

/// Every order of what two threads and the queue's own do: `RUSTFLAGS="--cfg loom" cargo test -p tickmark-timer --lib modelled`.
#[cfg(loom)]
mod modelled {
    use super::*;
    use loom::sync::atomic::AtomicUsize;

    /// Expired and cancelled, each timer is one of the two, once; and nobody waits for ever.
    fn model(of: impl Fn(&Timers<usize>) -> usize + Send + Sync + 'static, timers: usize) {
        loom::model(move || {
            let expired = Arc::new(AtomicUsize::new(0));
            let results = Arc::clone(&expired);
            let handler = move |_: Expired<usize>| {
                results.fetch_add(1, Ordering::SeqCst);
            };
            let all = Timers::spawn(DriverOptions::default(), handler).unwrap();
            let cancelled = of(&all);
            while expired.load(Ordering::SeqCst) + cancelled < timers {
                loom::thread::yield_now();
            }
            drop(all);
            assert_eq!(expired.load(Ordering::SeqCst) + cancelled, timers);
        });
    }

    #[test]
    fn a_timer_that_is_added_expires() {
        model(|timers| timers.add(10, 1).map(|_| 0).unwrap(), 1);
    }

    #[test]
    fn an_earlier_one_expires_too() {
        model(|timers| timers.add(10, 1).and_then(|_| timers.add(5, 2)).map(|_| 0).unwrap(), 2);
    }

    #[test]
    fn a_timer_expires_or_is_cancelled() {
        model(|timers| timers.add(10, 1).map(|id| timers.cancel(id).into_iter().count()).unwrap(), 1);
    }
}
