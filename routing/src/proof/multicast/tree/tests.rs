//! Small fabrics, and random ones against packets followed one by one.

use sa_rig::rng::Rng;
use sa_snapshot::model::Capacity;
use sa_wire::{DataVls, Guid, Lid, Lmc, NodeType, Sl, SlToVl};

use super::*;
use crate::topology::{EndPort, Peer, Switch, SwitchPort};

const PORTS: u8 = 6;

/// A switch and its port.
type End = (u32, u8);

/// Switches with a host at port 1 each, and cables between other ports.
fn fabric(switches: u32, cables: &[(End, End)]) -> Topology {
    let capacity = Capacity::UNLIMITED;
    let vls = DataVls::from_code(4).unwrap();
    let sl2vl = SlToVl([0; 16]);
    let end = |ix: u32, node_type, port_number, attached| EndPort {
        guid: Guid::new(u64::from(ix) + 1).unwrap(),
        node_guid: Guid::new(u64::from(ix) + 1).unwrap(),
        node_type,
        description: String::new(),
        port_number,
        lid: Lid::new(u16::try_from(ix).unwrap() + 1).unwrap(),
        lmc: Lmc::default(),
        attached: Some(attached),
        peer: None,
        capacity,
        data_vls: vls,
        operational_vls: vls,
        configured_sl2vl: sl2vl,
    };
    let port = |peer| SwitchPort {
        peer,
        capacity,
        data_vls: vls,
        operational_vls: vls,
        configured_sl2vl: sl2vl,
    };
    let mut topology = Topology::default();
    for ix in 0..switches {
        let here = SwitchIx(ix);
        topology.end_ports.extend([
            end(2 * ix, NodeType::Switch, 0, (here, 0)),
            end(2 * ix + 1, NodeType::Ca, 1, (here, 1)),
        ]);
        let mut ports = vec![port(Peer::Nothing); usize::from(PORTS) + 1];
        ports[1].peer = Peer::EndPort(EndPortIx(2 * ix + 1));
        topology.switches.push(Switch {
            guid: Guid::new(u64::from(2 * ix) + 1).unwrap(),
            description: String::new(),
            port0: EndPortIx(2 * ix),
            ports,
        });
    }
    for (one, other) in cables {
        for ((here, port), (there, far)) in [(one, other), (other, one)] {
            let switch = SwitchIx(*there);
            let cable = Peer::Switch { switch, port: *far };
            topology.switches[*here as usize].ports[usize::from(*port)].peer = cable;
        }
    }
    topology
}

fn group(tables: &[(u32, &[u8])]) -> MulticastRoute {
    let tables = tables.iter();
    let switches =
        tables.map(|(switch, ports)| (SwitchIx(*switch), ports.iter().copied().collect()));
    MulticastRoute {
        sl: Sl::default(),
        switches: switches.collect(),
    }
}

const HOSTS: [EndPortIx; 3] = [EndPortIx(1), EndPortIx(3), EndPortIx(5)];
const TRIANGLE: [(End, End); 3] = [((0, 2), (1, 3)), ((1, 2), (2, 3)), ((2, 2), (0, 3))];

#[test]
fn a_tree_reaches_its_members() {
    let topology = fabric(3, &TRIANGLE);
    let tree = group(&[(0, &[1, 2]), (1, &[1, 2, 3]), (2, &[1, 3])]);
    let followed = tree.follow(&topology, &HOSTS, 9);
    assert_eq!(
        followed,
        Followed {
            pairs: 6,
            ..Followed::default()
        }
    );
    // A member that no table delivers to hears nobody, but is heard.
    let deaf = group(&[(0, &[1, 2]), (1, &[2, 3]), (2, &[1, 3])]);
    let followed = deaf.follow(&topology, &HOSTS, 1);
    assert_eq!(
        (followed.unreached, followed.listed),
        (2, vec![(HOSTS[0], HOSTS[1])])
    );
}

#[test]
fn a_cycle_is_found() {
    let topology = fabric(3, &TRIANGLE);
    let ring = group(&[(0, &[1, 2, 3]), (1, &[2, 3]), (2, &[2, 3])]);
    let followed = ring.follow(&topology, &HOSTS[..1], 9);
    assert_eq!(followed.cycle.len(), 3);
    let parallel = fabric(2, &[((0, 2), (1, 2)), ((0, 3), (1, 3))]);
    let both = group(&[(0, &[1, 2, 3]), (1, &[1, 2, 3])]);
    assert_eq!(both.follow(&parallel, &[], 0).cycle.len(), 2);
}

#[test]
fn two_ways_without_a_cycle_are_found() {
    let topology = fabric(3, &TRIANGLE);
    // From 0 to 2 directly and over 1; 2 sends nothing on.
    let twice = group(&[(0, &[1, 2, 3]), (1, &[2]), (2, &[1])]);
    let followed = twice.follow(&topology, &[HOSTS[0], HOSTS[2]], 9);
    assert_eq!((followed.cycle.len(), followed.unreached), (0, 1));
    assert_eq!(followed.twice, BTreeSet::from([SwitchIx(2)]));
}

/// Random tables on random cables against packets followed one by one.
#[test]
fn following_agrees_with_single_packets() {
    let mut rng = Rng::new(7);
    let (mut cycles, mut twice, mut lost) = (0, 0, 0);
    for _ in 0..3000 {
        let switches = 2 + rng.below(4);
        let mut cables = Vec::new();
        let mut next = vec![2_u8; switches as usize];
        for _ in 0..1 + rng.below(6) {
            let ends = [0; 2].map(|_: u8| rng.below(switches));
            let [one, other] = ends.map(|it| it as usize);
            if one != other && next[one] <= PORTS && next[other] <= PORTS {
                cables.push(((ends[0], next[one]), (ends[1], next[other])));
                next[one] += 1;
                next[other] += 1;
            }
        }
        let topology = fabric(switches, &cables);
        let tables: Vec<(SwitchIx, PortSet)> = (0..switches)
            .map(|ix| {
                (
                    SwitchIx(ix),
                    (0..=PORTS).filter(|_| !rng.one_in(3)).collect(),
                )
            })
            .collect();
        let group = MulticastRoute {
            sl: Sl::default(),
            switches: tables,
        };
        let members: Vec<EndPortIx> = topology.end_port_ixs().filter(|_| rng.one_in(2)).collect();
        let followed = group.follow(&topology, &members, usize::MAX);
        let slow = Slow {
            topology: &topology,
            group: &group,
        };
        assert_eq!(!followed.cycle.is_empty(), slow.has_cycle());
        let unreached = slow.unreached(&members);
        assert_eq!(followed.unreached, unreached.len() as u64);
        assert_eq!(followed.listed, unreached);
        cycles += usize::from(!followed.cycle.is_empty());
        twice += usize::from(!followed.twice.is_empty());
        lost += usize::from(followed.unreached > 0);
    }
    assert!(
        cycles > 100 && twice > 10 && lost > 100,
        "{cycles} {twice} {lost}"
    );
}

struct Slow<'a> {
    topology: &'a Topology,
    group: &'a MulticastRoute,
}

impl Slow<'_> {
    /// Where a packet that came in by a port goes next.
    fn next(&self, (switch, input): (SwitchIx, u8)) -> Vec<(SwitchIx, u8)> {
        let ports = self.group.switches[switch.index()].1;
        let outputs = ports.iter().filter(|output| *output != input);
        let far = outputs.filter_map(|output| match self.topology.peer(switch, output) {
            Peer::Switch { switch, port } => Some((switch, port)),
            _ => None,
        });
        far.collect()
    }

    /// Every place that a packet comes to.
    fn places(&self, start: (SwitchIx, u8)) -> Vec<(SwitchIx, u8)> {
        let mut seen = self.next(start);
        let mut done = 0;
        while let Some(place) = seen.get(done).copied() {
            done += 1;
            for next in self.next(place) {
                if !seen.contains(&next) {
                    seen.push(next);
                }
            }
        }
        seen
    }

    fn has_cycle(&self) -> bool {
        let cables = self
            .topology
            .switch_ixs()
            .flat_map(|switch| self.topology.cables(switch));
        let mut arrivals = cables.map(|(_, far, port)| (far, port));
        arrivals.any(|place| self.places(place).contains(&place))
    }

    fn unreached(&self, members: &[EndPortIx]) -> Vec<(EndPortIx, EndPortIx)> {
        let pairs = members
            .iter()
            .flat_map(|from| members.iter().map(move |to| (*from, *to)));
        let is_lost = |(from, to): &(EndPortIx, EndPortIx)| {
            let [start, end] = [from, to].map(|it| self.topology.end_port(*it).attached.unwrap());
            let delivers = self.group.switches[end.0.index()].1.contains(end.1);
            let arrives = end.0 == start.0
                || self
                    .places(start)
                    .iter()
                    .any(|(switch, _)| *switch == end.0);
            from != to && !(delivers && arrives)
        };
        pairs.filter(is_lost).collect()
    }
}
