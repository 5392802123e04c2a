//! Parts for which the small agent has no room: servers that are not ours, whose answers may have any form, and requests at random times.

use super::board::Fault;
pub(super) use super::elsewhere::Elsewhere;
pub(super) use super::recorded::{Slowest, measure as recorded};
use std::net::SocketAddr;
use tickmark_probe::Params;
use tickmark_probe::sys::tasks;

/// A process and all that it started.
pub(super) fn processes(pid: u32) -> Vec<u32> {
    tasks::below(pid, &tasks::all())
}

/// Time between two requests of independent users: exponential, with a mean of 1, from a number above 0 and at most 1.
pub(super) fn exponential(uniform: f64) -> f64 {
    -uniform.ln()
}

/// Bytes of the head of an answer at most.
const LONGEST: usize = 64 << 10;

/// Where it listens, and its process.
pub(super) fn target(params: &Params) -> Result<(SocketAddr, Option<u32>), String> {
    let at = params.argument("target");
    let address = at.parse().map_err(|_| format!("target={at:?} is no ADDRESS:PORT"))?;
    let pid = match params.argument("pid") {
        "" => None,
        pid => Some(pid.parse().map_err(|_| format!("pid={pid} is no number of a process"))?),
    };
    Ok((address, pid))
}

/// Head of a response, and its position.
#[derive(Default)]
pub(super) struct ResponseHead {
    /// Of the head, where it came in pieces.
    head: Vec<u8>,
    body: Body,
    closes: bool,
}

#[derive(Default, Clone, Copy)]
enum Body {
    /// The head is not whole.
    #[default]
    Head,
    /// So many bytes are left.
    Left(u64),
    /// In chunks (RFC 9112, section 7.1).
    Chunks(Chunk),
    /// Until the connection is closed.
    ToTheEnd,
}

#[derive(Clone, Copy)]
enum Chunk {
    /// Its size so far, and whether an extension follows.
    Size(u64, bool),
    /// Bytes of data, with the end of line behind it.
    Data(u64),
    /// Fields behind the last one: bytes of this line.
    Trailer(u64),
}

impl ResponseHead {
    /// Before the next.
    pub(super) fn begin(&mut self) {
        self.head.clear();
        (self.body, self.closes) = (Body::Head, false);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.head.is_empty() && matches!(self.body, Body::Head)
    }

    pub(super) fn closes(&self) -> bool {
        self.closes
    }

    /// True if the end of the connection is its end.
    pub(super) fn lasts_to_the_end(&self) -> bool {
        matches!(self.body, Body::ToTheEnd)
    }

    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<bool, Fault> {
        match &mut self.body {
            Body::Head => self.head(bytes),
            Body::Left(left) => {
                let more = bytes.len() as u64;
                if more > *left {
                    return Err(Fault::Wrong);
                }
                *left -= more;
                Ok(*left == 0)
            }
            Body::Chunks(chunk) => chunk.take(bytes),
            Body::ToTheEnd => Ok(false),
        }
    }

    fn head(&mut self, bytes: &[u8]) -> Result<bool, Fault> {
        let mut kept = std::mem::take(&mut self.head);
        let all = if kept.is_empty() {
            bytes
        } else {
            kept.extend_from_slice(bytes);
            &kept
        };
        let mut fields = [httparse::EMPTY_HEADER; 100];
        let mut answer = httparse::Response::new(&mut fields);
        let length = match answer.parse(all) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if all.len() < LONGEST => {
                if kept.is_empty() {
                    kept.extend_from_slice(bytes);
                }
                self.head = kept;
                return Ok(false);
            }
            _ => return Err(Fault::Wrong),
        };
        let status = answer.code.unwrap_or(0);
        if !(200..400).contains(&status) {
            return Err(Fault::Status);
        }
        let field = |name: &str| {
            let found = answer.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name));
            found.and_then(|field| std::str::from_utf8(field.value).ok()).map(str::trim)
        };
        let has = |name: &str, word: &str| field(name).is_some_and(|text| text.eq_ignore_ascii_case(word));
        // Without a word for it, version 1.0 closes.
        self.closes =
            has("connection", "close") || (answer.version == Some(0) && !has("connection", "keep-alive"));
        self.body = if matches!(status, 204 | 304) {
            Body::Left(0)
        } else if has("transfer-encoding", "chunked") {
            Body::Chunks(Chunk::Size(0, false))
        } else {
            let length = field("content-length").map(str::parse);
            length.map_or(Ok(Body::ToTheEnd), |length| length.map(Body::Left)).map_err(|_| Fault::Wrong)?
        };
        self.closes |= matches!(self.body, Body::ToTheEnd);
        self.take(&all[length..])
    }
}

impl Chunk {
    fn take(&mut self, bytes: &[u8]) -> Result<bool, Fault> {
        let mut rest = bytes;
        while let Some((first, behind)) = rest.split_first() {
            match self {
                Self::Data(left) => {
                    let now = (*left).min(rest.len() as u64);
                    *left -= now;
                    rest = &rest[now as usize..];
                    if *left == 0 {
                        *self = Self::Size(0, false);
                    }
                    continue;
                }
                Self::Size(size, extended) => match (first, char::from(*first).to_digit(16)) {
                    (b'\n', _) if *size == 0 => *self = Self::Trailer(0),
                    (b'\n', _) => *self = Self::Data(*size + 2),
                    (b'\r', _) => {}
                    (_, _) if *extended => {}
                    (b';' | b' ' | b'\t', _) => *extended = true,
                    (_, Some(digit)) if *size < 1 << 40 => *size = *size * 16 + u64::from(digit),
                    _ => return Err(Fault::Wrong),
                },
                Self::Trailer(line) => match first {
                    b'\n' if *line == 0 => {
                        // Nothing comes behind it that was not asked for.
                        return if behind.is_empty() { Ok(true) } else { Err(Fault::Wrong) };
                    }
                    b'\n' => *line = 0,
                    b'\r' => {}
                    _ => *line += 1,
                },
            }
            rest = behind;
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::super::answer::Answer;
    use super::*;

    /// In pieces of every size.
    fn take(text: &str) -> Result<bool, Fault> {
        let whole = Answer::new(None).take(text.as_bytes());
        for size in 1..text.len() {
            let mut answer = Answer::new(None);
            let mut last = Ok(false);
            for piece in text.as_bytes().chunks(size) {
                last = answer.take(piece);
                if last.is_err() {
                    break;
                }
            }
            assert_eq!(last, whole, "{text:?} in pieces of {size}");
        }
        whole
    }

    #[test]
    fn answers_of_every_form_end_where_they_end() {
        assert_eq!(take("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"), Ok(true));
        assert_eq!(take("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello"), Ok(false));
        assert_eq!(take("HTTP/1.1 304 Not Modified\r\nX: y\r\n\r\n"), Ok(true));
        let chunks =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\nA\r\n0123456789\r\n0\r\n";
        assert_eq!(take(&format!("{chunks}\r\n")), Ok(true));
        assert_eq!(take(&format!("{chunks}X: y\r\n\r\n")), Ok(true));
        assert_eq!(take(chunks), Ok(false));
        assert_eq!(take("HTTP/1.0 200 OK\r\n\r\nuntil the end"), Ok(false));
        let mut old = Answer::new(None);
        assert_eq!(old.take(b"HTTP/1.0 200 OK\r\n\r\nuntil"), Ok(false));
        assert!(old.closes() && old.end().is_ok());
    }

    #[test]
    fn wrong_answers_are_told_apart() {
        assert_eq!(take("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"), Err(Fault::Status));
        assert_eq!(take("SSH-2.0-OpenSSH_9.2\r\n"), Err(Fault::Wrong));
        assert_eq!(
            Answer::new(None).take(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab"),
            Err(Fault::Wrong)
        );
        assert_eq!(take("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"), Err(Fault::Wrong));
        let mut short = Answer::new(None);
        assert_eq!(short.end(), Err(Fault::Closed));
        assert_eq!(short.take(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"), Ok(false));
        assert_eq!(short.end(), Err(Fault::Short));
    }
}
