//! Replies with records of the fabric's state: nodes, ports, links, tables.

use super::super::wire::{GET, GET_TABLE, be16, be64};
use super::super::worlds::End;
use super::{Asked, Illegal, need, table};

/// Attribute, and the distance of two of its records in bytes.
const STRIDES: [(u16, usize); 11] = [
    (0x11, 112),
    (0x12, 72),
    (0x13, 16),
    (0x14, 24),
    (0x15, 72),
    (0x17, 72),
    (0x18, 32),
    (0x20, 8),
    (0x30, 72),
    (0x33, 72),
    (0x36, 72),
];
const NODE: u16 = 0x11;
const LINK: u16 = 0x20;
const GUID_INFO: u16 = 0x30;
const PKEY_TABLE: u16 = 0x33;

pub(super) fn judge(asked: &Asked<'_>, reply: &[u8]) -> Result<(), Illegal> {
    let known = STRIDES
        .iter()
        .find(|(attribute, _)| *attribute == asked.attribute);
    let Some((_, stride)) = known else {
        return Err(format!("records of attribute 0x{:04x}", asked.attribute));
    };
    need!(
        matches!(asked.method, GET | GET_TABLE),
        "records for method 0x{:02x}",
        asked.method
    );
    let is_trusted = be64(asked.mad, 36) == asked.world.sa_key;
    need!(
        is_trusted || asked.attribute != PKEY_TABLE,
        "P_Keys without the key"
    );
    for one in table(asked, reply, *stride)?.chunks_exact(*stride) {
        record(asked, one)?;
    }
    Ok(())
}

/// Begins with the LID of a port that the requester may know of.
fn record(asked: &Asked<'_>, record: &[u8]) -> Result<(), Illegal> {
    let lid = be16(record, 0);
    let Some(end) = asked.world.end_by_lid(lid) else {
        return Err(format!("a record of LID {lid}, which is nobody's"));
    };
    let wanted = be16(asked.mad, 56);
    // OpenSM takes LID 0 for none there.
    let is_any = !asked.has(0) || asked.attribute == GUID_INFO && wanted == 0;
    let is_wanted = is_any || asked.world.end_by_lid(wanted) == Some(end);
    need!(is_wanted, "a record of LID {lid}, not of {wanted}");
    if asked.attribute == NODE {
        need!((1..=3).contains(&record[6]), "node type {}", record[6]);
    }
    if asked.attribute == LINK {
        let other = be16(record, 4);
        let far = asked.world.end_by_lid(other);
        need!(
            far.is_some_and(|far| sees(asked, far)),
            "a link to LID {other}"
        );
    }
    // What the ports of a switch may show depends on what is behind them.
    need!(
        sees(asked, end),
        "a record of LID {lid}, which shares no P_Key with who asks"
    );
    Ok(())
}

fn sees(asked: &Asked<'_>, end: usize) -> bool {
    let ends = &asked.world.ends;
    let is_switch = |end: &End| end.is_switch;
    is_switch(&ends[end])
        || asked
            .requester
            .is_some_and(|requester| asked.world.share(requester, end))
}
