//! The IO of leaders, and what the oracle wants of them.

use std::sync::Arc;

use sa_fleet::leader::{Call, LeaderAction, LeaderEvent};

use crate::clock::{MS, SECOND, Time};
use crate::engine::{Kept, Taken};
use crate::event::What;
use crate::planted::{Duty, Planted};
use crate::schedule::Mode;
use crate::world::World;

/// After this a call to the engine is given up.
const PATIENCE: Time = SECOND;

impl World {
    /// Tells the leader of a host, if it has one, and does what it wants.
    fn leader(&mut self, host: usize, event: LeaderEvent<'_>) {
        // Now and then a host is stopped between its look at the clock and what it does then.
        let lag = if self.chance.is(20) {
            self.chance.within(0, 8 * SECOND)
        } else {
            0
        };
        let lag = if self.is_calm { 0 } else { lag };
        let mut actions = Vec::new();
        let Some(it) = self.hosts.get_mut(host).filter(|it| it.is_up) else {
            return;
        };
        let Some(leader) = &mut it.leader else { return };
        let read = self.now.saturating_sub(lag).max(it.last_read);
        it.last_read = read;
        let life = it.life;
        leader.on(it.clock.at(read), event, &mut actions);
        let offer = leader.offer().map(|offer| Arc::clone(&offer.announcement));
        offer
            .iter()
            .for_each(|bytes| self.is_made(host, bytes, read));
        for action in actions {
            // Power may fail between two of them.
            if self
                .hosts
                .get(host)
                .is_some_and(|it| it.is_up && it.life == life)
            {
                self.leads(host, action, read);
            }
        }
        self.after(host);
    }

    /// Does what a leader wants.
    fn leads(&mut self, host: usize, action: LeaderAction, read: Time) {
        if let LeaderAction::Call { call, what } = action {
            if let Call::Publish { announcement, .. } = &what {
                self.is_made(host, announcement, read);
            }
            self.calls(host, call, what);
            self.stumbles(host);
        }
    }

    /// Its leader looks at the time.
    pub(crate) fn lead_on(&mut self, host: usize) {
        self.leader(host, LeaderEvent::Timer);
    }

    /// Asks the engine: the one with leases over the network, the embedded one by a write to the
    /// own disk.
    fn calls(&mut self, host: usize, call: u64, what: Call) {
        let Some(it) = self.hosts.get_mut(host) else {
            return;
        };
        it.calls.insert(call);
        let life = it.life;
        if self.schedule.mode == Mode::Lease {
            self.send(
                host,
                self.hosts.len(),
                None,
                What::Asked {
                    from: host,
                    life,
                    call,
                    what,
                },
            );
            let kept = Kept::Unknown;
            return self.later(host, PATIENCE, What::Returned { call, kept });
        }
        let hasty = self.has(Planted::Duty(Duty::TermBeforeDisk));
        let is_told = !(hasty && matches!(what, Call::Campaign { .. }));
        let long = if is_told { 50 * MS } else { 5 * SECOND };
        if let (false, Call::Campaign { above }) = (is_told, &what) {
            let kept = self.next_term(host, *above);
            self.later(host, MS, What::Returned { call, kept });
        }
        let long = self.chance.within(MS, long);
        self.later(
            host,
            long,
            What::Done {
                call,
                what,
                is_told,
            },
        );
    }

    /// The return of an embedded engine: above its counter and above what was seen.
    fn next_term(&self, host: usize, above: u64) -> Kept {
        let (counter, published) = self.hosts.get(host).map_or((0, (0, None)), |it| {
            (it.disk.counter, it.disk.published.clone())
        });
        Kept::Led(counter.max(above) + 1, None, published.0, published.1)
    }

    /// The embedded engine has written, or not.
    pub(crate) fn embedded_done(&mut self, host: usize, call: u64, what: &Call, is_told: bool) {
        let Some(it) = self.hosts.get(host) else {
            return;
        };
        let is_bad = it.disk.bad_until > self.now;
        let (counter, published) = (it.disk.counter, it.disk.published.clone());
        let kept = match what {
            Call::Campaign { .. } if is_bad => Kept::Unknown,
            Call::Campaign { above } => {
                let kept = self.next_term(host, *above);
                let term = counter.max(*above) + 1;
                self.hosts
                    .get_mut(host)
                    .into_iter()
                    .for_each(|it| it.disk.counter = term);
                kept
            }
            Call::Publish { term, expected, .. }
                if *term != counter || expected.0 != published.0 =>
            {
                Kept::Fenced
            }
            Call::Publish { announcement, .. } => {
                if !is_bad || self.chance.is(500) {
                    self.embedded_publishes(host, announcement);
                }
                if is_bad {
                    Kept::Unknown
                } else {
                    Kept::Published(published.0 + 1)
                }
            }
            Call::Read => Kept::Read(Some(counter), published.0, published.1),
            Call::KeepAlive { .. } | Call::Resign { .. } => Kept::Unknown,
        };
        if is_told {
            self.returned(host, call, &kept);
        }
    }

    /// It is on the disk, and so it is published.
    fn embedded_publishes(&mut self, host: usize, announcement: &Arc<[u8]>) {
        if let Some(it) = self.hosts.get_mut(host) {
            it.disk.published = (it.disk.published.0 + 1, Some(Arc::clone(announcement)));
        }
        self.is_published(announcement);
    }

    /// The engine with leases is asked.
    pub(crate) fn engine_is_asked(&mut self, what: What) {
        let What::Asked {
            from,
            life,
            call,
            what,
        } = what
        else {
            return;
        };
        if self.engine.down_until > self.now {
            return;
        }
        let (kept, taken) = self.engine.does(from, &what, self.now, &mut self.chance);
        if let Some(Taken(bytes)) = taken {
            self.is_published(&bytes);
            for candidate in 0..self.schedule.candidates {
                let life = self.hosts.get(candidate).map(|it| it.life);
                self.send(
                    self.hosts.len(),
                    candidate,
                    life,
                    What::Saw(Arc::clone(&bytes)),
                );
            }
        }
        self.send(
            self.hosts.len(),
            from,
            Some(life),
            What::Returned { call, kept },
        );
    }

    /// A call has ended: once, whatever else comes.
    pub(crate) fn returned(&mut self, host: usize, call: u64, kept: &Kept) {
        let Some(it) = self.hosts.get_mut(host) else {
            return;
        };
        if it.calls.remove(&call) {
            self.leader(
                host,
                LeaderEvent::Returned {
                    call,
                    returned: kept.returned(),
                },
            );
        }
    }

    /// An announcement came by.
    pub(crate) fn saw(&mut self, host: usize, bytes: &[u8]) {
        let truth = self.notary.borrow().of(bytes);
        self.leader(host, LeaderEvent::Saw(bytes));
        if let (Some(truth), Some(it)) = (truth, self.hosts.get_mut(host)) {
            it.saw_term = it.saw_term.max(truth.position.issue.term);
        }
    }

    /// What was announced is known to be wrong.
    pub(crate) fn changed(&mut self, host: usize) {
        self.leader(host, LeaderEvent::Changed);
    }

    /// A compilation has ended; where the fabric is another already, it is worth nothing.
    pub(crate) fn compiled(&mut self, host: usize, generation: u32) {
        if generation == self.generation {
            let content = self.content();
            if let (Some(blob), Some(it)) = (content.blobs().first(), self.hosts.get_mut(host)) {
                it.disk.files.insert(blob.digest);
            }
            self.leader(host, LeaderEvent::Compiled(content));
        }
    }

    /// Says again what a person wants.
    pub(crate) fn wanted(&mut self, host: usize) {
        let is_wanted = self.hosts.get(host).is_some_and(|it| it.is_wanted);
        self.leader(host, LeaderEvent::Wanted(is_wanted));
    }

    /// A person promotes a leader, and has looked at all hosts.
    pub(crate) fn promoted(&mut self, host: usize) {
        let terms = self
            .hosts
            .iter()
            .map(|it| it.follower.highest().position.issue.term);
        let above = terms.max().unwrap_or(0);
        self.leader(host, LeaderEvent::Promoted { above });
    }
}
