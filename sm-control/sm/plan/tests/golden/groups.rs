//! Groups of a recording: who joined, and what OpenSM's multicast tables were then (`groups.txt` of `g14-mcast`).
//!
//! Beside equality with OpenSM: while tables change no packet of a group runs in a circle, whatever Sets are done so far; what
//! nobody wants is cleared; and a table that is not acknowledged is known to be missing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fabric_simulator::{Effect, Rule, Simulator, Timing};
use sa_compiler::state::FabricState;
use sa_fabric::formats::net;
use sa_fabric::{Fabric, NodeIx, PortRef};
use sa_sm::executor::{Counts, Limits};
use sa_sm::model::Subnet;
use sa_sm::sweep::{Sweep, Swept};
use sa_sm::writing::Wanted;
use sa_wire::mad::{Status, method};
use sa_wire::smp::attribute;
use sa_wire::{Guid, Mlid, NodeType, SlVlMask};
use sm_plan::{Memberships, Multicast, Planner};

use crate::sweeps::{cases, next_moment, planned};
use sm_recordings::{guid, read};

/// Where the recorded SM ran.
const SM: u64 = 0x10_0000;
const ADDED: u16 = 0xc040;

/// A subnet with its SM.
struct Bed {
    fabric: Fabric,
    simulator: Simulator,
    sm: PortRef,
    planner: Planner,
    swept: Swept,
    parts: Option<FabricState>,
    members: BTreeMap<Mlid, BTreeSet<Guid>>,
    _folder: tempfile::TempDir,
}

/// Output ports by switch and MLID.
type Tables = BTreeMap<(Guid, u16), BTreeSet<u8>>;

impl Bed {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let fabric = net::parse(read("g14-mcast", "net").as_bytes()).unwrap();
        let plain = cases().into_iter().find(|case| case.name == "g03-ftree");
        let sm = place(&fabric, SM, 1);
        Self {
            simulator: Simulator::new(&fabric, Timing::NONE),
            fabric,
            sm,
            planner: plain.unwrap().planner(folder.path()),
            swept: Swept::default(),
            parts: None,
            members: BTreeMap::new(),
            _folder: folder,
        }
    }

    fn groups(&self) -> Memberships {
        let all = self.members.iter().filter(|(_, ports)| !ports.is_empty());
        let sl_0 = SlVlMask(1);
        all.map(|(mlid, ports)| (*mlid, (sl_0, ports.iter().copied().collect())))
            .collect()
    }

    fn sweep(&mut self) -> Counts {
        let groups = Some(Arc::new(self.groups()));
        let planner = core::mem::replace(&mut self.planner, spare());
        self.planner = planner.with_groups(groups);
        let before = core::mem::take(&mut self.swept);
        let (swept, counts, plan) =
            planned(&mut self.simulator, self.sm, before, &mut self.planner);
        self.swept = swept;
        self.parts = Some(plan.compiled.parts);
        counts
    }

    /// Both rounds; `done` sees what the subnet acknowledged after each answer.
    fn follow(&mut self, mut done: impl FnMut(&Subnet)) -> u64 {
        let wanted = self.wanted();
        let mut sets = 0;
        if wanted.is_losing() {
            let tables = wanted.first(&self.swept.subnet);
            let first = Wanted {
                tables,
                ..Wanted::default()
            };
            sets += self.write(&first, &mut done);
        }
        let last = wanted.last(&self.swept.subnet, self.parts.as_ref().unwrap());
        sets + self.write(&last, &mut done)
    }

    fn wanted(&self) -> Multicast {
        let parts = self.parts.as_ref().unwrap();
        Multicast::new(&self.swept.subnet, parts, &self.groups())
    }

    fn write(&mut self, wanted: &Wanted, done: &mut impl FnMut(&Subnet)) -> u64 {
        let before = core::mem::take(&mut self.swept);
        let limits = Limits {
            retries: 0,
            ..Limits::default()
        };
        let mut sweep = Sweep::of_tables(limits, 1 << 20, before, Arc::new(wanted.clone()));
        let mut now = self.simulator.free_at();
        while !sweep.is_over() {
            while let Some(bytes) = sweep.send(now) {
                self.simulator.post(self.sm, 0xffff, &bytes, now);
            }
            match self.simulator.next(now) {
                Some((_, _, bytes)) => {
                    sweep.received(&bytes, now);
                    done(sweep.subnet());
                }
                None => {
                    now = next_moment(now, &self.simulator, sweep.wakes_at());
                    sweep.wake(now);
                }
            }
        }
        let sets = sweep.progress().counts.sets;
        self.swept = sweep.finish();
        sets
    }

    /// A line of the recording. True where the subnet itself changed.
    fn change(&mut self, line: &str) -> bool {
        let words: Vec<&str> = line.split(' ').collect();
        let at = |word: &str| {
            let (node, port) = word.split_once('/').unwrap();
            place(&self.fabric, guid(node).get(), port.parse().unwrap())
        };
        match words[..] {
            ["join", group, port] => {
                self.members
                    .entry(mlid(group))
                    .or_default()
                    .insert(guid(port));
            }
            ["leave", group, port] => {
                self.members
                    .get_mut(&mlid(group))
                    .unwrap()
                    .remove(&guid(port));
            }
            ["unplug", one] => self.simulator.unplug(at(one)),
            ["plug", one, other] => self.simulator.plug(at(one), at(other)),
            _ => panic!("{line}"),
        }
        words[0].ends_with("plug")
    }
}

/// In the place of one that is in use.
fn spare() -> Planner {
    Planner::new(
        sa_compiler::pipeline::Inputs::default(),
        sa_fabric::options::ManagerOptions::default(),
        sa_sm::lids::Remembered::default(),
    )
}

fn place(fabric: &Fabric, guid: u64, port: u8) -> PortRef {
    let mut nodes = fabric.nodes().iter();
    let node = nodes.position(|node| node.guid.get() == guid).unwrap();
    PortRef {
        node: NodeIx::nth(node),
        port,
    }
}

fn mlid(text: &str) -> Mlid {
    let digits = text.strip_prefix("0x").unwrap();
    Mlid::new(u16::from_str_radix(digits, 16).unwrap()).unwrap()
}

/// As the recording has them: `mft GUID MLID PORT,PORT,..`.
fn recorded<'a>(lines: impl Iterator<Item = &'a str>) -> Tables {
    let tables = lines.map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let ports = words[3].split(',').map(|port| port.parse().unwrap());
        ((guid(words[1]), mlid(words[2]).get()), ports.collect())
    });
    tables.collect()
}

/// What switches acknowledged.
fn held(subnet: &Subnet) -> Tables {
    let mut tables = Tables::new();
    for node in subnet.nodes() {
        let blocks = node.tables.blocks();
        for (block, data) in
            blocks.filter(|(block, _)| block.attribute == attribute::MULTICAST_TABLE)
        {
            let first_port = (block.modifier >> 28) * 16;
            for (nth, mask) in (0..).zip(data.chunks(2)) {
                let mask = u16::from_be_bytes([mask[0], mask[1]]);
                let mlid = 0xc000 + u16::try_from(block.modifier & 0x1ff).unwrap() * 32 + nth;
                let bits = (0..16).filter(|bit| mask >> bit & 1 == 1);
                let ports: BTreeSet<u8> = bits
                    .map(|bit| u8::try_from(first_port + bit).unwrap())
                    .collect();
                if !ports.is_empty() {
                    tables.entry((node.guid(), mlid)).or_default().extend(ports);
                }
            }
        }
    }
    tables
}

/// Packets that come in by any port of a group's table: none meets a switch twice.
fn assert_no_circle(subnet: &Subnet) {
    let tables = held(subnet);
    for ((start, mlid), ports) in &tables {
        for input in ports {
            let mut met = BTreeSet::new();
            let mut under_way = vec![(*start, *input)];
            while let Some((switch, input)) = under_way.pop() {
                assert!(met.insert(switch), "{mlid:#x} runs round at {switch}");
                let node = subnet.by_guid(switch).unwrap();
                let out = tables.get(&(switch, *mlid)).into_iter().flatten();
                for port in out.copied().filter(|port| *port != input) {
                    let Some(far) = subnet.peer(PortRef { node, port }) else {
                        continue;
                    };
                    let far_node = subnet.node(far.node).unwrap();
                    if far_node.is_switch() {
                        under_way.push((far_node.guid(), far.port));
                    }
                }
            }
        }
    }
}

#[test]
fn tables_follow_members_and_cables_as_opensms_do() {
    let mut bed = Bed::new();
    bed.sweep();
    let steps = read("g14-mcast", "groups.txt");
    for step in steps.split("step ").filter(|step| !step.is_empty()) {
        let mut lines = step.lines().filter(|line| !line.is_empty());
        let name = lines.next().unwrap();
        let (tables, changes): (Vec<&str>, Vec<&str>) =
            lines.partition(|line| line.starts_with("mft "));
        let mut is_swept = false;
        for change in changes {
            is_swept |= bed.change(change);
        }
        if is_swept {
            bed.sweep();
        }
        bed.follow(assert_no_circle);
        assert_no_circle(&bed.swept.subnet);
        assert_eq!(
            held(&bed.swept.subnet),
            recorded(tables.into_iter()),
            "{name}"
        );
        assert!(
            bed.wanted().not_held(&bed.swept.subnet).is_empty(),
            "{name}"
        );
        assert_eq!(bed.follow(|_| ()), 0, "{name}: nothing is left to write");
        assert_eq!(bed.sweep().sets, 0, "{name}: nor for a sweep");
    }
}

#[test]
fn what_an_earlier_sm_left_goes_and_what_is_not_known_yet_stays() {
    let mut bed = Bed::new();
    bed.sweep();
    for line in [
        "join 0xc000 0x100001",
        "join 0xc000 0x100111",
        "join 0xc040 0x100321",
        "join 0xc040 0x100011",
    ] {
        bed.change(line);
    }
    bed.follow(|_| ());
    let before = held(&bed.swept.subnet);
    assert!(before.keys().any(|(_, mlid)| *mlid == ADDED));
    // A new process does not know the members before clients' state is read: tables stay.
    let planner = core::mem::replace(&mut bed.planner, spare());
    bed.planner = planner.with_groups(None);
    let swept = core::mem::take(&mut bed.swept);
    let (swept, counts, _) = planned(&mut bed.simulator, bed.sm, swept, &mut bed.planner);
    assert_eq!((held(&swept.subnet), counts.sets), (before.clone(), 0));
    bed.swept = swept;
    // Nobody is left in one of the groups.
    bed.members.remove(&Mlid::new(ADDED).unwrap());
    bed.follow(assert_no_circle);
    let mut after = before;
    after.retain(|(_, mlid), _| *mlid != ADDED);
    assert_eq!(held(&bed.swept.subnet), after);
}

#[test]
fn a_switch_that_does_not_answer_is_known_and_written_again() {
    let mut bed = Bed::new();
    bed.sweep();
    let spine = Guid::new(0x20_0000).unwrap();
    bed.simulator.add_rule(Rule {
        node: Some(spine),
        attribute: Some(attribute::MULTICAST_TABLE),
        count: 1,
        ..Rule::always(Effect::Lost)
    });
    bed.change("join 0xc000 0x100001");
    bed.change("join 0xc000 0x100111");
    assert!(bed.follow(|_| ()) > 0);
    let missing = bed.wanted().not_held(&bed.swept.subnet);
    assert_eq!(missing, BTreeMap::from([(spine, 1)]));
    assert_eq!(bed.follow(|_| ()), 1, "that block alone");
    assert!(bed.wanted().not_held(&bed.swept.subnet).is_empty());
    // A switch that forgets its tables gets them with the next sweep.
    bed.simulator
        .reboot(place(&bed.fabric, spine.get(), 0).node);
    bed.sweep();
    bed.follow(assert_no_circle);
    assert_eq!(
        held(&bed.swept.subnet)[&(spine, 0xc000)],
        BTreeSet::from([1, 2])
    );
}

/// By what devices hold: the first group in which a packet of a host meets a switch twice.
fn circle(bed: &Bed) -> Option<u16> {
    let simulator = &bed.simulator;
    let is_switch = |node: NodeIx| bed.fabric.node(node).kind == NodeType::Switch;
    let nodes = (0..).map(NodeIx).zip(bed.fabric.nodes());
    let hosts = nodes.filter(|(_, node)| node.kind != NodeType::Switch);
    let hosts: Vec<_> = hosts.map(|(node, _)| PortRef { node, port: 1 }).collect();
    let mut mlids = bed.members.keys().map(|mlid| mlid.get() - 0xc000);
    mlids.find(|mlid| {
        hosts.iter().any(|host| {
            let mut met = BTreeSet::new();
            let mut under_way: Vec<_> = simulator.active_peer(*host).into_iter().collect();
            while let Some(input) = under_way.pop() {
                if !is_switch(input.node) {
                    continue;
                }
                if !met.insert(input.node) {
                    return true;
                }
                let ports = simulator.group_ports(input.node, *mlid).into_iter();
                let others = ports.filter(|port| *port != input.port);
                let fars =
                    others.filter_map(|port| simulator.active_peer(PortRef { port, ..input }));
                under_way.extend(fars);
            }
            false
        })
    })
}

/// A group of one host of each leaf; then a switch takes no table any more, and a link of the tree fails.
fn with_a_stale_port(effect: Effect, switch: Guid, cut: PortRef) -> Bed {
    let mut bed = Bed::new();
    bed.sweep();
    for host in ["0x100001", "0x100111", "0x100321", "0x100011"] {
        bed.change(&format!("join 0xc000 {host}"));
    }
    bed.follow(|_| ());
    bed.simulator.add_rule(Rule {
        node: Some(switch),
        attribute: Some(attribute::MULTICAST_TABLE),
        method: Some(method::SET),
        ..Rule::always(effect)
    });
    bed.simulator.unplug(cut);
    bed.sweep();
    bed.follow(|_| ());
    bed
}

#[test]
fn a_switch_that_keeps_an_old_port_closes_no_circle() {
    let bed = Bed::new();
    let nodes = (0..).map(NodeIx).zip(bed.fabric.nodes());
    let switches = nodes.filter(|(_, node)| node.kind == NodeType::Switch);
    let switches: Vec<_> = switches
        .map(|(at, node)| (at, node.guid, node.ports.len()))
        .collect();
    let is_trunk = |at: &PortRef| {
        let far = bed.simulator.peer(*at);
        far.is_some_and(|far| bed.fabric.node(far.node).kind == NodeType::Switch)
    };
    let mut waits = 0;
    for effect in [Effect::Status(Status::INVALID_FIELD), Effect::Lost] {
        for (_, switch, _) in &switches {
            for (node, _, ports) in &switches {
                let ports =
                    (1..=u8::try_from(*ports).unwrap()).map(|port| PortRef { node: *node, port });
                for cut in ports.filter(is_trunk) {
                    let mut bed = with_a_stale_port(effect, *switch, cut);
                    assert_eq!(
                        circle(&bed),
                        None,
                        "{effect:?} at {switch}, without {cut:?}"
                    );
                    waits += usize::from(!bed.wanted().not_held(&bed.swept.subnet).is_empty());
                    bed.simulator.clear_rules();
                    bed.swept.memory.try_again();
                    bed.sweep();
                    bed.follow(|_| ());
                    assert_eq!(
                        circle(&bed),
                        None,
                        "{effect:?} at {switch}, without {cut:?}"
                    );
                    let missing = bed.wanted().not_held(&bed.swept.subnet);
                    assert!(
                        missing.is_empty(),
                        "{effect:?} at {switch}, without {cut:?}: {missing:?}, {:?}",
                        held(&bed.swept.subnet)
                    );
                }
            }
        }
    }
    assert!(waits > 0, "no switch had anything to keep");
}
