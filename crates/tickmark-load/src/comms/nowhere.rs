//! In place of another host, where nothing asks for one: the small static agent only answers.

use tickmark_probe::routine::Budget;
use tickmark_probe::sys::message::End;
use tickmark_probe::{Params, ProbeError};
use tickmark_wire::Loads;

/// There is none.
pub(super) enum Elsewhere {}

impl Elsewhere {
    pub(super) fn ask(_: &Params, _: bool, _: usize, _: &Budget) -> Result<(Self, End), ProbeError> {
        Err(ProbeError::Other("this agent only answers other hosts".to_owned()))
    }

    pub(super) fn wait(&mut self) -> Result<(), ProbeError> {
        match *self {}
    }

    pub(super) fn loads(&mut self) -> Result<Loads, ProbeError> {
        match *self {}
    }

    pub(super) fn peer_reason(&mut self, _: &ProbeError) -> ProbeError {
        match *self {}
    }
}
