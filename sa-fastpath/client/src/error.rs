//! What can go wrong.
//!
//! Who can do something about it: the operator (cannot connect, version, refused), the program
//! (closed, forked, in flight, length), or nobody but by asking later (timed out, no reply). The
//! SA's own refusals are [`Error::Status`] with the MAD status.

use core::fmt;
use std::io;
use std::path::PathBuf;

use sa_wire::mad::Status;
use thiserror::Error;

use sa_ring::layout::{VERSION, closed};

/// A client that cannot ask, or got no record.
///
/// Not kept by the client: after any of them it may be asked again, but for [`Error::Closed`] and
/// [`Error::Forked`], which stay until it reconnects.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// Nobody listens there, or this user may not.
    #[error("cannot connect to the daemon at {}: {source}", path.display())]
    Connect {
        /// The socket that was to be connected to.
        path: PathBuf,
        /// Why not, as the system says it.
        source: io::Error,
    },
    /// What listens there is no daemon, or one that does not answer.
    #[error("what listens at {} does not greet as the daemon does", path.display())]
    NoDaemon {
        /// The socket that somebody else listens at.
        path: PathBuf,
    },
    /// The daemon speaks another version.
    #[error(
        "the daemon at {} has version {daemon} of the ring, this client {VERSION}: use the client \
         library that came with the daemon", path.display()
    )]
    Version {
        /// The socket of that daemon.
        path: PathBuf,
        /// The version that the daemon has.
        daemon: u32,
    },
    /// The daemon does not want this client.
    #[error("the daemon at {} refuses: {words}", path.display())]
    Refused {
        /// The socket of that daemon.
        path: PathBuf,
        /// Why, in the daemon's words.
        words: String,
    },
    /// The memory that came is not what it must be.
    #[error("the daemon at {} sent memory that cannot be used: {problem}", path.display())]
    Memory {
        /// The socket of that daemon.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The daemon is gone, or done with this client; see [`super::Client::reconnect`].
    #[error("{0}; connect again")]
    Closed(WhyClosed),
    /// This process was forked from the one that connected, whose ring it is.
    #[error(
        "this client belongs to the process that connected, and this is a child of it: reconnect to \
         get a ring for this process"
    )]
    Forked,
    /// There are requests in the ring whose replies were not taken.
    #[error("requests of the batch calls are in flight; take their replies first")]
    InFlight,
    /// It is no request: 24 to 256 bytes.
    #[error("a request of {0} bytes; a MAD has 24 to 256")]
    Length(usize),
    /// No answer in time.
    #[error("no answer in time")]
    TimedOut,
    /// The SA keeps silent about such a request.
    #[error(
        "the SA gives no answer to this request: it serves no snapshot yet, or does not know the \
         requester's LID"
    )]
    NoReply,
    /// The SA answered with an error.
    #[error("the SA answered with status {0}")]
    Status(Status),
    /// The reply holds no record.
    #[error("the SA's reply holds no record")]
    NoRecord,
}

impl Error {
    /// The number of this error in the library for C, whose header has a name for each.
    ///
    /// Positive: the MAD status of the SA. Negative: anything else. None may ever change: programs in C
    /// compare with them.
    pub const fn code(&self) -> i32 {
        match self {
            Self::Connect { .. } | Self::NoDaemon { .. } => -1,
            Self::Version { .. } | Self::Refused { .. } | Self::Memory { .. } => -2,
            Self::Closed(_) => -3,
            Self::InFlight => -4,
            Self::Length(_) => -5,
            Self::TimedOut => -6,
            Self::NoReply | Self::NoRecord => -7,
            Self::Forked => -9,
            Self::Status(status) => status.get() as i32,
        }
    }
}

/// Why the daemon is not there any more for this client.
///
/// As the daemon wrote it into the ring's first page before it closed, or [`Self::Gone`] where
/// there was no time for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhyClosed {
    /// It ended in order.
    Ended,
    /// It is gone without a word: it was killed, or the machine was short of memory.
    Gone,
    /// This client has written positions that cannot be.
    BadPosition,
    /// This client has said something that it must not.
    BadMessage,
    /// For a reason that this version does not know.
    Other(u32),
}

impl From<u32> for WhyClosed {
    fn from(number: u32) -> Self {
        match number {
            closed::ENDED => Self::Ended,
            // Both are positions that this side wrote; which of them it was helps nobody.
            closed::BAD_POSITION | closed::BAD_LATE_POSITION => Self::BadPosition,
            closed::BAD_MESSAGE => Self::BadMessage,
            other => Self::Other(other),
        }
    }
}

impl fmt::Display for WhyClosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended => f.write_str("the daemon has ended"),
            Self::Gone => f.write_str("the daemon is gone"),
            Self::BadPosition => {
                f.write_str("the daemon has cut this client off: its positions were impossible")
            }
            Self::BadMessage => {
                f.write_str("the daemon has cut this client off: it sent more than its greeting")
            }
            Self::Other(number) => {
                write!(f, "the daemon has cut this client off for reason {number}")
            }
        }
    }
}
