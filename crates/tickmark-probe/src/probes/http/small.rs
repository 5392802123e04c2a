//! In the small agent, which asks its own server alone: no other answer is read.

use super::board::Fault;
use crate::Params;
use std::net::SocketAddr;

pub(super) fn target(_: &Params) -> Result<(SocketAddr, Option<u32>), String> {
    Err("this small agent asks its own server alone".to_owned())
}

pub(super) fn processes(_: u32) -> Vec<u32> {
    Vec::new()
}

pub(super) fn exponential(_: f64) -> f64 {
    1.0
}

/// Nothing.
#[derive(Default)]
pub(super) struct Read;

impl Read {
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
