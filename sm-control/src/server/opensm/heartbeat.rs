//! Whether this daemon goes on without a break, which OpenSM's library hears of: one that stands
//! still loses the read methods, and must not answer before it has them again.
//!
//! ```text
//!  time     0    100   200 ─── stopped ─── 700    701
//!  beat     1    2     3                   4      4 is answered
//!  lease    400  500   600 ─── over ──────────    1100
//!  library: without beat 4 it would have taken the methods back at 800
//! ```
//!
//! The lease ends 400 ms after the last beat was *sent*, the library's patience 600 ms after it was
//! heard. Between both lie 200 ms in which nobody answers; there is no moment at which two do.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sa_fastpath::stats::WorkerStats;
use split_protocol::{BEAT, BEAT_LAPSE, Frame, Reads};

use super::gate::Gate;
use super::link::{Connected, Link};

/// A worker that has not turned for so long stands still. Idle ones turn 20 times a second, so this
/// is six turns missed.
const STILL: Duration = Duration::from_millis(300);

/// The workers that answer behind the gate. They are added at the start and never leave: a worker
/// that is attached again counts on.
#[derive(Debug, Default)]
pub(in crate::server) struct Workers(Mutex<Vec<Arc<WorkerStats>>>);

impl Workers {
    /// One more that has to turn. Called at the start, once for each port of OpenSM's device.
    pub(in crate::server) fn add(&self, worker: Arc<WorkerStats>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(worker);
    }

    /// Turns of each.
    fn turns(&self) -> Vec<u64> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|worker| worker.turns()).collect()
    }
}

/// What is remembered from look to look.
#[derive(Debug, Default)]
pub(super) struct Heartbeat {
    /// Turns of each worker, and when it was seen to turn last. Shape: as the workers.
    turned: Vec<(u64, Duration)>,
    /// A port held the methods at the last look.
    was_held: bool,
    /// When a beat was sent last, and its number.
    sent: Duration,
    number: u64,
    /// There was a break: this beat must be answered before anybody else is. The library may have
    /// taken the methods back meanwhile, and its answer is how to know.
    to_confirm: Option<u64>,
}

impl Heartbeat {
    /// Looks at the workers, and says that they live. False: one of them stands still, and then no
    /// beat is sent, so that OpenSM answers in its place.
    pub(super) fn beat(
        &mut self,
        (link, gate, workers): (&Link, &Gate, &Workers),
        opensm: Option<&Connected>,
        now: Duration,
    ) -> bool {
        if !self.is_alive(&workers.turns(), gate.is_held(), now) {
            return false;
        }
        match opensm.map(|opensm| opensm.reads) {
            Some(Reads::Lent) => self.say(link, now),
            // It reads itself.
            Some(Reads::Held) => return true,
            // Nobody else can have them.
            Some(Reads::Refused(_)) | None => {
                self.to_confirm = None;
                self.sent = now;
            }
        }
        let is_answered = |number: u64| link.answered_beat() >= number;
        if self.to_confirm.is_none_or(is_answered) {
            self.to_confirm = None;
            gate.holds_until(self.sent + BEAT_LAPSE);
        }
        true
    }

    /// Sends the next beat when it is time.
    fn say(&mut self, link: &Link, now: Duration) {
        let pause = now.saturating_sub(self.sent);
        if pause < BEAT {
            return;
        }
        self.number += 1;
        // The lease is over: OpenSM may have answered since then.
        if pause > BEAT_LAPSE {
            self.to_confirm = Some(self.number);
        }
        self.sent = now;
        link.tell(&Frame::Beat(self.number));
    }

    /// The methods were lent a moment ago.
    pub(super) fn begin(&mut self, now: Duration) {
        (self.sent, self.to_confirm) = (now, None);
    }

    /// Whether every worker has turned lately. While nobody serves they all count as turning.
    fn is_alive(&mut self, turns: &[u64], is_held: bool, now: Duration) -> bool {
        // One that is about to begin needs a moment.
        let begins = is_held && !core::mem::replace(&mut self.was_held, is_held);
        // Workers are only added, at the start.
        self.turned.resize(turns.len(), (0, now));
        for ((last, at), turns) in self.turned.iter_mut().zip(turns) {
            if last != turns || !is_held || begins {
                (*last, *at) = (*turns, now);
            }
        }
        let is_still = |(_, at): &(u64, Duration)| now.saturating_sub(*at) > STILL;
        !self.turned.iter().any(is_still)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_does_not_turn_stands_still() {
        let mut heartbeat = Heartbeat::default();
        let at = Duration::from_millis;
        assert!(heartbeat.is_alive(&[0, 7], false, at(0)));
        assert!(
            heartbeat.is_alive(&[0, 7], false, at(9000)),
            "nobody serves"
        );
        assert!(heartbeat.is_alive(&[0, 7], true, at(9010)), "they begin");
        assert!(heartbeat.is_alive(&[1, 8], true, at(9200)));
        assert!(heartbeat.is_alive(&[2, 8], true, at(9400)));
        assert!(!heartbeat.is_alive(&[3, 8], true, at(9600)), "the second");
        assert!(heartbeat.is_alive(&[4, 9], true, at(9700)));
    }
}
