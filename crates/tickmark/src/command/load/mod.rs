//! Cost of messages, transactions and commands.

pub(in crate::command) mod bill;
pub(in crate::command) mod clock_reads;
pub(in crate::command) mod comms;
pub(in crate::command) mod document;
pub(in crate::command) mod dose;
pub(in crate::command) mod hosts;
pub(in crate::command) mod http;
pub(in crate::command) mod sql;
