//! The newest that was seen: a follower has it on its disk before it uses an announcement, and
//! takes nothing older for as long as that disk lives.

use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::announcement::Announcement;
use crate::identity::{Digest, Issue, Position};
use crate::refusal::Refusal;

/// What was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Highest {
    /// Of the newest announcement.
    pub position: Position,
    /// What it said.
    pub content: Digest,
    /// The same issue was seen with two contents, so neither counts.
    pub is_contradicted: bool,
}

/// What is stored cannot be understood.
///
/// It is not "nothing was seen": a follower that began anew would take what was replayed to it. A
/// person decides, who removes the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is no record of what was seen, or damaged")]
pub struct Damaged;

/// Length of the record. Units: bytes.
pub const RECORD_SIZE: usize = size_of::<Record>();

const MAGIC: [u8; 8] = *b"SAPSEEN1";

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Record {
    magic: [u8; 8],
    era: U32,
    contradicted: U32,
    term: U64,
    seq: U64,
    beat: U64,
    content: [u8; 32],
    check: [u8; 32],
}

impl Highest {
    /// Before anything was seen.
    pub const NOTHING: Self = Self {
        position: Position {
            issue: Issue {
                era: 0,
                term: 0,
                seq: 0,
            },
            beat: 0,
        },
        content: Digest([0; 32]),
        is_contradicted: false,
    };

    /// Once this is the newest.
    pub fn of(announcement: &Announcement) -> Self {
        Self {
            position: announcement.position,
            content: announcement.content_digest(),
            is_contradicted: false,
        }
    }

    /// Whether an announcement is newer than what was seen.
    ///
    /// Each beat is newer once: who hears it again learns nothing of now.
    ///
    /// # Errors
    ///
    /// Why it is not. [`Refusal::Contradiction`] says that what was seen is not to be believed any
    /// more either.
    pub fn admit(&self, announcement: &Announcement) -> Result<(), Refusal> {
        let (seen, new) = (self.position, announcement.position);
        if (new.issue.era, new.issue.term) < (seen.issue.era, seen.issue.term) {
            return Err(Refusal::OldTerm);
        }
        if new.issue < seen.issue {
            return Err(Refusal::OldIssue);
        }
        if new.issue > seen.issue {
            return Ok(());
        }
        if self.is_contradicted {
            return Err(Refusal::Contradicted);
        }
        if self.content != announcement.content_digest() {
            return Err(Refusal::Contradiction);
        }
        if new.beat <= seen.beat {
            return Err(Refusal::OldBeat);
        }
        Ok(())
    }

    /// The bytes for the disk, of one length always.
    pub fn to_record(self) -> [u8; RECORD_SIZE] {
        let mut record = Record {
            magic: MAGIC,
            era: U32::new(self.position.issue.era),
            contradicted: U32::new(self.is_contradicted.into()),
            term: U64::new(self.position.issue.term),
            seq: U64::new(self.position.issue.seq),
            beat: U64::new(self.position.beat),
            content: self.content.0,
            check: [0; 32],
        };
        record.check = check(&record);
        zerocopy::transmute!(record)
    }

    /// From the bytes on the disk. Where there is no file, nothing was seen: [`Highest::NOTHING`].
    ///
    /// # Errors
    ///
    /// For any other bytes than [`Highest::to_record`] gives.
    pub fn from_record(bytes: &[u8]) -> Result<Self, Damaged> {
        let record = Record::ref_from_bytes(bytes).map_err(|_| Damaged)?;
        let contradicted = record.contradicted.get();
        if record.magic != MAGIC || contradicted > 1 || record.check != check(record) {
            return Err(Damaged);
        }
        let issue = Issue {
            era: record.era.get(),
            term: record.term.get(),
            seq: record.seq.get(),
        };
        Ok(Self {
            position: Position {
                issue,
                beat: record.beat.get(),
            },
            content: Digest(record.content),
            is_contradicted: contradicted == 1,
        })
    }
}

/// Over all before it.
fn check(record: &Record) -> [u8; 32] {
    let bytes = record.as_bytes();
    let before = bytes.split_last_chunk::<32>().map_or(bytes, |it| it.0);
    blake3::derive_key("sapphire highest seen v1", before)
}
