//! Records of tracepoints as columns.

use super::Tracepoints;
use super::kinds::{Kind, Subject};
use super::subjects::Subjects;
use crate::sys::perf::{RECORD_LOST, RECORD_SAMPLE, word};
use crate::sys::tracefs::Field;
use std::collections::BTreeMap;
use tickmark_wire::text::printable;
use tickmark_wire::{KernelEvents, Nanos, Wakings};

/// Tasks change.
pub const SWITCH: &str = "sched/sched_switch";
/// The number of the task that runs when there is none.
const IDLE: u32 = 0;
/// Where each record has the thread that was on the CPU: `common_pid`.
const THREAD: Field = (4, 4);

/// A sample: when, the event's number, the tracepoint's record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Raw<'a> {
    time: i64,
    id: u64,
    record: &'a [u8],
}

impl<'a> Raw<'a> {
    /// None where the sample is cut short.
    pub(super) fn parse(body: &'a [u8]) -> Option<Self> {
        let (time, id) = (word(body, 0)? as i64, word(body, 1)?);
        let size = u32::from_ne_bytes(body.get(16..20)?.try_into().ok()?) as usize;
        Some(Self { time, id, record: body.get(20..20 + size)? })
    }

    /// The thread that was on the CPU, as the kernel numbers it in its first namespace.
    pub(super) fn thread(&self) -> u32 {
        self.number(THREAD).unwrap_or(0) as u32
    }

    pub(super) fn number(&self, (offset, size): Field) -> Option<u64> {
        let bytes = self.record.get(offset..offset + size)?;
        match size {
            4 => Some(u64::from(u32::from_ne_bytes(bytes.try_into().ok()?))),
            8 => Some(u64::from_ne_bytes(bytes.try_into().ok()?)),
            _ => None,
        }
    }

    pub(super) fn text(&self, (offset, size): Field) -> String {
        let bytes = self.record.get(offset..offset + size).unwrap_or_default();
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        // A task may call itself anything, and a terminal would obey it.
        printable(&String::from_utf8_lossy(&bytes[..end]), false).into_owned()
    }

    /// A text whose place and length the field says.
    pub(super) fn text_elsewhere(&self, field: Field) -> String {
        let place = self.number(field).unwrap_or(0) as usize;
        self.text((place & 0xffff, place >> 16))
    }
}

impl Kind {
    /// The task that has the CPU from this event on.
    fn next(&self, raw: &Raw<'_>) -> Option<u32> {
        match self.subject {
            Subject::Task(_, id) if self.name == SWITCH => Some(raw.number(id)? as u32),
            _ => None,
        }
    }
}

/// An event of the CPU.
#[derive(Debug)]
struct Occurred {
    time: Nanos,
    /// Tracepoint and subject, as indices.
    tracepoint: u32,
    subject: u32,
    lasted: Option<Nanos>,
    armed_by: Option<u32>,
    /// Of a switch that was not recorded: the first record of the task that it was to. Its time is the last record before it.
    shown: Option<Nanos>,
}

/// Records of a stretch of time, decoded.
#[derive(Debug, Default)]
pub struct Batch {
    events: Vec<Occurred>,
    wakings: Vec<Waking>,
    /// Records that were read, of the CPU and of wake-ups by others; and those that the kernel says it could not write.
    read: [u64; 2],
    lost: u64,
    /// The tracepoint of switches, as an index.
    switch: u32,
}

/// A wake-up: when, the waker's CPU, the task, the task on the waker's CPU.
type Waking = (Nanos, u32, u32, u32);

impl Batch {
    /// Records that the kernel could not write.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Records of the CPU that were read.
    #[must_use]
    pub fn read(&self) -> u64 {
        self.read[0]
    }

    /// Forgets all.
    pub fn forget(&mut self) {
        self.events.clear();
        self.wakings.clear();
    }

    /// Puts switches from idle that were not recorded where their task was woken, as far as that is known, else at its first record.
    pub fn place_unseen_switches(&mut self) {
        let mut wakings: BTreeMap<u32, Vec<Nanos>> = BTreeMap::new();
        for (time, _, task, _) in &self.wakings {
            wakings.entry(*task).or_default().push(*time);
        }
        wakings.values_mut().for_each(|times| times.sort_unstable());
        for event in &mut self.events {
            let Some(shown) = event.shown else { continue };
            let own = wakings.get(&event.subject).map_or(&[][..], Vec::as_slice);
            let before = own.partition_point(|woken| *woken <= shown);
            let woken = before.checked_sub(1).map(|at| own[at]).filter(|woken| *woken >= event.time);
            event.time = woken.unwrap_or(shown);
        }
        self.events.sort_by_key(|event| event.time);
    }

    /// Forgets what came before the last switch ahead of a time, and after another one.
    pub fn cut(&mut self, from: Nanos, to: Nanos) {
        let is_switch = |event: &Occurred| event.tracepoint == self.switch && event.time <= from;
        let first = self.events.iter().rposition(is_switch).unwrap_or(0);
        let begin = self.events.get(first).map_or(from, |event| event.time);
        self.events.drain(..first);
        self.events.retain(|event| event.time <= to);
        self.wakings.retain(|waking| (begin..=to).contains(&waking.0));
    }
}

impl Tracepoints {
    /// Takes the records since the last time, which this thread begins and ends on the CPU, their times by `axis` in those of the loop,
    /// ascending. Some kernels record nothing while their CPU is idle, nor the switch to what comes next: a task that is found on a CPU that
    /// was last seen idle has had it since then, and the task of the first record from there on. Rarely a switch is not recorded at all: the
    /// next interrupt says who has the CPU, and is taken to have had it since the last event.
    pub fn drain(&mut self, subjects: &mut Subjects, axis: impl Fn(i64) -> Nanos) -> Batch {
        let (opened, cpu, mut batch) = (&self.opened, self.cpu, Batch::default());
        let Batch { events, wakings, read, lost, switch: own_switch } = &mut batch;
        let switch = opened.iter().position(|opened| opened.kind.name == SWITCH).unwrap_or(0);
        let is_loop = |thread: u32| self.has_loop && thread == self.thread;
        let mut current = self.thread;
        *own_switch = switch as u32;
        self.ring.take(&mut |record, body| {
            if record == RECORD_LOST {
                *lost += word(body, 1).unwrap_or(1);
            }
            let raw = Raw::parse(body).filter(|_| record == RECORD_SAMPLE);
            let at = |raw: &Raw<'_>| opened.iter().position(|opened| opened.id == raw.id);
            let Some((raw, at)) = raw.and_then(|raw| Some((raw, at(&raw)?))) else { return };
            read[0] += 1;
            let kind = &opened[at].kind;
            let Some(subject) = subjects.intern(kind, &raw) else { return };
            let thread = raw.thread();
            // What had the CPU before the first record, or since it was seen idle.
            let missed = match events.last() {
                Some(last) if current == IDLE && thread != IDLE && !is_loop(thread) => {
                    Some((last.time, Some(axis(raw.time))))
                }
                // Else it would have been seen in the task that had the CPU: no interrupt comes in the midst of a switch.
                Some(last) if current != thread && kind.is_interrupt() => Some((last.time, None)),
                None if !is_loop(thread) => Some((axis(raw.time), None)),
                _ => None,
            };
            if let Some((time, shown)) = missed {
                let subject = subjects.thread(&raw);
                events.push(Occurred {
                    time,
                    tracepoint: switch as u32,
                    subject,
                    lasted: None,
                    armed_by: None,
                    shown,
                });
            }
            if let Some((name, id)) = kind.previous {
                subjects.rename(raw.number(id).unwrap_or(0) as u32, raw.text(name));
            }
            let shown = missed.map(|_| thread);
            current = kind.next(&raw).or(shown).unwrap_or(current);
            if at == 0 {
                wakings.push((axis(raw.time), cpu, subject, subjects.thread(&raw)));
                return;
            }
            let timer = kind.timer.and_then(|field| raw.number(field));
            if kind.is_start() {
                let by = subjects.thread(&raw);
                subjects.armed.extend(timer.map(|timer| (timer, by)));
            }
            let expires = timer.filter(|_| kind.name.ends_with("expire_entry"));
            let armed_by = expires.and_then(|timer| subjects.armed.get(&timer).copied());
            let lasted = kind.lasted.and_then(|field| raw.number(field)).map(|ns| Nanos::new(ns as i64));
            events.push(Occurred {
                time: axis(raw.time),
                tracepoint: at as u32,
                subject,
                lasted,
                armed_by,
                shown: None,
            });
        });
        for (cpu, _, ring) in &mut self.elsewhere {
            ring.take(&mut |record, body| {
                if record == RECORD_LOST {
                    *lost += word(body, 1).unwrap_or(1);
                }
                let raw = Raw::parse(body).filter(|_| record == RECORD_SAMPLE);
                let Some(raw) = raw else { return };
                read[1] += 1;
                let Some(subject) = subjects.woken(&opened[0].kind, &raw) else { return };
                wakings.push((axis(raw.time), *cpu, subject, subjects.thread(&raw)));
            });
        }
        // An event is stamped before it has its place: one that interrupts that comes first.
        events.sort_by_key(|event| event.time);
        batch
    }

    /// True if records have numbers of another namespace of processes than ours.
    fn is_elsewhere(&self) -> bool {
        self.thread != super::own_thread()
    }

    /// Takes the records since the last time and forgets them; how many the kernel could not write.
    pub fn discard(&mut self) -> u64 {
        let mut lost = 0;
        let elsewhere = self.elsewhere.iter_mut().map(|(.., ring)| ring);
        for ring in std::iter::once(&mut self.ring).chain(elsewhere) {
            ring.take(&mut |record, body| {
                if record == RECORD_LOST {
                    lost += word(body, 1).unwrap_or(1);
                }
            });
        }
        lost
    }

    /// Everything that was kept, its times by `axis` in those of the loop, ascending.
    ///
    /// # Errors
    /// Those of read(2).
    pub fn take(mut self, axis: impl Fn(i64) -> Nanos) -> Result<KernelEvents, super::CallError> {
        let mut subjects = Subjects::default();
        let mut batch = self.drain(&mut subjects, axis);
        batch.place_unseen_switches();
        let (counted, read) = (self.counted()?, batch.read);
        let [dropped, by_others] = [0, 1].map(|at| counted[at].saturating_sub(read[at]));
        let events = self.columns(subjects, [batch]);
        Ok(KernelEvents { dropped, wakings: Wakings { dropped: by_others, ..events.wakings }, ..events })
    }

    /// Batches, one after the other in time, as columns.
    #[must_use]
    pub fn columns(&self, subjects: Subjects, batches: impl IntoIterator<Item = Batch>) -> KernelEvents {
        let (mut events, mut wakings) = (Vec::new(), Wakings::default());
        for batch in batches {
            events.extend(batch.events);
            for (time, cpu, task, by) in batch.wakings {
                wakings.time.push(time);
                wakings.cpu.push(cpu);
                wakings.task.push(task);
                wakings.by.push(by);
            }
        }
        let numbered = || (0u32..).zip(&events);
        let lasted = numbered().filter_map(|(at, event)| Some((at, event.lasted?)));
        let armed = numbered().filter_map(|(at, event)| Some((at, event.armed_by?)));
        KernelEvents {
            tracepoints: self.opened.iter().map(|opened| opened.kind.name.clone()).collect(),
            // Records have numbers of the first namespace of processes, /proc those of ours.
            subjects: subjects.finish(!self.is_elsewhere()),
            foreign: self.is_elsewhere(),
            refused: self.refused.clone(),
            thread: self.thread,
            lasted: lasted.collect(),
            armed: armed.collect(),
            time: events.iter().map(|event| event.time).collect(),
            tracepoint: events.iter().map(|event| event.tracepoint).collect(),
            subject: events.iter().map(|event| event.subject).collect(),
            wakings,
            ..KernelEvents::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_says_what_it_is_about() {
        let mut body = Vec::new();
        for word in [1000u64, 42] {
            body.extend(word.to_ne_bytes());
        }
        let mut record = vec![0u8; 4];
        record.extend(8u32.to_ne_bytes());
        record.extend(36u32.to_ne_bytes());
        record.extend((16u32 | 9 << 16).to_ne_bytes());
        record.extend(b"virtio-0\0\0\0\0");
        body.extend((record.len() as u32).to_ne_bytes());
        body.extend(&record);
        let raw = Raw::parse(&body).unwrap();
        assert_eq!((raw.thread(), raw.time, raw.id), (8, 1000, 42));
        let kind = Kind {
            name: "irq/irq_handler_entry".to_owned(),
            number: 1,
            subject: Subject::Device((8, 4), (12, 4)),
            lasted: None,
            timer: None,
            previous: None,
            priority: None,
        };
        let mut subjects = Subjects::default();
        let first = subjects.intern(&kind, &raw);
        assert_eq!((first, subjects.intern(&kind, &raw)), (Some(0), Some(0)));
        let all = subjects.finish(true);
        assert_eq!((all[0].name.as_str(), all[0].id, all.len()), ("virtio-0", Some(36), 1));
        // Cut short.
        assert_eq!(Raw::parse(&body[..25]), None);
        assert_eq!(Raw { record: &record[..9], ..raw }.number((8, 4)), None);
    }
}
