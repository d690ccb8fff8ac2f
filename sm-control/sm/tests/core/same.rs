//! Whether a sweep found the subnet as the one before left it: each thing that a plan depends on counts.

use fabric_simulator::{Effect, Rule, Simulator};
use sa_fabric::PortRef;
use sa_sm::sweep::Swept;
use sa_wire::mad::{Status, method};
use sa_wire::smp::{Smp, attribute};
use sa_wire::{Guid, NodeType};

use crate::golden;
use crate::plan::plan;
use crate::reading::{a_switch, ask};
use crate::rig;
use crate::sweep::sweep_with;

/// A subnet that is up and at rest.
struct Bed {
    simulator: Simulator,
    sm: PortRef,
    swept: Swept,
}

impl Bed {
    fn new() -> Self {
        let (fabric, sm) = golden::fabric("g03-ftree");
        let mut bed = Self {
            simulator: Simulator::new(&fabric, rig::TIMING),
            sm,
            swept: Swept::default(),
        };
        assert!(!bed.is_as_left(), "nothing was left");
        bed.is_as_left();
        assert!(bed.is_as_left());
        bed
    }

    /// Sweeps.
    fn is_as_left(&mut self) -> bool {
        let mut is_as_left = false;
        let before = core::mem::take(&mut self.swept);
        let ended = sweep_with(&mut self.simulator, self.sm, before, |found| {
            is_as_left = found.is_as_left();
            plan(found)
        });
        self.swept = ended.swept;
        is_as_left
    }

    /// Somebody else reads a table of a switch, changes it, and writes it back.
    fn meddle(&mut self, attribute: u16, modifier: u32, change: impl Fn(&mut [u8; 64])) {
        let switch = a_switch(&self.swept.subnet);
        let mut smp = Smp::directed(method::GET, attribute, 0, &[]).unwrap();
        smp.header.attribute_modifier = modifier.into();
        let (simulator, subnet) = (&mut self.simulator, &self.swept.subnet);
        let held = ask(simulator, self.sm, subnet, switch, smp);
        smp.header.method = method::SET;
        smp.data = held.data;
        change(&mut smp.data);
        let answer = ask(simulator, self.sm, subnet, switch, smp);
        assert_eq!(answer.status(), Status::OK);
        assert_ne!(answer.data, held.data, "{attribute:#x}");
    }

    /// After this the next sweep finds something else, and those after it do not.
    fn sees(&mut self, what: &str, change: impl FnOnce(&mut Self)) {
        change(self);
        assert!(!self.is_as_left(), "{what}");
        // What was mended is found by the next one.
        self.is_as_left();
        assert!(self.is_as_left(), "{what}, and mended");
    }
}

#[test]
fn a_change_of_anything_is_seen_and_nothing_else() {
    let (fabric, sm) = golden::fabric("g03-ftree");
    let host = fabric
        .cabled()
        .find(|(at, _)| at.node != sm.node && fabric.node(at.node).kind == NodeType::Ca);
    let (at, far) = host.unwrap();
    let mut bed = Bed::new();
    bed.sees("a cable is pulled", |bed| bed.simulator.unplug(at));
    bed.sees("and plugged in", |bed| bed.simulator.plug(at, far));
    bed.sees("a switch is rebooted", |bed| bed.simulator.reboot(far.node));
    bed.sees("another P_Key", |bed| {
        bed.meddle(attribute::PKEY_TABLE, 0, |data| data[10] = 0x12);
    });
    // LinearFDBTop, and the LID of port 0.
    bed.sees("another SwitchInfo", |bed| {
        bed.meddle(attribute::SWITCH_INFO, 0, |data| data[7] ^= 1);
    });
    bed.sees("another PortInfo", |bed| {
        bed.meddle(attribute::PORT_INFO, 0, |data| {
            data[17] ^= 0x40;
            // States are left as they are.
            (data[32], data[33]) = (data[32] & 0xf0, data[33] & 0xf);
        });
    });
}

#[test]
fn a_finding_counts_as_a_change() {
    let mut bed = Bed::new();
    bed.simulator.add_rule(Rule {
        node: Guid::new(0x200000).ok(),
        attribute: Some(attribute::PKEY_TABLE),
        count: 1,
        ..Rule::always(Effect::Status(Status::INVALID_FIELD))
    });
    assert!(!bed.is_as_left());
    assert!(!bed.is_as_left(), "it is gone");
    assert!(bed.is_as_left());
}
