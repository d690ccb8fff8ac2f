//! Alias GUIDs of ports, as GUIDInfo.
//!
//! The SA decides which port has which GUID in which place; paths know it from then on. Here it is put into the port, which needs it to
//! take packets for that GUID. All places of a port are written for which the SA has a word, so one that was taken away goes too.

use std::collections::BTreeMap;

use sa_fabric::{NodeIx, PortRef};
use sa_sm::model::attributes::Data;
use sa_sm::model::{Block, Subnet};
use sa_sm::wanted::guid_info;
use sa_wire::Guid;

use crate::PlanFinding;

/// GUIDs of ports, by port GUID. Shape: by place, from the port's own on; 0 is none.
///
/// A port that is not in it keeps what it holds: only ports that the SA has a word for are written.
pub type AliasTables = BTreeMap<Guid, Vec<u64>>;

/// GUIDInfo of the ports that were found, and ports that have no room for all of theirs.
///
/// Errors are none: an alias without room is a finding, and its neighbours are written.
pub fn alias_tables(
    found: &Subnet,
    aliases: &AliasTables,
) -> (BTreeMap<NodeIx, BTreeMap<Block, Data>>, Vec<PlanFinding>) {
    let mut tables: BTreeMap<NodeIx, BTreeMap<Block, Data>> = BTreeMap::new();
    let mut findings = Vec::new();
    // Most subnets have none: no walk over their ports.
    if aliases.is_empty() {
        return (tables, findings);
    }
    for (PortRef { node, port }, end) in found.end_ports() {
        // Ports by GUID: an alias belongs to a port wherever it is plugged in.
        let wished = end.guid.and_then(|own| Some((own, aliases.get(&own)?)));
        let Some(((own, guids), info)) = wished.zip(end.info) else {
            continue;
        };
        // Place 0 is the port's own GUID, which is not the SA's to give.
        let places = (0_u8..).zip(guids).skip(1);
        // 0 is an alias that was taken away: it becomes a hole, and the block is written.
        let places = places.filter_map(|(place, guid)| Some((place, Guid::new(*guid).ok()?)));
        // As many places as the SA knows of, holes too, so that taken ones are cleared.
        let held = u8::try_from(guids.len()).unwrap_or(u8::MAX);
        let (blocks, left_out) =
            guid_info::blocks(own, &places.collect(), held, info.guid_cap, port);
        // A switch's port 0 and a CA's ports have one map each node, apart by the end port of the block.
        tables.entry(node).or_default().extend(blocks);
        if !left_out.is_empty() {
            findings.push(PlanFinding::AliasesLeftOut {
                port: own,
                count: left_out.len(),
            });
        }
    }
    (tables, findings)
}
