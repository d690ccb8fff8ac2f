//! Reading back, between two sweeps, what nodes were written.
//!
//! ```text
//!  a sweep is over ──> a round of Gets ──┬─ all as known ──> nothing
//!                                        └─ something is other ──> a warning each, and another sweep at once, which writes it
//! ```
//!
//! A round has as many Gets as the time since the last one has of `audit_interval`, in which all of
//! the subnet is read. It comes after what a sweep had to do, a few requests at a time, so that it
//! delays nothing but itself.

use std::time::{Duration, Instant};

use sa_fabric::options::ManagerOptions;
use sa_sm::audit::{Audit, Differing, share};
use sa_sm::executor::Limits;
use sa_sm::sweep::Sweep;
use sa_wire::smp::attribute;
use sm_port::Watch;
use tracing::{debug, warn};

use super::Manager;

/// Where the reading is, and how fast it goes.
#[derive(Debug)]
pub(super) struct Auditing {
    audit: Audit,
    /// In which all is read once; zero: nothing is.
    whole: Duration,
    /// When the last round ended.
    last: Instant,
}

impl Auditing {
    pub(super) fn new(seconds: u32) -> Self {
        Self {
            audit: Audit::default(),
            whole: Duration::from_secs(seconds.into()),
            last: Instant::now(),
        }
    }

    /// The time that the next round stands for; none where it is too early for one.
    fn due(&self) -> Option<Duration> {
        let since = self.last.elapsed();
        (!self.whole.is_zero() && since >= LEAST).then_some(since)
    }
}

impl Manager {
    /// Reads back a part of what nodes were written, if it is time. True where something is other
    /// than was known, which the next plan writes again.
    pub(super) fn reads_back(&mut self, options: &ManagerOptions) -> bool {
        let Some(since) = self.auditing.due() else {
            return false;
        };
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let (since, whole) = (ms(since), ms(self.auditing.whole));
        let most = share(&self.swept.subnet, since, whole).min(MOST);
        let round = self.auditing.audit.round(&self.swept.subnet, most);
        let Ok(port) = self.attached(options) else {
            // The next sweep says why.
            return false;
        };
        let limits = Limits {
            window: self.limits.window.min(WINDOW),
            per_device: 1,
            ..self.limits
        };
        let before = core::mem::take(&mut self.swept);
        let sweep = Sweep::of_audit(limits, self.transaction, before, round);
        let ended = self.drive(port, sweep, &mut Watch::nobody());
        self.auditing.last = Instant::now();
        if let Err(error) = ended {
            debug!("what nodes hold is read back later: {error}");
        }
        self.judge_round()
    }

    /// Counts the last round, and tells what is other.
    fn judge_round(&mut self) -> bool {
        let Some(round) = self.swept.audited.take() else {
            return false;
        };
        self.sweeps.read_back(round.read(), round.differing().len());
        for differing in round.differing().iter().take(TOLD) {
            tell(differing);
        }
        let more = round.differing().len().saturating_sub(TOLD);
        if more > 0 {
            warn!("{more} more of what was read back is other than it was written");
        }
        !round.differing().is_empty()
    }
}

fn tell(differing: &Differing) {
    let Differing {
        node,
        attribute: it,
        modifier,
    } = differing;
    let name = attribute::name(*it);
    warn!(
        "{node} holds another {name} (modifier {modifier:#x}) than it was written: it has forgotten, or somebody else writes to it; \
         what is wanted is written again"
    );
}

/// Between two rounds: sweeps that traps order come closer together.
const LEAST: Duration = Duration::from_millis(500);
/// Gets of a round: some seconds of the slowest switches.
const MOST: usize = 4096;
/// Requests at a time.
const WINDOW: u32 = 8;
/// Lines of one round.
const TOLD: usize = 8;
