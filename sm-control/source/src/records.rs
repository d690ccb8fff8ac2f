//! Asking an SA for all that it says of its fabric.
//!
//! In this order, each sorted and freed of what counts or is secret, so that equal records mean an
//! unchanged fabric:
//!
//! | records | query | left out |
//! |---|---|---|
//! | ClassPortInfo | one Get | all but "the SM uses QoS" |
//! | NodeRecord, LinkRecord, SwitchInfoRecord | whole tables, asked again at the end | PortStateChange |
//! | PortInfoRecord | whole table, speeds as they are | M_Key, counters of errors and violations |
//! | LinearForwardingTableRecord | by switch | |
//! | SLtoVLMappingTableRecord | by end port, with QoS only | |
//! | P_KeyTableRecord | by end port, with the SA's key | |
//! | GUIDInfoRecord | whole table | blocks without an alias |
//!
//! Counters would make every reading a change and every change a compilation; M_Keys would stand in
//! memory and in dumps, where they have no use.
//!
//! Whether the records fit together is not judged here: `SaFabric::from_records` does that.

use std::sync::Arc;

use sa_fabric::sa_records::Records;
use sa_text::Remark;
use sa_wire::NodeType;
use sa_wire::class_port_info::{CapabilityMask2, ClassPortInfo};
use sa_wire::records::{
    GuidInfoRecord, LinearForwardingTableRecord, NodeRecord, PKeyTableRecord, PortInfoRecord,
    SlToVlRecord,
};
use sa_wire::sa::AttributeId;
use zerocopy::IntoBytes;

use super::kept::{PORT_STATE_CHANGE, holds_alias, without_counters};
use super::query::{Querier, Record, Wanted};
use super::{AskError, SaReadError, Wants};

/// Asks for everything. What refuses only what can be done without is noted in `notes`.
/// Errors: the first answer that is none.
///
/// The heads are read first and again at the end (see [`still_hold`]), so whatever changes between
/// is noticed by them as long as it changes nodes, links or switches. A forwarding table that is
/// rewritten meanwhile without any of these shows at the next reading.
pub(super) fn read(
    querier: &mut Querier<'_>,
    wants: &Wants,
    notes: &mut Vec<Remark>,
) -> Result<Records, SaReadError> {
    let class: ClassPortInfo = querier.get(&Wanted::all(AttributeId::CLASS_PORT_INFO))?;
    let mut records = heads(querier)?;
    records.qos = class.capability_mask2().has_all(CapabilityMask2::QOS);
    records.ports = ports(querier)?;
    // What the SA says itself is kept in the records all the same: the operator is told where files
    // say otherwise.
    let wants_sl2vl = wants.qos.unwrap_or(records.qos);
    // One switch at a time: the reply for all at once would be built whole in the SA's memory.
    let watch = querier.watch();
    let (switches, nodes) = (records.switches.clone(), node_lids(&records));
    // Of the tables that are asked for one by one, each a part of the work.
    let total = (switches.len() + nodes.len()) as u64;
    for (nth, switch) in (1..).zip(&switches) {
        let lid = switch.lid.get();
        records.lfts.insert(lid, Arc::new(lft(querier, lid)?));
        watch.reach(nth, total);
    }
    for (nth, lid) in (switches.len() as u64 + 1..).zip(nodes) {
        watch.reach(nth, total);
        // By LID of the end port, of a switch with all pairs of its ports: (36 + 1)^2 records of 16
        // bytes are 22 KB.
        if wants_sl2vl {
            records.sl2vl.extend(sl2vl(querier, lid)?);
        }
    }
    records.pkeys = pkeys(querier, &records, wants.sa_key, notes)?;
    records.guids = guids(querier)?;
    records.sort();
    Ok(records)
}

/// What tells one fabric from another: nodes, cables, switches. Three queries, some 7 MB at 48,000
/// LIDs.
fn heads(querier: &mut Querier<'_>) -> Result<Records, SaReadError> {
    let mut heads = Records {
        nodes: querier.table(&Wanted::all(AttributeId::NODE_RECORD))?,
        links: querier.table(&Wanted::all(AttributeId::LINK_RECORD))?,
        switches: querier.table(&Wanted::all(AttributeId::SWITCH_INFO_RECORD))?,
        ..Records::default()
    };
    for switch in &mut heads.switches {
        // A switch counts state changes of its ports here, and the SM resets that.
        switch.life_time_and_change &= !PORT_STATE_CHANGE;
    }
    heads.sort();
    Ok(heads)
}

/// True when nodes, cables and switches are still those that were read.
///
/// Forwarding tables are not asked for again: they are nearly all of what is read.
pub(super) fn still_hold(
    records: &Records,
    querier: &mut Querier<'_>,
) -> Result<bool, SaReadError> {
    let now = heads(querier)?;
    let same_nodes = now.nodes == records.nodes && now.links == records.links;
    Ok(same_nodes && now.switches == records.switches)
}

/// LIDs of end ports, ascending, each once.
fn node_lids(records: &Records) -> Vec<u16> {
    let mut lids: Vec<u16> = records.nodes.iter().map(|node| node.lid.get()).collect();
    lids.sort_unstable();
    lids.dedup();
    lids
}

/// All ports, each with what decides about paths, and with zeros in the place of keys and counters.
fn ports(querier: &mut Querier<'_>) -> Result<Vec<PortInfoRecord>, SaReadError> {
    // Speeds as they are, not as old clients want them.
    let wanted = PortInfoRecord {
        options: PortInfoRecord::ORIGINAL_SPEEDS,
        ..PortInfoRecord::default()
    };
    // Component 2 is Options; without it OpenSM reports an extended speed as QDR as well.
    let (attribute, options) = (AttributeId::PORT_INFO_RECORD, 1 << 2);
    let mut ports: Vec<PortInfoRecord> =
        querier.table(&Wanted::like(attribute, options, wanted.as_bytes()))?;
    for port in &mut ports {
        *port = without_counters(*port);
    }
    Ok(ports)
}

/// The forwarding table of a switch. Shape: ascending blocks of 64 LIDs; whether one is missing is
/// judged later.
pub(super) fn lft(
    querier: &mut Querier<'_>,
    lid: u16,
) -> Result<Vec<LinearForwardingTableRecord>, SaReadError> {
    let attribute = AttributeId::LINEAR_FORWARDING_TABLE_RECORD;
    let mut blocks: Vec<LinearForwardingTableRecord> = of_lid(querier, attribute, lid)?;
    blocks.sort_by_key(|block| block.block.get());
    Ok(blocks)
}

/// Of a switch all tables by input and output port, of a CA or router port its one.
pub(super) fn sl2vl(querier: &mut Querier<'_>, lid: u16) -> Result<Vec<SlToVlRecord>, SaReadError> {
    of_lid(querier, AttributeId::SL_TO_VL_RECORD, lid)
}

/// The records of the node with a LID: one switch at a time, as an SA makes the whole of a reply in
/// memory before it sends any of it.
///
/// Component 0 is the LID in each of these records, and it is their first field, so two bytes are
/// enough of a record.
fn of_lid<T: Record>(
    querier: &mut Querier<'_>,
    attribute: AttributeId,
    lid: u16,
) -> Result<Vec<T>, SaReadError> {
    querier.table(&Wanted::like(attribute, 1, &lid.to_be_bytes()))
}

/// P_Key tables of end ports. None, with a note, where the key is not that of the SA.
///
/// Asked for by end port: with one query for everything an SA also sends the tables of all external
/// ports of switches, 37 for each.
fn pkeys(
    querier: &mut Querier<'_>,
    records: &Records,
    key: u64,
    notes: &mut Vec<Remark>,
) -> Result<Option<Vec<PKeyTableRecord>>, SaReadError> {
    let mut all = Vec::new();
    for node in &records.nodes {
        // Of a switch the table of port 0; on others the filter does not count.
        let wanted = PKeyTableRecord {
            lid: node.lid,
            block: 0.into(),
            port: 0,
            reserved: [0; 3],
            pkeys: [0.into(); 32],
        };
        // Components: 0 LID, 2 PortNum.
        let is_switch = node.node_type == NodeType::Switch as u8;
        let wanted = Wanted {
            key,
            ..Wanted::like(
                AttributeId::PKEY_TABLE_RECORD,
                if is_switch { 0b101 } else { 1 },
                wanted.as_bytes(),
            )
        };
        let tables = match all.is_empty() {
            true => querier.table_or_silence::<PKeyTableRecord>(&wanted),
            false => querier.table(&wanted),
        };
        match tables {
            Ok(tables) => all.extend(tables.into_iter().map(|table| in_order(table, node))),
            // An SA drops what comes with a wrong key; the first table decides.
            Err(error) if all.is_empty() && may_be_the_key(&error) => {
                let text = format!(
                    "{} does not show P_Key tables ({error}); set sa_key in opensm.conf to that of \
                     the SM. Until then partitions are those of the partition file alone",
                    querier.whom()
                );
                notes.push(Remark::warning("pkeys-not-shown", text));
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Some(all))
}

/// OpenSM tells the number of a block in the byte order of its host: block 1 as 256 on most. A block
/// that the node has no room for is meant that way.
fn in_order(table: PKeyTableRecord, node: &NodeRecord) -> PKeyTableRecord {
    let block = table.block.get();
    let is_there = |block: u16| u32::from(block) * 32 < u32::from(node.partition_cap.get());
    let block = match is_there(block) || !is_there(block.swap_bytes()) {
        true => block,
        false => block.swap_bytes(),
    };
    PKeyTableRecord {
        block: block.into(),
        ..table
    }
}

/// A refusal, or silence: OpenSM refuses a query without key with 0x0200 and drops one with a wrong
/// key.
const fn may_be_the_key(error: &SaReadError) -> bool {
    let refused = matches!(error, SaReadError::Refused { .. });
    refused
        || matches!(
            error,
            SaReadError::Ask(AskError::Unanswered(_) | AskError::NoSm)
        )
}

/// Blocks that hold more than a port's own GUID. A block has 8 GUIDs, and the first of block 0 is
/// the port's own.
fn guids(querier: &mut Querier<'_>) -> Result<Vec<GuidInfoRecord>, SaReadError> {
    let wanted = Wanted::all(AttributeId::GUID_INFO_RECORD);
    let all: Vec<GuidInfoRecord> = match querier.table(&wanted) {
        // Optional; an SA that does not know it has no aliases.
        Err(SaReadError::Refused { .. }) => return Ok(Vec::new()),
        other => other?,
    };
    Ok(all.into_iter().filter(holds_alias).collect())
}
