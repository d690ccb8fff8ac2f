//! An engine with leases, as far as a leader sees of etcd: one key bound to a lease, and fenced
//! publications.

use std::sync::Arc;
use std::time::Duration;

use sa_fleet::leader::{Call, Published, Returned, Revision};

use crate::chance::Chance;
use crate::clock::{MS, Time};
use crate::schedule::LEASE;

/// What an engine holds. Everything that it acknowledged is on its disks.
#[derive(Debug, Default)]
pub(crate) struct Engine {
    revision: u64,
    /// The term that leads, of whom, and until when.
    leader: Option<(u64, usize, Time)>,
    published: (u64, Option<Arc<[u8]>>),
    /// It answers nobody before.
    pub(crate) down_until: Time,
    /// Every term that was given out, and when.
    pub(crate) terms: Vec<(u64, Time)>,
}

/// A return that is on its way.
#[derive(Debug, Clone)]
pub(crate) enum Kept {
    /// [`Returned::Led`]
    Led(u64, Option<Duration>, u64, Option<Arc<[u8]>>),
    /// [`Returned::Held`]
    Held,
    /// [`Returned::Alive`]
    Alive,
    /// [`Returned::Lost`]
    Lost,
    /// [`Returned::Published`]
    Published(u64),
    /// [`Returned::Fenced`]
    Fenced,
    /// [`Returned::Read`]
    Read(Option<u64>, u64, Option<Arc<[u8]>>),
    /// [`Returned::Unknown`]
    Unknown,
}

/// A publication that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Taken(pub Arc<[u8]>);

impl Engine {
    /// Does what is asked. A publication that was taken is handed out for the oracle.
    pub(crate) fn does(
        &mut self,
        from: usize,
        call: &Call,
        now: Time,
        chance: &mut Chance,
    ) -> (Kept, Option<Taken>) {
        self.leader = self.leader.filter(|(.., until)| now < *until);
        let term = self.leader.map(|(term, ..)| term);
        let kept = match call {
            Call::Campaign { .. } if term.is_some() => Kept::Held,
            Call::Campaign { .. } => {
                self.revision += 1;
                self.leader = Some((self.revision, from, Self::lease_end(now, chance)));
                self.terms.push((self.revision, now));
                let (revision, bytes) = self.published.clone();
                Kept::Led(self.revision, Some(LEASE), revision, bytes)
            }
            Call::KeepAlive { term: of } if term == Some(*of) => {
                self.leader = Some((*of, from, Self::lease_end(now, chance)));
                Kept::Alive
            }
            Call::KeepAlive { .. } => Kept::Lost,
            Call::Publish {
                term: of,
                expected,
                announcement,
            } => {
                if term != Some(*of) || expected.0 != self.published.0 {
                    return (Kept::Fenced, None);
                }
                self.revision += 1;
                self.published = (self.revision, Some(Arc::clone(announcement)));
                let taken = Taken(Arc::clone(announcement));
                return (Kept::Published(self.revision), Some(taken));
            }
            Call::Read => Kept::Read(term, self.published.0, self.published.1.clone()),
            Call::Resign { term: of } => {
                self.leader = self.leader.filter(|(term, ..)| term != of);
                Kept::Unknown
            }
        };
        (kept, None)
    }

    /// A lease ends by the engine's clock, which looks now and then.
    fn lease_end(now: Time, chance: &mut Chance) -> Time {
        let lease = u64::try_from(LEASE.as_nanos()).unwrap_or(0);
        now + lease - lease / 2_000 + chance.within(0, 300 * MS)
    }
}

impl Kept {
    /// As a leader is told.
    pub(crate) fn returned(&self) -> Returned<'_> {
        match self {
            Self::Led(term, lease, revision, bytes) => Returned::Led {
                term: *term,
                lease: *lease,
                published: published(*revision, bytes.as_ref()),
            },
            Self::Held => Returned::Held,
            Self::Alive => Returned::Alive,
            Self::Lost => Returned::Lost,
            Self::Published(revision) => Returned::Published(Revision(*revision)),
            Self::Fenced => Returned::Fenced,
            Self::Read(leader, revision, bytes) => Returned::Read {
                leader: *leader,
                published: published(*revision, bytes.as_ref()),
            },
            Self::Unknown => Returned::Unknown,
        }
    }
}

/// With nothing for what was never published.
fn published(revision: u64, bytes: Option<&Arc<[u8]>>) -> Published<'_> {
    let announcement = bytes.map_or(&[][..], |bytes| &bytes[..]);
    Published {
        revision: Revision(revision),
        announcement,
    }
}
