//! Sweeps that read again what may have changed: what each event costs, and that nothing of it is missed.
//!
//! After each event the subnet that is known is compared with one that is found anew.

use std::time::Duration;

use fabric_simulator::{Effect, Rule, Simulator};
use sa_fabric::{Fabric, NodeIx, PortRef};
use sa_sm::discovery::{Scope, Told};
use sa_sm::model::{Finding, Subnet};
use sa_sm::sweep::Swept;
use sa_wire::mad::method;
use sa_wire::notice::{Notice, trap};
use sa_wire::smp::{Smp, attribute};
use sa_wire::{Guid, NodeType};

use crate::golden;
use crate::plan::plan;
use crate::rig::{self, facts};
use crate::sweep::{Ended, sweep_again};

/// A subnet that is up and at rest.
struct Bed {
    simulator: Simulator,
    fabric: Fabric,
    sm: PortRef,
    swept: Swept,
    now: Duration,
}

impl Bed {
    /// Two spines, four leaves, three hosts each.
    fn new() -> Self {
        let (fabric, sm) = golden::fabric("g03-ftree");
        let mut bed = Self {
            simulator: Simulator::new(&fabric, rig::TIMING),
            fabric,
            sm,
            swept: Swept::default(),
            now: Duration::ZERO,
        };
        bed.sweep(&Scope::Whole);
        bed.sweep(&light());
        bed
    }

    fn sweep(&mut self, scope: &Scope) -> Ended {
        let before = core::mem::take(&mut self.swept);
        let mut ended = sweep_again(
            &mut self.simulator,
            (self.sm, self.now),
            (before, scope),
            plan,
        );
        self.now = ended.took;
        self.swept = core::mem::take(&mut ended.swept);
        ended
    }

    /// A link between two switches, of which the first is the one whose way is shorter.
    fn link(&self) -> (PortRef, PortRef) {
        let is_switch = |node: NodeIx| self.fabric.node(node).kind == NodeType::Switch;
        let mut links = self
            .fabric
            .cabled()
            .filter(|(one, other)| is_switch(one.node) && is_switch(other.node));
        links.next().unwrap()
    }

    /// A host that is not the SM's, and its switch port.
    fn host(&self) -> (PortRef, PortRef) {
        let is_host = |at: &PortRef| {
            at.node != self.sm.node && self.fabric.node(at.node).kind == NodeType::Ca
        };
        self.fabric.cabled().find(|(at, _)| is_host(at)).unwrap()
    }

    fn guid(&self, node: NodeIx) -> Guid {
        self.fabric.node(node).guid
    }

    /// Trap 128 of these switches.
    fn told(&self, switches: &[NodeIx]) -> Scope {
        let mut told = Told::default();
        for switch in switches {
            let subnet = &self.swept.subnet;
            let node = subnet
                .node(subnet.by_guid(self.guid(*switch)).unwrap())
                .unwrap();
            let lid = node.port(0).unwrap().info.unwrap().base_lid.get();
            assert!(told.hear(&link_state(lid)));
        }
        Scope::Told(told)
    }

    /// What is known is what a sweep of everything finds.
    fn is_true(&mut self, what: &str) {
        let known = self.swept.subnet.clone();
        let found = rig::discover_from(&mut self.simulator, self.sm, self.now);
        self.now = found.took;
        let found = found.subnet;
        let of = |subnet: &Subnet| -> Vec<String> {
            // Tables that discovery does not read are the core's own.
            facts(subnet)
                .into_iter()
                .filter(|fact| !fact.contains("Block {"))
                .collect()
        };
        let (known, found) = (of(&known), of(&found));
        let differ: Vec<_> = known
            .iter()
            .filter(|fact| !found.contains(fact))
            .chain(found.iter().filter(|fact| !known.contains(fact)))
            .collect();
        assert!(differ.is_empty(), "{what}: {differ:#?}");
    }

    /// PortStateChange of every switch is cleared.
    fn is_quiet(&mut self) -> bool {
        let ended = self.sweep(&light());
        sets(&ended).is_empty() && self.swept.subnet.is_as_left()
    }
}

/// A light sweep.
fn light() -> Scope {
    Scope::Light(Told::default())
}

fn link_state(lid: u16) -> Notice {
    let mut data = [0; 64];
    data[..4].copy_from_slice(&[0x81, 0, 0, 2]);
    data[4..6].copy_from_slice(&trap::LINK_STATE.to_be_bytes());
    data[10..12].copy_from_slice(&lid.to_be_bytes());
    Notice::of_smp(&data)
}

fn of_method(ended: &Ended, method: u8) -> Vec<Smp> {
    let mut smps = ended.wire.clone();
    smps.retain(|smp| smp.header.method == method);
    smps
}

fn gets(ended: &Ended) -> Vec<Smp> {
    of_method(ended, method::GET)
}

fn sets(ended: &Ended) -> Vec<Smp> {
    of_method(ended, method::SET)
}

/// PortInfo of the SM's port, its NodeInfo, and SwitchInfo of all switches.
const IDLE: usize = 2 + 6;

#[test]
fn a_light_sweep_asks_each_switch_once() {
    let mut bed = Bed::new();
    let ended = bed.sweep(&light());
    // What had PortStateChange is read once more, which was above.
    assert_eq!(gets(&ended).len(), IDLE);
    assert!(sets(&ended).is_empty() && bed.swept.subnet.is_as_left());
}

#[test]
fn a_link_costs_its_two_switches() {
    let mut bed = Bed::new();
    let (one, other) = bed.link();
    // Also where only one of them is heard, and where nobody is.
    for heard in [
        vec![one.node, other.node],
        vec![other.node],
        vec![one.node],
        vec![],
    ] {
        for is_pulled in [true, false] {
            match is_pulled {
                true => bed.simulator.unplug(one),
                false => bed.simulator.plug(one, other),
            }
            let scope = match heard.as_slice() {
                [] => light(),
                switches => bed.told(switches),
            };
            let what = format!("{heard:?} pulled {is_pulled}");
            let ended = bed.sweep(&scope);
            let ports = 2 * usize::from(8_u8 + 36);
            assert!(
                gets(&ended).len() < ports + IDLE,
                "{what}: {}",
                gets(&ended).len()
            );
            assert_eq!(
                ended.counts.mute, 0,
                "nothing is asked over a link that is down: {what}"
            );
            assert_eq!(ended.counts.repeated, 0, "{what}");
            bed.is_true(&what);
            bed.sweep(&light());
            assert!(bed.is_quiet(), "{what}");
        }
    }
}

#[test]
fn a_host_that_goes_and_comes_back_is_no_matter_of_others() {
    let mut bed = Bed::new();
    let (host, near) = bed.host();
    bed.simulator.unplug(host);
    let scope = bed.told(&[near.node]);
    bed.sweep(&scope);
    let guid = bed.guid(host.node);
    assert_eq!(bed.swept.subnet.by_guid(guid), None);
    bed.is_true("gone");
    bed.simulator.plug(host, near);
    let scope = bed.told(&[near.node]);
    let ended = bed.sweep(&scope);
    assert!(bed.swept.subnet.by_guid(guid).is_some());
    assert!(gets(&ended).len() < 60, "{}", gets(&ended).len());
    bed.is_true("back");
}

#[test]
fn a_host_that_moves_is_no_second_one() {
    let mut bed = Bed::new();
    let (host, near) = bed.host();
    // To a free port of another leaf, which alone is heard.
    let leaf = bed.fabric.cabled().find(|(at, far)| {
        bed.fabric.node(at.node).kind == NodeType::Ca
            && far.node != near.node
            && at.node != bed.sm.node
    });
    let (_, far) = leaf.unwrap();
    let free = (1..=bed.fabric.node(far.node).port_count())
        .map(|port| PortRef { port, ..far })
        .find(|at| bed.simulator.peer(*at).is_none())
        .unwrap();
    bed.simulator.unplug(host);
    bed.simulator.plug(host, free);
    let scope = bed.told(&[far.node]);
    bed.sweep(&scope);
    assert_eq!(bed.swept.subnet.findings().next(), None);
    bed.is_true("moved");
}

#[test]
fn a_switch_that_is_off_is_gone_and_one_that_rebooted_has_everything_again() {
    let mut bed = Bed::new();
    let (one, other) = bed.link();
    let spine = if bed.fabric.node(one.node).description.starts_with("SP") {
        one.node
    } else {
        other.node
    };
    let count = bed.swept.subnet.nodes().len();
    // Faster than anybody looks.
    bed.simulator.reboot(spine);
    let ended = bed.sweep(&light());
    assert_eq!(bed.swept.subnet.nodes().len(), count);
    assert!(
        sets(&ended)
            .iter()
            .any(|smp| smp.header.attribute_id.get() == attribute::LINEAR_TABLE)
    );
    bed.is_true("rebooted");
    let ports: Vec<PortRef> = (1..=bed.fabric.node(spine).port_count())
        .map(|port| PortRef { node: spine, port })
        .collect();
    for at in ports {
        bed.simulator.unplug(at);
    }
    bed.sweep(&light());
    assert_eq!(bed.swept.subnet.by_guid(bed.guid(spine)), None);
    bed.is_true("off");
}

/// Gets of NodeDescription and of P_Key tables.
fn believed(ended: &Ended) -> usize {
    let all = gets(ended);
    let mut attributes = all.iter().map(|smp| smp.header.attribute_id.get());
    let of = [attribute::NODE_DESCRIPTION, attribute::PKEY_TABLE];
    attributes.by_ref().filter(|it| of.contains(it)).count()
}

#[test]
fn all_is_found_anew_and_what_ports_that_are_active_hold_is_believed() {
    let mut bed = Bed::new();
    let ended = bed.sweep(&Scope::Anew);
    assert_eq!(believed(&ended), 0);
    assert!(sets(&ended).is_empty() && bed.swept.subnet.is_as_left());
    bed.is_true("nothing was other");
    // What was off has forgotten, and is read.
    let (host, _) = bed.host();
    let (switch, _) = bed.link();
    for node in [host.node, switch.node] {
        let keys = bed.simulator.pkeys(host);
        bed.simulator.reboot(node);
        assert!(believed(&bed.sweep(&Scope::Anew)) > 0);
        assert_eq!(bed.simulator.pkeys(host), keys);
        bed.is_true("off and on");
        bed.sweep(&light());
        assert!(bed.is_quiet());
    }
}

/// The subnet was another's: who has just found it reads what switches hold.
#[test]
fn who_has_just_looked_reads_tables_and_believes_keys() {
    let mut bed = Bed::new();
    bed.swept = core::mem::take(&mut bed.swept).told();
    let ended = bed.sweep(&Scope::Anew);
    assert_eq!(believed(&ended), 0);
    let is_table = |smp: &&Smp| smp.header.attribute_id.get() == attribute::LINEAR_TABLE;
    assert_eq!(gets(&ended).iter().filter(is_table).count(), 6);
    assert!(sets(&ended).is_empty());
    bed.is_true("nothing was other");
}

/// Its links are Active by the last sweep, in the middle of which it was off; or somebody else has written to it.
#[test]
fn of_a_node_with_another_lid_or_top_nothing_is_believed() {
    let mut bed = Bed::new();
    let (switch, _) = bed.link();
    let (host, _) = bed.host();
    bed.simulator
        .make_switch(switch.node, |info| info.linear_top = 5.into());
    bed.simulator
        .make_port(host, |info| info.base_lid = 77.into());
    let ended = bed.sweep(&Scope::Anew);
    let is_of = |smp: &Smp, at: PortRef| {
        let node = bed.swept.subnet.by_guid(bed.guid(at.node)).unwrap();
        let end = bed.swept.subnet.node(node).unwrap().end_port(at.port);
        let route = bed.swept.subnet.route(PortRef { node, port: end });
        smp.header.attribute_id.get() == attribute::PKEY_TABLE
            && smp.path().unwrap() == route.unwrap().ports()
    };
    for at in [switch, host] {
        assert!(gets(&ended).iter().any(|smp| is_of(smp, at)));
    }
    let others = gets(&ended);
    let mut others = others
        .iter()
        .filter(|smp| smp.header.attribute_id.get() == attribute::PKEY_TABLE);
    assert!(others.all(|smp| is_of(smp, switch) || is_of(smp, host)));
    bed.is_true("written again");
}

#[test]
fn what_is_mute_keeps_its_place_and_costs_one_question() {
    for scope in [light(), Scope::Whole, Scope::Anew] {
        let mut bed = Bed::new();
        let (one, _) = bed.link();
        let (host, _) = bed.host();
        let mute = [one.node, host.node];
        let guids = mute.map(|node| bed.guid(node));
        for guid in guids {
            bed.simulator.add_rule(Rule {
                node: Some(guid),
                ..Rule::always(Effect::Lost)
            });
        }
        let before: Vec<String> = facts(&bed.swept.subnet);
        bed.sweep(&scope);
        assert_eq!(facts(&bed.swept.subnet), before, "{scope:?}");
        let is_mute = |bed: &Bed, guid| {
            let node = bed
                .swept
                .subnet
                .by_guid(guid)
                .and_then(|at| bed.swept.subnet.node(at));
            node.unwrap().is_mute
        };
        assert!(is_mute(&bed, guids[0]), "{scope:?}");
        let of_switch = |finding: &Finding| matches!(finding, Finding::Mute { place, .. } if place.node == Some(guids[0]));
        // From now on two questions: one by each of two ways.
        let ended = bed.sweep(&light());
        assert_eq!(
            ended.counts.sent - ended.counts.answered,
            if matches!(scope, Scope::Light(_)) {
                2
            } else {
                3
            }
        );
        assert_eq!(
            bed.swept
                .subnet
                .findings()
                .filter(|it| of_switch(it))
                .count(),
            1
        );
        bed.simulator.clear_rules();
        bed.sweep(&light());
        assert!(!guids.iter().any(|guid| is_mute(&bed, *guid)));
        assert_eq!(bed.swept.subnet.findings().next(), None);
        bed.is_true("it answers again");
    }
}

#[test]
fn two_nodes_with_one_guid_cost_one_question_a_sweep() {
    let mut bed = Bed::new();
    let (host, _) = bed.host();
    let is_other = |at: &PortRef| {
        ![bed.sm.node, host.node].contains(&at.node)
            && bed.fabric.node(at.node).kind == NodeType::Ca
    };
    let twin = bed.fabric.cabled().find(|(at, _)| is_other(at)).unwrap().0;
    bed.simulator.set_guid(twin.node, bed.guid(host.node));
    bed.simulator.reboot(twin.node);
    for _ in 0..4 {
        bed.sweep(&light());
    }
    let ended = bed.sweep(&light());
    assert_eq!(gets(&ended).len(), IDLE + 1);
    assert_eq!(sets(&ended).len(), 0);
    assert!(bed.swept.subnet.is_as_left());
    let findings: Vec<_> = bed.swept.subnet.findings().collect();
    assert!(
        matches!(findings.as_slice(), [Finding::DuplicateGuid { .. }]),
        "{findings:?}"
    );
}

#[test]
fn traps_of_nobody_and_of_everybody_are_a_light_sweep_at_most() {
    let mut bed = Bed::new();
    let mut told = Told::default();
    for lid in 0..=u16::MAX {
        told.hear(&link_state(lid));
    }
    let ended = bed.sweep(&Scope::Told(told));
    // All ports of all switches once.
    assert!(
        gets(&ended).len() <= IDLE + 6 * 37 + 12,
        "{}",
        gets(&ended).len()
    );
    assert!(sets(&ended).is_empty());
    let mut nobody = Told::default();
    nobody.hear(&link_state(0xbff0));
    assert_eq!(gets(&bed.sweep(&Scope::Told(nobody))).len(), IDLE);
}
