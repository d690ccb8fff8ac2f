//! As fast as it goes: always as many requests in flight as the ring holds.
//!
//! The client and the worker are always busy, so that this gives the most that a ring can carry,
//! and CPU time per query at full batches. It says nothing about latency: a request waits behind
//! all those before it, and how many these are is the client's own choice.
//!
//! A request that is sent while a new snapshot goes into service may be answered by the old one or
//! by the new one. So with each goes the oldest generation that may answer it, noted when it was
//! sent; the newest is read when the reply is here.

use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

use sa_port::ring::{RingClient, reply_length};
use sa_wire::umad::Slot;

use crate::pace::PATIENCE;
use crate::pool::{Generations, Pool};

/// The asking side of a ring. Shape: as [`RingClient`]'s.
///
/// A trait, so that another asking side than a worker's ring can be put behind the loop.
pub trait Asking {
    /// Free slots to write requests into, at most `wanted`.
    fn claim(&mut self, wanted: usize) -> &mut [Slot];
    /// Sends the first `count` of them.
    fn publish(&mut self, count: usize);
    /// What has come back, in the order of sending.
    fn replies(&mut self) -> &[Slot];
    /// Takes the first `count` of them.
    fn release(&mut self, count: usize);
    /// Requests that have not come back.
    fn in_flight(&self) -> u64;
}

impl Asking for RingClient {
    fn claim(&mut self, wanted: usize) -> &mut [Slot] {
        Self::claim(self, wanted)
    }

    fn publish(&mut self, count: usize) {
        Self::publish(self, count);
    }

    fn replies(&mut self) -> &[Slot] {
        Self::replies(self)
    }

    fn release(&mut self, count: usize) {
        Self::release(self, count);
    }

    fn in_flight(&self) -> u64 {
        Self::in_flight(self)
    }
}

/// A closed loop over one ring.
///
/// Lives for one run; the ring and its worker outlive it.
pub struct ClosedLoop<'a, C = RingClient> {
    client: &'a mut C,
    pool: &'a Pool,
    generations: &'a Generations,
    /// Requests written per publication.
    batch: usize,
    /// Requests sent in all.
    limit: u64,
    /// Of each request in flight: the oldest generation that may answer it.
    in_flight: VecDeque<usize>,
    sent: u64,
    received: u64,
    report: ClosedReport,
}

/// What a closed loop saw.
///
/// Of one run, or of several added up: then `elapsed` is the sum of their times.
#[derive(Debug, Clone, Default)]
pub struct ClosedReport {
    /// Requests sent and answered.
    pub queries: u64,
    /// Replies that were not exactly as expected.
    pub wrong: u64,
    /// Requests without the reply that they must get.
    pub lost: u64,
    /// Wall time.
    pub elapsed: Duration,
    /// The same counts, by the newest generation when a reply came.
    pub by_generation: Vec<Seen>,
}

/// Replies counted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Seen {
    /// Requests sent and answered.
    pub queries: u64,
    /// Replies that were not exactly as expected.
    pub wrong: u64,
    /// Requests without the reply that they must get.
    pub lost: u64,
}

impl ClosedReport {
    /// Adds to the totals and to the generation's own, which is made where it is the first.
    fn count(&mut self, generation: usize, seen: Seen) {
        if self.by_generation.len() <= generation {
            self.by_generation.resize(generation + 1, Seen::default());
        }
        if let Some(of) = self.by_generation.get_mut(generation) {
            of.queries += seen.queries;
            of.wrong += seen.wrong;
            of.lost += seen.lost;
        }
        self.queries += seen.queries;
        self.wrong += seen.wrong;
        self.lost += seen.lost;
    }

    /// Both together, one after the other.
    pub fn add(&mut self, other: &Self) {
        for (generation, seen) in other.by_generation.iter().enumerate() {
            self.count(generation, *seen);
        }
        self.elapsed += other.elapsed;
    }

    /// Queries per second, by wall time. Units: millions.
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    pub fn mqps(&self) -> f64 {
        self.queries as f64 / self.elapsed.as_secs_f64().max(1e-9) / 1e6
    }
}

impl<'a, C: Asking> ClosedLoop<'a, C> {
    /// Shape: `pool` must not be empty.
    pub fn new(
        client: &'a mut C,
        pool: &'a Pool,
        generations: &'a Generations,
        batch: usize,
    ) -> Self {
        // Room for more than a ring that is measured holds: growing it would be timed.
        let in_flight = VecDeque::with_capacity(1 << 16);
        let report = ClosedReport::default();
        Self {
            client,
            pool,
            generations,
            batch,
            limit: u64::MAX,
            in_flight,
            sent: 0,
            received: 0,
            report,
        }
    }

    /// Sends each request of the pool once.
    ///
    /// The n-th request is then the n-th of the pool, so that each is asked exactly once.
    #[must_use]
    pub fn once(mut self) -> Self {
        self.limit = self.pool.requests.len() as u64;
        self
    }

    /// Sends until `stop` is set or all is sent, then waits for the replies still out (see
    /// `PATIENCE`).
    pub fn run(mut self, stop: &AtomicBool) -> ClosedReport {
        let start = Instant::now();
        // Relaxed: the flag only ends the loop, nothing else is read through it.
        while !stop.load(Ordering::Relaxed) && self.sent < self.limit {
            let sent = self.send();
            if self.receive() == 0 && sent == 0 {
                core::hint::spin_loop();
            }
        }
        self.report.elapsed = start.elapsed();
        let deadline = Instant::now() + PATIENCE;
        while self.client.in_flight() > 0 && Instant::now() < deadline {
            self.receive();
        }
        if self.sent == self.limit {
            // All of a pass counts, to its last reply.
            self.report.elapsed = start.elapsed();
        }
        let never_came = Seen {
            lost: self.client.in_flight(),
            ..Seen::default()
        };
        self.report.count(self.generations.newest(), never_came);
        self.report
    }

    /// Fills what is free, at most a batch. Returns how many went out.
    fn send(&mut self) -> usize {
        let oldest = self.generations.oldest();
        let left = usize::try_from(self.limit - self.sent).unwrap_or(usize::MAX);
        let slots = self.client.claim(self.batch.min(left));
        let count = slots.len();
        for slot in slots {
            self.pool.write(self.pool.place(self.sent), self.sent, slot);
            // The ring gives replies back in the order of requests: a queue is enough.
            self.in_flight.push_back(oldest);
            self.sent += 1;
        }
        if count > 0 {
            self.client.publish(count);
        }
        count
    }

    /// Takes what has come, compares each reply whole, and returns how many there were.
    fn receive(&mut self) -> usize {
        let replies = self.client.replies();
        // Looked at when they are here, not before: a snapshot that came in between may have
        // answered them.
        let newest = self.generations.newest();
        let count = replies.len();
        let mut seen = Seen {
            queries: count as u64,
            ..Seen::default()
        };
        for slot in replies {
            let oldest = self.in_flight.pop_front().unwrap_or(0);
            let (index, generations) = (self.pool.place(self.received), (oldest, newest));
            match reply_length(slot) {
                None if self.pool.may_be_silent(index, generations) => {}
                None => seen.lost += 1,
                Some(_) if self.pool.is_right(index, self.received, generations, slot) => {}
                Some(_) => seen.wrong += 1,
            }
            self.received += 1;
        }
        self.client.release(count);
        if count > 0 {
            self.report.count(newest, seen);
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use sa_wire::mad::method;

    use super::*;
    use crate::pool::{Expected, Request};

    /// A server whose every reply is of a snapshot that came in the moment before.
    struct Swapping<'a> {
        generations: &'a Generations,
        slots: Vec<Slot>,
        in_flight: usize,
        left: u8,
        stop: &'a AtomicBool,
    }

    impl Asking for Swapping<'_> {
        fn claim(&mut self, _wanted: usize) -> &mut [Slot] {
            let is_free = self.in_flight == 0 && self.left > 0;
            self.slots.get_mut(..usize::from(is_free)).unwrap()
        }

        fn publish(&mut self, count: usize) {
            self.in_flight = count;
        }

        fn replies(&mut self) -> &[Slot] {
            if self.in_flight > 0 {
                self.generations.begin_next();
                let newest = self.generations.newest();
                for slot in &mut self.slots {
                    slot.mad[3] = method::RESPONSE_BIT;
                    slot.mad[5] = u8::try_from(newest).unwrap();
                    slot.header.length = 24;
                }
                self.left -= 1;
                self.stop.store(self.left == 0, Ordering::Relaxed);
            }
            &self.slots[..self.in_flight]
        }

        fn release(&mut self, count: usize) {
            self.in_flight -= count;
            // Every other one is taken up by everybody before the next request.
            if self.left.is_multiple_of(2) {
                self.generations.finish_next();
            }
        }

        fn in_flight(&self) -> u64 {
            self.in_flight as u64
        }
    }

    #[test]
    fn a_reply_of_a_snapshot_that_came_while_it_was_taken_is_right() {
        const SWAPS: u8 = 20;
        let (generations, stop) = (Generations::default(), AtomicBool::new(false));
        let mut server = Swapping {
            generations: &generations,
            slots: vec![Slot::EMPTY],
            in_flight: 0,
            left: SWAPS,
            stop: &stop,
        };
        let pool = Pool {
            requests: vec![Request::new(1, &[0; 256])],
            expected: (0..=u16::from(SWAPS))
                .map(|generation| vec![Expected::Error(generation)])
                .collect(),
        };
        let report = ClosedLoop::new(&mut server, &pool, &generations, 1).run(&stop);
        assert_eq!((report.queries, report.wrong, report.lost), (20, 0, 0));
    }
}
