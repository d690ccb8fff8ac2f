//! One host: its machines, and what it has of disk, clock and connections.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use sa_fleet::follower::Follower;
use sa_fleet::highest::RECORD_SIZE;
use sa_fleet::identity::{Digest, Position, Token};
use sa_fleet::leader::Leader;
use sa_fleet::offer::{Offer, Poll};
use sa_fleet::time::Boot;
use sa_fleet::verdict::Gate;

use crate::clock::{Clock, Time};
use crate::notary::Broken;

/// What is on a disk, and what is being written.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    /// What was seen.
    pub(crate) record: Option<[u8; RECORD_SIZE]>,
    /// To be there when the fsync has ended; before, who knows.
    pub(crate) writing: Option<[u8; RECORD_SIZE]>,
    /// Snapshot files.
    pub(crate) files: HashSet<Digest>,
    /// Every write before this fails.
    pub(crate) bad_until: Time,
    /// The last term of an embedded engine.
    pub(crate) counter: u64,
    /// What an embedded engine has published.
    pub(crate) published: (u64, Option<Arc<[u8]>>),
}

/// A poll that has no reply yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiting {
    /// Who polls.
    pub(crate) from: usize,
    /// The process of it.
    pub(crate) life: u32,
    /// Its number there.
    pub(crate) ask: u64,
    /// What is asked.
    pub(crate) poll: Poll,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Host {
    /// Both clocks.
    pub(crate) clock: Clock,
    /// Another number for each process.
    pub(crate) life: u32,
    /// Whether there is one.
    pub(crate) is_up: bool,
    /// It does nothing before.
    pub(crate) paused_until: Time,
    /// When its clocks were read last.
    pub(crate) last_read: Time,
    /// Every host follows.
    pub(crate) follower: Follower<Broken>,
    /// Candidates may lead.
    pub(crate) leader: Option<Leader<Broken>>,
    /// What its workers go by.
    pub(crate) gate: Gate,
    /// What its workers have in their hands.
    pub(crate) slot: Option<Token>,
    /// What outlives a process.
    pub(crate) disk: Disk,
    /// Whom it polls.
    pub(crate) upstreams: Vec<usize>,
    /// Polls of others.
    pub(crate) waiting: Vec<Waiting>,
    /// Own polls, and when they are given up.
    pub(crate) asks: HashMap<u64, Boot>,
    /// Jobs that have not ended.
    pub(crate) jobs: HashMap<u64, Digest>,
    /// Calls that have not returned.
    pub(crate) calls: HashSet<u64>,
    /// What was handed out last.
    pub(crate) offered: Option<Arc<[u8]>>,
    /// The timer that is set.
    pub(crate) timer_at: Option<Time>,
    /// When polls are looked at again.
    pub(crate) polls_at: Option<Time>,
    /// Timers since some moment.
    pub(crate) timers: (Time, u32),
    /// Since when the oracle has not looked.
    pub(crate) since: Time,
    /// Whether own ports are those of the snapshot.
    pub(crate) has_ports: bool,
    /// Whether the process knows that they are not.
    pub(crate) knows_ports: bool,
    /// A relay that lies.
    pub(crate) lies: bool,
    /// Announcements that a liar keeps.
    pub(crate) past: Vec<Arc<[u8]>>,
    /// The latest term that its leader has seen.
    pub(crate) saw_term: u64,
    /// Whether a person wants it to lead.
    pub(crate) is_wanted: bool,
    /// What it was told is on its disk.
    pub(crate) told: Position,
    /// What it had been told when its deadline moved on last, and the deadline.
    pub(crate) raised: (Position, Boot),
    /// The newest that the follower believes.
    pub(crate) believed: Position,
}

impl Host {
    /// What it hands to others.
    pub(crate) fn offer(&self) -> Option<&Offer> {
        let own = self
            .leader
            .as_ref()
            .filter(|leader| leader.term().is_some());
        own.map_or_else(|| self.follower.offer(), Leader::offer)
    }

    /// The next time at which one of its machines wants to be called.
    pub(crate) fn timer(&self) -> Option<Time> {
        let leader = self.leader.as_ref().and_then(Leader::timer);
        let next = [self.follower.timer(), leader].into_iter().flatten().min();
        next.map(|boot| self.clock.when(boot))
    }
}
