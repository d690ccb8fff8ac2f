//! Requests that are common but for something about them: a table of the one path between two
//! ports, an end that is named by GID and by LID, the SA's own key, wishes about the path. They go
//! through the steps of the common ones; what is different about them is seen to here, out of
//! line, so that the common ones pay nothing for it.
//!
//! How a request gets here and where it ends:
//!
//! ```text
//!  common::ends says no ─> nearly::find ─ no ──> answer
//!                               │ ports found, requester left empty
//!                               v
//!           level, then the last step: no requester, so not granted ─> nearly::finish ─ none ─> answer
//! ```
//!
//! Leaving the requester empty is the whole trick: the last step asks for it in any case, so common
//! requests pay no further test, and these fall out where they can be finished.
//!
//! What differs from a common request, each seen to in [`finish`]: a table of the one path gets an
//! RMPP header; both names of an end must be one port's; the SA's own key is blanked in the reply;
//! wishes are judged for both directions, because a path that meets them one way only is not
//! reversible.

use core::ptr;

use sa_snapshot::{PackedLevel, PathClassIx, PortRecord, Snapshot};
use sa_wire::mad::{BASE_VERSION, MGMT_CLASS_SA, SA_CLASS_VERSION, method};
use sa_wire::path_record::{NumbPathByte, PathCompMask, PathRecord, SelectedValue};
use sa_wire::rmpp::flag;
use sa_wire::sa::{AttributeId, SaMad};
use sa_wire::umad::Slot;
use zerocopy::FromBytes;

use super::common::{GET, has_whole_service_id};
use super::levels::level_between;
use crate::path::terms::{RequestPorts, Terms, labelled, lids, terms, write_record};
use crate::path::{Offer, WISHES, Wishes, are_codes, rate_code};
use crate::reply::finish_one_in_place;
use crate::{Outcome, Reject, finish_empty_table, finish_error, rmpp};

/// First four bytes of a GetTable of the Subnet Administration.
const GET_TABLE: [u8; 4] = [
    BASE_VERSION,
    MGMT_CLASS_SA,
    SA_CLASS_VERSION,
    method::GET_TABLE,
];

/// Finds the ports that a nearly common request is about, with its requester where it can be
/// finished as a common one; none for others. Out of line: the usual request does not come here.
///
/// A common request that only names an end twice is given its requester here and goes on as a
/// common one.
#[cold]
#[inline(never)]
pub(super) fn find<'a>(snapshot: &'a Snapshot, slot: &Slot, found: &mut Option<RequestPorts<'a>>) {
    *found = ends(snapshot, slot);
}

/// As `common::ends`, with what is different allowed: a table, both names of an end, a key.
#[inline(always)]
fn ends<'a>(snapshot: &'a Snapshot, slot: &Slot) -> Option<RequestPorts<'a>> {
    let mad = SaMad::from_bytes(&slot.mad);
    let mask = PathCompMask(mad.sa.component_mask.get());
    let key = mad.sa.sm_key.get();
    let is_get = slot.mad.first_chunk() == Some(&GET);
    // An RMPP header with nothing but Active set is no part of a transfer: some programs send it
    // with plain requests. A label that is asked for comes back in place of the rule's, by the
    // general way.
    let is_nearly_common = (is_get || slot.mad.first_chunk() == Some(&GET_TABLE))
        && mad.attribute_id() == AttributeId::PATH_RECORD
        && !rmpp::is_part(mad)
        && (key == 0 || key == snapshot.subnet().sa_key)
        && !mask.has(PathCompMask::RAW_TRAFFIC)
        && !(snapshot.gives_flow_labels() && mask.has(PathCompMask::FLOW_LABEL))
        && has_whole_service_id(mask);
    if !is_nearly_common {
        return None;
    }
    let (record, _) = PathRecord::ref_from_prefix(&mad.data).ok()?;
    let named = |(gid_bit, gid), (lid_bit, lid): (_, u16)| {
        let gid = mask.has(gid_bit).then_some(gid);
        named(snapshot, gid, mask.has(lid_bit).then_some(lid))
    };
    let source = (PathCompMask::SGID, &record.sgid);
    let source = named(source, (PathCompMask::SLID, record.slid.get()))?;
    let destination = (PathCompMask::DGID, &record.dgid);
    let destination = named(destination, (PathCompMask::DLID, record.dlid.get()))?;
    let ends_commonly =
        is_get && key == 0 && !mask.has(WISHES) && mad.rmpp.flags() & flag::ACTIVE == 0;
    Some(RequestPorts {
        requester: match ends_commonly {
            true => Some(snapshot.record_by_lid(slot.header.lid.get())?),
            false => None,
        },
        source,
        destination,
        classes: [PathClassIx::NONE; 2],
    })
}

/// The port with this GID, this LID, or both. None too where they contradict each other.
fn named<'a>(
    snapshot: &'a Snapshot,
    gid: Option<&[u8; 16]>,
    lid: Option<u16>,
) -> Option<&'a PortRecord> {
    match (gid, lid) {
        (None, lid) => snapshot.record_by_lid(lid?),
        (Some(gid), None) => snapshot.record_by_own_gid(gid),
        (Some(gid), Some(lid)) => {
            let by_lid = snapshot.record_by_lid(lid)?;
            let port = snapshot.record_by_own_gid(gid)?;
            // Pointers tell ports apart, as both are records of one table.
            ptr::eq(port, by_lid).then_some(port)
        }
    }
}

/// Writes the reply. None, and nothing written, when it is neither simply one record nor a refusal
/// because of the wishes: the request is then answered alone, by all the rules.
#[inline(always)]
pub(super) fn finish(
    snapshot: &Snapshot,
    slot: &mut Slot,
    ends: &RequestPorts<'_>,
    level: &PackedLevel,
) -> Option<Outcome> {
    let ends = RequestPorts {
        requester: snapshot.record_by_lid(slot.header.lid.get()),
        ..*ends
    };
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    let mask = PathCompMask(mad.sa.component_mask.get());
    let (record, _) = PathRecord::ref_from_prefix(&mad.data).ok()?;
    let is_table = mad.mad.method == method::GET_TABLE;
    let is_only_path = has_one_path(&ends, mask);
    let wants_none = mask.has(PathCompMask::NUMB_PATH) && record.numb_path.numb_path() == 0;
    // No number of paths, or several: how many records there are depends on LIDs, which only the
    // general way counts.
    if is_table && (wants_none || !is_only_path) {
        return None;
    }
    let matched = snapshot.has_policy().then_some(level);
    let plain = terms(snapshot, &ends, mask, record.pkey.get(), matched)?;
    let terms = match mask.has(WISHES) {
        false => plain,
        true => match Wished::new(snapshot, mask, record)?.met(&ends, matched, plain) {
            Some(terms) => terms,
            // One LID each, so the path just judged is the only one: nothing can meet the wishes.
            None if is_only_path => return Some(without_record(mad, is_table)),
            None => return None,
        },
    };
    let flow = match snapshot.gives_flow_labels() {
        true => labelled(snapshot, &ends, level, (mask, record))
            .0
            .to_bytes(),
        false => [0; 4],
    };
    write_record(snapshot, mad, &ends, mask, &terms, flow)?;
    Some(Outcome::Answered(finish_one_in_place(mad, is_table)))
}

/// True when there is one LID at each end to find a path between: then one judgement tells what a
/// whole table would hold.
fn has_one_path(ends: &RequestPorts<'_>, mask: PathCompMask) -> bool {
    let one = |port: &PortRecord, bit| port.lmc() == 0 || mask.has(bit);
    one(ends.source, PathCompMask::SLID) && one(ends.destination, PathCompMask::DLID)
}

/// The reply where the one path there is does not meet the wishes: an empty table, or "no records".
fn without_record(mad: &mut SaMad, is_table: bool) -> Outcome {
    match is_table {
        true => Outcome::Answered(finish_empty_table(mad)),
        false => {
            let reject = Reject::NoRecords;
            Outcome::Refused(finish_error(mad, reject.status()), reject)
        }
    }
}

/// What is wished of a path, in either direction: a path that is granted one way only is not
/// reversible, and the answer says so.
struct Wished<'a> {
    snapshot: &'a Snapshot,
    mask: PathCompMask,
    record: &'a PathRecord,
}

/// Selector of a packet life time, whose upper bits reach it where a level has such a one.
const EXACTLY: u8 = 0x80;

impl<'a> Wished<'a> {
    /// None for wishes that are refused, and for some that cannot be told about.
    #[inline(always)]
    fn new(snapshot: &'a Snapshot, mask: PathCompMask, record: &'a PathRecord) -> Option<Self> {
        let wishes = Wishes::of(mask, record);
        // Packet life times over 63 spill into the selector, and then a wish for one cannot be
        // judged from the packed level.
        let is_told = wishes.packet_life().is_none() || snapshot.tells_packet_lives();
        // An SL of the way back is the class's, which only the general way looks at.
        let is_told = is_told && !(mask.has(PathCompMask::SL) && snapshot.has_sls_by_class());
        (is_told && are_codes(snapshot, wishes)).then_some(Self {
            snapshot,
            mask,
            record,
        })
    }

    /// What is wished of the path, its SL aside.
    const fn wishes(&self) -> Wishes<'_> {
        Wishes::of(self.mask, self.record)
    }

    /// The SL that is asked for.
    fn sl(&self) -> Option<u8> {
        let sl = self.record.qos_class_sl.sl().get();
        self.mask.has(PathCompMask::SL).then_some(sl)
    }

    /// The terms that meet the wishes, from those without any; none where the first path that is
    /// tried does not meet them. `level`: the policy's.
    #[inline(always)]
    fn met(
        &self,
        ends: &RequestPorts<'_>,
        level: Option<&PackedLevel>,
        plain: Terms,
    ) -> Option<Terms> {
        if self.wishes().are_none() && self.sl().is_none() {
            return Some(plain);
        }
        let (from, to) = (ends.source, ends.destination);
        // The plain terms hold MTU and rate as codes of the answer; a wish is held against the rank
        // of the rate.
        let (mtu, rate) = plain.capacity.unpacked();
        let offer = Offer {
            mtu,
            rate,
            packet_life: plain.rest[0] & !EXACTLY,
        };
        let offer = self.granted(from, to, level, offer)?;
        let reversible = self.is_reversible(ends, level);
        let wants_reversible = self.mask.has(PathCompMask::REVERSIBLE);
        // REVERSIBLE with 1: the way back is part of what was asked.
        if !reversible && wants_reversible && self.record.numb_path.reversible() {
            return None;
        }
        let numb_path = match reversible {
            true => NumbPathByte::REVERSIBLE,
            false => NumbPathByte::new(0),
        };
        let rate = rate_code(self.snapshot, offer.rate, from, to, reversible);
        let [mtu, rate] = [offer.mtu, rate].map(|code| SelectedValue::exactly(code).0);
        let [tclass, _, p, k, qos_class, sl, ..] = plain.numbers;
        let [_, a, b, c, d, e, f, g] = plain.rest;
        let sl = self.sl().unwrap_or(sl);
        Some(Terms {
            numbers: [tclass, numb_path.0, p, k, qos_class, sl, mtu, rate],
            rest: [EXACTLY | offer.packet_life, a, b, c, d, e, f, g],
            ..plain
        })
    }

    /// What is granted of an offer; none where the level (the policy's) or the torus does not let
    /// it meet the wishes. As `path::judge` says it of paths that no SL is dropped on.
    #[inline(always)]
    fn granted(
        &self,
        from: &PortRecord,
        to: &PortRecord,
        level: Option<&PackedLevel>,
        offer: Offer,
    ) -> Option<Offer> {
        // As in OpenSM: an SL that was asked for must be the level's, if it has one, and the
        // routing engine must leave it alone.
        let is_other = |sl: u8| {
            let finished = self.snapshot.common_sl(sl, from, to);
            level.is_some_and(|level| level.sl != sl) || finished != sl
        };
        if self.sl().is_some_and(is_other) {
            return None;
        }
        self.wishes().of_offer(offer)
    }

    /// True when the way back meets the wishes too, where the way there does. Alike levels and no
    /// table of pairs spare the second judgement.
    #[inline(always)]
    fn is_reversible(&self, ends: &RequestPorts<'_>, level: Option<&PackedLevel>) -> bool {
        let (from, to) = (ends.destination, ends.source);
        let asked = (self.mask, self.record);
        let back = level.map(|_| level_between(self.snapshot, (from, to), asked));
        let is_alike = !self.snapshot.has_pair_table() && !from.is_switch();
        is_alike && back.as_ref() == level || self.judge_back(from, to, back.as_ref())
    }

    /// Where the way back has a level or a class of its own, it is judged as the way there was.
    #[inline(never)]
    fn judge_back(&self, from: &PortRecord, to: &PortRecord, level: Option<&PackedLevel>) -> bool {
        let snapshot = self.snapshot;
        // The LIDs of the way back.
        let (lid, _) = lids((self.mask, self.record), to, from);
        let class = snapshot.path_class(from, to, lid);
        let Some(path) = snapshot.path_between(from, to, class) else {
            return false;
        };
        let offered = (path.mtu, path.rate);
        let ((mtu, rate), packet_life) = match level {
            Some(level) => (level.limited(offered), level.packet_life & !EXACTLY),
            None => (offered, snapshot.subnet().packet_life),
        };
        let offer = Offer {
            mtu,
            rate,
            packet_life,
        };
        self.granted(from, to, level, offer).is_some()
    }
}
