//! Many machines.

mod health;
mod links;
mod report;
mod run;
pub(in crate::command) mod tables;

use crate::cli::{Fleet, FleetCommand};
use crate::error::{Code, Error};

pub(in crate::command) fn run(options: &Fleet) -> Result<Code, Error> {
    match &options.command {
        FleetCommand::Run(options) => run::run(options),
        FleetCommand::Gather(options) => run::gather(options),
        FleetCommand::Links(options) => links::run(options),
        FleetCommand::Report(options) => report::run(options),
        FleetCommand::Health(options) => health::run(options),
    }
}
