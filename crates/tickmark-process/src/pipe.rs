//! Pipes that are read to their end, whoever holds them open.

use std::io::Read;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

/// Most output to keep, bytes; the rest is read, so that the program does not wait, and dropped.
const MOST: usize = 16 << 20;

/// A pipe that a thread of its own reads.
pub struct Drained(Receiver<Vec<u8>>);

impl Drained {
    /// Begins to read; without a pipe there is nothing.
    pub fn start(pipe: Option<impl Read + Send + 'static>) -> Self {
        let (send, receive) = channel();
        std::thread::spawn(move || {
            let Some(mut pipe) = pipe else { return };
            let (mut piece, mut sent) = ([0; 1 << 14], 0);
            while let Ok(got @ 1..) = pipe.read(&mut piece) {
                if sent < MOST {
                    // Read also when nobody listens any more: who writes must not be ended by that.
                    let _ = send.send(piece[..got].to_vec());
                    sent += got;
                }
            }
        });
        Self(receive)
    }

    /// Bytes until its end, or until a time: a process that was left behind may hold it open.
    #[must_use]
    pub fn until(&self, when: Instant) -> Vec<u8> {
        let mut bytes = Vec::new();
        while let Ok(piece) = self.0.recv_timeout(when.saturating_duration_since(Instant::now())) {
            bytes.extend(piece);
        }
        bytes
    }
}
