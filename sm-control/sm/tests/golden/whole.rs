//! Whole sweeps with our own plan, over simulated devices: afterwards they hold what they held after OpenSM's.
//!
//! Only the routes are the recording's. No difference is on purpose, so there is no table of any.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fabric_simulator::{Simulator, Timing};
use sa_fabric::formats::net;
use sa_fabric::options::{ManagerOptions, OpenSmOptions};
use sa_fabric::{Fabric, NodeIx, PortRef};
use sa_sm::discovery::Options;
use sa_sm::executor::{Counts, Limits};
use sa_sm::lids::{LidOptions, Remembered, assign};
use sa_sm::model::attributes::Data;
use sa_sm::model::{Block, Subnet};
use sa_sm::sweep::{Sweep, Swept};
use sa_sm::wanted::port_info::{Common, Decided, wanted};
use sa_sm::wanted::switch_info;
use sa_sm::writing::Wanted;
use sa_wire::records::PortInfoRecord;
use sa_wire::smp::attribute;

use sm_recordings::{fields, guid, read, subnet};

/// First sweeps without QoS, with what `opensm.conf` says.
const CASES: [(&str, &str); 6] = [
    ("g01-star", ""),
    ("g02-line", ""),
    ("g03-ftree", ""),
    ("g04-ftree-lmc1", "lmc 1\n"),
    ("g05-torus444-minhop", ""),
    ("g11-parallel", ""),
];

/// LIDs, PortInfo and SwitchInfo as planned here, forwarding tables as recorded.
fn plan(conf: &str, state: &str, found: &Subnet) -> Wanted {
    let options = OpenSmOptions::parse(conf.as_bytes()).unwrap();
    let manager = ManagerOptions::parse(conf.as_bytes()).unwrap();
    let lids = LidOptions {
        lmc: manager.lmc,
        lmc_esp0: options.lmc_esp0,
        reassign: false,
    };
    let lids = assign(found, lids, &mut Remembered::default());
    let common = Common {
        options: &options,
        manager: &manager,
        sm_lid: lids.ports[&found.sm().unwrap()].lid,
    };
    let mut plan = Wanted::default();
    for (node, it) in found.places() {
        for (port, _) in it.ports() {
            let at = PortRef { node, port };
            let decided = Decided {
                lids: lids.ports.get(&at).copied(),
                ..Decided::default()
            };
            plan.ports
                .extend(wanted(found, at, &decided, common).map(|info| (at, info)));
        }
        let life_time = options.packet_life_time;
        let switch = it
            .switch_info
            .map(|info| switch_info::wanted(&info, lids.top(), life_time));
        plan.switches.extend(switch.map(|info| (node, info)));
        plan.tables.insert(node, tables(state, found, node));
    }
    plan
}

/// The blocks of a switch's forwarding table in a recording.
fn tables(state: &str, found: &Subnet, node: NodeIx) -> BTreeMap<Block, Data> {
    let own = found.node(node).unwrap().guid();
    let lines = state.lines().filter(|line| line.starts_with("lft "));
    let own_lines = lines
        .map(fields)
        .filter(|(subject, _)| guid(subject) == own);
    own_lines
        .map(|(_, rest)| {
            let (first, digits) = rest.split_once(' ').unwrap();
            let block = Block {
                attribute: attribute::LINEAR_TABLE,
                end_port: 0,
                modifier: first.parse::<u32>().unwrap() / 64,
            };
            let byte = |at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap();
            (block, core::array::from_fn(byte))
        })
        .collect()
}

fn sweep(
    simulator: &mut Simulator,
    sm: PortRef,
    plan: impl FnOnce(&Subnet) -> Option<Arc<Wanted>>,
) -> (Swept, Counts) {
    let mut sweep = Sweep::new(
        Options::default(),
        Limits::default(),
        1,
        Swept::default(),
        plan,
    );
    loop {
        while let Some(bytes) = sweep.send(Duration::ZERO) {
            simulator.post(sm, 0xffff, &bytes, Duration::ZERO);
        }
        match simulator.next(Duration::ZERO) {
            Some((_, _, bytes)) => sweep.received(&bytes, Duration::ZERO),
            None => break,
        }
    }
    assert!(sweep.is_over());
    let counts = sweep.progress().counts;
    (sweep.finish(), counts)
}

/// The fabric of a recording, and the port with its SM: the first line of the trace names the host.
fn fabric(case: &str) -> (Fabric, PortRef) {
    let fabric = net::parse(read(case, "net").as_bytes()).unwrap();
    let trace = read(case, "trace.txt");
    let host = trace.lines().next().unwrap().rsplit(' ').next().unwrap();
    let mut nodes = fabric.nodes().iter();
    let node = NodeIx::nth(nodes.position(|node| node.name() == host).unwrap());
    (fabric, PortRef { node, port: 1 })
}

/// Without what depends on the way it was asked, and the bit that the program of an SM sets.
fn comparable(info: &PortInfoRecord) -> PortInfoRecord {
    PortInfoRecord {
        local_port_num: 0,
        capability_mask: (info.capability_mask.get() & !PortInfoRecord::IS_SM).into(),
        ..*info
    }
}

#[test]
fn devices_hold_what_they_held_after_opensm() {
    for (name, conf) in CASES {
        let state = read(name, "state-0-up.txt");
        let opensm = subnet(&state);
        let (fabric, sm) = fabric(name);
        let mut simulator = Simulator::new(&fabric, Timing::NONE);
        let (_, counts) = sweep(&mut simulator, sm, |found| {
            Some(Arc::new(plan(conf, &state, found)))
        });
        // Read back by a sweep without a plan, which writes nothing.
        let (swept, idle) = sweep(&mut simulator, sm, |_| None);
        assert_eq!(idle.sets, 0, "{name}");
        let mut compared = 0;
        for (node, expected) in opensm.places() {
            let at = swept.subnet.by_guid(expected.guid()).unwrap();
            let found = swept.subnet.node(at).unwrap();
            assert_eq!(
                found
                    .switch_info
                    .map(|info| (info.linear_top, info.life_time_and_change)),
                expected
                    .switch_info
                    .map(|info| (info.linear_top, info.life_time_and_change)),
                "{name} {}",
                expected.guid()
            );
            for (port, expected) in expected.ports().filter(|(_, port)| port.info.is_some()) {
                let found = found.port(port).unwrap().info.unwrap();
                let expected = comparable(&expected.info.unwrap());
                assert_eq!(comparable(&found), expected, "{name} {node:?}/{port}");
                compared += 1;
            }
        }
        let trace = read(name, "trace.txt");
        let opensm = trace.lines().filter(|line| line.contains(" Set ")).count();
        println!(
            "{name}: {compared} ports; {} Sets, OpenSM {opensm}",
            counts.sets
        );
        assert!(
            compared > 8 && counts.sets <= u64::try_from(opensm).unwrap(),
            "{name}"
        );
    }
}
