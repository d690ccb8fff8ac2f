//! A follower: asks for announcements, keeps a snapshot of what is in force, and says until when it may answer.
//!
//! ```text
//!   poll ──> judge ──> freshness ──> store ──> gate
//!                        └────> supply ──> load, or fetch and load ──> swap
//! ```
//!
//! A deadline is counted from before the poll was sent, so that what the network and this host take shortens it.
//! It counts once the announcement is on the disk ([`Action::Store`], [`Event::Stored`]); news that stop answers count
//! before. Each beat counts once.
//!
//! A relay is a follower whose [`Follower::offer`] is handed on.

mod freshness;
mod supply;
mod upstreams;
mod words;

use core::time::Duration;
use std::sync::Arc;

pub use words::{Action, Alert, Event, Outcome};

use self::freshness::Freshness;
use self::supply::Supply;
use self::upstreams::{Asked, Upstreams};
use crate::announcement::Announcement;
use crate::chance::{Chance, mix, share};
use crate::highest::Highest;
use crate::identity::{Position, Token};
use crate::judge::{Judge, is_odd};
use crate::offer::{Offer, Reply};
use crate::refusal::{Refusal, Refusals};
use crate::rules::{Flaw, Rules, Sound};
use crate::time::{Boot, Now};
use crate::trust::Trust;
use crate::verdict::{Announced, Gate, Knowledge, Ports, StaleRule, Verdict};

/// What clocks of hosts may be apart in speed is within this part of the TTL, which is not used.
const MARGIN: u32 = 100;
/// Falling back is spread over this part of the TTL, so that not all hosts ask the SA in one moment.
const SPREAD: u32 = 4;
/// A root file that is missed is asked for so often.
const ROOT_AGAIN: Duration = Duration::from_secs(60);

/// What a follower is set up with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// By what announcements are judged.
    pub judge: Judge,
    /// Of this host, another one on each: spreads what would happen everywhere at once.
    pub node: u64,
    /// How many upstreams there are.
    pub upstreams: usize,
    /// How many are asked at a time. Two, and the newer counts: for relays that are not trusted.
    pub at_once: usize,
    /// Versions of the snapshot format, the one liked best first.
    pub formats: Vec<u32>,
    /// What a passed deadline means.
    pub stale: StaleRule,
}

/// See the module.
#[derive(Debug)]
pub struct Follower<R = Sound> {
    rules: R,
    judge: Judge,
    stale: StaleRule,
    /// By how much sooner than others this host falls back, of all numbers.
    place: u64,
    chance: Chance,
    freshness: Freshness,
    upstreams: Upstreams,
    supply: Supply,
    ports: Ports,
    offer: Option<Offer>,
    refusals: Refusals,
    odd_clocks: u64,
    root_missed: bool,
    root_again: Boot,
}

impl Follower {
    /// A follower that remembers what it had stored: [`Highest::NOTHING`] only where there is no record.
    pub fn new(settings: Settings, stored: Highest) -> Self {
        Self::with_rules(settings, stored, Sound)
    }
}

impl<R: Rules> Follower<R> {
    /// The same by other rules: for tests.
    pub fn with_rules(settings: Settings, stored: Highest, rules: R) -> Self {
        let forgets = rules.has(Flaw::ForgetsWhatItSaw);
        Self {
            place: mix(settings.node),
            chance: Chance::new(settings.node),
            freshness: Freshness::new(if forgets { Highest::NOTHING } else { stored }),
            upstreams: Upstreams::new(settings.upstreams, settings.at_once.max(1)),
            supply: Supply::new(settings.formats, settings.upstreams),
            ports: Ports::Changed,
            offer: None,
            refusals: Refusals::default(),
            odd_clocks: 0,
            root_missed: false,
            root_again: Boot::NEVER,
            judge: settings.judge,
            stale: settings.stale,
            rules,
        }
    }

    /// Takes what happened, appends what is to be done, and says what workers go by from now on.
    ///
    /// The gate counts before the actions: whoever shuts it first and acts then is never wrong in between.
    #[must_use = "workers would go on by the numbers before"]
    pub fn on(&mut self, now: Now, event: Event<'_>, actions: &mut Vec<Action>) -> Gate {
        match event {
            Event::Timer => {}
            Event::Replied { ask, reply } => {
                if let Some(asked) = self.upstreams.replied(ask) {
                    self.replied(&asked, &reply, now, actions);
                }
            }
            Event::Quiet { ask } => {
                if let Some(asked) = self.upstreams.replied(ask) {
                    self.upstreams.quiet(&asked);
                }
            }
            Event::Unanswered { ask } => {
                if let Some(asked) = self.upstreams.replied(ask) {
                    self.upstreams.blame(&asked, now.boot, &mut self.chance);
                }
            }
            Event::Stored { order, is_stored } => {
                let chance = &mut self.chance;
                self.freshness
                    .stored(order, is_stored, now.boot, chance, actions);
            }
            Event::Ended { job, outcome } => {
                self.supply
                    .ended(job, outcome, now.boot, &mut self.chance, actions);
            }
            Event::Ports(ports) => self.ports = ports,
            Event::Root(trust) => self.trust(trust, actions),
        }
        self.orders(now, actions);
        self.gate()
    }

    /// When [`Event::Timer`] is wanted, at the latest.
    pub fn timer(&self) -> Option<Boot> {
        let root = self.root_missed.then_some(self.root_again);
        let parts = [
            self.freshness.timer(),
            self.upstreams.timer(),
            self.supply.timer(),
            root,
        ];
        parts.into_iter().flatten().min()
    }

    /// What workers go by.
    pub fn gate(&self) -> Gate {
        let mut gate = self.knowledge().gate();
        if self.rules.has(Flaw::KeepsFreshness) && gate != Gate::SHUT {
            gate.generation = self.supply.loaded().unwrap_or(Token::NONE);
        }
        gate
    }

    /// What people are told.
    pub fn verdict(&self, now: Boot) -> Verdict {
        self.knowledge().verdict(now)
    }

    /// For a relay: what it hands on. News go out before this host has stored or loaded anything of them.
    pub const fn offer(&self) -> Option<&Offer> {
        self.offer.as_ref()
    }

    /// The newest that was heard; its issue is what metrics show.
    pub const fn highest(&self) -> &Highest {
        self.freshness.highest()
    }

    /// The newest announcement since the start.
    pub const fn announced(&self) -> Option<&Announcement> {
        self.freshness.announced()
    }

    /// What was refused, by reason.
    pub const fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    /// How many announcements were believed though the wall clock says otherwise.
    pub const fn odd_clocks(&self) -> u64 {
        self.odd_clocks
    }

    fn knowledge(&self) -> Knowledge {
        let ignores = self.rules.has(Flaw::IgnoresPorts);
        Knowledge {
            announced: self.freshness.says(),
            until: self.freshness.until(),
            loaded: self.supply.loaded(),
            ports: if ignores {
                Ports::Confirmed
            } else {
                self.ports
            },
            stale: self.stale,
        }
    }

    fn replied(&mut self, asked: &Asked, reply: &Reply<'_>, now: Now, actions: &mut Vec<Action>) {
        match self.judged(reply.announcement, now) {
            Ok(announcement) => {
                self.upstreams.praise(asked);
                self.believe(announcement, asked, reply, now, actions);
            }
            // Another upstream was faster.
            Err((Refusal::OldBeat | Refusal::OldIssue | Refusal::OldTerm, Some(it)))
                if it > asked.after =>
            {
                self.upstreams.praise(asked);
            }
            Err((refusal, _)) => {
                self.refusals.count(refusal);
                self.upstreams.blame(asked, now.boot, &mut self.chance);
                self.refused(refusal, actions);
            }
        }
    }

    /// What is news, or why not, with the position where the rest was in order.
    fn judged(&self, bytes: &[u8], now: Now) -> Result<Announcement, (Refusal, Option<Position>)> {
        let opened = self.judge.open(bytes, now.wall, &self.rules);
        let announcement = opened.map_err(|refusal| (refusal, None))?;
        let highest = self.freshness.highest();
        let news = self
            .judge
            .admit(&announcement, highest, now.wall, &self.rules);
        news.map_err(|refusal| (refusal, Some(announcement.position)))?;
        Ok(announcement)
    }

    fn believe(
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

    /// Counted from before the request left: how long anything took shortens it, and nothing lengthens it.
    fn deadline(
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

    fn refused(&mut self, refusal: Refusal, actions: &mut Vec<Action>) {
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

    fn trust(&mut self, trust: Trust, actions: &mut Vec<Action>) {
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

    fn orders(&mut self, now: Now, actions: &mut Vec<Action>) {
        let after = self.freshness.highest().position;
        self.freshness.orders(now.boot, actions);
        self.supply.orders(now.boot, actions);
        self.upstreams
            .orders(after, now.boot, &mut self.chance, actions);
        if self.root_missed && now.boot >= self.root_again {
            self.root_again = now.boot.after(ROOT_AGAIN);
            let version = self.judge.trust.root_version.saturating_add(1);
            actions.push(Action::FetchRoot { version });
        }
    }
}

impl<R> Follower<R> {
    /// True while nothing counts because two contents of one issue were seen.
    pub fn is_contradicted(&self) -> bool {
        self.freshness.says() == Announced::Contradicted
    }
}
