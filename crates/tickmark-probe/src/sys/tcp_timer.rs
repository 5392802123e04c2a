//! TCP's own timers as programs see them: what TCP_INFO says of a connection, and a connection whose one end hears nothing.

use super::namespace::Namespaces;
use super::{CallError, check, named, net};
use rustix::net::sockopt;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

/// A connection of this process to itself.
pub struct Connection {
    ours: OwnedFd,
    theirs: OwnedFd,
}

/// The kernel's information on one end (tcp(7), TCP_INFO).
#[derive(Debug, Clone, Copy)]
pub struct Info {
    /// The retransmission timer's time, in ns.
    pub rto: i64,
    /// The time of the timer of delayed acknowledgements, in ns.
    pub ato: i64,
    /// Segments that were sent and are not acknowledged.
    pub unacked: u32,
    /// How often the retransmission timer has run out since the last acknowledgement.
    pub retransmits: u8,
    /// Probes without an answer.
    pub probes: u8,
}

impl Connection {
    /// Connects over the loopback interface, or between two namespaces; small messages are sent at once.
    ///
    /// # Errors
    /// Those of [`net::tcp_pair`].
    pub fn new(link: Option<&Namespaces>) -> Result<Self, CallError> {
        let (ours, theirs) = link.map_or_else(net::tcp_pair, Namespaces::tcp_pair)?;
        Ok(Self { ours, theirs })
    }

    /// Sends a byte.
    ///
    /// # Errors
    /// Those of write(2).
    pub fn send(&self) -> Result<(), CallError> {
        rustix::io::write(&self.ours, &[1]).map(drop).map_err(named("write"))
    }

    /// Takes a byte at the other end.
    ///
    /// # Errors
    /// Those of read(2).
    pub fn receive(&self) -> Result<(), CallError> {
        rustix::io::read(&self.theirs, &mut [0; 1]).map(drop).map_err(named("read"))
    }

    /// Lets the other end acknowledge as late as it may.
    ///
    /// # Errors
    /// Those of setsockopt(2).
    pub fn delay(&self) -> Result<(), CallError> {
        sockopt::set_tcp_quickack(&self.theirs, false).map_err(named("setsockopt"))
    }

    /// Lets the other end hear nothing from here on: a filter drops every segment that comes, before TCP sees it.
    ///
    /// # Errors
    /// Those of setsockopt(2).
    pub fn deafen(&self) -> Result<(), CallError> {
        // BPF_RET | BPF_K with 0: keep no byte (Documentation/networking/filter.rst).
        let mut nothing = libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0 };
        let program = libc::sock_fprog { len: 1, filter: &raw mut nothing };
        let size = size_of::<libc::sock_fprog>() as libc::socklen_t;
        let fd = self.theirs.as_raw_fd();
        // SAFETY: the program and its one instruction are valid to read while the kernel copies them.
        let set = unsafe {
            libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, (&raw const program).cast(), size)
        };
        check("setsockopt", set).map(drop)
    }

    /// Asks after the other end, `idle` after it was last heard and then every `idle`.
    ///
    /// # Errors
    /// Those of setsockopt(2).
    pub fn keep_alive(&self, idle: Duration) -> Result<(), CallError> {
        let set = sockopt::set_tcp_keepidle(&self.ours, idle)
            .and_then(|()| sockopt::set_tcp_keepintvl(&self.ours, idle))
            .and_then(|()| sockopt::set_tcp_keepcnt(&self.ours, 100))
            .and_then(|()| sockopt::set_socket_keepalive(&self.ours, true));
        set.map_err(named("setsockopt"))
    }

    /// The kernel's information on this end.
    ///
    /// # Errors
    /// Those of getsockopt(2).
    pub fn info(&self) -> Result<Info, CallError> {
        info(&self.ours)
    }

    /// State of the other side.
    ///
    /// # Errors
    /// Those of getsockopt(2).
    pub fn other(&self) -> Result<Info, CallError> {
        info(&self.theirs)
    }
}

fn info(socket: &OwnedFd) -> Result<Info, CallError> {
    // SAFETY: numbers alone: all zeros are a value.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut size = size_of::<libc::tcp_info>() as libc::socklen_t;
    let fd = socket.as_raw_fd();
    // SAFETY: the place is as long as `size` says.
    let got = unsafe {
        libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut info).cast(), &raw mut size)
    };
    check("getsockopt", got)?;
    Ok(Info {
        rto: i64::from(info.tcpi_rto) * 1_000,
        ato: i64::from(info.tcpi_ato) * 1_000,
        unacked: info.tcpi_unacked,
        retransmits: info.tcpi_retransmits,
        probes: info.tcpi_probes,
    })
}
