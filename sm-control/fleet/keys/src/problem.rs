//! What is wrong with a key's file.
//!
//! One error a file, with its name, and with line and column where the text is to blame: the key
//! stands in the second line.
//!
//! ```text
//! leader.key: others than its owner may read or change it (mode 0644); `chmod 0600` it, and ..
//! leader.key:2:1: the key is damaged: its checksum does not fit; take it from a copy, or make a new one
//! ```

use core::fmt;
use std::io;
use std::path::{Path, PathBuf};

use sa_text::{Location, Position};

/// Why a key's file cannot be read or written.
#[derive(Debug)]
pub struct KeyProblem {
    path: PathBuf,
    fault: KeyFault,
}

/// What is wrong with a key's file, without its name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFault {
    /// The system says no.
    #[error("cannot {0}: {1}")]
    Io(&'static str, io::Error),
    /// Something else.
    #[error("is no file; name the file of a secret key")]
    NoFile,
    /// Not its owner's alone.
    #[error(
        "others than its owner may read or change it (mode {0:04o}); `chmod 0600` it, and take another key if somebody may have"
    )]
    Open(u32),
    /// A new one would take its place.
    #[error("is there already, and no key is written over; name another file, or move it away")]
    Exists,
    /// No key.
    #[error(
        "expected a secret key of minisign, below a line `untrusted comment: `; `sapphire fleet key new FILE --name NAME` makes one"
    )]
    NoKey,
    /// It cannot be read without one.
    #[error(
        "the key has a password, and nobody is here to type it; sign by `minisign -S`, or give a leader a key of `sapphire fleet key new`"
    )]
    Password,
    /// Changed since it was written.
    #[error(
        "the key is damaged: its checksum does not fit; take it from a copy, or make a new one"
    )]
    Damaged,
}

impl KeyProblem {
    pub(crate) fn new(path: &Path, fault: KeyFault) -> Self {
        let path = path.to_owned();
        Self { path, fault }
    }

    /// What is wrong, without the file.
    pub const fn fault(&self) -> &KeyFault {
        &self.fault
    }

    /// Where: the key stands in the second line.
    pub fn location(&self) -> Location {
        let at = match self.fault {
            KeyFault::NoKey => Position::START,
            KeyFault::Password | KeyFault::Damaged => Position { line: 2, column: 1 },
            _ => return Location::file(&self.path),
        };
        Location::new(&self.path, at)
    }
}

impl fmt::Display for KeyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location(), self.fault)
    }
}

impl core::error::Error for KeyProblem {}
