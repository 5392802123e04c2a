//! Lines of whoever writes, each up to a length: one that never ends is no reason to fill the memory.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result};
use std::path::Path;

/// The lines of a reader, without their line breaks.
pub struct Lines<R> {
    reader: BufReader<R>,
    most: usize,
    /// True if the rest of a line is still to be passed over.
    in_line: bool,
}

/// So many bytes of a longer line are passed over; what goes on has no lines.
const PASSED: u64 = 1 << 30;

/// Bytes of a text file that a person wrote, at most.
const TEXT: u64 = 16 << 20;

/// A text file that a person wrote; it may be a pipe.
///
/// # Errors
/// It cannot be read, is longer than 16 MiB, or is no text.
pub fn text(path: &Path) -> Result<String> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(TEXT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > TEXT {
        return Err(Error::new(ErrorKind::FileTooLarge, format!("it has more than {TEXT} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| Error::new(ErrorKind::InvalidData, error))
}

/// A line of output.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A whole line.
    Whole(Vec<u8>),
    /// A longer one than is read: its beginning.
    Cut(Vec<u8>),
}

impl Line {
    /// Its bytes, as far as they were kept.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Whole(bytes) | Self::Cut(bytes) => bytes,
        }
    }
}

impl<R: Read> Lines<R> {
    /// Lines of at most so many bytes.
    pub fn new(reader: R, most: usize) -> Self {
        Self { reader: BufReader::new(reader), most, in_line: false }
    }

    /// Passes over the rest of a line.
    fn skip(&mut self) -> Result<()> {
        let mut passed = 0;
        loop {
            let buffer = self.reader.fill_buf()?;
            let (length, ends) = match buffer.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (buffer.len(), buffer.is_empty()),
            };
            self.reader.consume(length);
            passed += length as u64;
            if ends {
                return Ok(());
            }
            if passed > PASSED {
                return Err(Error::new(ErrorKind::InvalidData, "a line without an end"));
            }
        }
    }

    fn read(&mut self) -> Result<Option<Line>> {
        if std::mem::take(&mut self.in_line) {
            self.skip()?;
        }
        let mut line = Vec::new();
        let most = self.most as u64 + 1;
        (&mut self.reader).take(most).read_until(b'\n', &mut line)?;
        match line.pop() {
            None => Ok(None),
            Some(b'\n') => Ok(Some(Line::Whole(line))),
            Some(last) if line.len() < self.most => {
                line.push(last);
                Ok(Some(Line::Whole(line)))
            }
            Some(last) => {
                // Passed over when more is wanted: who gives up at once waits for nothing.
                self.in_line = last != b'\n';
                Ok(Some(Line::Cut(line)))
            }
        }
    }
}

impl<R: Read> Iterator for Lines<R> {
    type Item = Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_up_to_their_length_and_cut_beyond() {
        let read = |text: &[u8]| -> Vec<Line> { Lines::new(text, 4).map(|line| line.unwrap()).collect() };
        let whole = |text: &[u8]| Line::Whole(text.to_vec());
        let cut = |text: &[u8]| Line::Cut(text.to_vec());
        assert_eq!(
            read(b"ab\n\nabcd\nabcde\nx"),
            [whole(b"ab"), whole(b""), whole(b"abcd"), cut(b"abcd"), whole(b"x")]
        );
        assert_eq!(read(b"abcdefghi"), [cut(b"abcd")]);
        assert_eq!(read(b""), []);
        // One that never ends is skipped as it comes.
        let endless = std::io::repeat(0).take(1 << 26).chain(&b"\nok\n"[..]);
        let all: Vec<Line> = Lines::new(endless, 4).map(|line| line.unwrap()).collect();
        assert_eq!(all, [cut(&[0; 4]), whole(b"ok")]);
        let mut none = Lines::new(std::io::repeat(0), 4);
        assert_eq!(none.next().unwrap().unwrap(), cut(&[0; 4]));
        assert!(none.next().unwrap().is_err(), "what has no lines has an end all the same");
    }
}
