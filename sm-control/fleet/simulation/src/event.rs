//! What happens, on a host or to all. A message is an event on who gets it.

use std::sync::Arc;
use std::time::Duration;

use sa_fleet::highest::RECORD_SIZE;
use sa_fleet::identity::Position;
use sa_fleet::leader::Call;

use crate::clock::Time;
use crate::engine::Kept;

/// Something that happens on a host, or to all.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) host: usize,
    /// Of this process only.
    pub(crate) life: Option<u32>,
    pub(crate) what: What,
}

#[derive(Debug, Clone)]
pub(crate) enum What {
    /// By its number in the schedule.
    Fault(usize),
    /// A process begins.
    Start,
    /// A timer that was set for then.
    Timer(Time),
    /// Polls that wait are looked at.
    Polls(Time),
    /// A poll has come.
    Poll {
        from: usize,
        life: u32,
        ask: u64,
        after: Position,
    },
    /// A reply to an own poll.
    Reply {
        ask: u64,
        bytes: Arc<[u8]>,
        held: Duration,
        remaining: Duration,
    },
    /// "Nothing new."
    Quiet(u64),
    /// Nobody is there.
    Refused(u64),
    /// An fsync has ended.
    Synced {
        order: u64,
        record: [u8; RECORD_SIZE],
        is_told: bool,
    },
    /// A follower is told so too early.
    Stored(u64),
    /// A file was looked for on the disk.
    Loaded(u64),
    /// A file was asked of an upstream.
    Fetched { job: u64, upstream: usize },
    /// The engine is asked.
    Asked {
        from: usize,
        life: u32,
        call: u64,
        what: Call,
    },
    /// An embedded engine has written.
    Done {
        call: u64,
        what: Call,
        is_told: bool,
    },
    /// A call has ended.
    Returned { call: u64, kept: Kept },
    /// An announcement comes by.
    Saw(Arc<[u8]>),
    /// The fabric is known to be another.
    Changed,
    /// A compilation has ended.
    Compiled(u32),
    /// Own ports are looked at.
    Ports,
    /// Own ports are as they were.
    PortsBack,
    /// A person says what is wanted.
    Wanted,
    /// A person promotes this host.
    Promoted,
}
