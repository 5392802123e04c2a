//! What is said on the error stream: folded between words where somebody reads it.

use std::io::IsTerminal;

/// Prints a line on the error stream, as `eprintln!` does.
#[macro_export]
macro_rules! notice {
    ($($argument:tt)*) => { $crate::notice::print(&format!($($argument)*)) };
}

/// Prints it without what a terminal obeys: names of commits, kernels' words and other programs' output may be in it.
pub(crate) fn print(text: &str) {
    let text = tickmark_wire::text::printable(text, true);
    anstream::eprintln!("{}", tickmark_render::folded_to(&text, reader_width()));
}

/// The width that the error stream is read with: as COLUMNS says, else that of its terminal; none of a pipe or a file.
fn reader_width() -> Option<usize> {
    let size =
        || std::io::stderr().is_terminal().then(|| terminal_size::terminal_size_of(std::io::stderr()))?;
    tickmark_render::width_of(size().map(|(width, _)| usize::from(width.0)))
}
