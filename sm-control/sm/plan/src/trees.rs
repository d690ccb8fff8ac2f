//! Which tree each group has.
//!
//! ```text
//!  SLs of each MLID ──> what is proved with the routes in force, once ──> the usual trees, or one for all
//!                                                  neither is proved ──> the usual ones, and a finding where they close a loop
//! ```
//!
//! The usual tree is the engine's, or OpenSM's by shortest paths. The proof holds for any members ([`routing::proof::GroupProof`]), so who joins
//! or leaves changes one MLID's ports and needs no new one. Where nothing was found that it holds for, the groups as they are now are
//! judged each time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use routing::EndPortIx;
use routing::proof::{CreditLoop, GroupKinds, GroupProof};
use routing::tables::{GroupTrees, MulticastRoute, MulticastTable};
use sa_compiler::state::FabricState;
use sa_sm::model::Subnet;
use sa_wire::{Guid, Mlid, Sl, SlVlMask};

use crate::PlanFinding;
use crate::places::Index;

/// The SLs of the groups of each MLID, and the ports in them, by port GUID.
///
/// Shape: members are full or half members alike, as switches forward to both; a port may be in several MLIDs.
pub type Memberships = BTreeMap<Mlid, (SlVlMask, Arc<[Guid]>)>;

/// Trees that are wanted, by MLID, once for each of its SLs.
pub(crate) type WantedTrees = Vec<(Mlid, MulticastRoute)>;

/// Groups with members, and the proof of their trees.
pub(crate) struct Trees<'a> {
    parts: &'a FabricState,
    groups: Vec<Group>,
    proof: Option<Arc<GroupProof>>,
}

/// Groups that share an MLID are one here: switches know MLIDs alone.
struct Group {
    mlid: Mlid,
    sls: SlVlMask,
    members: Vec<EndPortIx>,
}

impl<'a> Trees<'a> {
    /// Members that are away have no port to forward to: they join again when they are back.
    pub(crate) fn new(found: &Subnet, parts: &'a FabricState, groups: &Memberships) -> Self {
        let index = Index::new(found, parts);
        let groups = groups.iter().map(|(mlid, (sls, ports))| {
            // A port that joined by two of its GUIDs is one member.
            let members: BTreeSet<EndPortIx> =
                ports.iter().filter_map(|port| index.end(*port)).collect();
            Group {
                mlid: *mlid,
                sls: *sls,
                members: members.into_iter().collect(),
            }
        });
        // One alone has nobody to send to.
        let groups: Vec<Group> = groups.filter(|group| group.members.len() > 1).collect();
        let kinds = kinds(parts, &groups);
        Self {
            parts,
            // Without groups no tree is made: their preparation walks all routes.
            proof: (!kinds.is_empty()).then(|| parts.group_proof(&kinds)),
            groups,
        }
    }

    /// By MLID.
    pub(crate) fn tables(&self) -> Vec<MulticastTable> {
        self.tables_of(|_| true)
    }

    /// By MLID, once for each of its SLs: what the proof over a change looks at.
    pub(crate) fn routes(&self) -> WantedTrees {
        let tables = self.tables();
        let pairs = self.groups.iter().zip(&tables);
        let routes = pairs.flat_map(|(group, table)| {
            let routes = group.routes(table);
            routes.map(|route| (group.mlid, route))
        });
        routes.collect()
    }

    /// Where groups that are not proved close a loop as they are now.
    pub(crate) fn finding(&self) -> Option<PlanFinding> {
        let proof = self.proof.as_ref()?;
        let is_open = |group: &Group| !proof.is_proved(group.sls);
        let open: Vec<&Group> = self.groups.iter().filter(|group| is_open(group)).collect();
        let tables = self.tables_of(is_open);
        let pairs = open.iter().zip(&tables);
        let routes = pairs.flat_map(|(group, table)| group.routes(table));
        let topology = &self.parts.topology;
        let circle = proof.loop_with(topology, &routes.collect::<Vec<_>>())?;
        let passing = tables.iter().find(|table| passes(table, &circle));
        let mlid = passing.or_else(|| tables.first())?.mlid;
        let circle = circle.in_words(topology, &self.parts.routes);
        Some(PlanFinding::GroupsNotProved {
            mlid,
            circle: circle.replace('\n', ", "),
        })
    }

    fn tables_of(&self, wanted: impl Fn(&Group) -> bool) -> Vec<MulticastTable> {
        let FabricState {
            topology, routes, ..
        } = self.parts;
        let mut usual = None;
        let groups = self.groups.iter().filter(|group| wanted(group));
        let tables = groups.map(|group| {
            let tree = self.proof.as_ref().and_then(|proof| proof.tree(group.sls));
            match tree {
                Some(tree) => GroupTrees::of_tree(topology, tree).table(group.mlid, &group.members),
                None => usual
                    .get_or_insert_with(|| GroupTrees::new(topology, routes))
                    .table(group.mlid, &group.members),
            }
        });
        tables.collect()
    }
}

impl Group {
    /// A way for each SL, as each takes VLs of its own.
    fn routes(&self, table: &MulticastTable) -> impl Iterator<Item = MulticastRoute> + use<> {
        let switches = table.switches.clone();
        let own = self.sls;
        let sls = (0..16_u8).filter_map(|sl| Sl::new(sl).ok());
        let sls = sls.filter(move |sl| own.carries(*sl));
        sls.map(move |sl| MulticastRoute {
            sl,
            switches: switches.clone(),
        })
    }
}

/// What the proof goes by.
fn kinds(parts: &FabricState, groups: &[Group]) -> GroupKinds {
    let topology = &parts.topology;
    let mut kinds = GroupKinds::new();
    for group in groups {
        let ends = group.members.iter().map(|end| topology.end_port(*end));
        let own = ends.filter(|end| end.port_number == 0);
        let own = own.filter_map(|end| end.attached.map(|(switch, _)| switch));
        kinds.entry(group.sls.0).or_default().extend(own);
    }
    kinds
}

/// Packets of the group take two channels of the loop in a row.
fn passes(table: &MulticastTable, circle: &CreditLoop) -> bool {
    let sends = |channel: &routing::proof::Channel| {
        let mut switches = table.switches.iter();
        switches.any(|(switch, ports)| *switch == channel.switch && ports.contains(channel.port))
    };
    let nexts = circle.0.iter().skip(1).chain(circle.0.first());
    let mut pairs = circle.0.iter().zip(nexts);
    pairs.any(|(one, next)| sends(one) && sends(next))
}
