//! A plan that is easy to see through: LIDs in the order of GUIDs, shortest paths, the least of both ends of a link.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use sa_fabric::{NodeIx, PortRef};
use sa_sm::model::attributes::Data;
use sa_sm::model::{Block, Subnet};
use sa_sm::writing::Wanted;
use sa_wire::records::PortInfoRecord;
use sa_wire::smp::attribute;

pub(crate) fn plan(subnet: &Subnet) -> Option<Arc<Wanted>> {
    let mut wanted = Wanted::default();
    let mut ends: Vec<PortRef> = subnet.end_ports().map(|(at, _)| at).collect();
    ends.sort_by_key(|at| (subnet.node(at.node).unwrap().guid(), at.port));
    let lids: BTreeMap<PortRef, u16> = ends.into_iter().zip(1..).collect();
    let sm = *lids.get(&subnet.sm()?)?;
    for (node, found) in subnet.places() {
        for (port, it) in found.ports() {
            let at = PortRef { node, port };
            if let Some(mut info) = it.info {
                if let Some(lid) = lids.get(&at) {
                    info.base_lid = (*lid).into();
                    info.sm_lid = sm.into();
                    info.gid_prefix = 0xfe80_0000_0000_0000.into();
                }
                least_of_both(subnet, at, &mut info);
                wanted.ports.insert(at, info);
            }
        }
        if let Some(mut info) = found.switch_info {
            info.linear_top = u16::try_from(lids.len()).unwrap().into();
            wanted.switches.insert(node, info);
        }
    }
    for (end, lid) in lids {
        let block = Block {
            attribute: attribute::LINEAR_TABLE,
            end_port: 0,
            modifier: u32::from(lid / 64),
        };
        for (node, out) in ways(subnet, end) {
            let table: &mut BTreeMap<Block, Data> = wanted.tables.entry(node).or_default();
            table.entry(block).or_insert([0xff; 64])[usize::from(lid % 64)] = out;
        }
    }
    Some(Arc::new(wanted))
}

/// MTU and VLs.
fn least_of_both(subnet: &Subnet, at: PortRef, info: &mut PortInfoRecord) {
    let far = subnet.peer(at).and_then(|peer| subnet.port(peer)?.info);
    let Some(far) = far else { return };
    let mtu = (info.init_type_reply_and_mtu_cap & 0xf).min(far.init_type_reply_and_mtu_cap & 0xf);
    let vls = (info.vl_cap_and_init_type >> 4).min(far.vl_cap_and_init_type >> 4);
    info.neighbor_mtu_and_sm_sl = (mtu << 4) | (info.neighbor_mtu_and_sm_sl & 0xf);
    info.operational_vls_and_enforcement =
        (vls << 4) | (info.operational_vls_and_enforcement & 0xf);
    info.vl_stall_and_hoq_life = 0xf2;
}

/// The port of each switch that leads to an end port.
fn ways(subnet: &Subnet, end: PortRef) -> BTreeMap<NodeIx, u8> {
    let mut ways = BTreeMap::new();
    let mut front = VecDeque::new();
    if subnet.node(end.node).unwrap().is_switch() {
        ways.insert(end.node, 0);
        front.push_back(end.node);
    } else if let Some(peer) = subnet.peer(end) {
        ways.insert(peer.node, peer.port);
        front.push_back(peer.node);
    }
    while let Some(at) = front.pop_front() {
        for (_, port) in subnet.node(at).unwrap().ports() {
            let Some(far) = port.peer else { continue };
            if subnet.node(far.node).unwrap().is_switch() && !ways.contains_key(&far.node) {
                ways.insert(far.node, far.port);
                front.push_back(far.node);
            }
        }
    }
    ways
}
