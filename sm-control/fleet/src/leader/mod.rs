//! A leader: takes a term of the engine, publishes what is compiled, and says again and again that
//! it still counts.
//!
//! ```text
//!   idle ──wanted──> candidate ──led──> leading: publish ──> beat, beat, ...
//!                        ^                          │ lease lost, later term seen, not wanted
//!                        └──────────────────────────┘
//! ```
//!
//! Nothing is said in the name of a term after its lease, counted from before the call that gave or
//! renewed it was sent. Whatever the engine answers later: what a host says that was stopped for a
//! while is as old as its beat. While another generation is being published, nothing is handed out;
//! and a publication of which nobody knows whether it happened is read back, never assumed.

mod reign;
mod returns;
mod saying;
mod words;

use core::time::Duration;

pub use words::{Call, LeaderAction, LeaderAlert, LeaderEvent, Published, Returned, Revision, Why};

use self::reign::Reign;
use crate::announcement::{Content, LeaderKey};
use crate::chance::Chance;
use crate::identity::{Generation, Position};
use crate::judge::Judge;
use crate::offer::Offer;
use crate::refusal::{Refusal, Refusals};
use crate::rules::{Flaw, Rules, Sound};
use crate::time::{Boot, Now};

/// How long a candidate waits after it was refused or not heard, doubled up to the second.
const FIRST_BACK_OFF: Duration = Duration::from_millis(500);
const LAST_BACK_OFF: Duration = Duration::from_secs(5);

/// What a leader is set up with.
#[derive(Debug)]
pub struct LeaderSettings {
    /// Fleet, subnet and era, and whose announcements are listened to.
    pub judge: Judge,
    /// Signs.
    pub key: LeaderKey,
    /// How long each beat is good.
    pub ttl: Duration,
    /// From one beat to the next; a third of the TTL.
    pub beat: Duration,
    /// Of this host, another one on each.
    pub node: u64,
}

/// See the module.
#[derive(Debug)]
pub struct Leader<R = Sound> {
    rules: R,
    settings: LeaderSettings,
    chance: Chance,
    is_wanted: bool,
    role: Role,
    wish: Wish,
    /// The newest announcement that came by, with its content.
    seen: Position,
    /// What was in force last, as far as is known here.
    known: Option<Generation>,
    refusals: Refusals,
    last_call: u64,
    failures: u32,
    /// A person says that terms up to this were seen.
    above: u64,
    /// What a person was told that followers have seen.
    claimed: Position,
}

#[derive(Debug)]
enum Role {
    Idle,
    /// Not before then; and the call that is on its way, with when it was sent.
    Candidate(Boot, Option<(u64, Boot)>),
    Leading(Box<Reign>),
}

/// What is to be said.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Wish {
    /// This host knows nothing.
    Nothing,
    Say(Content),
    /// What is said is wrong.
    Withdraw,
}

impl Leader {
    /// A leader that is not wanted yet and has nothing to say.
    pub fn new(settings: LeaderSettings) -> Self {
        Self::with_rules(settings, Sound)
    }
}

impl<R: Rules> Leader<R> {
    /// The same by other rules: for tests.
    pub fn with_rules(settings: LeaderSettings, rules: R) -> Self {
        Self {
            chance: Chance::new(settings.node),
            settings,
            rules,
            is_wanted: false,
            role: Role::Idle,
            wish: Wish::Nothing,
            seen: Position::default(),
            known: None,
            refusals: Refusals::default(),
            last_call: 0,
            failures: 0,
            above: 0,
            claimed: Position::default(),
        }
    }

    /// Takes what happened and appends what is to be done. What is handed out may be another after
    /// it: see [`Leader::offer`].
    pub fn on(&mut self, now: Now, event: LeaderEvent<'_>, actions: &mut Vec<LeaderAction>) {
        match event {
            LeaderEvent::Timer => {}
            LeaderEvent::Wanted(is_wanted) => self.wanted(is_wanted, now, actions),
            LeaderEvent::Promoted { above } => self.promoted(above, now, actions),
            LeaderEvent::Claimed(position) => self.claimed(position, actions),
            LeaderEvent::Compiled(content) => self.wish = Wish::Say(content),
            LeaderEvent::Changed => self.wish = Wish::Withdraw,
            LeaderEvent::Returned { call, returned } => self.returned(call, returned, now, actions),
            LeaderEvent::Saw(bytes) => self.saw(bytes, now, actions),
        }
        self.orders(now, actions);
    }

    /// When [`LeaderEvent::Timer`] is wanted, at the latest.
    pub fn timer(&self) -> Option<Boot> {
        match &self.role {
            Role::Candidate(at, None) => Some(*at),
            Role::Leading(reign) => Some(reign.timer()).filter(|at| *at != Boot::ALWAYS),
            Role::Idle | Role::Candidate(_, Some(_)) => None,
        }
    }

    /// What followers are handed; nothing while another generation is being published.
    pub fn offer(&self) -> Option<&Offer> {
        let reign = self.leading()?;
        let current = reign.current.as_ref()?;
        self.is_true(reign, current).then_some(&current.offer)
    }

    /// The term of this leader, while it leads.
    pub fn term(&self) -> Option<u64> {
        self.leading().map(|reign| reign.term)
    }

    /// What was refused of what came by, by reason.
    pub const fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    /// The term, while there is one.
    fn leading(&self) -> Option<&Reign> {
        match &self.role {
            Role::Leading(reign) => Some(reign),
            Role::Idle | Role::Candidate(..) => None,
        }
    }

    /// A person, or the sight of a master SM, wants this host to lead, or not.
    fn wanted(&mut self, is_wanted: bool, now: Now, actions: &mut Vec<LeaderAction>) {
        self.is_wanted = is_wanted;
        match (&self.role, is_wanted) {
            (Role::Idle, true) => self.role = Role::Candidate(now.boot, None),
            (Role::Leading(_), false) => self.step_down(Why::Unwanted, now, actions),
            (Role::Candidate(_, None), false) => self.role = Role::Idle,
            // A campaign that is on its way may yet be won, and is given back then.
            _ => {}
        }
    }

    /// A new term whatever there was: the one before is given back.
    fn promoted(&mut self, above: u64, now: Now, actions: &mut Vec<LeaderAction>) {
        self.above = self.above.max(above);
        self.step_down(Why::Promoted, now, actions);
        self.is_wanted = true;
        self.role = Role::Candidate(now.boot, None);
    }

    /// Told once for each term: who polls could say anything, and often.
    fn claimed(&mut self, position: Position, actions: &mut Vec<LeaderAction>) {
        let is_news = position.issue.term > self.claimed.issue.term;
        let is_ahead = |reign: &Reign| position.issue.term > reign.term;
        if is_news && self.leading().is_some_and(is_ahead) {
            self.claimed = position;
            actions.push(LeaderAction::Alert(LeaderAlert::FollowersAhead(position)));
        }
    }

    /// Whoever sees a later term is a leader no longer, whatever its lease says.
    fn saw(&mut self, bytes: &[u8], now: Now, actions: &mut Vec<LeaderAction>) {
        let Some((position, content)) = self.note(bytes, now) else {
            return;
        };
        let Some(reign) = self.leading() else { return };
        if self.rules.has(Flaw::IgnoresLaterTerm) {
            return;
        }
        let own_era = self.settings.judge.trust.era;
        if (position.issue.era, position.issue.term) > (own_era, reign.term) {
            return self.step_down(Why::LaterTerm, now, actions);
        }
        let is_ours = |offer: &Offer, said: &Content| {
            offer.position.issue == position.issue && *said == content
        };
        let current = reign
            .current
            .as_ref()
            .map(|it| is_ours(&it.offer, &it.content));
        let next = reign
            .publication
            .as_ref()
            .map(|it| is_ours(&it.offer, &it.content));
        let is_later = position.issue.seq >= reign.seq && position.issue.term == reign.term;
        if is_later && current != Some(true) && next != Some(true) {
            self.step_down(Why::SameTerm, now, actions);
        }
    }

    /// Remembers an announcement of somebody, if it is one.
    fn note(&mut self, bytes: &[u8], now: Now) -> Option<(Position, Content)> {
        match self.settings.judge.open(bytes, now.wall, &self.rules) {
            Ok(announcement) => {
                if announcement.position > self.seen {
                    self.seen = announcement.position;
                    self.known = Some(*announcement.content.generation());
                }
                Some((announcement.position, announcement.content))
            }
            // An engine that nobody published in.
            Err(Refusal::Length) if bytes.is_empty() => None,
            Err(refusal) => {
                self.refusals.count(refusal);
                None
            }
        }
    }

    /// Nothing is handed out from now on.
    fn step_down(&mut self, why: Why, now: Now, actions: &mut Vec<LeaderAction>) {
        let Some((term, has_lease)) = self.leading().map(|it| (it.term, it.has_lease())) else {
            return;
        };
        actions.push(LeaderAction::Alert(LeaderAlert::SteppedDown(why)));
        self.call(Call::Resign { term }, actions);
        // Without leases nothing but a person keeps two leaders from taking turns for ever.
        if !has_lease {
            self.is_wanted = false;
        }
        self.stand_again(now);
    }

    /// Numbers are never used twice, so that a late return is nobody else's.
    fn call(&mut self, what: Call, actions: &mut Vec<LeaderAction>) {
        self.last_call += 1;
        actions.push(LeaderAction::Call {
            call: self.last_call,
            what,
        });
    }

    /// All that is due: the engine first, then what is said.
    fn orders(&mut self, now: Now, actions: &mut Vec<LeaderAction>) {
        let call = self.last_call + 1;
        let above = self.seen.issue.term.max(self.above);
        let what = match &mut self.role {
            Role::Candidate(at, sent) if *at <= now.boot && sent.is_none() => {
                *sent = Some((call, now.boot));
                Some(Call::Campaign { above })
            }
            Role::Leading(reign) => reign.renew(call, now.boot),
            Role::Idle | Role::Candidate(..) => None,
        };
        what.into_iter().for_each(|what| self.call(what, actions));
        self.begin_publication(now);
        let call = self.last_call + 1;
        if let Role::Leading(reign) = &mut self.role {
            let what = reign.publish(call, now.boot, &self.rules);
            what.into_iter().for_each(|what| self.call(what, actions));
        }
        self.beat(now);
    }
}
