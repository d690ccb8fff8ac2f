//! One term of a leader: what it has said, what it is about to publish, and how long its lease is
//! good.

use core::time::Duration;
use std::sync::Arc;

use super::words::{Call, Published, Revision};
use crate::announcement::Content;
use crate::identity::{Issue, Position};
use crate::offer::Offer;
use crate::rules::{Flaw, Rules};
use crate::time::Boot;

/// This part of a lease is not used: clocks of hosts run a little apart.
const MARGIN: u32 = 50;
/// The lease is renewed so many times before it would end.
const RENEWALS: u32 = 3;
/// After a reply that said nothing.
const AGAIN: Duration = Duration::from_millis(200);

/// What a leader holds while it leads.
#[derive(Debug)]
pub(super) struct Reign {
    pub(super) term: u64,
    pub(super) seq: u64,
    pub(super) revision: Revision,
    /// What followers may be told.
    pub(super) current: Option<Current>,
    pub(super) publication: Option<Publication>,
    lease: Option<Duration>,
    until: Boot,
    keep_alive: Option<(u64, Boot)>,
    keep_at: Boot,
}

/// What is published, and its newest beat.
#[derive(Debug)]
pub(super) struct Current {
    pub(super) content: Content,
    pub(super) offer: Offer,
    /// When it is to be said again.
    pub(super) next_beat: Boot,
    /// That time has passed, and it is not allowed before something else happens: no timer is to be
    /// set.
    pub(super) is_held_back: bool,
}

/// What is being published.
#[derive(Debug)]
pub(super) struct Publication {
    pub(super) content: Content,
    pub(super) offer: Offer,
    pub(super) made: Boot,
    pub(super) step: Step,
}

/// How far a publication is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// To be sent.
    Due,
    /// On its way.
    Sent(u64),
    /// Nobody knows what became of it: the engine is to be read from then on.
    Doubtful(Boot),
    /// The engine is being read.
    Reading(u64),
}

impl Reign {
    /// From a campaign that began then.
    pub(super) fn new(
        term: u64,
        lease: Option<Duration>,
        published: &Published<'_>,
        begun: Boot,
    ) -> Self {
        Self {
            term,
            seq: 0,
            revision: published.revision,
            current: None,
            publication: None,
            lease,
            until: end(lease, begun),
            keep_alive: None,
            keep_at: lease.map_or(Boot::ALWAYS, |lease| begun.after(lease / RENEWALS)),
        }
    }

    /// Whether an engine watches over this term.
    pub(super) const fn has_lease(&self) -> bool {
        self.lease.is_some()
    }

    /// Whether anything may be said in the name of this term.
    pub(super) fn holds(&self, now: Boot, rules: &impl Rules) -> bool {
        now < self.until || rules.has(Flaw::BeatsPastLease)
    }

    /// The call that renews the lease, when it is time.
    pub(super) fn renew(&mut self, call: u64, now: Boot) -> Option<Call> {
        if self.keep_alive.is_some() || now < self.keep_at {
            return None;
        }
        self.keep_alive = Some((call, now));
        Some(Call::KeepAlive { term: self.term })
    }

    /// Whether this is the renewal that was on its way, which is over now.
    pub(super) fn renewal(&mut self, call: u64) -> Option<Boot> {
        let sent = self.keep_alive.take_if(|(number, _)| *number == call);
        sent.map(|(_, sent)| sent)
    }

    /// The lease began anew at some time after `sent`.
    pub(super) fn renewed(&mut self, sent: Boot, now: Boot, rules: &impl Rules) {
        let from = if rules.has(Flaw::LeaseFromArrival) {
            now
        } else {
            sent
        };
        self.until = self.until.max(end(self.lease, from));
        self.keep_at = self
            .lease
            .map_or(Boot::ALWAYS, |lease| sent.after(lease / RENEWALS));
    }

    /// The engine did not say.
    pub(super) fn not_renewed(&mut self, now: Boot) {
        self.keep_at = now.after(AGAIN);
    }

    /// The position of a new issue.
    pub(super) const fn next(&self, era: u32) -> Position {
        let issue = Issue {
            era,
            term: self.term,
            seq: self.seq + 1,
        };
        Position { issue, beat: 1 }
    }

    /// The call that brings a publication on, when it is time.
    pub(super) fn publish(&mut self, call: u64, now: Boot, rules: &impl Rules) -> Option<Call> {
        let holds = self.holds(now, rules);
        let publication = self.publication.as_mut()?;
        match publication.step {
            Step::Due if holds => {
                publication.step = Step::Sent(call);
                Some(Call::Publish {
                    term: self.term,
                    expected: self.revision,
                    announcement: Arc::clone(&publication.offer.announcement),
                })
            }
            Step::Doubtful(at) if at <= now => {
                publication.step = Step::Reading(call);
                Some(Call::Read)
            }
            _ => None,
        }
    }

    /// Nobody knows what became of the publication.
    pub(super) fn doubt(&mut self, at: Boot) {
        if let Some(publication) = &mut self.publication {
            publication.step = Step::Doubtful(at);
        }
    }

    /// The same a little later.
    pub(super) fn doubt_again(&mut self, now: Boot) {
        self.doubt(now.after(AGAIN));
    }

    /// It is published, and followers may be told.
    pub(super) fn published(&mut self, revision: Revision, beat: Duration) {
        self.revision = revision;
        if let Some(Publication {
            content,
            offer,
            made,
            ..
        }) = self.publication.take()
        {
            self.seq = offer.position.issue.seq;
            self.current = Some(Current {
                content,
                offer,
                next_beat: made.after(beat),
                is_held_back: false,
            });
        }
    }

    /// When something is to be done.
    pub(super) fn timer(&self) -> Boot {
        let renewal = if self.keep_alive.is_some() {
            Boot::ALWAYS
        } else {
            self.keep_at
        };
        let beat = self.current.as_ref().filter(|it| !it.is_held_back);
        let beat = beat.map_or(Boot::ALWAYS, |it| it.next_beat);
        let publication = match self.publication.as_ref().map(|it| it.step) {
            Some(Step::Doubtful(at)) => at,
            _ => Boot::ALWAYS,
        };
        renewal.min(beat).min(publication)
    }
}

/// What is said after this may be said by another, too.
fn end(lease: Option<Duration>, from: Boot) -> Boot {
    lease.map_or(Boot::ALWAYS, |lease| {
        from.after(lease).before(lease / MARGIN)
    })
}
