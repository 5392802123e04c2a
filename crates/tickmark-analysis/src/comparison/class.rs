//! The class of a figure: figures of one class are judged as a group.

use tickmark_wire::{Better, Group};

/// What the figures of a group share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Class {
    pub(super) group: Group,
    /// Whether they are clocks that are read by a call.
    pub(super) by_call: bool,
    pub(super) figure: &'static str,
    pub(super) better: Better,
    /// Whether they are in units of the pace.
    pub(super) by_pace: bool,
}
