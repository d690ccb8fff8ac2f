//! What a follower is told, and what it wants done.

use crate::announcement::{Blob, Delta};
use crate::highest::RECORD_SIZE;
use crate::identity::{Digest, Position, Token};
use crate::offer::Reply;
use crate::time::Boot;
use crate::trust::Trust;
use crate::verdict::Ports;

/// What happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// The time has come that [`super::Follower::timer`] gave. It may come at any other time, too.
    Timer,
    /// An upstream replied to a poll.
    Replied {
        /// Of [`Action::Ask`].
        ask: u64,
        /// As it came.
        reply: Reply<'a>,
    },
    /// An upstream has nothing newer.
    Quiet {
        /// Of [`Action::Ask`].
        ask: u64,
    },
    /// There was no reply, or none that could be read.
    Unanswered {
        /// Of [`Action::Ask`].
        ask: u64,
    },
    /// A record is on the disk, and stays there if power fails now; or is not.
    Stored {
        /// Of [`Action::Store`].
        order: u64,
        /// Whether it is.
        is_stored: bool,
    },
    /// A job on a snapshot file has ended.
    Ended {
        /// Of [`Action::Load`], [`Action::FetchPatch`] or [`Action::FetchWhole`].
        job: u64,
        /// How.
        outcome: Outcome,
    },
    /// Own ports were looked at.
    Ports(Ports),
    /// A newer root file was read and found good.
    Root(Trust),
}

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// As wanted.
    Done,
    /// There is no such file.
    Missing,
    /// It could not be done now: no connection, no room, an error of the disk.
    Failed,
    /// It was done, and what came is not what was announced, or must not be used here.
    Bad,
}

/// What is to be done, in this order. Each [`Action`] with a number is answered by one [`Event`]
/// with the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Poll an upstream. No reply until `give_up` is [`Event::Unanswered`]; this is looked after
    /// here, too.
    Ask {
        /// Its number.
        ask: u64,
        /// Place in the list of upstreams.
        upstream: usize,
        /// What is known.
        after: Position,
        /// When to end the connection.
        give_up: Boot,
    },
    /// Write this record where the one before is: other file, fsync, rename, fsync of the
    /// directory.
    Store {
        /// Its number.
        order: u64,
        /// For [`crate::highest::Highest::from_record`] at the next start.
        record: [u8; RECORD_SIZE],
    },
    /// Map a file of this digest, if it is on the disk, check bytes, structure, subnet and own
    /// ports, and keep it ready.
    Load {
        /// Its number.
        job: u64,
        /// The file.
        blob: Blob,
    },
    /// Fetch a patch, make the file of it, check its digest, and put it among the others.
    FetchPatch {
        /// Its number.
        job: u64,
        /// Place in the list of upstreams.
        upstream: usize,
        /// What is fetched, and what it is applied to.
        delta: Delta,
        /// What it makes.
        blob: Blob,
    },
    /// Fetch a whole file, check its digest, and put it among the others.
    FetchWhole {
        /// Its number.
        job: u64,
        /// Place in the list of upstreams.
        upstream: usize,
        /// The file.
        blob: Blob,
    },
    /// End a job: nobody waits for it any more, and it must have no event.
    Cancel {
        /// Its number.
        job: u64,
    },
    /// Publish what [`Action::Load`] keeps ready, as of this generation, then look at own ports
    /// again.
    Swap {
        /// Of that `Load`.
        job: u64,
        /// Workers compare it with the gate's.
        generation: Token,
    },
    /// Fetch the root file of this version, and check it.
    FetchRoot {
        /// One more than is held.
        version: u32,
    },
    /// Tell a person.
    Alert(Alert),
}

/// What a person should know. Each is told when it begins, not as long as it lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Alert {
    /// Two leaders use one term, or a leader's key is in other hands.
    Contradiction(Position),
    /// What was seen cannot be written to the disk; this host ends to answer when its deadline has
    /// passed.
    CannotStore,
    /// Two upstreams gave other bytes than the leader announced.
    WrongBytes(Digest),
    /// The file is what was announced, and cannot be used here.
    Unfit(Digest),
    /// No announced file is of a format that is known here.
    NoFormat,
    /// The wall clock is far from the leader's.
    OddClock,
}
