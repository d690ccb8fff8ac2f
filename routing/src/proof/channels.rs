//! Numbers for cables, and SL2VL tables by small numbers.
//!
//! The proof goes over billions of steps, so that what they need lies in flat tables by small numbers: ports
//! by slot, cables by link, SL2VL tables by number. Fabrics whose switches all have one table, which is the
//! common case, need no squares of numbers at all.
//!
//! ```text
//! link   a cable in one direction, 0 to twice the cables
//! turn   from a link into a link of the switch where it ends: link.turns + output slot
//! channel (node)   16 x link + VL
//! ```
//!
//! Turns back into the same cable are numbered, too: tables may send a packet back, and then it
//! waits for itself in a cycle of two.

use std::ops::Range;

use sa_wire::{SlToVl, Vl};

use crate::tables::Routes;
use crate::topology::{Peer, PortNumbers, SwitchIx, Topology, count32};
use rustc_hash::FxHashMap;

/// VLs that are told apart per cable.
pub(super) const VLS: usize = 16;

/// No cable between switches.
pub(super) const NO_LINK: u32 = u32::MAX;

/// A directed cable between switches.
/// 16 bytes, read for each step along a path that is new.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    pub(super) from: SwitchIx,
    pub(super) port: u8,
    /// Slot of that port.
    pub(super) slot: u8,
    pub(super) to: SwitchIx,
    /// Slot of the far port.
    pub(super) input: u8,
    /// Number of the turn from here to output slot 0 of the far switch; the other slots of cables
    /// to switches follow.
    /// Turns of one link follow each other, in the order of the far switch's slots.
    pub(super) turns: u32,
}

/// The cables of a fabric and what its switches do with SLs.
///
/// Ports in use (port 0 and those with a cable) are counted by *slot* within their switch: first
/// those with a cable to a switch, then the others, each ascending.
/// Shared by all graphs of one proof, and by a proof that goes on from it.
pub(super) struct Channels {
    numbers: PortNumbers,
    pub(super) links: Vec<Link>,
    /// By port number: number of the link that leaves by it, or `NO_LINK`.
    link_of: Vec<u32>,
    /// By port number: its slot.
    slot_of: Vec<u8>,
    /// By switch: ports in use.
    /// Port 0 is always one of them.
    slots: Vec<Vec<u8>>,
    /// By switch: how many of them have a cable to a switch.
    cables: Vec<u8>,
    /// By switch: number of the link in slot 0; the other slots' follow.
    first_link: Vec<u32>,
    /// By switch: where its square begins in `squares`.
    first: Vec<usize>,
    /// Numbers of tables. Shape: a rectangle per switch, input slot by output slot with a cable to a
    /// switch. Empty where all tables are alike.
    /// Also where only the last switches differ: squares before the second table are filled with 0.
    squares: Vec<u32>,
    turns: usize,
    /// By number. A torus whose ports are alike has 25 at most.
    tables: Vec<Mapping>,
    /// The same as they are.
    plain: Vec<SlToVl>,
}

/// An SL2VL table the other way round: VLs, and the SLs that each carries. VL 15 is left out.
/// At most 15 entries, mostly one or eight.
pub(super) struct Mapping(Vec<(u8, u16)>);

impl Mapping {
    /// Turns the table round: which SLs share a VL.
    pub(super) fn new(table: SlToVl) -> Self {
        let mut sls = [0_u16; VLS];
        for (sl, vl) in table.0.iter().enumerate() {
            sls[usize::from(*vl & 15)] |= 1 << sl;
        }
        // SLs on VL 15 are dropped, so they hold and wait for nothing.
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
    /// Numbers everything once. Cost: all pairs of ports of each switch, where tables differ.
    pub(super) fn new(topology: &Topology, routes: &Routes) -> Self {
        let numbers = PortNumbers::new(topology);
        let mut channels = Self {
            links: Vec::new(),
            link_of: vec![NO_LINK; numbers.total()],
            slot_of: vec![0; numbers.total()],
            slots: Vec::new(),
            cables: Vec::new(),
            first_link: Vec::new(),
            first: Vec::new(),
            squares: Vec::new(),
            turns: 0,
            tables: Vec::new(),
            plain: Vec::new(),
            numbers,
        };
        for switch in topology.switch_ixs() {
            channels.add_slots(topology, switch);
        }
        // Only now: a link needs the slots of its far switch.
        for switch in topology.switch_ixs() {
            channels.add_links(topology, switch);
        }
        channels.add_tables(topology, routes);
        channels.add_turns();
        channels
    }

    /// How many turns there are, from a cable into a cable.
    pub(super) const fn turns(&self) -> usize {
        self.turns
    }

    /// The link by which a switch leaves through a port; `NO_LINK` when none does.
    pub(super) fn link(&self, switch: SwitchIx, port: u8) -> u32 {
        self.link_of[self.numbers.number(switch, port)]
    }

    /// The link that a forwarding entry of a switch leads to; `NO_LINK` when to none.
    /// Entries from dumps may name ports that are down.
    pub(super) fn next_link(&self, switch: SwitchIx, entry: u8) -> u32 {
        if self.cabled(switch).contains(&entry) {
            self.link(switch, entry)
        } else {
            NO_LINK
        }
    }

    /// Numbers of the links that leave a switch, by slot.
    #[inline]
    pub(super) fn links_from(&self, switch: SwitchIx) -> Range<u32> {
        let first = self.first_link[switch.index()];
        first..first + u32::from(self.cables[switch.index()])
    }

    /// How many switches there are.
    pub(super) const fn switches(&self) -> usize {
        self.cables.len()
    }

    /// The far switches of its cables, by slot.
    pub(super) fn neighbours(&self, switch: SwitchIx) -> impl Iterator<Item = SwitchIx> + '_ {
        let links = self.links_from(switch);
        links.map(|link| self.links[link as usize].to)
    }

    /// The slot of a port in use.
    pub(super) fn slot(&self, switch: SwitchIx, port: u8) -> u8 {
        self.slot_of[self.numbers.number(switch, port)]
    }

    /// Ports in use, by slot.
    pub(super) fn slots(&self, switch: SwitchIx) -> &[u8] {
        &self.slots[switch.index()]
    }

    /// Ports with a cable to a switch, by slot.
    pub(super) fn cabled(&self, switch: SwitchIx) -> &[u8] {
        &self.slots(switch)[..usize::from(self.cables[switch.index()])]
    }

    /// Number of the table of a switch from a slot to the slot of a cable to a switch.
    pub(super) fn table(&self, switch: SwitchIx, input: u8, output: u8) -> u32 {
        let width = usize::from(self.cables[switch.index()]);
        let place = usize::from(input) * width + usize::from(output);
        // Without squares there is one table, number 0.
        let table = self.squares.get(self.first[switch.index()] + place);
        table.copied().unwrap_or(0)
    }

    /// The table of a number, by VL.
    pub(super) fn mapping(&self, table: u32) -> &Mapping {
        &self.tables[table as usize]
    }

    /// The table of a number.
    pub(super) fn plain(&self, table: u32) -> SlToVl {
        self.plain[table as usize]
    }

    /// How many ports a switch has, port 0 included.
    pub(super) fn ports(&self, switch: SwitchIx) -> usize {
        let next = SwitchIx(switch.0 + 1);
        self.numbers.number(next, 0) - self.numbers.number(switch, 0)
    }

    /// How many different tables there are.
    pub(super) const fn tables(&self) -> usize {
        self.tables.len()
    }

    /// Numbers the ports of a switch: cables to switches first, as only those make channels.
    fn add_slots(&mut self, topology: &Topology, switch: SwitchIx) {
        let mut used: Vec<u8> = topology.cables(switch).map(|(port, ..)| port).collect();
        self.cables
            .push(u8::try_from(used.len()).unwrap_or(u8::MAX));
        let ports = (0..=u8::MAX).zip(&topology.switch(switch).ports);
        let others = ports.filter(|(number, port)| *number == 0 || port.peer != Peer::Nothing);
        for (port, _) in others {
            if !used.contains(&port) {
                used.push(port);
            }
        }
        for (slot, port) in (0..).zip(&used) {
            self.slot_of[self.numbers.number(switch, *port)] = slot;
        }
        self.slots.push(used);
    }

    /// Numbers the cables that leave a switch. Shape: all slots are known.
    fn add_links(&mut self, topology: &Topology, switch: SwitchIx) {
        self.first_link.push(count32(self.links.len()));
        for (port, to, far_port) in topology.cables(switch) {
            self.link_of[self.numbers.number(switch, port)] = count32(self.links.len());
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

    /// Numbers SL2VL tables in the order in which they turn up.
    fn add_tables(&mut self, topology: &Topology, routes: &Routes) {
        let mut known: FxHashMap<SlToVl, u32> = FxHashMap::default();
        // Neighbours in the square mostly have the same.
        let mut last = None;
        // Squares are only made from the second table on.
        let mut places = 0;
        for switch in topology.switch_ixs() {
            self.first.push(places);
            let outputs = &self.slots[switch.index()][..usize::from(self.cables[switch.index()])];
            for input in &self.slots[switch.index()] {
                for output in outputs {
                    let table = routes.sl2vl(switch, *input, *output);
                    let number = match last {
                        Some((same, number)) if same == table => number,
                        _ => *known.entry(table).or_insert_with(|| {
                            self.tables.push(Mapping::new(table));
                            self.plain.push(table);
                            count32(self.tables.len() - 1)
                        }),
                    };
                    last = Some((table, number));
                    // The first table needs no squares; filled up with zeros as soon as there is a
                    // second.
                    if number > 0 {
                        self.squares.resize(places, 0);
                        self.squares.push(number);
                    }
                    places += 1;
                }
            }
        }
    }

    /// Numbers the turns from each cable into the cables behind it.
    fn add_turns(&mut self) {
        for link in &mut self.links {
            link.turns = count32(self.turns);
            self.turns += usize::from(self.cables[link.to.index()]);
        }
    }
}
