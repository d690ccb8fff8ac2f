//! Why a transport stopped working.
//!
//! Few, as a worker can do only one thing about an error: end. What passes (no room, a duplicate, a
//! MAD that is none) is counted and hidden. What its owner must know is whether the port may come
//! back, see [`PortError::is_gone`].

/// A transport that stopped working.
///
/// From a worker's call it ends the worker; its owner looks at [`Self::is_gone`] and attaches the
/// port anew, or ends the daemon.
#[derive(Debug)]
#[non_exhaustive]
pub enum PortError {
    /// A system call failed for good.
    Os {
        /// What was attempted, in words for a log.
        what: &'static str,
        /// The errno, by which the cause is shown.
        errno: i32,
    },
    /// What the port was attached to is gone, and with it the port: an HCA that was removed, a
    /// simulator that ended. It may come back, to be attached anew.
    Gone {
        /// What was attempted, in words for a log.
        what: &'static str,
        /// The errno, by which the cause is shown.
        errno: i32,
    },
    /// The peer went away.
    Closed,
    /// The MAD does not fit this transport.
    TooLong,
}

impl PortError {
    /// True when the port may be attached anew later.
    pub const fn is_gone(&self) -> bool {
        matches!(self, Self::Gone { .. } | Self::Closed)
    }

    /// Tells an errno that stays for ever from others.
    pub(crate) const fn of(what: &'static str, errno: i32) -> Self {
        match errno {
            // A removed umad port: the first three. Sockets without a far end: the others.
            libc::EIO
            | libc::ENODEV
            | libc::ENXIO
            | libc::EBADF
            | libc::EPIPE
            | libc::ECONNRESET
            | libc::ECONNREFUSED
            | libc::ENOTCONN => Self::Gone { what, errno },
            _ => Self::Os { what, errno },
        }
    }
}

impl core::fmt::Display for PortError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Os { what, errno } => {
                write!(f, "{what}: {}", std::io::Error::from_raw_os_error(*errno))
            }
            Self::Gone { what, errno } => {
                let cause = std::io::Error::from_raw_os_error(*errno);
                write!(f, "{what}: {cause}; what this port was attached to is gone")
            }
            Self::Closed => f.write_str("the peer closed the transport"),
            Self::TooLong => f.write_str("the MAD does not fit this transport"),
        }
    }
}

impl core::error::Error for PortError {}
