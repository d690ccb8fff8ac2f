//! Instructions and mispredictions per query, counted by running this program again under
//! callgrind.
//!
//! Time on a shared machine is a matter of luck, and instructions are not: the same program with
//! the same case counts the same, so that a change of ten instructions shows. What counts is the
//! difference of two runs, one over the first part of the requests and one over all three: start,
//! reading and preparation are in both, and fall out.
//!
//! ```text
//! pass 1     start + read + 8,192 requests
//! passes 3   start + read + 24,576 requests
//! difference               16,384 requests, and nothing else
//! ```

use std::env;
use std::path::Path;
use std::process::Command;

use sa_bench::Pool;
use sa_bench::count::{Case, CountError, Counted, PASSES};
use sa_snapshot::Snapshot;

use super::prepare::Bed;
use super::run::Settings;
use crate::failure::Outcome;
use crate::inputs::or_fail;
use crate::interrupt;
use crate::scratch::Scratch;

/// Counts over the first requests of the pool. Errors: valgrind is missing.
/// Errors besides: the case cannot be written; the run under callgrind fails. Cost: two runs, each
/// some fifty times slower than the processor.
/// None where a signal came meanwhile.
pub(super) fn count(bed: &Bed, pool: &Pool, settings: &Settings) -> Outcome<Option<Counted>> {
    // Under callgrind a table of half the world takes seconds, so there are few.
    let most = if settings.workload.is_long() {
        FEW
    } else {
        MANY
    };
    let all = pool.requests.len();
    // Each pass has as many, and at least one.
    // A pool that is smaller than its parts goes round.
    let requests = pool.requests.iter().cycle();
    let requests = requests.take((all.min(most) / PASSES).max(1) * PASSES);
    let case = Case {
        // The case owns its snapshot, because it is written to a file.
        snapshot: or_fail(Snapshot::from_bytes(bed.snapshot.as_bytes()))?,
        requests: requests.map(sa_bench::Request::slot).collect(),
        is_long: settings.workload.is_long(),
        batch: settings.batch,
    };
    let directory = or_fail(Scratch::new())?;
    let program = or_fail(env::current_exe())?;
    // This very program, so that what is counted is what was timed.
    let stop = interrupt::stop();
    let counted = case.count(directory.path(), stop, |directory, passes| {
        let mut command = Command::new(&program);
        command.args(["bench", "--counted"]).arg(directory);
        command.arg("--passes").arg(passes.to_string());
        command
    });
    match counted {
        Err(CountError::Stopped) => Ok(None),
        other => or_fail(other).map(Some),
    }
}

/// What is counted.
/// Runs in the process under callgrind, which `sapphire bench --counted` starts; never by people.
pub(super) fn counted(directory: &Path, passes: usize) -> Outcome {
    let case = or_fail(Case::read(directory))?;
    case.answer(passes);
    Ok(())
}

/// Requests of one MAD each: more give the same figure.
/// In each of the parts 8,192, which callgrind does in seconds.
const MANY: usize = 8_192 * PASSES;
/// Of many records each.
const FEW: usize = 2 * PASSES;
