//! What stands in the two files, and whether it is what was written.
//!
//! | at | length | what |
//! |---|---|---|
//! | 0 | 8 | `SAPTERM1` (the last term that was given out), `SAPPUBL1` (the last announcement) |
//! | 8 | 8 | the term, or the revision, little endian |
//! | 16 | | the announcement |
//! | | 32 | BLAKE3 (`derive_key`, "sapphire engine record v1") of all before |

use sa_fleet::announcement::MAX_SIZE;

const HEAD: usize = 16;
const CHECK: usize = 32;
/// No file of ours is longer. Units: bytes.
pub(super) const LONGEST: usize = HEAD + MAX_SIZE + CHECK;

/// Which file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Term,
    Announcement,
}

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Term => "term",
            Self::Announcement => "announcement",
        }
    }

    const fn magic(self) -> [u8; 8] {
        match self {
            Self::Term => *b"SAPTERM1",
            Self::Announcement => *b"SAPPUBL1",
        }
    }
}

/// The bytes for the disk.
pub(super) fn written(kind: Kind, number: u64, announcement: &[u8]) -> Vec<u8> {
    let mut bytes = kind.magic().to_vec();
    bytes.extend_from_slice(&number.to_le_bytes());
    bytes.extend_from_slice(announcement);
    let check = check(&bytes);
    bytes.extend_from_slice(&check);
    bytes
}

/// From the bytes on the disk: number and announcement. None for any other bytes than [`written`]
/// gives.
pub(super) fn read(kind: Kind, bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (before, sum) = bytes.split_last_chunk::<CHECK>()?;
    let (magic, rest) = before.split_first_chunk::<8>()?;
    let (number, announcement) = rest.split_first_chunk::<8>()?;
    let number = u64::from_le_bytes(*number);
    let is_bare = kind == Kind::Announcement || announcement.is_empty();
    // Neither is ever written as 0, which is what stands for no file.
    let is_ours = *magic == kind.magic() && is_bare && number != 0;
    (is_ours && *sum == check(before)).then_some((number, announcement))
}

fn check(bytes: &[u8]) -> [u8; CHECK] {
    blake3::derive_key("sapphire engine record v1", bytes)
}
