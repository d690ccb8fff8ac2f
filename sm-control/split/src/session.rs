//! One connection of sapphired's: frames in, frames out, without ever waiting.
//!
//! The stream does not block. Frames come in pieces and are put together; one frame at a time is on
//! its way out, and the rest wait in [`Split`], where the queue is bounded. So a daemon that sends
//! half a frame, or does not read, costs memory for one frame and no time.
//!
//! The library trusts no daemon with OpenSM. A frame that makes no sense, or is longer than a
//! daemon's can be, ends the connection, and with it everything that was lent.

use core::fmt;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{BorrowedFd, IntoRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use split_protocol::{Carrier, Frame, HEADER_BYTES, MAD_BYTES, ReceiveError, Strange, VERSION};

use crate::split::{HangUp, Kernel, Split};
use crate::sys;

/// A daemon that has connected. It has until [`PATIENCE`] to say Hello.
#[derive(Debug)]
pub(crate) struct Session {
    stream: Carrier,
    /// When it connected.
    since: Duration,
    /// It has said Hello and was welcomed; only then anything else is heard.
    greeted: bool,
    /// Of a frame that is not whole yet: fewer bytes than the longest frame and one chunk.
    received: Vec<u8>,
    /// A frame that is on its way, of which [`Self::sent`] bytes are gone. Up to a whole table of a
    /// large fabric.
    sending: Vec<u8>,
    sent: usize,
    /// To go with the first byte of that: the read agent's file, with a Lent.
    file: Option<RawFd>,
}

/// Why a connection ends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// The daemon has hung up.
    Gone,
    /// It is to be hung up on, which was said where it was found.
    Said,
    /// It is to be hung up on, for this reason.
    Because(Reason),
}

/// Why a daemon is hung up on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// It has not said Hello for [`PATIENCE`].
    Silent,
    /// What it sends has no frames: a length that no frame of a daemon's has.
    NoProtocol,
    /// A frame that there is not.
    Strange(Strange),
    /// A frame that it may not send now, as before Hello, or not like this, as a request of another
    /// class.
    Senseless,
    /// It was built from another release.
    Version(u32),
    /// No frame has room for what OpenSM has answered to it.
    LongAnswer,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent => f.write_str("it does not say hello"),
            Self::NoProtocol => f.write_str("it does not speak the protocol"),
            Self::Strange(what) => write!(f, "it does not speak this protocol: {what}"),
            Self::Senseless => f.write_str("it says what makes no sense"),
            Self::Version(version) => write!(
                f,
                "it speaks version {version} of the protocol, this library {VERSION}; install both \
                 from one release"
            ),
            Self::LongAnswer => f.write_str("OpenSM's answer is too long"),
        }
    }
}

/// A daemon says Hello sooner than that. While somebody else holds the one connection, sapphired
/// cannot have it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);
/// The longest frame that a daemon sends: kind, number, packet. Units: bytes.
const LONGEST: usize = 1 + 8 + HEADER_BYTES + MAD_BYTES;
/// Read at once, so that one turn with a busy daemon ends. Units: bytes.
const CHUNK: usize = 1 << 16;

impl Session {
    /// Not welcomed yet; the time for its Hello runs from `since`.
    pub(crate) fn new(stream: UnixStream, since: Duration) -> Self {
        Self {
            stream: Carrier::new(stream),
            since,
            greeted: false,
            received: Vec::new(),
            sending: Vec::new(),
            sent: 0,
            file: None,
        }
    }

    /// To be waited for.
    pub(crate) fn stream(&self) -> &UnixStream {
        self.stream.stream()
    }

    /// Whether something waits for room in the socket.
    pub(crate) fn is_sending(&self) -> bool {
        self.sent < self.sending.len()
    }

    /// Errors: it has not said Hello for too long.
    pub(crate) fn check(&self, now: Duration) -> Result<(), Over> {
        match self.greeted || now.saturating_sub(self.since) < PATIENCE {
            true => Ok(()),
            false => Err(Over::Because(Reason::Silent)),
        }
    }
}

impl Session {
    /// Reads what there is and does it. Errors: why the connection ends.
    pub(crate) fn receive<K: Kernel>(&mut self, split: &Split<K>) -> Result<(), Over> {
        let mut chunk = vec![0; CHUNK];
        let got = match self.stream.read(&mut chunk) {
            Ok(0) => return Err(Over::Gone),
            Ok(got) => got,
            Err(error) if is_for_later(error.kind()) => return Ok(()),
            Err(_) => return Err(Over::Gone),
        };
        self.received.extend(chunk.into_iter().take(got));
        let mut done = 0;
        while let Some((frame, length)) = first(self.received.get(done..).unwrap_or_default())? {
            self.act(split, frame)?;
            done = done.saturating_add(length);
        }
        self.received.drain(..done.min(self.received.len()));
        Ok(())
    }

    /// Does what a frame says. Errors: it makes no sense here. Every kind that only the library may
    /// send ends in the last arm.
    fn act<K: Kernel>(&mut self, split: &Split<K>, frame: Frame) -> Result<(), Over> {
        let is_good = match (self.greeted, frame) {
            (false, Frame::Hello(version)) => return self.greet(split, version),
            (true, Frame::Lend) => {
                split.lend();
                true
            }
            (true, Frame::Beat(number)) => {
                split.beats(number);
                true
            }
            (true, Frame::Return(agent)) => {
                let file = self.stream.take_file();
                file.is_some_and(|file| split.returned(file.into_raw_fd(), agent))
            }
            (true, Frame::TakeBack) => {
                split.take_back();
                true
            }
            (true, Frame::Request(number, packet)) => split.request(number, &packet),
            (true, Frame::Tell(packet)) => split.tell(&packet),
            _ => false,
        };
        match is_good {
            true => Ok(()),
            false => Err(Over::Because(Reason::Senseless)),
        }
    }

    /// Welcomes a daemon. Errors: it is of another version; it hears ours before the end.
    fn greet<K: Kernel>(&mut self, split: &Split<K>, version: u32) -> Result<(), Over> {
        self.greeted = true;
        // Before the versions are compared: a daemon of another version is told ours, so that its
        // log can say what to update.
        self.sending = Frame::Welcome(split.attach()).bytes().unwrap_or_default();
        self.push()?;
        match version == VERSION {
            true => Ok(()),
            false => Err(Over::Because(Reason::Version(version))),
        }
    }

    /// Sends as much as there is room for; the rest goes when poll says that there is room. Errors:
    /// why the connection ends.
    pub(crate) fn send<K: Kernel>(&mut self, split: &Split<K>) -> Result<(), Over> {
        while self.greeted {
            self.push()?;
            if self.is_sending() {
                break;
            }
            let Some(frame) = split.next().map_err(|HangUp| Over::Said)? else {
                break;
            };
            if matches!(frame, Frame::Lent(_)) {
                // Taken back, or gone, in between: what is said next says so.
                self.file = split.lent_file();
                if self.file.is_none() {
                    continue;
                }
            }
            self.sending = frame
                .bytes()
                .map_err(|_| Over::Because(Reason::LongAnswer))?;
            self.sent = 0;
        }
        Ok(())
    }

    /// Writes what is left of the frame. Done or no room: no error.
    fn push(&mut self) -> Result<(), Over> {
        while let Some(rest) = self
            .sending
            .get(self.sent..)
            .filter(|rest| !rest.is_empty())
        {
            // A file goes with a byte. Once a byte of the frame is sent, it is sent.
            let outcome = match self.file {
                // The file stays open for as long as this thread does not take part in closing it.
                Some(file) => sys::borrowed(file, |file: BorrowedFd<'_>| {
                    self.stream.send_with(rest, file)
                }),
                None => self.stream.write(rest),
            };
            match outcome {
                Ok(0) => return Err(Over::Gone),
                Ok(sent) => {
                    self.sent = self.sent.saturating_add(sent);
                    self.file = None;
                }
                Err(error) if is_for_later(error.kind()) => return Ok(()),
                Err(_) => return Err(Over::Gone),
            }
        }
        // A table's memory is not kept.
        self.sending = Vec::new();
        self.sent = 0;
        Ok(())
    }
}

/// Whether a call is to be made again when poll says so.
fn is_for_later(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// The first frame and the bytes it takes, if it is there whole. The length is judged before
/// anything waits for so many bytes. Errors: it is none of a daemon's.
fn first(bytes: &[u8]) -> Result<Option<(Frame, usize)>, Over> {
    let Some((length, _)) = bytes.split_first_chunk() else {
        return Ok(None);
    };
    let length = usize::try_from(u32::from_ne_bytes(*length)).unwrap_or(usize::MAX);
    if length == 0 || length > LONGEST {
        return Err(Over::Because(Reason::NoProtocol));
    }
    let length = length.saturating_add(4);
    let Some(mut whole) = bytes.get(..length) else {
        return Ok(None);
    };
    match Frame::receive(&mut whole) {
        Ok(frame) => Ok(Some((frame, length))),
        Err(ReceiveError::Strange(what)) => Err(Over::Because(Reason::Strange(what))),
        // It is there whole.
        Err(_) => Err(Over::Because(Reason::NoProtocol)),
    }
}
