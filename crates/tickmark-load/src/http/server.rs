//! The server: workers that wait on one socket for connections and answer each request with the same page, as httpd of netrate.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use tickmark_probe::sys::net::Listener;
use tickmark_probe::sys::peer::Peer;
use tickmark_probe::sys::{CallError, connections, file, limits};
use tickmark_timer::monotonic_ns;

/// End of the head of a request.
const END: &[u8] = b"\r\n\r\n";
/// Bytes of the head of a request at most.
const LONGEST: usize = 8 << 10;

/// A head that has begun may take so long, in ns.
const HEAD: u64 = 5_000_000_000;

/// Its workers, and where they listen.
pub(super) struct Server {
    pub(super) at: SocketAddr,
    pub(super) workers: Vec<Peer>,
}

/// The answer to each request, a page of so many bytes.
pub(super) fn answer(bytes: usize, keep: bool) -> Vec<u8> {
    let connection = if keep { "keep-alive" } else { "close" };
    let head = format!(
        "HTTP/1.1 200 OK\r\nServer: tickmark\r\nContent-Type: text/plain\r\nContent-Length: {bytes}\r\nConnection: {connection}\r\n\r\n"
    );
    let page = (0..bytes).map(|at| b' ' + (at % 95) as u8);
    head.into_bytes().into_iter().chain(page).collect()
}

impl Server {
    /// Starts workers at an address on a CPU, as processes or as threads of one.
    ///
    /// # Errors
    /// Those of listen(2) and fork(2).
    pub(super) fn start(
        address: Ipv4Addr,
        cpu: u32,
        workers: usize,
        threads: bool,
        answer: &[u8],
        keep: bool,
    ) -> Result<Self, CallError> {
        let listener = Listener::at(address, None)?;
        listener.queue(4096)?;
        let at = SocketAddr::V4(listener.address());
        let (listener, answer): (_, Arc<[u8]>) = (Arc::new(listener), answer.into());
        let one = || {
            Peer::start(|| {
                limits::pin(&[cpu])?;
                for _ in 1..if threads { workers } else { 1 } {
                    let (listener, answer) = (Arc::clone(&listener), Arc::clone(&answer));
                    let thread =
                        std::thread::Builder::new().spawn(move || serve(&listener, &answer, keep, 0));
                    thread.map_err(|error| {
                        CallError::from_io("pthread_create (mmap, mprotect or clone3)", &error)
                    })?;
                }
                serve(&listener, &answer, keep, 0)
            })
        };
        let processes = if threads { 1 } else { workers };
        Ok(Self { at, workers: (0..processes).map(|_| one()).collect::<Result<_, _>>()? })
    }
}

/// Takes connections for ever; reads the clock so often for each request.
pub(super) fn serve(listener: &Listener, answer: &[u8], keep: bool, reads: u32) -> Result<(), CallError> {
    let mut head = vec![0; LONGEST];
    loop {
        if let Some(connection) = listener.accept(true)? {
            // Whatever a client does wrong ends its connection alone.
            let _ = talk(&connection, answer, keep, reads, &mut head);
        }
    }
}

/// The same for clients that nobody vouches for: what refuses one connection (too many open files, a client that is gone, a wait that is
/// over) is over with the next.
#[cfg(feature = "whole")]
pub(super) fn serve_anybody(listener: &Listener, answer: &[u8], keep: bool, reads: u32) -> ! {
    loop {
        if serve(listener, answer, keep, reads).is_err() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

/// Answers each request, or the only one.
fn talk(
    connection: &OwnedFd,
    answer: &[u8],
    keep: bool,
    reads: u32,
    head: &mut [u8],
) -> Result<(), CallError> {
    let (mut had, mut begun) = (0, 0);
    loop {
        let got = connections::receive(connection, &mut head[had..], true)?;
        had += got;
        if got == 0 {
            return Ok(());
        }
        if !head[..had].ends_with(END) {
            // A head comes as a whole, or soon: not a byte now and then.
            if begun == 0 {
                begun = monotonic_ns();
            }
            if had == head.len() || monotonic_ns() - begun > HEAD {
                return Ok(());
            }
            continue;
        }
        for _ in 0..reads {
            std::hint::black_box(monotonic_ns());
        }
        file::write_all(connection.as_fd(), answer)?;
        if !keep {
            return Ok(());
        }
        (had, begun) = (0, 0);
    }
}
