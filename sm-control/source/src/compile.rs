//! From a running SA to a snapshot.

use sa_compiler::pipeline::options;
use sa_compiler::pipeline::{Compiled, Inputs, PipelineError, Stamp, compile_after};
use sa_compiler::state::FabricState;
use sa_fabric::display::{count, first_few};
use sa_text::{Location, Remark};
use thiserror::Error;

use crate::{Difference, OnDifference, Reading, SaReadError, SaReader, Wants};

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
    SaFabric(#[from] SaReadError),
    /// The SA answers otherwise.
    #[error("{}", differences_in_words(.0))]
    Differs(Vec<Difference>),
}

impl SourceError {
    /// The file that is wrong, and the place in it; none where no single file is.
    pub fn location(&self) -> Option<Location> {
        match self {
            Self::Compile(problem) => problem.location(),
            Self::SaFabric(_) | Self::Differs(_) => None,
        }
    }
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
        "{} answered differently by the SA, nothing is published: {}; give the policy, partitions and \
         options that the SM uses, or set on_difference = \"warn\"",
        count(all.len(), "sampled path is", "sampled paths are"),
        first_few(&shown)
    )
}

/// Reads the fabric of a running SA, compiles it, and compares sampled paths with what the SA
/// answers. None where it is the fabric that was accepted last (see [`SaReader::accept`], to be
/// called once the snapshot is in service) and `when` does not want that. `inputs` has all but the
/// fabric. Errors: [`SourceError`].
pub fn compile_from_sa(
    inputs: &Inputs,
    source: &mut SaReader,
    when: When,
    stamp: Stamp,
    before: Option<&FabricState>,
) -> Result<Option<Compared>, SourceError> {
    let (from_sa, told) = match source.read(&wants(inputs)?)? {
        Reading::Unchanged(_) if when == When::Changed => return Ok(None),
        Reading::Unchanged(from_sa) => (from_sa, Vec::new()),
        Reading::Changed { from_sa, changes } => (from_sa, changes),
    };
    let inputs = Inputs {
        from_sa: Some(from_sa),
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
        let text = format!(
            "{} sampled paths are answered differently by {}: {}",
            shown.len(),
            source.whom(),
            first_few(&shown)
        );
        compiled
            .warnings
            .push(Remark::warning("sa-answers-differ", text));
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
