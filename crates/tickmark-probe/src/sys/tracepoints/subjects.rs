//! What records are about, by numbers.

use super::decoded::Raw;
use super::kinds::{Kind, Subject};
use super::symbols::symbols;
use std::collections::BTreeMap;
use tickmark_wire::EventSubject;
use tickmark_wire::text::printable;

/// Soft interrupts, as /proc/softirqs calls them (include/linux/interrupt.h).
const SOFT: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// What an event is about, as its record has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Nothing,
    Device(u32),
    Soft(u32),
    Function(u64),
    Task(u32),
}

/// Subjects so far, by what stands in records.
#[derive(Debug, Default)]
pub struct Subjects {
    index: BTreeMap<Key, u32>,
    all: Vec<(Key, String)>,
    /// The priority of each task at its last switch.
    priorities: BTreeMap<u32, i32>,
    /// Who set each timer last, by its address.
    pub(super) armed: BTreeMap<u64, u32>,
}

impl Subjects {
    fn add(&mut self, key: Key, name: impl FnOnce() -> String) -> u32 {
        let all = &mut self.all;
        *self.index.entry(key).or_insert_with(|| {
            all.push((key, name()));
            (all.len() - 1) as u32
        })
    }

    pub(super) fn intern(&mut self, kind: &Kind, raw: &Raw<'_>) -> Option<u32> {
        Some(match kind.subject {
            Subject::None => self.add(Key::Nothing, String::new),
            Subject::Device(irq, name) => {
                self.add(Key::Device(raw.number(irq)? as u32), || raw.text_elsewhere(name))
            }
            Subject::Soft(vector) => {
                let vector = raw.number(vector)? as u32;
                self.add(Key::Soft(vector), || {
                    SOFT.get(vector as usize).map_or_else(|| vector.to_string(), |name| (*name).to_owned())
                })
            }
            Subject::Function(address) => self.add(Key::Function(raw.number(address)?), String::new),
            Subject::Task(name, id) => {
                let id = raw.number(id)? as u32;
                let index = self.add(Key::Task(id), String::new);
                // The last name: what a fork was called before it executed a program is not what it is.
                self.all[index as usize].1 = raw.text(name);
                let priority = kind.priority.and_then(|field| raw.number(field));
                // Signed, in as many bits.
                self.priorities.extend(priority.map(|priority| (id, priority as u32 as i32)));
                index
            }
        })
    }

    /// The task of a wake-up by another CPU: it may be older than what this CPU has said of it.
    pub(super) fn woken(&mut self, kind: &Kind, raw: &Raw<'_>) -> Option<u32> {
        match kind.subject {
            Subject::Task(name, id) => Some(self.add(Key::Task(raw.number(id)? as u32), || raw.text(name))),
            _ => None,
        }
    }

    /// A task is called so now: it may have executed a program since it was named.
    pub(super) fn rename(&mut self, task: u32, name: String) {
        if let Some(index) = self.index.get(&Key::Task(task)) {
            self.all[*index as usize].1 = name;
        }
    }

    /// The thread that was on the CPU.
    pub(super) fn thread(&mut self, raw: &Raw<'_>) -> u32 {
        self.add(Key::Task(raw.thread()), String::new)
    }

    /// Names for addresses, and where /proc has the records' numbers, what it says of tasks that are still there.
    pub(super) fn finish(self, has_numbers: bool) -> Vec<EventSubject> {
        let address = |(key, _): &(Key, String)| match key {
            Key::Function(address) => Some(*address),
            _ => None,
        };
        let addresses: Vec<u64> = self.all.iter().filter_map(address).collect();
        let names = symbols(&addresses);
        let one = |(key, name): (Key, String)| match key {
            Key::Nothing | Key::Soft(_) => EventSubject { name, ..EventSubject::default() },
            Key::Device(number) => EventSubject { name, id: Some(number), ..EventSubject::default() },
            Key::Function(address) => {
                let name = names.get(&address).cloned().unwrap_or_else(|| format!("{address:#x}"));
                EventSubject { name, ..EventSubject::default() }
            }
            Key::Task(id) => {
                let own = EventSubject { name, id: Some(id), ..EventSubject::default() };
                let own = if has_numbers { described(id, own) } else { own };
                EventSubject { priority: self.priorities.get(&id).copied(), ..own }
            }
        };
        self.all.into_iter().map(one).collect()
    }
}

/// A task with what /proc says of it.
fn described(id: u32, known: EventSubject) -> EventSubject {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let value = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    let process = value("Tgid:").and_then(|text| text.parse().ok()).filter(|process| *process != id);
    let own = |text: &str| printable(text, false).into_owned();
    let name = if known.name.is_empty() { value("Name:").map(own).unwrap_or_default() } else { known.name };
    let cgroup = std::fs::read_to_string(format!("/proc/{id}/cgroup")).unwrap_or_default();
    let cgroup = cgroup.lines().find_map(|line| line.strip_prefix("0::")).map(own);
    EventSubject { name, process, cgroup, ..known }
}
