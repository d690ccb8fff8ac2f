//! Netlink messages in a datagram.
//!
//! A datagram may hold several messages, each at a multiple of four:
//!
//! ```text
//!  0 length 4 (this header included)   4 type 2   6 flags 2   8 sequence 4   12 sender 4   16 body
//! ```

use thiserror::Error;

/// What stands before each message (nlmsghdr). Units: bytes.
pub const HEADER_SIZE: usize = 16;

/// nlmsghdr without its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// nlmsg_type: family and operation, host order.
    pub kind: u16,
    /// nlmsg_flags, see [`flags`](super::flags).
    pub flags: u16,
    /// nlmsg_seq: the kernel's number for the question, echoed in the reply.
    pub seq: u32,
    /// nlmsg_pid, which anybody can write; the socket's address tells who sent.
    pub pid: u32,
}

/// One message whose length is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// Type, flags and number of the message.
    pub header: Header,
    /// What follows the header, without padding.
    pub body: &'a [u8],
}

/// Why the rest of a datagram cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MessageDamage {
    /// Fewer bytes than a header.
    #[error("{0} bytes are no netlink header (16)")]
    Short(usize),
    /// nlmsg_len is below 16.
    #[error("nlmsg_len {0} is below the header's 16 bytes")]
    LengthTooSmall(u32),
    /// nlmsg_len reaches past the datagram.
    #[error("nlmsg_len {0} reaches past the datagram")]
    LengthTooLarge(u32),
}

/// The messages of a datagram, one after another; ends after the first damage.
#[derive(Debug, Clone)]
pub struct Messages<'a> {
    rest: &'a [u8],
}

impl<'a> Messages<'a> {
    /// The messages of one datagram, first to last.
    pub const fn new(datagram: &'a [u8]) -> Self {
        Self { rest: datagram }
    }

    fn take(&mut self) -> Result<Message<'a>, MessageDamage> {
        let datagram = core::mem::take(&mut self.rest);
        let Some((header, _)) = datagram.split_first_chunk::<HEADER_SIZE>() else {
            return Err(MessageDamage::Short(datagram.len()));
        };
        let (length, header) = split_header(*header);
        let size = usize::try_from(length).unwrap_or(usize::MAX);
        let body = match datagram.get(..size) {
            None => return Err(MessageDamage::LengthTooLarge(length)),
            Some(message) => message.get(HEADER_SIZE..),
        };
        // Shorter than its own header.
        let body = body.ok_or(MessageDamage::LengthTooSmall(length))?;
        // Rounded up past the end where the last message has no padding: then nothing is left.
        self.rest = datagram.get(aligned(size)..).unwrap_or(&[]);
        Ok(Message { header, body })
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Result<Message<'a>, MessageDamage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            None
        } else {
            Some(self.take())
        }
    }
}

fn split_header(bytes: [u8; HEADER_SIZE]) -> (u32, Header) {
    let [
        l0,
        l1,
        l2,
        l3,
        k0,
        k1,
        f0,
        f1,
        s0,
        s1,
        s2,
        s3,
        p0,
        p1,
        p2,
        p3,
    ] = bytes;
    let header = Header {
        kind: u16::from_ne_bytes([k0, k1]),
        flags: u16::from_ne_bytes([f0, f1]),
        seq: u32::from_ne_bytes([s0, s1, s2, s3]),
        pid: u32::from_ne_bytes([p0, p1, p2, p3]),
    };
    (u32::from_ne_bytes([l0, l1, l2, l3]), header)
}

/// The next multiple of four, where messages and attributes start.
pub(super) const fn aligned(size: usize) -> usize {
    size.saturating_add(3) & !3
}
