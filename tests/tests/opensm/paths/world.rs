//! What OpenSM runs on, as this program sees it.

use anyhow::Result;
use routing::{EndPortIx, GivenSl2Vl, SwitchIx};
use sa_compiler::pipeline::{self, Inputs, Stamp};
use sa_compiler::state::FabricState;
use sa_snapshot::Snapshot;

/// A fabric, compiled.
pub(crate) struct World {
    pub(crate) parts: FabricState,
    pub(crate) snapshot: Snapshot,
}

impl World {
    pub(crate) fn new(inputs: &Inputs) -> Result<Self> {
        let compiled = pipeline::compile(inputs, Stamp::default())?;
        Ok(Self {
            parts: compiled.parts,
            snapshot: compiled.snapshot,
        })
    }

    /// The same tables, with no engine that chooses SLs.
    pub(crate) fn without_engine(inputs: &Inputs) -> Result<Self> {
        let Self { mut parts, .. } = Self::new(inputs)?;
        let topology = &parts.topology;
        let lft = |switch: SwitchIx| parts.routes.lft(switch).to_vec();
        let lfts: Vec<_> = topology.switch_ixs().map(lft).collect();
        parts.routes = routing::engine::files::route(topology, &lfts, &GivenSl2Vl::default())?;
        let snapshot = pipeline::build(&parts, Vec::new(), Stamp::default())?;
        Ok(Self { parts, snapshot })
    }

    /// The port that has a LID.
    pub(crate) fn owner(&self, lid: u16) -> Option<EndPortIx> {
        let topology = &self.parts.topology;
        let mut all = topology.end_port_ixs();
        all.find(|port| topology.end_port(*port).lids().any(|own| own.get() == lid))
    }
}
