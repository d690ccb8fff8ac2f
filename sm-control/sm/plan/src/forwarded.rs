//! Which ports multicast tables lead to: who is in a group by what switches hold.
//!
//! The tables outlive the Subnet Manager that wrote them. Where it died, they tell of joins that nobody else remembers: within a
//! moment of each join the switch before the port has an entry for it, unless it is alone in its group.

use std::collections::{BTreeMap, BTreeSet};

use sa_fabric::PortRef;
use sa_sm::model::{Node, Subnet};
use sa_wire::{Guid, Mlid};

use crate::Memberships;
use crate::groups::mlids;

/// End ports to which a switch forwards an MLID, by port GUIDs.
pub type Forwarded = BTreeMap<Mlid, BTreeSet<Guid>>;

/// By all tables that are known.
pub fn forwarded(held: &Subnet) -> Forwarded {
    let mut all = Forwarded::new();
    for (at, node) in held.places().filter(|(_, node)| node.is_switch()) {
        for (mlid, port) in entries(node) {
            let end = match port {
                0 => Some(PortRef { node: at, port }),
                _ => held.port(PortRef { node: at, port }).and_then(|it| it.peer),
            };
            // A port GUID is an end port's: further switches have their own entries.
            let guid = end.and_then(|end| held.port(end)).and_then(|it| it.guid);
            if let Some(guid) = guid {
                all.entry(mlid).or_default().insert(guid);
            }
        }
    }
    all
}

/// Ports that are in a group by the tables and not by the members.
pub fn not_members(forwarded: &Forwarded, members: &Memberships) -> BTreeSet<Guid> {
    let is_member = |mlid: &Mlid, port: &Guid| {
        let known = members.get(mlid);
        known.is_some_and(|(_, members)| members.contains(port))
    };
    let all = forwarded.iter();
    let all = all.flat_map(|(mlid, ports)| ports.iter().map(move |port| (mlid, port)));
    let others = all.filter(|(mlid, port)| !is_member(mlid, port));
    others.map(|(_, port)| *port).collect()
}

/// Each MLID and port that a switch forwards to. Shape of a block: 32 masks of 16 ports; its modifier has the block of MLIDs in the lower 9 bits,
/// and the ports in the highest 4.
fn entries(node: &Node) -> impl Iterator<Item = (Mlid, u8)> {
    node.tables.multicast().flat_map(|(block, data)| {
        let position = block.modifier >> 28;
        let masks = data.as_chunks::<2>().0;
        let masks = masks.iter().map(|mask| u16::from_be_bytes(*mask));
        mlids(*block).zip(masks).flat_map(move |(number, mask)| {
            let mlid = Mlid::MIN.get().saturating_add(number);
            let ports = (0..16).filter(move |bit| mask >> bit & 1 == 1);
            ports.filter_map(move |bit| {
                let port = u8::try_from(16 * position + bit).ok()?;
                Some((Mlid::new(mlid).ok()?, port))
            })
        })
    })
}
