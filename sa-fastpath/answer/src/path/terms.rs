//! What a granted path is like, straight from the tables, and the record of it: for requests whose first
//! path is simply granted.
//!
//! The last 16 bytes of a record, as the two words that [`Terms`] holds (offsets in the record):
//!
//! ```text
//!  48  traffic class 0 | 0x80 reversible | P_Key, 2 bytes | QoS class 0, SL | MTU | rate
//!  56  packet life | preference 0 | zeros
//! ```
//!
//! They are put together by shifts of words from tables: codes of MTU and rate by capacity (one
//! load), P_Key, SL. So no field is written by itself. The slow twin of this file is `path::judge`
//! with `path::record`; property tests compare their bytes.

use core::ptr;

use sa_snapshot::{PackedLevel, PathCapacity, PathClassIx, PortRecord, Snapshot, port_flags};
use sa_wire::path_record::{FlowWord, PathCompMask, PathRecord};
use sa_wire::sa::SaMad;

use super::ends::gid;
use super::label::only_flow;
use super::rate::understood;

/// The ports that a request is about, and who asks: what the first step finds out.
///
/// References and not indices, so that the later steps look nothing up again.
#[derive(Clone, Copy)]
pub(crate) struct RequestPorts<'a> {
    /// None where the request is only nearly common and `batch::nearly` has to finish it.
    pub(crate) requester: Option<&'a PortRecord>,
    pub(crate) source: &'a PortRecord,
    pub(crate) destination: &'a PortRecord,
    /// Of the path that is tried first and of its way back, where they have to be looked up.
    pub(crate) classes: [PathClassIx; 2],
}

/// Writes the record over the request's. Not none, as every MAD has room for it.
#[inline(always)]
pub(crate) fn write_record(
    snapshot: &Snapshot,
    mad: &mut SaMad,
    ends: &RequestPorts<'_>,
    mask: PathCompMask,
    terms: &Terms,
    flow_word: [u8; 4],
) -> Option<()> {
    let words = mad.data.as_chunks_mut::<8>().0;
    let [
        service_id,
        dprefix,
        dguid,
        sprefix,
        sguid,
        lids,
        numbers,
        rest,
        ..,
    ] = words
    else {
        return None;
    };
    let (from, to) = (ends.source, ends.destination);
    let prefix = snapshot.subnet().prefix;
    *service_id = [0; 8];
    (*dprefix, *dguid) = (prefix, to.guid);
    // LIDs and a SGID that were asked for are in their place already, and stay: only what the
    // request leaves out is written.
    let [d, l, s, i, flow @ ..] = lids;
    if !mask.has(PathCompMask::SLID) {
        [*s, *i] = from.lid.to_be_bytes();
    } else {
        (*sprefix, *sguid) = (prefix, from.guid);
    }
    if !mask.has(PathCompMask::DLID) {
        [*d, *l] = to.lid.to_be_bytes();
    }
    *flow = flow_word;
    *numbers = terms.numbers;
    *rest = terms.rest;
    Some(())
}

/// The word of the record that holds flow label and hop limit; 0 where the rule gives no label.
#[inline(always)]
pub(crate) fn labelled(
    snapshot: &Snapshot,
    ends: &RequestPorts<'_>,
    level: &PackedLevel,
    (mask, record): (PathCompMask, &PathRecord),
) -> FlowWord {
    let given = snapshot.labels_of(level);
    if !given.are_set() {
        return FlowWord::default();
    }
    // Named whole, or not at all.
    let service_id = match mask.has(PathCompMask::SERVICE_ID) {
        true => record.service_id.get(),
        false => 0,
    };
    let ends = [ends.source, ends.destination].map(|port| gid(snapshot, port.guid));
    only_flow(given, ends.into(), service_id)
}

/// What a granted path is like, as the last two words of its record. Shape: bytes in the order of
/// the wire.
pub(crate) struct Terms {
    /// Traffic class, reversible, P_Key, QoS class and SL, MTU, rate.
    pub(crate) numbers: [u8; 8],
    /// Packet life time and preference; the upper bytes are zero.
    pub(crate) rest: [u8; 8],
    /// Where MTU and rate are from, before the rate is one that both ends understand.
    pub(crate) capacity: PathCapacity,
}

/// What the first path that is tried is like, where it is simply granted; none where `judge` has to
/// find out. `asked` is the P_Key of the request, read only where the mask names it; `level` is the
/// policy's.
#[inline(always)]
pub(crate) fn terms(
    snapshot: &Snapshot,
    ends: &RequestPorts<'_>,
    mask: PathCompMask,
    asked: u16,
    level: Option<&PackedLevel>,
) -> Option<Terms> {
    // Who may not see an end gets "no records", by the general way.
    if !sees(snapshot, ends) {
        return None;
    }
    let (from, to) = (ends.source, ends.destination);
    let shared = snapshot.shared_pkey_between(from, to);
    let is_common = from.flags & port_flags::COMMON_SOURCE != 0
        && to.flags & port_flags::COMMON_DESTINATION != 0;
    // No shared P_Key, ports that no path starts or ends at, switches as sources and paths to
    // oneself: for each `judge` has rules of its own.
    if shared == 0 || !is_common || ptr::eq(from, to) {
        return None;
    }
    let mut capacity = match snapshot.uniform_capacity(from, to) {
        Some(capacity) => capacity,
        None => looked_up(snapshot, ends)?,
    };
    let mut pkey = shared;
    if mask.has(PathCompMask::PKEY) {
        // The membership bit does not decide: what is shared is a base, and the key comes back as
        // asked.
        let is_first = (asked ^ shared) & 0x7fff == 0;
        if !is_first && !snapshot.share_pkey_between(from, to, asked) {
            return None;
        }
        pkey = asked;
    }
    let (sl, packet_life) = match level {
        Some(level) => {
            capacity = capacity.within(level);
            (level.sl, level.packet_life)
        }
        None => (
            snapshot.partition_sl(pkey),
            EXACTLY | snapshot.subnet().packet_life,
        ),
    };
    let [there, _] = ends.classes;
    let sl = snapshot.common_sl_of(sl, from, to, there)?;
    let mut codes = snapshot.codes(capacity);
    // The rate is the uppermost byte, behind its selector: one comparison finds the newer ones.
    // An unsigned comparison of the whole word: the bytes below cannot make a smaller rate larger.
    if codes >= u64::from(EXACTLY | NEWER_RATES) << 56 {
        codes = understood_codes(snapshot, codes, from, to);
    }
    // Bytes of a word: 0, REVERSIBLE, P_Key, 0 and SL, MTU, rate.
    let numbers = codes | u64::from(pkey.swap_bytes()) << 16 | u64::from(sl) << 40;
    Some(Terms {
        numbers: numbers.to_le_bytes(),
        // No word of preference: the first place in both ranges of LIDs is preferred.
        rest: u64::from(packet_life).to_le_bytes(),
        capacity,
    })
}

/// Selector "exactly" of an MTU, a rate or a packet life time.
const EXACTLY: u8 = 0x80;

/// Rate codes from here on are not understood by all ports.
const NEWER_RATES: u8 = 19;

/// The codes with a rate that both ends understand: newer codes are lowered for ports that do not
/// know them.
#[cold]
#[inline(never)]
fn understood_codes(snapshot: &Snapshot, codes: u64, from: &PortRecord, to: &PortRecord) -> u64 {
    let [.., rate] = codes.to_le_bytes();
    let rate = understood(snapshot, rate & 0x3f, from, to);
    codes << 8 >> 8 | u64::from(EXACTLY | rate) << 56
}

/// MTU and rate where pairs of ports have classes of paths. None: there is no path, or no way back,
/// and `judge` has to tell.
#[inline(never)]
fn looked_up(snapshot: &Snapshot, ends: &RequestPorts<'_>) -> Option<PathCapacity> {
    let (from, to) = (ends.source, ends.destination);
    let [there, back] = ends.classes;
    snapshot.capacity_of(to, from, back)?;
    snapshot.capacity_of(from, to, there)
}

/// True when there is a requester and it may know of both ends, which share a partition.
#[inline(always)]
fn sees(snapshot: &Snapshot, ends: &RequestPorts<'_>) -> bool {
    // One comparison, though there may be no requester.
    if ends.requester.map_or(ptr::null(), ptr::from_ref) == ptr::from_ref(ends.source) {
        return true;
    }
    let Some(requester) = ends.requester else {
        return false;
    };
    let knows = |port: &PortRecord| {
        ptr::eq(requester, port) || snapshot.share_partition_between(requester, port)
    };
    knows(ends.source) && knows(ends.destination)
}

/// The LIDs of the path that is tried first: those that are named, else each port's first.
#[inline(always)]
pub(crate) fn lids(
    (mask, record): (PathCompMask, &PathRecord),
    from: &PortRecord,
    to: &PortRecord,
) -> (u16, u16) {
    let named = |bit, lid: u16, port: &PortRecord| if mask.has(bit) { lid } else { port.lid };
    let dlid = named(PathCompMask::DLID, record.dlid.get(), to);
    let slid = named(PathCompMask::SLID, record.slid.get(), from);
    (slid, dlid)
}

/// Classes of the path between two LIDs of ports, and of its way back where that may differ.
#[inline(always)]
pub(crate) fn both_ways(
    snapshot: &Snapshot,
    (from, slid): (&PortRecord, u16),
    (to, dlid): (&PortRecord, u16),
) -> [PathClassIx; 2] {
    let there = snapshot.path_class(from, to, dlid);
    match snapshot.reverse_path_may_differ() {
        true => [there, snapshot.path_class(to, from, slid)],
        false => [there; 2],
    }
}
