//! The counts held against the guest's clock, window by window.

use super::Calls;
use std::collections::BTreeMap;
use tickmark_wire::Batches;

/// Instructions between a mark and the stamp beside it, at both ends of a window, at most: two readings of a clock by the small agent took
/// 180, and a page that a fork had left to be copied 960.
const BESIDE: i64 = 2000;
/// The share of interrupts that may come there, and how many may whatever their number: stamps are a thousandth of a window.
const INTERRUPTED: f64 = 0.02;
const FEW: f64 = 2.0;

/// How well the counts agree with the guest's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreement {
    /// Windows that were counted.
    pub windows: usize,
    /// Instructions in them.
    pub instructions: u64,
    /// Instructions between a window's marks and its stamps: the same in each.
    pub beside: i64,
    /// Windows in which an interrupt came between a mark and a stamp: the counts have more than the clock.
    pub interrupted: usize,
}

impl Agreement {
    /// Of a stream whose instructions take `one` ns, whose clock has steps of `clock_step` ns, and may run beside their count by a share of `drift`.
    ///
    /// # Errors
    /// The clock says otherwise.
    pub(super) fn new(
        batches: &Batches,
        calls: &Calls,
        one: f64,
        clock_step: f64,
        drift: f64,
    ) -> Result<Self, String> {
        let count = |nanos: i64| (nanos as f64 / one).round() as i64;
        let clock: Vec<i64> = match (calls.windows.len(), batches.elapsed.len()) {
            (windows, stamped) if windows == stamped => {
                batches.elapsed.iter().map(|elapsed| count(elapsed.get())).collect()
            }
            // One stream without work between its batches: a window from the first stamp to the last.
            (1, 1..) => {
                let (first, last) = (batches.start.first(), batches.start.last().zip(batches.elapsed.last()));
                first
                    .zip(last)
                    .map(|(first, (start, long))| count(start.get() + long.get() - first.get()))
                    .into_iter()
                    .collect()
            }
            (windows, stamped) => {
                return Err(format!("{windows} windows were counted, and {stamped} batches measured"));
            }
        };
        let more: Vec<i64> =
            calls.windows.iter().zip(&clock).map(|(counted, clock)| *counted as i64 - clock).collect();
        // What stands between marks and stamps is the same in each window: most often seen.
        let mut counts_by_difference: BTreeMap<i64, usize> = BTreeMap::new();
        more.iter().for_each(|more| *counts_by_difference.entry(*more).or_default() += 1);
        let beside =
            counts_by_difference.iter().max_by_key(|(_, count)| **count).map_or(0, |(more, _)| *more);
        let drift = (clock.iter().max().copied().unwrap_or(0) as f64 * drift).ceil() as i64;
        // Stamps are whole steps of the clock, and instructions may be longer: each end may be off by one.
        let off = 2 * (clock_step / one).ceil().max(1.0) as i64 + drift;
        let interrupted = more.iter().filter(|more| **more > beside + off).count();
        let least = more.iter().min().copied().unwrap_or(0);
        let interrupts = calls.entries.iter().filter(|entry| super::is_interrupt(&entry.name));
        let interrupts: u64 = interrupts.map(|entry| entry.count).sum();
        let too_many = interrupted as f64 > interrupts as f64 * INTERRUPTED + FEW;
        if !(-drift..=BESIDE + drift).contains(&beside) || least < beside - off || too_many {
            let (counted, clock) = (calls.instructions(), clock.iter().sum::<i64>());
            return Err(format!(
                "the counts do not agree with the guest's clock, and nothing is said: {counted} instructions were counted where the clock has {clock}; of {} windows {interrupted} have more than the usual {beside} beside the clock's, and the least has {least}. Another agent (--agent) may do",
                more.len()
            ));
        }
        let counted = calls.instructions();
        let nodes: u64 = calls.nodes.iter().map(|node| node.own).sum();
        if nodes != counted {
            return Err(format!("the call tree has {nodes} instructions, and the windows {counted}"));
        }
        check_entries(calls)?;
        Ok(Self { windows: more.len(), instructions: counted, beside, interrupted })
    }
}

/// Holds the call tree against the ways into the kernel. Both are kept by the same frames: what differs is damaged, what is equal is not proved.
fn check_entries(calls: &Calls) -> Result<(), String> {
    let mut counted: BTreeMap<&str, u64> = BTreeMap::new();
    for entry in &calls.entries {
        *counted.entry(&entry.name).or_default() += entry.instructions;
    }
    for (name, instructions) in &calls.unfinished {
        *counted.entry(name).or_default() += instructions;
    }
    let tree = calls.by_entry();
    let differs = |name: &&str| tree.get(*name).unwrap_or(&0) != counted.get(*name).unwrap_or(&0);
    match tree.keys().chain(counted.keys()).copied().find(differs) {
        None => Ok(()),
        Some(name) => Err(format!(
            "below {name} the call tree has {} instructions, and its visits {}",
            tree.get(name).unwrap_or(&0),
            counted.get(name).unwrap_or(&0)
        )),
    }
}
