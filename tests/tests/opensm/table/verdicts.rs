//! ibdmchk and `sapphire check` on OpenSM's dumps.

use anyhow::{Result, ensure};

use super::run::Run;
use crate::ibdmchk::{TABLES, check, ibdmchk};

/// What both say of OpenSM's tables with the SLs that it answered. Errors: they differ.
///
/// Where ports have several LIDs ibdmchk is shown the first of each: with `-l 1` it takes the second ones for
/// unreachable, as OpenSM gives switches one.
pub(super) fn verdict(run: &Run) -> Result<&'static str> {
    let theirs = ibdmchk(run.fabric.dir(), &TABLES);
    let ours = check(run.fabric.dir());
    ensure!(
        ours == theirs.verdict,
        "ours {ours:?}, ibdmchk {}",
        theirs.text
    );
    Ok(match (ours.lost, ours.has_loop) {
        (0, false) => "no loop",
        (0, true) => "credit loop",
        _ => "lost pairs",
    })
}
