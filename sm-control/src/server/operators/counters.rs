//! The counters of workers and ports as log lines: at SIGUSR1, and once at the end.
//!
//! ```text
//!  counters port=0 epoch=7 received=120 answered=117 refused=not_ready:3 dropped=0 punted=0 unsent=0
//!  MADs port=0 attachments=1 attached=true counted=..
//!  batch times port=0 samples=40 p50_ns=2100 p90_ns=.. max_ns=..
//! ```

use std::fmt;

use sa_answer::{DropReason, PuntReason, Reject};
use sa_fastpath::publish::EpochId;
use tracing::info;

use super::status::Status;
use crate::logging::REPORT;

/// One line per worker, one for its port where that counts, and one with the times of batches where
/// those are sampled. Never limited in number: somebody has asked for it.
pub(in crate::server) fn log(status: &Status) {
    for (port, row) in status.ports.iter().enumerate() {
        let stats = &row.stats;
        let now = stats.snapshot();
        let refused = Reasons(Reject::ALL.map(|(_, name)| name), now.refused);
        let dropped = Reasons(DropReason::ALL.map(|(_, name)| name), now.dropped);
        let punted = Reasons(PuntReason::ALL.map(|(_, name)| name), now.punted);
        info!(
            target: REPORT,
            port,
            epoch = EpochId::raw(now.epoch),
            received = now.received,
            answered = now.answered,
            %refused,
            %dropped,
            %punted,
            unsent = now.unsent,
            "counters"
        );
        let entry = row.summary();
        if let Some(counters) = entry.counters {
            let (names, counts) = apart(counters.each());
            info!(
                target: REPORT,
                port,
                attachments = entry.attachments,
                attached = entry.away.is_none(),
                counted = %Reasons(names, counts),
                "MADs"
            );
        }
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

/// Names and counts.
/// Names and counts of pairs.
fn apart<const N: usize>(all: [(&'static str, u64); N]) -> ([&'static str; N], [u64; N]) {
    (all.map(|(name, _)| name), all.map(|(_, count)| count))
}

/// Those that counted, as in `not_ready:3,key:1`; 0 when none did.
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
