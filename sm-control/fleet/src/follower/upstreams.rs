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
/// Within this the preferred upstream is asked again.
const RETURN_WITHIN: Duration = Duration::from_secs(600);

/// In the order of preference.
#[derive(Debug)]
pub(super) struct Upstreams {
    all: Vec<Upstream>,
    /// How many are asked at a time.
    at_once: usize,
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
    pub(super) fn new(count: usize, at_once: usize) -> Self {
        Self {
            all: vec![Upstream::default(); count],
            at_once,
            current: 0,
            back: Boot::NEVER,
            last_ask: 0,
        }
    }

    /// The poll of this number, which is over.
    pub(super) fn replied(&mut self, ask: u64) -> Option<Asked> {
        let is_it = |asked: &mut Asked| asked.ask == ask;
        self.all.iter_mut().find_map(|it| it.asked.take_if(is_it))
    }

    /// Something new came.
    pub(super) fn praise(&mut self, asked: &Asked) {
        if let Some(upstream) = self.all.get_mut(asked.upstream) {
            upstream.failures = 0;
        }
    }

    /// Nothing new, as it should be now and then.
    pub(super) fn quiet(&mut self, asked: &Asked) {
        if let Some(upstream) = self.all.get_mut(asked.upstream) {
            upstream.failures = 0;
            upstream.not_before = asked.sent.after(LEAST_BETWEEN);
        }
    }

    /// No reply, or one that no honest upstream sends. The next one is asked.
    pub(super) fn blame(&mut self, asked: &Asked, now: Boot, chance: &mut Chance) {
        let count = self.all.len();
        if let Some(upstream) = self.all.get_mut(asked.upstream) {
            upstream.failures = upstream.failures.saturating_add(1);
            let wait = chance.back_off(upstream.failures, FIRST_BACK_OFF, LAST_BACK_OFF);
            upstream.not_before = now.after(wait);
        }
        if asked.upstream == self.current {
            self.current = (self.current + 1) % count.max(1);
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
        }
        let count = self.all.len();
        let mut open = self.all.iter().filter(|it| it.asked.is_some()).count();
        for upstream in (0..count).map(|place| (self.current + place) % count) {
            if open >= self.at_once {
                return;
            }
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
        let open = self.all.iter().filter_map(|it| it.asked);
        let give_up = open.clone().map(|asked| asked.give_up).min();
        let is_one_missing = open.count() < self.at_once;
        let resting = self.all.iter().filter(|it| it.asked.is_none());
        let ready = resting
            .map(|it| it.not_before)
            .min()
            .filter(|_| is_one_missing);
        [give_up, ready].into_iter().flatten().min()
    }

    fn give_up(&mut self, now: Boot, chance: &mut Chance) {
        while let Some(asked) = self.overdue(now) {
            self.blame(&asked, now, chance);
        }
    }

    fn overdue(&mut self, now: Boot) -> Option<Asked> {
        let is_late = |asked: &mut Asked| asked.give_up <= now;
        self.all.iter_mut().find_map(|it| it.asked.take_if(is_late))
    }
}
