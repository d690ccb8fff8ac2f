//! What hosts hand to those who poll them, and how a relay lies.

use std::sync::Arc;
use std::time::Duration;

use sa_fleet::identity::Position;
use sa_fleet::offer::{Answer, Poll, answer};

use crate::clock::{MS, Time};
use crate::event::What;
use crate::host::Waiting;
use crate::oracle::Wrong;
use crate::schedule::{Mode, TTL};
use crate::world::World;

impl World {
    /// A poll has come.
    pub(crate) fn polled(
        &mut self,
        host: usize,
        from: usize,
        life: u32,
        ask: u64,
        after: Position,
    ) {
        let Some(it) = self.hosts.get_mut(host) else {
            return;
        };
        if !it.is_up {
            return self.send(host, from, Some(life), What::Refused(ask));
        }
        let arrived = it.clock.at(self.now).boot;
        let waiting = Waiting {
            from,
            life,
            ask,
            poll: Poll { after, arrived },
        };
        if let Some(at) = self.serve(host, waiting) {
            self.hosts
                .get_mut(host)
                .into_iter()
                .for_each(|it| it.waiting.push(waiting));
            self.look_again(host, at);
        }
    }

    /// The time has come for some poll.
    pub(crate) fn polls(&mut self, host: usize, at: Time) {
        let Some(it) = self.hosts.get_mut(host) else {
            return;
        };
        if it.polls_at == Some(at) {
            it.polls_at = None;
            self.serve_all(host);
        }
    }

    /// Whether something else is handed out than before.
    pub(crate) fn offers(&mut self, host: usize) {
        let Some(it) = self.hosts.get_mut(host) else {
            return;
        };
        let offer = it.offer().map(|offer| Arc::clone(&offer.announcement));
        if it.offered == offer {
            return;
        }
        it.offered.clone_from(&offer);
        let is_own = it
            .leader
            .as_ref()
            .is_some_and(|leader| leader.term().is_some());
        if let Some(bytes) = offer.filter(|_| is_own) {
            self.is_said(host, &bytes);
        }
        self.serve_all(host);
    }

    /// Every poll that waits, because something else is handed out, or because the time has come.
    fn serve_all(&mut self, host: usize) {
        let Some(it) = self.hosts.get_mut(host) else {
            return;
        };
        let all = std::mem::take(&mut it.waiting);
        let mut first = None;
        for waiting in all {
            if let Some(at) = self.serve(host, waiting) {
                self.hosts
                    .get_mut(host)
                    .into_iter()
                    .for_each(|it| it.waiting.push(waiting));
                first = Some(first.map_or(at, |first: Time| first.min(at)));
            }
        }
        first.into_iter().for_each(|at| self.look_again(host, at));
    }

    /// One timer for all of them: the first that has to be looked at.
    fn look_again(&mut self, host: usize, at: Time) {
        let Some(it) = self.hosts.get_mut(host) else {
            return;
        };
        let at = at.max(self.now + MS / 10);
        if it.polls_at.is_none_or(|set| at < set) {
            it.polls_at = Some(at);
            self.later(host, at - self.now, What::Polls(at));
        }
    }

    /// Answers a poll, or says when to look again.
    fn serve(&mut self, host: usize, waiting: Waiting) -> Option<Time> {
        let it = self.hosts.get(host)?;
        let now = it.clock.at(self.now).boot;
        let Waiting {
            from,
            life,
            ask,
            poll,
        } = waiting;
        if it.lies && !it.past.is_empty() {
            return self.lie(host, waiting);
        }
        match answer(it.offer(), poll, now, Duration::ZERO) {
            Answer::Reply(reply) => {
                let bytes = Arc::from(reply.announcement);
                let what = What::Reply {
                    ask,
                    bytes,
                    held: reply.held,
                    remaining: reply.remaining,
                };
                self.is_handed_out(host);
                self.send(host, from, Some(life), what);
                None
            }
            Answer::Quiet => {
                self.send(host, from, Some(life), What::Quiet(ask));
                None
            }
            Answer::Wait(until) => Some(it.clock.when(until)),
        }
    }

    /// A leader hands out nothing that it has replaced.
    fn is_handed_out(&mut self, host: usize) {
        let Some(it) = self.hosts.get(host) else {
            return;
        };
        let is_own = it
            .leader
            .as_ref()
            .is_some_and(|leader| leader.term().is_some());
        let truth = it
            .offered
            .as_ref()
            .and_then(|bytes| self.notary.borrow().of(bytes));
        let (Some(truth), Some((issue, in_force))) = (truth, self.oracle.in_force) else {
            return;
        };
        let is_same_term = issue.term == truth.position.issue.term;
        let is_replaced = issue > truth.position.issue && in_force != truth.in_force;
        let is_one = self.schedule.mode != Mode::TwoLeaders;
        if is_own && is_one && is_same_term && is_replaced && truth.in_force.is_some() {
            self.oracle.blame(Wrong::Replaced, self.now, host);
        }
    }

    /// A liar holds back what it has for as long as it may; or says anything.
    fn lie(&mut self, host: usize, waiting: Waiting) -> Option<Time> {
        let Waiting {
            from,
            life,
            ask,
            poll,
        } = waiting;
        let it = self.hosts.get(host)?;
        // Half of them are slow.
        if (self.schedule.seed + host as u64) % 2 == 1 {
            let what = self.anything(host, ask);
            self.send(host, from, Some(life), what);
            return None;
        }
        let patience = poll.arrived.after(Duration::from_secs(28));
        if it.clock.at(self.now).boot < patience {
            return Some(it.clock.when(patience));
        }
        let notary = self.notary.borrow();
        let truths = it
            .past
            .iter()
            .filter_map(|bytes| Some((notary.of(bytes)?.position, bytes)));
        let later = truths.filter(|(position, _)| *position > poll.after);
        let oldest = later.min_by_key(|(position, _)| *position);
        let bytes = oldest.map(|(_, bytes)| Arc::clone(bytes));
        drop(notary);
        let (held, remaining) = (Duration::from_secs(28), TTL);
        let reply = |bytes| What::Reply {
            ask,
            bytes,
            held,
            remaining,
        };
        let what = bytes.map_or(What::Quiet(ask), reply);
        self.send(host, from, Some(life), what);
        None
    }

    /// What it has, good for longer; what it had; or what nobody signed.
    fn anything(&mut self, host: usize, ask: u64) -> What {
        let place = self.hosts.get(host).map_or(0, |it| it.past.len());
        let newest = self.chance.is(500);
        let place = if newest {
            place.saturating_sub(1)
        } else {
            self.chance.place(place)
        };
        let past = self.hosts.get(host).and_then(|it| it.past.get(place));
        let mut bytes = past.map_or_else(|| Arc::from(&[][..]), Arc::clone);
        if self.chance.is(200) && !bytes.is_empty() {
            let mut other = bytes.to_vec();
            let at = self.chance.place(other.len());
            other[at] ^= 1 << self.chance.place(8);
            bytes = Arc::from(other);
        }
        let hour = Duration::from_secs(3_600);
        let held = if self.chance.is(300) {
            hour
        } else {
            Duration::from_secs(1)
        };
        let remaining = if self.chance.is(300) { hour } else { TTL };
        What::Reply {
            ask,
            bytes,
            held,
            remaining,
        }
    }
}
