//! Against a model: a sorted map by deadline and order of adding.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Debug, Clone)]
enum Step {
    Add(u64),
    Cancel(usize),
    Rearm(usize, u64),
    Pop(u64),
    PopAll(u64),
}

/// Times ahead of every magnitude, many of them the same.
fn ahead() -> impl Strategy<Value = u64> {
    prop_oneof![
        0u64..4,
        0u64..2_000,
        (0u32..64, any::<u64>()).prop_map(|(bits, low)| low % (2 << bits).max(1)),
        (0u32..64).prop_map(|bits| 1 << bits),
        Just(u64::MAX),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => ahead().prop_map(Step::Add),
        1 => any::<usize>().prop_map(Step::Cancel),
        1 => (any::<usize>(), ahead()).prop_map(|(which, ahead)| Step::Rearm(which, ahead)),
        1 => ahead().prop_map(|ahead| Step::Pop(ahead >> 8)),
        1 => ahead().prop_map(|ahead| Step::PopAll(ahead >> 4)),
    ];
    prop::collection::vec(step, 0..400)
}

/// The queue beside the model.
#[derive(Default)]
struct Model {
    pending: BTreeMap<(u64, u64), (TimerId, u64)>,
    gone: Vec<TimerId>,
    order: u64,
    now: u64,
}

impl Model {
    fn key(&mut self, deadline: u64) -> (u64, u64) {
        self.order += 1;
        (deadline, self.order)
    }

    fn which(&self, number: usize) -> Option<((u64, u64), TimerId, u64)> {
        let at = number.checked_rem(self.pending.len())?;
        self.pending.iter().nth(at).map(|(key, (id, value))| (*key, *id, *value))
    }

    /// One timer, the same from both; whether there was one.
    fn pop(&mut self, queue: &mut TimerQueue<u64>) -> bool {
        let first = self.pending.first_key_value().map(|(key, timer)| (*key, *timer));
        let due = first.filter(|((deadline, _), _)| *deadline <= self.now);
        assert!(
            queue.next_deadline() <= first.map(|((deadline, _), _)| deadline),
            "it would be woken too late"
        );
        assert_eq!(queue.next_deadline().is_none(), first.is_none());
        let popped = queue.pop(self.now);
        assert_eq!(popped.map(|timer| timer.deadline), due.map(|((deadline, _), _)| deadline));
        let Some(timer) = popped else { return false };
        // Of one deadline it may be any.
        let same = self.pending.range((timer.deadline, 0)..=(timer.deadline, u64::MAX));
        let own = same.into_iter().find(|(_, of)| **of == (timer.id, timer.value)).map(|(key, _)| *key);
        self.pending.remove(&own.unwrap());
        self.gone.push(timer.id);
        true
    }

    fn step(&mut self, queue: &mut TimerQueue<u64>, step: &Step) {
        match *step {
            Step::Add(ahead) => {
                let key = self.key(self.now.saturating_add(ahead));
                let id = queue.add(key.0, key.1).unwrap();
                assert!(self.pending.insert(key, (id, key.1)).is_none());
            }
            Step::Cancel(number) => {
                let Some((key, id, value)) = self.which(number) else { return };
                assert_eq!(queue.cancel(id), Some(value));
                self.pending.remove(&key);
                self.gone.push(id);
            }
            Step::Rearm(number, ahead) => {
                let Some((key, id, value)) = self.which(number) else { return };
                let deadline = self.now.saturating_add(ahead);
                assert!(queue.rearm(id, deadline));
                assert_eq!(queue.deadline(id), Some(deadline));
                self.pending.remove(&key);
                let key = self.key(deadline);
                self.pending.insert(key, (id, value));
            }
            Step::Pop(ahead) => {
                self.now = self.now.saturating_add(ahead);
                self.pop(queue);
            }
            Step::PopAll(ahead) => {
                self.now = self.now.saturating_add(ahead);
                while self.pop(queue) {}
            }
        }
        assert_eq!(queue.len(), self.pending.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_queue_is_a_sorted_map(begin in prop_oneof![Just(0u64), any::<u64>()], steps in steps()) {
        let mut queue = TimerQueue::new(begin);
        let mut model = Model { now: begin, ..Model::default() };
        for step in &steps {
            model.step(&mut queue, step);
        }
        for id in &model.gone {
            prop_assert_eq!(queue.cancel(*id), None);
        }
        model.now = u64::MAX;
        while model.pop(&mut queue) {}
        prop_assert!(queue.is_empty());
    }

    /// More in a slot than are sorted at once, with others that come while it is open.
    #[test]
    fn full_slots_come_out_in_order(times in prop::collection::vec(0u64..200_000, 600..3_000), between in 0u64..200_000) {
        let mut queue = TimerQueue::new(0);
        for time in &times {
            queue.add(*time, *time).unwrap();
        }
        let mut results = Vec::new();
        while let Some(timer) = queue.pop(between) {
            results.push(timer.deadline);
        }
        for time in times.iter().filter(|time| **time > between).take(50) {
            queue.add(*time, *time).unwrap();
        }
        while let Some(timer) = queue.pop(u64::MAX) {
            prop_assert_eq!(timer.deadline, timer.value);
            results.push(timer.deadline);
        }
        let again = times.iter().filter(|time| **time > between).take(50);
        let mut all: Vec<u64> = times.iter().chain(again).copied().collect();
        all.sort_unstable();
        prop_assert_eq!(results, all);
    }
}

#[test]
fn what_has_passed_is_served_at_once_and_time_does_not_run_backwards() {
    let mut queue = TimerQueue::new(1 << 40);
    queue.add((1 << 40) + 5, "later").unwrap();
    queue.add(3, "long ago").unwrap();
    queue.add(0, "zero").unwrap();
    assert!(queue.next_deadline().unwrap() <= 1 << 40);
    let mut next = |now| queue.pop(now).map(|timer| (timer.deadline, timer.value));
    let past = [next(1 << 40), next(1 << 40)];
    assert!(past.contains(&Some((3, "long ago"))) && past.contains(&Some((0, "zero"))));
    // A clock that stepped back.
    assert_eq!(next(7), None);
    assert_eq!(next((1 << 40) + 5), Some(((1 << 40) + 5, "later")));
}

#[test]
fn deadlines_reach_to_the_end_of_time() {
    let mut queue = TimerQueue::new(0);
    queue.add(u64::MAX, "end").unwrap();
    queue.add(u64::MAX - 1, "before").unwrap();
    assert_eq!(queue.pop(u64::MAX - 2), None);
    assert_eq!(queue.next_deadline(), Some(u64::MAX - 1));
    assert_eq!(queue.pop(u64::MAX).map(|timer| timer.value), Some("before"));
    assert_eq!(queue.pop(u64::MAX).map(|timer| timer.value), Some("end"));
    assert_eq!(queue.next_deadline(), None);
}

#[test]
fn a_handle_names_one_timer_of_one_queue() {
    let (mut queue, mut other) = (TimerQueue::new(0), TimerQueue::new(0));
    let first = queue.add(10, 'a').unwrap();
    let same_place_elsewhere = other.add(10, 'b').unwrap();
    assert_eq!(queue.cancel(same_place_elsewhere), None);
    assert!(!queue.rearm(same_place_elsewhere, 1));
    assert_eq!(queue.pop(10).map(|timer| timer.id), Some(first));
    let second = queue.add(20, 'c').unwrap();
    assert_eq!((queue.cancel(first), queue.deadline(first)), (None, None));
    assert_eq!(queue.cancel(second), Some('c'));
}

#[test]
fn more_than_the_limit_is_refused_and_comes_back() {
    let mut queue = TimerQueue::with_limit(0, 2);
    let first = queue.add(1, 'a').unwrap();
    queue.add(2, 'b').unwrap();
    assert_eq!(queue.add(3, 'c'), Err(Full('c')));
    queue.cancel(first);
    assert!(queue.add(3, 'c').is_ok());
    assert_eq!(queue.len(), 2);
}

#[test]
fn no_memory_is_allocated_after_the_first_round() {
    let mut queue = TimerQueue::new(0);
    queue.reserve(1_000);
    let capacities =
        |queue: &TimerQueue<u64>| (queue.nodes.capacity(), queue.wheel.capacity(), queue.sorted.capacity());
    let before = capacities(&queue);
    for round in 0..50u64 {
        let ids: Vec<TimerId> =
            (0..1_000).map(|i| queue.add(round * 1_000 + i * 7 % 997, i).unwrap()).collect();
        ids.iter().step_by(2).for_each(|id| assert!(queue.cancel(*id).is_some()));
        while queue.pop(round * 1_000 + 1_000).is_some() {}
    }
    assert_eq!(capacities(&queue), before);
}

#[test]
fn a_timer_takes_less_than_32_bytes() {
    let mut queue = TimerQueue::new(0);
    queue.reserve(1_000_000);
    let bytes = queue.nodes.capacity() * size_of::<nodes::Node<u32>>() + queue.wheel.capacity() * 64;
    (0..1_000_000u32).for_each(|number| assert!(queue.add(u64::from(number) << 20, number).is_ok()));
    assert!(bytes as f64 / 1e6 < 32.0, "{bytes}");
    assert_eq!(size_of::<nodes::Node<u32>>(), size_of::<nodes::Node<Box<u64>>>());
    let again = queue.nodes.capacity() * size_of::<nodes::Node<u32>>() + queue.wheel.capacity() * 64;
    assert_eq!(again, bytes, "it grew");
}
