//! A relay between the client and a server that nobody vouches for: the client believes the length of each message, and waits for it
//! without end. So messages are read here first, up to a length and a time.

use std::io::{Read, Result, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

/// Bytes of one message: a recording's meta.json has some millions, a piece of its events one.
const MESSAGE: u64 = 64 << 20;
/// A server that says nothing for so long is gone: its own limit for a statement is 60 s.
const SILENCE: Duration = Duration::from_secs(65);
/// Bytes that answer one request.
const ANSWER: u64 = 1 << 30;
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
                let stream =
                    found.ok_or_else(|| last.unwrap_or_else(|| std::io::Error::other("no address")))?;
                stream.set_nodelay(true)?;
                Self::Tcp(stream)
            }
            Peer::Unix(path) => Self::Unix(UnixStream::connect(path)?),
        };
        match &stream {
            Self::Tcp(stream) => {
                stream.set_read_timeout(Some(SILENCE))?;
                stream.set_write_timeout(Some(SILENCE))?;
            }
            Self::Unix(stream) => {
                stream.set_read_timeout(Some(SILENCE))?;
                stream.set_write_timeout(Some(SILENCE))?;
            }
        }
        Ok(stream)
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

/// Connects to the server, then offers it to one client, at a socket in this folder.
///
/// # Errors
/// The server does not answer, or no socket can be made.
pub(crate) fn offer(peer: &Peer, folder: &Path, limit: Duration) -> Result<()> {
    let server = Stream::connect(peer, limit)?;
    let listener = UnixListener::bind(folder.join(SOCKET))?;
    std::thread::spawn(move || {
        let Ok((client, _)) = listener.accept() else { return };
        let _ = relay(&client, server);
    });
    Ok(())
}

fn relay(client: &UnixStream, server: Stream) -> Result<()> {
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let (mut requests, mut to_server, count) = (client.try_clone()?, server.try_clone()?, asked.clone());
    let closes = server.try_clone()?;
    std::thread::spawn(move || {
        let mut piece = vec![0; 1 << 16];
        while let Ok(got @ 1..) = requests.read(&mut piece) {
            count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if to_server.write_all(&piece[..got]).is_err() {
                break;
            }
        }
        to_server.close();
    });
    let done = answers(&mut &*client, server, &asked);
    let _ = client.shutdown(Shutdown::Both);
    closes.close();
    done
}

/// Passes messages on: a byte of a kind, four of a length that counts itself, and the rest.
fn answers(
    client: &mut impl Write,
    mut server: impl Read,
    asked: &std::sync::atomic::AtomicU64,
) -> Result<()> {
    let (mut request, mut sum) = (0, 0);
    let mut piece = vec![0; 1 << 16];
    loop {
        let mut head = [0; 5];
        server.read_exact(&mut head)?;
        let length = u64::from(u32::from_be_bytes([head[1], head[2], head[3], head[4]]));
        let now = asked.load(std::sync::atomic::Ordering::Relaxed);
        if now != request {
            (request, sum) = (now, 0);
        }
        sum += length;
        if !(4..=MESSAGE).contains(&length) || sum > ANSWER {
            return Err(std::io::Error::other("a message that is too long"));
        }
        client.write_all(&head)?;
        let mut left = length - 4;
        while left > 0 {
            let most = piece.len().min(left as usize);
            let got = server.read(&mut piece[..most])?;
            if got == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            client.write_all(&piece[..got])?;
            left -= got as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    fn passed(server: &[u8]) -> (Vec<u8>, Result<()>) {
        let mut client = Vec::new();
        let done = answers(&mut client, server, &AtomicU64::new(0));
        (client, done)
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
