//! From a running SA to a snapshot.

use sa_fabric::display::first_few;

use super::read::options;
use super::{Compiled, Inputs, Parts, PipelineError, Stamp, compile_after};
use crate::config::OnDifference;
use crate::live::{LiveSource, Reading, Wants};

/// Whether to compile a fabric that has not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Compile: files may have changed.
    Always,
    /// Not worth it.
    Changed,
}

/// Reads the fabric of a running SA, compiles it, and compares sampled paths with what the SA
/// answers. None where it is the fabric that was accepted last (see [`LiveSource::accept`], to be
/// called once the snapshot is in service) and `when` does not want that. `inputs` has all but the
/// fabric. Errors: [`PipelineError`].
pub fn compile_live(
    inputs: &Inputs,
    source: &mut LiveSource,
    when: When,
    stamp: Stamp,
    before: Option<&Parts>,
) -> Result<Option<Compiled>, PipelineError> {
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
    compiled.on_difference = source.on_difference();
    let seed = stamp.epoch ^ stamp.built_unix;
    let (parts, snapshot) = (&compiled.parts, &compiled.snapshot);
    compiled.differences = source.compare_paths(parts, snapshot, seed)?;
    if compiled.on_difference == OnDifference::Warn && !compiled.differences.is_empty() {
        let shown = compiled.differences.iter().map(ToString::to_string);
        let shown: Vec<String> = shown.collect();
        compiled.warnings.push(format!(
            "{} sampled paths are answered otherwise by {}: {}",
            shown.len(),
            source.whom(),
            first_few(&shown)
        ));
    }
    Ok(Some(compiled))
}

/// What reading depends on. Errors: `opensm.conf` cannot be read.
fn wants(inputs: &Inputs) -> Result<Wants, PipelineError> {
    let options = options(inputs)?;
    let given = options.qos_given.then_some(options.qos);
    Ok(Wants {
        sa_key: options.sa_key,
        qos: inputs.qos.or(given),
    })
}

/// What is wrong with tables that are served because the switches hold them.
pub(super) fn flaws(compiled: &Compiled) -> Vec<String> {
    let mut flaws = Vec::new();
    if let Some(cycle) = &compiled.proof.credit_loop {
        let words = cycle.in_words(&compiled.parts.topology, &compiled.parts.routes);
        flaws.push(format!(
            "the tables that the switches hold have a credit loop on the SLs in use, each may wait \
             for the next:\n{}",
            words.trim_end()
        ));
    }
    let lost = compiled.proof.reachability.lost_between_hosts;
    if lost > 0 {
        flaws.push(format!(
            "by the tables that the switches hold {lost} pairs of hosts that are wired together \
             have no path"
        ));
    }
    flaws
}
