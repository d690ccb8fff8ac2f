//! A follower: asks for announcements, keeps a snapshot of what is in force, and says until when it
//! may answer.
//!
//! ```text
//!   poll ──> judge ──> freshness ──> store ──> gate
//!                        └────> supply ──> load, or fetch and load ──> swap
//! ```
//!
//! A deadline is counted from before the poll was sent, so that what the network and this host take
//! shortens it. It counts once the announcement is on the disk ([`Action::Store`],
//! [`Event::Stored`]); news that stop answers count before. Each beat counts once.
//!
//! A relay is a follower whose [`Follower::offer`] is handed on.

mod freshness;
mod replies;
mod supply;
mod upstreams;
mod words;

use core::time::Duration;

pub use words::{Action, Alert, Event, Outcome};

use self::freshness::Freshness;
use self::supply::Supply;
use self::upstreams::Upstreams;
use crate::announcement::Announcement;
use crate::chance::{Chance, mix};
use crate::highest::Highest;
use crate::identity::Token;
use crate::judge::Judge;
use crate::offer::Offer;
use crate::refusal::Refusals;
use crate::rules::{Flaw, Rules, Sound};
use crate::time::{Boot, Now};
use crate::verdict::{Announced, Gate, Knowledge, Ports, StaleRule, Verdict};

/// What clocks of hosts may be apart in speed is within this part of the TTL, which is not used.
const MARGIN: u32 = 100;
/// Falling back is spread over this part of the TTL, so that not all hosts ask the SA in one
/// moment.
const SPREAD: u32 = 4;
/// When this part of the TTL has passed without a beat, another upstream is asked, too.
const OVERDUE: u32 = 2;
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
    /// A follower that remembers what it had stored: [`Highest::NOTHING`] only where there is no
    /// record.
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
    /// The gate counts before the actions: whoever shuts it first and acts then is never wrong in
    /// between.
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
                    self.upstreams.quiet(&asked, now.boot, &mut self.chance);
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

    /// For a relay: what it hands on. News go out before this host has stored or loaded anything of
    /// them.
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

    /// All that gate and verdict are made of.
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

    /// All that is due: the disk first, since what counts waits for it.
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
