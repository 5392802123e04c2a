//! Texts in the width that there is: lines folded between words, commands kept whole, names cut between theirs.

use crate::grid::{reader_width, width};
use std::borrow::Cow;
use textwrap::core::display_width;

/// In place of a blank that no line ends at.
const UNBROKEN: &str = "\u{a0}";

/// A text whose lines fit where somebody reads: longer ones are folded between words, and go on below their beginning.
#[must_use]
pub fn folded(text: &str) -> Cow<'_, str> {
    folded_to(text, reader_width())
}

/// The same for a reader with another width, or with none.
#[must_use]
pub fn folded_to(text: &str, width: Option<usize>) -> Cow<'_, str> {
    let Some(width) = width else { return Cow::Borrowed(text) };
    if text.lines().all(|line| display_width(line) <= width) {
        return Cow::Borrowed(text);
    }
    let folded = text.split_inclusive('\n').map(|line| match line.strip_suffix('\n') {
        Some(line) if display_width(line) > width => fold(line, width) + "\n",
        None if display_width(line) > width => fold(line, width),
        _ => line.to_owned(),
    });
    Cow::Owned(folded.collect())
}

/// A line that is too wide, going on below its beginning. A command in it is not broken where a line has room for it,
/// and else continues as a shell reads it.
fn fold(line: &str, width: usize) -> String {
    let indent = " ".repeat((line.len() - line.trim_start().len() + 2).min(width / 2));
    let (mut kept, mut from) = (String::new(), 0);
    for (at, command) in commands(line) {
        kept += &line[from..at];
        kept += &command.replace(' ', UNBROKEN);
        from = at + command.len();
    }
    kept += &line[from..];
    let lines = textwrap::wrap(&kept, folding(width).subsequent_indent(&indent)).into_iter();
    let lines = lines.map(|line| {
        let fits = display_width(&line) <= width || !line.contains(UNBROKEN);
        let line = line.replace(UNBROKEN, " ");
        if fits { line } else { copyable(&line, width) }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The commands in a line, with where they begin: in backquotes, or from its beginning or a colon to the end of what follows.
fn commands(line: &str) -> impl Iterator<Item = (usize, &str)> {
    line.match_indices("tickmark ").filter_map(move |(at, start)| {
        let (before, from) = line.split_at(at);
        let end = match before {
            _ if !from[start.len()..].starts_with(|c: char| c.is_ascii_lowercase() || c == '-') => {
                return None;
            }
            _ if before.ends_with('`') => from.find('`'),
            _ if before.ends_with(": ") || before.trim().is_empty() => from.find("; "),
            _ => return None,
        };
        Some((at, &from[..end.unwrap_or(from.len())]))
    })
}

/// A command, continued on more lines as a shell reads them where it is wider than there is room.
/// What stands in quotes stays on one line.
#[must_use]
pub fn copyable(command: &str, width: usize) -> String {
    let further = format!("{}  ", &command[..command.len() - command.trim_start().len()]);
    let lines = folding(width - 2).subsequent_indent(&further);
    let lines = lines.word_separator(textwrap::WordSeparator::AsciiSpace);
    // Every other part.
    let parts = command.split('\'').enumerate();
    let parts =
        parts.map(|(at, part)| if at % 2 == 0 { part.to_owned() } else { part.replace(' ', UNBROKEN) });
    let whole = parts.collect::<Vec<_>>().join("'");
    textwrap::wrap(&whole, lines).join(" \\\n").replace(UNBROKEN, " ")
}

/// How lines are folded: between words, neither in one nor behind its hyphen.
#[must_use]
pub fn folding<'a>(width: usize) -> textwrap::Options<'a> {
    let options = textwrap::Options::new(width).break_words(false);
    options.word_splitter(textwrap::WordSplitter::NoHyphenation)
}

/// A text in lines of at most [`width`].
#[must_use]
pub fn paragraph(text: &str) -> String {
    textwrap::fill(text, folding(width()))
}

/// As many whole words of a text as so many characters have room for; of a single word its beginning.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let (room, is_gap) = (most.saturating_sub(3), |c: char| matches!(c, ' ' | ','));
    let cut: String = text.chars().take(room).collect();
    let end = if text.chars().nth(room).is_some_and(is_gap) { None } else { cut.rfind(is_gap) };
    format!("{}...", end.map_or(cut.as_str(), |end| &cut[..end]).trim_end_matches(is_gap))
}

/// A text whose lines but the first are indented.
pub(crate) fn hanging(text: &str) -> String {
    textwrap::fill(text, folding(width()).subsequent_indent("  "))
}

/// A text in lines of at most [`width`], each behind `indent` blanks.
pub(crate) fn wrapped(text: &str, indent: usize) -> Vec<String> {
    let blanks = " ".repeat(indent);
    let options = folding(width()).initial_indent(&blanks).subsequent_indent(&blanks);
    textwrap::wrap(text, options).into_iter().map(Cow::into_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_copied_from_a_folded_line() {
        let line =
            "it is not complete: some is measured, resume with `tickmark run --resume abc`; else it is lost";
        assert_eq!(
            folded_to(line, Some(50)),
            "it is not complete: some is measured, resume with\n  `tickmark run --resume abc`; else it is lost"
        );
        let line = "which functions: tickmark lab explain syscall.null --kernel 'my kernel' --append quiet";
        assert_eq!(
            folded_to(line, Some(50)),
            "which functions:\n  tickmark lab explain syscall.null --kernel \\\n    'my kernel' --append quiet"
        );
        // Of two the longer begins as the shorter does; a task's row is no command.
        let line = "both: `tickmark run --all` and `tickmark run --all --resume abc`, each by itself";
        assert_eq!(
            folded_to(line, Some(48)),
            "both: `tickmark run --all` and\n  `tickmark run --all --resume abc`, each by\n  itself"
        );
        assert_eq!(folded_to("tickmark (9024)   4.4 %", Some(20)), "tickmark (9024)\n  4.4 %");
        assert_eq!(
            folded_to("tickmark: error: no such thing", Some(20)),
            "tickmark: error: no\n  such thing"
        );
    }

    #[test]
    fn a_text_is_cut_between_its_words() {
        assert_eq!(shortened("short", 8), "short");
        assert_eq!(shortened("--workers 1 --reads 10", 21), "--workers 1...");
        assert_eq!(shortened("menu,haltpoll,teo", 16), "menu,haltpoll...");
        assert_eq!(shortened("unbreakable", 8), "unbre...");
    }
}
