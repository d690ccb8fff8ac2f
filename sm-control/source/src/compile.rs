//! From a running SA to a snapshot: reading, compiling, and a look whether the SA agrees.
//!
//! The daemon's load thread and `sapphired --check` both come this way, so that what a check says is
//! what a load does. The three steps stand in one function because each may end it: an unchanged
//! fabric needs no compilation, one that does not compile needs no questions, and answers that
//! differ are an error only where the configuration says so ([`OnDifference`]).
//!
//! Nothing is published here, and nothing is remembered but policies for the choice of later
//! questions: a fabric counts as read only when [`SaReader::accept`] is told that its snapshot is
//! in service. Else a snapshot that was refused once would look unchanged at the next poll and
//! never be tried again.

use std::sync::Arc;

use sa_compiler::pipeline::options;
use sa_compiler::pipeline::{Compiled, Inputs, PipelineError, Stamp, compile_after};
use sa_compiler::state::FabricState;
use sa_fabric::display::{count, first_few};
use sa_snapshot::EpochId;
use sa_text::{Location, Remark};
use thiserror::Error;

use crate::{Difference, OnDifference, Reading, SaReadError, SaReader, Wants, When};

/// Why a running SA gives no snapshot to serve. In each case what is in service stays.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SourceError {
    /// What it told does not compile, or not to what may be served: the same reasons as for files.
    #[error(transparent)]
    Compile(#[from] PipelineError),
    /// The SA gives no fabric.
    #[error("cannot read the fabric: {0}")]
    SaFabric(#[from] SaReadError),
    /// The SA answers sampled paths otherwise, and the configuration says to refuse that.
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
///
/// Made by [`compile_from_sa`]; whoever publishes it asks [`Self::publishable`] first, or has an
/// operator's order to do without.
#[derive(Debug)]
pub struct Compared {
    /// The snapshot and what it came from.
    pub compiled: Compiled,
    /// Sampled paths that the SA answers differently. Empty too where nothing was sampled.
    pub differences: Vec<Difference>,
    /// As configured when this was compiled.
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

/// All differences in one message with what to do; a few by name, as a policy that differs makes
/// most of the samples differ.
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
    // The rest of the pipeline then takes nodes, tables and P_Keys from it, and never looks at
    // `inputs.fabric`.
    let mut inputs = Inputs {
        from_sa: Some(from_sa),
        ..inputs.clone()
    };
    let mut compiled = compile_after(&inputs, stamp, before)?;
    // Tables do not say who gives SLs. Where it is the SM's engine all is compiled with its SLs.
    if let Some(heard) = source.heard_sls(&compiled.parts, &compiled.snapshot)? {
        inputs.heard_sls = Some(Arc::new(heard));
        compiled = compile_after(&inputs, stamp, before)?;
    }
    // What the SA told goes first: it is the cause of what the compiler found changed.
    compiled.changes.splice(0..0, told);
    let on_difference = source.on_difference();
    // Other pairs each time, so that all pairs are asked for in the end; from the stamp, so that a
    // recorded run can be repeated.
    let seed = EpochId::raw(stamp.epoch) ^ stamp.built_unix;
    let (parts, snapshot) = (&compiled.parts, &compiled.snapshot);
    let differences = source.compare_paths(parts, snapshot, seed, when)?;
    // Where differences are refused, the error says it; saying it twice helps nobody.
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
    // An option of the daemon goes first, then the SM's own file; without either the SA says it
    // itself.
    let given = options.qos_given.then_some(options.qos);
    Ok(Wants {
        sa_key: options.sa_key,
        qos: inputs.qos.or(given),
    })
}
