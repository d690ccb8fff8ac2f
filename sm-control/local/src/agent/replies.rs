//! Replies that wait to be sent.

use sa_wire::netlink_ls::WriteError;
use sa_wire::netlink_ls::reply::MAX_REPLY_SIZE;

/// Messages in one buffer, one after another: any run of them is a datagram.
///
/// Shape: each starts at a multiple of four, because each has such a length.
#[derive(Debug, Clone, Default)]
pub struct Replies {
    bytes: Vec<u8>,
    /// Where each message ends.
    ends: Vec<usize>,
}

impl Replies {
    /// None yet.
    pub const fn new() -> Self {
        Self {
            bytes: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// All messages as one datagram.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many messages.
    pub const fn len(&self) -> usize {
        self.ends.len()
    }

    /// True without a message.
    pub const fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Forgets them and keeps the room.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Each message.
    pub fn messages(&self) -> impl Iterator<Item = &[u8]> {
        let starts = core::iter::once(0).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .map(|(start, end)| self.bytes.get(start..*end).unwrap_or(&[]))
    }

    /// Runs of whole messages, none longer than `most` bytes unless a single message is.
    pub fn datagrams(&self, most: usize) -> impl Iterator<Item = &[u8]> {
        let (mut start, mut at) = (0, 0);
        core::iter::from_fn(move || {
            let mut end = *self.ends.get(at)?;
            at += 1;
            while let Some(next) = self.ends.get(at).filter(|next| **next - start <= most) {
                end = *next;
                at += 1;
            }
            let datagram = self.bytes.get(start..end);
            start = end;
            datagram
        })
    }

    /// Adds the message that `write` writes. Errors: what it says, and nothing is added.
    pub fn add(
        &mut self,
        write: impl FnOnce(&mut [u8]) -> Result<usize, WriteError>,
    ) -> Result<(), WriteError> {
        let start = self.bytes.len();
        self.bytes.resize(start + MAX_REPLY_SIZE, 0);
        let written = write(self.bytes.get_mut(start..).unwrap_or(&mut []));
        self.bytes.truncate(start + written.unwrap_or(0));
        written.map(|_| self.ends.push(self.bytes.len()))
    }
}
