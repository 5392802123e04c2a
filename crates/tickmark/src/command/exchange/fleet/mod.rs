//! Many machines.

mod health;
mod links;
mod report;
mod run;
pub(in crate::command) mod tables;

use crate::cli::{Fleet, FleetCommand};
use crate::error::{Code, Error};

pub(in crate::command) fn run(asked: &Fleet) -> Result<Code, Error> {
    match &asked.command {
        FleetCommand::Run(asked) => run::run(asked),
        FleetCommand::Gather(asked) => run::gather(asked),
        FleetCommand::Links(asked) => links::run(asked),
        FleetCommand::Report(asked) => report::run(asked),
        FleetCommand::Health(asked) => health::run(asked),
    }
}
