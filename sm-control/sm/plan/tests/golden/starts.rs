//! One subnet in several starts of the Subnet Manager: with a file of LIDs, without, with new options, and after another SM.

use fabric_simulator::Simulator;
use sa_fabric::{Fabric, PortRef};
use sa_sm::lids::Remembered;
use sa_sm::sweep::Swept;
use sa_wire::{Lid, Lmc};

use crate::sweeps::{Case, FIRST, cases, fabric, planned, simulator};
use sm_recordings::{guid, read, subnet};

struct Bed {
    name: &'static str,
    simulator: Simulator,
    sm: PortRef,
    fabric: Fabric,
    folder: tempfile::TempDir,
}

impl Bed {
    fn new(name: &'static str, first: &str) -> Self {
        let (fabric, sm) = fabric(name, &subnet(&read(name, first)));
        Self {
            name,
            simulator: simulator(name, &fabric),
            sm,
            fabric,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// Another process, with these options and a file of LIDs; then all is as in the state. Gives the LIDs that it leaves.
    fn start(&mut self, conf: &str, file: Option<String>, state: &str) -> String {
        let like = cases().into_iter().find(|case| case.name == "g03-ftree");
        let case = Case {
            name: self.name,
            conf: conf.to_owned(),
            ..like.unwrap()
        };
        let lmc = if conf.contains("lmc 2") { 2 } else { 0 };
        let file = file.unwrap_or_default();
        let (remembered, _) = Remembered::parse(file.as_bytes(), Lmc::new(lmc).unwrap(), Lid::MAX);
        let mut planner = case.planner_with(self.folder.path(), remembered);
        let before = Swept::default();
        let (swept, ..) = planned(&mut self.simulator, self.sm, before, &mut planner);
        case.compare(&mut self.simulator, self.sm, &swept, state);
        planner.remembered().render()
    }

    fn port(&self, name: &str) -> PortRef {
        let mut nodes = (0..).map(sa_fabric::NodeIx).zip(self.fabric.nodes());
        let (node, _) = nodes.find(|(_, node)| node.name() == name).unwrap();
        PortRef { node, port: 1 }
    }
}

#[test]
fn five_starts_leave_what_opensm_left() {
    let mut bed = Bed::new("g10-guid2lid", "state-0-preset.txt");
    let preset = read(bed.name, "sm-a-cache-guid2lid");
    bed.start("", Some(preset), "state-0-preset.txt");
    bed.start("", None, "state-1-from-fabric.txt");
    let file = bed.start("reassign_lids TRUE\n", None, "state-2-reassigned.txt");
    bed.start("lmc 2\n", Some(file), "state-3-lmc2.txt");
    for host in ["H1_1", "H2_1"] {
        let at = bed.port(host);
        bed.simulator.make_port(at, |info| {
            info.base_lid = 12.into();
            info.m_key_protect_and_lmc &= 0xf8;
        });
    }
    bed.start("", None, "state-4-duplid.txt");
}

/// The second Subnet Manager runs at another host, which has the larger GUID, and knows no LIDs.
#[test]
fn a_subnet_that_is_taken_over_is_as_after_opensm() {
    let mut bed = Bed::new("g19-clientrereg", FIRST);
    bed.start("", None, FIRST);
    bed.sm = bed.port("H2_1");
    bed.start("", None, "state-1-taken-over.txt");
    assert_eq!(bed.fabric.node(bed.sm.node).guid, guid("0x100210"));
}
