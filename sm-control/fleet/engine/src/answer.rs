//! The trait, and what comes back.

use std::sync::Arc;
use std::time::Duration;

use sa_fleet::leader::{Call, Published, Returned, Revision};

/// What a leader asks. It blocks: give it a thread of its own.
pub trait Engine: Send {
    /// Does what is asked, once, and says how it ended.
    ///
    /// An engine in a network gives up after a time that it was set up with, and says
    /// [`Answer::Unknown`]. A disk that hangs holds it for as long as it hangs: whoever waits goes
    /// by a clock of their own, as a leader says nothing after its lease anyway.
    fn call(&mut self, what: &Call) -> Answer;

    /// Why the last call ended in [`Answer::Unknown`], for people. Nothing is decided by it.
    fn trouble(&self) -> Option<&str> {
        None
    }
}

/// [`Returned`], with its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// [`Returned::Led`]
    Led {
        /// Higher than all before.
        term: u64,
        /// For how long without another call; `None` for ever.
        lease: Option<Duration>,
        /// By who led before.
        published: Announced,
    },
    /// [`Returned::Held`]
    Held,
    /// [`Returned::Alive`]
    Alive,
    /// [`Returned::Lost`]
    Lost,
    /// [`Returned::Published`]
    Published(Revision),
    /// [`Returned::Fenced`]
    Fenced,
    /// [`Returned::Read`]
    Read {
        /// The term that leads, if any does.
        leader: Option<u64>,
        /// Last.
        published: Announced,
    },
    /// [`Returned::Unknown`]
    Unknown,
}

/// [`Published`], with its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Announced {
    /// Which; 0 before the first.
    pub revision: Revision,
    /// Empty before the first.
    pub announcement: Arc<[u8]>,
}

impl Answer {
    /// As a leader is told.
    pub fn returned(&self) -> Returned<'_> {
        match self {
            Self::Led {
                term,
                lease,
                published,
            } => Returned::Led {
                term: *term,
                lease: *lease,
                published: published.lent(),
            },
            Self::Held => Returned::Held,
            Self::Alive => Returned::Alive,
            Self::Lost => Returned::Lost,
            Self::Published(revision) => Returned::Published(*revision),
            Self::Fenced => Returned::Fenced,
            Self::Read { leader, published } => Returned::Read {
                leader: *leader,
                published: published.lent(),
            },
            Self::Unknown => Returned::Unknown,
        }
    }
}

impl Announced {
    fn lent(&self) -> Published<'_> {
        Published {
            revision: self.revision,
            announcement: &self.announcement,
        }
    }
}
