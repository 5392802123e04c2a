//! A relay between the client and a server that nobody vouches for: the client believes the length of each message, and waits for it
//! without end. So what the server says goes through here, where each message has a length and each answer a time.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of one message: a recording's meta.json has some millions, a piece of its events one.
const MESSAGE: u64 = 64 << 20;
/// A server that has answered a statement may take so long for the next: its own limit for one is 60 s.
const SILENCE: Duration = Duration::from_secs(65);
/// Bytes that answer one request: a recording's events come in several.
const ANSWER: u64 = 256 << 20;
/// Bytes a second of an answer, beyond that time.
const SLOWEST: u64 = 1 << 20;
/// How often it is looked whether an answer is due.
const LOOK: Duration = Duration::from_millis(250);
/// The kind of the message that ends each answer (ReadyForQuery).
const READY: u8 = b'Z';
/// The name under which the client looks for a server in a folder.
pub(crate) const SOCKET: &str = ".s.PGSQL.5432";

/// Where a server is.
#[derive(Debug, Clone)]
pub(crate) enum Peer {
    /// Name and port.
    Tcp(String, u16),
    /// A socket.
    Unix(std::path::PathBuf),
}

/// A connection of either kind.
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    fn connect(peer: &Peer, limit: Duration) -> Result<Self> {
        let stream = match peer {
            Peer::Tcp(host, port) => {
                let mut last = None;
                let found = (host.as_str(), *port).to_socket_addrs()?.find_map(|address| {
                    TcpStream::connect_timeout(&address, limit).map_err(|error| last = Some(error)).ok()
                });
                let stream = found.ok_or_else(|| last.unwrap_or_else(|| Error::other("no address")))?;
                stream.set_nodelay(true)?;
                Self::Tcp(stream)
            }
            Peer::Unix(path) => Self::Unix(UnixStream::connect(path)?),
        };
        stream.look_after(limit)?;
        Ok(stream)
    }

    /// Reading ends after so long without a byte; writing after the longest time that an answer may take.
    fn look_after(&self, time: Duration) -> Result<()> {
        match self {
            Self::Tcp(stream) => {
                stream.set_read_timeout(Some(time)).and(stream.set_write_timeout(Some(SILENCE)))
            }
            Self::Unix(stream) => {
                stream.set_read_timeout(Some(time)).and(stream.set_write_timeout(Some(SILENCE)))
            }
        }
    }

    fn try_clone(&self) -> Result<Self> {
        Ok(match self {
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
        })
    }

    fn close(&self) {
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

impl Read for Stream {
    fn read(&mut self, to: &mut [u8]) -> Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(to),
            Self::Unix(stream) => stream.read(to),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, from: &[u8]) -> Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(from),
            Self::Unix(stream) => stream.write(from),
        }
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Connects to the server, then offers it to one client, at a socket in this folder. What ends the connection otherwise than the client is
/// told to `why`.
///
/// # Errors
/// The server does not answer, or no socket can be made.
pub(crate) fn offer(peer: &Peer, folder: &Path, limit: Duration, why: Why) -> Result<()> {
    let server = Stream::connect(peer, limit)?;
    let listener = UnixListener::bind(folder.join(SOCKET))?;
    std::thread::spawn(move || {
        let Ok((client, _)) = listener.accept() else { return };
        if let Err(error) = relay(&client, server, limit)
            && error.kind() != ErrorKind::UnexpectedEof
        {
            let _ = why.set(error.to_string());
        }
        // Afterwards: who reads the end looks for its reason.
        let _ = client.shutdown(Shutdown::Both);
    });
    Ok(())
}

/// Why a connection was ended here.
pub(crate) type Why = Arc<OnceLock<String>>;

/// What the server owes.
#[derive(Debug, Default)]
struct Debt {
    answers: u64,
    /// Since when it owes the first of them.
    since: Option<Instant>,
}

/// What it owes, for both directions.
type Owed = Arc<Mutex<Debt>>;

fn locked(owed: &Owed) -> std::sync::MutexGuard<'_, Debt> {
    owed.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads along what a client asks: how many answers that end with ReadyForQuery it brings.
#[derive(Debug, Default)]
struct Requests {
    /// Whether the first message, which has no kind, is over.
    is_begun: bool,
    head: Vec<u8>,
    /// Bytes of the message that are still to come.
    left: usize,
}

impl Requests {
    fn take(&mut self, mut bytes: &[u8]) -> u64 {
        let mut answers = 0;
        while !bytes.is_empty() {
            let passed = self.left.min(bytes.len());
            self.left -= passed;
            bytes = &bytes[passed..];
            let kind = usize::from(self.is_begun);
            let (more, rest) = bytes.split_at(bytes.len().min(kind + 4 - self.head.len()));
            self.head.extend_from_slice(more);
            bytes = rest;
            if let Some(length) = self.head.get(kind..).and_then(<[u8]>::first_chunk) {
                // A login, a simple query, the end of an extended one.
                answers += u64::from(!self.is_begun || b"QS".contains(&self.head[0]));
                self.left = (u32::from_be_bytes(*length) as usize).saturating_sub(4);
                self.is_begun = true;
                self.head.clear();
            }
        }
        answers
    }
}

fn relay(client: &UnixStream, server: Stream, limit: Duration) -> Result<()> {
    let owed = Owed::default();
    let (mut requests, mut to_server, asks) = (client.try_clone()?, server.try_clone()?, Arc::clone(&owed));
    let closes = server.try_clone()?;
    server.look_after(LOOK)?;
    std::thread::spawn(move || {
        let (mut piece, mut known) = (vec![0; 1 << 16], Requests::default());
        while let Ok(got @ 1..) = requests.read(&mut piece) {
            let answers = known.take(&piece[..got]);
            {
                let mut owed = locked(&asks);
                owed.answers += answers;
                owed.since = owed.since.or((owed.answers > 0).then(Instant::now));
            }
            if to_server.write_all(&piece[..got]).is_err() {
                break;
            }
        }
        to_server.close();
    });
    let done = Answers { server, owed, limit, sum: 0, answered: 0 }.pass_on(&mut &*client);
    closes.close();
    done
}

/// What a server says.
struct Answers<R> {
    server: R,
    owed: Owed,
    /// How long it may owe an answer.
    limit: Duration,
    /// Bytes of the answer so far.
    sum: u64,
    /// How many answers it gave: the first is to the login.
    answered: u64,
}

impl<R: Read> Answers<R> {
    /// Passes messages on: a byte of a kind, four of a length that counts itself, and the rest.
    fn pass_on(mut self, client: &mut impl Write) -> Result<()> {
        let mut piece = vec![0; 1 << 16];
        loop {
            let mut head = [0; 5];
            let mut had = 0;
            while had < head.len() {
                had += self.read(&mut head[had..])?;
            }
            let length = u64::from(u32::from_be_bytes([head[1], head[2], head[3], head[4]]));
            self.sum += length;
            if !(4..=MESSAGE).contains(&length) || self.sum > ANSWER {
                return Err(Error::other("it sent a message that is too long"));
            }
            if head[0] == READY {
                // Before the client may ask again.
                let mut owed = locked(&self.owed);
                owed.answers = owed.answers.saturating_sub(1);
                owed.since = (owed.answers > 0).then(Instant::now);
                self.sum = 0;
                self.answered += 1;
                if self.answered == 2 {
                    self.limit = SILENCE;
                }
            }
            client.write_all(&head)?;
            let mut left = length - 4;
            while left > 0 {
                let most = piece.len().min(left as usize);
                let got = self.read(&mut piece[..most])?;
                client.write_all(&piece[..got])?;
                left -= got as u64;
            }
        }
    }

    /// Some bytes; as long as nothing was asked there is no hurry.
    fn read(&mut self, to: &mut [u8]) -> Result<usize> {
        loop {
            let allowed = self.limit + Duration::from_secs(self.sum / SLOWEST);
            if locked(&self.owed).since.is_some_and(|since| since.elapsed() > allowed) {
                return Err(Error::other(format!("no answer within {} s", allowed.as_secs())));
            }
            match self.server.read(to) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                got => return got,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(server: &[u8]) -> (Vec<u8>, Result<()>) {
        let mut client = Vec::new();
        let owed = Owed::default();
        let done = Answers { server, owed, limit: SILENCE, sum: 0, answered: 0 }.pass_on(&mut client);
        (client, done)
    }

    /// A server that logs its client in, waits with it, and then is silent, or drips.
    #[test]
    fn one_that_owes_an_answer_is_given_up_and_one_that_was_asked_nothing_is_not() {
        for drips in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let server = UnixListener::bind(folder.path().join("server")).unwrap();
            let serves = std::thread::spawn(move || {
                let (mut client, _) = server.accept().unwrap();
                client.read_exact(&mut [0; 8]).unwrap();
                client.write_all(&[b"Z", &5u32.to_be_bytes()[..], b"I"].concat()).unwrap();
                client.read_exact(&mut [0; 10]).unwrap();
                // Until it is given up.
                let notice = [b"N", &5u32.to_be_bytes()[..], b"x"].concat();
                while drips && client.write_all(&notice).is_ok() {
                    std::thread::sleep(LOOK / 5);
                }
                let _ = client.read_to_end(&mut Vec::new());
            });
            let (peer, why) = (Peer::Unix(folder.path().join("server")), Why::default());
            let limit = LOOK * 2;
            offer(&peer, folder.path(), limit, Arc::clone(&why)).unwrap();
            let mut client = UnixStream::connect(folder.path().join(SOCKET)).unwrap();
            client.set_read_timeout(Some(SILENCE / 2)).unwrap();
            client.write_all(&[0, 0, 0, 8, 0, 3, 0, 0]).unwrap();
            client.read_exact(&mut [0; 6]).unwrap();
            std::thread::sleep(limit * 3);
            assert_eq!(why.get(), None, "nothing was asked");
            let sync = [b"S", &4u32.to_be_bytes()[..]].concat();
            client.write_all(&sync.repeat(2)).unwrap();
            client.read_to_end(&mut Vec::new()).unwrap();
            assert!(why.get().unwrap().starts_with("no answer within"), "{why:?}");
            serves.join().unwrap();
        }
    }

    #[test]
    fn what_a_client_asks_is_read_along() {
        let message =
            |kind: &[u8], more: &[u8]| [kind, &(4 + more.len() as u32).to_be_bytes()[..], more].concat();
        let all = [
            message(b"", b"login"),
            message(b"p", b"Q secret"),
            message(b"Q", b"select 1"),
            message(b"P", b"S"),
            message(b"S", b""),
            message(b"S", b""),
        ]
        .concat();
        for cut in [1, 3, 5, all.len()] {
            let mut known = Requests::default();
            assert_eq!(all.chunks(cut).map(|piece| known.take(piece)).sum::<u64>(), 4, "{cut}");
        }
    }

    #[test]
    fn messages_pass_whole_and_a_length_that_cannot_be_ends_the_connection() {
        let message = [b"Z", &5u32.to_be_bytes()[..], b"I"].concat();
        assert_eq!(passed(&message).0, message);
        for length in [0x7fff_ffffu32, 0, 3, u32::MAX] {
            let (client, done) = passed(&[b"D", &length.to_be_bytes()[..], b"x"].concat());
            assert!(client.is_empty() && done.unwrap_err().to_string().contains("too long"), "{length}");
        }
        // What is cut short is passed on as far as it came.
        assert_eq!(passed(&message[..5]).0, message[..5]);
    }
}
