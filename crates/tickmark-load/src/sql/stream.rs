//! The byte stream to a database server: TCP or a UNIX socket, with deadlines.

use super::database::{At, PATIENCE, WHOLE, late};
use bytes::BytesMut;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::Instant;

trait Socket: Read + Write + Send {}
impl<T: Read + Write + Send> Socket for T {}

/// A blocking connection. `received` grows by what has arrived, never by what a length field announces.
pub(super) struct DatabaseStream {
    socket: Box<dyn Socket>,
    /// Bytes that have arrived and are not parsed yet.
    pub(super) received: BytesMut,
    chunk: Vec<u8>,
    /// The whole answer must have arrived by then.
    deadline: Instant,
    reads: u64,
}

impl DatabaseStream {
    /// Connects; the deadline of the first answer starts here.
    ///
    /// # Errors
    /// The reason in words.
    pub(super) fn connect(at: &At) -> Result<Self, String> {
        let words = |error: std::io::Error| error.to_string();
        let socket: Box<dyn Socket> = match at {
            At::Path(path) => {
                let socket = UnixStream::connect(path).map_err(words)?;
                socket.set_read_timeout(Some(PATIENCE)).map_err(words)?;
                socket.set_write_timeout(Some(PATIENCE)).map_err(words)?;
                Box::new(socket)
            }
            At::Host(host, port) => {
                let mut last = "it has no address".to_owned();
                let mut connect = |address| {
                    TcpStream::connect_timeout(&address, PATIENCE).map_err(|error| last = late(&error)).ok()
                };
                let addresses = (host.as_str(), *port).to_socket_addrs().map_err(words)?;
                let connected = addresses.into_iter().find_map(&mut connect);
                let socket = connected.ok_or(last)?;
                socket.set_nodelay(true).map_err(words)?;
                socket.set_read_timeout(Some(PATIENCE)).map_err(words)?;
                socket.set_write_timeout(Some(PATIENCE)).map_err(words)?;
                Box::new(socket)
            }
        };
        let (received, chunk) = (BytesMut::new(), vec![0; 16 << 10]);
        Ok(Self { socket, received, chunk, deadline: Instant::now() + WHOLE, reads: 0 })
    }

    /// Sends a request and starts the deadline of its answer.
    pub(super) fn send(&mut self, request: &[u8]) -> Result<(), String> {
        self.deadline = Instant::now() + WHOLE;
        self.write(request)
    }

    /// Sends bytes within an exchange; the deadline stays.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.socket.write_all(bytes).map_err(|error| late(&error))
    }

    /// Waits for more bytes and appends them to `received`.
    pub(super) fn fill(&mut self) -> Result<(), String> {
        // Every sixteenth read only: clock reads are what the experiments on databases make slow.
        self.reads += 1;
        if self.reads.is_multiple_of(16) && Instant::now() > self.deadline {
            return Err(format!("no whole answer within {} s", WHOLE.as_secs()));
        }
        match self.socket.read(&mut self.chunk).map_err(|error| late(&error))? {
            0 => Err("it closed the connection".to_owned()),
            count => {
                self.received.extend_from_slice(&self.chunk[..count]);
                Ok(())
            }
        }
    }
}
