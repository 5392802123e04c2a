//! Completions and man pages, from the definition of the command line.

use crate::cli::{Cli, Completions, Man, complete};
use crate::error::{Code, Error};
use clap::CommandFactory;

pub(super) fn completions(asked: &Completions) -> Result<Code, Error> {
    let text = complete::script(asked.shell).map_err(Error::Output)?;
    super::print(&String::from_utf8_lossy(&text))?;
    Ok(Code::Done)
}

pub(super) fn man(asked: &Man) -> Result<Code, Error> {
    let written = std::fs::create_dir_all(&asked.folder);
    let written = written.and_then(|()| clap_mangen::generate_to(Cli::command(), &asked.folder));
    written.map_err(|source| Error::File { path: asked.folder.clone(), source })?;
    Ok(Code::Done)
}
