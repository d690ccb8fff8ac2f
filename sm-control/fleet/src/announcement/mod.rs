//! The announcement: at most 1 KiB, signed, from which a follower knows what is in force and for
//! how long.
//!
//! ```text
//! 0    magic "SAPFLEET"                8
//! 8    version 1, flags                2, 2   flags: 1 withdrawn, 2 drill; others are refused
//! 12   number of blobs, of deltas, 0   1, 1, 2
//! 16   fleet                           16
//! 32   subnet prefix, as in a GID      8
//! 40   era, version of the root file   4, 4
//! 48   term, seq, beat                 8, 8, 8   each from 1
//! 72   issued, TTL, 0                  8, 4, 4   ms since 1970, ms
//! 88   key id                          8
//! 96   generation of paths, of policy  32, 32
//! 160  blobs: digest, size, format, 0            32, 8, 4, 4 each; at most 4, by format
//!      deltas: from, patch, size, blob, 0        32, 32, 4, 1, 3 each; at most 8, by blob and from
//!      signature                       64
//! ```
//!
//! Integers are little endian. The signature is ed25519 over `sapphire announcement v1` and all
//! bytes before it. The same announcement has the same bytes always, and no others: what is zero
//! must be, and lists have one order.

mod bytes;
mod content;
mod layout;

use core::time::Duration;

pub(crate) use bytes::seal;
pub use content::{Blob, Content, Delta, MAX_BLOBS, MAX_DELTAS, Unannounceable};
use ed25519_dalek::SigningKey;
use sa_wire::SubnetPrefix;

use crate::identity::{Digest, FleetId, KeyId, Position};
use crate::rules::Rules;
use crate::time::Wall;

/// The longest announcement. Units: bytes.
pub const MAX_SIZE: usize = 1024;

const _: () = assert!(layout::length(MAX_BLOBS, MAX_DELTAS) <= MAX_SIZE);

/// What is said, when, and by whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    /// Of which fleet.
    pub fleet: FleetId,
    /// Of which subnet.
    pub subnet: SubnetPrefix,
    /// Among all others.
    pub position: Position,
    /// The root file that the leader goes by. Who has an older one should fetch it.
    pub root_version: u32,
    /// Who signs.
    pub key: KeyId,
    /// When this beat was made, by the leader's wall clock.
    pub issued: Wall,
    /// For how long it is good from then on. Units: whole ms on the wire.
    pub ttl: Duration,
    /// What is said.
    pub content: Content,
}

/// A leader's key. It is zeroed when it is dropped.
pub struct LeaderKey {
    /// As the root file has it.
    pub id: KeyId,
    signing: SigningKey,
}

impl LeaderKey {
    /// From the 32 bytes of the secret. The caller zeroes its own copy.
    pub fn new(id: KeyId, secret: &[u8; 32]) -> Self {
        let signing = SigningKey::from_bytes(secret);
        Self { id, signing }
    }

    /// What the root file has to have of it.
    pub fn public(&self) -> [u8; 32] {
        self.signing.verifying_key().to_bytes()
    }
}

impl core::fmt::Debug for LeaderKey {
    // The secret stays here.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "LeaderKey({:02x?})", self.id.0)
    }
}

/// Where bytes say that they stand, whoever signed them: to ask for what is newer, and for nothing
/// else. None: they are no announcement.
pub fn claimed_position(bytes: &[u8]) -> Option<Position> {
    let announcement = seal(bytes).ok()?.open().ok()?;
    Some(announcement.position)
}

impl Announcement {
    /// Its bytes, signed. The key's number is the one that they name.
    pub fn sign(&self, key: &LeaderKey, rules: &impl Rules) -> Vec<u8> {
        let mut bytes = bytes::unsigned(self, key.id);
        let signature = rules.sign(&key.signing, &[layout::DOMAIN, &bytes]);
        bytes.extend_from_slice(&signature);
        bytes
    }

    /// What tells two contents apart, whoever signs them and whenever.
    pub fn content_digest(&self) -> Digest {
        bytes::content_digest(&self.content)
    }
}
