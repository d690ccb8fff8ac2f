//! Replies that wait to be sent.
//!
//! ```text
//!  bytes  | reply 7: 92 bytes | refusal 8: 16 | reply 9: 92 | ...
//!  ends                       92             108           200
//! ```

use sa_wire::netlink_ls::WriteError;
use sa_wire::netlink_ls::reply::MAX_REPLY_SIZE;

/// Messages in one buffer, one after another: any run of them is a datagram. One value serves the
/// thread for its whole life, so after the first busy turns it allocates no more.
///
/// Shape: each message starts at a multiple of four, as netlink demands, because the length of each
/// reply is one.
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

    /// Forgets them and keeps the room, for the next turn.
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

    /// Runs of whole messages, none longer than `most` bytes unless a single message is. The kernel
    /// handles all messages of a datagram, so 44 answers of one record (92 bytes) cost one system
    /// call with 4,096 bytes.
    pub fn datagrams(&self, most: usize) -> impl Iterator<Item = &[u8]> {
        let (mut start, mut at) = (0, 0);
        core::iter::from_fn(move || {
            // The first message is taken whatever its length; else one that is too long would never
            // be sent.
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
        // Room for the longest reply, then cut: the writer needs a slice, and says only afterwards
        // how much it took.
        self.bytes.resize(start + MAX_REPLY_SIZE, 0);
        let written = write(self.bytes.get_mut(start..).unwrap_or(&mut []));
        self.bytes.truncate(start + written.unwrap_or(0));
        written.map(|_| self.ends.push(self.bytes.len()))
    }
}
