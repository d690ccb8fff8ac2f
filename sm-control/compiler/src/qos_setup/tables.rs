//! The tables of every port, as OpenSM programs them once the subnet has settled.
//!
//! | port | SL2VL | VL arbitration |
//! |---|---|---|
//! | CA, router | one table | class `qos_ca_*` or `qos_rtr_*` |
//! | switch, up | one for each input port | `qos_swe_*`, changed by torus-2QoS towards end ports |
//! | enhanced port 0 | one for each input port | `qos_sw0_*` |
//! | base port 0, port without link | none | none |
//!
//! SL2VL tables come from the engine where it is torus-2QoS, else from the options of the class; a
//! scope goes before both, except on a torus, where scopes for SL2VL are refused. A switch with 36
//! ports and 7 links has 7 x 37 tables.
//!
//! Tables are made port by port while somebody goes through them: all of a large fabric would be
//! gigabytes.

use routing::placement::PlacedSwitch;
use routing::{EndPortIx, Peer, SwitchIx};
use sa_fabric::options::{PortClass, QosTables, VlArbEntry, fit_sl2vl};
use sa_fabric::{LinkState, NodeIx, PortRef};
use sa_wire::{DataVls, Guid, NodeType, SlToVl};

use super::blocks::{Change, programmed};
use super::scopes::Scopes;
use crate::state::FabricState;

/// What OpenSM programs into a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortTables {
    /// The port.
    pub at: PortRef,
    /// Port GUID; of a switch, for all its ports, the node GUID.
    pub guid: Guid,
    /// What is at the other end, or what the port itself is.
    pub place: PortUse,
    /// SL2VL tables. Shape: on switches one for each input port, from 0, cabled or not; on CA and
    /// router ports one with input and output 0, as OpenSM and smpquery number it.
    pub sl2vl: Vec<SlToVlRow>,
    /// Where VL arbitration comes from.
    pub vlarb_source: TableSource,
    /// High-priority table. Shape: as many entries as the port holds; empty with one VL.
    pub vlarb_high: Vec<VlArbEntry>,
    /// Low-priority table. Shape: as above.
    pub vlarb_low: Vec<VlArbEntry>,
    /// VLHighLimit. Units: 4 KiB; 0 with one VL.
    pub high_limit: u8,
}

/// An SL2VL table with its ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlToVlRow {
    /// Input port.
    pub input: u8,
    /// Output port.
    pub output: u8,
    /// VL by SL.
    pub table: SlToVl,
    /// Where it comes from.
    pub source: TableSource,
}

/// Where a table comes from.
///
/// Shown beside each table, so that an operator knows which line to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TableSource {
    /// The options of the SM, given or not.
    Options,
    /// The routing engine.
    Engine,
    /// A scope of the policy; what it says nothing about comes from the options.
    Scope {
        /// Where it begins.
        line: u32,
    },
}

/// Where a port is.
///
/// It decides which class of options counts, and whether torus-2QoS changes the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PortUse {
    /// Switch port with a cable to a switch.
    Switch,
    /// Switch port with a cable to a CA or router.
    Local,
    /// Enhanced port 0 of a switch.
    Port0,
    /// CA port.
    Ca,
    /// Router port.
    Router,
}

/// The tables of every port that gets some, in the order of port GUIDs as OpenSM goes through them,
/// a switch's ports by number. None with QoS off.
///
/// They are those of a subnet that has settled. In its first sweep OpenSM goes by the operational
/// VLs that switch ports had before, and corrects tables in its next heavy sweep.
/// Source: OpenSM `osm_qos.c`, `osm_qos_setup`.
pub fn port_tables(parts: &FabricState) -> impl Iterator<Item = PortTables> + '_ {
    port_tables_with(parts, None)
}

/// [`port_tables`], with those of scopes in place of the options' where there are any.
/// Shape: scopes of the same parts.
pub fn port_tables_with<'a>(
    parts: &'a FabricState,
    scopes: Option<&'a Scopes<'a>>,
) -> impl Iterator<Item = PortTables> + 'a {
    let view = View::new(parts, scopes);
    let ends = parts.topology.end_port_ixs();
    ends.filter(|_| parts.options.qos)
        .flat_map(move |end| view.ports(end))
}

/// The same of one end port at a time; the first look costs, the others do not.
///
/// For records of single ports, which come one question at a time.
pub struct TablesByEnd<'a>(View<'a>);

impl<'a> TablesByEnd<'a> {
    /// Those of the options and the routing engine.
    pub fn new(parts: &'a FabricState) -> Self {
        Self(View::new(parts, None))
    }

    /// Those of an end port; on switches, of all ports that get some.
    pub fn of(&self, end: EndPortIx) -> Vec<PortTables> {
        match self.0.parts.options.qos {
            true => self.0.ports(end),
            false => Vec::new(),
        }
    }
}

/// What is the same for all ports: options made into tables, one set for each class.
struct View<'a> {
    parts: &'a FabricState,
    /// None: options and engine alone.
    scopes: Option<&'a Scopes<'a>>,
    ca: QosTables,
    port0: QosTables,
    external: QosTables,
    router: QosTables,
}

impl<'a> View<'a> {
    fn new(parts: &'a FabricState, scopes: Option<&'a Scopes<'a>>) -> Self {
        let tables = |class| parts.options.qos_tables(class);
        Self {
            parts,
            scopes,
            ca: tables(PortClass::Ca),
            port0: tables(PortClass::SwitchPort0),
            external: tables(PortClass::SwitchExternal),
            router: tables(PortClass::Router),
        }
    }

    /// What is programmed on behalf of a port GUID.
    fn ports(&self, end: EndPortIx) -> Vec<PortTables> {
        let FabricState {
            topology, subnet, ..
        } = self.parts;
        let port = topology.end_port(end);
        let Some(at) = subnet.end_ports().get(end.index()).map(|port| port.at) else {
            return Vec::new();
        };
        match (port.node_type, port.attached) {
            (NodeType::Switch, Some((switch, _))) => self.switch_ports(end, at.node, switch),
            (NodeType::Switch, None) => Vec::new(),
            (NodeType::Ca, _) => vec![self.end_port(end, at, PortUse::Ca, &self.ca)],
            (NodeType::Router, _) => vec![self.end_port(end, at, PortUse::Router, &self.router)],
        }
    }

    /// The tables of a CA or router port.
    fn end_port(
        &self,
        end: EndPortIx,
        at: PortRef,
        place: PortUse,
        class: &QosTables,
    ) -> PortTables {
        let FabricState {
            topology, routes, ..
        } = self.parts;
        let port = topology.end_port(end);
        let is_torus = routes.torus().is_some();
        // Other engines leave what the options give.
        let row = self.row(end, 0, 0, || match is_torus {
            true => routes.end_port_sl2vl(end),
            false => port.configured_sl2vl,
        });
        let target = Target {
            end,
            at,
            guid: port.guid,
            place,
            operational: port.operational_vls,
            change: Change::None,
        };
        self.tables(target, class, vec![row])
    }

    /// Port 0 where it is enhanced, and every port with a link.
    fn switch_ports(&self, end: EndPortIx, node: NodeIx, switch: SwitchIx) -> Vec<PortTables> {
        let fabric = self.parts.subnet.fabric();
        let facts = fabric.node(node);
        let gets_tables = |port: &u8| match port {
            0 => facts.enhanced_port0,
            // OpenSM passes ports without a link by.
            _ => fabric.port(PortRef { node, port: *port }).state != LinkState::Down,
        };
        let torus = self.parts.routes.torus();
        let placed = torus.and_then(|torus| torus.placed(switch));
        let local = placed.map_or(&[][..], PlacedSwitch::local_ports);
        (0..=facts.port_count())
            .filter(gets_tables)
            .map(|port| self.switch_port(end, PortRef { node, port }, switch, local))
            .collect()
    }

    /// Shape: `local` are the ports of the torus's local group.
    ///
    /// A port towards nothing counts as one between switches: no end port is there.
    fn switch_port(
        &self,
        end: EndPortIx,
        at: PortRef,
        switch: SwitchIx,
        local: &[u8],
    ) -> PortTables {
        let facts = self.parts.topology.switch(switch);
        let operational = self.parts.subnet.operational_vls(at, &self.parts.options);
        let (place, class) = match (at.port, self.parts.topology.peer(switch, at.port)) {
            (0, _) => (PortUse::Port0, &self.port0),
            (_, Peer::EndPort(_)) => (PortUse::Local, &self.external),
            (_, Peer::Switch { .. } | Peer::Nothing) => (PortUse::Switch, &self.external),
        };
        // By the engine's own groups, as a router or an unplaced switch may be in one.
        let is_local = at.port != 0 && local.contains(&at.port);
        let target = Target {
            end,
            at,
            guid: facts.guid,
            place,
            operational,
            change: if is_local {
                Change::TorusLocal
            } else {
                Change::None
            },
        };
        // Uncabled inputs too, as OpenSM programs them.
        let inputs = (0..=u8::MAX).take(facts.ports.len());
        let rows = inputs.map(|input| {
            self.row(end, input, at.port, || {
                self.switch_table(switch, input, at.port, operational)
            })
        });
        self.tables(target, class, rows.collect())
    }

    /// Of the engine, or else of the options.
    fn switch_table(
        &self,
        switch: SwitchIx,
        input: u8,
        output: u8,
        operational: DataVls,
    ) -> SlToVl {
        let routes = &self.parts.routes;
        if routes.torus().is_some() {
            routes.sl2vl(switch, input, output)
        } else if (input, output) == (0, 0) {
            fit_sl2vl(self.port0.sl2vl, operational)
        } else {
            fit_sl2vl(self.external.sl2vl, operational)
        }
    }

    /// A table with its origin, `otherwise` where no scope gives it.
    fn row(
        &self,
        end: EndPortIx,
        input: u8,
        output: u8,
        otherwise: impl FnOnce() -> SlToVl,
    ) -> SlToVlRow {
        let scoped = self
            .scopes
            .and_then(|scopes| scopes.sl2vl(end.index(), input, output));
        let (table, source) = match scoped {
            Some((table, span)) => (
                table,
                TableSource::Scope {
                    line: span.start.line,
                },
            ),
            None if self.parts.routes.torus().is_some() => (otherwise(), TableSource::Engine),
            None => (otherwise(), TableSource::Options),
        };
        SlToVlRow {
            input,
            output,
            table,
            source,
        }
    }

    /// VL arbitration needs two VLs; with one OpenSM leaves it alone.
    fn tables(&self, port: Target, class: &QosTables, sl2vl: Vec<SlToVlRow>) -> PortTables {
        let fabric = self.parts.subnet.fabric();
        // By what the port can operate and not by what it does: OpenSM looks at VLCap.
        let arbitrates = fabric.vl_cap(port.at).get() > 1;
        let caps = fabric.vl_arb(port.at);
        let table = |own: Option<Vec<VlArbEntry>>, table, entries| match own {
            Some(own) => own,
            None if arbitrates => programmed(table, entries, port.operational, port.change),
            None => Vec::new(),
        };
        let output = if port.place == PortUse::Ca || port.place == PortUse::Router {
            0
        } else {
            port.at.port
        };
        // A scope may give one of the two tables, and the option then gives the other.
        let scoped = self
            .scopes
            .and_then(|scopes| scopes.vl_arb(port.end.index(), output, port.change));
        let vlarb_source =
            scoped
                .as_ref()
                .map_or(TableSource::Options, |scoped| TableSource::Scope {
                    line: scoped.span.start.line,
                });
        let (high, low, limit) = scoped.map_or((None, None, None), |own| {
            (own.high, own.low, own.high_limit)
        });
        let high_limit = if arbitrates { class.high_limit } else { 0 };
        PortTables {
            at: port.at,
            guid: port.guid,
            place: port.place,
            sl2vl,
            vlarb_source,
            vlarb_high: table(high, &class.vlarb_high, caps.high),
            vlarb_low: table(low, &class.vlarb_low, caps.low),
            high_limit: limit.unwrap_or(high_limit),
        }
    }
}

/// A port, and how tables are made fit for it.
/// Made for each port on the way.
struct Target {
    end: EndPortIx,
    at: PortRef,
    guid: Guid,
    place: PortUse,
    operational: DataVls,
    change: Change,
}

#[cfg(test)]
mod tests;
