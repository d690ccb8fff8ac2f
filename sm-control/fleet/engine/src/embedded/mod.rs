//! The engine of a host that leads alone: terms by a counter, and the last announcement, in two
//! files.
//!
//! ```text
//!  open:     lock, sweep, read both ── damaged ──> error, and a person decides
//!  Campaign: term = max(counter, above) + 1 ──> file `term` ──> Led
//!  Publish:  this term, this revision ──> file `announcement` ──> Published
//!  error:    Unknown; both are read again, and made to last, before anything else is said
//! ```
//!
//! Each file is written beside its place, synced, renamed, and the directory synced, before the
//! call returns. A process that is killed at any step leaves the old file or the new one. No file
//! says who leads: a process that begins leads nothing until it has a new term.
//!
//! Why an error leads to another reading: the rename may have been done and its sync not, so
//! neither the old nor the new can be said to be there. What a start finds may be no more than that
//! either, so the first call after it makes it last as well.
//!
//! There is no lease: a second directory gives out terms of its own, and whoever promotes a leader
//! says above which.

mod record;

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;
use sa_fabric::outlet::{Folder, Readers, WriteError};
use sa_fleet::announcement::MAX_SIZE;
use sa_fleet::leader::{Call, Revision};

use self::record::Kind;
use crate::answer::{Announced, Answer, Engine};

/// See the module.
#[derive(Debug)]
pub struct Embedded {
    folder: Folder,
    /// What the files say.
    kept: Kept,
    /// What they say has been made to last. Not so after an error, and not after a start.
    is_settled: bool,
    /// The term that leads, of this process alone.
    leader: Option<u64>,
    trouble: Option<String>,
}

/// Why a directory cannot be an engine's.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// It cannot be made, listed or synced.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A file in it cannot be read.
    #[error("{}: cannot be read: {why}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why not.
        why: io::Error,
    },
    /// It is not known which terms were given out, or what was published.
    #[error(
        "{}: {what}, and to begin anew here would give out terms twice; raise the era in the root file, then empty the directory",
        path.display()
    )]
    Damaged {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
    },
    /// Two would give out the same terms.
    #[error("{}: is used by another leader that runs on this host; end that first", path.display())]
    Taken {
        /// Which.
        path: PathBuf,
    },
}

/// What is in the files.
#[derive(Debug, Default)]
struct Kept {
    term: u64,
    published: Announced,
}

impl Embedded {
    /// Opens the directory, or makes it in one that is there. It is this engine's alone, for as
    /// long as this lives.
    ///
    /// # Errors
    ///
    /// [`OpenError`]. Nothing was changed then, but for temporary files of a killed process.
    pub fn open(directory: &Path) -> Result<Self, OpenError> {
        let above = Folder::of(directory)?;
        let folder = Folder::make(directory)?;
        lock(&folder)?;
        folder.sweep(|_| false)?;
        let kept = Kept::load(&folder)?;
        if kept.term == 0 {
            // A directory that is gone after a power cut would be a first start once more.
            sync(&above)?;
        }
        Ok(Self {
            folder,
            kept,
            is_settled: false,
            leader: None,
            trouble: None,
        })
    }

    /// The last term that was given out; 0 before the first.
    pub const fn term(&self) -> u64 {
        self.kept.term
    }

    fn done(&mut self, what: &Call) -> Result<Answer, String> {
        match what {
            Call::Campaign { above } => self.campaign(*above),
            Call::Publish {
                term,
                expected,
                announcement,
            } => self.publish(*term, *expected, announcement),
            Call::Read => {
                self.settle()?;
                Ok(Answer::Read {
                    leader: self.leader,
                    published: self.kept.published.clone(),
                })
            }
            Call::KeepAlive { term } if self.leader == Some(*term) => Ok(Answer::Alive),
            Call::KeepAlive { .. } => Ok(Answer::Lost),
            Call::Resign { term } => {
                self.leader = self.leader.filter(|leader| leader != term);
                Ok(Answer::Lost)
            }
        }
    }

    /// Nobody else can lead by this directory, so this is never refused: who asks again has not
    /// heard of the term before.
    fn campaign(&mut self, above: u64) -> Result<Answer, String> {
        self.leader = None;
        self.reload()?;
        let term = self.kept.term.max(above).checked_add(1);
        let term = term.ok_or("there is no term above this one")?;
        // What is synced here is the directory, so that what was found in it lasts too.
        self.write(Kind::Term, term, &[])?;
        self.kept.term = term;
        self.is_settled = true;
        self.leader = Some(term);
        Ok(Answer::Led {
            term,
            lease: None,
            published: self.kept.published.clone(),
        })
    }

    fn publish(
        &mut self,
        term: u64,
        expected: Revision,
        announcement: &Arc<[u8]>,
    ) -> Result<Answer, String> {
        self.settle()?;
        let before = self.kept.published.revision;
        if self.leader != Some(term) || before != expected {
            return Ok(Answer::Fenced);
        }
        // It could not be read again.
        if announcement.len() > MAX_SIZE {
            return Err(format!("an announcement has at most {MAX_SIZE} bytes"));
        }
        let next = before.0.checked_add(1);
        let next = next.ok_or("there is no revision above this one")?;
        self.write(Kind::Announcement, next, announcement)?;
        let revision = Revision(next);
        self.kept.published = Announced {
            revision,
            announcement: Arc::clone(announcement),
        };
        Ok(Answer::Published(revision))
    }

    /// Reads the files again, unless it is known what they say.
    fn reload(&mut self) -> Result<(), String> {
        if !self.is_settled {
            let kept = Kept::load(&self.folder).map_err(|error| error.to_string())?;
            // Somebody has put other files there, and terms that were given out are never given out again.
            if kept.term < self.kept.term {
                return Err("the counter of terms went back under a running leader".to_owned());
            }
            self.kept = kept;
        }
        Ok(())
    }

    /// What the files say, and it lasts.
    fn settle(&mut self) -> Result<(), String> {
        self.reload()?;
        if !self.is_settled && self.kept.term > 0 {
            self.write(Kind::Term, self.kept.term, &[])?;
        }
        self.is_settled = true;
        Ok(())
    }

    fn write(&mut self, kind: Kind, number: u64, announcement: &[u8]) -> Result<(), String> {
        let bytes = record::written(kind, number, announcement);
        let written = self.folder.write(kind.name(), Readers::Owner, &bytes);
        written.map_err(|error| error.to_string())
    }
}

impl Engine for Embedded {
    fn call(&mut self, what: &Call) -> Answer {
        self.trouble = None;
        self.done(what).unwrap_or_else(|trouble| {
            self.is_settled = false;
            self.trouble = Some(trouble);
            Answer::Unknown
        })
    }

    fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }
}

impl Kept {
    fn load(folder: &Folder) -> Result<Self, OpenError> {
        let term = load(folder, Kind::Term)?;
        let published = load(folder, Kind::Announcement)?;
        if term.is_none() && published.is_some() {
            return Err(OpenError::Damaged {
                path: folder.path().join(Kind::Term.name()),
                what: "the counter of terms is gone, while an announcement is there",
            });
        }
        let (term, _) = term.unwrap_or_default();
        let (revision, announcement) = published.unwrap_or_default();
        let published = Announced {
            revision: Revision(revision),
            announcement: announcement.into(),
        };
        Ok(Self { term, published })
    }
}

/// One file: number and announcement. None where there is none.
fn load(folder: &Folder, kind: Kind) -> Result<Option<(u64, Vec<u8>)>, OpenError> {
    let path = || folder.path().join(kind.name());
    let failed = |why| OpenError::Read { path: path(), why };
    let file = match folder.open_file(kind.name().as_ref(), OFlags::RDONLY) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mut bytes = Vec::new();
    // One more than there may be, so that what is longer is seen to be.
    let most = record::LONGEST as u64 + 1;
    file.take(most).read_to_end(&mut bytes).map_err(failed)?;
    let is_whole = bytes.len() <= record::LONGEST;
    let read = record::read(kind, &bytes).filter(|_| is_whole);
    let Some((number, announcement)) = read else {
        let what = match kind {
            Kind::Term => "is no counter of terms, or damaged",
            Kind::Announcement => "is no published announcement, or damaged",
        };
        return Err(OpenError::Damaged { path: path(), what });
    };
    Ok(Some((number, announcement.to_vec())))
}

/// The kernel's lock on the open directory goes with the process however that ends.
fn lock(folder: &Folder) -> Result<(), OpenError> {
    loop {
        match rustix::fs::flock(folder.as_fd(), FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            // A signal came: at once again.
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) => {
                let path = folder.path().to_owned();
                return Err(OpenError::Taken { path });
            }
            Err(error) => return Err(WriteError::io("lock", folder.path(), error).into()),
        }
    }
}

/// Makes the directory itself last.
fn sync(folder: &Folder) -> Result<(), WriteError> {
    match rustix::fs::fsync(folder) {
        // A file system that knows no such thing.
        Ok(()) | Err(Errno::INVAL) => Ok(()),
        Err(error) => Err(WriteError::io("sync", folder.path(), error)),
    }
}
