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
use sa_sm::keys::Keys;
use sa_sm::plan::Plan;
use sa_sm::sweep::{Progress, Sweep};
use sa_sm::writing::Wanted;
use sm_port::{End, Packet, SmpPort, Told, Watch, ask, run};
use tracing::{debug, info};

use super::identity::Noted;
use super::responder::Responder;
use super::way::WayError;
use super::{Manager, SweepError};

impl Manager {
    /// Runs a sweep over the port, which is attached where it is not. `scope`: how much of what is
    /// known is read again; where a sweep before was given up while it looked, all of it is found
    /// anew.
    pub(super) fn run(
        &mut self,
        options: &ManagerOptions,
        (scope, keys): (&Scope, Arc<Keys>),
        plan: impl Plan,
    ) -> Result<Progress, SweepError> {
        self.run_as(options, (scope, keys), plan, |sweep| sweep)
    }

    /// The same, but that nothing is written.
    pub(super) fn run_dry<P: Plan>(
        &mut self,
        options: &ManagerOptions,
        plan: P,
    ) -> Result<Progress, SweepError> {
        let keys = self.key_ring.follow(self.directory.as_deref(), options);
        self.run_as(options, (&Scope::default(), keys), plan, Sweep::dry)
    }

    fn run_as<P: Plan>(
        &mut self,
        options: &ManagerOptions,
        (scope, keys): (&Scope, Arc<Keys>),
        plan: P,
        begin: impl FnOnce(Sweep<P>) -> Sweep<P>,
    ) -> Result<Progress, SweepError> {
        let port = self.attached(options)?;
        let discovery = discovery::Options {
            keys,
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

    /// Writes tables, and nothing else. Errors: no port, or it failed; then the next sweep attaches
    /// it.
    pub(super) fn write(&mut self, wanted: Wanted) -> Result<Counts, SweepError> {
        let port = self.port.take().ok_or(SweepError::Stopped)?;
        let before = core::mem::take(&mut self.swept);
        let sweep = Sweep::of_tables(self.limits, self.transaction, before, Arc::new(wanted));
        Ok(self.drive(port, sweep, &mut Watch::nobody())?.counts)
    }

    /// Until the sweep is over. A port that failed is let go; what was acknowledged until then is
    /// kept.
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
        let leaving = &self.identity.leaving;
        leaving.sweeps(true);
        let ended = run(&mut sweep, &mut noted, leaving.flag(), watch);
        leaving.sweeps(false);
        let progress = sweep.progress();
        // Answers to what was sent so far are none to what comes.
        self.transaction = sweep.transaction();
        self.sweeps.sent(progress.counts);
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

    /// One question to another SM, with the patience of [`Self::patience`]. Errors: the port
    /// failed; the daemon ends, or another SM commands something meanwhile.
    pub(super) fn poll(
        &mut self,
        question: Request,
        options: &ManagerOptions,
    ) -> Result<Outcome, SweepError> {
        let identity = Arc::clone(&self.identity);
        let is_over = || identity.leaving.is_begun() || identity.is_called();
        self.asked(
            question,
            Self::patience(limits(options), options),
            options,
            &is_over,
        )
    }

    /// One question, as often as a sweep asks. Errors: the port failed, or the daemon ends.
    pub(super) fn ask(
        &mut self,
        question: Request,
        options: &ManagerOptions,
    ) -> Result<Outcome, SweepError> {
        let identity = Arc::clone(&self.identity);
        let is_over = || identity.leaving.is_begun();
        self.asked(question, limits(options), options, &is_over)
    }

    fn asked(
        &mut self,
        question: Request,
        limits: Limits,
        options: &ManagerOptions,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Outcome, SweepError> {
        let mut port = self.attached(options)?;
        let mut noted = Noted {
            port: port.as_mut(),
            identity: &self.identity,
        };
        let mut nobody = |_: u16, _: &[u8; 256]| None;
        let outcome = ask(
            &mut noted,
            question,
            limits,
            self.transaction,
            is_over,
            &mut nobody,
        );
        self.transaction = self.transaction.wrapping_add(MOST_KEYS);
        let outcome = outcome.map_err(SweepError::Asking)?;
        self.port = Some(port);
        outcome.ok_or(SweepError::Stopped)
    }

    /// Sends an SMP by LID, for which nobody answers. A port that fails is attached anew by the
    /// next question.
    pub(super) fn tell(&mut self, lid: u16, smp: [u8; 256]) {
        self.transaction = self.transaction.wrapping_add(1);
        if let Some(port) = &mut self.port
            && let Err(error) = port.send(&Packet { lid, smp })
        {
            debug!("{error}");
            self.port = None;
        }
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
    pub(super) fn listen(&mut self) -> Result<(), WayError> {
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

/// How SMPs are sent. OpenSM's own limit of four under way is no operator's word: without one the
/// window adapts, as what the processors of switches stand differs.
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
        timeout: milliseconds(options.sweeps.timeout),
        long_timeout: milliseconds(options.sweeps.long_timeout),
        ..limits
    }
}

/// 0 would be a time-out before any answer can come.
fn milliseconds(option: u32) -> Duration {
    Duration::from_millis(option.max(1).into())
}

/// More transaction ids than a question takes, which is one for each key.
const MOST_KEYS: u32 = 16;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_outs_and_retries_are_those_of_the_options() {
        let mut options = ManagerOptions::default();
        assert_eq!(limits(&options), Limits::default(), "OpenSM's");
        let sweeps = &mut options.sweeps;
        (sweeps.timeout, sweeps.long_timeout, sweeps.retries) = (50, 0, 7);
        let limits = limits(&options);
        assert_eq!(limits.timeout, Duration::from_millis(50));
        assert_eq!(limits.long_timeout, Duration::from_millis(1));
        assert_eq!(limits.retries, 7);
    }

    /// A window that is asked for is a limit for each device too.
    #[test]
    fn a_window_that_an_operator_sets_is_kept() {
        let mut options = ManagerOptions::default();
        options.sweeps.max_wire_smps = 2;
        let limits = limits(&options);
        assert_eq!((limits.window, limits.per_device), (2, 2));
    }
}
