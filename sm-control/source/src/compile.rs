//! From a running SA to a snapshot.

use sa_compiler::pipeline::options;
use sa_compiler::pipeline::{Compiled, Inputs, PipelineError, Stamp, compile_after};
use sa_compiler::state::Parts;
use sa_fabric::display::{count, first_few};
use thiserror::Error;

use crate::{Difference, LiveError, LiveSource, OnDifference, Reading, Wants};

/// Whether to compile a fabric that has not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Compile: files may have changed.
    Always,
    /// Not worth it.
    Changed,
}

/// Why a running SA gives no snapshot to serve.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SourceError {
    /// What it told does not compile, or not to what may be served.
    #[error(transparent)]
    Compile(#[from] PipelineError),
    /// The SA gives no fabric.
    #[error("cannot read the fabric: {0}")]
    SaFabric(#[from] LiveError),
    /// The SA answers otherwise.
    #[error("{}", differences_in_words(.0))]
    Differs(Vec<Difference>),
}

/// A snapshot of what an SA told, beside the SA's own answers.
#[derive(Debug)]
pub struct Compared {
    /// The snapshot and what it came from.
    pub compiled: Compiled,
    /// Sampled paths that the SA answers differently.
    pub differences: Vec<Difference>,
    on_difference: OnDifference,
}

impl Compared {
    /// Whether it may go into service without being told to. Errors: paths that the SA answers
    /// otherwise; those of [`Compiled::publishable`].
    pub fn publishable(&self) -> Result<(), SourceError> {
        if self.on_difference == OnDifference::Refuse && !self.differences.is_empty() {
            return Err(SourceError::Differs(self.differences.clone()));
        }
        Ok(self.compiled.publishable()?)
    }
}

fn differences_in_words(all: &[Difference]) -> String {
    let shown: Vec<String> = all.iter().map(ToString::to_string).collect();
    format!(
        "{} answered otherwise by the SA, nothing is published: {}; give the policy, partitions and \
         options that the SM uses, or set on_difference = \"warn\"",
        count(all.len(), "sampled path is", "sampled paths are"),
        first_few(&shown)
    )
}

/// Reads the fabric of a running SA, compiles it, and compares sampled paths with what the SA
/// answers. None where it is the fabric that was accepted last (see [`LiveSource::accept`], to be
/// called once the snapshot is in service) and `when` does not want that. `inputs` has all but the
/// fabric. Errors: [`SourceError`].
pub fn compile_live(
    inputs: &Inputs,
    source: &mut LiveSource,
    when: When,
    stamp: Stamp,
    before: Option<&Parts>,
) -> Result<Option<Compared>, SourceError> {
    let (live, told) = match source.read(&wants(inputs)?)? {
        Reading::Unchanged(_) if when == When::Changed => return Ok(None),
        Reading::Unchanged(live) => (live, Vec::new()),
        Reading::Changed { live, changes } => (live, changes),
    };
    let inputs = Inputs {
        live: Some(live),
        ..inputs.clone()
    };
    let mut compiled = compile_after(&inputs, stamp, before)?;
    compiled.changes.splice(0..0, told);
    let on_difference = source.on_difference();
    let seed = stamp.epoch ^ stamp.built_unix;
    let (parts, snapshot) = (&compiled.parts, &compiled.snapshot);
    let differences = source.compare_paths(parts, snapshot, seed)?;
    if on_difference == OnDifference::Warn && !differences.is_empty() {
        let shown = differences.iter().map(ToString::to_string);
        let shown: Vec<String> = shown.collect();
        compiled.warnings.push(format!(
            "{} sampled paths are answered otherwise by {}: {}",
            shown.len(),
            source.whom(),
            first_few(&shown)
        ));
    }
    Ok(Some(Compared {
        compiled,
        differences,
        on_difference,
    }))
}

/// What reading depends on. Errors: `opensm.conf` cannot be read.
fn wants(inputs: &Inputs) -> Result<Wants, SourceError> {
    let options = options(inputs).map_err(PipelineError::from)?;
    let given = options.qos_given.then_some(options.qos);
    Ok(Wants {
        sa_key: options.sa_key,
        qos: inputs.qos.or(given),
    })
}
