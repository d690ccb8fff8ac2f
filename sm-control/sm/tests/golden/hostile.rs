//! Nothing that a device says makes the planner panic or go on without end.

use proptest::prelude::*;
use sa_fabric::PortRef;
use sa_fabric::options::{ManagerOptions, OpenSmOptions, PortClass};
use sa_sm::lids::{LidOptions, Remembered, assign};
use sa_sm::model::attributes::{node_record, port_info, switch_info};
use sa_sm::model::{Node, Route, Subnet};
use sa_sm::wanted::pkeys::{Places, Wish, end_port, switch_port};
use sa_sm::wanted::port_info::{Common, Decided, differs, wanted};
use sa_sm::wanted::qos::PortQos;
use sa_wire::{Guid, Lid, Lmc, Pkey};

type Bytes = Vec<u8>;

/// A node: NodeInfo, SwitchInfo and the PortInfo of its first ports.
fn node() -> impl Strategy<Value = (Bytes, Bytes, Vec<Bytes>)> {
    let bytes = || prop::collection::vec(any::<u8>(), 64);
    let info = (
        bytes(),
        0u8..5,
        prop::sample::select(vec![0u8, 1, 2, 36, 254, 255]),
    )
        .prop_map(|(mut info, kind, ports)| {
            info[2] = kind;
            info[3] = ports;
            info
        });
    (info, bytes(), prop::collection::vec(bytes(), 0..4))
}

fn build(nodes: &[(Bytes, Bytes, Vec<Bytes>)], joined: &[(u8, u8)]) -> Subnet {
    let data = |bytes: &Bytes| <[u8; 64]>::try_from(bytes.as_slice()).unwrap();
    let mut subnet = Subnet::default();
    let mut all = Vec::new();
    for (info, switch, ports) in nodes {
        let Ok(mut node) = Node::new(node_record(&data(info))) else {
            continue;
        };
        if node.is_switch() {
            node.switch_info = Some(switch_info(&data(switch)));
        }
        for (number, bytes) in (0..).zip(ports) {
            if let Some(port) = node.port_mut(number) {
                port.info = Some(port_info(&data(bytes)));
                // Few GUIDs, so that some are there twice.
                port.guid = Guid::new(u64::from(bytes[0] % 8)).ok();
                port.route = Some(Route::default());
            }
        }
        let count = node.port_count();
        let at = subnet.add(node);
        all.extend((0..=count.min(4)).map(|port| PortRef { node: at, port }));
    }
    if let Some(first) = all.first() {
        subnet.set_sm(*first);
    }
    for (one, other) in joined {
        let at = |place: &u8| all.get(usize::from(*place) % all.len().max(1)).copied();
        if let (Some(one), Some(other)) = (at(one), at(other)) {
            subnet.join(one, other);
        }
    }
    subnet
}

proptest! {
    #[test]
    fn any_model_is_planned(
        nodes in prop::collection::vec(node(), 0..6),
        joined in prop::collection::vec(any::<(u8, u8)>(), 0..8),
        lmc in 0u8..8,
        remembered in prop::collection::vec((0u64..9, any::<u16>(), any::<u16>()), 0..6),
    ) {
        let subnet = build(&nodes, &joined);
        let file: String = remembered.iter().map(|(guid, low, high)| format!("0x{guid:x} 0x{low:x} 0x{high:x}\n")).collect();
        let lids = LidOptions { lmc: Lmc::new(lmc).unwrap(), lmc_esp0: true, reassign: false };
        let (mut table, _) = Remembered::parse(file.as_bytes(), lids.lmc, Lid::MAX);
        let plan = assign(&subnet, lids, &mut table);
        let mut used = std::collections::BTreeSet::new();
        for port in plan.ports.values() {
            let first = port.lid.get();
            prop_assert!((first..first + port.lmc.lids()).all(|lid| Lid::new(lid).is_ok() && used.insert(lid)));
            prop_assert!(first.is_multiple_of(port.lmc.lids()));
        }
        let again = assign(&subnet, lids, &mut table.clone());
        prop_assert_eq!(&again.ports, &plan.ports, "what was given stays");
        let (options, manager) = (OpenSmOptions::default(), ManagerOptions { force_link_width: 0, force_link_speed: 0, ..ManagerOptions::default() });
        let common = Common { options: &options, manager: &manager, sm_lid: Lid::MAX };
        for (node, it) in subnet.places() {
            for (port, _) in it.ports() {
                let at = PortRef { node, port };
                let decided = Decided { lids: plan.ports.get(&at).copied(), high_limit: Some(9), ..Decided::default() };
                let Some(first) = wanted(&subnet, at, &decided, common) else { continue };
                let _ = PortQos::of_options(&options.qos_tables(PortClass::Ca), &first).map(|qos| qos.arbitration(port, 0));
                let mut written = subnet.clone();
                written.port_mut(at).unwrap().info = Some(first);
                let second = wanted(&written, at, &decided, common).unwrap();
                prop_assert!(!differs(&first, &second), "what was written is not wanted otherwise");
            }
        }
    }

    #[test]
    fn any_table_of_keys_is_filled(
        held in prop::collection::vec(any::<u16>(), 0..40),
        keys in prop::collection::btree_set(1u16..0x7fff, 0..40),
        room in prop::sample::select(vec![0u16, 1, 2, 32, 0xffff]),
    ) {
        let keys: Vec<Pkey> = keys.into_iter().chain([0x7fff]).filter_map(|key| Pkey::new(key | 0x8000).ok()).collect();
        let wish = Wish { keys: keys.clone(), first: None };
        let mut places = Places::default();
        let table = end_port(&held, room, &wish, false, &mut places);
        let has = |key: &Pkey| table.keys.contains(&key.get());
        prop_assert!(keys.iter().all(|key| has(key) != table.left_out.contains(key)));
        prop_assert_eq!(table.keys.iter().filter(|key| **key != 0).count() + table.left_out.len(), keys.len());
        prop_assert!(table.keys.len() <= usize::from(room));
        let again = end_port(&table.keys, room, &wish, false, &mut places);
        prop_assert_eq!(&again.keys, &table.keys, "keys keep their places");
        prop_assert_eq!(switch_port(&table.keys, room).is_some(), true);
    }
}
