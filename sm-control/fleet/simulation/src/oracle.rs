//! Who knows true time, and what every host was told, and judges each answer that could have been
//! given.
//!
//! A host answers in a whole stretch of time, from one event on it to the next or to its deadline.
//! So no single answer has to be simulated, and none is missed.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use sa_fleet::highest::Highest;
use sa_fleet::identity::{Digest, Issue, Position, Token};

use crate::clock::{SECOND, Time};
use crate::notary::Truth;
use crate::schedule::TTL;

/// What must not be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wrong {
    /// An answer after another generation, a withdrawal or a contradiction was heard.
    HeardOtherwise,
    /// An answer of a host that heard nothing since it started.
    HeardNothing,
    /// An answer after all that is on the disk was over.
    TooLate,
    /// An answer of what was replaced more than a TTL ago, or was never in force.
    NotInForce,
    /// An answer while own ports are not those of the snapshot.
    OtherPorts,
    /// A deadline further away than a TTL.
    TooFar,
    /// A deadline that moved on without a new beat on the disk.
    SameBeat,
    /// A host believed what nobody signed.
    NotSigned,
    /// A beat that was made after a later term was given out.
    AfterLaterTerm,
    /// A beat by a leader that had seen a later term.
    SawLaterTerm,
    /// Two contents of one issue, of one leader.
    TwoContents,
    /// Handed out and never published.
    NotPublished,
    /// Handed out by who has published another generation since.
    Replaced,
    /// A host that looks at its timer again and again.
    Spins,
    /// A host that does not answer two TTLs after all faults are over.
    NotFresh,
}

/// What was heard.
type Heard = (Position, Digest, Option<Token>);

/// A host, as the oracle has it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    /// The newest that was heard since the start, or is on the disk.
    heard: Option<Heard>,
    is_contradicted: bool,
    heard_now: bool,
    /// On the disk.
    durable: Option<Highest>,
    durable_says: Option<Heard>,
    good_until: HashMap<Token, Time>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Oracle {
    /// What was found: at most one of each kind, when and where.
    pub(crate) wrong: HashMap<Wrong, (Time, usize)>,
    /// How long hosts could answer, all together.
    pub(crate) answered: Time,
    hosts: Vec<Known>,
    windows: Vec<(Token, Time, Time)>,
    /// The latest publication, and its generation.
    pub(crate) in_force: Option<(Issue, Option<Token>)>,
    /// All of them.
    pub(crate) issues: HashSet<Issue>,
    tolerance: Time,
    /// Several leaders publish each for itself.
    is_divided: bool,
}

impl Oracle {
    /// `tolerance` is what wall clocks are believed beyond the TTL, where relays lie.
    pub(crate) fn new(hosts: usize, tolerance: Duration, is_divided: bool) -> Self {
        Self {
            wrong: HashMap::new(),
            answered: 0,
            hosts: vec![Known::default(); hosts],
            windows: Vec::new(),
            in_force: None,
            issues: HashSet::new(),
            tolerance: nanos(tolerance),
            is_divided,
        }
    }

    /// Something is wrong.
    pub(crate) fn blame(&mut self, wrong: Wrong, time: Time, host: usize) {
        self.wrong.entry(wrong).or_insert((time, host));
    }

    /// An announcement is published.
    pub(crate) fn published(&mut self, truth: &Truth, now: Time) {
        self.issues.insert(truth.position.issue);
        if self
            .in_force
            .is_some_and(|(issue, _)| issue > truth.position.issue)
        {
            return;
        }
        if let Some((.., end)) = self.windows.last_mut() {
            *end = (*end).min(now);
        }
        self.in_force = Some((truth.position.issue, truth.in_force));
        if let Some(token) = truth.in_force {
            self.windows.push((token, now, Time::MAX));
        }
    }

    /// A host has read an announcement that is signed and of its time.
    pub(crate) fn heard(&mut self, host: usize, truth: &Truth) {
        let Some(known) = self.hosts.get_mut(host) else {
            return;
        };
        let heard = (truth.position, truth.content, truth.in_force);
        let issue = truth.position.issue;
        match known.heard {
            Some((before, content, _)) if before.issue == issue && content != truth.content => {
                known.is_contradicted = true;
            }
            Some((before, ..)) if before >= truth.position => {}
            before => {
                let is_same = before.is_some_and(|(before, ..)| before.issue == issue);
                known.is_contradicted &= is_same;
                (known.heard, known.heard_now) = (Some(heard), true);
            }
        }
    }

    /// What a record on a host's disk says.
    pub(crate) fn durable(&mut self, host: usize, highest: Highest, truth: Option<&Truth>) {
        let Some(known) = self.hosts.get_mut(host) else {
            return;
        };
        known.durable = Some(highest);
        let in_force = truth.and_then(|truth| truth.in_force);
        known.durable_says = Some((highest.position, highest.content, in_force));
        if let Some((truth, token)) = truth.and_then(|truth| Some((truth, truth.in_force?))) {
            let until = known.good_until.entry(token).or_default();
            *until = (*until).max(truth.made + nanos(TTL) + self.tolerance);
        }
    }

    /// A host begins anew, with its disk.
    pub(crate) fn restarted(&mut self, host: usize) {
        let Some(known) = self.hosts.get_mut(host) else {
            return;
        };
        known.heard = known.durable_says;
        known.is_contradicted = known.durable.is_some_and(|it| it.is_contradicted);
        known.heard_now = false;
    }

    /// A host could answer from that generation in that time.
    pub(crate) fn answers(&mut self, host: usize, token: Token, from: Time, to: Time, ports: bool) {
        self.answered += to - from;
        let Some(known) = self.hosts.get(host) else {
            return;
        };
        let good_until = known.good_until.get(&token).copied().unwrap_or(0);
        let mut wrong = Vec::new();
        if !known.heard_now {
            wrong.push(Wrong::HeardNothing);
        }
        let said = known.heard.and_then(|(.., said)| said);
        if said != Some(token) || known.is_contradicted {
            wrong.push(Wrong::HeardOtherwise);
        }
        if to > good_until {
            wrong.push(Wrong::TooLate);
        }
        if !self.is_divided && !self.was_in_force(token, from, to) {
            wrong.push(Wrong::NotInForce);
        }
        if !ports {
            wrong.push(Wrong::OtherPorts);
        }
        wrong.into_iter().for_each(|it| self.blame(it, from, host));
    }

    /// Whether each moment was at most a TTL after one at which this was in force.
    fn was_in_force(&self, token: Token, from: Time, to: Time) -> bool {
        let after = nanos(TTL) + self.tolerance;
        let mut at = from;
        while at < to {
            let of_it = self.windows.iter().filter(|(of, ..)| *of == token);
            let around =
                of_it.filter(|(_, start, end)| *start <= at && at < end.saturating_add(after));
            let Some(end) = around.map(|(.., end)| end.saturating_add(after)).max() else {
                return false;
            };
            at = end;
        }
        true
    }
}

/// Of a duration.
pub(crate) fn nanos(time: Duration) -> Time {
    u64::try_from(time.as_nanos()).unwrap_or(Time::MAX)
}

/// More timers than these in a second are a loop.
pub(crate) const BUSY: u32 = 2_000;
/// In which timers are counted.
pub(crate) const WHILE: Time = SECOND;
