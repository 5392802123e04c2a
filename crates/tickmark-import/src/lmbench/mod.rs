//! lmbench's results: its result files and summary pages, and which metric stands in which column of them.

mod layout;
mod number;
mod page;
mod raw;

pub use layout::{Column, LOAD, TABLES, Table, metrics};
pub use number::{percent_cell, printed, rounded, step, to_step};

use crate::Imported;

/// Reads the texts of result files and summary pages, by name. Lines that should hold figures and do not are
/// named in the second part.
///
/// # Errors
/// The name of a text that is neither.
pub fn read(texts: &[(String, String)]) -> Result<(Vec<Imported>, Vec<String>), String> {
    let (mut all, mut warnings) = (Vec::new(), Vec::new());
    for (number, (name, text)) in texts.iter().enumerate() {
        if let Some((earlier, _)) = texts[..number].iter().find(|(_, earlier)| earlier == text) {
            warnings.push(format!("{name} holds the same as {earlier}: the same run counts twice"));
        }
        let found = if raw::recognizes(text) {
            raw::read(name, text, &mut all, &mut warnings)
        } else {
            page::read(name, text, &mut all, &mut warnings)
        };
        if found == 0 {
            return Err(name.clone());
        }
    }
    Ok((all, warnings))
}

/// Says once that there are too many systems.
fn too_many(warnings: &mut Vec<String>) {
    let why = format!("more than {} systems: the others are left out", crate::MOST_SYSTEMS);
    if warnings.last() != Some(&why) {
        warnings.push(why);
    }
}

/// The results of a host and its kernel by this tool so far, or new ones; none where there are too many.
pub(super) fn host<'a>(
    all: &'a mut Vec<Imported>,
    host: &str,
    release: &str,
    tool: &str,
) -> Option<&'a mut Imported> {
    let same = |known: &Imported| known.host == host && known.release == release && known.tool == tool;
    let at = all.iter().position(same).unwrap_or(all.len());
    if at == crate::MOST_SYSTEMS {
        return None;
    }
    if at == all.len() {
        let (host, release, tool) = (host.to_owned(), release.to_owned(), tool.to_owned());
        all.push(Imported { host, release, tool, ..Imported::default() });
    }
    all.get_mut(at)
}

#[cfg(test)]
mod tests;
