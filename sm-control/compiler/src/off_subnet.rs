//! What lies beyond the ports of a subnet: multicast groups, and routers to other subnets.
//!
//! Both are answered with LIDs that are not written anywhere and follow from what OpenSM does in
//! its first sweep:
//!
//! * MLIDs. Groups get 0xc000, 0xc001 and so on in the order in which OpenSM makes them, which is
//!   that of `partitions.conf`. A partition without members has its groups made and taken away
//!   again, so their MLIDs are left out: with groups in A, B (nobody) and C the MLIDs are 0xc000
//!   for A and 0xc002 for C.
//! * Routers. Of each router OpenSM knows the port that it came by first; a route that names
//!   another port of it leads nowhere.
//!
//! Groups that clients make are the service's (`sa-service`), which gives them MLIDs behind these.

use std::collections::HashSet;
use std::path::Path;

use policy::partitions::{Item, Who};
use policy::{Membership, PartitionOptions, Partitions, PartitionsConfig, PortFacts};
use routing::{EndPortIx, Topology};
use sa_fabric::{NodeIx, PortRef, Subnet};
use sa_text::{Remark, Spanned};
use sa_wire::{Mlid, NodeType};

use crate::prefix_routes::PrefixRoute;

/// Groups and routers as the SM knows them.
///
/// Part of `FabricState`; the snapshot has rows of both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OffSubnet {
    /// LIDs of the groups. Shape: as [`Partitions::multicast_groups`].
    pub mlids: Vec<Mlid>,
    /// How many MLIDs every switch has room for, where switches were asked.
    pub multicast_cap: Option<u16>,
    /// Where other subnets are reached, the first that fits. Shape: the order of the file.
    pub prefix_routes: Vec<PrefixRoute>,
    /// Ports of routers that the SM sends through. Shape: in the order of port GUIDs.
    pub routers: Vec<EndPortIx>,
}

impl OffSubnet {
    /// The router that a route leads to; none where the fabric has no such port.
    ///
    /// For `*` the first one in the order of GUIDs, not of the file.
    pub fn router(&self, topology: &Topology, route: &PrefixRoute) -> Option<EndPortIx> {
        let Some(guid) = route.router else {
            return self.routers.first().copied();
        };
        let end = |port: &EndPortIx| topology.end_port(*port);
        let mut routers = self.routers.iter().copied();
        routers.find(|port| end(port).guid == guid)
    }
}

/// The LIDs of groups: ascending in the order in which the SM makes them, those of partitions
/// without members included, though it takes these away again.
/// Shape: as [`Partitions::multicast_groups`] of `partitions`, which these arguments gave.
pub(crate) fn mlids(
    config: &PartitionsConfig,
    ports: &[PortFacts],
    options: PartitionOptions,
    partitions: &Partitions,
) -> Vec<Mlid> {
    // Everybody in every partition: then no group is taken away, and all that OpenSM makes are
    // there in their order.
    let mut peopled = config.clone();
    for statement in &mut peopled.statements {
        let everybody = Item::Member {
            who: Who::All,
            membership: Membership::Full,
        };
        statement
            .items
            .push(Spanned::new(everybody, statement.span));
    }
    let all = Partitions::new(&peopled, ports, options);
    // Beyond the last MLID there are no more numbers; those groups fall out.
    let made = (Mlid::MIN.get()..).zip(all.multicast_groups());
    let kept = made.filter(|(_, group)| partitions.multicast_groups().contains(group));
    kept.filter_map(|(raw, _)| Mlid::new(raw).ok()).collect()
}

/// The ports of routers that the SM sends through: of each router the port that it met first. It
/// looks around from its own port, switch by switch, each from its first port to its last.
/// Shape: in the order of port GUIDs. Source: OpenSM `osm_node_info_rcv.c` (`ni_rcv_process_new`).
pub(crate) fn routers(subnet: &Subnet) -> Vec<EndPortIx> {
    let Some(sm) = subnet.end_ports().get(subnet.sm()) else {
        return Vec::new();
    };
    let met = first_ports(subnet, sm.at, NodeType::Router);
    let ends = (0..).map(EndPortIx).zip(subnet.end_ports());
    ends.filter(|(_, end)| met.contains(&end.at))
        .map(|(ix, _)| ix)
        .collect()
}

/// The port by which each node of a kind is met first, from `start` on.
///
/// Breadth first, as OpenSM's discovery; a node that is met again by another port is known already.
fn first_ports(subnet: &Subnet, start: PortRef, wanted: NodeType) -> HashSet<PortRef> {
    let fabric = subnet.fabric();
    let mut met: HashSet<NodeIx> = HashSet::new();
    let mut found = HashSet::new();
    let mut switches = Vec::new();
    let mut meet = |at: PortRef, switches: &mut Vec<NodeIx>| {
        // Only the first port of a node counts.
        if !met.insert(at.node) {
            return;
        }
        let kind = fabric.node(at.node).kind;
        if kind == NodeType::Switch {
            switches.push(at.node);
        }
        if kind == wanted {
            found.insert(at);
        }
    };
    meet(start, &mut switches);
    if let Some(peer) = fabric.port(start).peer {
        meet(peer, &mut switches);
    }
    let mut next = 0;
    while let Some(switch) = switches.get(next) {
        next += 1;
        let ports = fabric.node(*switch).ports.iter();
        for peer in ports.filter_map(|port| port.peer) {
            meet(peer, &mut switches);
        }
    }
    found
}

/// Routes that lead nowhere, and those that never count.
///
/// Codes `prefix-route-nowhere` and `prefix-route-hidden`, at the lines of the file.
pub(crate) fn remarks(path: &Path, routes: &[PrefixRoute], subnet: &Subnet) -> Vec<Remark> {
    let known = routers(subnet);
    let end = |port: &EndPortIx| subnet.end_ports().get(port.index());
    let guids: Vec<_> = known.iter().filter_map(end).map(|end| end.guid).collect();
    let nowhere = |route: &&PrefixRoute| match route.router {
        Some(guid) => !guids.contains(&guid),
        None => guids.is_empty(),
    };
    let lost = routes.iter().filter(nowhere).map(|route| {
        let router = route.router.map_or_else(
            || "the fabric has no router".to_owned(),
            |guid| format!("{guid} is no port of a router, or not the one that the SM met first"),
        );
        let text = format!("{router}; these DGIDs have no paths");
        Remark::warning("prefix-route-nowhere", text).at(path, route.at)
    });
    // The first star ends the list for all prefixes.
    let any = routes.iter().position(|route| route.prefix.is_none());
    let late = routes.iter().skip(any.map_or(routes.len(), |any| any + 1));
    let late = late.map(|route| {
        Remark::warning(
            "prefix-route-hidden",
            "an earlier line matches every prefix",
        )
        .at(path, route.at)
    });
    lost.chain(late).collect()
}
