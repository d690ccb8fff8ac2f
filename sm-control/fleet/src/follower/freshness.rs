//! Until when what was announced counts: bad news at once, good news when they are on the disk.

use core::time::Duration;

use super::words::{Action, Alert};
use crate::announcement::Announcement;
use crate::chance::Chance;
use crate::highest::Highest;
use crate::rules::{Flaw, Rules};
use crate::time::Boot;
use crate::verdict::Announced;

/// A disk that refuses is asked again after this, and twice that each time, up to ten seconds.
const FIRST_RETRY: Duration = Duration::from_millis(500);
const LAST_RETRY: Duration = Duration::from_secs(10);

/// What was heard, what of it is stored, and what counts.
#[derive(Debug)]
pub(super) struct Freshness {
    /// The newest that was heard.
    highest: Highest,
    announced: Option<Announcement>,
    /// Until when it counts, once something of its generation is stored.
    until: Option<Boot>,
    /// Heard, and to be stored. One at most: the newest is all that has to be there.
    waiting: Option<Heard>,
    storing: Option<(u64, Heard)>,
    last_order: u64,
    failures: u32,
    retry: Boot,
}

/// What may be used when it is stored.
#[derive(Debug, Clone, Copy)]
struct Heard {
    highest: Highest,
    until: Boot,
}

impl Freshness {
    /// What was stored is known, and nothing counts yet.
    pub(super) const fn new(stored: Highest) -> Self {
        Self {
            highest: stored,
            announced: None,
            until: None,
            waiting: None,
            storing: None,
            last_order: 0,
            failures: 0,
            retry: Boot::NEVER,
        }
    }

    /// The newest that was heard, stored or not.
    pub(super) const fn highest(&self) -> &Highest {
        &self.highest
    }

    /// What it said, if it was heard since the start.
    pub(super) const fn announced(&self) -> Option<&Announcement> {
        self.announced.as_ref()
    }

    /// Until when it counts, on this host.
    pub(super) const fn until(&self) -> Option<Boot> {
        self.until
    }

    /// For the verdict.
    pub(super) fn says(&self) -> Announced {
        if self.highest.is_contradicted {
            return Announced::Contradicted;
        }
        match &self.announced {
            None => Announced::Nothing,
            Some(it) => it
                .content
                .in_force()
                .map_or(Announced::Withdrawn, |it| Announced::InForce(it.token())),
        }
    }

    /// Takes an announcement that was judged, which counts until then.
    pub(super) fn hear(&mut self, announcement: Announcement, until: Boot, rules: &impl Rules) {
        if rules.has(Flaw::IgnoresWithdrawal) && announcement.content.is_withdrawn() {
            return;
        }
        let before = self.announced.as_ref().and_then(|it| it.content.in_force());
        let after = announcement.content.in_force();
        if (before != after || after.is_none()) && !rules.has(Flaw::KeepsFreshness) {
            self.until = None;
        }
        let heard = Heard {
            highest: Highest::of(&announcement),
            until,
        };
        self.highest = heard.highest;
        self.announced = Some(announcement);
        self.waiting = Some(heard);
        if rules.has(Flaw::UsesBeforeStored) {
            self.count(heard);
        }
    }

    /// What was heard last is not to be believed any more, nor is what contradicts it.
    pub(super) fn contradict(&mut self) {
        self.highest.is_contradicted = true;
        self.until = None;
        let until = Boot::NEVER;
        self.waiting = Some(Heard {
            highest: self.highest,
            until,
        });
    }

    /// Root keys have ended what was announced.
    pub(super) fn disown(&mut self) {
        self.announced = None;
        self.until = None;
    }

    /// What is to be stored now.
    pub(super) fn orders(&mut self, now: Boot, actions: &mut Vec<Action>) {
        if self.storing.is_some() || now < self.retry {
            return;
        }
        if let Some(heard) = self.waiting.take() {
            self.last_order += 1;
            self.storing = Some((self.last_order, heard));
            let record = heard.highest.to_record();
            actions.push(Action::Store {
                order: self.last_order,
                record,
            });
        }
    }

    /// A record is on the disk, or is not.
    pub(super) fn stored(
        &mut self,
        order: u64,
        is_stored: bool,
        now: Boot,
        chance: &mut Chance,
        actions: &mut Vec<Action>,
    ) {
        let Some((_, heard)) = self.storing.take_if(|(number, _)| *number == order) else {
            return;
        };
        if is_stored {
            self.failures = 0;
            self.count(heard);
            return;
        }
        if self.failures == 0 {
            actions.push(Action::Alert(Alert::CannotStore));
        }
        self.failures = self.failures.saturating_add(1);
        self.retry = now.after(chance.back_off(self.failures, FIRST_RETRY, LAST_RETRY));
        // What was heard since has taken its place.
        self.waiting.get_or_insert(heard);
    }

    /// When to look again.
    pub(super) fn timer(&self) -> Option<Boot> {
        let is_due = self.waiting.is_some() && self.storing.is_none();
        is_due.then_some(self.retry)
    }

    /// From now on this counts, if it is not of an issue that was overtaken meanwhile.
    fn count(&mut self, heard: Heard) {
        let is_newest = heard.highest.position.issue == self.highest.position.issue;
        let is_in_force = matches!(self.says(), Announced::InForce(_));
        if is_newest && is_in_force && self.announced.is_some() {
            self.until = Some(
                self.until
                    .map_or(heard.until, |until| until.max(heard.until)),
            );
        }
    }
}
