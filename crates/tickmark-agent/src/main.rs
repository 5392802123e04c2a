//! The agent as a program of its own.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    tickmark_agent::main(std::env::args_os().skip(1), &[])
}
