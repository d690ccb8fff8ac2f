//! A fabric as the SM at one of its ports sees it: what can be reached, with LIDs.
//!
//! The way from a [`Fabric`] to a [`Subnet`] is the SM's first sweep, worked out at once: where the
//! SM runs (`reach`), what it finds from there through switches (`reach`), which LIDs the found
//! ports get ([`lids`](crate::lids)), in which order the SM meets nodes (`sweep`). `lookup` is for
//! people, who name ports by words; `topology` hands routing and policy what they need, in types of
//! theirs.
//!
//! Why the order of everything is OpenSM's, by GUIDs in the order of its maps: LIDs, forwarding
//! tables, multicast trees and the order of records all follow from it, and all are compared with
//! OpenSM's.
//!
//! Two look-ups are made when they are first asked for, as most verbs never ask: see
//! [`Subnet::nodes`] and [`Subnet::entry_port`].
//!
//! | step | file | source |
//! |---|---|---|
//! | where the SM runs | `reach` | options, LID file, fabric file, else the first CA with a cable |
//! | what it finds from there | `reach` | cables; it passes through switches only |
//! | LIDs and LMC | `number`, [`lids`](crate::lids) | OpenSM `osm_lid_mgr.c` |
//! | the order of the sweep | `sweep` | breadth first from the SM's port, ports ascending |
//!
//! A subnet never changes. A fabric with a failed part is a fabric of its own and gives a subnet of
//! its own, with the LIDs of the healthy one laid over ([`Subnet::lids`]); so indices of one mean
//! nothing in the other, and GUIDs tie them together.
//!
//! Memory, at 48,000 hosts on 4,000 switches: an end port has 24 bytes and two entries of hash
//! maps, the table by LID 400 KB; most of it is the [`Fabric`] inside.

mod lookup;
mod number;
mod reach;
mod sweep;
mod topology;

use core::fmt;
use std::collections::HashMap;
use std::sync::OnceLock;

use sa_wire::{Guid, Lid, Lmc, NodeType};
use thiserror::Error;

pub use self::lookup::LookupError;
use self::lookup::Names;
use self::reach::{Reached, sm_port};
use crate::lids::OutOfLids;
use crate::model::{Fabric, Node, NodeIx, PortRef};
use crate::overlay::LidOverlay;

/// What the SM makes of a fabric.
///
/// Shape: end ports (CA and router ports, port 0 of switches) in the order of their port GUIDs'
/// [`Guid::map_order`], switches in that of their node GUIDs. LID ranges do not overlap.
#[derive(Clone)]
pub struct Subnet {
    /// With the nodes that nobody reaches.
    fabric: Fabric,
    /// Reached ones. Shape: in the order of node GUIDs.
    switches: Vec<NodeIx>,
    end_ports: Vec<EndPort>,
    /// Index into `end_ports`.
    sm: usize,
    /// Of CA and router ports.
    lmc: Lmc,
    /// Only ports that are end ports: of a switch port 0.
    by_port: HashMap<PortRef, usize>,
    /// By port GUID.
    by_guid: HashMap<Guid, usize>,
    /// Shape: index = LID.
    by_lid: Vec<Option<u32>>,
    /// For people's words.
    names: Names,
    report: SubnetReport,
    /// See [`Self::nodes`]; found when first asked for, as are the next.
    nodes: OnceLock<Vec<NodeIx>>,
    /// See [`Self::entry_port`].
    entries: OnceLock<HashMap<NodeIx, u8>>,
}

/// Something that has LIDs: a port of a CA or router, or the port 0 of a switch.
///
/// Copied freely: 24 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndPort {
    /// The port of the fabric; of a switch its port 0.
    pub at: PortRef,
    /// Port GUID.
    pub guid: Guid,
    /// Base LID, a multiple of 2^LMC.
    pub lid: Lid,
    /// It owns 2^LMC LIDs, from `lid` on.
    pub lmc: Lmc,
}

/// How to see a fabric: what options of the SM and of the command line say.
///
/// The default is what a bare file gets: its own LIDs, its own SM, no LMC beyond what it tells.
#[derive(Debug, Clone, Copy, Default)]
pub struct SubnetOptions<'a> {
    /// LMC of CA and router ports; none: what the file tells or lets infer, else 0.
    pub lmc: Option<Lmc>,
    /// Enhanced ports 0 have the LMC too (option `lmc_esp0` of OpenSM).
    pub lmc_esp0: bool,
    /// LIDs that the fabric file gives are not kept.
    pub reassign_lids: bool,
    /// The node that the SM runs on, by name or 0xGUID.
    pub sm_node: Option<&'a str>,
    /// The port that the SM runs on, if no node is named.
    pub sm_guid: Option<Guid>,
    /// LIDs from another file, before those of the fabric file.
    pub lids: Option<&'a LidOverlay>,
}

/// What the operator should know about how LIDs and nodes came out.
///
/// None of it is an error: a simulated fabric may well have a node that hangs loose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubnetReport {
    /// Nodes that the SM cannot reach; they are left out.
    pub unreachable: Vec<NodeIx>,
    /// Ports whose given LID could not be kept: port, given, assigned. A LID was not aligned to the
    /// LMC, or another port's.
    pub moved: Vec<(PortRef, Lid, Lid)>,
    /// GUIDs of the LID file that no port of the subnet has.
    pub unknown_guids: Vec<Guid>,
    /// Ports without a LID in the LID file, which were given one.
    pub without_lid: Vec<PortRef>,
}

/// Why a fabric gives no subnet.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SubnetError {
    /// The SM's node is named by something that leads to no node, or to several.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// No port has the GUID given for the SM.
    #[error("no port of the fabric has the GUID {0} given for the SM")]
    NoSmPort(Guid),
    /// The SM's node has no cable.
    #[error("the SM cannot run on {0}: no port of it has a cable")]
    SmNotCabled(String),
    /// No cable anywhere, so there is nothing to be the SM of.
    #[error("the fabric has no cabled port that the SM could run on")]
    NoCable,
    /// Too many ports for the LMC.
    #[error(transparent)]
    OutOfLids(#[from] OutOfLids),
    /// The LID file has nothing in common with the fabric.
    #[error("the LID file names {0} ports, but none of this fabric; is it of another fabric?")]
    ForeignLids(usize),
}

impl Subnet {
    /// Looks at a fabric from the SM's port and gives LIDs to all it reaches.
    ///
    /// The SM runs on `sm_node`, else on the port with `sm_guid`, else where the LID file says,
    /// else where the fabric file says, else on the first CA of the file that has a cable (without
    /// one: router, then switch). On a CA or router it uses the first port with a cable.
    /// Errors: see [`SubnetError`].
    pub fn new(fabric: Fabric, options: &SubnetOptions<'_>) -> Result<Self, SubnetError> {
        // Before anything is known of the subnet: the SM's node may be given by name.
        let names = Names::new(&fabric);
        let sm = sm_port(&fabric, &names, options)?;
        let reached = Reached::from(&fabric, sm);
        let mut subnet = Self {
            switches: reached.switches,
            end_ports: Vec::new(),
            sm: 0,
            lmc: Lmc::default(),
            by_port: HashMap::new(),
            by_guid: HashMap::new(),
            by_lid: Vec::new(),
            names,
            report: SubnetReport::default(),
            nodes: OnceLock::new(),
            entries: OnceLock::new(),
            fabric,
        };
        // Numbers, then tables over them, then what is said about both.
        subnet.number(&reached.end_ports, sm, options)?;
        subnet.index();
        subnet.note_unreachable();
        subnet.compare_with(options.lids)?;
        Ok(subnet)
    }

    /// Notes GUIDs of the LID file that no port has. Errors: none of them is known, so the file is
    /// another fabric's; some unknown ones are hosts that are away.
    fn compare_with(&mut self, overlay: Option<&LidOverlay>) -> Result<(), SubnetError> {
        let Some(overlay) = overlay else {
            return Ok(());
        };
        let mut unknown: Vec<_> = overlay
            .guids()
            .filter(|guid| !self.by_guid.contains_key(guid))
            .collect();
        if unknown.len() == overlay.len() {
            return Err(SubnetError::ForeignLids(overlay.len()));
        }
        unknown.sort_by_key(|guid| guid.map_order());
        self.report.unknown_guids = unknown;
        Ok(())
    }

    /// Makes the look-up tables. A LID table as an array: answers of the reference look here for
    /// every LID.
    fn index(&mut self) {
        self.by_lid = vec![None; usize::from(Lid::MAX.get()) + 1];
        for (index, port) in self.end_ports.iter().enumerate() {
            self.by_port.insert(port.at, index);
            self.by_guid.insert(port.guid, index);
            for lid in port.lids() {
                if let Some(slot) = self.by_lid.get_mut(lid.index()) {
                    *slot = u32::try_from(index).ok();
                }
            }
        }
    }

    /// Nodes without an end port in the subnet.
    fn note_unreachable(&mut self) {
        let mut reached = vec![false; self.fabric.nodes().len()];
        for port in &self.end_ports {
            if let Some(mark) = reached.get_mut(port.at.node.get()) {
                *mark = true;
            }
        }
        let missed = (0..)
            .map(NodeIx)
            .zip(reached)
            .filter(|(_, reached)| !reached);
        self.report.unreachable = missed.map(|(node, _)| node).collect();
    }

    /// The fabric that it is a view of, unreachable nodes included.
    pub const fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// The switches that the SM reaches. Shape: in the order of node GUIDs.
    pub fn switches(&self) -> &[NodeIx] {
        &self.switches
    }

    /// Everything with a LID. Shape: in the order of port GUIDs; the index is what look-ups return.
    pub fn end_ports(&self) -> &[EndPort] {
        &self.end_ports
    }

    /// The SM's port. Shape: index into [`Self::end_ports`].
    pub const fn sm(&self) -> usize {
        self.sm
    }

    /// The LIDs of all end ports, to be laid over another reading of the fabric.
    pub fn lids(&self) -> LidOverlay {
        let ports = self.end_ports.iter();
        let sm = self.end_ports.get(self.sm).map(|port| port.guid);
        LidOverlay::new(ports.map(|port| (port.guid, port.lid)), sm)
    }

    /// The nodes of CA and router ports that another view of the fabric lacks, in the order of port
    /// GUIDs.
    ///
    /// A node with two ports comes twice when both are gone.
    pub fn cut_off<'a>(&'a self, after: &'a Self) -> impl Iterator<Item = &'a Node> {
        let gone = self.end_ports.iter().filter(|port| {
            let is_switch = self.fabric.node(port.at.node).kind == NodeType::Switch;
            !is_switch && after.by_guid(port.guid).is_none()
        });
        gone.map(|port| self.fabric.node(port.at.node))
    }

    /// LMC of CA and router ports, the same for all.
    pub const fn lmc(&self) -> Lmc {
        self.lmc
    }

    /// What came out otherwise than the files say, for the operator.
    pub const fn report(&self) -> &SubnetReport {
        &self.report
    }
}

impl fmt::Debug for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subnet")
            .field("switches", &self.switches.len())
            .field("end_ports", &self.end_ports.len())
            .field("sm", &self.sm)
            .field("lmc", &self.lmc)
            .finish_non_exhaustive()
    }
}

impl EndPort {
    /// Every LID it owns, ascending.
    pub fn lids(&self) -> impl Iterator<Item = Lid> + use<> {
        let first = self.lid.get();
        let all = first..first.saturating_add(self.lmc.lids());
        all.filter_map(|lid| Lid::new(lid).ok())
    }
}

#[cfg(test)]
mod tests;
