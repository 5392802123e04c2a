//! Completions and man pages, from the definition of the command line.

use crate::cli::{Cli, Completions, Man, complete};
use crate::error::{Code, Error};
use clap::CommandFactory;
use std::fmt::Write;
use std::path::Path;

/// Meaning of every command's exit status.
const STATUS: [(&str, &str); 6] = [
    ("0", "Everything that was asked for was done."),
    ("1", "Nothing was obtained."),
    ("2", "The request is wrong."),
    (
        "3",
        "There is a difference that --fail-on names, a change (check), a finding (doctor, fleet health), or a threshold was exceeded.",
    ),
    ("4", "Some of it was done; the rest is named."),
    ("5", "What --fail-on or check asks cannot be judged."),
];

const ENVIRONMENT: [(&str, &str); 8] = [
    ("TICKMARK_STORE", "Where recordings are kept, as --store."),
    (
        "XDG_DATA_HOME, HOME",
        "The user's data folder: tickmark in it is the store, tickmark-shared has the copies of shared stores.",
    ),
    ("XDG_CACHE_HOME", "The user's cache folder: tickmark in it has the kernels of the lab."),
    ("TMPDIR", "Where probes and servers that are started have their files."),
    ("TICKMARK_AGENT", "The static agent for guests and other machines."),
    ("PGPASSWORD, PGPASSFILE", "The password of a shared store, or the file with it."),
    ("TICKMARK_SQL_PASSWORD", "The password of the database that tickmark sql asks."),
    ("NO_COLOR", "Set to anything: no colours."),
];

const FILES: [(&str, &str); 4] = [
    (
        "~/.local/share/tickmark/recordings",
        "A folder for each recording: meta.json, and events.jsonl with everything that was observed.",
    ),
    (
        "~/.local/share/tickmark/index.sqlite",
        "An index over them, which tickmark recordings --rebuild makes again.",
    ),
    ("~/.local/share/tickmark-shared", "A copy of each shared store."),
    ("~/.cache/tickmark", "Kernels of the lab, and what they are built from."),
];

pub(super) fn completions(options: &Completions) -> Result<Code, Error> {
    let text = complete::script(options.shell).map_err(Error::Output)?;
    super::write(&String::from_utf8_lossy(&text))?;
    Ok(Code::Done)
}

pub(super) fn man(options: &Man) -> Result<Code, Error> {
    let written = std::fs::create_dir_all(&options.folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), &options.folder))
        .and_then(|()| complete_pages(&options.folder));
    written.map_err(|source| Error::File { path: options.folder.clone(), source })?;
    Ok(Code::Done)
}

/// Adds what the definition of the command line does not have.
fn complete_pages(folder: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(page) = name.strip_prefix("tickmark").and_then(|name| name.strip_suffix(".1")) else {
            continue;
        };
        let mut text = std::fs::read_to_string(&path)?;
        section(&mut text, "EXIT STATUS", &STATUS);
        section(&mut text, "ENVIRONMENT", &ENVIRONMENT);
        section(&mut text, "FILES", &FILES);
        if !page.is_empty() {
            text += ".SH \"SEE ALSO\"\n\\fBtickmark\\fR(1)\n";
        }
        std::fs::write(&path, text)?;
    }
    Ok(())
}

/// A section of terms, in roff.
fn section(text: &mut String, title: &str, terms: &[(&str, &str)]) {
    let _ = writeln!(text, ".SH \"{title}\"");
    for (term, meaning) in terms {
        let plain = |text: &str| text.replace('\\', "\\\\").replace('-', "\\-");
        let _ = writeln!(text, ".TP\n\\fB{}\\fR\n{}", plain(term), plain(meaning));
    }
}
