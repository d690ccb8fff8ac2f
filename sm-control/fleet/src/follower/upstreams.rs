//! Whom to ask, and when again.

use core::time::Duration;

use super::words::Action;
use crate::chance::Chance;
use crate::identity::Position;
use crate::offer::LONGEST_HOLD;
use crate::time::Boot;

const FIRST_BACK_OFF: Duration = Duration::from_millis(200);
const LAST_BACK_OFF: Duration = Duration::from_secs(10);
/// Beyond what a sender may hold a request.
const PATIENCE: Duration = Duration::from_secs(5);
/// Who says "nothing new" at once is not asked more often than this.
const LEAST_BETWEEN: Duration = Duration::from_secs(1);
/// When news are overdue that never came.
const FIRST_NEWS: Duration = Duration::from_secs(15);
/// Within this the preferred upstream is asked again.
const RETURN_WITHIN: Duration = Duration::from_secs(600);

/// In the order of preference.
///
/// One that is cut off from its own source is silent and says "nothing new" as an honest one does.
/// So when news are overdue, one more is asked at the same time, and who has news is the current
/// one from then on.
#[derive(Debug)]
pub(super) struct Upstreams {
    all: Vec<Upstream>,
    /// How many are asked at a time.
    at_once: usize,
    /// From then on news are overdue.
    overdue: Boot,
    is_late: bool,
    current: usize,
    /// When the first one is to be the current one again.
    back: Boot,
    last_ask: u64,
}

#[derive(Debug, Default, Clone)]
struct Upstream {
    failures: u32,
    not_before: Boot,
    asked: Option<Asked>,
}

/// A poll that has no reply yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub(super) ask: u64,
    pub(super) upstream: usize,
    /// What was said to be known.
    pub(super) after: Position,
    /// Before the request left.
    pub(super) sent: Boot,
    give_up: Boot,
}

impl Upstreams {
    /// None is asked yet.
    pub(super) fn new(count: usize, at_once: usize) -> Self {
        Self {
            all: vec![Upstream::default(); count],
            at_once,
            overdue: Boot::ALWAYS,
            is_late: false,
            current: 0,
            back: Boot::ALWAYS,
            last_ask: 0,
        }
    }

    /// The poll of this number, which is over.
    pub(super) fn replied(&mut self, ask: u64) -> Option<Asked> {
        let is_it = |asked: &mut Asked| asked.ask == ask;
        self.all.iter_mut().find_map(|it| it.asked.take_if(is_it))
    }

    /// Something new came; the next is due within that time.
    pub(super) fn praise(&mut self, asked: &Asked, within: Duration, now: Boot) {
        if let Some(upstream) = self.all.get_mut(asked.upstream) {
            upstream.failures = 0;
        }
        if now >= self.overdue {
            self.current = asked.upstream;
        }
        self.overdue = now.after(within);
    }

    /// What another had said already.
    pub(super) fn forgive(&mut self, asked: &Asked) {
        if let Some(upstream) = self.all.get_mut(asked.upstream) {
            upstream.failures = 0;
        }
    }

    /// Nothing new, as it should be now and then.
    pub(super) fn quiet(&mut self, asked: &Asked, now: Boot, chance: &mut Chance) {
        if let Some(upstream) = self.all.get_mut(asked.upstream) {
            upstream.failures = 0;
            upstream.not_before = asked.sent.after(LEAST_BETWEEN);
        }
        if now >= self.overdue {
            self.turn_from(asked.upstream, now, chance);
        }
    }

    /// No reply, or one that no honest upstream sends. The next one is asked.
    pub(super) fn blame(&mut self, asked: &Asked, now: Boot, chance: &mut Chance) {
        if let Some(upstream) = self.all.get_mut(asked.upstream) {
            upstream.failures = upstream.failures.saturating_add(1);
            let wait = chance.back_off(upstream.failures, FIRST_BACK_OFF, LAST_BACK_OFF);
            upstream.not_before = now.after(wait);
        }
        self.turn_from(asked.upstream, now, chance);
    }

    /// The next one is the current one, and the first is again within ten minutes: at random, so
    /// that a relay that comes back is not met by all its children in one moment.
    fn turn_from(&mut self, upstream: usize, now: Boot, chance: &mut Chance) {
        if upstream == self.current {
            self.current = (self.current + 1) % self.all.len().max(1);
            self.back = now.after(chance.within(RETURN_WITHIN));
        }
    }

    /// Polls to be sent now.
    pub(super) fn orders(
        &mut self,
        after: Position,
        now: Boot,
        chance: &mut Chance,
        actions: &mut Vec<Action>,
    ) {
        self.give_up(now, chance);
        if now >= self.back {
            self.current = 0;
            self.back = Boot::ALWAYS;
        }
        if self.overdue == Boot::ALWAYS {
            self.overdue = now.after(FIRST_NEWS);
        }
        self.is_late = now >= self.overdue;
        let at_once = self.at_once + usize::from(self.is_late);
        let count = self.all.len();
        let mut open = self.all.iter().filter(|it| it.asked.is_some()).count();
        for place in 0..count {
            // The current one always: it has news, and another that is asked still may have none.
            if open >= at_once && place > 0 {
                return;
            }
            let upstream = (self.current + place) % count;
            let Some(it) = self.all.get_mut(upstream) else {
                continue;
            };
            if it.asked.is_none() && it.not_before <= now {
                open += 1;
                self.last_ask += 1;
                let (ask, give_up) = (self.last_ask, now.after(LONGEST_HOLD + PATIENCE));
                it.asked = Some(Asked {
                    ask,
                    upstream,
                    after,
                    sent: now,
                    give_up,
                });
                actions.push(Action::Ask {
                    ask,
                    upstream,
                    after,
                    give_up,
                });
            }
        }
    }

    /// When to look again.
    pub(super) fn timer(&self) -> Option<Boot> {
        let at_once = self.at_once + usize::from(self.is_late);
        let late = (!self.is_late).then_some(self.overdue);
        let open = self.all.iter().filter_map(|it| it.asked);
        let give_up = open.clone().map(|asked| asked.give_up).min();
        let is_one_missing = open.count() < at_once;
        let resting = self
            .all
            .iter()
            .enumerate()
            .filter(|(_, it)| it.asked.is_none());
        let wanted = resting.filter(|(place, _)| is_one_missing || *place == self.current);
        let ready = wanted.map(|(_, it)| it.not_before).min();
        [give_up, ready, late].into_iter().flatten().min()
    }

    /// Whoever has not replied in time will not.
    fn give_up(&mut self, now: Boot, chance: &mut Chance) {
        while let Some(asked) = self.overdue(now) {
            self.blame(&asked, now, chance);
        }
    }

    /// One whose time is over, which is not waited for any more.
    fn overdue(&mut self, now: Boot) -> Option<Asked> {
        let is_late = |asked: &mut Asked| asked.give_up <= now;
        self.all.iter_mut().find_map(|it| it.asked.take_if(is_late))
    }
}
