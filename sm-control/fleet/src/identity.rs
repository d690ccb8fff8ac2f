//! What is followed, and which of two announcements is the newer one.

use core::fmt;

/// Which fleet: 16 random bytes, made once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FleetId(pub [u8; 16]);

/// Which key of a leader; the eight bytes that minisign calls the key number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId(pub [u8; 8]);

/// BLAKE3 of a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

/// What answers depend on, in two parts; where either differs, an answer may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Generation {
    /// LIDs, tables and SLs of the routing engine.
    pub paths: Digest,
    /// QoS policy and partitions.
    pub policy: Digest,
}

/// A generation in one word, for workers, who compare it with that of the snapshot in their hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(pub u64);

/// Where an announcement stands among all of a subnet of a fleet: the greater one counts.
///
/// Zeros stand before every announcement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Position {
    /// What it says.
    pub issue: Issue,
    /// How often it was said again.
    pub beat: u64,
}

/// Which content: all beats of one issue have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Issue {
    /// Raised by the root keys alone, after the engine's memory went back or was lost.
    pub era: u32,
    /// Of the leader; no two leaders have the same in one era.
    pub term: u64,
    /// From 1 in each term.
    pub seq: u64,
}

impl Token {
    /// Of no generation.
    pub const NONE: Self = Self(0);
}

impl Generation {
    /// In one word, never [`Token::NONE`].
    pub fn token(&self) -> Token {
        let mut hasher = blake3::Hasher::new_derive_key("sapphire generation token v1");
        hasher.update(&self.paths.0).update(&self.policy.0);
        let mut word = [0; 8];
        hasher.finalize_xof().fill(&mut word);
        Token(u64::from_le_bytes(word).max(1))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.issue, self.beat)
    }
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.era, self.term, self.seq)
    }
}
