//! The fabric as records show it: nodes in OpenSM's order, ports, and who may see them.
//!
//! OpenSM keeps nodes and ports in maps by GUID, and answers tables in that order. Walks here go
//! over the same orders, so that tables equal OpenSM's record by record.
//!
//! A view is of one requester: its own P_Keys are looked up once, and every port that a walk comes
//! by is held against them. It also has a *window*, a part of the order of nodes, end ports or
//! switches, through which a long table is made piece by piece.
//!
//! ```text
//!  requester: P_Keys 8001 (full), 0002 (limited)
//!  port a: 0001            shown: partition 1, of which one is a full member
//!  port b: 0002            not shown: both are limited members of 2
//!  port c: 8003            not shown: nothing in common
//! ```

use core::ops::Range;

use routing::SwitchIx;
use sa_compiler::state::FabricState;
use sa_fabric::sa_records::{Records, SaFabric};
use sa_fabric::subnet::EndPort;
use sa_fabric::{Fabric, Node, NodeIx, PortRef};
use sa_wire::{Guid, Lid, NodeType, Pkey};

use super::device;

/// The parts, seen by one requester. Made for each request, and for each unit of a table that is
/// streamed; costs one lookup and one P_Key table.
pub(crate) struct View<'a> {
    pub(crate) parts: &'a FabricState,
    /// The end port that owns the request's source LID; on a switch port 0.
    pub(crate) requester: PortRef,
    /// Of the order that a walk goes over where no LID is named. All of it, but in a stream.
    window: Range<usize>,
    /// Of the requester.
    keys: Vec<Pkey>,
}

impl<'a> View<'a> {
    /// None when nobody owns the requester's LID: such a request gets no reply.
    pub(crate) fn new(parts: &'a FabricState, requester_lid: u16) -> Option<Self> {
        let index = parts.subnet.by_lid(Lid::new(requester_lid).ok()?)?;
        let requester = parts.subnet.end_ports().get(index)?.at;
        let mut view = Self {
            parts,
            requester,
            window: 0..usize::MAX,
            keys: Vec::new(),
        };
        view.keys = view.keys_of(requester);
        Some(view)
    }

    /// What is known of the devices themselves: as this process has programmed them, or as a running SA told. It has precedence
    /// over what the model says.
    pub(super) fn told(&self) -> Option<&'a Records> {
        let from_sa = self.parts.from_sa.as_deref();
        let devices = self.parts.devices.as_deref();
        devices.or_else(|| from_sa.map(SaFabric::records))
    }

    pub(crate) const fn fabric(&self) -> &'a Fabric {
        self.parts.subnet.fabric()
    }

    pub(crate) fn node(&self, node: NodeIx) -> &'a Node {
        self.fabric().node(node)
    }

    pub(crate) fn is_switch(&self, node: NodeIx) -> bool {
        self.node(node).kind == NodeType::Switch
    }

    /// The nodes in sight, in the order of node GUIDs.
    fn nodes(&self) -> &'a [NodeIx] {
        self.in_window(self.parts.subnet.nodes())
    }

    /// Makes this a view of a part of the subnet: where no LID is named, walks go over these nodes,
    /// end ports or switches, by their place in the order of GUIDs, and not over all.
    pub(crate) const fn look_at(&mut self, window: Range<usize>) {
        self.window = window;
    }

    /// The part of an order that this view looks at.
    fn in_window<T>(&self, all: &'a [T]) -> &'a [T] {
        let end = self.window.end.min(all.len());
        all.get(self.window.start..end).unwrap_or_default()
    }

    /// The node that owns a LID, else all, in the order of node GUIDs.
    pub(crate) fn nodes_by_lid(&self, lid: Option<u64>) -> Vec<NodeIx> {
        match lid {
            Some(lid) => self
                .end_by_lid(lid)
                .map(|end| end.at.node)
                .into_iter()
                .collect(),
            None => self.nodes().to_vec(),
        }
    }

    /// The end port that owns a LID, else all, in the order of port GUIDs.
    pub(crate) fn ends_by_lid(&self, lid: Option<u64>) -> &'a [EndPort] {
        let ends = self.parts.subnet.end_ports();
        let Some(lid) = lid else {
            return self.in_window(ends);
        };
        let lid = u16::try_from(lid).ok().and_then(|lid| Lid::new(lid).ok());
        let index = lid.and_then(|lid| self.parts.subnet.by_lid(lid));
        index.map_or(&[], |index| ends.get(index..=index).unwrap_or_default())
    }

    /// The switch that owns a LID, else all, in the order of node GUIDs.
    pub(crate) fn switches_by_lid(&self, lid: Option<u64>) -> Vec<NodeIx> {
        match lid {
            Some(_) => {
                let mut nodes = self.nodes_by_lid(lid);
                nodes.retain(|node| self.is_switch(*node));
                nodes
            }
            None => self.in_window(self.parts.subnet.switches()).to_vec(),
        }
    }

    /// The end port that owns a LID, by its base LID or another of its range.
    pub(crate) fn end_by_lid(&self, lid: u64) -> Option<&'a EndPort> {
        self.ends_by_lid(Some(lid)).first()
    }

    /// The end port of a port; on a switch, port 0.
    pub(crate) fn end(&self, at: PortRef) -> Option<&'a EndPort> {
        let index = self.parts.subnet.by_port(at)?;
        self.parts.subnet.end_ports().get(index)
    }

    /// The ports of a node that the SM knows: all of a switch, those that it reached of others.
    /// From port 0 on, which only switches have.
    pub(crate) fn ports(&self, node: NodeIx) -> impl Iterator<Item = PortRef> + use<'_, 'a> {
        let last = self.node(node).port_count();
        let all = (0..=last).map(move |port| PortRef { node, port });
        all.filter(|at| self.knows(*at))
    }

    /// True for ports that the SM knows.
    pub(crate) fn knows(&self, at: PortRef) -> bool {
        self.parts.subnet.knows(at)
    }

    /// The far end of a port's cable, if the link is up and the SM knows both ends.
    pub(crate) fn peer(&self, at: PortRef) -> Option<PortRef> {
        self.parts.subnet.peer(at)
    }

    /// The index that routing gives a switch.
    pub(crate) fn switch(&self, node: NodeIx) -> Option<SwitchIx> {
        let end = self.end(PortRef { node, port: 0 })?;
        let index = self.parts.subnet.by_guid(end.guid)?;
        let end = self.parts.topology.end_ports.get(index)?;
        end.attached.map(|(switch, _)| switch)
    }

    /// Port GUID of a port; on a switch, that of port 0 for all.
    pub(crate) fn guid(&self, at: PortRef) -> Option<Guid> {
        self.end(at).map(|end| end.guid)
    }

    /// True when the requester and a port have a partition in common. A port always sees itself,
    /// whatever its table says.
    pub(crate) fn shows(&self, at: PortRef) -> bool {
        at == self.requester || share(&self.keys, &self.keys_of(at))
    }

    /// The P_Keys of the requester.
    pub(crate) fn own_keys(&self) -> Vec<Pkey> {
        self.keys.clone()
    }

    /// True when the requester has a partition in common with a port that has these P_Keys.
    pub(crate) fn shares(&self, keys: &[Pkey]) -> bool {
        share(&self.keys, keys)
    }

    /// True when two ports have a partition in common.
    pub(crate) fn related(&self, one: PortRef, other: PortRef) -> bool {
        one == other || share(&self.keys_of(one), &self.keys_of(other))
    }

    /// The P_Key table of a port, with OpenSM's places. Shape: 0 where there is none; empty for
    /// ports that the SM gives none.
    ///
    /// An external port of a switch has the keys of the CA or router behind it, and between
    /// switches the one of a device that nobody has set up.
    pub(crate) fn pkey_table(&self, at: PortRef) -> Vec<u16> {
        let is_external = self.is_switch(at.node) && at.port != 0;
        if !is_external {
            return self.end_table(at);
        }
        match self.peer(at) {
            None => Vec::new(),
            // No partition is enforced between switches.
            Some(peer) if self.is_switch(peer.node) => vec![Pkey::DEFAULT_FULL.get()],
            Some(peer) => self.peer_table(peer),
        }
    }

    /// The P_Key table that the port has; where nobody has read it, the default P_Key has the first
    /// place, and the others follow, as OpenSM writes it. A first place without a key is 0.
    fn end_table(&self, at: PortRef) -> Vec<u16> {
        let told = self.told().zip(self.end(at));
        if let Some(table) = told.and_then(|(told, end)| told.pkey_table(end.lid, at.port)) {
            return table;
        }
        // With both, a limited default key is an entry of its own and does not belong into the
        // first place.
        let both = self.parts.options.allow_both_pkeys;
        let is_default = |key: Pkey| match both {
            true => key == Pkey::DEFAULT_FULL,
            false => key.base() == Pkey::DEFAULT_FULL.base(),
        };
        // More keys than a device has places for are lost on it, and so here.
        let room = usize::from(device::partition_cap(self.node(at.node).kind));
        let index = self.parts.subnet.by_port(at);
        let keys = index.map_or_else(Vec::new, |index| self.parts.partitions.pkey_table(index));
        let mut table = vec![0];
        for key in keys {
            if is_default(key) {
                if let Some(first) = table.first_mut() {
                    *first = key.get();
                }
            } else if table.len() < room {
                table.push(key.get());
            }
        }
        table
    }

    /// The table that a switch enforces for the port behind it: without gaps, and of a P_Key that
    /// the port has both ways the full one.
    fn peer_table(&self, peer: PortRef) -> Vec<u16> {
        let mut table = self.end_table(peer);
        let all = table.clone();
        let is_doubled =
            |key: u16| key & Pkey::FULL_BIT == 0 && all.contains(&(key | Pkey::FULL_BIT));
        table.retain(|key| key & !Pkey::FULL_BIT != 0 && !is_doubled(*key));
        table.truncate(device::ENFORCEMENT_CAP.into());
        table
    }

    /// The keys of a port's table; places without one are left out.
    fn keys_of(&self, at: PortRef) -> Vec<Pkey> {
        let table = self.pkey_table(at).into_iter();
        table.filter_map(|raw| Pkey::new(raw).ok()).collect()
    }
}

/// Ports without P_Keys share with everybody; others need a partition of which one is a full
/// member. Source: OpenSM `osm_pkey.c`, `osm_physp_share_pkey`.
fn share(one: &[Pkey], other: &[Pkey]) -> bool {
    let fit = |a: &Pkey, b: &Pkey| a.base() == b.base() && (a.is_full() || b.is_full());
    // An external port without a link has no table, and hides nothing.
    let has_none = one.is_empty() || other.is_empty();
    has_none || one.iter().any(|a| other.iter().any(|b| fit(a, b)))
}
