//! One experiment of a document, carried out without showing its figures.

use crate::cli::{CompareFormat, Experiment};
use crate::command::matrix::{self, MatrixOutput};
use crate::command::{experiment, launched};
use crate::error::{Code, Error};
use std::path::Path;
use tickmark_drive::file::{self, ExperimentFile, Length};
use tickmark_store::Store;

pub(super) fn measure(
    store: &Store,
    name: &str,
    length: Length,
    options: &Experiment,
) -> Result<Code, Error> {
    match file::shipped(name, length)? {
        ExperimentFile::Booted(from) => {
            // What is short cannot be resumed as the whole.
            let file = (length == Length::Whole).then_some(Path::new(name));
            let shown = MatrixOutput { limit: None, file, format: CompareFormat::Json, fail_on: None };
            let (code, machines) = matrix::carry_out(store, &from, None, shown)?;
            let failed = machines.iter().flat_map(|machine| &machine.explained).flat_map(|of| &of.failed);
            failed.for_each(|why| crate::notice!("tickmark: {name}: {why}"));
            Ok(code)
        }
        ExperimentFile::Launched(from) => Ok(launched::launch(store, options, &from)?.code),
        ExperimentFile::Here(from) => {
            let carried = experiment::carry_out(store, options, *from, false)?;
            carried.tell(store, CompareFormat::Json)?;
            Ok(carried.code(store))
        }
    }
}
