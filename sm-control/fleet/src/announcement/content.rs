//! What an announcement says, beside when and by whom it is said.

use crate::identity::{Digest, Generation};

/// A leader lists a file for each format of snapshots that is in use during an upgrade.
pub const MAX_BLOBS: usize = 4;
/// Patches from the last eight snapshots.
pub const MAX_DELTAS: usize = 8;

/// A snapshot file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blob {
    /// Version of the snapshot format.
    pub format: u32,
    /// Its name, and what its bytes are checked by.
    pub digest: Digest,
    /// Units: bytes. More than these are never read.
    pub size: u64,
}

/// A patch that makes a listed blob from an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delta {
    /// Place in the list of blobs.
    pub to: u8,
    /// The file that it is applied to.
    pub from: Digest,
    /// The patch's own digest, and its name.
    pub patch: Digest,
    /// Units: bytes of the patch.
    pub size: u32,
}

/// What is in force, or that nothing is.
///
/// A value exists only if it can be written in the one way that there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    generation: Generation,
    is_withdrawn: bool,
    is_drill: bool,
    blobs: Vec<Blob>,
    deltas: Vec<Delta>,
}

/// What cannot be announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unannounceable {
    /// None, or more than four.
    #[error("{0} files; an announcement lists 1 to {MAX_BLOBS}")]
    Blobs(usize),
    /// More than eight.
    #[error("{0} patches; an announcement lists at most {MAX_DELTAS}")]
    Deltas(usize),
    /// An empty file or patch.
    #[error("an empty file or patch")]
    Empty,
    /// Two files of one format, or two patches between the same files.
    #[error("two files of one format, or two patches between the same files")]
    Twice,
    /// A patch that makes no listed file.
    #[error("a patch that makes file {0}, of which there is none")]
    NoSuchBlob(u8),
}

impl Content {
    /// A generation with its files, put in order.
    ///
    /// # Errors
    ///
    /// Where it would not fit an announcement, or could be understood in two ways.
    pub fn new(
        generation: Generation,
        mut blobs: Vec<Blob>,
        mut deltas: Vec<Delta>,
    ) -> Result<Self, Unannounceable> {
        // Indices would not mean the same any more.
        if blobs.windows(2).any(|two| two[0].format > two[1].format) && !deltas.is_empty() {
            let before = blobs.clone();
            blobs.sort_by_key(|blob| blob.format);
            for delta in &mut deltas {
                let moved = before.get(usize::from(delta.to));
                let place = moved.and_then(|it| blobs.iter().position(|blob| blob == it));
                delta.to = place.map_or(u8::MAX, to_index);
            }
        }
        blobs.sort_by_key(|blob| blob.format);
        deltas.sort_by_key(|delta| (delta.to, delta.from));
        Self::ordered(generation, blobs, deltas)
    }

    /// The same of what is in order already, as it must be in an announcement.
    pub(super) fn ordered(
        generation: Generation,
        blobs: Vec<Blob>,
        deltas: Vec<Delta>,
    ) -> Result<Self, Unannounceable> {
        if blobs.is_empty() || blobs.len() > MAX_BLOBS {
            return Err(Unannounceable::Blobs(blobs.len()));
        }
        if deltas.len() > MAX_DELTAS {
            return Err(Unannounceable::Deltas(deltas.len()));
        }
        if blobs.iter().any(|it| it.size == 0) || deltas.iter().any(|it| it.size == 0) {
            return Err(Unannounceable::Empty);
        }
        let is_made = |delta: &&Delta| usize::from(delta.to) >= blobs.len();
        if let Some(delta) = deltas.iter().find(is_made) {
            return Err(Unannounceable::NoSuchBlob(delta.to));
        }
        let formats = blobs.is_sorted_by(|one, next| one.format < next.format);
        if !formats || !deltas.is_sorted_by(|one, next| (one.to, one.from) < (next.to, next.from)) {
            return Err(Unannounceable::Twice);
        }
        Ok(Self {
            generation,
            is_withdrawn: false,
            is_drill: false,
            blobs,
            deltas,
        })
    }

    /// Nothing is in force: `generation`, which was, is wrong, and what follows it is not there
    /// yet.
    pub const fn withdrawal(generation: Generation) -> Self {
        Self {
            generation,
            is_withdrawn: true,
            is_drill: false,
            blobs: Vec::new(),
            deltas: Vec::new(),
        }
    }

    /// The same, marked as a rehearsal: followers do all that they do else, and say that it is one.
    #[must_use]
    pub const fn as_drill(mut self) -> Self {
        self.is_drill = true;
        self
    }

    /// What is in force, or was until it was withdrawn.
    pub const fn generation(&self) -> &Generation {
        &self.generation
    }

    /// What may be answered from; `None` where nothing may.
    pub fn in_force(&self) -> Option<&Generation> {
        (!self.is_withdrawn).then_some(&self.generation)
    }

    /// True for a withdrawal.
    pub const fn is_withdrawn(&self) -> bool {
        self.is_withdrawn
    }

    /// True for a rehearsal.
    pub const fn is_drill(&self) -> bool {
        self.is_drill
    }

    /// Files, by format.
    pub fn blobs(&self) -> &[Blob] {
        &self.blobs
    }

    /// Patches.
    pub fn deltas(&self) -> &[Delta] {
        &self.deltas
    }

    /// The file of the first of these formats that is listed, which the reader likes in this order.
    pub fn blob_of(&self, formats: &[u32]) -> Option<&Blob> {
        let mut liked = formats.iter();
        liked.find_map(|format| self.blobs.iter().find(|blob| blob.format == *format))
    }

    /// The patch that makes a listed file from another.
    pub fn delta(&self, from: Digest, to: Digest) -> Option<&Delta> {
        let makes = |delta: &&Delta| {
            let made = self.blobs.get(usize::from(delta.to));
            delta.from == from && made.is_some_and(|blob| blob.digest == to)
        };
        self.deltas.iter().find(makes)
    }
}

/// Lists are short.
fn to_index(place: usize) -> u8 {
    u8::try_from(place).unwrap_or(u8::MAX)
}
