//! Alias GUIDs that clients set, in the ports.

use std::sync::Arc;

use fabric_simulator::{Effect, Rule, Simulator, Timing};
use sa_fabric::PortRef;
use sa_sm::model::Finding;
use sa_sm::sweep::Swept;
use sa_wire::Guid;
use sa_wire::mad::{Status, method};
use sa_wire::smp::attribute;
use sm_plan::{AliasTables, PlanFinding, Planner};

use crate::sweeps::{Case, cases, fabric, planned};
use sm_recordings::{read, subnet};

/// A host, and what it has in which places.
const HOST: u64 = 0x10_0101;
const ALIASES: [u64; 10] = [HOST, 0, 7, 0, 0, 0, 0, 0, 0, 8];

struct Bed {
    simulator: Simulator,
    sm: PortRef,
    host: PortRef,
    planner: Option<Planner>,
    swept: Swept,
    _folder: tempfile::TempDir,
}

impl Bed {
    fn new() -> Self {
        let case: Case = cases()
            .into_iter()
            .find(|case| case.name == "g03-ftree")
            .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (fabric, sm) = fabric(case.name, &subnet(&read(case.name, "state-0-up.txt")));
        let mut bed = Self {
            simulator: Simulator::new(&fabric, Timing::NONE),
            sm,
            host: sm,
            planner: Some(case.planner(folder.path())),
            swept: Swept::default(),
            _folder: folder,
        };
        bed.sweep(None);
        let mut ends = bed.swept.subnet.end_ports();
        let (at, _) = ends
            .find(|(_, port)| port.guid.is_some_and(|guid| guid.get() == HOST))
            .unwrap();
        let node = bed.swept.subnet.node(at.node).unwrap().guid();
        drop(ends);
        let nodes = fabric.nodes().iter().position(|it| it.guid == node);
        bed.host = PortRef {
            node: sa_fabric::NodeIx::nth(nodes.unwrap()),
            ..at
        };
        bed
    }

    /// With these GUIDs of the host. Gives the Sets, and what was found out.
    fn sweep(&mut self, guids: Option<&[u64]>) -> (u64, Vec<PlanFinding>) {
        let host = Guid::new(HOST).unwrap();
        let tables = guids.map(|guids| Arc::new(AliasTables::from([(host, guids.to_vec())])));
        let mut planner = self.planner.take().unwrap().with_aliases(tables);
        let before = core::mem::take(&mut self.swept);
        let (swept, counts, plan) = planned(&mut self.simulator, self.sm, before, &mut planner);
        self.planner = Some(planner);
        self.swept = swept;
        (counts.sets, plan.findings)
    }

    /// Places of the host that are taken, but for its own.
    fn held(&self) -> Vec<(usize, u64)> {
        let guids = self.simulator.guids(self.host);
        let places = guids.into_iter().enumerate().skip(1);
        places.filter(|(_, guid)| *guid != 0).collect()
    }
}

#[test]
fn a_port_has_the_guids_that_clients_set_and_no_others() {
    let mut bed = Bed::new();
    assert_eq!(bed.sweep(Some(&ALIASES)).0, 2, "two blocks");
    assert_eq!(bed.held(), [(2, 7), (9, 8)]);
    assert_eq!(bed.sweep(Some(&ALIASES)).0, 0);
    // Nobody knows: it keeps them.
    assert_eq!(bed.sweep(None).0, 0);
    assert_eq!(bed.held(), [(2, 7), (9, 8)]);
    // One is taken away; a process that knows nothing of it finds it all the same.
    let mut fewer = ALIASES;
    fewer[9] = 0;
    bed.swept = Swept::default();
    assert_eq!(bed.sweep(Some(&fewer)).0, 1);
    assert_eq!(bed.held(), [(2, 7)]);
    // A host that was off has forgotten.
    bed.simulator.reboot(bed.host.node);
    assert!(bed.held().is_empty());
    bed.sweep(Some(&fewer));
    assert_eq!(bed.held(), [(2, 7)]);
}

#[test]
fn a_port_without_room_and_one_that_refuses_are_told() {
    let mut bed = Bed::new();
    let mut many = vec![HOST; 1];
    many.extend(1..=40);
    let (_, findings) = bed.sweep(Some(&many));
    let no_room = PlanFinding::AliasesLeftOut {
        port: Guid::new(HOST).unwrap(),
        count: 9,
    };
    assert!(findings.contains(&no_room), "{findings:?}");
    assert_eq!(bed.held().len(), 31);
    assert_eq!(bed.sweep(Some(&many)).0, 0);

    let mut bed = Bed::new();
    bed.simulator.add_rule(Rule {
        method: Some(method::SET),
        attribute: Some(attribute::GUID_INFO),
        ..Rule::always(Effect::Status(Status::METHOD_NOT_SUPPORTED))
    });
    assert_eq!(bed.sweep(Some(&ALIASES)).0, 2);
    let refused = |finding: &&Finding| matches!(finding, Finding::Refused { attribute, .. } if *attribute == attribute::GUID_INFO);
    assert_eq!(bed.swept.subnet.findings().filter(refused).count(), 2);
    // Told and tried again later, and its links stay up: nobody else is concerned.
    assert_eq!(bed.sweep(Some(&ALIASES)).0, 0);
}
