//! What is wrong with what the other side sent.
//!
//! Both sides come from one release, so whatever is in here means that they do not, that something
//! else listens at the path, or that the other side was stopped in the middle of a frame. Nothing can
//! be mended on the connection: whoever finds it hangs up, and says why.

use std::fmt;
use std::io;

use crate::VERSION;

/// Why no frame came. After any of these the connection is of no use.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReceiveError {
    /// The connection broke, or ended in the middle of a frame.
    Io(io::Error),
    /// It was ended between two frames.
    Closed,
    /// Not of this protocol.
    Strange(Strange),
}

/// Something that this protocol does not have, or not there. Carries what an operator needs to find
/// the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strange {
    /// No frame is so long. Units: bytes.
    Length(u32),
    /// No frame of this kind is so long, or there is no such kind.
    Kind {
        /// Its first byte.
        kind: u8,
        /// Kind and body. Units: bytes.
        length: u32,
    },
    /// The other side is of another version.
    Version(u32),
    /// Something else than the reply to a Hello. Its [`Frame::name`](crate::Frame::name).
    NoWelcome(&'static str),
    /// What only the other side may say. Its [`Frame::name`](crate::Frame::name).
    Unasked(&'static str),
    /// A [`Frame::Lent`](crate::Frame::Lent) without its file.
    NoFile,
}

impl fmt::Display for Strange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(length) => write!(f, "a frame of {length} bytes"),
            Self::Kind { kind, length } => {
                write!(f, "a frame of kind {kind} with {length} bytes")
            }
            Self::Version(theirs) => write!(
                f,
                "its version is {theirs}, ours {VERSION}; update both and restart OpenSM"
            ),
            Self::NoWelcome(name) => write!(f, "{name} in place of a welcome"),
            Self::Unasked(name) => write!(f, "{name} from the wrong side"),
            Self::NoFile => f.write_str("the read methods came without their file"),
        }
    }
}

impl fmt::Display for ReceiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Closed => f.write_str("the other side hung up"),
            Self::Strange(what) => write!(f, "the other side does not speak this protocol: {what}"),
        }
    }
}

impl std::error::Error for ReceiveError {}

impl From<io::Error> for ReceiveError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
