//! P_KeyTableRecords. Source: OpenSM `osm_sa_pkey_record.c`.
//!
//! Whole P_Key tables tell who can talk to whom, so `SERVED` marks this kind as secret: without the
//! SA's key it is refused. Blocks have 32 entries; a CA port with 64 entries has two.
//!
//! ```text
//!  LID 5, port 1, block 0     ffff 8001 0002 0000 ..      full in the default, full in 1, limited in 2
//!  LID 9 (a switch), port 3   the keys that port 3 enforces for the host behind it
//! ```

use core::ops::ControlFlow;

use sa_fabric::PortRef;
use sa_fabric::subnet::EndPort;
use sa_wire::records::PKeyTableRecord;
use zerocopy::IntoBytes;
use zerocopy::byteorder::big_endian::U16;

use super::device;
use super::out::Out;
use super::query::Query;
use super::view::View;

/// Every block of every port; a block that is asked for by number is there even if the port has
/// no such block, and holds nothing then. The port filter does not count on CAs and routers.
///
/// The block number is big-endian, where OpenSM leaves it in the order of its host.
pub(super) fn walk(view: &View<'_>, query: &Query<'_>, out: &mut Out) -> ControlFlow<()> {
    for end in view.ends_by_lid(query.wanted("lid")) {
        let is_switch = view.is_switch(end.at.node);
        let port = query.wanted("port_num").filter(|_| is_switch);
        let is_wanted = |at: &PortRef| match is_switch {
            true => port.is_none_or(|port| port == u64::from(at.port)),
            false => at.port == end.at.port,
        };
        for at in view.ports(end.at.node).filter(is_wanted) {
            if view.shows(at) {
                put(view, query, end, at, out)?;
            }
        }
    }
    ControlFlow::Continue(())
}

/// The blocks of one port that are asked for.
fn put(
    view: &View<'_>,
    query: &Query<'_>,
    end: &EndPort,
    at: PortRef,
    out: &mut Out,
) -> ControlFlow<()> {
    let wanted = query.wanted("block_num").map(u16::try_from);
    let blocks = match wanted {
        // Asked by number it is given even past the port's last, as OpenSM does.
        Some(Ok(block)) => block..block.saturating_add(1),
        Some(Err(_)) => 0..0,
        None => 0..blocks(view, at),
    };
    let table = view.pkey_table(at);
    for block in blocks {
        let skip = usize::from(block) * usize::from(device::PKEYS_PER_BLOCK);
        let mut pkeys = [U16::ZERO; 32];
        for (place, key) in pkeys.iter_mut().zip(table.iter().skip(skip)) {
            *place = (*key).into();
        }
        let record = PKeyTableRecord {
            lid: end.lid.get().into(),
            block: block.into(),
            port: at.port,
            reserved: [0; 3],
            pkeys,
        };
        out.push(record.as_bytes())?;
    }
    ControlFlow::Continue(())
}

/// Blocks that a port has; a switch's port without a link has none.
fn blocks(view: &View<'_>, at: PortRef) -> u16 {
    let is_external = view.is_switch(at.node) && at.port != 0;
    let entries = match is_external {
        true if view.peer(at).is_none() => 0,
        true => device::ENFORCEMENT_CAP,
        false => device::partition_cap(view.node(at.node).kind),
    };
    entries.div_ceil(device::PKEYS_PER_BLOCK)
}
