//! Kinds of frames, and what their bodies are made of.
//!
//! ```text
//!  Hello    05 00 00 00 | 01 | 03 00 00 00              length 5, kind 1, version 3
//!  Reads    09 00 00 00 | 06 | 02 00 00 00 | 16 00 00 00    kind 6, refused, error 22
//! ```
//!
//! (On a little-endian host.) A body that is longer or shorter than its kind is refused.

use crate::{Packet, Reads, WORD_BYTES, Word};

/// The first byte of a frame.
pub(crate) mod kind {
    pub(crate) const HELLO: u8 = 1;
    pub(crate) const WELCOME: u8 = 2;
    pub(crate) const BUSY: u8 = 3;
    pub(crate) const LEND: u8 = 4;
    pub(crate) const TAKE_BACK: u8 = 5;
    pub(crate) const READS: u8 = 6;
    pub(crate) const REQUEST: u8 = 7;
    pub(crate) const REPLY: u8 = 8;
    pub(crate) const TELL: u8 = 9;
    pub(crate) const REPORT: u8 = 10;
    pub(crate) const PROGRAMMED: u8 = 11;
    pub(crate) const LENT: u8 = 12;
    pub(crate) const RETURN: u8 = 13;
    pub(crate) const BEAT: u8 = 14;
    pub(crate) const OVERHEARD: u8 = 15;
}

/// Shape: state (0 held, 1 lent, 2 refused), then an errno, 0 but for the last; 4 bytes each.
pub(crate) fn append_reads(bytes: &mut Vec<u8>, reads: Reads) {
    let (state, error) = match reads {
        Reads::Held => (0u32, 0),
        Reads::Lent => (1, 0),
        Reads::Refused(error) => (2, error),
    };
    bytes.extend(state.to_ne_bytes());
    bytes.extend(error.to_ne_bytes());
}

/// Shape: header, MAD.
pub(crate) fn append_packet(bytes: &mut Vec<u8>, packet: &Packet) {
    bytes.extend(packet.header);
    bytes.extend(packet.mad);
}

/// What is left of a body. Each read takes from its beginning; what is left at the end means that
/// the frame was of another length.
pub(crate) struct Body<'a>(pub(crate) &'a [u8]);

impl Body<'_> {
    /// The next N bytes; none where fewer are left, and then nothing is taken.
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    pub(crate) fn number(&mut self) -> Option<u32> {
        self.take().map(u32::from_ne_bytes)
    }

    pub(crate) fn long(&mut self) -> Option<u64> {
        self.take().map(u64::from_ne_bytes)
    }

    pub(crate) fn packet(&mut self) -> Option<Packet> {
        Some(Packet {
            header: self.take()?,
            mad: self.take()?,
        })
    }

    /// All that are left; none where the last of them is cut off.
    pub(crate) fn words(&mut self) -> Option<Vec<Word>> {
        let (words, rest) = core::mem::take(&mut self.0).as_chunks::<WORD_BYTES>();
        rest.is_empty()
            .then(|| words.iter().map(Word::parse).collect())
    }

    /// None also for a state that there is not.
    pub(crate) fn reads(&mut self) -> Option<Reads> {
        let state = self.number()?;
        let error = self.take().map(i32::from_ne_bytes)?;
        match state {
            0 => Some(Reads::Held),
            1 => Some(Reads::Lent),
            2 => Some(Reads::Refused(error)),
            _ => None,
        }
    }
}
