//! lmbench's results: its ten tables, written from any recording; its result files and summary pages, read
//! into recordings.

mod import;
mod layout;
mod number;
mod page;
mod raw;
mod table;

pub(crate) use import::{Imported, Series, Value, names, read};
pub(crate) use layout::metrics;
pub(crate) use table::{Page, page, render};

#[cfg(test)]
mod tests;
