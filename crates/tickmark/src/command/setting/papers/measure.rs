//! One experiment of a document, carried out without showing its figures.

use crate::cli::{CompareFormat, Experiment};
use crate::command::matrix::{self, Shown};
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
    match file::read_as(Path::new(name), length)? {
        ExperimentFile::Booted(from) => {
            let shown = Shown {
                limit: None,
                file: Some(Path::new(name)),
                format: CompareFormat::Json,
                fail_on: None,
            };
            matrix::carry_out(store, &from, None, shown).map(|(code, _)| code)
        }
        ExperimentFile::Launched(from) => {
            let (_, stopped) = launched::launch(store, options, &from)?;
            Ok(if stopped { Code::Partly } else { Code::Done })
        }
        ExperimentFile::Here(from) => {
            let carried = experiment::carry_out(store, options, *from)?;
            carried.tell(CompareFormat::Json)?;
            Ok(carried.code(store))
        }
    }
}
