//! Sweeps over the port: attached before the first one, let go where it fails.
//!
//! ```text
//!  attached() ──> drive() ──┬─ over ─────────────> the port is kept for the next one
//!                           └─ stopped, failed ──> it is let go, and what was acknowledged is kept
//! ```

use std::sync::Arc;
use std::time::Duration;

use sa_fabric::options::ManagerOptions;
use sa_sm::discovery::{self, Scope};
use sa_sm::executor::{Counts, Limits, Outcome, Request};
use sa_sm::plan::Plan;
use sa_sm::sweep::{Progress, Sweep};
use sa_sm::writing::Wanted;
use sm_port::{End, SmpPort, Told, Watch, ask, run};
use tracing::info;

use super::identity::Noted;
use super::responder::Responder;
use super::way::WayError;
use super::{Manager, SweepError};

impl Manager {
    /// Runs a sweep over the port, which is attached where it is not.
    pub(super) fn run(
        &mut self,
        options: &ManagerOptions,
        scope: &Scope,
        plan: impl Plan,
    ) -> Result<Progress, SweepError> {
        self.run_as(options, scope, plan, |sweep| sweep)
    }

    /// The same, but that nothing is written.
    pub(super) fn look<P: Plan>(
        &mut self,
        options: &ManagerOptions,
        plan: P,
    ) -> Result<Progress, SweepError> {
        self.run_as(options, &Scope::default(), plan, Sweep::dry)
    }

    fn run_as<P: Plan>(
        &mut self,
        options: &ManagerOptions,
        scope: &Scope,
        plan: P,
        begin: impl FnOnce(Sweep<P>) -> Sweep<P>,
    ) -> Result<Progress, SweepError> {
        let port = self.attached(options)?;
        let discovery = discovery::Options {
            m_key: options.m_key,
            ..discovery::Options::default()
        };
        self.limits = limits(options);
        let before = core::mem::take(&mut self.swept);
        let sweep = begin(Sweep::going_on(
            discovery,
            limits(options),
            self.transaction,
            (before, scope),
            plan,
        ));
        let sweeps = Arc::clone(&self.sweeps);
        let mut watch = Watch::new(TOLD_EVERY, |told| {
            sweeps.go_on(told);
            tell_progress(told);
        });
        self.drive(port, sweep, &mut watch)
    }

    /// Writes tables, and nothing else. Errors: no port, or it failed; then the next sweep attaches it.
    pub(super) fn write(&mut self, wanted: Wanted) -> Result<Counts, SweepError> {
        let port = self.port.take().ok_or(SweepError::Stopped)?;
        let before = core::mem::take(&mut self.swept);
        let sweep = Sweep::of_tables(self.limits, self.transaction, before, Arc::new(wanted));
        Ok(self.drive(port, sweep, &mut Watch::nobody())?.counts)
    }

    /// Until the sweep is over. A port that failed is let go; what was acknowledged until then is kept.
    pub(super) fn drive(
        &mut self,
        mut port: Box<dyn SmpPort>,
        mut sweep: Sweep<impl Plan>,
        watch: &mut Watch<'_>,
    ) -> Result<Progress, SweepError> {
        let mut noted = Noted {
            port: port.as_mut(),
            identity: &self.identity,
        };
        let ended = run(&mut sweep, &mut noted, &self.stop, watch);
        let progress = sweep.progress();
        self.passed(progress.counts);
        self.swept = match &ended {
            Ok(End::Over) => sweep.finish(),
            Ok(End::Stopped) | Err(_) => sweep.abandon(),
        };
        match ended? {
            End::Over => {
                self.port = Some(port);
                Ok(progress)
            }
            End::Stopped => Err(SweepError::Stopped),
        }
    }

    /// One question. Errors: the port failed, or the daemon ends.
    pub(super) fn poll(
        &mut self,
        question: Request,
        options: &ManagerOptions,
    ) -> Result<Outcome, SweepError> {
        let mut port = self.attached(options)?;
        let mut noted = Noted {
            port: port.as_mut(),
            identity: &self.identity,
        };
        let limits = limits(options);
        let outcome = ask(&mut noted, question, limits, self.transaction, &self.stop);
        self.transaction = self
            .transaction
            .wrapping_add(limits.retries.saturating_add(1));
        let outcome = outcome.map_err(SweepError::Asking)?;
        self.port = Some(port);
        outcome.ok_or(SweepError::Stopped)
    }

    /// Answers to what was sent so far are none to what comes.
    fn passed(&mut self, counts: Counts) {
        let sent = u32::try_from(counts.sent).unwrap_or(0);
        self.transaction = self.transaction.wrapping_add(sent);
        self.sweeps.sent(counts);
    }

    /// The port, attached where it is not; who takes it puts it back while it is of use.
    pub(super) fn attached(
        &mut self,
        options: &ManagerOptions,
    ) -> Result<Box<dyn SmpPort>, WayError> {
        self.listen()?;
        match self.port.take() {
            Some(port) => Ok(port),
            None => self.way.attach(limits(options).timeout),
        }
    }

    /// Others are answered from now on, if they are not already.
    fn listen(&mut self) -> Result<(), WayError> {
        // It may have ended with its port, which was pulled out.
        if self.responder.as_ref().is_some_and(Responder::is_there) {
            return Ok(());
        }
        // An error ends the sweep: another SM owns the methods, or the device is away.
        if let Some(port) = self.way.listen()? {
            let responder = Responder::start(port, (&self.identity, &self.traps), &self.stop);
            self.responder = Some(responder.map_err(WayError::Thread)?);
        }
        Ok(())
    }
}

/// How SMPs are sent. OpenSM's own limit of four under way is no operator's word: without one the window adapts, as what the
/// processors of switches stand differs.
fn limits(options: &ManagerOptions) -> Limits {
    let limits = Limits::default();
    let asked = options.sweeps.max_wire_smps;
    let is_default = asked == ManagerOptions::default().sweeps.max_wire_smps;
    let window = match asked {
        // "Any number" is what no fabric has answered yet.
        0 => MOST_UNDER_WAY,
        _ if is_default => limits.window,
        asked => asked,
    };
    Limits {
        window,
        per_device: limits.per_device.min(window),
        retries: options.sweeps.retries,
        ..limits
    }
}

/// SMPs without an answer, where an operator sets no limit: each takes memory.
const MOST_UNDER_WAY: u32 = 8192;

/// How often progress is told. For whom watches a first sweep of a large subnet.
const TOLD_EVERY: Duration = Duration::from_secs(1);

/// A line while a sweep goes on.
fn tell_progress(told: &Told) {
    let progress = &told.progress;
    info!(
        nodes = progress.nodes,
        open = progress.open,
        window = progress.window,
        smps_per_second = told.per_second.round(),
        "{}",
        if progress.is_writing {
            "writing"
        } else {
            "finding"
        }
    );
}
