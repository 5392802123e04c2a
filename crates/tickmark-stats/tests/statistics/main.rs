//! Error rates and properties of the verdicts on simulated noise. One program, so that its tests run side by side.
#![allow(clippy::unwrap_used, reason = "a test")]

mod gates;
mod groups;
mod noise;
mod order;
mod pages;
mod properties;
mod simulated;
