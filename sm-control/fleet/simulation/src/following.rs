//! The IO of followers and relays, with its faults.

use std::sync::Arc;
use std::time::Duration;

use sa_fleet::follower::{Action, Event};
use sa_fleet::identity::Position;
use sa_fleet::offer::Reply;
use sa_fleet::time::Boot;
use sa_fleet::verdict::{Gate, Ports};

use crate::clock::{MS, SECOND, Time};
use crate::event::What;
use crate::oracle::{Wrong, nanos};
use crate::planted::{Duty, Planted};
use crate::schedule::TTL;
use crate::world::World;

/// Children of one sender fetch large files within this.
const SPREAD: Duration = Duration::from_millis(500);

impl World {
    /// Tells the follower of a host, and does what it wants.
    pub(crate) fn follower(&mut self, host: usize, event: Event<'_>) {
        self.settle(host);
        let mut actions = Vec::new();
        let Some(it) = self.hosts.get_mut(host).filter(|it| it.is_up) else {
            return;
        };
        it.last_read = self.now;
        let life = it.life;
        let gate = it.follower.on(it.clock.at(self.now), event, &mut actions);
        self.opens(host, gate);
        for action in actions {
            // Power may fail between two of them.
            if self
                .hosts
                .get(host)
                .is_some_and(|it| it.is_up && it.life == life)
            {
                self.acts(host, action);
            }
        }
        self.after(host);
    }

    /// Both machines look at the time.
    pub(crate) fn tick(&mut self, host: usize) {
        self.lead_on(host);
        self.follower(host, Event::Timer);
    }

    /// What a host could have answered since the oracle looked last.
    pub(crate) fn settle(&mut self, host: usize) {
        let any_generation = self.has(Planted::Duty(Duty::WorkerWithoutGeneration));
        let Some(it) = self.hosts.get_mut(host) else {
            return;
        };
        let from = it.since;
        it.since = self.now.max(from);
        let (true, Some(slot)) = (it.is_up, it.slot) else {
            return;
        };
        if slot != it.gate.generation && !any_generation {
            return;
        }
        let to = self.now.min(it.clock.when(it.gate.until));
        let ports = it.has_ports || !it.knows_ports;
        if from < to {
            self.oracle.answers(host, slot, from, to, ports);
        }
    }

    /// Workers go by this from now on.
    fn opens(&mut self, host: usize, gate: Gate) {
        let Some(it) = self.hosts.get_mut(host) else {
            return;
        };
        it.gate = gate;
        let now = it.clock.at(self.now).boot;
        let (raised, until) = it.raised;
        let mut wrong = None;
        if gate.until > now.after(TTL) {
            wrong = Some(Wrong::TooFar);
        } else if gate.until > until {
            it.raised = (it.told, gate.until);
            wrong = (it.told <= raised).then_some(Wrong::SameBeat);
        }
        let highest = *it.follower.highest();
        if highest.position != it.believed && !highest.is_contradicted {
            it.believed = highest.position;
            let is_signed = self
                .notary
                .borrow()
                .at(highest.position, highest.content)
                .is_some();
            wrong = if is_signed {
                wrong
            } else {
                Some(Wrong::NotSigned)
            };
        }
        wrong
            .into_iter()
            .for_each(|it| self.oracle.blame(it, self.now, host));
    }

    /// Does what a follower wants.
    fn acts(&mut self, host: usize, action: Action) {
        match action {
            Action::Ask {
                ask,
                upstream,
                after,
                give_up,
            } => {
                self.asks(host, ask, upstream, after, give_up);
            }
            Action::Store { order, record } => {
                self.writes(host, order, record);
                self.stumbles(host);
            }
            Action::Load { job, blob } => self.begins(host, job, &blob, What::Loaded(job)),
            Action::FetchPatch {
                job,
                upstream,
                blob,
                ..
            }
            | Action::FetchWhole {
                job,
                upstream,
                blob,
            } => {
                self.begins(host, job, &blob, What::Fetched { job, upstream });
            }
            Action::Cancel { job } => {
                self.hosts.get_mut(host).and_then(|it| it.jobs.remove(&job));
            }
            Action::Swap { generation, .. } => {
                self.hosts
                    .get_mut(host)
                    .into_iter()
                    .for_each(|it| it.slot = Some(generation));
                self.later(host, MS, What::Ports);
            }
            Action::FetchRoot { .. } | Action::Alert(_) => {}
        }
    }

    /// Sends a poll.
    fn asks(&mut self, host: usize, ask: u64, upstream: usize, after: Position, give_up: Boot) {
        let Some(it) = self.hosts.get_mut(host) else {
            return;
        };
        it.asks.insert(ask, give_up);
        let (life, to) = (it.life, it.upstreams.get(upstream).copied());
        let what = What::Poll {
            from: host,
            life,
            ask,
            after,
        };
        to.into_iter()
            .for_each(|to| self.send(host, to, None, what.clone()));
    }

    /// Sysfs says what own ports are like.
    pub(crate) fn look_at_ports(&mut self, host: usize) {
        self.settle(host);
        let Some(it) = self.hosts.get_mut(host) else {
            return;
        };
        it.knows_ports = true;
        let ports = if it.has_ports {
            Ports::Confirmed
        } else {
            Ports::Changed
        };
        self.follower(host, Event::Ports(ports));
    }

    /// Own ports are those of the snapshot again.
    pub(crate) fn ports_back(&mut self, host: usize) {
        self.settle(host);
        self.hosts
            .get_mut(host)
            .into_iter()
            .for_each(|it| it.has_ports = true);
        self.look_at_ports(host);
    }

    /// Something came back for a poll.
    pub(crate) fn replied(&mut self, host: usize, what: What) {
        let Some(it) = self.hosts.get_mut(host) else {
            return;
        };
        let now = it.clock.at(self.now);
        let (What::Reply { ask, .. } | What::Quiet(ask) | What::Refused(ask)) = what else {
            return;
        };
        // Once for each poll, and not after the connection was ended.
        if it
            .asks
            .remove(&ask)
            .is_none_or(|give_up| give_up <= now.boot)
        {
            return;
        }
        match what {
            What::Reply {
                bytes,
                held,
                remaining,
                ..
            } => {
                self.settle(host);
                self.hears(host, &bytes);
                let announcement = &bytes;
                let reply = Reply {
                    announcement,
                    held,
                    remaining,
                    spread: SPREAD,
                };
                self.follower(host, Event::Replied { ask, reply });
                self.heard_late(host, &bytes);
                self.saw(host, &bytes);
            }
            What::Quiet(ask) => self.follower(host, Event::Quiet { ask }),
            _ => self.follower(host, Event::Unanswered { ask }),
        }
    }

    /// The oracle hears with the host, if it is something to be believed.
    fn hears(&mut self, host: usize, bytes: &Arc<[u8]>) {
        let Some(truth) = self.notary.borrow().of(bytes) else {
            return;
        };
        if self.is_young(truth.made, 58 * SECOND) {
            self.oracle.heard(host, &truth);
        }
        if let Some(it) = self.hosts.get_mut(host).filter(|it| it.past.len() < 60) {
            it.past.push(Arc::clone(bytes));
        }
    }

    /// Around the tolerance it depends on two wall clocks what a host thinks of the time: there it
    /// is asked.
    fn heard_late(&mut self, host: usize, bytes: &Arc<[u8]>) {
        let truth = self.notary.borrow().of(bytes);
        let Some((truth, it)) = truth.zip(self.hosts.get(host)) else {
            return;
        };
        let (is_young, is_old) = (58 * SECOND, 62 * SECOND);
        let is_around = !self.is_young(truth.made, is_young) && self.is_young(truth.made, is_old);
        if is_around && it.believed == truth.position {
            self.oracle.heard(host, &truth);
        }
    }

    /// Whether an announcement is within what wall clocks are believed.
    fn is_young(&self, made: Time, tolerance: Time) -> bool {
        !self.schedule.is_strict || self.now - made <= nanos(TTL) + tolerance
    }

    /// What may have changed by any call: what others get, and the timer.
    pub(crate) fn after(&mut self, host: usize) {
        self.offers(host);
        let Some(it) = self.hosts.get_mut(host).filter(|it| it.is_up) else {
            return;
        };
        // Clocks of computers do not go in nanoseconds; and a machine that wants to be called at once is seen.
        let Some(at) = it.timer().map(|at| at.max(self.now + MS / 10)) else {
            return;
        };
        if it.timer_at.is_none_or(|set| at < set || set < self.now) {
            it.timer_at = Some(at);
            let delay: Time = at.saturating_sub(self.now);
            if at != Time::MAX {
                self.later(host, delay, What::Timer(at));
            }
        }
    }
}
