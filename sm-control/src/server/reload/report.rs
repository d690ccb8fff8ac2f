//! What is said of a load: in the log, on standard output, to the service manager and in the
//! status.
//!
//! Four listeners, who need different things:
//!
//! | listener | hears |
//! |---|---|
//! | log | every warning, change and failure; a failure that repeats by itself once |
//! | standard output | `ready epoch=N`, `reloaded epoch=N`, `reload failed`: for scripts |
//! | service manager | READY=1, once |
//! | status | the last failure, until a load succeeds |

use std::io::Write;
use std::sync::Arc;

use sa_answer::access::LAST_PUBLIC_KEY;
use sa_fabric::display;
use sa_fastpath::publish::EpochId;
use tracing::{debug, error, info, warn};

use super::compiled::{Compiled, LoadError, New};
use super::due::Cause;
use crate::checks::copy::secret;
use crate::config::{AccessRule, Config};
use crate::logging::REPORT;
use crate::server::operators::status::Status;

/// What has been said, so that nothing is said twice.
pub(super) struct Report<'a> {
    config: &'a Config,
    status: Arc<Status>,
    /// Of the last load, if that failed: retries do not repeat it.
    last_failure: Option<String>,
    is_ready_announced: bool,
}

impl<'a> Report<'a> {
    pub(super) const fn new(config: &'a Config, status: Arc<Status>) -> Self {
        Self {
            config,
            status,
            last_failure: None,
            is_ready_announced: false,
        }
    }

    /// What a compilation found, before it goes into service. `is_first`: of this run.
    pub(super) fn found(&self, compiled: &Compiled, is_first: bool) {
        match compiled {
            Compiled::New(new) => self.findings(new, is_first),
            Compiled::Copy(copy) => {
                if is_first && let Some(warning) = secret(copy, &self.config.fabric.path) {
                    warn!("{warning}");
                }
            }
            Compiled::AsBefore | Compiled::SameCopy => {}
        }
    }

    /// What a compilation found: warnings first, then what changed.
    fn findings(&self, new: &New, is_first: bool) {
        let findings = &new.findings;
        for warning in &display::told(&findings.warnings) {
            warn!(target: REPORT, "{warning}");
        }
        for change in &findings.changes {
            info!(target: REPORT, "{change}");
        }
        // Of the key once: it is as public after each reload.
        if is_first {
            self.judge_key(new.parts.options.sa_key);
        }
        debug!(timings = ?findings.timings, "the load took");
    }

    /// Says so when the SA key is no secret: 1 is the default of OpenSM.
    fn judge_key(&self, key: u64) {
        if key > LAST_PUBLIC_KEY {
            return;
        }
        let but = match self.config.sa.access {
            AccessRule::OpenSm => "",
            AccessRule::Strict => " (access = \"strict\" does not trust it)",
        };
        warn!(
            "sa_key is {key}, which everybody knows: anyone who sends it can read P_Key tables and \
             personal records; set sa_key in opensm.conf{but}"
        );
    }

    /// The load is over and has not failed. `epoch`: of what it has put into service; none where
    /// that is as it was.
    pub(super) fn succeeded(&mut self, epoch: Option<EpochId>, cause: Cause, summary: &str) {
        self.last_failure = None;
        let cause = cause.to_string();
        match epoch {
            Some(epoch) => {
                info!(%epoch, cause, "{summary}");
                self.serving(epoch);
            }
            None => debug!(cause, "{summary}"),
        }
    }

    /// One line on standard output: what scripts and service managers wait for.
    ///
    /// Not before all who ask are answered: what has just said in the log why they are not.
    pub(super) fn serving(&mut self, epoch: EpochId) {
        // `ready` promises an answer to whoever asks.
        if !self.is_ready_announced && self.status.muted().is_some() {
            return;
        }
        if self.is_ready_announced {
            say(&format!("reloaded epoch={epoch}"));
        } else {
            say(&format!("ready epoch={epoch}"));
            tell_ready();
        }
        self.is_ready_announced = true;
    }

    /// The daemon is ready, and there never is a snapshot: it answers its kernel from what an SA
    /// says. Epoch 0, which no snapshot has.
    pub(super) fn nothing_to_load(&self) {
        say("ready epoch=0");
        tell_ready();
        self.status.loaded();
    }

    /// Nothing is read here: what is in service comes from the fleet, when that announces
    /// something. The service manager must not wait for that, as no host of a fleet would start
    /// while its leader is away.
    pub(super) fn follows(&self) {
        info!("waiting for what the fleet announces; until then nobody is answered");
        tell_ready();
    }

    /// A load failed; what is in service, of the epoch `current`, stays. True where the load before
    /// did not fail with the same words.
    pub(super) fn failed(
        &mut self,
        why: &LoadError,
        cause: Cause,
        current: Option<EpochId>,
    ) -> bool {
        let failure = why.to_string();
        let is_new = self.last_failure.as_ref() != Some(&failure);
        // While nothing changed, trying again is one failure, not one a moment.
        let is_news = is_new || !cause.is_by_itself();
        let cause = cause.to_string();
        self.status.failed(&failure, &cause, is_news);
        if !is_news {
            return false;
        }
        match current {
            Some(epoch) => error!(%epoch, cause, "{failure}; the snapshot in service stays"),
            None => error!(cause, "{failure}; no snapshot yet, requests are dropped"),
        }
        self.last_failure = Some(failure);
        is_new
    }

    /// One line on standard output: a reload that was ordered, or was due, changed nothing.
    pub(super) fn reload_failed(&self) {
        say("reload failed");
    }
}

/// systemd starts what depends on this unit now.
fn tell_ready() {
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
}

/// A line on standard output, for scripts. A closed one is the caller's choice, and no reason to
/// end.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
