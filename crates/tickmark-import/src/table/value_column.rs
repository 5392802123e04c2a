//! A column of figures, and what its head says of them.

use crate::number::{label, unit, unit_or_word};
use tickmark_wire::{Better, Unit};

/// One of a table's.
pub(super) struct ValueColumn {
    pub(super) at: usize,
    pub(super) name: String,
    pub(super) unit: Unit,
    pub(super) factor: f64,
    pub(super) better: Better,
}

impl ValueColumn {
    pub(super) fn new(at: usize, name: &str, unit_name: Option<&str>) -> Self {
        // "latency (us)", "latency [us]", "time_ms".
        // "latency (min)" is a least one.
        let in_head = || {
            let word = name.rsplit_once(['(', '[']).map(|(_, word)| word.trim_end_matches([')', ']']));
            word.filter(|word| *word != "min")
        };
        let behind = || {
            name.rsplit_once('_')
                .map(|(_, word)| word)
                .filter(|word| matches!(*word, "ns" | "us" | "ms" | "sec"))
        };
        let word = unit_name
            .or_else(in_head)
            .or_else(behind)
            .filter(|word| unit_name.is_some() || unit(word).is_some());
        let (unit, factor, better) = word.map_or((Unit::Count, 1.0, Better::Neither), unit_or_word);
        let bare = name.split(['(', '[']).next().unwrap_or(name);
        Self { at, name: label(bare), unit, factor, better }
    }
}
