//! Two network namespaces of this process's own with a pair of virtual Ethernet devices between them (veth(4)). They end with it, however it
//! ends: nothing of the machine's own network is touched.

use super::net::{self, Listener};
use super::{CallError, check, named};
use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// Names of the devices and their addresses: ours, theirs.
const DEVICES: [&str; 2] = ["tickmark0", "tickmark1"];
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 213, 77, 1), Ipv4Addr::new(10, 213, 77, 2)];
const PREFIX: u8 = 30;

/// Both, and what leads back into each.
#[derive(Debug)]
pub struct Namespaces {
    ours: File,
    theirs: File,
}

impl Namespaces {
    /// Makes them, with devices of this MTU that let the kernel join and split segments and leave out checksums, or do not, and send at most so many bytes
    /// a second, or with 0 all there are. An ordinary user
    /// gets them in a user namespace where the system allows that. The calling thread, the only one, is in ours afterwards.
    ///
    /// # Errors
    /// EPERM where neither is allowed; what the kernel says of the MTU, of veth or of the limit.
    pub fn new(mtu: u32, offloads: bool, rate: u64) -> Result<Self, CallError> {
        // SAFETY: no pointers; this process has one thread.
        let apart = |flags| check("unshare (a network namespace)", unsafe { libc::unshare(flags) }).map(drop);
        let refused = |error: CallError| match error.errno {
            libc::EPERM => apart(libc::CLONE_NEWUSER | libc::CLONE_NEWNET),
            _ => Err(error),
        };
        apart(libc::CLONE_NEWNET).or_else(refused)?;
        let here =
            || File::open("/proc/thread-self/ns/net").map_err(|e| CallError::of("open of a namespace", &e));
        let ours = here()?;
        apart(libc::CLONE_NEWNET)?;
        let both = Self { theirs: here()?, ours };
        Socket::open()?.ask(&pair(mtu, both.ours.as_raw_fd()))?;
        set_up(1, mtu, offloads, rate)?;
        both.enter(true)?;
        set_up(0, mtu, offloads, rate)?;
        Ok(both)
    }

    fn enter(&self, ours: bool) -> Result<(), CallError> {
        let into = if ours { &self.ours } else { &self.theirs };
        // SAFETY: a descriptor of a network namespace.
        check("setns", unsafe { libc::setns(into.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
    }

    /// Something made in the other one; this thread is in ours again afterwards.
    fn there<T>(&self, made: impl FnOnce() -> Result<T, CallError>) -> Result<T, CallError> {
        self.enter(false)?;
        let made = made();
        self.enter(true)?;
        made
    }

    /// Two connected TCP sockets, one in each, that send small messages at once.
    ///
    /// # Errors
    /// Those of [`net::tcp_pair`].
    pub fn tcp_pair(&self) -> Result<(OwnedFd, OwnedFd), CallError> {
        let listener = self.there(|| Listener::at(ADDRESSES[1], None))?;
        net::tcp_pair_to(&listener)
    }

    /// Two UDP sockets, one in each, each connected to the other. A datagram that is lost ends the wait after a second.
    ///
    /// # Errors
    /// Those of [`net::udp_pair`].
    pub fn udp_pair(&self) -> Result<(OwnedFd, OwnedFd), CallError> {
        let (theirs, there) = self.there(|| net::udp_at(ADDRESSES[1]))?;
        let (ours, here) = net::udp_at(ADDRESSES[0])?;
        self.there(|| net::udp_connect(&theirs, here))?;
        net::udp_connect(&ours, there)?;
        net::wait_a_second(&ours)?;
        Ok((ours, theirs))
    }
}

/// Gives a device its address, its offloads, and turns it on; in the namespace that has it.
fn set_up(which: usize, mtu: u32, offloads: bool, rate: u64) -> Result<(), CallError> {
    let name = std::ffi::CString::new(DEVICES[which]).unwrap_or_default();
    // SAFETY: `name` ends in a zero byte.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 {
        return Err(CallError::last("if_nametoindex"));
    }
    if !offloads {
        offloads_off(DEVICES[which])?;
    }
    let socket = Socket::open()?;
    socket.ask(&address(index, ADDRESSES[which]))?;
    if rate > 0 {
        socket.ask(&limit(index, mtu, rate))?;
    }
    socket.ask(&up(index))
}

/// Settings of ethtool(8): checksums of what is received and sent, scatter and gather, TCP's, generic segmentation, generic receive (linux/ethtool.h).
const OFFLOADS: [u32; 6] = [0x15, 0x17, 0x2c, 0x24, 0x1f, 0x19];
const SIOCETHTOOL: u64 = 0x8946;

fn offloads_off(device: &str) -> Result<(), CallError> {
    #[repr(C)]
    struct Request {
        name: [u8; libc::IFNAMSIZ],
        value: *mut [u32; 2],
        rest: [u64; 2],
    }
    let socket = net::udp_at(Ipv4Addr::UNSPECIFIED)?.0;
    for command in OFFLOADS {
        let mut value = [command, 0];
        let mut request = Request { name: [0; libc::IFNAMSIZ], value: &raw mut value, rest: [0; 2] };
        request.name[..device.len()].copy_from_slice(device.as_bytes());
        // SAFETY: a request of the kernel's layout (struct ifreq) with a value that outlives the call.
        let done = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
        check("ioctl (SIOCETHTOOL)", done)?;
    }
    Ok(())
}

/// Messages to rtnetlink(7).
struct Socket(OwnedFd);

/// A message with its header and attributes.
struct Message(Vec<u8>);

const CREATE: u16 = 0x400 | 0x200;
const REQUEST: u16 = 0x1 | 0x4;

impl Message {
    /// Of a type, with flags beside those of every request, and the structure that follows its header.
    fn new(kind: u16, flags: u16, body: &[u8]) -> Self {
        let mut bytes = vec![0; 16];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&(REQUEST | flags).to_ne_bytes());
        bytes.extend_from_slice(body);
        Self(bytes)
    }

    fn with(mut self, kind: u16, value: &[u8]) -> Self {
        self.0.extend_from_slice(&attribute(kind, value));
        self
    }

    /// With its length.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.0.clone();
        let length = bytes.len() as u32;
        bytes[..4].copy_from_slice(&length.to_ne_bytes());
        bytes
    }
}

/// An attribute: length, type, value, and what fills it to four bytes.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = (value.len() as u16 + 4).to_ne_bytes().to_vec();
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn text(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    bytes
}

/// struct ifinfomsg.
fn interface(index: u32, flags: u32, change: u32) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[4..8].copy_from_slice(&index.to_ne_bytes());
    bytes[8..12].copy_from_slice(&flags.to_ne_bytes());
    bytes[12..].copy_from_slice(&change.to_ne_bytes());
    bytes
}

const NEW_LINK: u16 = 16;
const NEW_ADDRESS: u16 = 20;

/// A pair of devices, of which the first is in the namespace of this descriptor.
fn pair(mtu: u32, ours: i32) -> Message {
    let (name, size, link, namespace) = (3, 4, 18, 28);
    let mtu = mtu.to_ne_bytes();
    let peer = [
        interface(0, 0, 0).to_vec(),
        attribute(name, &text(DEVICES[0])),
        attribute(size, &mtu),
        attribute(namespace, &ours.to_ne_bytes()),
    ]
    .concat();
    // IFLA_INFO_DATA with VETH_INFO_PEER.
    let data = attribute(2, &attribute(1, &peer));
    let info = [attribute(1, b"veth"), data].concat();
    Message::new(NEW_LINK, CREATE, &interface(0, 0, 0))
        .with(name, &text(DEVICES[1]))
        .with(size, &mtu)
        .with(link, &info)
}

/// Packets with their Ethernet headers that pass at once where the rate is limited, and bytes that wait at most: more than any message.
const BURST: u32 = 4;
/// And what passes in a part of a second: the kernel's timer is late by some of that, and what it was late by would be lost to the rate.
const LATE: u64 = 10_000;
const ETHERNET: u32 = 14;
const WAITING: u32 = 64 << 20;

/// A token bucket (linux/pkt_sched.h): so many bytes a second leave the device, in packets of this MTU.
fn limit(index: u32, mtu: u32, rate: u64) -> Message {
    let burst = (BURST * (mtu + ETHERNET)).max((rate / LATE) as u32);
    let (new, kind, options) = (36, 1, 2);
    // struct tcmsg: family, interface, handle, parent (the root), info.
    let mut body = vec![0; 4];
    for word in [index, 0, u32::MAX, 0] {
        body.extend_from_slice(&word.to_ne_bytes());
    }
    // struct tc_tbf_qopt: two struct tc_ratespec, of which the second is none; Ethernet, so that the kernel needs no table.
    let mut bucket = vec![0, 1, 0, 0, 0, 0, 0, 0];
    bucket.extend_from_slice(&u32::try_from(rate).unwrap_or(u32::MAX).to_ne_bytes());
    bucket.resize(24, 0);
    for word in [WAITING, 0, 0] {
        bucket.extend_from_slice(&word.to_ne_bytes());
    }
    // TCA_TBF_PARMS, TCA_TBF_RATE64, TCA_TBF_BURST.
    let told = [attribute(1, &bucket), attribute(4, &rate.to_ne_bytes()), attribute(6, &burst.to_ne_bytes())];
    Message::new(new, CREATE, &body).with(kind, &text("tbf")).with(options, &told.concat())
}

fn up(index: u32) -> Message {
    Message::new(NEW_LINK, 0, &interface(index, libc::IFF_UP as u32, libc::IFF_UP as u32))
}

fn address(index: u32, address: Ipv4Addr) -> Message {
    let mut body = vec![libc::AF_INET as u8, PREFIX, 0, 0];
    body.extend_from_slice(&index.to_ne_bytes());
    let octets = address.octets();
    Message::new(NEW_ADDRESS, CREATE, &body).with(2, &octets).with(1, &octets)
}

impl Socket {
    fn open() -> Result<Self, CallError> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: no pointers.
        let fd = check("socket", unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) })?;
        // SAFETY: the kernel has just given us this descriptor.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Sends a request and waits until it is done.
    fn ask(&self, message: &Message) -> Result<(), CallError> {
        let call = "rtnetlink (a veth pair)";
        rustix::io::write(self.0.as_fd(), &message.bytes()).map_err(named(call))?;
        let mut answer = [0; 4096];
        let length = rustix::io::read(self.0.as_fd(), &mut answer).map_err(named(call))?;
        match answered(&answer[..length]) {
            Some(0) => Ok(()),
            Some(errno) => Err(CallError { call, errno }),
            None => Err(CallError { call, errno: libc::EPROTO }),
        }
    }
}

/// The error number of an answer (struct nlmsgerr).
fn answered(answer: &[u8]) -> Option<i32> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    let error = i32::from_ne_bytes(answer.get(16..20)?.try_into().ok()?);
    (kind == 2).then_some(-error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::file;

    #[test]
    fn attributes_are_filled_to_four_bytes() {
        assert_eq!(attribute(3, &text("ab")), [7, 0, 3, 0, b'a', b'b', 0, 0]);
        let message = up(5).bytes();
        assert_eq!((message.len(), message[0], message[20]), (32, 32, 5));
        assert_eq!(
            answered(&[&[36, 0, 0, 0, 2, 0, 0, 0][..], &[0; 8], &(-17i32).to_ne_bytes()].concat()),
            Some(17)
        );
        assert!(answered(&[0; 10]).is_none());
    }

    /// In a process of its own, as it leaves this one's namespaces.
    #[test]
    fn what_is_sent_in_one_arrives_in_the_other() {
        // SAFETY: the child makes system calls and leaves.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let tried = || -> Result<(), CallError> {
                for (mtu, offloads, rate) in [
                    (1500, true, 0),
                    (256, false, 0),
                    (1500, true, 100_000_000),
                    (65_000, false, 100_000_000),
                ] {
                    let both = Namespaces::new(mtu, offloads, rate)?;
                    for (ours, theirs) in [both.tcp_pair()?, both.udp_pair()?] {
                        file::write_all(ours.as_fd(), &[7; 100])?;
                        let mut got = [0; 100];
                        file::read_all(theirs.as_fd(), &mut got)?;
                        let same = got == [7; 100];
                        same.then_some(()).ok_or(CallError { call: "read", errno: libc::EIO })?;
                    }
                }
                match Namespaces::new(20, true, 0) {
                    Err(CallError { errno: libc::EINVAL, .. }) => Ok(()),
                    _ => Err(CallError { call: "MTU", errno: libc::EINVAL }),
                }
            };
            let status = match tried() {
                Ok(()) => 0,
                // No namespaces here.
                Err(CallError { errno: libc::EPERM, .. }) => 77,
                Err(error) => error.errno,
            };
            // SAFETY: ends the process.
            unsafe { libc::_exit(status) };
        }
        let mut status = 0;
        // SAFETY: our own child.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        let status = libc::WEXITSTATUS(status);
        assert!(status == 0 || status == 77, "{}", std::io::Error::from_raw_os_error(status));
    }
}
