//! Two network namespaces of this process's own with a pair of virtual Ethernet devices between them (veth(4)). They end with it, however it
//! ends: nothing of the machine's own network is touched.

use super::net::{self, Listener};
use super::{CallError, check, ethtool, named};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
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

/// The pair of devices.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    /// Bytes of a packet.
    pub mtu: u32,
    /// True if the kernel may join and split segments, and leave out checksums.
    pub offloads: bool,
    /// Bytes a second that leave each device at most; 0 is all there are.
    pub rate: u64,
    /// The CPU on which the soft interrupts of what comes are handled, ours and theirs (receive packet steering); none is the sender's.
    pub steered: Option<[u32; 2]>,
}

impl Link {
    /// As an Ethernet has it, as fast as it goes.
    pub const USUAL: Self = Self { mtu: 1500, offloads: true, rate: 0, steered: None };
}

impl Namespaces {
    /// Makes them. An ordinary user gets them in a user namespace where the system allows that. The calling thread, the only one, is in ours afterwards.
    ///
    /// # Errors
    /// EPERM where neither is allowed; what the kernel says of the MTU, of veth, of the limit or of steering.
    pub fn new(link: &Link) -> Result<Self, CallError> {
        // SAFETY: no pointers; this process has one thread.
        let apart = |flags| check("unshare (a network namespace)", unsafe { libc::unshare(flags) }).map(drop);
        let refused = |error: CallError| match error.errno {
            libc::EPERM => apart(libc::CLONE_NEWUSER | libc::CLONE_NEWNET),
            _ => Err(error),
        };
        apart(libc::CLONE_NEWNET).or_else(refused)?;
        let here = || {
            File::open("/proc/thread-self/ns/net").map_err(|e| CallError::from_io("open of a namespace", &e))
        };
        let ours = here()?;
        apart(libc::CLONE_NEWNET)?;
        let both = Self { theirs: here()?, ours };
        Socket::open()?.ask(&pair(link.mtu, both.ours.as_raw_fd()))?;
        set_up(1, link)?;
        both.enter(true)?;
        set_up(0, link)?;
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
fn set_up(which: usize, link: &Link) -> Result<(), CallError> {
    let name = std::ffi::CString::new(DEVICES[which]).unwrap_or_default();
    // SAFETY: `name` ends in a zero byte.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 {
        return Err(CallError::last("if_nametoindex"));
    }
    if !link.offloads {
        ethtool::offloads_off(DEVICES[which])?;
    }
    let socket = Socket::open()?;
    socket.ask(&address(index, ADDRESSES[which]))?;
    if link.rate > 0 {
        socket.ask(&limit(index, link.mtu, link.rate))?;
    }
    if let Some(cpus) = link.steered {
        steer(DEVICES[which], cpus[which])?;
    }
    socket.ask(&up(index))
}

/// Has what comes to a device handled on a CPU. What /sys shows depends on the namespace of who mounted it: this one is mounted nowhere, and goes when it
/// is closed.
fn steer(device: &str, cpu: u32) -> Result<(), CallError> {
    let call = "mount of sysfs (to steer packets)";
    let filesystem = fsopen("sysfs", FsOpenFlags::FSOPEN_CLOEXEC).map_err(named(call))?;
    fsconfig_create(&filesystem).map_err(named(call))?;
    let flags = (FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty());
    let mounted = fsmount(&filesystem, flags.0, flags.1).map_err(named(call))?;
    let path = format!("class/net/{device}/queues/rx-0/rps_cpus");
    let (write, none) = (rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::CLOEXEC, rustix::fs::Mode::empty());
    let file = rustix::fs::openat(&mounted, path, write, none).map_err(named("open of rps_cpus"))?;
    rustix::io::write(&file, mask(cpu).as_bytes()).map_err(named("write of rps_cpus")).map(drop)
}

/// A mask of one CPU, as bitmap_parse of the kernel takes it: words of 32 bits in hexadecimal, the highest first.
fn mask(cpu: u32) -> String {
    format!("{:x}{}", 1 << (cpu % 32), ",00000000".repeat(cpu as usize / 32))
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
    let attributes =
        [attribute(1, &bucket), attribute(4, &rate.to_ne_bytes()), attribute(6, &burst.to_ne_bytes())];
    Message::new(new, CREATE, &body).with(kind, &text("tbf")).with(options, &attributes.concat())
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
    fn masks_of_cpus() {
        assert_eq!(
            [0, 5, 31, 32, 70].map(mask),
            ["1", "20", "80000000", "1,00000000", "40,00000000,00000000"]
        );
    }

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
                let steered = Some([0, 0]);
                for (mtu, offloads, rate, steered) in [
                    (1500, true, 0, None),
                    (256, false, 0, steered),
                    (1500, true, 100_000_000, steered),
                    (65_000, false, 100_000_000, None),
                ] {
                    let both = Namespaces::new(&Link { mtu, offloads, rate, steered })?;
                    for (ours, theirs) in [both.tcp_pair()?, both.udp_pair()?] {
                        file::write_all(ours.as_fd(), &[7; 100])?;
                        let mut got = [0; 100];
                        file::read_all(theirs.as_fd(), &mut got)?;
                        let same = got == [7; 100];
                        same.then_some(()).ok_or(CallError { call: "read", errno: libc::EIO })?;
                    }
                }
                if Namespaces::new(&Link { steered: Some([60_000; 2]), ..Link::USUAL }).is_ok() {
                    return Err(CallError { call: "steer", errno: libc::EINVAL });
                }
                match Namespaces::new(&Link { mtu: 20, ..Link::USUAL }) {
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
