//! What the acceptor tells its owner, for the log.
//!
//! Events go to whoever runs the acceptor and are logged there; nothing here prints. A client that
//! was cut off learns the same from its memory, by a number (`closed`).

use core::fmt;
use std::io;

use sa_ring::layout::closed;

/// A client's process, as the kernel knows it.
///
/// From the socket and not from what the client says, so it can be believed. `pid` is 0 for a
/// process in a PID namespace that is not seen from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Number of its connection, from 1.
    pub client: u32,
    /// Its process, as the kernel says it.
    pub pid: i32,
    /// Its user, by whom rings are shared out.
    pub uid: u32,
}

/// Why a client is served no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Parting {
    /// It has closed its socket, or died.
    Left,
    /// It wrote request positions that are out of range.
    BadPosition,
    /// It wrote a position of late replies that is out of range.
    BadLatePosition,
    /// It said something after its greeting.
    BadMessage,
}

/// Something for the log.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// A client has a ring now.
    Arrived {
        /// The client that has one.
        peer: Peer,
        /// How many requests it has room for.
        slots: u32,
        /// May say which LID asks.
        names_lids: bool,
    },
    /// A client was sent away.
    Refused {
        /// The client that gets none.
        peer: Peer,
        /// What it was told.
        words: String,
    },
    /// A client is served no more.
    Parted {
        /// The client whose ring is gone.
        peer: Peer,
        /// Why it is served no more.
        why: Parting,
    },
    /// Clients cannot be accepted now.
    Failed(io::Error),
}

impl fmt::Display for Parting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Left => "it has left",
            Self::BadPosition => "it wrote request positions that are out of range",
            Self::BadLatePosition => "it wrote a position of late replies that is out of range",
            Self::BadMessage => "it said something after its greeting",
        })
    }
}

impl Parting {
    /// As the client reads it in its memory; one of [`closed`].
    pub(super) const fn code(self) -> u32 {
        match self {
            Self::Left => closed::ENDED,
            Self::BadPosition => closed::BAD_POSITION,
            Self::BadLatePosition => closed::BAD_LATE_POSITION,
            Self::BadMessage => closed::BAD_MESSAGE,
        }
    }
}
