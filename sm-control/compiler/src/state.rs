//! What is known of a fabric between reading and answering.
//!
//! [`Sources`] is everything as it was read, before anything is computed; [`FabricState`] adds what
//! routing, policy and partitions came to. A snapshot is built from [`FabricState`] alone, and the
//! records
//! of the fabric's state are answered from the same, so that both tell of one epoch.
//!
//! Plain values: nothing here reads a file or decides anything.
//!
//! ```text
//!  Sources       before anything is computed: fabric with LIDs, options, engine and what it needs,
//!                partitions, policy. Lives for one compilation.
//!  FabricState   Sources and what followed: topology, routes, facts. Lives as long as its snapshot
//! is
//!                in service, and is handed into the next compilation.
//! ```
//!
//! Sizes for 16x16x16 with one host each: forwarding tables 34 MB, shared with the state before
//! where switches keep theirs, the proof some 10 MB, the rest a few MB (ADR 18).
//!
//! Why one value and not several: whatever is told of a fabric (a path, a record, a lint, a dump)
//! must be about one state of it. Handing these around apart made it possible to mix two.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use policy::{Partitions, Policy, PortFacts};
use routing::proof::{GroupKinds, GroupProof, Proven};
use routing::watch::Watch;
use routing::{EngineKind, GivenSl2Vl, Qos, Refusal, Routes, Topology, TorusConfig};
use sa_fabric::formats::psl;
use sa_fabric::options::OpenSmOptions;
use sa_fabric::sa_records::{MulticastTables, Records, SaFabric};
use sa_fabric::subnet::Subnet;
use sa_snapshot::model::RateCaps;
use sa_text::Remark;
use sa_wire::Guid;

use crate::drained::Drained;
use crate::heard_sls::HeardSls;
use crate::off_subnet::OffSubnet;

/// Everything read and parsed; LIDs are assigned.
#[derive(Debug)]
pub struct Sources {
    /// Nodes, LIDs, names; failed parts have lost their cables already.
    pub subnet: Subnet,
    /// Options of the SM: from the file, then what the command line and an SA say over it.
    pub options: OpenSmOptions,
    /// Which engine, and what it is given.
    pub routing: Routing,
    /// Who is in which partition, of this subnet's end ports.
    pub partitions: Partitions,
    /// Policy in force; none without a file, with QoS off, or where a broken file is to mean none.
    pub policy: Option<Policy>,
    /// Multicast groups and routers.
    pub off_subnet: OffSubnet,
    /// Second GUIDs of ports, each with the GUID of its port.
    pub aliases: Vec<(Guid, Guid)>,
    /// Take the SL2VL tables of the policy's `qos-setup` for those in force: somebody has
    /// programmed them.
    pub apply_setup: bool,
    /// What a running SA told, where the fabric comes from one.
    pub from_sa: Option<Arc<SaFabric>>,
    /// SLs that it was heard to give to pairs of ports.
    pub heard_sls: Option<Arc<HeardSls>>,
    /// What routes are to leave.
    pub drained: Drained,
    /// Who is told how far the work has come.
    pub watch: Watch,
    /// One line per input: role, name, digest. Stands in the snapshot.
    pub provenance: Vec<String>,
    /// What an operator should know, in the order of reading.
    pub warnings: Vec<Remark>,
}

/// What makes the forwarding tables.
#[derive(Debug)]
pub struct Routing {
    /// The engine: the one that was named, else what the inputs call for.
    pub engine: EngineKind,
    /// What it is given.
    pub given: Given,
}

/// What an engine is given besides the fabric.
///
/// Read with the other inputs, so that no engine opens a file.
#[derive(Debug)]
pub enum Given {
    /// It needs nothing: min-hop.
    Nothing,
    /// `torus-2QoS.conf`.
    TorusConf {
        /// What it says.
        config: TorusConfig,
        /// The file.
        path: PathBuf,
    },
    /// Roots by node GUID; none where they are to be found.
    Roots(Vec<Guid>),
    /// Tables that were dumped.
    Tables {
        /// By switch of the subnet, then by LID; an empty table for a switch without one.
        lfts: Vec<Vec<u8>>,
        /// SL2VL tables, where there are any.
        sl2vl: GivenSl2Vl,
        /// The SLs of paths that were recorded beside them.
        psl: Option<Vec<psl::Entry>>,
    },
    /// The tables that the switches hold, by the records of a running SA.
    HeldTables,
}

impl Routing {
    /// The configuration of the torus, where there is one.
    pub const fn torus_conf(&self) -> Option<&TorusConfig> {
        // Only engines of a torus are given one.
        match &self.given {
            Given::TorusConf { config, .. } => Some(config),
            _ => None,
        }
    }
}

/// Everything that was read and computed on the way to a snapshot.
///
/// Built once by [`crate::pipeline::route`] and then only read, but for `proven`, which the check
/// adds, and for what is remembered of it (`last_group_proof`).
#[derive(Debug)]
pub struct FabricState {
    /// Nodes, LIDs, names.
    pub subnet: Subnet,
    /// Options of the SM.
    pub options: OpenSmOptions,
    /// What routing saw: without the cables that it was to leave. Indices of switches and end ports are the subnet's.
    pub topology: Topology,
    /// Ordered pairs of hosts that have no path because an operator has severed a switch of theirs.
    pub severed_pairs: u64,
    /// What it made: forwarding tables, SL2VL tables, the engine's facts.
    pub routes: Routes,
    /// What the policy saw: names, types, GUIDs. Shape: as the topology's end ports.
    pub facts: Vec<PortFacts>,
    /// Partitions.
    pub partitions: Partitions,
    /// Policy in force.
    pub policy: Option<Policy>,
    /// What newer rates need: CapabilityMask of each port. Shape: as the topology's end ports.
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
    /// What the devices hold, where this process is their Subnet Manager. Nothing is compiled from it: records of devices are
    /// answered by it.
    pub devices: Option<Arc<Records>>,
    /// Multicast forwarding tables of its switches, likewise; they change while this state stays.
    pub multicast: Option<Arc<MulticastTables>>,
    /// What the proof after the next change can go on from (ADR 18). None where the engine makes
    /// its tables anew each time, and where a loop was found.
    pub proven: Option<Arc<Proven>>,
    /// Trees of multicast groups: see [`FabricState::group_proof`].
    pub last_group_proof: LastProof,
}

/// The proof of multicast trees that was asked for last, and for which kinds of groups.
#[derive(Default)]
pub struct LastProof(pub(crate) Mutex<Option<(GroupKinds, Arc<GroupProof>)>>);

impl fmt::Debug for LastProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LastProof(..)")
    }
}

impl FabricState {
    /// True where another SM made the tables, and nothing of them says which SLs paths have.
    pub fn has_tables_without_sls(&self) -> bool {
        self.routes.engine() == EngineKind::Files && self.routes.torus().is_none()
    }

    /// Whether the subnet uses QoS.
    pub const fn qos(&self) -> Qos {
        if self.options.qos { Qos::On } else { Qos::Off }
    }
}

/// A refusal while the routes from before it are served on: switches keep their tables, and pairs
/// whose paths pass no failed part keep their answers.
#[derive(Debug)]
pub struct StandingRefusal {
    /// Why, as values, for reports.
    pub refusal: Refusal,
    /// The reasons in words, with their places in the configuration.
    pub words: String,
}
