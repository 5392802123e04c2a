//! A column of figures, and what its head says of them.

use crate::number::{heading_unit, label, unit_or_word};
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
        let known = unit_name.map(unit_or_word).or_else(|| heading_unit(name));
        let (unit, factor, better) = known.unwrap_or((Unit::Count, 1.0, Better::Neither));
        let bare = name.split(['(', '[']).next().unwrap_or(name);
        Self { at, name: label(bare), unit, factor, better }
    }
}
