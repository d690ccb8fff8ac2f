//! Reading the sources, and putting what they say into service.

use std::sync::Arc;
use std::time::Instant;

use sa_compiler::pipeline::{self, Compiled, Inputs};
use sa_fabric::display;
use sa_source::{Difference, LiveSource, SourceError, When};
use thiserror::Error;
use tracing::{debug, info, warn};

use super::sources::{self, Fingerprint};
use crate::config::{Config, Source};
use crate::logging::REPORT;
use crate::server::opensm::Beside;
use crate::server::{Server, UNSETTLED};
use crate::trial;

/// Why a load puts nothing into service.
#[derive(Debug, Error)]
enum LoadError {
    /// The sources do not make a snapshot to serve.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Another process has tried it in vain.
    #[error("{0}")]
    Trial(String),
}

/// The running SA that a configuration has the fabric from; none where it is in files.
pub(in crate::server) fn live_source(
    config: &Config,
    beside: Option<&Beside>,
) -> Option<LiveSource> {
    match (config.fabric.source, beside) {
        (Source::OpenSm, Some(beside)) => {
            let section = config.fabric.sa.clone().unwrap_or_default();
            Some(section.live_source(Box::new(beside.ask())))
        }
        _ => config.live_source(),
    }
}

/// What a load reads, which was tried by another process where it may take more memory than is
/// left. Errors: [`LoadError::Trial`].
fn tried(config: &Config) -> Result<Inputs, LoadError> {
    let seen = trial::attempt(config).map_err(LoadError::Trial)?;
    let mut inputs = config.inputs();
    if let Some(seen) = seen {
        inputs.intake = inputs.intake.expecting(seen);
    }
    Ok(inputs)
}

impl Server<'_> {
    /// Compiles and publishes; on failure the snapshot in service stays.
    pub(in crate::server) fn load(&mut self, cause: &str) -> bool {
        self.load_when(When::Always, cause)
    }

    /// The same, or nothing where a running SA tells what it told before.
    pub(in crate::server) fn load_when(&mut self, when: When, cause: &str) -> bool {
        self.looked = Instant::now();
        if self.config.fabric.source == Source::Snapshot {
            return self.load_copy(when, cause);
        }
        let generation = self.beside.as_deref().map(Beside::generation);
        // What was refused is tried again, whatever looks as it did.
        let when = if self.refused { When::Always } else { when };
        let outcome = self.compile_settled(when);
        self.refused = outcome.is_err();
        match outcome {
            Ok(compiled) => {
                self.differ(&[]);
                match compiled {
                    Some(compiled) => self.take(compiled, cause),
                    None => self.confirm(cause),
                }
                self.last_failure = None;
                if let (Some(beside), Some(generation)) = (&self.beside, generation) {
                    beside.published(generation);
                }
                true
            }
            Err(failure) => {
                match &failure {
                    Some(LoadError::Source(SourceError::Differs(differences))) => {
                        self.differ(differences)
                    }
                    _ => self.differ(&[]),
                }
                let words = failure.map_or_else(|| UNSETTLED.to_owned(), |it| it.to_string());
                self.report_failure(&words, cause);
                false
            }
        }
    }

    /// Paths for which the SA does not agree with what was read.
    fn differ(&mut self, differences: &[Difference]) {
        self.differs = !differences.is_empty();
        self.doubts.refused(differences);
    }

    /// False while there is nothing to read the fabric from.
    pub(in crate::server) fn can_load(&self) -> bool {
        match self.config.fabric.source {
            Source::OpenSm => self.beside.as_deref().is_some_and(Beside::can_ask),
            Source::None => false,
            Source::Files | Source::Sa | Source::Snapshot => true,
        }
    }

    /// Compiles sources that lie still. None where nothing changed. Errors: why not; none where they
    /// do not lie still.
    fn compile_settled(&mut self, when: When) -> Result<Option<Compiled>, Option<LoadError>> {
        let mut live = self.live.take();
        let seen = Fingerprint::of(self.config);
        let is_as_before = self.tried.as_ref() == Some(&seen);
        let settled = if live.is_some() && is_as_before {
            // Its reading sees to it that the fabric lay still.
            Some((seen, self.compile(live.as_mut(), when)))
        } else {
            let look = || Fingerprint::of(self.config);
            sources::settled(look, || self.compile(live.as_mut(), When::Always))
        };
        self.live = live;
        let (tried, compiled) = settled.unzip();
        self.tried = tried;
        compiled.map_or(Err(None), |compiled| compiled.map_err(Some))
    }

    fn compile(
        &self,
        live: Option<&mut LiveSource>,
        when: When,
    ) -> Result<Option<Compiled>, LoadError> {
        let epoch = self.publisher.next_epoch();
        let stamp = pipeline::Stamp {
            epoch: epoch.get(),
            built_unix: pipeline::unix_time(),
        };
        let inputs = tried(self.config)?;
        let before = self.accepted.as_deref();
        let Some(live) = live else {
            let compiled = pipeline::compile_after(&inputs, stamp, before);
            let compiled = compiled.map_err(SourceError::from)?;
            compiled.publishable().map_err(SourceError::from)?;
            return Ok(Some(compiled));
        };
        let compared = sa_source::compile_live(&inputs, live, when, stamp, before)?;
        if let Some(compared) = &compared {
            compared.publishable()?;
        }
        Ok(compared.map(|compared| compared.compiled))
    }

    /// The fabric is as the snapshot in service says, whoever manages it now.
    fn confirm(&self, cause: &str) {
        debug!(cause, "the fabric is as it was");
        // What was put back by hand is not what was read.
        if let Some(current) = self.publisher.current().filter(|_| !self.is_held()) {
            self.readings.began(current.epoch.get(), self.looked);
        }
    }

    fn take(&mut self, compiled: Compiled, cause: &str) {
        let warnings = [&compiled.warnings[..], &compiled.arbitration].concat();
        for warning in &display::told(&warnings) {
            warn!(target: REPORT, "{warning}");
        }
        for change in &compiled.changes {
            info!(target: REPORT, "{change}");
        }
        if !self.loaded {
            self.judge_key(compiled.parts.options.sa_key);
        }
        if let (Some(source), Some(live)) = (&mut self.live, &compiled.live) {
            source.accept(Arc::clone(live));
        }
        let summary = compiled.summary();
        debug!(timings = ?compiled.timings, "the load took");
        let parts = Arc::new(compiled.parts);
        if parts.refusal.is_none() {
            self.accepted = Some(Arc::clone(&parts));
        }
        let snapshot = self.with_aliases_of_clients(&parts, compiled.snapshot);
        self.pass_on(&snapshot);
        let epoch = self.publish(parts, snapshot, self.looked);
        info!(%epoch, cause, "{summary}");
        self.loaded = true;
        self.board.loaded();
        self.remember();
        self.announce(epoch);
    }
}
