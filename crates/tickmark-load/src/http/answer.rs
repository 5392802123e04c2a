//! Whether an answer is whole, and the right one.

use super::board::Fault;
use super::whole::ResponseHead;

/// An answer that comes in pieces.
pub(super) enum Answer<'a> {
    /// Of our own server: these bytes, of which so many have come.
    Known(&'a [u8], usize),
    /// Of another one.
    Read(ResponseHead),
}

impl<'a> Answer<'a> {
    pub(super) fn new(known: Option<&'a [u8]>) -> Self {
        known.map_or_else(|| Self::Read(ResponseHead::default()), |known| Self::Known(known, 0))
    }

    /// Before the next.
    pub(super) fn begin(&mut self) {
        match self {
            Self::Known(_, had) => *had = 0,
            Self::Read(read) => read.begin(),
        }
    }

    /// True if nothing of it has come.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Known(_, had) => *had == 0,
            Self::Read(read) => read.is_empty(),
        }
    }

    /// True if the server closes the connection behind it.
    pub(super) fn closes(&self) -> bool {
        matches!(self, Self::Read(read) if read.closes())
    }

    /// Takes what came: whether it is whole.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<bool, Fault> {
        match self {
            Self::Known(known, had) => {
                if known.get(*had..*had + bytes.len()) != Some(bytes) {
                    return Err(Fault::Wrong);
                }
                *had += bytes.len();
                Ok(*had == known.len())
            }
            Self::Read(read) => read.take(bytes),
        }
    }

    /// At the end of the connection.
    pub(super) fn end(&self) -> Result<(), Fault> {
        match self {
            Self::Read(read) if read.lasts_to_the_end() => Ok(()),
            _ if self.is_empty() => Err(Fault::Closed),
            _ => Err(Fault::Short),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_answer_is_compared_byte_by_byte() {
        let mut known = Answer::new(Some(b"page"));
        assert_eq!((known.take(b"pa"), known.end()), (Ok(false), Err(Fault::Short)));
        assert_eq!(known.take(b"ge"), Ok(true));
        known.begin();
        assert_eq!((known.take(b"pagf"), known.end()), (Err(Fault::Wrong), Err(Fault::Closed)));
        assert_eq!(known.take(b"pages"), Err(Fault::Wrong));
    }
}
