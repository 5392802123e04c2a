//! Settings of network devices by ioctl, as ethtool(8) makes them (linux/ethtool.h).

use super::{CallError, check, net};
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;

const SIOCETHTOOL: u64 = 0x8946;
/// Checksums of what is received and sent, scatter and gather, TCP's, generic segmentation, generic receive.
const OFFLOADS: [u32; 6] = [0x15, 0x17, 0x2c, 0x24, 0x1f, 0x19];
const GET_COALESCE: u32 = 0x0e;

/// A command with its values, which are read and written; the structure of a command is shorter.
type Words = [u32; 32];

fn ask(device: &str, words: &mut Words) -> Result<(), CallError> {
    #[repr(C)]
    struct Request {
        name: [u8; libc::IFNAMSIZ],
        value: *mut Words,
        rest: [u64; 2],
    }
    let mut request = Request { name: [0; libc::IFNAMSIZ], value: words, rest: [0; 2] };
    // With a zero behind it.
    let length = device.len().min(libc::IFNAMSIZ - 1);
    request.name[..length].copy_from_slice(&device.as_bytes()[..length]);
    let socket = net::udp_at(Ipv4Addr::UNSPECIFIED)?.0;
    // SAFETY: a request of the kernel's layout (struct ifreq) with a value that outlives the call and is longer than any structure that is asked for here.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
    check("ioctl (SIOCETHTOOL)", done).map(drop)
}

/// Turns off what a device, or the kernel in its place, does to segments and checksums.
///
/// # Errors
/// Those of ioctl(2).
pub fn offloads_off(device: &str) -> Result<(), CallError> {
    OFFLOADS.iter().try_for_each(|command| {
        ask(device, &mut std::array::from_fn(|at| if at == 0 { *command } else { 0 }))
    })
}

/// How a device gathers interrupts: microseconds and packets until it raises one, receiving and sending, and whether it adapts them.
///
/// # Errors
/// EOPNOTSUPP where a device cannot say.
pub fn coalescing(device: &str) -> Result<String, CallError> {
    let mut words = [0; 32];
    words[0] = GET_COALESCE;
    ask(device, &mut words)?;
    // struct ethtool_coalesce.
    let adapts = |word: usize| if words[word] > 0 { ", adaptive" } else { "" };
    Ok(format!(
        "receives {} us, {} packets{}; sends {} us, {} packets{}",
        words[1],
        words[2],
        adapts(10),
        words[5],
        words[6],
        adapts(11)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_none_or_cannot_say_is_an_error() {
        assert_eq!(coalescing("nowhere0").unwrap_err().errno, libc::ENODEV);
        assert_eq!(coalescing("a name that is longer than any device's").unwrap_err().errno, libc::ENODEV);
        assert_eq!(coalescing("lo").unwrap_err().errno, libc::EOPNOTSUPP);
    }
}
