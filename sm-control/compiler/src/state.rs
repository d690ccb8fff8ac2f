//! What is known of a fabric between reading and answering.
//!
//! [`Sources`] is everything as it was read, before anything is computed; [`FabricState`] adds what
//! routing, policy and partitions came to. A snapshot is built from [`FabricState`] alone, and the records
//! of the fabric's state are answered from the same, so that both tell of one epoch.
//!
//! Plain values: nothing here reads a file or decides anything.

use std::path::PathBuf;
use std::sync::Arc;

use policy::{Partitions, Policy, PortFacts};
use routing::proof::Proven;
use routing::{EngineKind, GivenSl2Vl, Qos, Refusal, Routes, Topology, TorusConfig};
use sa_fabric::options::OpenSmOptions;
use sa_fabric::sa_records::SaFabric;
use sa_fabric::subnet::Subnet;
use sa_snapshot::model::RateCaps;
use sa_text::Remark;
use sa_wire::Guid;

use crate::off_subnet::OffSubnet;

/// Everything read and parsed; LIDs are assigned.
#[derive(Debug)]
pub struct Sources {
    /// Nodes, LIDs, names.
    pub subnet: Subnet,
    /// Options of the SM.
    pub options: OpenSmOptions,
    /// What the engine needs.
    pub routing: Routing,
    /// Partitions.
    pub partitions: Partitions,
    /// Policy in force.
    pub policy: Option<Policy>,
    /// Multicast groups and routers.
    pub off_subnet: OffSubnet,
    /// Second GUIDs of ports, each with the GUID of its port.
    pub aliases: Vec<(Guid, Guid)>,
    /// Take the SL2VL tables of the policy's `qos-setup` for those in force.
    pub apply_setup: bool,
    /// What a running SA told, where the fabric comes from one.
    pub from_sa: Option<Arc<SaFabric>>,
    /// One line per input: role, name, digest.
    pub provenance: Vec<String>,
    /// What an operator should know.
    pub warnings: Vec<Remark>,
}

/// What makes the forwarding tables.
#[derive(Debug)]
pub struct Routing {
    /// The engine.
    pub engine: EngineKind,
    /// What it is given.
    pub given: Given,
}

/// What an engine is given besides the fabric.
#[derive(Debug)]
pub enum Given {
    /// It needs nothing.
    Nothing,
    /// `torus-2QoS.conf`.
    TorusConf {
        /// What it says.
        config: TorusConfig,
        /// The file.
        path: PathBuf,
    },
    /// Tables that were dumped.
    Tables {
        /// By switch, then by LID.
        lfts: Vec<Vec<u8>>,
        /// SL2VL tables, where there are any.
        sl2vl: GivenSl2Vl,
    },
    /// The tables that the switches hold, by the records of a running SA.
    HeldTables,
}

impl Routing {
    /// The configuration of the torus, where there is one.
    pub const fn torus_conf(&self) -> Option<&TorusConfig> {
        match &self.given {
            Given::TorusConf { config, .. } => Some(config),
            _ => None,
        }
    }
}

/// Everything that was read and computed on the way to a snapshot.
#[derive(Debug)]
pub struct FabricState {
    /// Nodes, LIDs, names.
    pub subnet: Subnet,
    /// Options of the SM.
    pub options: OpenSmOptions,
    /// What routing saw.
    pub topology: Topology,
    /// What it made.
    pub routes: Routes,
    /// What the policy saw. Shape: as the topology's end ports.
    pub facts: Vec<PortFacts>,
    /// Partitions.
    pub partitions: Partitions,
    /// Policy in force.
    pub policy: Option<Policy>,
    /// What newer rates need. Shape: as the topology's end ports.
    pub rate_caps: Vec<RateCaps>,
    /// Multicast groups and routers.
    pub off_subnet: OffSubnet,
    /// Second GUIDs of ports, each with the GUID of its port.
    pub aliases: Vec<(Guid, Guid)>,
    /// Why the engine refuses the fabric as it is. The routes are then what is left of the last
    /// ones that it made, which the switches still hold.
    pub refusal: Option<Box<StandingRefusal>>,
    /// How the tables that the switches hold differ from those that the engine makes; the routes
    /// are then those of the switches. Empty where they agree, and where none were read.
    pub programmed: Vec<Remark>,
    /// What a running SA told, where the fabric comes from one.
    pub from_sa: Option<Arc<SaFabric>>,
    /// What the proof after the next change can go on from.
    pub proven: Option<Arc<Proven>>,
}

impl FabricState {
    /// Whether the subnet uses QoS.
    pub const fn qos(&self) -> Qos {
        if self.options.qos { Qos::On } else { Qos::Off }
    }
}

/// A refusal while the routes from before it are served on.
#[derive(Debug)]
pub struct StandingRefusal {
    /// Why.
    pub refusal: Refusal,
    /// The reasons, with their places in the configuration.
    pub words: String,
}
