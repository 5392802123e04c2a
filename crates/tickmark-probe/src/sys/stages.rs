//! When a message passes the parts of the kernel: SO_TIMESTAMPING (Linux, Documentation/networking/timestamping.rst). Stamps are of CLOCK_REALTIME,
//! in ns.

use super::{CallError, check};
use std::os::fd::{AsRawFd, OwnedFd};

/// Room for what comes beside a message: stamps and where they are from.
const ROOM: usize = 512;

/// Where a message that was sent was stamped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Before the queue of the device.
    Queue,
    /// Given to the device.
    Device,
    /// The other side has acknowledged it (TCP).
    Acknowledged,
}

fn stamp(socket: &OwnedFd, flags: u32) -> Result<(), CallError> {
    // SAFETY: an option of the length of `flags`.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPING,
            (&raw const flags).cast(),
            size_of::<u32>() as libc::socklen_t,
        )
    };
    check("setsockopt (SO_TIMESTAMPING)", done).map(drop)
}

/// Enables timestamps and numbers of sent data: datagrams from 0, of TCP the last byte of each.
///
/// # Errors
/// Those of setsockopt(2).
pub fn stamp_sent(socket: &OwnedFd) -> Result<(), CallError> {
    stamp(
        socket,
        libc::SOF_TIMESTAMPING_SOFTWARE
            | libc::SOF_TIMESTAMPING_TX_SOFTWARE
            | libc::SOF_TIMESTAMPING_TX_SCHED
            | libc::SOF_TIMESTAMPING_TX_ACK
            | libc::SOF_TIMESTAMPING_OPT_ID
            | libc::SOF_TIMESTAMPING_OPT_TSONLY,
    )
}

/// Enables timestamps of received data, taken as the network's code gets it.
///
/// # Errors
/// Those of setsockopt(2).
pub fn stamp_received(socket: &OwnedFd) -> Result<(), CallError> {
    stamp(socket, libc::SOF_TIMESTAMPING_SOFTWARE | libc::SOF_TIMESTAMPING_RX_SOFTWARE)
}

/// Buffers of the calls.
#[repr(align(8))]
struct Control([u8; ROOM]);

/// Calls recvmsg(2): the bytes that came, and what `on` makes of each message beside them.
fn receive(
    socket: &OwnedFd,
    into: &mut [u8],
    flags: i32,
    mut on: impl FnMut(i32, i32, *const u8),
) -> Result<usize, CallError> {
    let mut control = Control([0; ROOM]);
    let mut part = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    // SAFETY: zeroes are a message without anything.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = ROOM as _;
    // SAFETY: every buffer is valid for its length.
    let count = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) };
    if count < 0 {
        return Err(CallError::last("recvmsg"));
    }
    // SAFETY: the kernel has filled `control` with whole headers, and said how long they are.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while !header.is_null() {
            on((*header).cmsg_level, (*header).cmsg_type, libc::CMSG_DATA(header));
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
    }
    Ok(count as usize)
}

/// The first of the three times of a stamp: the software's.
fn time(data: *const u8) -> i64 {
    // SAFETY: a struct scm_timestamping begins with a struct timespec; it may be at any address.
    let time: libc::timespec = unsafe { data.cast::<libc::timespec>().read_unaligned() };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

const IS_STAMP: (i32, i32) = (libc::SOL_SOCKET, libc::SO_TIMESTAMPING);

/// Receives a whole message; when its last part came into the network's code.
///
/// # Errors
/// Those of recvmsg(2); EPIPE where the other end is gone.
pub fn receive_all(socket: &OwnedFd, into: &mut [u8]) -> Result<Option<i64>, CallError> {
    let (mut got, mut came) = (0, None);
    while got < into.len() {
        let stamp = |level, kind, data| {
            if (level, kind) == IS_STAMP {
                came = Some(time(data)).filter(|time| *time > 0);
            }
        };
        match receive(socket, &mut into[got..], 0, stamp)? {
            0 => return Err(CallError { call: "recvmsg", errno: libc::EPIPE }),
            count => got += count,
        }
    }
    Ok(came)
}

/// Passes on the stamps of what was sent, with their numbers, until there are none.
///
/// # Errors
/// Those of recvmsg(2).
pub fn sent(socket: &OwnedFd, mut on: impl FnMut(Stage, u32, i64)) -> Result<(), CallError> {
    loop {
        let (mut at, mut which) = (None, None);
        let stamp = |level, kind, data: *const u8| match (level, kind) {
            IS_STAMP => at = Some(time(data)),
            (libc::SOL_IP, libc::IP_RECVERR) => {
                // SAFETY: a struct sock_extended_err; it may be at any address.
                let error: libc::sock_extended_err =
                    unsafe { data.cast::<libc::sock_extended_err>().read_unaligned() };
                which = Some((error.ee_info, error.ee_data));
            }
            _ => {}
        };
        match receive(socket, &mut [], libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT, stamp) {
            Ok(_) => {}
            Err(CallError { errno: libc::EAGAIN, .. }) => return Ok(()),
            Err(error) => return Err(error),
        }
        if let (Some(at), Some((info, number))) = (at, which) {
            // SCM_TSTAMP_SND, _SCHED and _ACK of linux/errqueue.h.
            match info {
                0 => on(Stage::Device, number, at),
                1 => on(Stage::Queue, number, at),
                2 => on(Stage::Acknowledged, number, at),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::{clock, file, net};
    use std::os::fd::AsFd;

    #[test]
    fn a_message_is_stamped_where_it_passes() {
        for (tcp, (ours, theirs)) in [(false, net::udp_pair().unwrap()), (true, net::tcp_pair().unwrap())] {
            stamp_sent(&ours).unwrap();
            stamp_received(&theirs).unwrap();
            let begun = tickmark_timer::monotonic_ns();
            let real = || clock::read(libc::CLOCK_REALTIME).unwrap().get();
            let mut messages = 0;
            // The kernel begins to stamp some time after it was asked to.
            let (before, came) = loop {
                let before = real();
                file::write_all(ours.as_fd(), &[7; 5]).unwrap();
                messages += 1;
                let mut got = [0; 5];
                let came = receive_all(&theirs, &mut got).unwrap();
                assert_eq!(got, [7; 5]);
                if let Some(came) = came {
                    break (before, came);
                }
                assert!(tickmark_timer::monotonic_ns() - begun < 2_000_000_000, "no stamp in two seconds");
                std::thread::sleep(std::time::Duration::from_millis(1));
            };
            assert!((before..real()).contains(&came));
            let last = if tcp { 5 * messages - 1 } else { messages - 1 };
            let mut stages = Vec::new();
            // An acknowledgement comes when it is due.
            while stages.len() < 2 + usize::from(tcp)
                && tickmark_timer::monotonic_ns() - begun < 4_000_000_000
            {
                let own = |stage, number, at| {
                    if number == last {
                        stages.push((stage, at));
                    }
                };
                sent(&ours, own).unwrap();
            }
            let at = |stage: Stage| stages.iter().find(|(of, _)| *of == stage).map(|(_, at)| *at);
            let (queued, given) = (at(Stage::Queue).unwrap(), at(Stage::Device).unwrap());
            assert!(before <= queued && queued <= given && given <= came, "{stages:?} {came}");
            assert_eq!(at(Stage::Acknowledged).is_some(), tcp, "{stages:?}");
        }
    }
}
