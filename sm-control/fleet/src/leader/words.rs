//! What a leader is told and wants done; among it the few words that an engine has to understand.
//!
//! An engine remembers who leads and what was published, and gives out terms. With etcd that is a
//! key bound to a lease, and one transaction for a publication; embedded, a counter and a file in
//! the state directory.

use core::time::Duration;
use std::sync::Arc;

use crate::announcement::Content;
use crate::identity::Position;

/// What happened.
#[derive(Debug)]
pub enum LeaderEvent<'a> {
    /// The time has come that [`super::Leader::timer`] gave.
    Timer,
    /// Whether this host is to lead: its operator says so, or it sees the master SM.
    Wanted(bool),
    /// A person wants it to lead in a new term, above this and above all that it saw itself.
    Promoted {
        /// The latest term that any host is said to have seen.
        above: u64,
    },
    /// Who polls says that it has seen this. Nobody signs that: it is worth a look of a person, and
    /// nothing more.
    Claimed(Position),
    /// This is compiled, checked, and can be fetched from as many hosts as are asked for.
    Compiled(Content),
    /// What was announced is not true any more, and what is true is not compiled yet.
    Changed,
    /// An engine's call has ended. Each ends once, with [`Returned::Unknown`] where there was no
    /// reply in time.
    Returned {
        /// Of [`LeaderAction::Call`].
        call: u64,
        /// How.
        returned: Returned<'a>,
    },
    /// An announcement of somebody came by.
    Saw(&'a [u8]),
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaderAction {
    /// Ask the engine.
    Call {
        /// Its number.
        call: u64,
        /// What.
        what: Call,
    },
    /// Tell a person.
    Alert(LeaderAlert),
}

/// A question to the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// Lead, if nobody does: [`Returned::Led`], [`Returned::Held`].
    ///
    /// An embedded engine raises its counter, above this too, and has it on the disk before it
    /// returns.
    Campaign {
        /// Terms up to this were seen.
        above: u64,
    },
    /// Keep the lease of this term: [`Returned::Alive`], [`Returned::Lost`].
    KeepAlive {
        /// Of [`Returned::Led`].
        term: u64,
    },
    /// Publish, if this term leads still and nobody published since: [`Returned::Published`],
    /// [`Returned::Fenced`].
    Publish {
        /// Of [`Returned::Led`].
        term: u64,
        /// What was last seen there.
        expected: Revision,
        /// Signed.
        announcement: Arc<[u8]>,
    },
    /// Who leads, and what is published: [`Returned::Read`].
    Read,
    /// Give the term back. Any return will do.
    Resign {
        /// Of [`Returned::Led`].
        term: u64,
    },
}

/// Which publication an engine holds; another one after each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Revision(pub u64);

/// How a call has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Returned<'a> {
    /// This host leads.
    Led {
        /// Higher than all before.
        term: u64,
        /// For how long without [`Call::KeepAlive`]; `None` for ever.
        lease: Option<Duration>,
        /// By who led before.
        published: Published<'a>,
    },
    /// Somebody else leads.
    Held,
    /// The lease runs from the beginning.
    Alive,
    /// The lease is gone.
    Lost,
    /// It is published.
    Published(Revision),
    /// It is not: another leads, or has published.
    Fenced,
    /// What the engine holds.
    Read {
        /// The term that leads, if any does.
        leader: Option<u64>,
        /// Last.
        published: Published<'a>,
    },
    /// It may have been done or not, or may yet be.
    Unknown,
}

/// What is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Published<'a> {
    /// Which.
    pub revision: Revision,
    /// Empty before the first.
    pub announcement: &'a [u8],
}

/// What a person should know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaderAlert {
    /// This host does not lead any more.
    SteppedDown(Why),
    /// Followers say that they have seen a later term, so they refuse what this leader says.
    FollowersAhead(Position),
    /// The engine gave a term that is not above all that were seen: its memory went back, and a new
    /// era is needed.
    TermWentBack {
        /// Given.
        term: u64,
        /// Seen.
        seen: Position,
    },
}

/// Why a leader ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The engine says that the lease is gone, or that another leads.
    LeaseLost,
    /// An announcement of a later term came by.
    LaterTerm,
    /// An announcement of the own term came by that is not of this leader.
    SameTerm,
    /// Nobody wants it to lead any more.
    Unwanted,
    /// A person wants a new term.
    Promoted,
}
