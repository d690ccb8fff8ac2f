//! A routed fabric.
//!
//! [`Routes`] is what an engine hands out and everything after it reads: the compiler turns it into
//! path classes, proofs judge it, exports write it as OpenSM's dumps. It is made once and then
//! shared without change, also as what the next routing starts from.

use std::sync::Arc;

use sa_snapshot::model::{EngineSl, PathSl};
use sa_wire::{Lid, Sl, SlToVl};

use super::facts::{EngineFacts, PathSlRule};
use super::lft::{Lft, NO_PATH};
use super::multicast::{MulticastRoute, MulticastTree};
use super::sl2vl::{GivenSl2Vl, Sl2Vl};
use crate::error::Warning;
use crate::kind::EngineKind;
use crate::placement::{Coordinate, Torus};
use crate::topology::{EndPortIx, LidMap, SwitchIx, Topology};

/// Whether the subnet uses QoS.
/// Off, every SL is carried everywhere whatever SL2VL tables say: SLs are not looked at when paths
/// are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Qos {
    /// `qos TRUE`: SLs, VLs and policy count.
    On,
    /// `qos FALSE`, OpenSM's default.
    Off,
}

/// A routed fabric: forwarding tables, SL2VL tables, and the SL of each path.
/// Belongs to the topology it was made for: indices and LIDs are that one's.
#[derive(Debug, Clone)]
pub struct Routes {
    pub(crate) engine: EngineKind,
    pub(crate) lft: Lft,
    pub(crate) sl2vl: Sl2Vl,
    pub(crate) facts: EngineFacts,
    pub(crate) lids: LidMap,
    /// By end port: the switch it is or is plugged into.
    /// A copy of what the topology says, so that SLs can be asked for without it.
    pub(crate) attached: Vec<Option<SwitchIx>>,
    pub(crate) warnings: Vec<Warning>,
    /// What the engine goes back to after a repair, where it does.
    pub(crate) origin: Option<Arc<Origin>>,
}

/// Routes that were made from nothing, and the fabric that they were made for.
///
/// An engine that keeps ways over a failure has to know which they were before it, or a repair would leave the
/// detours in place. Memory of forwarding tables is shared with those routes.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) topology: Topology,
    pub(crate) routes: Routes,
}

impl Routes {
    /// Without facts and warnings, which engines add.
    pub(crate) fn new(topology: &Topology, engine: EngineKind, lft: Lft, sl2vl: Sl2Vl) -> Self {
        let ends = topology.end_ports.iter();
        let attached = ends
            .map(|end| end.attached.map(|(switch, _)| switch))
            .collect();
        let lids = LidMap::new(topology);
        Self {
            engine,
            lft,
            sl2vl,
            facts: EngineFacts::default(),
            lids,
            attached,
            warnings: Vec::new(),
            origin: None,
        }
    }

    /// Of a subnet without switches: no forwarding tables, and the SL2VL tables of the options.
    pub(crate) fn without_switches(topology: &Topology, engine: EngineKind) -> Self {
        let lft = Lft::empty(topology, topology.max_lid());
        let facts = EngineFacts {
            keeps_configured_sl2vl: true,
            ..EngineFacts::default()
        };
        Self {
            facts,
            ..Self::new(topology, engine, lft, Sl2Vl::configured(topology))
        }
    }

    /// The same routes with other SL2VL tables on some ports, which must exist. An engine that
    /// makes such tables keeps its own, on which its freedom from deadlock rests.
    /// Used for what `[policy]`'s set-up scopes give ports; shape as [`GivenSl2Vl`].
    #[must_use]
    pub fn with_sl2vl(self, topology: &Topology, given: &GivenSl2Vl) -> Self {
        let sl2vl = self.sl2vl.overlaid(topology, given);
        Self { sl2vl, ..self }
    }

    /// The same tables where SLs are found otherwise: for tables that another SM made.
    #[must_use]
    pub fn with_path_sl(mut self, path_sl: PathSlRule) -> Self {
        self.facts.path_sl = path_sl;
        self
    }

    /// The engine that made the tables.
    pub const fn engine(&self) -> EngineKind {
        self.engine
    }

    /// The forwarding table of a switch. Shape: index = LID, from 0 (not used) to the largest in
    /// use; the output port, or [`NO_PATH`].
    pub fn lft(&self, switch: SwitchIx) -> &[u8] {
        self.lft.table(switch)
    }

    /// The forwarding tables of all switches, to be shared with later routes.
    /// A copy of it is cheap: memory is shared, see [`Lft`].
    pub const fn lfts(&self) -> &Lft {
        &self.lft
    }

    /// The port by which a switch forwards to a LID; none when it does not.
    /// None also for a LID beyond the table.
    pub fn output(&self, switch: SwitchIx, lid: Lid) -> Option<u8> {
        self.lft(switch)
            .get(lid.index())
            .copied()
            .filter(|port| *port != NO_PATH)
    }

    /// The SL2VL table of a switch between two ports, which must exist; 0 is the switch itself.
    /// As the devices hold it: cut to the VLs in operation at the output port.
    /// Panics for ports that the switch lacks: SL2VL is asked for after forwarding entries were
    /// checked.
    pub fn sl2vl(&self, switch: SwitchIx, input: u8, output: u8) -> SlToVl {
        self.sl2vl.switch(switch, input, output)
    }

    /// The SL2VL table of a CA or router port, or of an enhanced port 0.
    pub fn end_port_sl2vl(&self, end: EndPortIx) -> SlToVl {
        self.sl2vl.end_port(end)
    }

    /// The SL of the path between two LIDs, where `hint` is the SL that the policy chose.
    ///
    /// Where datelines decide, bit 3 of the hint stays, and the SL is 0 where a LID is unknown or
    /// outside the torus. A table has the SL of each pair, and none where nobody knows it; elsewhere
    /// the hint stays. Links that are down make no difference.
    /// Source: OpenSM `osm_torus.c` (`torus_path_sl`).
    /// Cost: two lookups by LID, and three comparisons or a look into the table.
    pub fn path_sl(&self, hint: Sl, slid: Lid, dlid: Lid) -> Option<Sl> {
        match &self.facts.path_sl {
            PathSlRule::Policy => Some(hint),
            PathSlRule::Datelines => Some(self.by_datelines(hint, slid, dlid)),
            PathSlRule::Table(table) => {
                let source = self.lids.owner(slid)?;
                match table.sl(source, dlid) {
                    PathSl::Policy => Some(hint),
                    PathSl::Given(sl) => Some(sl),
                    PathSl::Unknown => None,
                }
            }
        }
    }

    /// [`Self::path_sl`] in a torus.
    fn by_datelines(&self, hint: Sl, slid: Lid, dlid: Lid) -> Sl {
        let Some(torus) = self.facts.sl_torus() else {
            return hint;
        };
        let switch = |lid| self.attached[self.lids.owner(lid)?.index()];
        match (switch(slid), switch(dlid)) {
            (Some(from), Some(to)) => torus.path_sl(hint, from, to),
            // OpenSM gives SL 0 without the level's bit here, although the path may exist on tables
            // from files.
            _ => Sl::default(),
        }
    }

    /// How the SL of a path is finished, for [`sa_snapshot::model::PathTables`].
    /// The snapshot keeps radices and the coordinates of ports, and finishes each SL itself (ADR
    /// 4).
    pub fn engine_sl(&self) -> EngineSl {
        match (self.facts.sl_torus(), self.facts.sl_table()) {
            (Some(torus), _) => EngineSl::Torus {
                radix: torus.shape().radix,
            },
            (None, Some(_)) => EngineSl::Table,
            (None, None) => EngineSl::Keep,
        }
    }

    /// What the engine says besides its tables.
    pub const fn facts(&self) -> &EngineFacts {
        &self.facts
    }

    /// Where the switches are in their torus; none for engines that give them no places.
    pub const fn torus(&self) -> Option<&Torus> {
        self.facts.torus.as_ref()
    }

    /// The tree of which multicast groups use parts; none for engines that make none.
    pub const fn multicast_tree(&self) -> Option<&MulticastTree> {
        self.facts.multicast.as_ref()
    }

    /// The worst groups there can be: everybody is a member, on either QoS level, with an MLID for
    /// every way in which groups share parallel cables out. None without a multicast tree.
    /// Smaller groups on SL 0 and 8 take turns that these take as well, so that one proof is
    /// enough.
    pub fn worst_groups(&self, topology: &Topology) -> Vec<MulticastRoute> {
        let tree = self.facts.multicast.as_ref();
        tree.map_or_else(Vec::new, |tree| tree.worst_groups(topology))
    }

    /// Place in the torus of the switch that an end port is or is plugged into.
    pub fn coordinate(&self, end: EndPortIx) -> Option<Coordinate> {
        self.torus()?.coordinate(self.attached[end.index()]?)
    }

    /// Who owns which LID.
    pub const fn lids(&self) -> &LidMap {
        &self.lids
    }

    /// What was noticed on the way.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }
}
