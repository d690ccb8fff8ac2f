//! The newest that was seen, on the disk: without it a host would take what is replayed to it after
//! a restart.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use sa_fabric::outlet::{Folder, Readers, WriteError};
use sa_fleet::highest::{Highest, RECORD_SIZE};

/// The file's name, in the directory of the fleet.
const NAME: &str = "highest";

/// Where it is kept.
#[derive(Debug)]
pub struct Seen {
    folder: Folder,
}

/// What was seen is not known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SeenError {
    /// The directory cannot be used.
    #[error(transparent)]
    Folder(#[from] WriteError),
    /// The file cannot be read.
    #[error("{}: cannot be read: {why}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why not.
        why: io::Error,
    },
    /// It is no record. Going on without it would take what somebody replays.
    #[error(
        "{}: damaged: what this host has seen last is not known, and older announcements could be replayed to it; \
         if nobody could have done that, remove the file, and the host begins anew",
        path.display()
    )]
    Damaged {
        /// Which.
        path: PathBuf,
    },
}

impl Seen {
    /// What was seen, and where the next is kept. The directory is made; no file there is a first
    /// start.
    ///
    /// # Errors
    ///
    /// [`SeenError`].
    pub fn open(directory: &Path) -> Result<(Self, Highest), SeenError> {
        let folder = Folder::make(directory)?;
        folder.sweep(|_| false)?;
        let path = directory.join(NAME);
        let highest = match folder.open_file(NAME.as_ref(), OFlags::RDONLY) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Highest::NOTHING,
            Err(why) => return Err(SeenError::Read { path, why }),
            Ok(file) => {
                let mut record = Vec::new();
                // One byte more than a record has: a longer file is none.
                let read = file.take(RECORD_SIZE as u64 + 1).read_to_end(&mut record);
                if let Err(why) = read {
                    return Err(SeenError::Read { path, why });
                }
                Highest::from_record(&record).map_err(|_| SeenError::Damaged { path })?
            }
        };
        Ok((Self { folder }, highest))
    }

    /// Keeps this in place of the one before: other file, fsync, rename, fsync of the directory.
    /// Errors: what was there stays, or the new one may be there already.
    pub fn store(&self, record: &[u8; RECORD_SIZE]) -> Result<(), WriteError> {
        self.folder.write(NAME, Readers::Owner, record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sa_fleet::identity::{Digest, Issue, Position};

    #[test]
    fn what_was_stored_is_there_after_a_restart_and_damage_is_not_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fleet");
        let (seen, first) = Seen::open(&path).unwrap();
        assert_eq!(first, Highest::NOTHING);
        let issue = Issue {
            era: 1,
            term: 2,
            seq: 3,
        };
        let highest = Highest {
            position: Position { issue, beat: 4 },
            content: Digest([7; 32]),
            is_contradicted: false,
        };
        seen.store(&highest.to_record()).unwrap();
        assert_eq!(Seen::open(&path).unwrap().1, highest);
        let mut record = highest.to_record();
        record[20] ^= 1;
        for damaged in [&record[..], &record[..9], &[]] {
            std::fs::write(path.join(NAME), damaged).unwrap();
            assert!(matches!(Seen::open(&path), Err(SeenError::Damaged { .. })));
        }
    }
}
