//! Credit loops at each moment of a change, by following every packet from host to host.
//!
//! A packet on a cable came there by the tables of one moment, and waits for what they say now. So each is followed over some hops by the
//! tables of the moment before, and from there by those of now; the channels that it holds and waits for on its way are what may wait for each
//! other.

use std::collections::{BTreeMap, BTreeSet};

use fabric_simulator::Simulator;
use sa_fabric::{NodeIx, PortRef};
use sa_wire::{Lid, Sl};

use crate::walker::Walker;

/// Tables of one moment. SL2VL tables come with it.
pub(crate) struct Moment {
    /// By switch and LID.
    entries: BTreeMap<NodeIx, Vec<Option<u8>>>,
    sl_to_vl: BTreeMap<(NodeIx, u8, u8), [u8; 8]>,
}

/// A port and a VL.
type Channel = (PortRef, u8);

/// The SL of a path by what answered before the change.
pub(crate) type SlOf<'a> = &'a dyn Fn(Lid, Lid) -> Sl;

impl Moment {
    pub(crate) fn new(walker: &Walker, simulator: &Simulator) -> Self {
        let lids = 0..u16::try_from(walker.owners().len()).unwrap();
        let row = |switch: &NodeIx| {
            lids.clone()
                .map(|lid| simulator.entry(*switch, lid))
                .collect()
        };
        let switches = walker.switches().iter();
        let mut sl_to_vl = BTreeMap::new();
        for switch in walker.switches() {
            let ports = (0..=u8::MAX).filter(|port| {
                let at = PortRef {
                    node: *switch,
                    port: *port,
                };
                *port == 0 || simulator.peer(at).is_some()
            });
            let ports: Vec<u8> = ports.collect();
            for (input, output) in ports
                .iter()
                .flat_map(|input| ports.iter().map(move |output| (*input, *output)))
            {
                let table = simulator.sl_to_vl(*switch, input, output).unwrap();
                sl_to_vl.insert((*switch, input, output), table);
            }
        }
        Self {
            entries: switches.map(|switch| (*switch, row(switch))).collect(),
            sl_to_vl,
        }
    }

    fn vl(&self, switch: NodeIx, input: u8, output: u8, sl: u8) -> u8 {
        let table = self.sl_to_vl[&(switch, input, output)];
        let pair = table[usize::from(sl / 2)];
        if sl.is_multiple_of(2) {
            pair >> 4
        } else {
            pair & 0xf
        }
    }
}

/// What packets wait for that may be under way.
pub(crate) type Waits = BTreeMap<Channel, BTreeSet<Channel>>;

/// Whether packets could wait for each other for ever, with tables of the moment before and of now. `waits`: what those of
/// earlier moments wait for, to which those of now are added.
pub(crate) fn has_loop(
    walker: &Walker,
    simulator: &Simulator,
    [before, now]: [&Moment; 2],
    sl_of: SlOf<'_>,
    waits: &mut Waits,
) -> bool {
    let hosts = walker
        .owners()
        .iter()
        .enumerate()
        .filter_map(|(lid, at)| Some((lid, (*at)?)));
    let hosts: Vec<(usize, PortRef)> = hosts.filter(|(_, at)| at.port != 0).collect();
    for (source, from) in &hosts {
        let Some(first) = simulator.active_peer(*from) else {
            continue;
        };
        for (lid, _) in hosts.iter().filter(|(lid, _)| lid != source) {
            let [slid, dlid] =
                [*source, *lid].map(|lid| Lid::new(u16::try_from(lid).unwrap()).unwrap());
            let sl = sl_of(slid, dlid).get();
            for hops in 0.. {
                let way = follow(walker, simulator, [before, now], first, *lid, sl, hops);
                for pair in way.windows(2) {
                    waits.entry(pair[0]).or_default().insert(pair[1]);
                }
                if way.len() <= hops {
                    break;
                }
            }
        }
    }
    has_cycle(waits)
}

/// Channels of a packet that takes so many hops by the tables of before. It ends where it is delivered or lost, or was at every switch.
fn follow(
    walker: &Walker,
    simulator: &Simulator,
    [before, now]: [&Moment; 2],
    first: PortRef,
    lid: usize,
    sl: u8,
    hops: usize,
) -> Vec<Channel> {
    let (mut at, mut way) = (first, Vec::new());
    while way.len() <= walker.switches().len() {
        let moment = if way.len() < hops { before } else { now };
        let Some(out) = moment.entries[&at.node][lid] else {
            break;
        };
        let port = PortRef { port: out, ..at };
        let Some(far) = simulator
            .active_peer(port)
            .filter(|far| walker.switches().contains(&far.node))
        else {
            break;
        };
        let vl = moment.vl(at.node, at.port, out, sl);
        if vl == 15 {
            break;
        }
        way.push((port, vl));
        at = far;
    }
    way
}

/// Takes away what waits for nothing, until nothing is left or all that is left waits.
fn has_cycle(waits: &Waits) -> bool {
    let mut left: BTreeMap<Channel, usize> = BTreeMap::new();
    let mut backs: BTreeMap<Channel, Vec<Channel>> = BTreeMap::new();
    for (one, nexts) in waits {
        *left.entry(*one).or_default() += nexts.len();
        for next in nexts {
            left.entry(*next).or_default();
            backs.entry(*next).or_default().push(*one);
        }
    }
    let mut ends: Vec<Channel> = left
        .iter()
        .filter(|(_, waits)| **waits == 0)
        .map(|(at, _)| *at)
        .collect();
    while let Some(end) = ends.pop() {
        left.remove(&end);
        for back in backs.remove(&end).unwrap_or_default() {
            let waits = left.get_mut(&back).unwrap();
            *waits -= 1;
            if *waits == 0 {
                ends.push(back);
            }
        }
    }
    !left.is_empty()
}
