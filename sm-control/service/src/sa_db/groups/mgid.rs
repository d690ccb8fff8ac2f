//! Which MGIDs clients may choose, and those that the SA makes up.
//!
//! ```text
//!  ff 1s 40 1b pp pp 00 00 00 00 00 00 ff ff ff ff   IPv4 broadcast: scope s, P_Key p
//!  ff 1s 60 1b pp pp ...                             IPv6
//!  ff 1s a0 1b <prefix, 6 bytes> nn nn nn nn 00 00   made up by the SA: number n
//! ```
//!
//! An IP group (RFC 4391) must be like the broadcast group of its partition, which must be there
//! first: interfaces send to both with one set of parameters.

use sa_wire::records::McMemberRecord;

use super::request::Request;
use super::{Groups, Mgid};

/// Signature of IPv4 groups, bytes 2 and 3. Source: RFC 4391.
const IPV4: u16 = 0x401b;
/// The same of IPv6 groups.
const IPV6: u16 = 0x601b;
/// Of MGIDs that an SA makes up.
const SA_ASSIGNED: u16 = 0xa01b;
/// Scope of addresses that nobody asked a scope for.
const LINK_LOCAL: u8 = 2;

/// True where the address is a client's to choose: not one with reserved flags, and none of those
/// that this SA makes up.
pub(super) fn may_be_chosen(mgid: &Mgid) -> bool {
    let [first, second, ..] = *mgid;
    // The upper three of the four flags (IBA vol. 1, multicast GIDs).
    let is_reserved = second & 0xe0 != 0;
    let is_sas = signature(mgid) == SA_ASSIGNED && second & 0x0f == LINK_LOCAL;
    first == 0xff && (is_ip(mgid) || !(is_reserved || is_sas))
}

/// An IP group is like the broadcast group of its partition and scope, which must be there.
pub(super) fn suits_broadcast(groups: &Groups, request: &Request) -> bool {
    let mgid = &request.record.mgid;
    let broadcast = broadcast(mgid);
    let is_one = signature(mgid) == IPV4 && *mgid == broadcast;
    if !is_ip(mgid) || is_one {
        return true;
    }
    let broadcast = groups.all.get(&broadcast);
    broadcast.is_some_and(|group| request.suits(&group.record))
}

/// The broadcast address of the partition and scope of an IP group. IPv6 groups hang on the IPv4
/// one, as in OpenSM.
fn broadcast(mgid: &Mgid) -> Mgid {
    let [_, second, _, _, high, low, ..] = *mgid;
    let second = 0x10 | second & 0x0f;
    let [sign, nature] = IPV4.to_be_bytes();
    [
        0xff, second, sign, nature, high, low, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff,
    ]
}

/// Whether the signature is IPoIB's.
fn is_ip(mgid: &Mgid) -> bool {
    matches!(signature(mgid), IPV4 | IPV6)
}

/// Bytes 2 and 3.
const fn signature(mgid: &Mgid) -> u16 {
    u16::from_be_bytes([mgid[2], mgid[3]])
}

/// An address that nobody has: prefix of the subnet, and a number over its end. Ends, since there
/// are far fewer groups than numbers.
pub(super) fn made_up(groups: &mut Groups, prefix: u64, scope: u8) -> Mgid {
    loop {
        let number = groups.next_mgid;
        groups.next_mgid = number.wrapping_add(1);
        let mgid = numbered(prefix, scope, number);
        if !groups.all.contains_key(&mgid) {
            return mgid;
        }
    }
}

/// The address with this number.
fn numbered(prefix: u64, scope: u8, number: u32) -> Mgid {
    let [sign, nature] = SA_ASSIGNED.to_be_bytes();
    let [p0, p1, p2, p3, p4, p5, _, _] = prefix.to_be_bytes();
    // The number lies as on OpenSM's host, a little-endian one.
    let [n0, n1, n2, n3] = number.to_le_bytes();
    [
        0xff,
        0x10 | scope,
        sign,
        nature,
        p0,
        p1,
        p2,
        p3,
        p4,
        p5,
        n0,
        n1,
        n2,
        n3,
        0,
        0,
    ]
}

/// The scope that an address made up for a request gets.
pub(super) const fn scope(record: &McMemberRecord, is_asked_for: bool) -> u8 {
    if is_asked_for {
        record.scope()
    } else {
        LINK_LOCAL
    }
}
