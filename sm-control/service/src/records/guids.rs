//! GUIDInfoRecords: port GUIDs, and aliases where somebody keeps them. Source: OpenSM
//! `osm_sa_guidinfo_record.c`.
//!
//! A record is a block of eight GUIDs of a port. Place 0 of block 0 is the port GUID itself. A CA
//! port has room for 32, so four blocks; port 0 of a switch for one, so one block.
//!
//! What a request compares is odd, and followed as it is. The port GUID is held against that of the
//! *requester*, not of the port that the record is of; so a request by GUID0 finds the requester's
//! own block or nothing.
//!
//! ```text
//!  LID 5, block 0      own 0002:c903:0:5, alias 7, 0, 0, 0, 0, 0, 0
//!  LID 5, block 1      0, 0, 0, 0, 0, 0, 0, 0           .. to block 3
//! ```

use core::ops::ControlFlow;

use sa_fabric::PortRef;
use sa_wire::Guid;
use sa_wire::records::GuidInfoRecord;
use zerocopy::IntoBytes;
use zerocopy::byteorder::big_endian::U64;

use super::device;
use super::out::Out;
use super::query::Query;
use super::view::View;

/// Every block of every end port.
///
/// GUIDs are not searched for: the first is compared with that of the requester (in block 0, which
/// is also what a request means that asks for no block), the others with 0.
pub(super) fn walk(view: &View<'_>, query: &Query<'_>, out: &mut Out) -> ControlFlow<()> {
    walk_with(view, query, &|_| None, out)
}

/// The GUIDs of a port, by its port GUID, in the order of their places; none where it has no other.
/// This is how the database lends its aliases without this module knowing them.
pub(crate) type Tables<'a> = dyn Fn(Guid) -> Option<&'a [u64]> + 'a;

/// [`walk`], with aliases. What OpenSM ignores is ignored: LID 0 and block 255 count as not asked
/// for.
pub(super) fn walk_with(
    view: &View<'_>,
    query: &Query<'_>,
    tables: &Tables<'_>,
    out: &mut Out,
) -> ControlFlow<()> {
    let Ok(own) = own_guid(view, query) else {
        return ControlFlow::Continue(());
    };
    // LID 0 asks for no LID.
    let lid = query.wanted("lid").filter(|lid| *lid != 0);
    for node in view.nodes_by_lid(lid) {
        // Of a switch port 0 alone is an end port.
        let ends = view.ports(node).take(match view.is_switch(node) {
            true => 1,
            false => usize::MAX,
        });
        for at in ends {
            let has_lid =
                lid.is_none_or(|lid| view.end_by_lid(lid).is_some_and(|end| end.at == at));
            let is_own = own.is_none_or(|own| view.guid(at).is_some_and(|guid| guid.get() == own));
            if has_lid && is_own && view.shows(at) {
                put(view, query, at, tables, out)?;
            }
        }
    }
    ControlFlow::Continue(())
}

/// The only port GUID that can match, where the request asks for GUIDs; none where it asks for
/// none. Errors: no record can match.
fn own_guid(view: &View<'_>, query: &Query<'_>) -> Result<Option<u64>, ()> {
    let others = [
        "guid1", "guid2", "guid3", "guid4", "guid5", "guid6", "guid7",
    ];
    if others
        .iter()
        .any(|name| query.wanted(name).unwrap_or(0) != 0)
    {
        return Err(());
    }
    let Some(wanted) = query.wanted("guid0") else {
        return Ok(None);
    };
    let own = match query.raw("block_num") {
        // The requester's own, whichever port the record is of: as in OpenSM.
        0 => view.guid(view.requester).map_or(0, |guid| guid.get()),
        _ => 0,
    };
    match wanted == own {
        true => Ok(Some(own).filter(|own| *own != 0)),
        false => Err(()),
    }
}

/// GUIDCap of a port: how many GUIDs there is room for.
pub(crate) fn guid_cap(view: &View<'_>, at: PortRef) -> u8 {
    let told = view.told().zip(view.end(at));
    if let Some(info) = told.and_then(|(told, end)| told.port_info(end.lid, at.port)) {
        return info.guid_cap;
    }
    match view.is_switch(at.node) {
        true => device::PORT0_GUIDS,
        false => device::END_PORT_GUIDS,
    }
}

/// The blocks of one port.
fn put(
    view: &View<'_>,
    query: &Query<'_>,
    at: PortRef,
    tables: &Tables<'_>,
    out: &mut Out,
) -> ControlFlow<()> {
    let count = guid_cap(view, at);
    let guid = view.guid(at);
    let table = guid.and_then(tables);
    // Block 255 asks for no block.
    let wanted = query.wanted("block_num").filter(|block| *block != 255);
    let blocks = 0..count.div_ceil(GUIDS_PER_BLOCK);
    for block in blocks.filter(|block| wanted.is_none_or(|wanted| wanted == u64::from(*block))) {
        let mut guids = [U64::ZERO; 8];
        let first = usize::from(block * GUIDS_PER_BLOCK);
        match table {
            Some(table) => {
                let table = table.get(first..).unwrap_or_default();
                for (place, guid) in guids.iter_mut().zip(table) {
                    *place = (*guid).into();
                }
            }
            None => {
                if let (0, Some(first), Some(guid)) = (block, guids.first_mut(), guid) {
                    *first = guid.get().into();
                }
            }
        }
        let record = GuidInfoRecord {
            lid: view.end(at).map_or(0, |end| end.lid.get()).into(),
            block,
            reserved: [0; 5],
            guids,
        };
        out.push(record.as_bytes())?;
    }
    ControlFlow::Continue(())
}

/// GUIDInfo has eight GUIDs (IBA vol. 1, GUIDInfo).
const GUIDS_PER_BLOCK: u8 = 8;
