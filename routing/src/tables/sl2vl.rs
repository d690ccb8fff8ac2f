//! SL to VL tables of all ports, from whatever made them.
//!
//! A switch chooses the VL of the next hop by SL, input and output port: for 36 ports 1,369 tables
//! of 16 entries. Nobody fills in that many different ones, so three origins are kept as what they
//! are:
//!
//! | origin | made by | kept as |
//! |---|---|---|
//! | configured | `opensm.conf`, minhop and files | one table per output port |
//! | by kind | torus-2QoS | a kind per port, a table per pair of kinds |
//! | given | dumps, a running SA, set-up scopes | numbers into a list of different tables |
//!
//! The second is cut to the VLs in operation when it is asked for, the first when it is made, the
//! third never: it is what devices already hold.

use sa_wire::{DataVls, SlToVl, SlVlMask};

use crate::topology::{EndPortIx, PortNumbers, SwitchIx, Topology};

/// Which SL travels on which VL through every switch.
/// Asked with ports that exist; engines and readers check before.
#[derive(Debug, Clone)]
pub(crate) struct Sl2Vl {
    ports: PortNumbers,
    /// By number of the output port: what the options ask for, masked.
    /// Kept beside any origin: where others say nothing it holds.
    configured: Vec<SlToVl>,
    /// By end port.
    /// One table each: a CA has no input port that could matter.
    end_ports: Vec<SlToVl>,
    origin: Origin,
}

/// Where the tables of switches come from. End ports have theirs in [`Sl2Vl`] in any case.
#[derive(Debug, Clone)]
enum Origin {
    /// The options' tables, all input ports alike.
    Configured,
    /// Made by the engine.
    /// For these a table is two lookups and a cut, and the whole of a fabric some kilobytes.
    ByKind {
        tables: Sl2VlByKind,
        /// By port number: VLs in operation.
        operational: Vec<DataVls>,
    },
    /// Read from elsewhere.
    Given {
        /// By switch: which of `tables` each (input, output) has, 0 for the configured one; empty
        /// for switches without tables. Shape: input * ports + output.
        places: Vec<Vec<u16>>,
        /// Entry 0 is not used.
        tables: Vec<SlToVl>,
    },
}

/// Tables of an engine that tells a few kinds of ports apart, and gives all ports of two kinds the
/// same table.
/// torus-2QoS needs five kinds: one for each axis, local ports, and ports of switches outside.
#[derive(Debug, Clone)]
pub(crate) struct Sl2VlByKind {
    /// By port number: its kind.
    pub(crate) kinds: Vec<u8>,
    /// Before they are cut to the VLs in operation. Shape: by kind of the input port, then by kind
    /// of the output port.
    pub(crate) tables: Vec<Vec<SlToVl>>,
    /// Of CA and router ports, before it is cut.
    pub(crate) end_ports: SlToVl,
}

/// SL2VL tables read from elsewhere, as devices hold them.
/// Not every port needs one; the rest keep what is configured. Made by readers of dumps and of SA
/// records, and from `qos-setup` scopes.
#[derive(Debug, Clone, Default)]
pub struct GivenSl2Vl {
    /// Tables of switches: switch, input port, output port, table.
    /// Of the same ports twice, the last counts.
    pub switches: Vec<(SwitchIx, u8, u8, SlToVl)>,
    /// Tables of CA and router ports.
    pub end_ports: Vec<(EndPortIx, SlToVl)>,
}

impl Sl2Vl {
    /// What the options ask for.
    /// Cost: a table of 16 bytes per port, cut once.
    pub(crate) fn configured(topology: &Topology) -> Self {
        let ports = topology.switches.iter().flat_map(|switch| &switch.ports);
        let configured = ports.map(|port| masked(port.configured_sl2vl, port.operational_vls));
        let ends = topology.end_ports.iter();
        let end_ports = ends.map(|port| masked(port.configured_sl2vl, port.operational_vls));
        Self {
            ports: PortNumbers::new(topology),
            configured: configured.collect(),
            end_ports: end_ports.collect(),
            origin: Origin::Configured,
        }
    }

    /// What an engine asks for.
    pub(crate) fn by_kind(topology: &Topology, tables: Sl2VlByKind) -> Self {
        let ends = topology.end_ports.iter();
        let end_ports = ends.map(|port| masked(tables.end_ports, port.operational_vls));
        let ports = topology.switches.iter().flat_map(|switch| &switch.ports);
        Self {
            end_ports: end_ports.collect(),
            origin: Origin::ByKind {
                tables,
                operational: ports.map(|port| port.operational_vls).collect(),
            },
            ..Self::configured(topology)
        }
    }

    /// Tables from elsewhere over the configured ones. All ports must exist.
    pub(crate) fn given(topology: &Topology, given: &GivenSl2Vl) -> Self {
        Self::configured(topology).overlaid(topology, given)
    }

    /// These tables with some from elsewhere over them; an engine lets none of its own go. All
    /// ports must exist.
    /// Cost: for each switch with tables, the square of its ports in numbers of two bytes.
    pub(crate) fn overlaid(mut self, topology: &Topology, given: &GivenSl2Vl) -> Self {
        let (mut places, mut tables) = match self.origin {
            // An engine's own tables keep its routes free of deadlock; others over them would void
            // the proof.
            Origin::ByKind { .. } => return self,
            Origin::Configured => (
                vec![Vec::new(); topology.switches.len()],
                vec![SlToVl([0; 16])],
            ),
            Origin::Given { places, tables } => (places, tables),
        };
        for (switch, input, output, table) in &given.switches {
            let count = topology.switch(*switch).ports.len();
            let place = &mut places[switch.index()];
            // 0 stands for the configured table, hence the first of `tables` is never used.
            place.resize(count * count, 0);
            place[usize::from(*input) * count + usize::from(*output)] = intern(&mut tables, *table);
        }
        for (end, table) in &given.end_ports {
            self.end_ports[end.index()] = *table;
        }
        self.origin = Origin::Given { places, tables };
        self
    }

    /// Of a switch, from an input port to an output port.
    /// Cost: some lookups. Proofs and path classes ask for each pair of ports once and keep the
    /// answer.
    pub(crate) fn switch(&self, switch: SwitchIx, input: u8, output: u8) -> SlToVl {
        let number = self.ports.number(switch, output);
        match &self.origin {
            Origin::Configured => self.configured[number],
            Origin::ByKind {
                tables,
                operational,
            } => {
                let kind = |number: usize| usize::from(tables.kinds[number]);
                let table = tables.tables[kind(self.ports.number(switch, input))][kind(number)];
                masked(table, operational[number])
            }
            Origin::Given { places, tables } => {
                let place = &places[switch.index()];
                let count = self
                    .ports
                    .number(switch, 0)
                    // Ports are numbered without gaps, so the next switch's port 0 tells how many
                    // this one has.
                    .abs_diff(self.ports.number(SwitchIx(switch.0 + 1), 0));
                match place.get(usize::from(input) * count + usize::from(output)) {
                    None | Some(0) => self.configured[number],
                    Some(table) => tables[usize::from(*table)],
                }
            }
        }
    }

    /// True when no table of a switch maps an SL to VL 15.
    /// Says so for whole kinds and lists, also for tables that no pair of ports uses: a false
    /// "drops" costs time, a false "drops nothing" would make wrong answers.
    pub(crate) fn drops_nothing(&self) -> bool {
        let carries_all = |table: &SlToVl| table.carried() == SlVlMask::ALL;
        match &self.origin {
            Origin::ByKind { tables, .. } => tables.tables.iter().flatten().all(carries_all),
            Origin::Configured => self.configured.iter().all(carries_all),
            Origin::Given { tables, .. } => self.configured.iter().chain(tables).all(carries_all),
        }
    }

    /// Of an end port.
    pub(crate) fn end_port(&self, end: EndPortIx) -> SlToVl {
        self.end_ports[end.index()]
    }
}

/// A table as a port with this many VLs gets it: SLs to be dropped (VL 15) stay so, other VLs lose
/// the bits that the port cannot express.
/// Source: OpenSM `osm_qos.c` (`sl2vl_update_table`).
pub(crate) fn masked(table: SlToVl, operational: DataVls) -> SlToVl {
    // 15 data VLs are coded in four bits, the others in a power of two.
    // With 8 VLs in operation the mask is 7: VL 9 becomes VL 1, as OpenSM sends it.
    let mask = if operational.get() == 15 {
        15
    } else {
        operational.get() - 1
    };
    SlToVl(table.0.map(|vl| if vl == 15 { 15 } else { vl & mask }))
}

/// The place of a table in a list, appended if new. Fabrics have few different ones.
/// Linear search, since there are a handful. More than 65,535 fall back to the configured table.
fn intern(tables: &mut Vec<SlToVl>, table: SlToVl) -> u16 {
    let known = tables.iter().skip(1).position(|known| *known == table);
    let place = known.map_or(tables.len(), |place| place + 1);
    if place == tables.len() {
        tables.push(table);
    }
    u16::try_from(place).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vls_are_cut_to_those_in_operation() {
        let table = SlToVl([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
        let cut = |code| masked(table, DataVls::from_code(code).unwrap()).0;
        assert_eq!(cut(1), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 15]);
        assert_eq!(cut(3), [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 15]);
        assert_eq!(cut(5), table.0);
    }
}
