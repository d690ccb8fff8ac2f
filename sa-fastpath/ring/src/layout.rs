//! Where things lie in the memory that a client and the daemon share, and the words that they
//! exchange before.
//!
//! docs/ring.md describes it for everybody else; what is said
//! there of a version never changes.
//!
//! ```text
//! 0      HEADER      magic, version, sizes, offsets: written once, before the client sees it
//! 128    PRODUCED    requests sent          written by the client
//! 256    SERVED      requests done with     written by the daemon
//! 384    LATE_WRITTEN bytes of late replies written by the daemon
//! 512    LATE_READ   bytes taken out of it  written by the client
//! 640    CLOSED      why the daemon is done with this client, 0 while it is not
//! 4096   the slots, then the late replies
//! ```
//!
//! All integers are the host's. Positions only grow; slot = position modulo the number of slots.

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

/// The first eight bytes of the memory and of both greetings.
pub const MAGIC: u64 = u64::from_le_bytes(*b"SAPPRING");

/// The layout's, and the greetings'. Both sides must have the same.
pub const VERSION: u32 = 1;

/// Where the slots begin. Units: bytes.
pub const SLOTS_OFFSET: usize = 4096;
/// From one slot to the next: six cache lines, so that the two that a Get needs are one aligned
/// pair. Units: bytes.
pub const SLOT_SIZE: usize = 384;
/// Room for late replies. Units: bytes.
pub const LATE_SIZE: usize = 1 << 18;
/// Every part of a late reply begins at a multiple of this. Units: bytes.
pub const LATE_UNIT: usize = 64;
/// What stands before the bytes of each part of a late reply. Units: bytes.
pub const LATE_HEADER: usize = 32;

/// The fewest slots of a ring.
pub const MIN_SLOTS: u32 = 2;
/// The most slots of a ring.
pub const MAX_SLOTS: u32 = 1 << 16;

/// Units: bytes of a MAD.
pub const MAD_SIZE: usize = 256;
/// The shortest request: the header that all MADs have. Units: bytes.
pub const MIN_REQUEST: usize = 24;

/// What became of the request in a slot.
pub mod state {
    /// Nothing yet; what clients send.
    pub const REQUEST: u8 = 0;
    /// The slot holds the reply.
    pub const REPLY: u8 = 1;
    /// There is none, and there will be none.
    pub const NONE: u8 = 2;
    /// It comes later, by itself, if it comes.
    pub const LATER: u8 = 3;
}

/// Why the daemon is done with a client.
pub mod closed {
    /// The daemon is not done: the client is served.
    pub const OPEN: u32 = 0;
    /// The daemon ends; it may be back soon.
    pub const ENDED: u32 = 1;
    /// `PRODUCED` was more than a ring ahead of `SERVED`.
    pub const BAD_POSITION: u32 = 2;
    /// `LATE_READ` was no place in what was written.
    pub const BAD_LATE_POSITION: u32 = 3;
    /// The client said something after its greeting.
    pub const BAD_MESSAGE: u32 = 4;
}

/// The first page of the memory.
#[repr(C)]
pub struct Header {
    /// Always [`MAGIC`]: what is mapped is a ring.
    pub magic: AtomicU64,
    /// Always [`VERSION`]: both sides know this layout.
    pub version: AtomicU32,
    /// How many, a power of two.
    pub slots: AtomicU32,
    /// From one to the next. Units: bytes.
    pub slot_size: AtomicU32,
    /// Where they begin. Units: bytes.
    pub slots_offset: AtomicU32,
    /// Where late replies begin. Units: bytes.
    pub late_offset: AtomicU32,
    /// Room for them, a power of two. Units: bytes.
    pub late_size: AtomicU32,
    /// All of it. Units: bytes.
    pub size: AtomicU64,
    /// Requests sent. The client's.
    pub produced: Line<AtomicU64>,
    /// Requests that the daemon is done with.
    pub served: Line<AtomicU64>,
    /// Late bytes written. The daemon's.
    pub late_written: Line<AtomicU64>,
    /// Late bytes read. The client's.
    pub late_read: Line<AtomicU64>,
    /// One of [`closed`]. The daemon's.
    pub closed: Line<AtomicU32>,
}

/// On cache lines of its own: two, because they are fetched in pairs.
#[repr(C, align(128))]
pub struct Line<T>(pub T);

impl Header {
    /// Fills in what never changes. Shape: `slots` as rings have them.
    pub fn describe(&self, slots: u32) {
        let fields = self.fields();
        for (field, value) in fields.into_iter().zip(described(slots)) {
            field.store(value, Relaxed);
        }
        let size = size_of_ring(usize::try_from(slots).unwrap_or(0));
        self.size.store(size as u64, Relaxed);
        self.magic.store(MAGIC, Relaxed);
    }

    /// True when it describes a ring of so many slots in this version.
    pub fn describes(&self, slots: u32) -> bool {
        let size = size_of_ring(usize::try_from(slots).unwrap_or(0)) as u64;
        let fields = self.fields().map(|field| field.load(Relaxed));
        fields == described(slots)
            && self.magic.load(Relaxed) == MAGIC
            && self.size.load(Relaxed) == size
    }

    /// The fields that [`described`] gives values for, in its order.
    const fn fields(&self) -> [&AtomicU32; 6] {
        [
            &self.version,
            &self.slots,
            &self.slot_size,
            &self.slots_offset,
            &self.late_offset,
            &self.late_size,
        ]
    }
}

/// Version, slots, size and place of them, place and size of late replies.
fn described(slots: u32) -> [u32; 6] {
    let count = usize::try_from(slots).unwrap_or(0);
    let number = |size: usize| u32::try_from(size).unwrap_or(0);
    [
        VERSION,
        slots,
        number(SLOT_SIZE),
        number(SLOTS_OFFSET),
        number(late_offset(count)),
        number(LATE_SIZE),
    ]
}

/// One request, later its reply. Every pattern of bytes is one.
#[derive(Clone, Copy)]
#[repr(C, align(128))]
pub struct Slot {
    /// Of the request, 24 to 256, or of the reply. Units: bytes of `mad`.
    pub length: u16,
    /// Who asks; 0: the daemon's own port. The daemon heeds it from root and its own user.
    pub lid: u16,
    /// One of [`state`]: whose turn it is, and what came of the request.
    pub state: u8,
    /// Zero, for what later versions may say.
    pub reserved: [u8; 3],
    /// The MAD; of a request, what is beyond its length counts as zeros.
    pub mad: [u8; MAD_SIZE],
    /// Not used: slots are whole pairs of cache lines.
    pub padding: [u8; SLOT_SIZE - MAD_SIZE - 8],
}

impl Slot {
    /// Writes a request in. False, and nothing done, when it is no request: 24 to 256 bytes.
    #[inline]
    pub fn put(&mut self, lid: u16, request: &[u8]) -> bool {
        let (Some(place), Ok(length)) = (
            self.mad.get_mut(..request.len()),
            u16::try_from(request.len()),
        ) else {
            return false;
        };
        if request.len() < MIN_REQUEST {
            return false;
        }
        place.copy_from_slice(request);
        self.length = length;
        self.lid = lid;
        self.state = state::REQUEST;
        true
    }

    /// The reply in a slot that came back; none when it has none (see `state`).
    #[inline]
    pub fn reply(&self) -> Option<&[u8]> {
        if self.state != state::REPLY {
            return None;
        }
        self.mad.get(..usize::from(self.length))
    }
}

/// What a client says first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    /// The [`VERSION`] that the client knows.
    pub version: u32,
    /// Slots it would like; 0: as many as the daemon has to give.
    pub slots: u32,
}

/// What the daemon says then; with it comes the memory, unless it refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Welcome {
    /// The [`VERSION`] that the daemon knows.
    pub version: u32,
    /// Why not; empty: welcome.
    pub refusal: String,
}

/// Length of a client's greeting. Units: bytes.
pub const HELLO_SIZE: usize = 16;
/// Without the words of a refusal. Units: bytes.
pub const WELCOME_SIZE: usize = 16;
/// The longest greeting of a daemon, words included. Units: bytes.
pub const WELCOME_MOST: usize = 512;

impl Hello {
    /// As it is sent.
    pub fn bytes(self) -> [u8; HELLO_SIZE] {
        let mut bytes = [0; HELLO_SIZE];
        put(&mut bytes, 0, &MAGIC.to_ne_bytes());
        put(&mut bytes, 8, &self.version.to_ne_bytes());
        put(&mut bytes, 12, &self.slots.to_ne_bytes());
        bytes
    }

    /// None when it is no greeting. Of other versions only the version counts.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        (u64_at(bytes, 0)? == MAGIC).then_some(())?;
        Some(Self {
            version: u32_at(bytes, 8)?,
            slots: u32_at(bytes, 12)?,
        })
    }
}

impl Welcome {
    /// As it is sent. Shape: at most [`WELCOME_MOST`]; longer words are cut off.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; WELCOME_SIZE];
        let words = self.refusal.as_bytes();
        let words = words.get(..WELCOME_MOST - WELCOME_SIZE).unwrap_or(words);
        put(&mut bytes, 0, &MAGIC.to_ne_bytes());
        put(&mut bytes, 8, &self.version.to_ne_bytes());
        let length = u32::try_from(words.len()).unwrap_or(0);
        put(&mut bytes, 12, &length.to_ne_bytes());
        bytes.extend_from_slice(words);
        bytes
    }

    /// None when it is none.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        (u64_at(bytes, 0)? == MAGIC).then_some(())?;
        let length = usize::try_from(u32_at(bytes, 12)?).ok()?;
        let words = bytes.get(WELCOME_SIZE..WELCOME_SIZE.checked_add(length)?)?;
        Some(Self {
            version: u32_at(bytes, 8)?,
            refusal: String::from_utf8_lossy(words).into_owned(),
        })
    }
}

/// Bytes of a ring of so many slots. Shape: `slots` at most [`MAX_SLOTS`].
pub const fn size_of_ring(slots: usize) -> usize {
    late_offset(slots) + LATE_SIZE
}

/// Where the late replies of a ring of so many slots begin.
pub const fn late_offset(slots: usize) -> usize {
    SLOTS_OFFSET + (slots * SLOT_SIZE).next_multiple_of(SLOTS_OFFSET)
}

/// What stands before the bytes of a part of a late reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatePart {
    /// Of the request: how many were sent before it.
    pub position: u64,
    /// The whole reply, 0 when there will be none. Units: bytes.
    pub total: u32,
    /// Where these bytes belong in it. Parts of a reply follow each other.
    pub offset: u32,
    /// How many bytes follow this header. Units: bytes.
    pub length: u32,
}

impl LatePart {
    /// As words of memory.
    pub const fn words(self) -> [u64; LATE_HEADER / 8] {
        let total = self.total as u64;
        let offset = self.offset as u64;
        [self.position, total | offset << 32, self.length as u64, 0]
    }

    /// From words of memory.
    pub const fn of_words(words: [u64; LATE_HEADER / 8]) -> Self {
        /// The lower half of a word.
        #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
        const fn low(word: u64) -> u32 {
            word as u32
        }
        let [position, sizes, length, _] = words;
        Self {
            position,
            total: low(sizes),
            offset: low(sizes >> 32),
            length: low(length),
        }
    }

    /// Room that it takes with its bytes. Units: bytes.
    pub fn room(self) -> usize {
        let length = usize::try_from(self.length).unwrap_or(usize::MAX / 2);
        (LATE_HEADER + length).next_multiple_of(LATE_UNIT)
    }
}

/// Writes bytes where they belong.
fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    for (place, byte) in bytes.iter_mut().skip(at).zip(value) {
        *place = *byte;
    }
}

/// A number at a place, none behind the end.
fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*bytes))
}

/// A number at a place, none behind the end.
fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u64::from_ne_bytes(*bytes))
}

const _: () = assert!(size_of::<Slot>() == SLOT_SIZE && core::mem::offset_of!(Slot, mad) == 8);
const _: () = assert!(size_of::<Header>() <= SLOTS_OFFSET);
const _: () = {
    // What docs/ring.md says.
    assert!(core::mem::offset_of!(Header, size) == 32);
    assert!(core::mem::offset_of!(Header, produced) == 128);
    assert!(core::mem::offset_of!(Header, served) == 256);
    assert!(core::mem::offset_of!(Header, late_written) == 384);
    assert!(core::mem::offset_of!(Header, late_read) == 512);
    assert!(core::mem::offset_of!(Header, closed) == 640);
};
const _: () = assert!(LATE_SIZE.is_power_of_two() && LATE_SIZE.is_multiple_of(LATE_UNIT));
