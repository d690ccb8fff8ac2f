//! The workers' counters as log lines.

use std::fmt;
use std::sync::Arc;

use sa_fastpath::answer::{DropReason, PuntReason, Reject};
use sa_fastpath::stats::WorkerStats;
use tracing::info;

/// One line per port. Shape: `stats` in the order of the ports' numbers.
pub(super) fn log(stats: &[Arc<WorkerStats>]) {
    for (port, stats) in stats.iter().enumerate() {
        let now = stats.snapshot();
        let refused = Reasons(Reject::ALL.map(|(_, name)| name), now.refused);
        let dropped = Reasons(DropReason::ALL.map(|(_, name)| name), now.dropped);
        let punted = Reasons(PuntReason::ALL.map(|(_, name)| name), now.punted);
        info!(
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
