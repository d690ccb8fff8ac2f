//! A load that takes very long, or hangs.
//!
//! Nobody waits for the thread that loads: what is in service answers on, however old it gets. So
//! somebody has to say that it gets old. Nothing is ended: the largest subnets take minutes, and a
//! load that waits for a disk goes on when that does.
//!
//! ```text
//!  5 min under way ──> a warning    10, 20, 40 min .. ──> again    over ──> forgotten
//! ```

use std::time::Duration;

use tracing::warn;

/// When to say it next.
#[derive(Debug)]
pub(in crate::server) struct LongLoad {
    patience: Duration,
}

impl Default for LongLoad {
    fn default() -> Self {
        Self { patience: FIRST }
    }
}

impl LongLoad {
    /// Warns where the load under way has taken so long; to be called from time to time.
    pub(super) fn look(&mut self, loading: Option<Duration>) {
        if let Some(taken) = self.is_due(loading) {
            warn!(
                "a load has been under way for {} s; answers come from the snapshot of before. `sapphire status` says what it is at; \
                 if it hangs (a disk, a device), restart sapphired",
                taken.as_secs()
            );
        }
    }

    fn is_due(&mut self, loading: Option<Duration>) -> Option<Duration> {
        let Some(taken) = loading else {
            self.patience = FIRST;
            return None;
        };
        let is_due = taken >= self.patience;
        if is_due {
            // Not for each multiple that was slept through.
            self.patience = taken.saturating_mul(2);
        }
        is_due.then_some(taken)
    }
}

/// Longer than a first sweep of 43,904 hosts with a millisecond for each answer.
const FIRST: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_ever_less_often_and_anew_for_the_next_load() {
        let mut load = LongLoad::default();
        let seconds = Duration::from_secs;
        let said = [0, 299, 300, 301, 599, 600, 700, 1_200]
            .map(|taken| load.is_due(Some(seconds(taken))).is_some());
        assert_eq!(said, [false, false, true, false, false, true, false, true]);
        assert_eq!(load.is_due(None), None);
        assert!(load.is_due(Some(seconds(300))).is_some());
    }
}
