//! A fabric as a file or an SA describes it: nodes, ports, cables.
//!
//! A [`Fabric`] is what all readers end with, whatever they read, and it is free of contradictions:
//! both ends of a cable agree, no GUID and no LID is given twice, every reference leads somewhere.
//! Code that has one never checks these again, and may index by [`NodeIx`] and [`PortRef`].
//!
//! What a source does not say stays open (`None`) here, because sources differ in that: a net file
//! says nothing of MTUs, `opensm-subnet.lst` nothing of the LMC. What is assumed instead is kept
//! apart, in [`Assumed`], so that an option of the command line can change it afterwards. Questions
//! such as [`Fabric::mtu_cap`] put the two together.
//!
//! What is not here: which ports the SM can reach and which LIDs they get. That depends on where
//! the SM runs, and is the matter of [`Subnet`](crate::Subnet).
//!
//! A fabric of 48,000 hosts and 4,000 switches of 36 ports has some 250,000 ports of about 50 bytes
//! and 52,000 nodes with their names: 20 to 30 MB.

use sa_snapshot::model::{Capacity, RateCaps};
use sa_wire::{DataVls, Guid, Lid, Lmc, Mtu, NodeType};

use super::error::Note;
use super::link::{Link, LinkSpeed};

/// A node of a fabric. Shape: index into [`Fabric::nodes`], which keeps the order of the file.
/// One fabric's index means nothing in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIx(pub u32);

impl NodeIx {
    /// The index of the n-th node; saturates far beyond what a subnet can hold.
    pub fn nth(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// The place of the node in [`Fabric::nodes`].
    pub const fn get(self) -> usize {
        self.0 as usize
    }
}

/// A port of a node. The number alone is not checked here, and it says nothing of a cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortRef {
    /// The node that has it.
    pub node: NodeIx,
    /// Its number: 0 is the management port of a switch, CAs and routers count from 1.
    pub port: u8,
}

/// A fabric: nodes, ports, cables.
///
/// Invariants: *cables are symmetric* (if port p of A names port q of B, port q of B names port p
/// of A); *references exist*; node GUIDs and port GUIDs are unique; ranges of known LIDs do not
/// overlap; port 0 exists on every node and has no cable.
#[derive(Debug, Clone)]
pub struct Fabric {
    /// In the order of the file.
    pub(super) nodes: Vec<Node>,
    /// On a switch its port 0.
    pub(super) sm: Option<PortRef>,
    pub(super) source: Source,
    pub(super) assumed: Assumed,
    /// What its reader had to say.
    pub(super) notes: Vec<Note>,
}

/// What kind of file a fabric came from.
///
/// It decides whether an LMC is inferred: see `Subnet`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// An ibsim net file or the output of ibnetdiscover.
    Net,
    /// OpenSM's `opensm-subnet.lst`.
    SubnetList,
    /// Records of a running SA.
    Sa,
}

/// What is assumed of ports that the file says nothing about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assumed {
    /// MTU capability of cabled ports.
    pub mtu: Mtu,
    /// MTU capability of the port 0 of a switch.
    pub port0_mtu: Mtu,
    /// Data VLs (VLCap).
    pub vls: DataVls,
    /// Entries of both VL arbitration tables.
    pub vl_arb: VlArbCaps,
}

impl Assumed {
    /// ibsim's ports: MTU 2048 (1024 on a switch's port 0), 8 VLs, 8 VLArb entries.
    /// Source: ibsim `sim_net.c`, the PortInfo templates.
    pub const IBSIM: Self = Self {
        mtu: Mtu::M2048,
        // A constant must not panic, so the code that is always there has a fallback.
        port0_mtu: match Mtu::from_bytes(1024) {
            Some(mtu) => mtu,
            None => Mtu::M2048,
        },
        vls: DataVls::EIGHT,
        vl_arb: VlArbCaps { low: 8, high: 8 },
    };

    /// With one MTU for every port, port 0 included.
    #[must_use]
    pub const fn with_mtu(self, mtu: Mtu) -> Self {
        Self {
            mtu,
            port0_mtu: mtu,
            ..self
        }
    }

    /// With this many data VLs on every port.
    #[must_use]
    pub const fn with_vls(self, vls: DataVls) -> Self {
        Self { vls, ..self }
    }
}

/// How many entries the VL arbitration tables of a port hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VlArbCaps {
    /// Low-priority table.
    pub low: u8,
    /// High-priority table.
    pub high: u8,
}

/// A CA, a switch or a router, with its ports.
#[derive(Debug, Clone)]
pub struct Node {
    /// What NodeInfo.NodeType says.
    pub kind: NodeType,
    /// Node GUID, which no other node has. Two ports of a CA have one node GUID and two port GUIDs.
    pub guid: Guid,
    /// SystemImageGUID: the same for all nodes of one chassis, else the node GUID.
    pub system_guid: Guid,
    /// NodeDescription, at most 64 bytes on the wire; several nodes may have the same.
    pub description: String,
    /// The node's id in a net file, module prefix included.
    pub id: Option<String>,
    /// NodeInfo.VendorID, 24 bits.
    pub vendor_id: u32,
    /// NodeInfo.DeviceID, which the vendor gives. It decides whether OpenSM asks for FDR10.
    pub device_id: u16,
    /// NodeInfo.Revision, which the vendor gives. Nothing here depends on it.
    pub revision: u32,
    /// A switch with enhanced port 0, which can have an LMC, P_Keys and VLs like a port of a CA.
    pub enhanced_port0: bool,
    /// Shape: index = port number, 0 to the number of ports. Index 0 is the management port of a
    /// switch and unused on other nodes.
    pub ports: Vec<Port>,
}

impl Node {
    /// The name for people: its id in a net file, else its description.
    pub fn name(&self) -> &str {
        self.id.as_deref().unwrap_or(&self.description)
    }

    /// How many ports it has, port 0 not counted.
    pub fn port_count(&self) -> u8 {
        u8::try_from(self.ports.len().saturating_sub(1)).unwrap_or(u8::MAX)
    }
}

/// What is known of a port. A port that nobody described has the defaults: no cable, no link.
#[derive(Debug, Clone, Default)]
pub struct Port {
    /// Port GUID: of CA and router ports where known, and of a switch's port 0.
    pub guid: Option<Guid>,
    /// The far end of its cable; none without one. That end names this port.
    pub peer: Option<PortRef>,
    /// What the link runs at; none when the file does not say.
    pub link: Option<Link>,
    /// State of the link. A cable may be there and its link down.
    pub state: LinkState,
    /// MTU capability (PortInfo.MTUCap) where the source says it.
    pub mtu_cap: Option<Mtu>,
    /// Data VLs that it can operate (PortInfo.VLCap) where the source says it.
    pub vl_cap: Option<DataVls>,
    /// How many entries its VL arbitration tables have, where the source says it.
    pub vl_arb: Option<VlArbCaps>,
    /// Base LID where the file says it (a switch's: on port 0).
    pub lid: Option<Lid>,
    /// LMC where the file says it; it owns 2^LMC LIDs from `lid` on.
    pub lmc: Option<Lmc>,
    /// What clamps its rates, where the source says it.
    pub rate_caps: Option<RateCaps>,
}

/// State of a link, PortInfo.PortState. Only active links carry packets of hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum LinkState {
    /// No link, or a port that is switched off.
    #[default]
    Down,
    /// Trained, not configured by the SM yet.
    Init,
    /// Configured, not yet in use.
    Armed,
    /// Configured and in use.
    Active,
}

impl LinkState {
    /// As OpenSM prints it (`LOG=`).
    pub const fn name(self) -> &'static str {
        match self {
            Self::Down => "DWN",
            Self::Init => "INI",
            Self::Armed => "ARM",
            Self::Active => "ACT",
        }
    }

    /// From what OpenSM prints; `None` for any other text.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Down, Self::Init, Self::Armed, Self::Active]
            .into_iter()
            .find(|state| state.name() == name)
    }
}

impl Fabric {
    /// A fabric of nodes that were checked: the caller saw to all that [`Fabric`] promises.
    ///
    /// For `sa_records`, which checks by rules of its own; readers of files go through `build`.
    pub const fn from_raw(nodes: Vec<Node>, sm: Option<PortRef>, source: Source) -> Self {
        Self {
            nodes,
            sm,
            source,
            assumed: Assumed::IBSIM,
            notes: Vec::new(),
        }
    }

    /// The nodes in the order of the file.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The node behind an index.
    #[expect(clippy::indexing_slicing, reason = "references exist")]
    pub fn node(&self, ix: NodeIx) -> &Node {
        &self.nodes[ix.get()]
    }

    /// The port behind a reference.
    #[expect(clippy::indexing_slicing, reason = "references exist")]
    pub fn port(&self, at: PortRef) -> &Port {
        &self.nodes[at.node.get()].ports[usize::from(at.port)]
    }

    /// The port that the SM runs on, where the file says it.
    pub const fn sm(&self) -> Option<PortRef> {
        self.sm
    }

    /// What kind of file it came from.
    pub const fn source(&self) -> Source {
        self.source
    }

    /// What was odd in the file.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// What is assumed where the file is silent.
    pub const fn assumed(&self) -> Assumed {
        self.assumed
    }

    /// Changes what is assumed where the file is silent (options `--mtu`, `--vlcap`).
    pub const fn assume(&mut self, assumed: Assumed) {
        self.assumed = assumed;
    }

    /// MTU capability of a port, as stated, else as assumed. A path has the least of its links.
    pub fn mtu_cap(&self, at: PortRef) -> Mtu {
        let assumed = if self.is_port0(at) {
            self.assumed.port0_mtu
        } else {
            self.assumed.mtu
        };
        self.port(at).mtu_cap.unwrap_or(assumed)
    }

    /// What a port's link runs at; where the source is silent, 4x SDR as in ibsim.
    pub fn link(&self, at: PortRef) -> Link {
        self.port(at).link.unwrap_or(Link::DEFAULT)
    }

    /// MTU capability and rate of a port, which are what limits the paths through it.
    pub fn capacity(&self, at: PortRef) -> Capacity {
        Capacity {
            mtu: self.mtu_cap(at),
            rate: self.link(at).rate().rank(),
        }
    }

    /// Data VLs that a port can operate (VLCap), as stated, else as assumed. How many it operates
    /// depends on the far end too: [`Subnet::operational_vls`](crate::Subnet::operational_vls).
    pub fn vl_cap(&self, at: PortRef) -> DataVls {
        self.port(at).vl_cap.unwrap_or(self.assumed.vls)
    }

    /// Entries of a port's VL arbitration tables, as stated, else as assumed.
    pub fn vl_arb(&self, at: PortRef) -> VlArbCaps {
        self.port(at).vl_arb.unwrap_or(self.assumed.vl_arb)
    }

    /// Capabilities that clamp the rates of an end port: where the source is silent those of
    /// ibsim's ports; and NDR where a port of the node runs at NDR.
    pub fn rate_caps(&self, at: PortRef) -> RateCaps {
        // A node with one NDR port is an NDR device, whatever its other links run at.
        let runs_ndr = |port: &Port| port.link.is_some_and(|link| link.speed == LinkSpeed::Ndr);
        // What ibsim's ports say of themselves; NDR is not among it.
        let stated = self.port(at).rate_caps.unwrap_or(RateCaps {
            extended_speeds: true,
            width_2x: true,
            hdr: true,
            ndr: false,
        });
        RateCaps {
            ndr: stated.ndr || self.node(at.node).ports.iter().any(runs_ndr),
            ..stated
        }
    }

    /// True for the port 0 of a switch.
    pub fn is_port0(&self, at: PortRef) -> bool {
        // Index 0 exists on CAs too, without a meaning.
        at.port == 0 && self.node(at.node).kind == NodeType::Switch
    }

    /// The ports that have cables, by node and port number.
    ///
    /// Each cable twice, once from each end.
    pub fn cabled(&self) -> impl Iterator<Item = (PortRef, PortRef)> {
        self.nodes.iter().enumerate().flat_map(|(index, node)| {
            (0..=u8::MAX)
                .zip(&node.ports)
                .filter_map(move |(port, facts)| {
                    let here = PortRef {
                        node: NodeIx::nth(index),
                        port,
                    };
                    facts.peer.map(|peer| (here, peer))
                })
        })
    }

    /// A port in words: node name and port number.
    pub fn port_name(&self, at: PortRef) -> String {
        format!("{} port {}", self.node(at.node).name(), at.port)
    }
}
