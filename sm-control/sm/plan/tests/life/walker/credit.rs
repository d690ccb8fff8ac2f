//! Which packets can be on the wire, and what they may wait for.
//!
//! A packet waits where the tables of some moment have brought it, and goes on by those of a later one. So all places where packets can be
//! are kept: from each host to each LID that the SA tells it, with the SL that it tells, and from each such place on by the tables of
//! now. Whenever a table changes the places are followed anew, and none is forgotten before the packets have arrived: when a sweep
//! begins, and as far as they must have come by now. A packet at a place holds the buffer of its channel (a link and a VL) and waits for the next one.
//! What was waited for at any of these moments counts: a circle of it is a credit loop.
//!
//! Packets of groups are copied: each waits for all ports of its group but the one that it came by. A LID from 0xc000 on is an MLID.

use std::collections::{BTreeMap, HashMap, HashSet};

use fabric_simulator::Simulator;
use sa_fabric::{NodeIx, PortRef};

use super::groups;
use super::hops::{Hop, Hops};

/// A packet at the input of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Packet {
    pub(crate) at: PortRef,
    /// By which it came; [`FROM_HOST`] of its first link, for which nobody waits behind it.
    pub(crate) vl: u8,
    pub(crate) lid: u16,
    pub(crate) sl: u8,
}

pub(crate) const FROM_HOST: u8 = 0xff;

/// LIDs of groups begin here.
pub(crate) const FIRST_MLID: u16 = 0xc000;

/// A link, by the port that receives, and a VL.
type Channel = (PortRef, u8);

/// Who waits for whom.
type Waits = BTreeMap<Channel, BTreeMap<Channel, u16>>;

#[derive(Debug, Default)]
pub(crate) struct Credit {
    packets: HashSet<Packet>,
    by_place: HashMap<(NodeIx, u16), Vec<Packet>>,
    /// With the LID of a packet that does.
    waits: Waits,
    is_new: bool,
    /// Packets for which a table says that their SL has no VL, with the output port.
    pub(crate) dropped: Vec<(Packet, u8)>,
}

impl Credit {
    /// Packets come here, and go on by the tables of now.
    pub(crate) fn follow(&mut self, hops: &Hops, simulator: &Simulator, from: Vec<Packet>) {
        let mut open = from;
        while let Some(packet) = open.pop() {
            if self.packets.insert(packet) {
                let place = (packet.at.node, packet.lid);
                self.by_place.entry(place).or_default().push(packet);
                open.extend(self.step(hops, simulator, packet));
            }
        }
    }

    /// The entry of a LID has changed.
    pub(crate) fn again(&mut self, hops: &Hops, simulator: &Simulator, node: NodeIx, lid: u16) {
        let packets = self.by_place.get(&(node, lid)).cloned();
        self.go_on(hops, simulator, packets.unwrap_or_default());
    }

    /// SL2VL of a switch has changed.
    pub(crate) fn again_at(&mut self, hops: &Hops, simulator: &Simulator, node: NodeIx) {
        let places = self.by_place.iter();
        let here = places.filter(|((at, _), _)| *at == node);
        let packets = here.flat_map(|(_, packets)| packets).copied().collect();
        self.go_on(hops, simulator, packets);
    }

    /// Where its packets are that are not gone, when each has passed so many switches more.
    pub(crate) fn after(self, hops: &Hops, simulator: &Simulator, switches: u128) -> Vec<Packet> {
        let mut left = self.packets;
        // More than there are places: a circle, which is told elsewhere.
        for _ in 0..switches.min(1 << 10) {
            let steps = left.into_iter();
            left = steps
                .flat_map(|packet| Self::nexts(hops, simulator, packet))
                .filter_map(Result::ok)
                .collect();
            if left.is_empty() {
                break;
            }
        }
        left.into_iter().collect()
    }

    fn go_on(&mut self, hops: &Hops, simulator: &Simulator, packets: Vec<Packet>) {
        let next = packets.into_iter();
        let next: Vec<Packet> = next
            .flat_map(|packet| self.step(hops, simulator, packet))
            .collect();
        self.follow(hops, simulator, next);
    }

    fn step(&mut self, hops: &Hops, simulator: &Simulator, packet: Packet) -> Vec<Packet> {
        let mut all = Vec::new();
        for next in Self::nexts(hops, simulator, packet) {
            let next = match next {
                Ok(next) => next,
                Err(port) => {
                    self.dropped.push((packet, port));
                    continue;
                }
            };
            if packet.vl != FROM_HOST {
                let waits = self.waits.entry((packet.at, packet.vl)).or_default();
                let before = waits.insert((next.at, next.vl), packet.lid);
                self.is_new |= before.is_none();
            }
            all.push(next);
        }
        all
    }

    /// Where a packet goes. Errors: the port where its SL has no VL.
    fn nexts(hops: &Hops, simulator: &Simulator, packet: Packet) -> Vec<Result<Packet, u8>> {
        let to = |(port, far): (u8, PortRef)| match vl_of(simulator, packet.at, port, packet.sl) {
            NO_VL => Err(port),
            vl => Ok(Packet {
                at: far,
                vl,
                ..packet
            }),
        };
        if packet.lid >= FIRST_MLID {
            let ports = groups::onward(hops, simulator, packet.at, packet.lid - FIRST_MLID);
            return ports.into_iter().map(to).collect();
        }
        match hops.at(packet.at.node, packet.lid) {
            Hop::To(port, far) => vec![to((port, far))],
            Hop::Lost | Hop::Arrives(_) => Vec::new(),
        }
    }

    /// What waits for itself, where anything is new since it was last asked. Shape: each channel with the LID of a packet that waits
    /// there for the next one.
    pub(crate) fn loops(&mut self) -> Option<Vec<(Channel, u16)>> {
        let is_new = core::mem::take(&mut self.is_new);
        is_new.then(|| circle(&self.waits)).flatten()
    }
}

/// The VL of a packet at the output; [`NO_VL`] where it is dropped.
pub(crate) fn vl_of(simulator: &Simulator, at: PortRef, output: u8, sl: u8) -> u8 {
    let table = simulator.sl_to_vl(at.node, at.port, output);
    let pair = table.map_or(0xff, |table| table[usize::from(sl / 2)]);
    let vl = if sl.is_multiple_of(2) {
        pair >> 4
    } else {
        pair & 0xf
    };
    let port = PortRef { port: output, ..at };
    let info = simulator.port_info(port).unwrap_or_default();
    // OperationalVLs: 1 to 5 stand for 1, 2, 4, 8 and 15 data VLs.
    let vls = match info.operational_vls_and_enforcement >> 4 {
        5 => 15,
        code => 1 << code.saturating_sub(1),
    };
    if vl < vls { vl } else { NO_VL }
}

pub(crate) const NO_VL: u8 = 15;

/// Takes away what waits for nothing, until nothing is left or all that is left waits.
fn circle(waits: &Waits) -> Option<Vec<(Channel, u16)>> {
    let mut left: HashMap<Channel, usize> = HashMap::new();
    let mut backs: HashMap<Channel, Vec<Channel>> = HashMap::new();
    for (one, nexts) in waits {
        *left.entry(*one).or_default() += nexts.len();
        for next in nexts.keys() {
            left.entry(*next).or_default();
            backs.entry(*next).or_default().push(*one);
        }
    }
    let ends = left.iter().filter(|(_, count)| **count == 0);
    let mut ends: Vec<Channel> = ends.map(|(at, _)| *at).collect();
    while let Some(end) = ends.pop() {
        left.remove(&end);
        for back in backs.remove(&end).unwrap_or_default() {
            let count = left.get_mut(&back).unwrap();
            *count -= 1;
            if *count == 0 {
                ends.push(back);
            }
        }
    }
    // All that is left waits for something that is left, so who goes on comes to a place again.
    let mut way: Vec<(Channel, u16)> = Vec::new();
    let mut at = *left.keys().min()?;
    loop {
        if let Some(begins) = way.iter().position(|(channel, _)| *channel == at) {
            return Some(way.split_off(begins));
        }
        let mut nexts = waits[&at].iter();
        let (next, lid) = nexts.find(|(next, _)| left.contains_key(next)).unwrap();
        way.push((at, *lid));
        at = *next;
    }
}
