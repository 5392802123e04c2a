//! The byte stream to a server: TCP or a UNIX socket, with deadlines.

use crate::{Address, CONNECT, Limits};
use bytes::BytesMut;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

trait Socket: Read + Write + AsFd + Send {}
impl<T: Read + Write + AsFd + Send> Socket for T {}

/// A blocking connection. `received` grows by what has arrived, never by what a length field announces.
pub(crate) struct DatabaseStream {
    socket: Box<dyn Socket>,
    /// Bytes that have arrived and are not parsed yet.
    pub(crate) received: BytesMut,
    pub(crate) limits: Limits,
    chunk: Vec<u8>,
    /// When the answer began that is being received.
    since: Instant,
    reads: u64,
}

fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// An error in words; a time that is over is called so.
fn late(error: &std::io::Error, silence: Duration) -> String {
    use std::io::ErrorKind::{TimedOut, WouldBlock};
    match error.kind() {
        TimedOut | WouldBlock => format!("no answer within {} s", silence.as_secs()),
        _ => error.to_string(),
    }
}

impl DatabaseStream {
    /// Connects; the deadline of the first answer starts here.
    ///
    /// # Errors
    /// The reason in words.
    pub(crate) fn connect(address: &Address) -> Result<Self, String> {
        let socket: Box<dyn Socket> = match address {
            Address::Socket(path) => Box::new(UnixStream::connect(path).map_err(words)?),
            Address::Host(host, port) => {
                let mut last = "it has no address".to_owned();
                let mut connect = |address| {
                    TcpStream::connect_timeout(&address, CONNECT)
                        .map_err(|error| last = late(&error, CONNECT))
                        .ok()
                };
                let addresses = (host.as_str(), *port).to_socket_addrs().map_err(words)?;
                let connected = addresses.into_iter().find_map(&mut connect);
                let socket = connected.ok_or(last)?;
                socket.set_nodelay(true).map_err(words)?;
                Box::new(socket)
            }
        };
        let (received, chunk) = (BytesMut::new(), vec![0; 16 << 10]);
        let limits = Limits { answer: CONNECT, reads: 1, ..Limits::LOAD };
        let mut stream = Self { socket, received, limits, chunk, since: Instant::now(), reads: 0 };
        stream.limit(limits)?;
        Ok(stream)
    }

    /// Sets the limits of the answers that follow.
    pub(crate) fn limit(&mut self, limits: Limits) -> Result<(), String> {
        for timeout in [Timeout::Recv, Timeout::Send] {
            set_socket_timeout(&self.socket, timeout, Some(limits.silence)).map_err(words)?;
        }
        self.limits = limits;
        Ok(())
    }

    /// Sends a request and starts the deadline of its answer.
    pub(crate) fn send(&mut self, request: &[u8]) -> Result<(), String> {
        self.since = Instant::now();
        self.write(request)
    }

    /// Sends bytes within an exchange; the deadline stays.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.socket.write_all(bytes).map_err(|error| late(&error, self.limits.silence))
    }

    /// Waits for more bytes and appends them to `received`.
    pub(crate) fn fill(&mut self) -> Result<(), String> {
        self.reads += 1;
        if self.reads.is_multiple_of(self.limits.reads) && self.since.elapsed() > self.limits.answer {
            return Err(format!("no whole answer within {} s", self.limits.answer.as_secs()));
        }
        match self.socket.read(&mut self.chunk).map_err(|error| late(&error, self.limits.silence))? {
            0 => Err("it closed the connection".to_owned()),
            count => {
                self.received.extend_from_slice(&self.chunk[..count]);
                Ok(())
            }
        }
    }
}
