//! What OpenSM runs on, as this program sees it.

use anyhow::Result;
use policy::ServiceIdEncoding;
use routing::{EndPortIx, GivenSl2Vl, SwitchIx};
use sa_snapshot::Snapshot;
use sm_control::pipeline::{self, Inputs, Parts, Stamp};

use crate::dice::Dice;

/// A fabric, compiled.
pub(crate) struct World {
    pub(crate) parts: Parts,
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

    /// Where service ids are looked for; none without a policy.
    pub(crate) fn service_id_encoding(&self) -> Option<ServiceIdEncoding> {
        let policy = self.parts.policy.as_ref();
        policy.map(|policy| policy.semantics.service_id_encoding)
    }

    /// LIDs of all ports.
    pub(crate) fn lids(&self) -> impl Iterator<Item = u16> {
        let ends = self.parts.topology.end_ports.iter();
        ends.flat_map(routing::EndPort::lids)
    }

    /// An end port.
    pub(crate) fn port(&self, dice: &mut Dice) -> &routing::EndPort {
        let ends = &self.parts.topology.end_ports;
        &ends[dice.below(ends.len())]
    }

    /// A switch's node GUID is its port GUID; a CA's is not.
    pub(crate) fn node_guid(&self, dice: &mut Dice) -> u64 {
        let switches = &self.parts.topology.switches;
        if !switches.is_empty() && dice.one_in(2) {
            return switches[dice.below(switches.len())].guid.get();
        }
        self.port(dice).node_guid.get()
    }

    /// The port that has a LID.
    pub(crate) fn owner(&self, lid: u16) -> Option<EndPortIx> {
        let topology = &self.parts.topology;
        let mut all = topology.end_port_ixs();
        all.find(|port| topology.end_port(*port).lids().any(|own| own == lid))
    }
}
