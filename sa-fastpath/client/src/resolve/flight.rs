//! The requests of one bulk, on their way.
//!
//! Slots come back in the order of their requests, so a queue of numbers beside the ring tells which
//! request a slot answers. Late replies name a position. Both start anew with another ring.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use sa_ring::layout::{Slot, state};
use sa_wire::mad::Status;

use super::again::{Again, Try};
use super::{Answer, Bulk, Job, Summary};
use crate::pace::Pace;
use crate::{Client, Error, request};

/// Between two tries to connect to the next daemon.
const RECONNECT: Duration = Duration::from_millis(20);
/// Between two questions whether to go on.
const ASK: Duration = Duration::from_millis(50);

/// One bulk: from its first request to its summary.
pub(super) struct Flight<'a, J> {
    client: &'a mut Client,
    job: &'a mut J,
    bulk: Bulk,
    /// None: no clock reaches it.
    ends: Option<Instant>,
    /// First request that was never sent.
    next: usize,
    again: Again,
    /// Of the slots in the ring, the oldest first.
    slots: VecDeque<Try>,
    /// Position of the first of them; slots before it are of calls that were given up.
    first: u64,
    /// Those that come later: position, when that was said, which. By position.
    late: VecDeque<(u64, Instant, Try)>,
    summary: Summary,
}

impl<'a, J: Job> Flight<'a, J> {
    pub(super) fn new(
        client: &'a mut Client,
        job: &'a mut J,
        bulk: Bulk,
        ends: Option<Instant>,
    ) -> Self {
        Self {
            first: client.produced,
            client,
            job,
            bulk,
            ends,
            next: 0,
            again: Again::default(),
            slots: VecDeque::new(),
            late: VecDeque::new(),
            summary: Summary::default(),
        }
    }

    /// Until every request has its answer, or the time is over.
    pub(super) fn run(mut self) -> Summary {
        let mut pace = Pace::default();
        let mut asked = Instant::now();
        while self.summary.found + self.summary.refused < self.job.count() {
            let now = Instant::now();
            let has_moved = self.send(now) | self.take_slots(now) | self.take_late(now);
            if self.ends.is_some_and(|ends| now >= ends) {
                break;
            }
            if now - asked >= ASK {
                asked = now;
                if !self.job.goes_on() {
                    break;
                }
            }
            if has_moved {
                pace = Pace::default();
                continue;
            }
            if !pace.is_spinning()
                && let Err(error) = self.client.check()
                // What was answered before the daemon's end counts.
                && !(self.take_slots(now) | self.take_late(now))
                && !self.connect_again(error, now)
            {
                break;
            }
            pace.pause();
        }
        self.give_up_rest();
        self.summary
    }

    /// How many requests may be in flight.
    fn window(&self) -> usize {
        let slots = usize::try_from(self.client.slots()).unwrap_or(usize::MAX);
        match self.bulk.window {
            0 => slots,
            window => window.min(slots),
        }
    }

    /// Fills free slots: those to be sent again whose pause is over, then new ones. True if any.
    fn send(&mut self, now: Instant) -> bool {
        let free = self
            .window()
            .saturating_sub(self.slots.len() + self.late.len());
        let mut count = 0;
        for slot in self.client.claim(free) {
            let Some(tried) = due(&mut self.again, &mut self.next, self.job.count(), now) else {
                break;
            };
            let mut mad = self.job.query(tried.nth).mad();
            // Its number, which its reply has again: for who looks at a ring from outside.
            request::set_transaction(&mut mad, tried.nth as u64);
            slot.put(self.bulk.requester, &mad);
            self.slots.push_back(tried);
            self.summary.sent_again += u64::from(tried.before > 0);
            count += 1;
        }
        if count > 0 {
            self.client.publish(count);
        }
        count > 0
    }

    /// Takes what came back. True if anything did.
    fn take_slots(&mut self, now: Instant) -> bool {
        let positions = self.client.first_reply()..;
        let replies = self.client.replies();
        let count = replies.len();
        for (position, slot) in positions.zip(replies) {
            let tried = (position >= self.first).then(|| self.slots.pop_front());
            if let Some(tried) = tried.flatten() {
                match told(slot) {
                    Told::Answer(answer) => tell(self.job, &mut self.summary, tried.nth, answer),
                    Told::Later => self.late.push_back((position, now, tried)),
                    Told::Nothing => self.again.wait(tried, now),
                }
            }
        }
        self.client.release(count);
        count > 0
    }

    /// Takes late replies, and gives up those that are overdue. True if any came.
    fn take_late(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some(reply) = self.client.late_reply() {
            any = true;
            let place = self
                .late
                .binary_search_by_key(&reply.position, |late| late.0);
            // Of a try that was given up, or of a call before: nobody waits for it.
            let Some((_, _, tried)) = place.ok().and_then(|place| self.late.remove(place)) else {
                continue;
            };
            match judged(&reply.mad) {
                Some(answer) => tell(self.job, &mut self.summary, tried.nth, answer),
                None => self.again.wait(tried, now),
            }
        }
        while let Some((_, since, tried)) = self.late.front().copied()
            && now.saturating_duration_since(since) >= self.bulk.patience
        {
            self.late.pop_front();
            self.again.wait(tried, now);
        }
        any
    }

    /// Gets a ring from the next daemon; what was in the old one is to be sent again. False: that
    /// is not wanted, or never will be possible.
    fn connect_again(&mut self, error: Error, now: Instant) -> bool {
        self.summary.trouble = Some(error);
        if !self.bulk.reconnect {
            return false;
        }
        let lost = self
            .slots
            .drain(..)
            .chain(self.late.drain(..).map(|late| late.2));
        for tried in lost {
            self.again.at_once(tried, now);
        }
        let left = self.ends.map(|ends| ends.saturating_duration_since(now));
        match self.client.reconnect_within(left) {
            Ok(()) => {
                self.summary.reconnected += 1;
                self.first = 0;
            }
            // Not mended by waiting.
            Err(error @ (Error::Version { .. } | Error::Forked)) => {
                self.summary.trouble = Some(error);
                return false;
            }
            Err(error) => {
                self.summary.trouble = Some(error);
                std::thread::sleep(left.unwrap_or(RECONNECT).min(RECONNECT));
            }
        }
        true
    }

    /// Whatever has no answer now gets none.
    fn give_up_rest(&mut self) {
        let begun = self
            .slots
            .drain(..)
            .chain(self.late.drain(..).map(|late| late.2));
        let begun = begun.chain(self.again.rest()).map(|tried| tried.nth);
        for nth in begun.chain(self.next..self.job.count()) {
            self.job.answer(nth, Answer::None);
            self.summary.unanswered += 1;
        }
        if self.summary.unanswered == 0 {
            self.summary.trouble = None;
        }
    }
}

/// The next request to send.
fn due(again: &mut Again, next: &mut usize, count: usize, now: Instant) -> Option<Try> {
    if let Some(tried) = again.due(now) {
        return Some(tried);
    }
    let nth = *next;
    (nth < count).then(|| {
        *next += 1;
        Try { nth, before: 0 }
    })
}

/// What a slot says that came back.
enum Told {
    Answer(Answer),
    Later,
    /// Given up, or the SA is busy.
    Nothing,
}

fn told(slot: &Slot) -> Told {
    match slot.state {
        state::LATER => Told::Later,
        _ => slot
            .reply()
            .and_then(judged)
            .map_or(Told::Nothing, Told::Answer),
    }
}

/// What a reply says; nothing where there is none, or the SA is busy.
fn judged(reply: &[u8]) -> Option<Answer> {
    match request::path_of(reply) {
        Ok(record) => Some(Answer::Found(record)),
        Err(Error::Status(Status::BUSY)) => None,
        Err(Error::Status(status)) => Some(Answer::Refused(status)),
        Err(_) => None,
    }
}

/// Counts an answer and hands it on.
fn tell(job: &mut impl Job, summary: &mut Summary, nth: usize, answer: Answer) {
    match answer {
        Answer::Found(_) => summary.found += 1,
        Answer::Refused(_) => summary.refused += 1,
        Answer::None => summary.unanswered += 1,
    }
    job.answer(nth, answer);
}
