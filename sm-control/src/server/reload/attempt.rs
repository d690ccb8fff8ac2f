//! One attempt of a load: from settled sources to a snapshot, with nothing remembered.
//!
//! The thread that loads goes on from what comes out ([`super::compiled`]); a dry run drops it
//! ([`super::dry_run`]). So a dry run says what a load does.

use sa_compiler::pipeline::{self, Inputs, Stamp};
use sa_compiler::state::FabricState;
use sa_compiler::watch::Watch;
use sa_snapshot::Snapshot;
use sa_source::{SaReader, SourceError, When};

use super::compiled::LoadError;
use super::settled::{Settled, Teller};
use crate::checks::copy;
use crate::config::{Config, Source};
use crate::server::subnet_manager::Manager;
use crate::trial::{self, TrialError};

/// What came of one attempt. It may still be thrown away, where a file changed meanwhile.
pub(super) enum Attempt {
    AsBefore,
    Compiled(Box<pipeline::Compiled>),
    Copy(Box<Snapshot>),
}

/// What an attempt is made with, besides its sources.
#[derive(Clone, Copy)]
pub(super) struct Way<'a> {
    pub(super) stamp: Stamp,
    /// The last fabric that the engine routed.
    pub(super) before: Option<&'a FabricState>,
    pub(super) watch: Watch,
}

/// Compiles once, from settled sources. Errors: but for [`LoadError::Unsettled`].
pub(super) fn attempt(
    config: &Config,
    settled: Settled<'_>,
    way: Way<'_>,
) -> Result<Attempt, LoadError> {
    if config.fabric.source == Source::Fleet {
        return Err(LoadError::Followed);
    }
    if config.fabric.source == Source::Snapshot {
        return Ok(Attempt::Copy(Box::new(copy::read(config)?)));
    }
    // In every attempt: files that changed meanwhile may be larger.
    let inputs = tried(config, way.watch)?;
    let Settled { teller, when } = settled;
    let compiled = match teller {
        Teller::Sa(live) => compile_told(&inputs, live, when, way)?,
        Teller::Sweep(manager) => {
            let options = Manager::options(config)?;
            manager.sweep(&inputs, &options, when, way.before, way.stamp)?
        }
        Teller::Nobody => Some(compile_files(&inputs, way)?),
    };
    Ok(compiled.map_or(Attempt::AsBefore, |compiled| {
        Attempt::Compiled(Box::new(compiled))
    }))
}

/// From files, going on from the fabric that was accepted last. Errors: they cannot be read, or
/// must not be published.
fn compile_files(inputs: &Inputs, way: Way<'_>) -> Result<pipeline::Compiled, SourceError> {
    let compiled = pipeline::compile_after(inputs, way.stamp, way.before)?;
    compiled.publishable()?;
    Ok(compiled)
}

/// None where the SA tells what it told before, which is known before anything is compiled.
/// Errors: the SA does not answer, contradicts itself, or does not agree with what was
/// compiled.
fn compile_told(
    inputs: &Inputs,
    live: &mut SaReader,
    when: When,
    way: Way<'_>,
) -> Result<Option<pipeline::Compiled>, SourceError> {
    let compared = sa_source::compile_from_sa(inputs, live, when, way.stamp, way.before)?;
    if let Some(compared) = &compared {
        compared.publishable()?;
    }
    Ok(compared.map(|compared| compared.compiled))
}

/// What a load reads, which was tried by another process where it may take more memory than is
/// left. Files that changed since that trial are refused by their digests. Errors: [`TrialError`].
fn tried(config: &Config, watch: Watch) -> Result<Inputs, TrialError> {
    let seen = trial::attempt(config, watch)?;
    let mut inputs = Inputs {
        watch,
        ..config.inputs()
    };
    if let Some(seen) = seen {
        inputs.intake = inputs.intake.expecting(seen);
    }
    Ok(inputs)
}
