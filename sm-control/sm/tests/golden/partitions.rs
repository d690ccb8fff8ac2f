//! P_Key tables of one fabric through two changes of its partitions, and back.

use std::collections::BTreeMap;

use policy::PortFacts;
use policy::partitions::{PartitionOptions, Partitions, PartitionsConfig};
use sa_fabric::PortRef;
use sa_sm::model::Subnet;
use sa_sm::wanted::pkeys::{Places, Wish, blocks, end_port, known, switch_port};

use sm_recordings::{fields, place, read, subnet};

const CASE: &str = "g09-partitions";
/// Of all nodes that ibsim makes, and of switch ports.
const ROOM: u16 = 64;

/// Tables of a state. Shape: index = place; of ports that have keys.
fn told(subnet: &Subnet, state: &str) -> BTreeMap<PortRef, Vec<u16>> {
    let lines = state.lines().filter(|line| line.starts_with("pkey "));
    let tables = lines.map(|line| {
        let (subject, rest) = fields(line);
        let mut keys = Vec::new();
        for entry in rest.split(' ') {
            let (index, key) = entry.split_once(':').unwrap();
            keys.resize(index.parse::<usize>().unwrap() + 1, 0);
            *keys.last_mut().unwrap() = u16::from_str_radix(key, 16).unwrap();
        }
        (place(subnet, subject), keys)
    });
    tables.collect()
}

/// What a partition file gives each end port.
fn wishes(subnet: &Subnet, file: &str) -> BTreeMap<PortRef, Wish> {
    let config = PartitionsConfig::parse(&read(CASE, file)).unwrap();
    let mut ends: Vec<_> = subnet.end_ports().collect();
    ends.sort_by_key(|(_, port)| port.guid.unwrap().map_order());
    let facts = ends.iter().map(|(at, port)| {
        let node = subnet.node(at.node).unwrap();
        PortFacts {
            guid: port.guid.unwrap(),
            node_guid: node.guid(),
            node_type: node.kind(),
            description: String::new(),
            port_number: at.port,
            node_ports: node.port_count(),
            is_sm: subnet.sm() == Some(*at),
        }
    });
    let facts: Vec<_> = facts.collect();
    let partitions = Partitions::new(&config, &facts, PartitionOptions::default());
    let wish = |(index, (at, _)): (usize, &(PortRef, _))| {
        let wish = Wish {
            keys: partitions.pkey_table(index),
            first: partitions.first_pkey(index),
        };
        (*at, wish)
    };
    ends.iter().enumerate().map(wish).collect()
}

#[test]
fn tables_through_two_changes_are_those_of_opensm() {
    let steps = [
        ("sm-a-partitions.conf", "state-0-up.txt"),
        ("partitions-2.conf", "state-1-repart.txt"),
        ("sm-a-partitions.conf", "state-2-back.txt"),
    ];
    let (mut held, mut places) = (BTreeMap::new(), BTreeMap::new());
    for (file, state) in steps {
        let state = read(CASE, state);
        let subnet = subnet(&state);
        let expected = told(&subnet, &state);
        for (at, wish) in wishes(&subnet, file) {
            let before = held.entry(at).or_insert_with(|| vec![0xffff]);
            let memory: &mut Places = places.entry(at).or_default();
            let table = end_port(before, ROOM, &wish, false, memory);
            assert_eq!(
                (&table.keys, table.left_out.len()),
                (&expected[&at], 0),
                "{file} {at:?}"
            );
            *before = table.keys;
            if let Some(far) = subnet.peer(at) {
                let keys = switch_port(before, ROOM).unwrap();
                assert_eq!(keys, expected[&far], "{file} {far:?}");
                // As blocks, through a model, and back.
                let mut model = subnet.clone();
                let node = model.node_mut(far.node).unwrap();
                for (block, data) in blocks(&keys, 64, 0, far.port) {
                    node.tables.set(block, data);
                }
                let read_back = known(&node.tables, ROOM, 0, far.port).unwrap();
                assert_eq!(read_back[..keys.len()], keys);
            }
        }
    }
    assert!(held.len() > 15);
}

/// OpenSM takes such a file for none, so that every port becomes a full member of the default partition.
#[test]
fn a_partition_file_with_an_error_gives_no_wish() {
    let error = PartitionsConfig::parse(&read("g17-partitions-broken", "sm-a-partitions.conf"));
    let text = error.unwrap_err().to_string();
    assert!(text.starts_with("line 5,"), "{text}");
}
