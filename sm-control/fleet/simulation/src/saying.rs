//! What is true of the fabric, what leaders say of it, and whether they may.

use std::sync::Arc;

use sa_fleet::announcement::{Blob, Content, Delta};
use sa_fleet::identity::{Digest, Generation};
use sa_fleet::time::Wall;

use crate::clock::{MS, SECOND, Time};
use crate::event::{Event, What};
use crate::notary::{Broken, Truth};
use crate::oracle::Wrong;
use crate::schedule::Mode;
use crate::setup::judge;
use crate::world::World;

impl World {
    /// What is true of the fabric.
    pub(crate) fn content(&self) -> Content {
        let digest = |salt: u32| {
            let mut digest = [0; 32];
            digest[..4].copy_from_slice(&self.generation.to_le_bytes());
            digest[4..8].copy_from_slice(&salt.to_le_bytes());
            Digest(digest)
        };
        let generation = Generation {
            paths: digest(0),
            policy: Digest([0; 32]),
        };
        let blob = Blob {
            format: 7,
            digest: digest(1 + self.variant),
            size: 1_000_000,
        };
        let before = self.before.as_ref().and_then(|it| it.blobs().first());
        let from = before
            .map(|it| it.digest)
            .filter(|from| *from != blob.digest);
        let delta = |from| Delta {
            to: 0,
            from,
            patch: digest(99),
            size: 200,
        };
        let deltas = from.into_iter().map(delta).collect();
        Content::new(generation, vec![blob], deltas)
            .unwrap_or_else(|_| Content::withdrawal(generation))
    }

    /// An announcement was made, by a look at the clock at that time.
    pub(crate) fn is_made(&mut self, host: usize, bytes: &Arc<[u8]>, made: Time) {
        if self.notary.borrow().of(bytes).is_some() {
            return;
        }
        let rules = Broken {
            flaw: None,
            is_real: self.is_real,
            notary: std::rc::Rc::clone(&self.notary),
        };
        let Ok(said) = judge(false).open(bytes, Wall(0), &rules) else {
            return;
        };
        let in_force = said.content.in_force().map(Generation::token);
        let (position, content) = (said.position, said.content_digest());
        let truth = Truth {
            position,
            content,
            in_force,
            made,
        };
        self.notary.borrow_mut().enter(bytes, truth);
        self.is_allowed(host, &truth);
    }

    /// Whether a leader may make this.
    pub(crate) fn is_allowed(&mut self, host: usize, truth: &Truth) {
        let issue = truth.position.issue;
        let is_later = |(term, given): &(u64, Time)| *term > issue.term && *given < truth.made;
        if self.engine.terms.iter().any(is_later) {
            self.oracle.blame(Wrong::AfterLaterTerm, self.now, host);
        }
        if self
            .hosts
            .get(host)
            .is_some_and(|it| it.saw_term > issue.term)
        {
            self.oracle.blame(Wrong::SawLaterTerm, self.now, host);
        }
        let said = *self.said.entry((issue, host)).or_insert(truth.content);
        if said != truth.content {
            self.oracle.blame(Wrong::TwoContents, self.now, host);
        }
    }

    /// A leader hands this out from now on.
    pub(crate) fn is_said(&mut self, host: usize, bytes: &Arc<[u8]>) {
        let Some(truth) = self.notary.borrow().of(bytes) else {
            return;
        };
        if !self.oracle.issues.contains(&truth.position.issue) {
            self.oracle.blame(Wrong::NotPublished, self.now, host);
        }
        for other in (0..self.schedule.candidates).filter(|other| *other != host) {
            let life = self.hosts.get(other).map(|it| it.life);
            self.send(host, other, life, What::Saw(Arc::clone(bytes)));
        }
    }

    /// The oracle learns what is in force from who keeps it, not from who says it.
    pub(crate) fn is_published(&mut self, bytes: &Arc<[u8]>) {
        if let Some(truth) = self.notary.borrow().of(bytes) {
            self.oracle.published(&truth, self.now);
        }
    }

    /// Candidates learn what the fabric is.
    pub(crate) fn tell_fabric(&mut self, is_known: bool) {
        for host in 0..self.schedule.candidates {
            let life = self.hosts.get(host).map(|it| it.life);
            // Two leaders that do not know of each other do not see the same, either.
            let is_divided = self.schedule.mode == Mode::TwoLeaders && !self.is_calm;
            if is_divided && self.chance.is(300) {
                continue;
            }
            if is_known {
                let at = self.now + self.chance.within(MS, 100 * MS);
                self.push(
                    at,
                    Event {
                        host,
                        life,
                        what: What::Changed,
                    },
                );
            }
            let at = self.now + self.chance.within(200 * MS, 5 * SECOND);
            self.push(
                at,
                Event {
                    host,
                    life,
                    what: What::Compiled(self.generation),
                },
            );
        }
    }
}
