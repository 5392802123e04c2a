//! The class of a figure: figures of one class are judged as a group.

use tickmark_wire::{Better, Group};

/// The properties that the figures of a group share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Class {
    pub(super) group: Group,
    /// True if they are clocks that are read by a call.
    pub(super) by_call: bool,
    pub(super) figure: &'static str,
    pub(super) better: Better,
    /// True if they are in units of the pace.
    pub(super) by_pace: bool,
}
