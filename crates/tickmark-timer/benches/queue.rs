//! Pending timers in several stores, in one run: `cargo bench -p tickmark-timer --bench queue [-- TIMERS]`. Million operations a second; the
//! best of five rounds in turns, each on fresh stores.
#![allow(missing_docs, clippy::expect_used, reason = "no library")]

use hierarchical_hash_wheel_timer::IdOnlyTimerEntry;
use hierarchical_hash_wheel_timer::wheels::cancellable::QuadWheelWithOverflow;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tickmark_timer::{TimerId, TimerQueue};
use tokio_util::time::{DelayQueue, delay_queue};

const ROUNDS: usize = 5;
const ROOM: &str = "there is room";
const PENDING: &str = "it is pending";
/// Deadlines lie within this of the beginning, in ns.
const SPAN: u64 = 60_000_000_000;

/// Marsaglia's xorshift64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }
}

/// A store of timers, each with a number.
trait Store {
    const NAME: &'static str;
    type Handle: Copy;
    fn with(timers: usize) -> Self;
    fn add(&mut self, number: u32, deadline: u64) -> Self::Handle;
    /// The number that it had.
    fn cancel(&mut self, handle: Self::Handle) -> u32;
    /// How many expire, in order; none where it cannot be asked so.
    fn expire(&mut self) -> Option<usize>;
}

struct Ours(TimerQueue<u32>);

impl Store for Ours {
    const NAME: &'static str = "TimerQueue";
    type Handle = TimerId;

    fn with(timers: usize) -> Self {
        let mut queue = TimerQueue::new(0);
        queue.reserve(timers);
        Self(queue)
    }

    fn add(&mut self, number: u32, deadline: u64) -> TimerId {
        self.0.add(deadline, number).expect(ROOM)
    }

    fn cancel(&mut self, id: TimerId) -> u32 {
        self.0.cancel(id).expect(PENDING)
    }

    fn expire(&mut self) -> Option<usize> {
        let (mut count, mut last) = (0, 0);
        while let Some(timer) = self.0.pop(u64::MAX) {
            assert!(timer.deadline >= last);
            (count, last) = (count + 1, timer.deadline);
        }
        Some(count)
    }
}

struct Tree(BTreeMap<(u64, u32), u32>);

impl Store for Tree {
    const NAME: &'static str = "BTreeMap";

    type Handle = (u64, u32);

    fn with(_: usize) -> Self {
        Self(BTreeMap::new())
    }

    fn add(&mut self, number: u32, deadline: u64) -> (u64, u32) {
        self.0.insert((deadline, number), number);
        (deadline, number)
    }

    fn cancel(&mut self, key: (u64, u32)) -> u32 {
        self.0.remove(&key).expect(PENDING)
    }

    fn expire(&mut self) -> Option<usize> {
        Some(std::iter::from_fn(|| self.0.pop_first()).count())
    }
}

/// Timers of 1 ms.
struct Tokio(DelayQueue<u32>);

impl Store for Tokio {
    const NAME: &'static str = "tokio DelayQueue (1 ms)";

    type Handle = delay_queue::Key;

    fn with(timers: usize) -> Self {
        Self(DelayQueue::with_capacity(timers))
    }

    fn add(&mut self, number: u32, deadline: u64) -> delay_queue::Key {
        self.0.insert(number, Duration::from_nanos(deadline))
    }

    fn cancel(&mut self, key: delay_queue::Key) -> u32 {
        self.0.remove(&key).into_inner()
    }

    fn expire(&mut self) -> Option<usize> {
        None
    }
}

/// Timers of 1 ms.
struct Hashed {
    wheel: QuadWheelWithOverflow<IdOnlyTimerEntry<u64>>,
    /// A cancelled entry stays until its time: its id is not used again.
    added: u64,
}

impl Store for Hashed {
    const NAME: &'static str = "hashed wheel (1 ms)";

    type Handle = u64;

    fn with(_: usize) -> Self {
        Self { wheel: QuadWheelWithOverflow::new(), added: 0 }
    }

    fn add(&mut self, number: u32, deadline: u64) -> u64 {
        self.added += 1;
        let id = self.added << 32 | u64::from(number);
        let entry = IdOnlyTimerEntry { id, delay: Duration::from_nanos(deadline.max(2_000_000)) };
        assert!(self.wheel.insert(entry).is_ok());
        id
    }

    fn cancel(&mut self, id: u64) -> u32 {
        assert!(self.wheel.cancel(&id).is_ok());
        id as u32
    }

    fn expire(&mut self) -> Option<usize> {
        Some((0..SPAN / 1_000_000 + 2).map(|_| self.wheel.tick().len()).sum())
    }
}

/// Fill, cancel and add, expire: M operations a second.
fn measure<S: Store>(timers: usize) -> [f64; 3] {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let deadlines: Vec<u64> = (0..timers).map(|_| random.below(SPAN)).collect();
    let pairs = timers.max(200_000);
    let others: Vec<u64> = (0..pairs).map(|_| random.below(SPAN)).collect();
    let mut store = S::with(timers);
    let millions = |count: usize, begun: Instant| count as f64 / 1e6 / begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    let mut handles: Vec<S::Handle> =
        (0..).zip(&deadlines).map(|(number, deadline)| store.add(number, *deadline)).collect();
    let fill = millions(timers, begun);
    // In any order, which is known beforehand: the store is measured, and not the table of handles.
    for last in (1..timers).rev() {
        handles.swap(last, random.below(last as u64 + 1) as usize);
    }
    let begun = Instant::now();
    for round in others.chunks(timers) {
        for (handle, deadline) in handles.iter_mut().zip(round) {
            let number = store.cancel(*handle);
            *handle = store.add(number, *deadline);
        }
    }
    let pair = millions(pairs, begun);
    let begun = Instant::now();
    let expire = store.expire().map_or(f64::NAN, |count| {
        assert_eq!(count, timers, "{}", S::NAME);
        millions(count, begun)
    });
    [fill, pair, expire]
}

fn best(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0].max(b[0]), a[1].max(b[1]), a[2].max(b[2])]
}

fn show(name: &str, timers: usize, [fill, pair, expire]: [f64; 3]) {
    println!("{name:<26}{timers:>10}{fill:>10.1}{pair:>14.1}{expire:>10.1}");
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let Ok(runtime) = runtime else { return println!("no runtime of tokio") };
    let _inside = runtime.enter();
    let timers = std::env::args().filter_map(|word| word.parse().ok()).next().unwrap_or(1_000_000);
    println!("million a second{:>20}{:>10}{:>14}{:>10}", "timers", "add", "cancel + add", "expire");
    let mut all = [[0.0; 3]; 4];
    for _ in 0..ROUNDS {
        all[0] = best(all[0], measure::<Ours>(timers));
        all[1] = best(all[1], measure::<Tokio>(timers));
        all[2] = best(all[2], measure::<Tree>(timers));
        all[3] = best(all[3], measure::<Hashed>(timers));
    }
    for (name, results) in [Ours::NAME, Tokio::NAME, Tree::NAME, Hashed::NAME].into_iter().zip(all) {
        show(name, timers, results);
    }
    for timers in [1_000, 10_000, 100_000, 1_000_000, 10_000_000] {
        let results = (0..3).map(|_| measure::<Ours>(timers)).fold([0.0; 3], best);
        show(Ours::NAME, timers, results);
    }
}
