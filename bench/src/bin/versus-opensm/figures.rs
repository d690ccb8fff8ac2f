//! Figures of one load, and what they come to over the rounds.
//!
//! A load becomes a [`Sample`], the samples of all rounds a [`Spread`]. Medians with the least and
//! the most instead of means and deviations: on a shared machine some rounds are far off, mostly to
//! the same side.

use crate::cpu::Cpu;
use crate::side::Taken;

/// What one load on one side gave.
///
/// Figures per answer and not per request: what timed out was not served.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    /// Units: answers per second.
    pub(crate) rate: f64,
    /// Units: ns.
    pub(crate) p50: f64,
    /// Units: ns.
    pub(crate) p99: f64,
    /// CPU time of the SA. Units: ns per answer.
    pub(crate) sa: f64,
    /// The same of the simulator.
    pub(crate) ibsim: f64,
    /// The same of the client.
    pub(crate) client: f64,
    /// The SA's, in ticks.
    pub(crate) ticks: Cpu,
    pub(crate) answered: u64,
    pub(crate) timeouts: u64,
    pub(crate) late: u64,
    /// Behind its time, the latest request of an open loop. Units: ns.
    pub(crate) sent_late: Option<f64>,
}

impl Sample {
    /// Figures of one load, reduced to what is compared.
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    pub(crate) fn of(taken: &Taken) -> Self {
        let report = &taken.report;
        // Per answer: an SA that drops requests must not look cheap by it.
        let each = |cpu: Cpu| cpu.total as f64 / report.answered.max(1) as f64;
        let quantile = |share| report.latency.quantile_ns(share) as f64;
        Self {
            rate: report.rate(),
            p50: quantile(0.5),
            p99: quantile(0.99),
            sa: each(taken.sa),
            ibsim: each(taken.ibsim),
            client: each(taken.client),
            ticks: taken.sa,
            answered: report.answered,
            timeouts: report.timeouts,
            late: report.late,
            sent_late: report.latest.map(|latest| latest.as_nanos() as f64),
        }
    }
}

/// A figure over all rounds.
///
/// Shape: least <= median <= most, as all come from one sorted list.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Spread {
    /// Shape: zeros for no figures.
    pub(crate) fn of(figures: impl Iterator<Item = f64>) -> Self {
        // Sorted once, so that all three are of the same list.
        let mut all: Vec<f64> = figures.collect();
        all.sort_by(f64::total_cmp);
        let middle = all.len() / 2;
        let at = |place: usize| all.get(place).copied().unwrap_or(0.0);
        let median = match all.len().is_multiple_of(2) {
            true => f64::midpoint(at(middle.saturating_sub(1)), at(middle)),
            // The middle one; with an even number of rounds the two in the middle are averaged
            // above.
            false => at(middle),
        };
        Self {
            median,
            least: at(0),
            most: at(all.len().saturating_sub(1)),
        }
    }

    /// Of one figure of the samples.
    pub(crate) fn over(samples: &[Sample], figure: impl Fn(&Sample) -> f64) -> Self {
        Self::of(samples.iter().map(figure))
    }

    /// The second by the first, round by round: the two of a round are neighbours in time.
    pub(crate) fn ratio(samples: &[Vec<Sample>; 2], figure: impl Fn(&Sample) -> f64) -> Self {
        let [first, second] = samples;
        let pairs = first.iter().zip(second);
        // Never by 0: a side may have used no CPU time at all.
        Self::of(pairs.map(|(first, second)| figure(second) / figure(first).max(1e-9)))
    }
}

/// Share of the SA's CPU time that it spends in the kernel, over all rounds: a tick is too coarse
/// for one. None when there were no ticks.
#[expect(clippy::cast_precision_loss, reason = "for people")]
pub(crate) fn kernel_share(samples: &[Sample]) -> Option<f64> {
    let sum = |part: fn(&Cpu) -> u64| samples.iter().map(|it| part(&it.ticks)).sum::<u64>() as f64;
    let (user, system) = (sum(|cpu| cpu.user), sum(|cpu| cpu.system));
    (user + system > 0.0).then(|| system / (user + system))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_few_figures() {
        let spread = |figures: &[f64]| Spread::of(figures.iter().copied());
        let odd = spread(&[3.0, 1.0, 2.0]);
        assert_eq!((odd.median, odd.least, odd.most), (2.0, 1.0, 3.0));
        assert_eq!(spread(&[4.0, 1.0, 2.0, 3.0]).median, 2.5);
        assert_eq!(spread(&[]).median, 0.0);
    }
}
