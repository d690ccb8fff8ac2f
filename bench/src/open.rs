//! At a fixed rate: request n is due at start + n / rate, and its latency counts from then, sent
//! late or not (no coordinated omission).
//!
//! Clients do not wait for each other: requests come at their own time, and a server that stops for
//! a millisecond meets all that came meanwhile. A closed loop would stop with it and count one slow
//! request; here each of them counts, from when it was due.
//!
//! ```text
//! due      0    10   20   30   40 us
//! sent     0    10   [ server stops ] 45 45 45
//! latency  2    2         25+   15+   5+
//! ```

use std::time::Instant;

use hdrhistogram::Histogram;
use sa_port::ring::{RingClient, reply_length};

use crate::pace::{PATIENCE, Span, due_after};
use crate::pool::Pool;

/// An open loop over one ring.
///
/// Lives for one run.
pub struct OpenLoop<'a> {
    client: &'a mut RingClient,
    pool: &'a Pool,
    /// Units: requests per second.
    rate: f64,
    start: Instant,
    sent: u64,
    received: u64,
    warm_up: u64,
    report: OpenReport,
}

/// What an open loop saw.
///
/// The histogram itself, so that callers may ask for any quantile.
#[derive(Debug, Clone)]
pub struct OpenReport {
    /// Latencies. Units: ns.
    pub latency: Histogram<u64>,
    /// Replies that were not exactly as expected.
    pub wrong: u64,
    /// Requests without any reply.
    pub lost: u64,
    /// Requests sent.
    pub sent: u64,
}

impl OpenReport {
    /// A latency quantile, 0.0 to 1.0. Units: ns.
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        self.latency.value_at_quantile(quantile)
    }
}

/// Longest latency kept apart. Units: ns.
const LONGEST: u64 = 60_000_000_000;

impl<'a> OpenLoop<'a> {
    /// Shape: `pool` must not be empty; `rate` in requests per second. None when no histogram
    /// could be made.
    pub fn new(client: &'a mut RingClient, pool: &'a Pool, rate: f64) -> Option<Self> {
        let latency = Histogram::new_with_bounds(1, LONGEST, 3).ok()?;
        let report = OpenReport {
            latency,
            wrong: 0,
            lost: 0,
            sent: 0,
        };
        let start = Instant::now();
        Some(Self {
            client,
            pool,
            rate,
            start,
            sent: 0,
            received: 0,
            warm_up: 0,
            report,
        })
    }

    /// Sends for the span; the first tenth warms up and is not counted.
    ///
    /// Ends with the last reply, or when four times the duration and the patience are over.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count of requests far below 2^53"
    )]
    pub fn run(mut self, span: impl Into<Span>) -> OpenReport {
        let span = span.into();
        let duration = span.time;
        let total = (self.rate * duration.as_secs_f64()) as u64;
        self.warm_up = total / 10;
        self.start = Instant::now();
        // A machine that is busy with other things makes the run longer, not its replies lost.
        // A deadline for sending, and another one for the replies: a server that hangs ends the
        // run.
        let give_up_sending = self.start + duration * 4;
        let mut total = total;
        while self.received < total {
            let now = Instant::now();
            if now > give_up_sending || span.is_stopped() {
                total = self.sent;
            }
            if now > give_up_sending + PATIENCE {
                break;
            }
            // From the clock in each turn, not counted up: a client that was stopped catches up.
            let due = (now.duration_since(self.start).as_secs_f64() * self.rate) as u64;
            self.send(due.min(total));
            self.receive();
        }
        // Also what was still out when the patience was over.
        self.report.lost += self.sent - self.received;
        self.report.sent = self.sent;
        self.report
    }

    /// At most 32 at once, so that replies are looked at in between.
    fn send(&mut self, due: u64) {
        let wanted = usize::try_from(due - self.sent)
            .unwrap_or(usize::MAX)
            .min(32);
        let slots = self.client.claim(wanted);
        let count = slots.len();
        for slot in slots {
            self.pool.write(self.pool.place(self.sent), self.sent, slot);
            self.sent += 1;
        }
        if count > 0 {
            self.client.publish(count);
        }
    }

    /// One time for all that came together: they were here at the same look.
    fn receive(&mut self) {
        let replies = self.client.replies();
        let count = replies.len();
        if count == 0 {
            return;
        }
        let now = self.start.elapsed();
        for slot in replies {
            let index = self.pool.place(self.received);
            match reply_length(slot) {
                None => self.report.lost += 1,
                Some(_) if self.pool.is_right(index, self.received, (0, 0), slot) => {}
                Some(_) => self.report.wrong += 1,
            }
            if self.received >= self.warm_up {
                let latency = now.saturating_sub(due_after(self.received, self.rate));
                let nanoseconds = u64::try_from(latency.as_nanos()).unwrap_or(LONGEST);
                // Within bounds by construction; a saturated value is still the longest.
                self.report
                    .latency
                    .saturating_record(nanoseconds.clamp(1, LONGEST));
            }
            self.received += 1;
        }
        self.client.release(count);
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use sa_port::ring::ring;
    use sa_port::{BATCH, MadPort, Verdict};
    use sa_wire::mad::method;

    use super::*;
    use crate::pool::{Expected, Request};

    /// A pool of one request that is to be answered by status 3.
    fn pool() -> Pool {
        Pool {
            requests: vec![Request::new(1, &[0; 256])],
            expected: vec![vec![Expected::Error(3)]],
        }
    }

    /// Answers by a status until stopped; before the request of that number it stops for a while.
    fn with_server(
        status: fn(u64) -> u8,
        stall: Option<(u64, Duration)>,
        ask: impl FnOnce(&mut RingClient) -> OpenReport,
    ) -> OpenReport {
        // Far fewer slots than requests that become due in the stall: the sender is held up too.
        let (mut client, mut server, _) = ring(16);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut served = 0;
                while !stop.load(Ordering::Relaxed) {
                    let slots = server.recv().unwrap();
                    let count = slots.len();
                    for slot in slots.iter_mut() {
                        if let Some((_, time)) = stall.filter(|(at, _)| *at == served) {
                            std::thread::sleep(time);
                        }
                        slot.mad[3] = method::RESPONSE_BIT;
                        slot.mad[5] = status(served);
                        served += 1;
                    }
                    server.send(&[Verdict::Reply(24); BATCH][..count]).unwrap();
                    if count == 0 {
                        std::thread::yield_now();
                    }
                }
            });
            let report = ask(&mut client);
            stop.store(true, Ordering::Relaxed);
            report
        })
    }

    #[test]
    fn a_stall_shows_in_every_request_that_was_due_in_it() {
        let (pool, stall) = (pool(), Duration::from_millis(200));
        let report = with_server(
            |_| 3,
            Some((600, stall)),
            |client| {
                let open = OpenLoop::new(client, &pool, 5_000.0).unwrap();
                open.run(Duration::from_millis(400))
            },
        );
        assert_eq!((report.sent, report.wrong, report.lost), (2_000, 0, 0));
        // 1,000 of the 1,800 that count fell due in the stall, half of them in its first half: a
        // quarter of all waited for more than half of the stall.
        let quantile = report.quantile_ns(0.75);
        assert!(quantile >= 100_000_000, "{quantile}");
    }

    #[test]
    fn one_planted_wrong_reply_is_seen() {
        let pool = pool();
        let status = |served| if served == 50 { 4 } else { 3 };
        let report = with_server(status, None, |client| {
            let open = OpenLoop::new(client, &pool, 5_000.0).unwrap();
            open.run(Duration::from_millis(100))
        });
        assert_eq!((report.sent, report.wrong, report.lost), (500, 1, 0));
    }
}
