//! Numbers for cables, and SL2VL tables by small numbers.

use std::collections::HashMap;

use sa_wire::{SlToVl, Vl};

use crate::routes::Routes;
use crate::topology::{Peer, PortNumbers, SwitchIx, Topology, count32};

/// VLs that are told apart per cable.
pub(super) const VLS: usize = 16;

/// No cable between switches.
pub(super) const NO_LINK: u32 = u32::MAX;

/// A directed cable between switches.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    pub(super) from: SwitchIx,
    pub(super) port: u8,
    /// Slot of that port.
    pub(super) slot: u8,
    pub(super) to: SwitchIx,
    /// Slot of the far port.
    pub(super) input: u8,
    /// Number of the turn from here to output slot 0 of the far switch; the other slots follow.
    pub(super) turns: u32,
}

/// The cables of a fabric and what its switches do with SLs.
///
/// Ports in use (port 0 and those with a cable) are counted by *slot* within their switch.
pub(super) struct Channels {
    numbers: PortNumbers,
    pub(super) links: Vec<Link>,
    /// By port number: number of the link that leaves by it, or `NO_LINK`.
    link_of: Vec<u32>,
    /// By port number.
    slot_of: Vec<u8>,
    /// By switch: ports in use, ascending.
    slots: Vec<Vec<u8>>,
    /// By switch: where its square begins in `squares`.
    first: Vec<usize>,
    /// Numbers of tables. Shape: a square per switch, input slot by output slot.
    squares: Vec<u16>,
    /// By turn: number of the table.
    turn_tables: Vec<u16>,
    tables: Vec<Mapping>,
}

/// An SL2VL table the other way round: VLs, and the SLs that each carries. VL 15 is left out.
pub(super) struct Mapping(Vec<(u8, u16)>);

impl Mapping {
    fn new(table: SlToVl) -> Self {
        let mut sls = [0_u16; VLS];
        for (sl, vl) in table.0.iter().enumerate() {
            sls[usize::from(*vl & 15)] |= 1 << sl;
        }
        let data = (0..Vl::MANAGEMENT.get()).zip(sls);
        Self(data.filter(|(_, sls)| *sls != 0).collect())
    }

    /// The VLs on which some of these SLs leave, with the SLs of each.
    pub(super) fn spread(&self, sls: u16) -> impl Iterator<Item = (u8, u16)> + '_ {
        self.0
            .iter()
            .map(move |(vl, carried)| (*vl, carried & sls))
            .filter(|(_, sls)| *sls != 0)
    }
}

impl Channels {
    pub(super) fn new(topology: &Topology, routes: &Routes) -> Self {
        let numbers = PortNumbers::new(topology);
        let mut channels = Self {
            links: Vec::new(),
            link_of: vec![NO_LINK; numbers.total()],
            slot_of: vec![0; numbers.total()],
            slots: Vec::new(),
            first: Vec::new(),
            squares: Vec::new(),
            turn_tables: Vec::new(),
            tables: Vec::new(),
            numbers,
        };
        for switch in topology.switch_ixs() {
            channels.add_slots(topology, switch);
        }
        for switch in topology.switch_ixs() {
            channels.add_links(topology, switch);
        }
        channels.add_tables(topology, routes);
        channels.add_turns();
        channels
    }

    /// How many turns there are, from a cable into an output slot.
    pub(super) fn turns(&self) -> usize {
        self.turn_tables.len()
    }

    /// Number of the table of a turn.
    #[inline]
    pub(super) fn turn_table(&self, turn: u32) -> u16 {
        self.turn_tables[turn as usize]
    }

    /// The link by which a switch leaves through a port; `NO_LINK` when none does.
    #[inline]
    pub(super) fn link(&self, switch: SwitchIx, port: u8) -> u32 {
        self.link_of[self.numbers.of(switch, port)]
    }

    pub(super) fn slot(&self, switch: SwitchIx, port: u8) -> u8 {
        self.slot_of[self.numbers.of(switch, port)]
    }

    /// Ports in use, by slot.
    pub(super) fn slots(&self, switch: SwitchIx) -> &[u8] {
        &self.slots[switch.index()]
    }

    /// Number of the table of a switch between two slots.
    pub(super) fn table(&self, switch: SwitchIx, input: u8, output: u8) -> u16 {
        let slots = self.slots[switch.index()].len();
        let place = usize::from(input) * slots + usize::from(output);
        self.squares[self.first[switch.index()] + place]
    }

    pub(super) fn mapping(&self, table: u16) -> &Mapping {
        &self.tables[usize::from(table)]
    }

    fn add_slots(&mut self, topology: &Topology, switch: SwitchIx) {
        let ports = (0..=u8::MAX).zip(&topology.switch(switch).ports);
        let used = ports.filter(|(number, port)| *number == 0 || port.peer != Peer::Nothing);
        let used: Vec<u8> = used.map(|(number, _)| number).collect();
        for (slot, port) in (0..).zip(&used) {
            self.slot_of[self.numbers.of(switch, *port)] = slot;
        }
        self.slots.push(used);
    }

    fn add_links(&mut self, topology: &Topology, switch: SwitchIx) {
        for (port, to, far_port) in topology.cables(switch) {
            self.link_of[self.numbers.of(switch, port)] = count32(self.links.len());
            let input = self.slot(to, far_port);
            let slot = self.slot(switch, port);
            self.links.push(Link {
                from: switch,
                port,
                slot,
                to,
                input,
                turns: 0,
            });
        }
    }

    fn add_tables(&mut self, topology: &Topology, routes: &Routes) {
        let mut known: HashMap<SlToVl, u16> = HashMap::new();
        for switch in topology.switch_ixs() {
            let ports = &self.slots[switch.index()];
            let pairs = ports
                .iter()
                .flat_map(|input| ports.iter().map(move |out| (*input, *out)));
            let square = pairs.map(|(input, output)| {
                let table = routes.sl2vl(switch, input, output);
                *known.entry(table).or_insert_with(|| {
                    self.tables.push(Mapping::new(table));
                    u16::try_from(self.tables.len() - 1).unwrap_or(u16::MAX)
                })
            });
            self.first.push(self.squares.len());
            self.squares.extend(square);
        }
    }

    fn add_turns(&mut self) {
        for index in 0..self.links.len() {
            let Link { to, input, .. } = self.links[index];
            self.links[index].turns = count32(self.turn_tables.len());
            let outputs = 0..u8::try_from(self.slots(to).len()).unwrap_or(u8::MAX);
            let tables: Vec<_> = outputs
                .map(|output| self.table(to, input, output))
                .collect();
            self.turn_tables.extend(tables);
        }
    }
}
