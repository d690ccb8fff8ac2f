//! The compiler, called as the daemon calls it where the fabric is in files: each compilation goes
//! on from the one that was accepted before.
//!
//! ```text
//!  Fabric::inputs ─> pipeline::compile_after ─ publishable ─> snapshot ─> in force
//!                          ^                       └─ state ─┐
//!                          └────────── before <── accept ────┘
//! ```
//!
//! The daemon does the same in `server::reload` (`attempt`, `compiled`): same call, same stamp,
//! same order. What is not here: the settling of files that are being written, a trial by another
//! process where memory is tight, and the state directory.

use sa_compiler::pipeline::{self, Compiled, PipelineError, Stamp, Timings, compile_after};
use sa_compiler::state::FabricState;
use sa_snapshot::{EpochId, Snapshot};

use super::fabric::Fabric;

/// What is remembered between two compilations.
pub(super) struct Compiling {
    /// Which is compiled.
    pub(super) fabric: Fabric,
    /// Routes, proof and tables of the last one: unchanged tables are shared with the next.
    before: Option<FabricState>,
    /// Of the next snapshot; it goes into its bytes, as in the daemon.
    next: EpochId,
}

/// A snapshot, with what the next compilation goes on from.
pub(super) struct Made {
    /// Verified.
    pub(super) snapshot: Snapshot,
    /// By step.
    pub(super) timings: Timings,
    parts: FabricState,
}

impl Compiling {
    /// Nothing is compiled yet.
    pub(super) const fn new(fabric: Fabric) -> Self {
        Self {
            fabric,
            before: None,
            next: EpochId::FIRST,
        }
    }

    /// Compiles the fabric as it is now. Errors: those of the compiler; what it made must not be
    /// published.
    pub(super) fn compile(&mut self) -> Result<Made, PipelineError> {
        let stamp = Stamp {
            epoch: Some(self.next),
            built_unix: pipeline::unix_time(),
        };
        let compiled = compile_after(&self.fabric.inputs, stamp, self.before.as_ref())?;
        compiled.publishable()?;
        self.next = self.next.next();
        let Compiled {
            parts,
            snapshot,
            timings,
            ..
        } = compiled;
        Ok(Made {
            snapshot,
            timings,
            parts,
        })
    }

    /// Goes on from this one. Frees the one before, so not before the new one is in service.
    pub(super) fn accept(&mut self, parts: FabricState) {
        self.before = Some(parts);
    }
}

impl Made {
    /// Apart: the snapshot goes into service before the rest is kept.
    pub(super) fn apart(self) -> (Snapshot, FabricState, Timings) {
        (self.snapshot, self.parts, self.timings)
    }
}
