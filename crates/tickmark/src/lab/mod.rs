//! Guests that are measured like machines, and matrices of them.

mod exact;
mod file;
mod guest;
mod tick;

pub(crate) use exact::instruction;
pub(crate) use file::{Asked, Machine, Report, SPEEDS, Setting, read, shift};
pub(crate) use guest::{AgentKind, Guest, agent_program};
pub(crate) use tick::prediction;

use crate::error::Error;

impl From<tickmark_lab::Error> for Error {
    fn from(error: tickmark_lab::Error) -> Self {
        match error {
            tickmark_lab::Error::Usage(why) => Self::Usage(why),
            other => Self::Refused(other.to_string()),
        }
    }
}
