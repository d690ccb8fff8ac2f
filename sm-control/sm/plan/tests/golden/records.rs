//! What the SA tells of devices after a sweep is what they hold.

use fabric_simulator::{Simulator, Timing};
use sa_sm::discovery::Options;
use sa_sm::sweep::Swept;
use sm_plan::held_records;

use crate::sweeps::{cases, fabric, planned, sweep_with};
use sm_recordings::{read, subnet};

#[test]
fn records_of_devices_are_what_a_reader_who_knows_nothing_finds() {
    for case in cases() {
        let folder = tempfile::tempdir().unwrap();
        let (fabric, sm) = fabric(case.name, &subnet(&read(case.name, "state-0-up.txt")));
        let mut simulator = Simulator::new(&fabric, Timing::NONE);
        let mut planner = case.planner(folder.path());
        let (swept, ..) = planned(&mut simulator, sm, Swept::default(), &mut planner);
        let held = held_records(&swept.subnet);
        let options = Options {
            keys: crate::sweeps::keys(case.m_key),
            ..Options::default()
        };
        let (read, counts) = sweep_with(options, &mut simulator, sm, Swept::default(), |_| None);
        assert_eq!(counts.sets, 0);
        let read = held_records(&read.subnet);
        let name = case.name;
        assert_eq!(held.nodes, read.nodes, "{name}");
        assert_eq!(held.ports, read.ports, "{name}");
        assert_eq!(held.switches, read.switches, "{name}");
        let keys = |tables: Option<Vec<_>>| tables.unwrap();
        assert_eq!(keys(held.pkeys), keys(read.pkeys), "{name}");
        let is_up =
            |info: &&sa_wire::records::PortInfoRecord| info.speed_supported_and_state & 0xf == 4;
        let up = held.ports.iter().filter(is_up).count();
        // Each cable from both ends.
        assert!(up >= fabric.cabled().count(), "{name}: {up}");
    }
}
