//! Instructions and mispredictions per query, counted by running this program again under callgrind.

use std::env;
use std::path::Path;
use std::process::Command;

use sa_bench::Pool;
use sa_bench::count::{Case, Counted, PASSES};
use sa_snapshot::Snapshot;

use super::prepare::Bed;
use super::run::Settings;
use crate::failure::Outcome;
use crate::inputs::or_fail;

/// Counts over the first requests of the pool. Errors: valgrind is missing.
pub(super) fn count(bed: &Bed, pool: &Pool, settings: &Settings) -> Outcome<Counted> {
    let most = if settings.workload.is_long() {
        FEW
    } else {
        MANY
    };
    let all = pool.requests.len();
    // Each pass has as many, and at least one.
    let requests = pool.requests.iter().cycle();
    let requests = requests.take((all.min(most) / PASSES).max(1) * PASSES);
    let case = Case {
        snapshot: or_fail(Snapshot::from_bytes(bed.snapshot.as_bytes()))?,
        requests: requests.map(sa_bench::Request::slot).collect(),
        is_long: settings.workload.is_long(),
        batch: settings.batch,
    };
    let directory = or_fail(tempfile::tempdir())?;
    let program = or_fail(env::current_exe())?;
    or_fail(case.count(directory.path(), |directory, passes| {
        let mut command = Command::new(&program);
        command.args(["bench", "--counted"]).arg(directory);
        command.arg("--passes").arg(passes.to_string());
        command
    }))
}

/// What is counted.
pub(super) fn counted(directory: &Path, passes: usize) -> Outcome {
    let case = or_fail(Case::read(directory))?;
    case.answer(passes);
    Ok(())
}

/// Requests of one MAD each: more give the same figure.
const MANY: usize = 8_192 * PASSES;
/// Of many records each.
const FEW: usize = 2 * PASSES;
