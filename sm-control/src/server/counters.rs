//! The workers' counters as log lines.

use std::fmt;
use std::sync::Arc;

use sa_fastpath::answer::{DropReason, PuntReason, Reject};
use sa_fastpath::stats::WorkerStats;
use tracing::info;

use crate::logging::REPORT;

/// One line per port, and one with the times of batches where those are sampled. Shape: `stats` in
/// the order of the ports' numbers.
pub(super) fn log(stats: &[Arc<WorkerStats>]) {
    for (port, stats) in stats.iter().enumerate() {
        let now = stats.snapshot();
        let refused = Reasons(Reject::ALL.map(|(_, name)| name), now.refused);
        let dropped = Reasons(DropReason::ALL.map(|(_, name)| name), now.dropped);
        let punted = Reasons(PuntReason::ALL.map(|(_, name)| name), now.punted);
        info!(
            target: REPORT,
            port,
            epoch = now.epoch,
            received = now.received,
            answered = now.answered,
            %refused,
            %dropped,
            %punted,
            unsent = now.unsent,
            "counters"
        );
        if stats.sampling().is_some() {
            let [median, p90, p99, p999, most] = [500, 900, 990, 999, 1000].map(|per_mille| {
                let time = now.times.per_mille(per_mille);
                time.map_or(0, |time| time.as_nanos())
            });
            info!(
                target: REPORT,
                port,
                samples = now.times.count(),
                p50_ns = median,
                p90_ns = p90,
                p99_ns = p99,
                p999_ns = p999,
                max_ns = most,
                "batch times"
            );
        }
    }
}

/// `not_ready:3,key:1`; 0 when none counted.
struct Reasons<const N: usize>([&'static str; N], [u64; N]);

impl<const N: usize> fmt::Display for Reasons<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(names, counts) = self;
        let mut separator = "";
        for (name, count) in names.iter().zip(counts).filter(|(_, count)| **count > 0) {
            write!(f, "{separator}{name}:{count}")?;
            separator = ",";
        }
        if separator.is_empty() {
            f.write_str("0")
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_counted_is_named() {
        assert_eq!(Reasons(["a", "b"], [0, 0]).to_string(), "0");
        assert_eq!(Reasons(["a", "b", "c"], [1, 0, 2]).to_string(), "a:1,c:2");
    }
}
