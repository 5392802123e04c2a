//! ministat's command line: its options, as getopt finds them, and what it says where they are wrong.

use super::{End, LEVELS};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use tickmark_wire::text::number;

const USAGE: &str = "\
Usage: ministat [-C column] [-c confidence] [-d delimiter(s)] [-Ans] [-w width] [file [file ...]]
\tconfidence = {80%, 90%, 95%, 98%, 99%, 99.5%}
\t-A : print statistics only. suppress the graph.
\t-C : column number to extract (starts and defaults to 1)
\t-d : delimiter(s) string, default to \" \\t\"
\t-n : print summary statistics only, no graph/test
\t-s : print avg/median/stddev bars on separate lines
\t-w : width of graph/test output (default 74 or terminal width)
";

fn usage(whine: &str) -> End {
    End(format!("{whine}\n{USAGE}").into_bytes(), 2)
}

/// Options of ministat.
pub(super) struct MinistatOptions {
    pub(super) plot: bool,
    pub(super) test: bool,
    pub(super) separate: bool,
    pub(super) column: usize,
    pub(super) level: usize,
    pub(super) delimiters: Vec<u8>,
    pub(super) width: usize,
    pub(super) files: Vec<OsString>,
}

/// Index of 95 %.
const USUAL_LEVEL: usize = 2;

impl MinistatOptions {
    /// Where nothing is said, and there is no terminal.
    pub(super) fn usual() -> Self {
        Self {
            plot: true,
            test: true,
            separate: false,
            column: 1,
            level: USUAL_LEVEL,
            delimiters: b" \t".to_vec(),
            width: 74,
            files: Vec::new(),
        }
    }
}

/// Its options, as getopt finds them: anywhere, values attached or not, up to `--`.
pub(super) fn options(arguments: &[OsString]) -> Result<MinistatOptions, End> {
    let mut options = MinistatOptions { level: usize::MAX, ..MinistatOptions::usual() };
    options.width = terminal_width().unwrap_or(options.width);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            options.files.extend(words.by_ref().cloned());
        } else if let Some(letters @ [_, ..]) = word.as_bytes().strip_prefix(b"-") {
            let unknown = |why: &str, letter: u8| {
                let rest = usage("Unknown option").0;
                End::new(&[b"ministat: ", why.as_bytes(), b" -- '", &[letter], b"'\n", &rest], 2)
            };
            for (at, letter) in letters.iter().enumerate() {
                match letter {
                    b'A' => options.plot = false,
                    b'n' => options.test = false,
                    b's' => options.separate = true,
                    b'C' | b'c' | b'd' | b'w' => {
                        let attached = &letters[at + 1..];
                        let next = || words.next().map(|word| word.as_bytes());
                        let value = Some(attached).filter(|value| !value.is_empty()).or_else(next);
                        let missing = || unknown("option requires an argument", *letter);
                        options.set(*letter, value.ok_or_else(missing)?)?;
                        break;
                    }
                    other => return Err(unknown("invalid option", *other)),
                }
            }
        } else {
            options.files.push(word.clone());
            // Then options end at the first word that is none.
            if std::env::var_os("POSIXLY_CORRECT").is_some() {
                options.files.extend(words.by_ref().cloned());
            }
        }
    }
    if options.level == usize::MAX {
        options.level = USUAL_LEVEL;
    }
    match options.files.len() {
        0 => options.files.push("-".into()),
        8.. => return Err(usage("Too many datasets.")),
        _ => {}
    }
    Ok(options)
}

impl MinistatOptions {
    fn set(&mut self, letter: u8, value: &[u8]) -> Result<(), End> {
        match letter {
            b'C' => {
                self.column = match long(value).ok_or_else(|| usage("Invalid column number."))? {
                    column @ 1.. => column as usize,
                    _ => return Err(usage("Column number should be positive.")),
                };
            }
            b'c' => {
                // Nothing at all is zero to strtod.
                let level = if value.is_empty() { Some(0.0) } else { number(value) };
                let level = level.ok_or_else(|| usage("Not a floating point number"))?;
                if let Some(at) = LEVELS.iter().position(|(percent, _)| *percent == level) {
                    self.level = at;
                }
                if self.level == usize::MAX {
                    return Err(usage("No support for confidence level"));
                }
            }
            b'd' if value.is_empty() => return Err(usage("Can't use empty delimiter string")),
            b'd' => self.delimiters = value.to_vec(),
            _ => {
                self.width = match long(value).ok_or_else(|| usage("Invalid width, not a number."))? {
                    width @ 0.. => width as usize,
                    _ => return Err(usage("Unable to move beyond left margin.")),
                };
            }
        }
        Ok(())
    }
}

/// As strtol: blanks, a sign, digits; nothing at all is zero.
fn long(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    if text.is_empty() { Some(0) } else { text.trim_start().parse().ok() }
}

/// $COLUMNS, else two less than the terminal has; none where the output is no terminal.
fn terminal_width() -> Option<usize> {
    use std::io::IsTerminal;
    if !std::io::stdout().is_terminal() {
        return None;
    }
    let environment = std::env::var("COLUMNS").ok().filter(|columns| !columns.is_empty());
    match environment {
        Some(columns) => Some(leading(&columns)),
        None => terminal_size::terminal_size().map(|(width, _)| usize::from(width.0).saturating_sub(2)),
    }
}

/// As atoi: blanks, a sign, the digits that follow; a negative width is as good as none.
fn leading(text: &str) -> usize {
    let text = text.trim_start();
    let digits = text.strip_prefix('+').unwrap_or(text);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().unwrap_or(if end > 0 { usize::MAX } else { 0 })
}
