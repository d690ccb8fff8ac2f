//! SwitchInfoRecords and forwarding tables. Source: OpenSM `osm_sa_sw_info_record.c`,
//! `osm_sa_lft_record.c`, `osm_sa_mft_record.c`.
//!
//! A linear forwarding table is told in blocks of 64 LIDs: block b has LIDs 64 b to 64 b + 63, an
//! output port each, 255 where there is none. The tables are those of the routing engine that the
//! snapshot was compiled with, so they and the paths cannot disagree.
//!
//! ```text
//!  fabric with LIDs up to 130: blocks 0, 1, 2 of each switch
//!  block 2, LIDs 128..191:  ports 17 17 3 255 255 ..     131 and above are nobody's
//! ```
//!
//! Multicast tables have records only where this process programs the switches: trees are made from
//! who has joined, and beside another SM that is not known here.

use core::ops::ControlFlow;

use routing::NO_PATH;
use sa_fabric::sa_records::MulticastTables;
use sa_fabric::{NodeIx, PortRef};
use sa_wire::Lid;
use sa_wire::records::{LinearForwardingTableRecord, SwitchInfoRecord};
use zerocopy::IntoBytes;

use super::device;
use super::out::Out;
use super::query::Query;
use super::view::View;

/// One for each switch; by LID only, as in OpenSM: other components are not compared.
pub(super) fn switch_info(view: &View<'_>, query: &Query<'_>, out: &mut Out) -> ControlFlow<()> {
    for node in view.switches_by_lid(query.wanted("lid")) {
        if view.shows(port0(node)) {
            out.push(record(view, node).as_bytes())?;
        }
    }
    ControlFlow::Continue(())
}

/// What is known of the switch itself, else what follows from the files. LifeTimeValue is the option
/// `packet_life_time`, as OpenSM sets it on every switch.
fn record(view: &View<'_>, node: NodeIx) -> SwitchInfoRecord {
    let told = view
        .told()
        .and_then(|told| told.switch_info(lid(view, node)?));
    if let Some(told) = told {
        return *told;
    }
    let top = view.parts.routes.lids().max_lid();
    let is_enhanced = view.node(node).enhanced_port0;
    SwitchInfoRecord {
        lid: Lid::raw(lid(view, node)).into(),
        // ibsim's value, unless that would be less than the table holds: a client sizes its buffer
        // by it.
        linear_cap: match top < device::LINEAR_CAP {
            true => device::LINEAR_CAP,
            false => device::LARGEST_LINEAR_CAP,
        }
        .into(),
        multicast_cap: device::MULTICAST_CAP.into(),
        linear_top: top.into(),
        life_time_and_change: view.parts.options.packet_life_time << 3,
        enforcement_cap: device::ENFORCEMENT_CAP.into(),
        flags: device::SWITCH_FLAGS
            | if is_enhanced {
                device::ENHANCED_PORT0
            } else {
                0
            },
        ..SwitchInfoRecord::default()
    }
}

/// One for each block up to the largest LID in use, of each switch. LinearFDBTop ends there.
pub(super) fn linear_forwarding(
    view: &View<'_>,
    query: &Query<'_>,
    out: &mut Out,
) -> ControlFlow<()> {
    let last = view.parts.routes.lids().max_lid() / LIDS_PER_BLOCK;
    let block = query.wanted("block_num").map(u16::try_from);
    let blocks = match block {
        // Past the end there are no blocks, though the switch could hold more.
        Some(Ok(block)) if block <= last => block..=block,
        Some(_) => return ControlFlow::Continue(()),
        None => 0..=last,
    };
    for node in view.switches_by_lid(query.wanted("lid")) {
        let Some(switch) = view.switch(node).filter(|_| view.shows(port0(node))) else {
            continue;
        };
        // Shared with the routes; nothing is copied but the block.
        let table = view.parts.routes.lft(switch);
        for block in blocks.clone() {
            let record = LinearForwardingTableRecord {
                lid: Lid::raw(lid(view, node)).into(),
                block: block.into(),
                reserved: 0.into(),
                ports: ports(table, block),
            };
            out.push(record.as_bytes())?;
        }
    }
    ControlFlow::Continue(())
}

/// One block. Entries behind the end of a table are LIDs that were never routed.
fn ports(table: &[u8], block: u16) -> [u8; 64] {
    let first = usize::from(block) * usize::from(LIDS_PER_BLOCK);
    let mut ports = [NO_PATH; 64];
    for (lid, place) in (first..).zip(&mut ports) {
        // LID 0 is nobody's.
        let entry = table.get(lid).filter(|_| lid != 0);
        *place = entry.copied().unwrap_or(NO_PATH);
    }
    ports
}

/// One for each block of 32 MLIDs up to the last that a switch uses, and in it for each 16 ports. None where another SM programs
/// switches: who has joined which group is not known here then.
pub(super) fn multicast_forwarding(
    view: &View<'_>,
    query: &Query<'_>,
    out: &mut Out,
) -> ControlFlow<()> {
    let Some(tables) = &view.parts.multicast else {
        return ControlFlow::Continue(());
    };
    let tables = tables.now();
    let is_wanted = |name, value: u16| query.wanted(name).is_none_or(|it| it == u64::from(value));
    for node in view.switches_by_lid(query.wanted("lid")) {
        let Some(lid) = lid(view, node).filter(|_| view.shows(port0(node))) else {
            continue;
        };
        for record in MulticastTables::of(&tables, lid) {
            let position = u16::from(record.position());
            if is_wanted("position", position) && is_wanted("block_num", record.block()) {
                out.push(record.as_bytes())?;
            }
        }
    }
    ControlFlow::Continue(())
}

/// LID of a switch: that of its port 0.
fn lid(view: &View<'_>, node: NodeIx) -> Option<Lid> {
    view.end(port0(node)).map(|end| end.lid)
}

/// Where a switch has its LID.
const fn port0(node: NodeIx) -> PortRef {
    PortRef { node, port: 0 }
}

/// LinearForwardingTable has 64 entries (IBA vol. 1, LinearForwardingTable).
const LIDS_PER_BLOCK: u16 = 64;
