//! Requests by attribute: what workers have sampled and the slow lane has counted, over the last
//! seconds.
//!
//! ```text
//!  every second: replies 5,000   sampled {Get(PathRecord): 60, GetMulti: 20}   lane {NodeRecord: 3}
//!  10 s later:   replies 9,000   sampled {Get(PathRecord): 90, GetMulti: 30}   lane {NodeRecord: 8}
//!                4,000 replies in 10 s, three of four for Get(PathRecord) ──> 300 and 100 a second; 0.5 by the lane
//! ```
//!
//! A worker counts by attribute only in the batches that it times. How many replies there were is
//! known in full, so the sample says no more than how they are shared out. Rates look back for ten
//! seconds, not one: one batch in 1,000 is few.

use core::num::NonZeroU32;
use std::collections::VecDeque;
use std::time::Instant;

use sa_fastpath::sampling::{self, Sampling};
use sa_fastpath::stats::StatsSnapshot;
use sa_page::asked::{Asked, Kind};

use super::super::status::Status;

/// How far back rates look. Units: readings, of which there is one a second.
const WINDOW: usize = 10;

/// All kinds that workers tell apart.
const KINDS: [sampling::Asked; 4] = sampling::Asked::ALL;

/// What is counted at a moment, since the start.
#[derive(Debug, Clone)]
struct Reading {
    at: Instant,
    /// Replies of all workers.
    replies: u64,
    /// Replies of sampled batches. Shape: by [`KINDS`].
    sampled: [u64; KINDS.len()],
    /// Requests of the slow lane, without those that nobody asked for.
    lane: Vec<(&'static str, u64)>,
}

/// The last readings, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Window {
    every: Option<NonZeroU32>,
    readings: VecDeque<Reading>,
}

impl Window {
    /// One more; the oldest goes. `counters`: of the workers, at that moment.
    pub(super) fn read(&mut self, at: Instant, counters: &[StatsSnapshot], status: &Status) {
        let samplings = || status.ports.iter().filter_map(|port| port.stats.sampling());
        self.every = samplings().next().map(Sampling::every);
        let replies = counters.iter();
        let replies = replies.map(|now| now.answered + now.refused.iter().sum::<u64>());
        self.take(Reading {
            at,
            replies: replies.sum(),
            sampled: KINDS.map(|kind| samplings().map(|it| it.replies_to(kind).count()).sum()),
            lane: status
                .lane()
                .map(|lane| lane.by_attribute())
                .unwrap_or_default(),
        });
    }

    fn take(&mut self, reading: Reading) {
        self.readings.push_back(reading);
        while self.readings.len() > WINDOW + 1 {
            self.readings.pop_front();
        }
    }

    /// For the page.
    pub(super) fn asked(&self) -> Asked {
        Asked {
            every: self.every,
            window: WINDOW as u64,
            kinds: self.workers().chain(self.lane()).collect(),
        }
    }

    /// First and last reading, and the seconds between them; none before there are two.
    fn ends(&self) -> Option<(&Reading, &Reading, f64)> {
        let (first, last) = (self.readings.front()?, self.readings.back()?);
        let seconds = last.at.saturating_duration_since(first.at).as_secs_f64();
        (seconds > 0.0).then_some((first, last, seconds))
    }

    fn workers(&self) -> impl Iterator<Item = Kind> {
        let counted = self
            .readings
            .back()
            .map_or([0; KINDS.len()], |it| it.sampled);
        let kinds = KINDS.into_iter().zip(counted).enumerate();
        kinds
            .filter(|(_, (_, counted))| *counted > 0)
            .map(|(nth, (kind, counted))| {
                let (attribute, method) = kind.names();
                Kind {
                    lane: "worker",
                    attribute,
                    method,
                    rate: self.share(nth),
                    counted,
                }
            })
    }

    /// Replies of a kind in a second, by its share of the sampled ones; none where there were
    /// replies and none of them was sampled.
    fn share(&self, nth: usize) -> Option<f64> {
        let (first, last, seconds) = self.ends()?;
        let replies = last.replies.saturating_sub(first.replies);
        let grown = |nth: usize| {
            Some(
                last.sampled
                    .get(nth)?
                    .saturating_sub(*first.sampled.get(nth)?),
            )
        };
        let all: u64 = (0..KINDS.len()).filter_map(grown).sum();
        match (replies, all) {
            (0, _) => Some(0.0),
            (_, 0) => None,
            (replies, all) => Some(number(replies) * number(grown(nth)?) / number(all) / seconds),
        }
    }

    fn lane(&self) -> impl Iterator<Item = Kind> {
        let counted = self.readings.back().map(|it| it.lane.as_slice());
        let counted = counted.unwrap_or_default().iter();
        counted.map(|(attribute, counted)| Kind {
            lane: "slow lane",
            attribute,
            method: "",
            rate: self.ends().map(|(first, _, seconds)| {
                let before = first.lane.iter().find(|(name, _)| name == attribute);
                number(counted.saturating_sub(before.map_or(0, |(_, count)| *count))) / seconds
            }),
            counted: *counted,
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "requests of some seconds")]
fn number(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn window(readings: &[(u64, u64, [u64; 4], u64)]) -> Window {
        let begun = Instant::now();
        let mut window = Window::default();
        for (second, replies, sampled, nodes) in readings {
            let lane = [("NodeRecord", *nodes)];
            window.take(Reading {
                at: begun + Duration::from_secs(*second),
                replies: *replies,
                sampled: *sampled,
                lane: lane.into_iter().filter(|(_, count)| *count > 0).collect(),
            });
        }
        window
    }

    fn told(window: &Window) -> Vec<(&'static str, &'static str, Option<f64>, u64)> {
        let kinds = window.asked().kinds;
        kinds
            .iter()
            .map(|it| (it.attribute, it.method, it.rate, it.counted))
            .collect()
    }

    #[test]
    fn replies_are_shared_out_as_the_sampled_ones_are() {
        let window = window(&[
            (0, 5_000, [60, 0, 20, 0], 0),
            (10, 9_000, [90, 0, 30, 0], 5),
        ]);
        let wanted = [
            ("PathRecord", "Get", Some(300.0), 90),
            ("MultiPathRecord", "GetMulti", Some(100.0), 30),
            ("NodeRecord", "", Some(0.5), 5),
        ];
        assert_eq!(told(&window), wanted);
    }

    /// Nothing asked is no rate, and that is known; asked and not sampled is not known.
    #[test]
    fn what_is_not_known_is_not_told_as_nothing() {
        let one = window(&[(0, 5_000, [60, 0, 0, 0], 2)]);
        assert_eq!(
            told(&one),
            [("PathRecord", "Get", None, 60), ("NodeRecord", "", None, 2)]
        );
        let idle = window(&[(0, 5_000, [60, 0, 0, 0], 2), (1, 5_000, [60, 0, 0, 0], 2)]);
        assert_eq!(
            told(&idle),
            [
                ("PathRecord", "Get", Some(0.0), 60),
                ("NodeRecord", "", Some(0.0), 2)
            ]
        );
        let unsampled = window(&[(0, 5_000, [60, 0, 0, 0], 0), (1, 5_040, [60, 0, 0, 0], 0)]);
        assert_eq!(told(&unsampled), [("PathRecord", "Get", None, 60)]);
        assert_eq!(told(&Window::default()), []);
    }

    #[test]
    fn rates_look_back_for_ten_seconds_and_no_more_is_kept() {
        let readings: Vec<_> = (0..40)
            .map(|second| (second, second * second, [second, 0, 0, 0], 0))
            .collect();
        let window = window(&readings);
        assert_eq!(window.readings.len(), WINDOW + 1);
        // From 29 to 39: (39² - 29²) / 10.
        assert_eq!(told(&window), [("PathRecord", "Get", Some(68.0), 39)]);
    }
}
