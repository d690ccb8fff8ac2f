//! What two readings differ by, a second.
//!
//! ```text
//!  t0   pid 7  received 1000          t1   pid 7  received 3000      1 s later    2000 a second
//!  t0   pid 7  received 1000          t1   pid 9  received 12                     none: another process
//!  t0   pid 7  received 1000          t1   pid 7  received 12                     none: it counts from 0 again
//! ```
//!
//! A daemon is known by its process id, and by that its time since the start only grows. A counter
//! that falls all the same is of another daemon, or of another port: then there is no rate, rather
//! than a huge or a negative one.

use serde_json::Value;

use super::reading::{PortCounts, Reading};
use crate::control::show::text_of;

/// Of everything that counts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rates {
    /// In the order of the ports; none for a port that is new.
    pub(super) ports: Vec<Option<PortRates>>,
    /// As [`Reading::answers`].
    pub(super) answers: Vec<((&'static str, String), f64)>,
    /// As [`Reading::lane`].
    pub(super) lane: Vec<(String, f64)>,
}

/// Of one port. Units: a second, unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PortRates {
    pub(super) received: f64,
    pub(super) answered: f64,
    pub(super) refused: f64,
    pub(super) dropped: f64,
    pub(super) punted: f64,
    /// Turns that found requests, of all turns: 0 to 1. None where turns are not told, or there was
    /// none.
    pub(super) busy: Option<f64>,
    /// Requests to each turn that found any; none without such a turn.
    pub(super) batch: Option<f64>,
}

/// None where the two are not of one process, or of one moment.
pub(super) fn between(before: &Reading, after: &Reading) -> Option<Rates> {
    let seconds = after.at.saturating_duration_since(before.at).as_secs_f64();
    let is_same = before.pid() == after.pid() && before.uptime() <= after.uptime();
    // Two answers in a millisecond are no base for a figure by the second.
    if !is_same || seconds < 0.001 {
        return None;
    }
    let ports = after.ports().iter().enumerate();
    let ports = ports.map(|(nth, port)| of_port(before.ports().get(nth)?, port, seconds));
    Some(Rates {
        ports: ports.collect(),
        answers: of_counts(&before.answers(), &after.answers(), seconds)?,
        lane: of_counts(&before.lane(), &after.lane(), seconds)?,
    })
}

/// Of the element of `ports` at one place. None where it is another port, or counts from 0 again.
fn of_port(before: &Value, after: &Value, seconds: f64) -> Option<PortRates> {
    let place = |port: &Value| ["transport", "place"].map(|name| text_of(port.get(name)));
    if place(before) != place(after) {
        return None;
    }
    let (before, after) = (PortCounts::of(before), PortCounts::of(after));
    let rate = |field: fn(&PortCounts) -> u64| {
        grown(field(&before), field(&after)).map(|more| more / seconds)
    };
    let received = rate(|port| port.received)?;
    let turns = before.turns.zip(after.turns);
    let turns = turns
        .and_then(|(before, after)| Some((grown(before.0, after.0)?, grown(before.1, after.1)?)));
    Some(PortRates {
        received,
        answered: rate(|port| port.answered)?,
        refused: rate(|port| port.refused)?,
        dropped: rate(|port| port.dropped)?,
        punted: rate(|port| port.punted)?,
        busy: turns.and_then(|(some, none)| quotient(some, some + none)),
        batch: turns.and_then(|(some, _)| quotient(received * seconds, some)),
    })
}

/// Counts by name. None where one has fallen, or is not there any more. One that was not there was
/// 0: what has never happened is not told.
fn of_counts<K: Clone + PartialEq>(
    before: &[(K, u64)],
    after: &[(K, u64)],
    seconds: f64,
) -> Option<Vec<(K, f64)>> {
    let of = |all: &[(K, u64)], key: &K| {
        all.iter()
            .find(|(known, _)| known == key)
            .map(|(_, count)| *count)
    };
    if before.iter().any(|(key, _)| of(after, key).is_none()) {
        return None;
    }
    let rates = after.iter().map(|(key, count)| {
        let more = grown(of(before, key).unwrap_or(0), *count)?;
        Some((key.clone(), more / seconds))
    });
    rates.collect()
}

/// By how much; none where it has fallen.
#[expect(
    clippy::cast_precision_loss,
    reason = "a difference of two readings: exact to 2^53"
)]
fn grown(before: u64, after: u64) -> Option<f64> {
    after.checked_sub(before).map(|more| more as f64)
}

/// None where there is nothing to divide by.
fn quotient(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::json;

    use super::*;

    fn reading(at: Instant, pid: u64, uptime: u64, received: u64, answered: u64) -> Reading {
        let status = json!({
            "ok": true, "pid": pid, "uptime_s": uptime,
            "slow_lane": {"requests": {"NodeRecord": received / 10}, "late": 0, "beyond_share": 0},
            "ports": [{
                "transport": "ring", "place": "/r", "received": received, "answered": answered,
                "refused": {}, "dropped": {"key": received - answered}, "punted": {}, "unsent": 0,
                "turns": {"some": received / 4, "none": received / 4},
            }],
        });
        Reading::new(at, status, None)
    }

    #[test]
    fn rates_are_by_the_daemons_own_counters_and_the_time_between() {
        let t0 = Instant::now();
        let before = reading(t0, 7, 10, 1000, 1000);
        let after = reading(t0 + Duration::from_millis(500), 7, 10, 3000, 2900);
        let rates = between(&before, &after).unwrap();
        let port = rates.ports[0].unwrap();
        assert_eq!(
            (port.received, port.answered, port.dropped),
            (4000.0, 3800.0, 200.0)
        );
        assert_eq!((port.busy, port.batch), (Some(0.5), Some(4.0)));
        assert_eq!(rates.lane, [("NodeRecord".to_owned(), 400.0)]);
        // A reason that had never come up was 0.
        assert!(
            rates
                .answers
                .contains(&(("dropped", "key".to_owned()), 200.0)),
            "{rates:?}"
        );
    }

    #[test]
    fn a_daemon_that_was_started_again_has_no_rates_at_first() {
        let t0 = Instant::now();
        let later = t0 + Duration::from_secs(1);
        let before = reading(t0, 7, 100, 9000, 9000);
        // Another process; the same number again, which a container gives; the same with counters that have overtaken.
        for (pid, uptime, received) in [(8, 0, 9500), (7, 1, 10), (7, 1, 99_000)] {
            let after = reading(later, pid, uptime, received, received);
            assert_eq!(between(&before, &after), None, "{pid} {uptime} {received}");
        }
    }

    #[test]
    fn a_counter_that_falls_gives_no_rate() {
        let t0 = Instant::now();
        let before = reading(t0, 7, 1, 9000, 9000);
        let after = reading(t0 + Duration::from_secs(1), 7, 2, 10, 10);
        assert_eq!(between(&before, &after), None);
        let mut other = reading(t0 + Duration::from_secs(1), 7, 2, 9100, 9100);
        other.status["ports"][0]["place"] = json!("/other");
        assert_eq!(between(&before, &other).unwrap().ports, [None]);
    }

    #[test]
    fn two_readings_of_one_moment_and_an_idle_daemon_are_no_nonsense() {
        let t0 = Instant::now();
        let one = reading(t0, 7, 1, 10, 10);
        assert_eq!(between(&one, &one), None);
        let idle = reading(t0 + Duration::from_secs(1), 7, 2, 10, 10);
        let port = between(&one, &idle).unwrap().ports[0].unwrap();
        assert_eq!((port.received, port.busy, port.batch), (0.0, None, None));
    }

    /// What an older daemon does not tell.
    #[test]
    fn turns_and_a_slow_lane_need_not_be_told() {
        let t0 = Instant::now();
        let strip = |mut reading: Reading| {
            reading.status["ports"][0]["turns"] = Value::Null;
            reading.status["slow_lane"] = Value::Null;
            reading
        };
        let before = strip(reading(t0, 7, 1, 10, 10));
        let after = strip(reading(t0 + Duration::from_secs(1), 7, 2, 20, 20));
        let rates = between(&before, &after).unwrap();
        assert_eq!(rates.ports[0].unwrap().busy, None);
        assert_eq!(rates.lane, []);
    }
}
