//! In the small agent, which asks its own server alone: no other answer is read.

use super::Load;
use super::board::{Board, Fault};
use std::net::SocketAddr;
use tickmark_probe::routine::{Budget, Sink};
use tickmark_probe::{Params, ProbeError};
use tickmark_wire::peer_request::Books;

pub(super) fn target(_: &Params) -> Result<(SocketAddr, Option<u32>), String> {
    Err(NONE.to_owned())
}

const NONE: &str = "this small agent asks its own server alone";

/// Nothing is kept.
pub(super) struct Slowest;

impl Slowest {
    pub(super) fn new() -> Self {
        Self
    }

    pub(super) fn add(&mut self, _: &Board, _: u64, _: u64) {}
}

pub(super) fn recorded(_: &mut Load, _: &Params, _: &Budget, _: &mut dyn Sink) -> Result<(), ProbeError> {
    Err(ProbeError::Other(NONE.to_owned()))
}

/// Nobody.
pub(super) enum Elsewhere {}

impl Elsewhere {
    pub(super) fn ask(_: &Params, _: &Budget) -> Result<Self, ProbeError> {
        Err(ProbeError::Other(NONE.to_owned()))
    }

    pub(super) fn at(&self) -> Result<SocketAddr, ProbeError> {
        match *self {}
    }

    pub(super) fn look(&mut self) -> Result<Books, ProbeError> {
        match *self {}
    }
}

pub(super) fn processes(_: u32) -> Vec<u32> {
    Vec::new()
}

pub(super) fn exponential(_: f64) -> f64 {
    1.0
}

/// Nothing.
#[derive(Default)]
pub(super) struct ResponseHead(());

impl ResponseHead {
    pub(super) fn begin(&mut self) {}

    pub(super) fn is_empty(&self) -> bool {
        true
    }

    pub(super) fn closes(&self) -> bool {
        false
    }

    pub(super) fn lasts_to_the_end(&self) -> bool {
        false
    }

    pub(super) fn take(&mut self, _: &[u8]) -> Result<bool, Fault> {
        Err(Fault::Wrong)
    }
}
