//! The root file: who may sign announcements of a fleet, signed by several people's keys that lie
//! on no leader.
//!
//! ```text
//! sapphire-root 1
//! fleet 000102030405060708090a0b0c0d0e0f
//! version 2
//! era 1
//! threshold 2
//! root RWQBAQEBAQEBAYqIk...  alice
//! root RWQCAgICAgICAoE5d...  bob
//! leader RWQDAwMDAwMDAzuzb... 2027-06-30  sm-a
//! ```
//!
//! Keys are minisign's public keys. Each signature is a file of minisign beside it, so that a
//! person checks it by hand: `minisign -V -m root -x root.alice.minisig -P RWQBAQ...`. What was
//! signed without hashing first (`-l`) does not count.
//!
//! A host is installed with one. It takes a newer one if as many keys have signed it as the one it
//! has asks for, and as many of its own as it asks for itself; version and era only grow. (The
//! rules of The Update Framework.)

mod text;

use core::fmt;
use std::collections::BTreeSet;

use minisign_verify::{PublicKey, Signature};
use sa_text::Position;

use crate::identity::FleetId;
use crate::trust::{Trust, TrustedKey};

pub use text::date;

/// The longest root file. Units: bytes.
pub const MAX_ROOT_SIZE: usize = 16 << 10;
/// The longest signature file. Units: bytes.
pub const MAX_SIGNATURE_SIZE: usize = 4 << 10;
/// The most keys of a root file, and the most signatures that are looked at.
pub const MAX_KEYS: usize = 64;

/// A root file that is believed.
#[derive(Debug, Clone)]
pub struct Root {
    fleet: FleetId,
    version: u32,
    era: u32,
    threshold: usize,
    roots: Vec<RootKey>,
    leaders: Vec<TrustedKey>,
}

/// A key that signs root files.
#[derive(Debug, Clone)]
struct RootKey {
    key: PublicKey,
    bytes: [u8; 32],
}

/// Why a root file is not believed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RootRefusal {
    /// It cannot be read, at that place.
    Text(Position, RootProblem),
    /// Of another fleet.
    OtherFleet,
    /// Not newer than the one that is held.
    OldVersion,
    /// Its era is before that of the one that is held.
    OldEra,
    /// Too few keys of the one that is held have signed it.
    OldKeys {
        /// That have.
        signed: usize,
        /// That must.
        threshold: usize,
    },
    /// Too few of its own keys have signed it.
    OwnKeys {
        /// That have.
        signed: usize,
        /// That must.
        threshold: usize,
    },
}

/// What is wrong in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RootProblem {
    /// Too long, or not UTF-8.
    #[error("expected a text of at most 16 KiB in UTF-8")]
    Size,
    /// Another beginning.
    #[error("expected `sapphire-root 1` in the first line")]
    Beginning,
    /// A word that begins no line.
    #[error("expected fleet, version, era, threshold, root or leader")]
    Keyword,
    /// A line that was there already.
    #[error("this line was there already; remove one")]
    Twice,
    /// A line that must be there.
    #[error("expected a line `{0}` before the end")]
    Missing(&'static str),
    /// Not 32 hexadecimal digits.
    #[error("expected 32 hexadecimal digits")]
    Fleet,
    /// Not a number from 1.
    #[error("expected a number from 1 to 4294967295")]
    Number,
    /// No public key of minisign.
    #[error("expected a public key of minisign: 56 characters that begin with RW")]
    Key,
    /// The same key, or the same key number, twice.
    #[error(
        "this key, or another with its number, was there already; whoever has two would count twice"
    )]
    SameKey,
    /// No date.
    #[error("expected a date such as 2027-06-30, from which on the key does not count")]
    Date,
    /// More words than a line has.
    #[error("expected the end of the line, or a name of one word behind the key")]
    Rest,
    /// More keys than are looked at.
    #[error("more than 64 keys; list fewer")]
    ManyKeys,
    /// A threshold that the keys cannot reach, or that one key reaches where there are several.
    #[error("expected a threshold that is at most the number of root keys")]
    Threshold,
}

impl Root {
    /// The root file that a host is installed with. Whoever may write it decides what this host
    /// believes.
    ///
    /// # Errors
    ///
    /// Where it cannot be read, or its own keys have not signed it: then it was changed since.
    pub fn installed(text: &[u8], signatures: &[&str]) -> Result<Self, RootRefusal> {
        let root = text::parse(text)?;
        root.is_signed_by_itself(text, signatures)?;
        Ok(root)
    }

    /// A newer one in place of this.
    ///
    /// # Errors
    ///
    /// The first reason against it.
    pub fn succeeded_by(&self, text: &[u8], signatures: &[&str]) -> Result<Self, RootRefusal> {
        let next = text::parse(text)?;
        if next.fleet != self.fleet {
            return Err(RootRefusal::OtherFleet);
        }
        if next.version <= self.version {
            return Err(RootRefusal::OldVersion);
        }
        if next.era < self.era {
            return Err(RootRefusal::OldEra);
        }
        let (signed, threshold) = (self.signatures(text, signatures), self.threshold);
        if signed < threshold {
            return Err(RootRefusal::OldKeys { signed, threshold });
        }
        next.is_signed_by_itself(text, signatures)?;
        Ok(next)
    }

    /// What followers and leaders judge announcements by.
    pub fn trust(&self) -> Trust {
        Trust {
            fleet: self.fleet,
            era: self.era,
            root_version: self.version,
            keys: self.leaders.clone(),
        }
    }

    /// Of this file. The next one is asked for by one more.
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// A file whose own keys have not signed it could lock out all that come after it.
    fn is_signed_by_itself(&self, text: &[u8], signatures: &[&str]) -> Result<(), RootRefusal> {
        let (signed, threshold) = (self.signatures(text, signatures), self.threshold);
        if signed < threshold {
            return Err(RootRefusal::OwnKeys { signed, threshold });
        }
        Ok(())
    }

    /// How many of the root keys have signed a text: each once, however many signatures it has
    /// made.
    fn signatures(&self, text: &[u8], signatures: &[&str]) -> usize {
        let short = signatures
            .iter()
            .filter(|it| it.len() <= MAX_SIGNATURE_SIZE);
        let read = short
            .take(MAX_KEYS)
            .filter_map(|it| Signature::decode(it).ok());
        let keys = read.filter_map(|signature| {
            let mut keys = self.roots.iter();
            keys.position(|root| root.key.verify(text, &signature, false).is_ok())
        });
        keys.collect::<BTreeSet<_>>().len()
    }
}

impl RootRefusal {
    /// The label of its counter.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Text(..) => "text",
            Self::OtherFleet => "other_fleet",
            Self::OldVersion => "old_version",
            Self::OldEra => "old_era",
            Self::OldKeys { .. } => "old_keys",
            Self::OwnKeys { .. } => "own_keys",
        }
    }
}

impl fmt::Display for RootRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(at, problem) => write!(f, "{}:{}: {problem}", at.line, at.column),
            Self::OtherFleet => f.write_str("it is of another fleet"),
            Self::OldVersion => f.write_str("it is not newer than the one that is held"),
            Self::OldEra => f.write_str("its era is before that of the one that is held"),
            Self::OldKeys { signed, threshold } => write!(
                f,
                "{signed} keys of the root file that is held have signed it, and {threshold} must"
            ),
            Self::OwnKeys { signed, threshold } => {
                write!(
                    f,
                    "{signed} of its own keys have signed it, and {threshold} must"
                )
            }
        }
    }
}

impl core::error::Error for RootRefusal {}
