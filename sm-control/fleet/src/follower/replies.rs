//! What becomes of a reply, and of a newer root file.

use core::time::Duration;
use std::sync::Arc;

use super::upstreams::Asked;
use super::words::{Action, Alert};
use super::{Follower, MARGIN, OVERDUE, SPREAD};
use crate::announcement::Announcement;
use crate::chance::share;
use crate::identity::Position;
use crate::judge::is_odd;
use crate::offer::{Offer, Reply};
use crate::refusal::Refusal;
use crate::rules::{Flaw, Rules};
use crate::time::{Boot, Now};
use crate::trust::Trust;

impl<R: Rules> Follower<R> {
    /// Judges a reply: news, what another upstream had said already, or something that no honest
    /// upstream sends.
    pub(super) fn replied(
        &mut self,
        asked: &Asked,
        reply: &Reply<'_>,
        now: Now,
        actions: &mut Vec<Action>,
    ) {
        match self.judged(reply.announcement, now) {
            Ok(announcement) => {
                self.upstreams
                    .praise(asked, announcement.ttl / OVERDUE, now.boot);
                self.believe(announcement, asked, reply, now, actions);
            }
            // Another upstream was faster.
            Err((Refusal::OldBeat | Refusal::OldIssue | Refusal::OldTerm, Some(it)))
                if it > asked.after =>
            {
                self.upstreams.forgive(asked);
            }
            Err((refusal, _)) => {
                self.refusals.count(refusal);
                self.upstreams.blame(asked, now.boot, &mut self.chance);
                self.refused(refusal, actions);
            }
        }
    }

    /// What is news, or why not, with the position where the rest was in order.
    pub(super) fn judged(
        &self,
        bytes: &[u8],
        now: Now,
    ) -> Result<Announcement, (Refusal, Option<Position>)> {
        let opened = self.judge.open(bytes, now.wall, &self.rules);
        let announcement = opened.map_err(|refusal| (refusal, None))?;
        let highest = self.freshness.highest();
        let news = self
            .judge
            .admit(&announcement, highest, now.wall, &self.rules);
        news.map_err(|refusal| (refusal, Some(announcement.position)))?;
        Ok(announcement)
    }

    /// Acts on news: what is handed on, what is to be fetched, and until when it counts.
    pub(super) fn believe(
        &mut self,
        announcement: Announcement,
        asked: &Asked,
        reply: &Reply<'_>,
        now: Now,
        actions: &mut Vec<Action>,
    ) {
        if is_odd(&announcement, now.wall) {
            if self.odd_clocks == 0 {
                actions.push(Action::Alert(Alert::OddClock));
            }
            self.odd_clocks = self.odd_clocks.saturating_add(1);
        }
        self.root_missed |= announcement.root_version > self.judge.trust.root_version;
        let until = self.deadline(&announcement, asked, reply, now);
        let stretches = self.rules.has(Flaw::StretchesRemaining);
        self.offer = Some(Offer {
            announcement: Arc::from(reply.announcement),
            position: announcement.position,
            until: if stretches {
                now.boot.after(announcement.ttl)
            } else {
                until
            },
        });
        self.supply
            .aim(&announcement, reply.spread, asked.upstream, actions);
        let sooner = share(self.place, announcement.ttl / SPREAD);
        self.freshness
            .hear(announcement, until.before(sooner), &self.rules);
    }

    /// Counted from before the request left: how long anything took shortens it, and nothing
    /// lengthens it.
    pub(super) fn deadline(
        &self,
        announcement: &Announcement,
        asked: &Asked,
        reply: &Reply<'_>,
        now: Now,
    ) -> Boot {
        let has = |flaw| self.rules.has(flaw);
        let took = now.boot.since(asked.sent);
        let held = if has(Flaw::BelievesHeld) {
            reply.held
        } else {
            reply.held.min(took)
        };
        let most = self.judge.most_left(announcement, now.wall, &self.rules);
        let most = if has(Flaw::BelievesRemaining) {
            most
        } else {
            most.min(announcement.ttl)
        };
        let from = asked.sent.after(held);
        let from = if has(Flaw::CountsFromArrival) {
            now.boot
        } else {
            from
        };
        let margin = announcement.ttl / MARGIN;
        let margin = if has(Flaw::LeavesNoMargin) {
            Duration::ZERO
        } else {
            margin
        };
        from.after(reply.remaining.min(most)).before(margin)
    }

    /// What a refusal changes beside its counter.
    pub(super) fn refused(&mut self, refusal: Refusal, actions: &mut Vec<Action>) {
        match refusal {
            Refusal::Contradiction => {
                let position = self.freshness.highest().position;
                actions.push(Action::Alert(Alert::Contradiction(position)));
                self.freshness.contradict();
                self.offer = None;
                self.supply.drop_target(actions);
            }
            Refusal::UnknownKey | Refusal::EraUnknown => self.root_missed = true,
            _ => {}
        }
    }

    /// A newer root file: what its keys would not have signed is not believed any more.
    pub(super) fn trust(&mut self, trust: Trust, actions: &mut Vec<Action>) {
        if trust.root_version <= self.judge.trust.root_version {
            return;
        }
        self.root_missed = false;
        let is_owned = |it: &Announcement| {
            let has_key = trust.keys.iter().any(|key| key.id == it.key);
            has_key && it.position.issue.era == trust.era
        };
        if !self.freshness.announced().is_some_and(is_owned) {
            self.freshness.disown();
            self.offer = None;
            self.supply.drop_target(actions);
        }
        self.judge.trust = trust;
    }
}
