//! Kernels that differ in named settings: built from Debian's source and the fragments beside this file, kept in a
//! cache, booted under QEMU with an agent as their first process.
//!
//! With `-icount` QEMU's time is the number of instructions: 2^shift ns each, whatever the host does. A boot is
//! then the same to the last byte each time, and what it measures is a count of instructions, without caches and
//! without the latency of devices.
//!
//! # Where things are
//!
//! - **A new setting of kernels**: a file in `crates/tickmark-lab/fragments/` and a line in `kernel.rs`. How QEMU is called: `qemu.rs`; what
//!   counts as a good boot: `boot.rs`.
//! - **The agent where Rust is not**: `agent-c/`, compiled by the lab when it is needed.
//! - **Which function a cost is**: `tcg-plugin/`, compiled as well (`plugin.rs`); the kernel's functions: `symbols.rs`, `kallsyms.rs`.
#![forbid(unsafe_code)]

mod agent;
mod boot;
mod built;
mod cache;
mod compiled;
mod config;
mod error;
mod image;
mod initramfs;
mod inventory;
mod kallsyms;
mod kernel;
mod libraries;
mod make;
mod module;
mod packed;
mod plugin;
mod qemu;
mod series;
mod static_program;
mod symbols;
mod tools;

pub use agent::{small_agent, small_agent_has};
pub use boot::{Boot, BootLimit, COUNTS, Guest};
pub use built::{Built, Need};
pub use cache::{Cache, digest};
pub use error::Error;
pub use image::{arch_of, is_for, is_static};
pub use initramfs::Archive;
pub use inventory::{Component, Missing, inventory};
pub use kallsyms::symbols;
pub use kernel::{Arch, Kernel, Preempt, Source, Tick};
pub use libraries::libraries;
pub use make::Progress;
pub use module::Module;
pub use plugin::{Plugin, plugin};
pub use qemu::{Accel, Machine};
pub use series::{Configuration, Series};
pub use static_program::{StaticProgram, build_static};
pub use symbols::Symbols;
pub use tools::{require_qemu, source_version};
